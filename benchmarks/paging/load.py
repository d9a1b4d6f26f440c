"""A warehouse that always has work, with and without open pages: decisions and updates.

Stretches without pages and with them alternate, A B B A, in one run of one warehouse: the JVM
warms up and tables grow for both alike.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from benchmarks.common.children import answer, child, program, tell
from benchmarks.common.projects import FeedSpec, TableSpec, add_file, write_project
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.ui.address import served_at

_FEEDS = 4
_PATIENCE_S = 180.0


@dataclass(slots=True)
class Side:
    """What came of all stretches of one kind.

    Attributes:
        seconds: Of the stretches.
        decisions, deciding_s: Decisions, and how long they took.
        updates: Seconds of updates, by table.
        server_cpu_s: Processor seconds of the warehouse's Python process.
    """

    seconds: float = 0.0
    decisions: float = 0.0
    deciding_s: float = 0.0
    updates: dict[str, list[float]] = field(default_factory=dict)
    server_cpu_s: float = 0.0

    @property
    def decision_s(self) -> float:
        """Mean of a decision."""
        return self.deciding_s / self.decisions

    @property
    def updates_total(self) -> int:
        """How many ended."""
        return sum(len(each) for each in self.updates.values())


@dataclass(frozen=True, slots=True)
class Loaded:
    """Both sides, and what the readers say."""

    alone: Side
    read: Side
    readers: Sequence[Mapping[str, Any]]

    @property
    def update_ratio(self) -> float:
        """Seconds of an update with pages against without: geometric mean of tables' medians."""
        both = [
            math.log(median(self.read.updates[name]) / median(seconds))
            for name, seconds in self.alone.updates.items()
            if name in self.read.updates
        ]
        return math.exp(sum(both) / len(both))


def loaded(root: Path, pages: int, stretch_s: float, rounds: int) -> Loaded:
    """Run the warehouse; each round is four stretches."""
    project = _project(root)
    stopped = threading.Event()
    feeding = threading.Thread(target=_feed, args=(project, stopped), name="feed")
    feeding.start()
    log = root / "run.log"
    alone, read = Side(), Side()
    told: list[Mapping[str, Any]] = []
    try:
        with child([program("freshline"), "run", "--project", str(root)], log=log) as run:
            url = _address(project, run.poll)
            _until_busy(project)
            names = [table.name for table in project.tables]
            readers = [sys.executable, "-m", "benchmarks.paging.readers", url, str(pages), *names]
            with child(readers, log=root / "readers.log") as crowd:
                for _ in range(rounds):
                    for side, opened in (
                        (alone, False),
                        (read, True),
                        (read, True),
                        (alone, False),
                    ):
                        if opened:
                            tell(crowd, "open")
                            time.sleep(2.0)
                        _stretch(side, project, url, run.pid, stretch_s)
                        if opened:
                            tell(crowd, "close")
                            told.append(json.loads(answer(crowd, root / "readers.log")))
                assert crowd.stdin is not None
                crowd.stdin.close()
            run.terminate()
    finally:
        stopped.set()
        feeding.join()
    return Loaded(alone, read, told)


def _project(root: Path) -> Project:
    feeds = [FeedSpec(f"f{number}", "json", 1.0) for number in range(_FEEDS)]
    tables = []
    for number in range(_FEEDS):
        base, view = f"b{number}", f"v{number}"
        summed = f"SELECT key, count(*) AS n, sum(amount) AS amount FROM {base} GROUP BY key"
        largest = f"SELECT n % 7 AS rest, max(amount) AS most FROM {view} GROUP BY n % 7"
        tables += [
            TableSpec(base, 1.0 + number, f"SELECT * FROM STREAM f{number}"),
            TableSpec(view, 2.0, summed),
            TableSpec(f"w{number}", 1.0, largest),
        ]
    return write_project(root, feeds, tables)


def _feed(project: Project, stopped: threading.Event) -> None:
    """A file for every feed each second; the tables want more updates than two tracks make."""
    while not stopped.is_set():
        begun_s = time.time()
        for number in range(_FEEDS):
            add_file(project, FeedSpec(f"f{number}", "json", 1.0), 50, begun_s)
        stopped.wait(max(0.05, 1.0 - (time.time() - begun_s)))


def _address(project: Project, ended: Any) -> str:
    until_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until_s and ended() is None:
        if url := served_at(project):
            return url
        time.sleep(0.2)
    raise RuntimeError("the warehouse did not start")


def _until_busy(project: Project) -> None:
    """Until every table was updated four times: the JVM has compiled what it needs most."""
    until_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until_s:
        with closing(Journal(journal_path(project), create=False)) as journal:
            least = journal.row("SELECT min(updates) AS n, count(*) AS tables FROM tables")
        if least is not None and least["tables"] == 3 * _FEEDS and (least["n"] or 0) >= 4:
            return
        time.sleep(0.5)
    raise RuntimeError("the warehouse did not update every table four times")


def _stretch(side: Side, project: Project, url: str, pid: int, stretch_s: float) -> None:
    before, cpu_s, begun_s = _decisions(url), _cpu_s(pid), time.time()
    time.sleep(stretch_s)
    ended_s = time.time()
    after = _decisions(url)
    side.seconds += ended_s - begun_s
    side.server_cpu_s += _cpu_s(pid) - cpu_s
    side.decisions += after[0] - before[0]
    side.deciding_s += after[1] - before[1]
    with closing(Journal(journal_path(project), create=False)) as journal:
        for row in journal.rows(
            "SELECT table_name, seconds FROM updates WHERE start_s>=? AND finish_s<=?"
            " AND state='done'",
            (begun_s, ended_s),
        ):
            side.updates.setdefault(row["table_name"], []).append(row["seconds"])


def _decisions(url: str) -> tuple[float, float]:
    """How many so far, and how long they took together."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    name = "freshline_decision_duration_seconds"
    said = dict(line.rsplit(" ", 1) for line in lines if line.startswith(name))
    return float(said[f"{name}_count"]), float(said[f"{name}_sum"])


def _cpu_s(pid: int) -> float:
    """Processor seconds of one process, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
