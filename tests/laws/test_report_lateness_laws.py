"""Laws of a warehouse's reports in virtual time: a deadline is missed for a reason, and replays.

Each example is a whole run: journal, core, planner and tracks are the real ones, and Spark's part
takes given seconds. Minutes bring rows evenly, in bursts, more than before, or not at all; people
submit and withdraw reports meanwhile.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from freshline.runtime.reports.in_progress import LATENESS
from freshline.runtime.reports.requests import argument_of, submit
from freshline.runtime.reports.store import OPEN, WantedReport, read_reports
from tests.support.examples import examples
from tests.support.report_play import HOUR_S, START_S, Play, report_project

DEADLINES = ("5 seconds", "30 seconds", "2 minutes", "10 minutes")
KNOWN = ((100, 12.0), (1000, 102.0))
"""A batch takes 2 s and 0.1 s a row, times what a machine is slower."""
PATIENCE_S = 2.0 * HOUR_S
"""Beyond its deadline no report of these runs is made later, whatever happens."""


def minutes(rng: random.Random, kind: str, hours: int) -> list[tuple[float, int]]:
    """When rows come, in seconds from the start, and how many."""
    gap = rng.randint(5, 50)
    result = []
    for minute in range(60 * hours):
        rows = 10
        if kind == "bursts":
            rows = rng.choice((0, 0, 0, 100))
        elif kind == "more" and minute % 60 >= gap:
            rows = rng.choice((10, 100, 300))
        elif kind == "few":
            rows = rng.choice((0, 0, 1))
        if kind == "outage" and gap <= minute < gap + 30:
            continue
        result.append((60.0 * minute, rows))
    return result


def asked(rng: random.Random) -> list[tuple[float, str, WantedReport]]:
    """Who submits which report when, and who withdraws one again."""
    acts = []
    for number in range(rng.choice((0, 0, 1, 2, 3))):
        at_s = rng.uniform(0.0, 6000.0)
        start_s = rng.choice((-HOUR_S, 0.0, 1800.0))
        end_s = start_s + rng.choice((600.0, HOUR_S))
        deadline_s = max(at_s, end_s) + rng.choice((5.0, 60.0, 600.0, 3600.0))
        name = f"ask{number}"
        wanted = WantedReport(
            name, name, "SELECT n FROM orders", "ask.sql",
            START_S + start_s, START_S + end_s, START_S + deadline_s,
        )  # fmt: skip
        acts.append((at_s, "submit", wanted))
        if rng.random() < 0.4:
            acts.append((at_s + rng.uniform(0.0, 2000.0), "withdraw", wanted))
    return sorted(acts, key=lambda act: act[:2])


def played(
    play: Play,
    arrivals: list[tuple[float, int]],
    acts: list[tuple[float, str, WantedReport]],
    until_s: float,
) -> None:
    """The whole run."""
    done_s = -1.0
    for at_s, what, wanted in acts:
        play.run([each for each in arrivals if done_s < each[0] <= at_s], at_s)
        done_s = at_s
        if what == "submit":
            submit(play.journal, argument_of(wanted), play.now_s)
            play.journal.flush()
            play.reports.submitted()
        else:
            play.reports.withdraw(wanted.name)
    play.run([each for each in arrivals if done_s < each[0]], until_s)
    play.reports.close()


@contextmanager
def playing(deadline: str, slower: float) -> Iterator[Play]:
    """A warehouse on a machine so many times slower; in the end its run is played again."""
    with tempfile.TemporaryDirectory() as folder:
        play = Play(
            report_project(Path(folder), deadline=deadline),
            batch_s=lambda rows: slower * (2.0 + 0.1 * rows),
            final_s=slower * 5.0,
        )
        yield play
        play.check_replay()
        play.journal.close()


@examples(8)
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(("even", "bursts", "more", "few", "outage")),
    deadline=st.sampled_from(DEADLINES),
    slower=st.sampled_from((0.5, 1.0, 1.2, 2.0)),
    known=st.booleans(),
    once=st.sampled_from((False, False, False, True)),
)
def test_a_deadline_is_missed_for_a_reason_and_every_run_replays(
    seed: int, kind: str, deadline: str, slower: float, known: bool, once: bool
) -> None:
    rng = random.Random(seed)
    with playing(deadline, slower) as play:
        if known:
            play.known(*KNOWN)
        play.batches.code = "ORDER_DEPENDENT" if once else ""
        played(play, minutes(rng, kind, 2), asked(rng), 2.0 * HOUR_S + PATIENCE_S)
        reports = read_reports(play.journal)
        assert len(reports) >= 3
        for each in reports:
            wanted = each.wanted
            if each.state == "withdrawn":
                continue
            if each.state in OPEN:
                assert wanted.end_s > play.now_s - PATIENCE_S, each
                continue
            assert each.state == "done", each
            assert each.finish_s is not None
            assert (each.late is not None) == (each.finish_s > wanted.deadline_s), each
            assert each.late in {None, *LATENESS} - {"unexplained"}, each


@examples(6)
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(("even", "bursts", "more", "few", "outage")),
    deadline=st.sampled_from(DEADLINES),
    slower=st.floats(0.5, 1.2),
)
def test_where_the_input_repeats_and_the_machine_keeps_its_margin_only_the_foreseen_is_missed(
    seed: int, kind: str, deadline: str, slower: float
) -> None:
    """The margin is 1.25; what is learned meanwhile is off by a little beyond the sizes seen."""
    hour = minutes(random.Random(seed), kind, 1)
    with playing(deadline, slower) as play:
        play.known(*KNOWN)
        again = [(at_s + HOUR_S, rows) for at_s, rows in hour]
        played(play, [*hour, *again, (2.0 * HOUR_S, 0)], [], 2.0 * HOUR_S + PATIENCE_S)
        second = play.status("sales@1970-02-11T17")
        assert second.state == "done"
        assert second.late in (None, "foreseen"), second
