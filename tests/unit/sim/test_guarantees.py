"""``freshline guarantees FILE``: the object it prints, what it says to people, its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freshline.cli.commands.guarantees import conclusions, guarantees, length_s
from freshline.core.assembly import SchedulerSettings
from freshline.core.errors import UserError
from freshline.core.model import TableSpec
from freshline.core.stretch import STRETCH
from freshline.runtime.status.guarantees import assessment_of
from freshline.sim.driver import play
from freshline.sim.scenario.file import read_scenario
from freshline.sim.theory.bounds import bounds_of
from freshline.sim.theory.guarantees import scenario_guarantees

LATE = ["late", "by", "response", "stale", "by", "recovers", "in"]
DATA = Path(__file__).parents[2] / "data" / "aus"


def test_the_object_of_a_scenario_with_a_chain(capsys):
    guarantees(DATA / "s08_chain.json", outage="42", as_json=True)
    printed = json.loads(capsys.readouterr().out)
    keys = ["schedulable", "tracks", "tracks_needed", "utilisation", "stretch", "tables"]
    assert list(printed) == keys
    assert printed["stretch"] == {"bound": None, "why_not": "it is about policy group-and-run"}
    assert (printed["schedulable"], printed["tracks"], printed["tracks_needed"]) == (True, 1, 1)
    assert printed["utilisation"] == 0.4375
    assert printed["tables"]["base"] == {
        "e": 0.5,
        "utilisation": 0.125,
        "recovery_period": 1.0,
        "threshold": 12.0,
        "tardiness_bound": 1.5,
        "response_bound": 5.5,
        "staleness_bound": 13.5,
        # Theorem 4 with Theta = 5.5, p = 4, lambda = 42, J = 0, p^r = 1.
        "recovery": (5.5 * 4 + 46 * 1) / 3,
    }
    assert printed["tables"]["top"]["recovery"] is None


def test_without_an_outage_no_recovery_is_bounded():
    found = scenario_guarantees(read_scenario(DATA / "s08_chain.json"))
    assert [table["recovery"] for table in found.record()["tables"].values()] == [None] * 3


def test_any_policy_is_judged_by_the_rules_of_aus(tmp_path):
    path = tmp_path / "scenario.yml"
    path.write_text(
        "horizon: 100\npolicy: edf\nexecution: {low: 0.5, high: 2}\n"
        "tables:\n- {name: a, period: 10, alpha: 4}\n- {name: b, period: 10, alpha: 8}\n"
    )
    found = scenario_guarantees(read_scenario(path))
    # Recovery average: e is 4 and 8, whatever the noise.
    assert found.record()["tables"]["a"]["e"] == 4.0
    assert (found.is_schedulable, found.tracks_needed) == (False, 2)
    assert conclusions(found) == [
        "The tables keep 1.2 of 1 track busy.",
        "That is too much: 2 tracks would be enough.",
        "Most costly: b (0.80), a (0.40) of a track.",
    ]


def test_people_are_told_what_the_numbers_assume(capsys):
    guarantees(DATA / "s02_paper_example_8.json", outage="2h")
    printed = capsys.readouterr().out
    head = printed.splitlines()[0]
    assert head.split() == ["table", "update", "share", "period", "in", "recovery", *LATE]
    assert "Under policy aus every bound holds as long as no update takes longer than" in printed


def test_stretch_is_bounded_where_batenis_conditions_hold(tmp_path):
    tables = "".join(f"- {{name: t{n}, period: {10 + n}, beta: 0.02}}\n" for n in range(4))
    found = {}
    for policy, tracks in (("group-and-run", 2), ("group-and-run", 3), ("edf", 2)):
        path = tmp_path / "scenario.yml"
        path.write_text(f"horizon: 100\ntracks: {tracks}\npolicy: {policy}\ntables:\n{tables}")
        found[policy, tracks] = scenario_guarantees(read_scenario(path))
    # alpha <= (p - g)/(8t): 0.02 <= 1/32, one group.
    assert found["group-and-run", 2].stretch.record() == {"bound": 3.0, "why_not": None}
    assert conclusions(found["group-and-run", 3])[-1] == (
        "No file takes 3 times as long from the first of its data to its table as it covers"
        " (Bateni et al.)."
    )
    assert found["edf", 2].stretch.why_not == "it is about policy group-and-run"


def test_a_scenario_has_no_recorded_updates_to_take_a_quantile_of():
    with pytest.raises(UserError, match="--quantile does not go with a scenario"):
        guarantees(DATA / "s08_chain.json", quantile=0.99)
    with pytest.raises(UserError, match="--quantile is 1"):
        guarantees(None, quantile=1.0)


def test_an_explicit_recovery_needs_its_periods(tmp_path):
    path = tmp_path / "scenario.yml"
    path.write_text(
        "horizon: 100\npolicy: {name: aus, recovery: explicit}\n"
        "tables:\n- {name: a, period: 10, alpha: 4}\n"
    )
    with pytest.raises(UserError, match="table 'a' has no 'recovery_period'"):
        scenario_guarantees(read_scenario(path))


@pytest.mark.parametrize(("text", "seconds"), [("42", 42.0), ("0", 0.0), ("1h 30m", 5400.0)])
def test_an_outage_is_seconds_or_a_duration(text, seconds):
    assert length_s(text) == seconds


@pytest.mark.parametrize("text", ["-1", "soon", "nan", "inf"])
def test_anything_else_is_refused(text):
    with pytest.raises(UserError, match="--outage"):
        length_s(text)


@pytest.mark.parametrize(
    ("policy", "table", "horizon_s"),
    [
        ("group-and-run", "{name: a, period: 100, phase: 1, alpha: 10}", 300),
        ("group-and-run", "{name: a, period: 10, alpha: 0.1, outages: [[15, 500]]}", 600),
        (
            "group-and-run",
            "{name: a, period: 100, alpha: 10, arrivals: [[100, 100], [101, 101], [200, 200]]}",
            400,
        ),
        (
            "{name: group-and-run, objective: cost}",
            "{name: a, period: 10, alpha: 0.1, target_lag: 1000}",
            3000,
        ),
    ],
    ids=["a-short-first-file", "an-outage", "arrivals-of-its-own", "objective-cost"],
)
def test_no_stretch_is_promised_that_is_not_kept(tmp_path, policy, table, horizon_s):
    """``simulate --bounds`` says of the same files that the theorem is not about them."""
    path = tmp_path / "scenario.yml"
    path.write_text(f"horizon: {horizon_s}\ntracks: 2\npolicy: {policy}\ntables:\n- {table}\n")
    scenario = read_scenario(path)
    result = play(scenario)
    assert result.stretch is not None
    assert result.stretch > STRETCH
    found, told = scenario_guarantees(scenario).stretch, bounds_of(scenario, result)["theorem_4_3"]
    assert (found.bound, found.why_not) == (None, told.why_not)


def test_no_stretch_is_promised_of_a_project_whose_tables_wait_for_their_targets():
    specs = (TableSpec("a", (), 10.0, alpha_s=0.1, target_lag_s=3600.0),)
    chosen = SchedulerSettings(tracks=2, policy="group-and-run", objective="cost")
    assert assessment_of(specs, chosen).stretch.bound is None
