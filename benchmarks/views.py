"""The demo's views over the same arrivals: maintained from changes, in full, and as `auto` chooses.

TPC-H's orders and lineitems come in one large arrival and several small ones, a tenth or a
thousandth of all days each; after each every view is brought up to date in three warehouses of one
JVM, with ``freshline.refresh`` = ``incremental``, ``full`` and ``auto`` for all views. Which goes
first alternates. The two sizes can be measured in several runs (`--share`); each run's results are
kept in ``results/views``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.common.metered import Meter, Metered, logging_to
from benchmarks.common.report import RESULTS, Goal, Report
from benchmarks.overload.loop import Loop
from demo import data
from demo.places import Places
from demo.schedule import Release
from freshline.project.load import load_project
from freshline.project.model import Project
from freshline.spark.engine.session import start_session
from freshline.spark.updates import SparkExecutor

_EVERY_S = 60.0
_START_S = 1_700_000_000.0
_WAYS = ("incremental", "full", "auto")
_SHARES: Mapping[str, float] = {"tenth": 0.1, "thousandth": 0.001}
_WARM, _ARRIVALS = 3, 4
"""Arrivals of that size that do not count, and that do."""

_GOAL_TENTH, _GOAL_THOUSANDTH = 1.1, 3.0


def projects_in(places: Places) -> dict[str, Project]:
    """The demo's project, with both ways of refreshing, over one set of feeds."""
    project = load_project(places.project, places.project)
    configuration = {**project.configuration, **logging_to(places.root / "events")}
    return {
        way: replace(
            project,
            configuration=configuration,
            storage=str(places.root / way),
            tables=tuple(
                replace(table, refresh=way) if table.kind == "derived" else table
                for table in project.tables
            ),
        )
        for way in _WAYS
    }


def arrive(places: Places, slice_: int) -> None:
    """Put one slice's two files into the feeds."""
    for feed in ("orders", "lineitem"):
        due_s = slice_ * _EVERY_S
        (staged,) = (places.staged / feed / f"slice={slice_}").iterdir()
        folder = places.feed / feed
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(staged, folder / Release(feed, slice_, due_s, due_s).name(_START_S))


def measure(share: float, *, quick: bool) -> dict[str, list[dict[str, Any]]]:
    """All arrivals, all ways: what each update after the first ones took."""
    scale, warm, arrivals = (0.01, 1, 1) if quick else (0.1, _WARM, _ARRIVALS)
    slices = 1 + warm + arrivals
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        places = Places(Path(folder) / "demo")
        places.start_afresh()
        data.generate(places, scale)
        data.write_static_tables(places)
        data.cut(places, slices, history=1.0 - slices * share)
        projects = projects_in(places)
        session = start_session(projects["full"])
        try:
            executors = {
                way: Meter(SparkExecutor(project, session), session, places.root / "events")
                for way, project in projects.items()
            }
            loops = {way: Loop(projects[way], executors[way]) for way in _WAYS}
            counted: dict[str, int] = {}
            for slice_ in range(slices):
                if slice_ == 1 + warm:
                    counted = {way: len(each.spent) for way, each in executors.items()}
                arrive(places, slice_)
                turn = slice_ % len(_WAYS)
                for way in (*_WAYS[turn:], *_WAYS[:turn]):
                    while loops[way].step():
                        pass
        finally:
            session.stop()
        views = {table.name for table in projects["full"].tables if table.kind == "derived"}
        return {
            way: [
                asdict(each) for each in executors[way].spent[counted[way] :] if each.table in views
            ]
            for way in _WAYS
        }


def _by_view(spent: Iterable[Metered]) -> Mapping[str, list[Metered]]:
    found = defaultdict(list)
    for each in spent:
        found[each.table].append(each)
    return found


def report(
    shares: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]], *, quick: bool
) -> Report:
    """What was measured, by the share of all rows that an arrival has."""
    made = Report(
        "views",
        "The demo's views: executor seconds, TPC-H at 0.1",
        (
            "view",
            "arrival",
            "from changes by",
            "executor, s",
            "full, s",
            "full to that",
            "by the clock",
            "auto by",
            "full to auto",
            "by the clock",
        ),
        [],
        quick=quick,
        data=dict(shares),
    )
    for share, ways in shares.items():
        spent = {way: [Metered(**each) for each in ways[way]] for way in _WAYS}
        changes, full, auto = (_by_view(spent[way]) for way in _WAYS)
        for view in full:
            made.rows.append(
                (
                    view,
                    f"a {share}",
                    _strategies(changes[view]),
                    *_figures(changes[view], full[view]),
                    _strategies(auto[view]),
                    *_figures(auto[view], full[view])[2:],
                )
            )
        made.rows.append(
            (
                "all views",
                f"a {share}",
                "",
                *_figures(spent["incremental"], spent["full"]),
                "",
                *_figures(spent["auto"], spent["full"])[2:],
            )
        )
        walls_s = {way: sum(each.wall_s for each in spent[way]) for way in _WAYS}
        if share == "tenth":
            ratio = walls_s["incremental"] / walls_s["full"]
            made.goals.append(
                Goal("a tenth comes: from changes to in full, clock", ratio, _GOAL_TENTH)
            )
        else:
            ratio = walls_s["full"] / walls_s["incremental"]
            made.goals.append(
                Goal(
                    "a thousandth comes: in full to from changes, clock",
                    ratio,
                    _GOAL_THOUSANDTH,
                    at_most=False,
                )
            )
    made.notes = [
        f"Sums over {_ARRIVALS} arrivals; {_WARM} before them do not count (quick: one each).",
        "Executor seconds are those of an update's tasks.",
    ]
    return made


def _strategies(made: list[Metered]) -> str:
    return ", ".join(sorted({each.strategy for each in made}))


def _figures(made: list[Metered], full: list[Metered]) -> tuple[str, str, str, str]:
    """Executor seconds of both, and full's to the first's: of executors, and by the clock."""
    made_s, full_s = (sum(each.executor_s for each in updates) for updates in (made, full))
    made_wall_s, full_wall_s = (sum(each.wall_s for each in each_of) for each_of in (made, full))
    return (
        f"{made_s:.2f}",
        f"{full_s:.2f}",
        f"{full_s / made_s:.2f}" if made_s else "",
        f"{full_wall_s / made_wall_s:.2f}" if made_wall_s else "",
    )


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small scale, one arrival")
    parser.add_argument("--share", nargs="*", choices=list(_SHARES), default=list(_SHARES))
    options = parser.parse_args()
    folder = RESULTS / "views"
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    for share in options.share:
        found[share] = measure(_SHARES[share], quick=options.quick)
        if not options.quick:
            (folder / f"{share}.json").write_text(json.dumps(found[share]) + "\n")
    if not options.quick:
        for path in sorted(folder.glob("*.json")):  # of other runs
            found.setdefault(path.stem, json.loads(path.read_text()))
    report(found, quick=options.quick).publish()


if __name__ == "__main__":
    main()
