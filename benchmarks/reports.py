"""Reports with deadlines on Spark: batches of one report, many by the clock, and streaming.

TPC-H's orders and lineitem come in slices. First some reports alone, in more and more batches
(the paper's figure 5). Then a set of them with one set of deadlines, on one track, under each
policy: the product's planner with costs learned from what ran before, the product's batches,
all by the clock. Then the same set as Structured Streaming queries, a micro-batch after the
other, every few seconds, and all at the window's end.

Source: Chandrasekaran and Sudarshan 2024, sections 7.2 and 7.4.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import fsum, inf
from pathlib import Path

from benchmarks.common.report import Report, asked_quick
from benchmarks.intermittent import slices as tpch
from benchmarks.intermittent import streaming, timed
from benchmarks.intermittent.batches import Reports, Spent
from benchmarks.intermittent.timed import Learned, Outcome, Wanted
from freshline.spark.engine.session import start_session
from freshline.spark.updates import SparkExecutor

_ROOM = 1.1
"""Times its cost in one batch that each deadline leaves to a report."""
_SMALL = 0.1
"""Share of the slices in the smaller of two batches from which costs are learned."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Attributes:
        scale: Of TPC-H.
        slices: That the window is cut into.
        alone: Reports that are made alone, and in how many batches.
        wanted: The set, in the order of the deadlines.
        window_s: Length of the set's window.
        policies: Under which the set is made.
        triggers: Seconds between micro-batches, 0: at once; None: availableNow.
    """

    scale: float
    slices: int
    alone: Mapping[str, Sequence[int]]
    wanted: Sequence[str]
    window_s: float
    policies: Sequence[str]
    triggers: Mapping[str, float | None]


_TRIGGERS = {"streaming": 0.0, "streaming, every 5 s": 5.0, "streaming, availableNow": None}
_BATCHES = (1, 2, 4, 10)
_THIRTEEN = (
    *("q01", "q03", "q12", "q06", "cq4", "cq2", "cq1"),
    *("q04", "q14", "cq3", "q10", "q19", "q09"),
)
"""TPC-H's and the paper's, in the order of the deadlines."""
_FULL = Size(
    scale=0.1,
    slices=60,
    # Sixty for four of them: each takes half a minute.
    alone=dict.fromkeys(_THIRTEEN, _BATCHES)
    | dict.fromkeys(("cq1", "q01", "q03", "q12"), (*_BATCHES, 60)),
    wanted=_THIRTEEN,
    window_s=20.0,
    policies=("llf", "edf", "sjf", "rr", "joint"),
    triggers=_TRIGGERS,
)
_QUICK = Size(
    scale=0.01,
    slices=6,
    alone={"cq1": (1, 2, 6), "q12": (1, 2)},
    wanted=("q12", "q01", "q06", "cq1"),
    window_s=6.0,
    policies=("llf", "sjf", "joint"),
    triggers={name: each for name, each in _TRIGGERS.items() if each != 5.0},
)


@dataclass(slots=True)
class Found:
    """What was measured: every report alone, and the set in each way.

    Attributes:
        alone: Every report in one batch, and in more.
        wanted: The set.
        ways: What came of it in each way.
        failed: Ways of streaming that failed, and why: that is a result too.
    """

    alone: list[Spent]
    wanted: list[Wanted] = field(default_factory=list)
    ways: list[Outcome] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def one_batch(self, query: str) -> Spent:
        """A report in one batch."""
        return next(each for each in self.alone if (each.query, each.batches) == (query, 1))


def measure(*, quick: bool) -> Report:
    """All of it, one thing after the other."""
    size = _QUICK if quick else _FULL
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as name:
        root = Path(name)
        slices = tpch.write(root, size.scale, size.slices)
        session = start_session(slices.project)
        try:
            executor = SparkExecutor(slices.project, session)
            tpch.load(slices, executor)
            reports = Reports(slices, session, executor)
            found = Found(_alone(reports, size))
            found.wanted = _wanted(found, size)
            for policy in size.policies:
                _keep(found, timed.run(reports, found.wanted, timed.policy(policy), size.window_s))
            for how, trigger_s in size.triggers.items():
                folder = root / f"streams-{list(size.triggers).index(how)}"
                try:
                    outcome = streaming.run(
                        reports, session, found.wanted, how, trigger_s, size.window_s, folder
                    )
                except streaming.FailedError as error:
                    found.failed[how] = str(error)
                    print(f"reports: {how}: {error}", file=sys.stderr, flush=True)
                    continue
                _keep(found, outcome)
        finally:
            session.stop()
    return _report(found, slices.rows, size, quick=quick)


def _alone(reports: Reports, size: Size) -> list[Spent]:
    """Every report once unmeasured, which also analyses its query, then in its batches."""
    found = []
    small = max(1, round(_SMALL * size.slices))
    for query in dict.fromkeys([*size.alone, *size.wanted]):
        reports.make(query, 1)
    for query in dict.fromkeys([*size.alone, *size.wanted]):
        if query in size.alone:
            found += [reports.make(query, batches) for batches in size.alone[query]]
        else:
            found += [reports.make(query, 1), reports.make(query, 2, first=small)]
        costs = ", ".join(
            f"{each.batches}: {each.wall_s:.1f} s" for each in found if each.query == query
        )
        print(f"reports: {query} in batches: {costs}", file=sys.stderr, flush=True)
    return found


def _wanted(found: Found, size: Size) -> list[Wanted]:
    """The set with its deadlines and the costs that the planner knows."""
    costs_s = {query: found.one_batch(query).wall_s for query in size.wanted}
    due_s = timed.deadlines_s(costs_s, size.window_s, _ROOM)
    learned = {
        query: Learned.of([each for each in found.alone if each.query == query])
        for query in size.wanted
    }
    # In another order than that of the deadlines: rr and all ties go by it.
    return [Wanted(query, due_s[query], learned[query]) for query in sorted(size.wanted)]


def _keep(found: Found, outcome: Outcome) -> None:
    found.ways.append(outcome)
    told = f"{outcome.met} of {len(outcome.late_s)} in time, {outcome.tasks.run_s:.1f} s"
    print(f"reports: {outcome.how}: {told}", file=sys.stderr, flush=True)


def _latest(way: Outcome) -> str:
    """Seconds by which the latest report was late, and how many never came."""
    came = [late_s for late_s in way.late_s.values() if late_s < inf]
    never = len(way.late_s) - len(came)
    told = [f"{max(came):+.1f}"] if came else []
    return ", ".join([*told, *([f"{never} never"] if never else [])])


def _report(found: Found, rows: Mapping[str, int], size: Size, *, quick: bool) -> Report:
    report = Report(
        "reports",
        f"Reports with deadlines over {size.slices} slices, TPC-H at {size.scale:g}",
        ("way", "batches", "executor, s", "CPU, s", "to one batch", "in time", "latest, s"),
        [],
        quick=quick,
    )
    for each in found.alone:
        if each.query in size.alone:
            once = found.one_batch(each.query)
            report.rows.append(
                (
                    f"{each.query} alone, {each.wall_s:.1f} s",
                    str(each.batches),
                    f"{each.tasks.run_s:.2f}",
                    f"{each.tasks.cpu_s:.2f}",
                    f"{each.tasks.run_s / once.tasks.run_s:.2f}",
                    "",
                    "",
                )
            )
    once_s = fsum(found.one_batch(each.query).tasks.run_s for each in found.wanted)
    for way in found.ways:
        report.rows.append(
            (
                f"{len(found.wanted)} reports, {way.how}",
                str(sum(way.batches.values())),
                f"{way.tasks.run_s:.1f}",
                f"{way.tasks.cpu_s:.1f}",
                f"{way.tasks.run_s / once_s:.2f}",
                f"{way.met} of {len(way.late_s)}",
                _latest(way),
            )
        )
    ours_s = {way.how: way.tasks.run_s for way in found.ways}
    report.notes = [
        f"{rows['orders']:,} orders and {rows['lineitem']:,} lineitems.",
        (
            f"The set: {', '.join(each.query for each in found.wanted)}; window"
            f" {size.window_s:g} s, deadlines behind it, each {_ROOM:g} times the report's seconds"
            " in one batch after the one before. Planned with learned costs; one track."
        ),
        "Executor seconds are those of tasks; loading the streams' tables is in none of them.",
        *(
            f"{how} costs {ours_s[how] / ours_s[other]:.2f} times as much as {other}."
            for how in size.triggers
            for other in ("llf", "joint")
            if how in ours_s
        ),
        *(f"{how} failed: {why}" for how, why in found.failed.items()),
    ]
    report.data = {
        "alone": [asdict(each) for each in found.alone],
        "deadlines_s": {each.query: each.deadline_s for each in found.wanted},
        "ways": [asdict(way) for way in found.ways],
        "failed": found.failed,
    }
    return report


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
