"""How long one decision takes with 10,000 tables, against 30. The core alone, no Spark.

A decision is what the scheduler does when an update has ended: take in its end, move the
children's trailing edges, put tables back among the waiting, choose the next one and say
why, exactly as the warehouse has it done (costs are learned, choices are explained). More
tables are pending than tracks can follow, so the heap of waiting tables is always full.
"""

from __future__ import annotations

import gc
import time
from statistics import fmean

from benchmarks.common.report import Goal, Report, asked_quick
from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.commands import StartUpdate
from freshline.core.events import Event, FileArrived, UpdateFinished
from freshline.core.model import TableSpec
from freshline.core.scheduler import Scheduler

_POLICIES = ("max-benefit", "index", "fifo", "edf")
_SMALL, _LARGE = 30, 10_000
_TRACKS = 2
_GOAL = 3.0


def specs(count: int) -> list[TableSpec]:
    """A third base tables, each with two views over it; priorities and periods differ."""
    bases = count // 3
    made = [
        TableSpec(f"b{index}", (), 1.0 + index % 7, 1.0 + index % 9, 0.5, 0.01)
        for index in range(bases)
    ]
    made += [
        TableSpec(f"v{index}", (f"b{index % bases}",), None, 1.0 + index % 10, 0.4, 0.02)
        for index in range(count - bases)
    ]
    return made


class Overloaded:
    """A scheduler with ``count`` tables, all of which have news most of the time."""

    def __init__(self, policy: str, count: int) -> None:
        self.scheduler: Scheduler = make_scheduler(
            specs(count),
            tracks=_TRACKS,
            settings=PolicySettings(policy=policy, inherit="max"),
            origin_s=None,
            learns=True,
            explains=True,
        )
        self._bases = count // 3
        self._next = 0
        self._now_s = 1.0
        first: list[Event] = [FileArrived(f"b{index}", 1.0, "f0") for index in range(self._bases)]
        self._running: list[StartUpdate] = self.scheduler.handle(1.0, first)
        for _ in range(2 * count):  # until views wait too, as they do in a running warehouse
            self.decide()

    def arrive(self) -> None:
        """A file for each of two base tables, which keeps the waiting many."""
        for _ in range(_TRACKS):
            self._now_s += 0.01
            event = FileArrived(f"b{self._next}", self._now_s, f"f{self._now_s:.2f}")
            self._next = (self._next + 1) % self._bases
            self._running += self.scheduler.handle(self._now_s, [event])

    def decide(self) -> int:
        """One update ends and the next is chosen; the CPU nanoseconds that took."""
        self.arrive()
        self._now_s += 0.2
        ended = self._running.pop(0)
        event = UpdateFinished(ended.table, ended.number, 0.2)
        before_ns = time.thread_time_ns()
        commands = self.scheduler.handle(self._now_s, [event])
        spent_ns = time.thread_time_ns() - before_ns
        self._running += commands
        return spent_ns


def measure(*, quick: bool) -> Report:
    """Alternate between the two sizes; means, since an occasional dear decision counts."""
    rounds, decisions = (25, 200) if quick else (100, 200)
    report = Report(
        "decide",
        f"One decision with {_LARGE:,} tables against {_SMALL}",
        ("policy", f"{_SMALL} tables, µs", f"{_LARGE:,} tables, µs", "ratio"),
        [],
        quick=quick,
    )
    for policy in _POLICIES:
        both = {count: Overloaded(policy, count) for count in (_SMALL, _LARGE)}
        spent: dict[int, list[float]] = {count: [] for count in both}
        gc.collect()
        gc.disable()  # its passes over 10,000 tables would fall on whoever is being timed
        for _ in range(rounds):
            for count, run in both.items():
                spent[count].append(fmean(run.decide() for _ in range(decisions)) / 1000)
        gc.enable()
        small_us, large_us = fmean(spent[_SMALL]), fmean(spent[_LARGE])
        ratio = large_us / small_us
        report.rows.append((policy, f"{small_us:.1f}", f"{large_us:.1f}", f"{ratio:.2f}"))
        report.goals.append(Goal(f"{policy}, {_LARGE:,} tables to {_SMALL}", ratio, _GOAL))
        report.data[policy] = {str(count): values for count, values in spent.items()}
    report.notes.append(
        f"Mean CPU time over {rounds} alternating rounds of {decisions} decisions; costs are"
        " learned and choices explained, as in `freshline run`."
    )
    return report


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
