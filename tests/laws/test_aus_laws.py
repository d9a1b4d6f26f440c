"""What must hold of the adaptive scheduler on every input.

It agrees with the paper's text played in exact fractions, and the paper's bounds hold where
their preconditions do: no update takes longer than e, no feed brings more than its period
and jitter promise (reading note L12). Where these are broken on purpose, the bounds break.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from tests.support.aus_naive import NaiveAus
from tests.support.aus_playing import played, switches

RECOVERIES = ("average", "worst", "simultaneous", "explicit")
CLOSE = 1e-6
HEALTHY = st.sampled_from(["periodic", "jitter"])


def tenths(low, high):
    """Numbers with one digit after the point: sums of them tie on paper, not in floats."""
    return st.integers(round(low * 10), round(high * 10)).map(lambda number: number / 10)


@st.composite
def graphs(draw, *, most=5, low=0.1, high=2.0, period_at_least=2):
    """One to ``most`` tables in a graph; base tables have periodic feeds."""
    tables: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, most))):
        period = draw(st.sampled_from([2, 3, 4, 5, 8, 10, 16, 20]))
        period = max(period, period_at_least)
        table = {
            "name": f"t{number}",
            "period": period,
            "alpha": draw(tenths(low, high)),
            "beta": draw(st.sampled_from([0, 0, 0.1, 0.05])),
        }
        if tables and draw(st.integers(0, 2)) == 0:
            names = [each["name"] for each in tables]
            table["sources"] = draw(
                st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)
            )
        else:
            table["phase"] = draw(tenths(0.1, period))
        tables.append(table)
    return tables


@st.composite
def outages(draw, *, until=120):
    """Up to two stretches in which a feed brings nothing."""
    stretches, at = [], 0.0
    for _ in range(draw(st.integers(0, 2))):
        start = round(at + draw(tenths(1, until / 3)), 1)
        at = round(start + draw(tenths(1, until / 3)), 1)
        stretches.append([start, at])
    return stretches


@st.composite
def scenarios(draw):
    """Anything the contract allows: overload, given periods outside [e, p], small thresholds."""
    tables = draw(graphs())
    for table in tables:
        period = table["period"]
        table["recovery_threshold"] = period * draw(st.sampled_from([0.5, 1, 1.5, 2, 4]))
        table["recovery_period"] = draw(tenths(0.1, period + 1))
        if draw(st.integers(0, 4)) == 0:
            table["wcet"] = round(table["alpha"] + 0.4, 1)
        if not table.get("sources"):
            table["outages"] = draw(outages())
    high = draw(st.sampled_from([1.0, 1.5]))
    return {
        "horizon": 150.5,
        "tracks": draw(st.integers(1, 3)),
        "recovery": draw(st.sampled_from(RECOVERIES)),
        "execution": {"low": high, "high": high},
        "tables": tables,
    }


@given(scenarios())
def test_the_product_agrees_with_the_paper_played_in_fractions(scenario):
    result, trace = played(scenario)
    naive = NaiveAus(scenario).run()
    assert [line.record() for line in trace] == [close(line) for line in naive.lines()]
    assert switches(result) == [
        (pytest.approx(float(time), abs=CLOSE), table, to) for time, table, to in naive.switches
    ]


def close(line):
    return {
        key: pytest.approx(value, abs=CLOSE) if isinstance(value, float) else value
        for key, value in line.items()
    }


# ---- bounds ----


@st.composite
def bounded(draw, *, feeds=HEALTHY, broken=False, thresholds=None):
    """Scenarios that keep the theorems' preconditions, or break them by ``broken``.

    The tables' load is cut to what the tracks can take; e covers every update: files of a
    jittery feed hold up to p + J + kappa of data, and no first file is longer than a period.
    """
    tables = draw(graphs())
    kind = draw(feeds)
    for table in tables:
        longest = table["period"]
        if not table.get("sources"):
            if kind == "jitter":
                longest = jittered(draw, table)
            elif kind == "outages":
                table["outages"] = draw(outages())
        table["wcet"] = table["alpha"] + table["beta"] * longest
        if thresholds is not None:
            table["recovery_threshold"] = longest * draw(thresholds)
    scenario = {
        "horizon": 200.0,
        "tracks": draw(st.integers(1, 3)),
        "recovery": draw(st.sampled_from(RECOVERIES[:3])),
        "seed": draw(st.integers(1, 1000)),
        "execution": {"low": draw(st.sampled_from([0.2, 1.0])), "high": 1.0},
        "tables": tables,
    }
    load = sum(table["wcet"] / table["period"] for table in tables)
    widest = max(table["wcet"] / table["period"] for table in tables)
    scale = min(1.0, 0.999 * scenario["tracks"] / load, 1.0 / widest)
    for table in tables:
        for key in ("alpha", "beta", "wcet"):
            table[key] *= scale
        if broken:
            table["alpha"] *= 10.0
            table["beta"] *= 10.0
    return scenario


def jittered(draw, table):
    """Give ``table`` explicit files up to J early, stamped up to kappa before; longest update."""
    period = table["period"]
    jitter, stamp_jitter = draw(tenths(0, period / 2)), draw(tenths(0, period / 2))
    random_of = random.Random(draw(st.integers(0, 10**6)))
    arrivals: list[list[float]] = []
    number = 0
    while number * period < 200:
        due = table["phase"] + number * period
        arrival = max(0.0, due - jitter * random_of.random())
        stamp = max(0.0, arrival - stamp_jitter * random_of.random())
        if not arrivals or (arrival >= arrivals[-1][0] and stamp > arrivals[-1][1]):
            arrivals.append([arrival, stamp])
        number += 1
    table |= {"arrivals": arrivals, "jitter": jitter, "timestamp_jitter": stamp_jitter}
    ends = [0.0, *(stamp for _, stamp in arrivals)]
    return max([period, *(later - before for before, later in pairwise(ends))])


def worst_of(scenario):
    """Largest tardiness / Y and staleness / A of a run, and the run."""
    result, trace = played(scenario)
    found = result.findings["aus"]["tables"]
    periods = {table["name"]: table["period"] for table in scenario["tables"]}
    tardy = 0.0
    for line in trace:
        bounds = found[line.table]
        period = bounds["recovery_period"] if line.mode == "recovery" else periods[line.table]
        late = line.finish_s - (line.release_s + period)
        tardy = max(tardy, late / bounds["tardiness_bound"] if late > CLOSE else 0.0)
    stale = max(
        result.staleness[name].max_s / bounds["staleness_bound"] for name, bounds in found.items()
    )
    return tardy, stale, result, trace


@given(bounded())
def test_healthy_tables_are_never_later_or_staler_than_promised_and_never_switch(scenario):
    tardy, stale, result, _ = worst_of(scenario)
    assert tardy <= 1.0 + CLOSE
    assert stale <= 1.0 + CLOSE
    # The threshold is the bound itself, so no healthy table ever asks for recovery.
    assert switches(result) == []


@given(bounded(feeds=st.just("outages")))
def test_outages_make_nobody_later_than_promised_and_no_other_table_staler(scenario):
    tardy, _, result, trace = worst_of(scenario)
    assert tardy <= 1.0 + CLOSE
    hit = struck(scenario)
    for name, bounds in result.findings["aus"]["tables"].items():
        if name not in hit:
            assert result.staleness[name].max_s <= bounds["staleness_bound"] + CLOSE
    event(f"switches: {min(len(switches(result)), 3)}")
    for line in trace:
        assert line.finish_s - line.release_s <= (
            result.findings["aus"]["tables"][line.table]["response_bound"] + CLOSE
        )


def struck(scenario):
    """Tables with an outage and everything derived from them."""
    hit = {table["name"] for table in scenario["tables"] if table.get("outages")}
    for table in scenario["tables"]:  # sources stand before what is derived from them
        if hit & set(table.get("sources", ())):
            hit.add(table["name"])
    return hit


SMALL = st.sampled_from([0.0, 0.5, 1.0, 1.5])


@given(bounded(feeds=st.sampled_from(["periodic", "jitter", "outages"]), thresholds=SMALL))
def test_small_thresholds_make_nobody_later_than_promised(scenario):
    tardy, _, result, _ = worst_of(scenario)
    assert tardy <= 1.0 + CLOSE
    hit = struck(scenario)
    for name, bounds in result.findings["aus"]["tables"].items():
        if name not in hit:
            assert result.staleness[name].max_s <= bounds["staleness_bound"] + CLOSE


@given(bounded(feeds=st.just("outages")))
def test_shares_never_exceed_the_tracks(scenario):
    result, _ = played(scenario)
    found = result.findings["aus"]["tables"]
    modes = dict.fromkeys(found, "normal")
    changes = switches(result)
    for number, (time, table, to) in enumerate(changes):
        assert modes[table] != to
        modes[table] = to
        if number + 1 < len(changes) and changes[number + 1][0] == time:
            continue  # what counts is the sum after all changes of an instant
        shares = sum(
            bounds["e"] / bounds["recovery_period"]
            if modes[name] == "recovery"
            else bounds["utilisation"]
            for name, bounds in found.items()
        )
        assert shares <= scenario["tracks"] + CLOSE


@given(bounded(feeds=st.just("outages")))
def test_a_recovered_base_table_took_no_longer_than_theorem_4_says(scenario):
    result, trace = played(scenario)
    by_name = {table["name"]: table for table in scenario["tables"]}
    began = {}
    for time, name, to in switches(result):
        if by_name[name].get("sources"):
            continue
        if to == "recovery":
            began[name] = time
            continue
        bounds, table = result.findings["aus"]["tables"][name], by_name[name]
        period, recovery = table["period"], bounds["recovery_period"]
        if recovery >= period - CLOSE:
            continue
        # lambda counts to the switch: a table may have waited for capacity since the outage.
        lost = began[name] - min(start for start, _ in table["outages"])
        cleared = max(
            line.finish_s for line in trace if line.table == name and line.finish_s <= time + CLOSE
        )
        allowed = (bounds["response_bound"] * period + (lost + period) * recovery) / (
            period - recovery
        )
        assert cleared - began[name] <= allowed + CLOSE


def test_both_bounds_are_exceeded_when_updates_take_ten_times_what_was_assumed():
    tardy, stale = [], []

    @settings(max_examples=100, phases=[Phase.generate], derandomize=True, database=None)
    @given(bounded(feeds=st.just("periodic"), broken=True))
    def look(scenario):
        worst = worst_of(scenario)
        tardy.append(worst[0] > 1.0 + CLOSE)
        stale.append(worst[1] > 1.0 + CLOSE)

    look()
    assert sum(tardy) > 50
    assert sum(stale) > 30


def test_a_feed_that_brings_more_than_its_period_promises_breaks_the_bound():
    # Files of 40 s of data each, where a period of 10 s is declared: b waits 41 s for a.
    busy = {"name": "a", "alpha": 1.0, "beta": 1.0, "period": 10.0, "wcet": 2.0}
    busy |= {"arrivals": [[40.0, 40.0], [80.0, 80.0]]}
    healthy = {"name": "b", "alpha": 0.1, "period": 4.0}
    scenario = {"horizon": 100.0, "tables": [busy, healthy]}
    tardy, stale, _, _ = worst_of(scenario)
    assert tardy > 5.0
    assert stale > 1.5
