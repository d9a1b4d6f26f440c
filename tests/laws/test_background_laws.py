"""Background work never takes more than its share while others are late, and never starves.

The share alone, driven by random histories, and a whole scheduler with backfills under overload.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.background.share import BackgroundShare
from freshline.core.events import BackfillRequested, Event, FileArrived, UpdateFinished
from freshline.core.model import TableSpec

CLOSE = 1e-6

STEPS = st.lists(
    st.tuples(st.floats(0.1, 20.0), st.booleans(), st.booleans(), st.floats(0.1, 5.0)),
    min_size=1,
    max_size=60,
)
"""Seconds until the next instant, whether others wait, whether others are late, and what the next
background update takes."""


@given(STEPS, st.sampled_from([0.05, 0.1, 0.3, 1.0]), st.integers(1, 4))
def test_while_others_are_late_the_share_is_never_exceeded(steps, rate, tracks):
    share = BackgroundShare(rate, tracks, 0.0)
    now = late_s = spent_s = 0.0
    ends: dict[str, tuple[float, float, bool]] = {}
    for number, (gap, waits, late, takes) in enumerate(steps):
        for name in [name for name, (_, end, _) in ends.items() if end <= now]:
            share.ended(name, now)
            del ends[name]
        share.see(wanted=True, others_wait=waits, others_late=late)
        if len(ends) < tracks and share.wait_s(takes) == 0.0:
            share.started(str(number), takes)
            ends[str(number)] = (now, now + takes, late)
        # To the next end or the next instant: an update that ends is seen at its end.
        until = now + gap
        while now < until:
            to = min([end for _, end, _ in ends.values() if end > now] + [until])
            paid = sum(started_late for _, end, started_late in ends.values() if end > now)
            if late:
                late_s += to - now
            spent_s += paid * (to - now) if late else 0.0
            now = to
            share.advance(now)
            for name in [name for name, (_, end, _) in ends.items() if end <= now]:
                share.ended(name, now)
                del ends[name]
            share.see(wanted=True, others_wait=waits, others_late=late)
            assert spent_s <= rate * tracks * late_s + CLOSE


@given(
    st.sampled_from([0.05, 0.1, 0.5]),
    st.integers(1, 4),
    st.floats(0.1, 10.0),
    st.lists(st.floats(0.1, 5.0), min_size=1, max_size=20),
    st.booleans(),
)
def test_what_waits_for_its_share_gets_it_however_late_the_others_are(
    rate, tracks, takes, gaps, late
):
    share = BackgroundShare(rate, tracks, 0.0)
    share.see(wanted=True, others_wait=True, others_late=late)
    promised_s = share.wait_s(takes)
    assert promised_s == pytest.approx(takes / (rate * tracks))
    now = 0.0
    for gap in gaps:
        now += gap
        share.advance(now)
        share.see(wanted=True, others_wait=True, others_late=late)
        assert share.wait_s(takes) == pytest.approx(max(0.0, promised_s - now), abs=CLOSE)
    share.advance(max(now, promised_s + CLOSE))
    assert share.wait_s(takes) == 0.0


def test_a_debt_outlives_the_work_and_savings_do_not():
    share = BackgroundShare(0.1, 1, 0.0)
    share.see(wanted=True, others_wait=True, others_late=True)
    share.advance(100.0)
    assert share.late.balance_s == pytest.approx(10.0)
    share.see(wanted=False, others_wait=True, others_late=True)
    assert share.late.balance_s == 0.0
    share.see(wanted=True, others_wait=True, others_late=True)
    share.advance(110.0)
    share.see(wanted=True, others_wait=True, others_late=True)
    assert share.wait_s(1.0) == 0.0
    share.started("t", 1.0)
    share.advance(120.0)
    share.ended("t", 120.0)  # ten times as long
    share.see(wanted=False, others_wait=False, others_late=False)
    assert share.late.balance_s == pytest.approx(-8.0)


# ---- the whole scheduler ----


def overloaded(
    policy: str, tracks: int, share: float, takes: float, cost: float, until: float = 2000.0
):
    """Tables that need more than the tracks, and backfills of another one, one after the other.

    Returns:
        Seconds of background updates, when they started, and what the last one of the others
        was; every update takes what it is expected to.
    """
    names = [f"t{number}" for number in range(2 * tracks)]
    specs = [TableSpec(name, period_s=10.0, alpha_s=cost) for name in names]
    specs.append(TableSpec("old", period_s=1e6, alpha_s=takes))
    settings = PolicySettings(policy=policy, backfill_share=share)
    core = make_scheduler(specs, tracks=tracks, settings=settings)
    running: list[tuple[float, int, str, bool]] = []
    arrivals = [(10.0 * step, name) for step in range(1, int(until / 10)) for name in names]
    background, began = 0.0, []
    now, asked = 0.0, 0
    while now < until:
        events: list[Event] = []
        for end in sorted(item for item in running if item[0] <= now):
            running.remove(end)
            events.append(UpdateFinished(end[2]))
        while arrivals and arrivals[0][0] <= now:
            due, name = arrivals.pop(0)
            events.append(FileArrived(name, due))
        if core.background is None or not core.background.wanted:
            asked += 1
            events.append(BackfillRequested("old", float(asked), float(asked) + 1.0))
        for command in core.handle(now, events):
            seconds = takes if command.backfill else cost
            running.append((now + seconds, command.track, command.table, bool(command.backfill)))
            if command.backfill:
                background += seconds
                began.append(now)
        nexts = [core.next_wakeup_s(), *(item[0] for item in running)]
        nexts += [arrivals[0][0]] if arrivals else []
        now = min(nexts)
    return background, began


@given(
    st.sampled_from(["fifo", "edf", "max-benefit", "aus"]),
    st.integers(1, 3),
    st.sampled_from([0.05, 0.1, 0.3]),
    st.sampled_from([1.0, 3.0, 7.0]),
)
def test_under_overload_backfills_get_their_share_and_no_more(policy, tracks, share, takes):
    background, began = overloaded(policy, tracks, share, takes, cost=9.0)
    # Until the first files come, at 10 s, the tracks are free.
    free = (10.0 + takes) * tracks + takes
    assert background <= share * tracks * 2000.0 + free
    assert len(began) >= 2
    # Never starves: the longest wait is what its price takes to earn, and a running update.
    longest = max(after - before for before, after in pairwise(began))
    assert longest <= 2 * takes / (share * tracks) + takes + 9.0 + 10.0


def test_with_idle_tracks_backfills_run_at_once_and_for_nothing():
    background, _ = overloaded("fifo", 2, 0.1, 5.0, cost=0.5, until=300.0)
    assert background > 0.1 * 2 * 300.0 * 3
