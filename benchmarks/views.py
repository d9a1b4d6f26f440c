"""The demo's views over the same arrivals: maintained from changes, in full, and as `auto` chooses.

TPC-H's orders and lineitems come in slices; after each every view is brought up to date in three
warehouses of one JVM, with ``freshline.refresh`` = ``incremental``, ``full`` and ``auto`` for all
views. Which goes first alternates.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.common.metered import Meter, Metered, logging_to
from benchmarks.common.report import Report, asked_quick
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


def measure(*, quick: bool) -> Report:
    """All slices, both ways."""
    scale, slices, first = (0.01, 4, 2) if quick else (0.1, 10, 3)
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        places = Places(Path(folder) / "demo")
        places.start_afresh()
        data.generate(places, scale)
        data.write_static_tables(places)
        rows = data.cut(places, slices)
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
                if slice_ == first:
                    counted = {way: len(each.spent) for way, each in executors.items()}
                arrive(places, slice_)
                turn = slice_ % len(_WAYS)
                for way in (*_WAYS[turn:], *_WAYS[:turn]):
                    while loops[way].step():
                        pass
        finally:
            session.stop()
        spent = {way: executors[way].spent[counted[way] :] for way in _WAYS}
    views = [table.name for table in projects["full"].tables if table.kind == "derived"]
    return _report(views, spent, scale, slices - first, rows, quick=quick)


def _by_view(spent: Iterable[Metered]) -> Mapping[str, list[Metered]]:
    found = defaultdict(list)
    for each in spent:
        found[each.table].append(each)
    return found


def _report(
    views: list[str],
    spent: Mapping[str, list[Metered]],
    scale: float,
    slices: int,
    rows: Mapping[str, int],
    *,
    quick: bool,
) -> Report:
    changes, full, auto = (_by_view(spent[way]) for way in _WAYS)
    report = Report(
        "views",
        f"The demo's views: executor seconds of {slices} arrivals, TPC-H at {scale:g}",
        (
            "view",
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
    )
    for view in views:
        report.rows.append(
            (
                view,
                _strategies(changes[view]),
                *_figures(changes[view], full[view]),
                _strategies(auto[view]),
                *_figures(auto[view], full[view])[2:],
            )
        )
    whole = [[each for view in views for each in way[view]] for way in (changes, full, auto)]
    report.rows.append(
        ("all views", "", *_figures(*whole[:2]), "", *_figures(whole[2], whole[1])[2:])
    )
    report.data = {way: [asdict(each) for each in spent[way]] for way in _WAYS}
    report.notes = [
        f"{rows['orders']:,} orders and {rows['lineitem']:,} lineitems in equal stretches of time.",
        "Executor seconds are those of an update's tasks; the first arrivals are not counted.",
    ]
    return report


def _strategies(made: list[Metered]) -> str:
    return ", ".join(sorted({each.strategy for each in made}))


def _figures(made: list[Metered], full: list[Metered]) -> tuple[str, str, str, str]:
    """Executor seconds of both, and full's to the first's: of executors, and by the clock."""
    made_s, full_s = (sum(each.executor_s for each in updates) for updates in (made, full))
    walls = sum(each.wall_s for each in full) / sum(each.wall_s for each in made)
    return (
        f"{made_s:.2f}",
        f"{full_s:.2f}",
        f"{full_s / made_s:.2f}" if made_s else "",
        f"{walls:.2f}",
    )


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
