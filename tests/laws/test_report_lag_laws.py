"""Laws of a report whose stream lags: what is to come moves later, and its number does not shrink.

Whole runs of a warehouse in virtual time, of two windows of an hour. The second has the rows of
the first; they are committed later than their freshness, all by as much or by more and more.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.runtime.reports.store import ReportStatus
from tests.support.report_play import HOUR_S, Play, report_project

KNOWN = ((100, 12.0), (1000, 102.0))
"""A batch takes 2 s and 0.1 s a row, as the play has it; with the final of 5 s and the margin all
600 rows in one batch take 84 s."""
SECOND = "sales@1970-02-11T17:00:00Z"
LAST_BATCH_S = 30.0
"""Of a minute's rows, with margin, final and what the guard takes."""


def played(
    rows: list[int], lags_s: list[float], deadline_s: float
) -> tuple[ReportStatus, list[str], Play]:
    """How the second window ended, and the batches that were made for it.

    Args:
        rows: Of each minute of an hour; both windows have them.
        lags_s: Of each minute of the second window.
    """
    with tempfile.TemporaryDirectory() as folder:
        play = Play(report_project(Path(folder), deadline=f"{deadline_s:.0f} seconds"))
        play.known(*KNOWN)
        first = [(60.0 * (minute + 1), count) for minute, count in enumerate(rows)]
        fresh: dict[float, float] = {}
        second = []
        for (at_s, count), lag_s in zip(first, lags_s, strict=True):
            fresh[round(HOUR_S + at_s + lag_s)] = HOUR_S + at_s
            second.append((HOUR_S + at_s + lag_s, count))
        play.fresh = lambda at_s: fresh.get(round(at_s), at_s)
        play.run([*first, *second], HOUR_S * 2.0 + deadline_s + 600.0)
        play.check_replay()
        play.reports.close()
        found = play.status(SECOND)
        batches = [line for line in play.trace if float(line.split(":")[0]) > HOUR_S * 1.5]
        play.journal.close()
        return found, batches, play


def minutes(seed: int, kind: str) -> list[int]:
    """Rows of each minute of an hour, at most ten in its last one."""
    rng = random.Random(seed)
    if kind == "even":
        return [10] * 60
    return [rng.choice((0, 0, 0, 40)) for _ in range(59)] + [10]


@settings(max_examples=8)
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(("even", "bursts")),
    lag_s=st.integers(0, 1500),
    grows=st.booleans(),
    left_s=st.sampled_from((LAST_BATCH_S, 60.0, 120.0, 600.0)),
)
def test_the_same_total_later_is_complete_and_in_time(
    seed: int, kind: str, lag_s: int, grows: bool, left_s: float
) -> None:
    """Its last rows are there ``left_s`` before the deadline, which is time for them alone."""
    rows = minutes(seed, kind)
    lags_s = [lag_s * (minute + 1) / 60.0 if grows else float(lag_s) for minute in range(60)]
    found, batches, _ = played(rows, lags_s, lag_s + left_s)
    assert (found.state, found.late, found.taken_rows) == ("done", None, sum(rows)), batches
    assert not any("incomplete" in line for line in batches)


@settings(max_examples=4)
@given(lag_s=st.integers(60, 1500), left_s=st.sampled_from((45, 60, 120, 600)))
def test_the_same_total_later_is_cut_as_in_time_only_later(lag_s: int, left_s: int) -> None:
    rows = minutes(0, "even")
    in_time, before, _ = played(rows, [0.0] * 60, left_s)
    later, after, _ = played(rows, [float(lag_s)] * 60, lag_s + left_s)
    assert in_time.batches == later.batches
    for early, late in zip(before, after, strict=True):
        moved_s = float(late.split(":")[0]) - float(early.split(":")[0])
        assert moved_s == pytest.approx(lag_s, abs=61.0)  # a minute's rows more or less


@pytest.mark.parametrize("grows", [False, True])
def test_a_lag_that_leaves_no_time_is_told_before_the_deadline(grows: bool) -> None:
    lags_s = [900.0 * (minute + 1) / 60.0 if grows else 900.0 for minute in range(60)]
    found, batches, _ = played([10] * 60, lags_s, 600.0)
    assert found.slack_s is not None
    assert found.slack_s < 0.0
    assert batches[-1].endswith("incomplete")
    assert (found.late, found.complete) == (None, False)
    assert found.taken_rows >= 530  # it waits for all that can still be in


@pytest.mark.parametrize("times", [0.5, 2.0])
def test_another_total_at_the_usual_pace_is_no_lag(times: float) -> None:
    rows = [10] * 60
    with tempfile.TemporaryDirectory() as folder:
        play = Play(report_project(Path(folder), deadline="100 seconds"))
        play.known(*KNOWN)
        both = [
            (HOUR_S * window + 60.0 * (minute + 1), round(count * (times if window else 1.0)))
            for window in (0, 1)
            for minute, count in enumerate(rows)
        ]
        play.run(both, HOUR_S * 2.0 + 300.0)
        found = play.status(SECOND)
        play.check_replay()
        play.reports.close()
        play.journal.close()
    assert (found.state, found.late, found.taken_rows) == ("done", None, 600 * times)
    # In one batch 500 rows and the final would take 71 s with the margin, 1,200 rows 159 s.
    assert found.batches == (1 if times < 1.0 else 2)
