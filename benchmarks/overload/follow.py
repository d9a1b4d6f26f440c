"""One variant follows a workload, in fresh storage and a fresh process."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.children import answer, child, environment, tell
from benchmarks.common.processor import Usage, usage
from benchmarks.common.projects import write_project
from benchmarks.overload.staleness import Commit, area_s2, commits
from benchmarks.overload.workload import Workload, stage
from freshline.project.model import Project

LEAD_S = 0.5
"""Between "start" and the first file, so that the producer is there."""

COLD_SHARE = 1 / 3
"""Of the time, before a way counts as warm."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one variant came to.

    Attributes:
        mean_s: Staleness, mean over time and over the tables by priority, seconds.
        warm_s: The same without the first part of the time, in which Java still compiles.
        tables_s: Each table's mean staleness, seconds.
        commits: Within the time.
        failures: Updates or queries that failed.
        cpu: What it used of the processors, and what others did meanwhile.
        start_s: When the first file was due, seconds since the epoch.
        made: Each table's commits.
        project: In ``root``.
    """

    mean_s: float
    warm_s: float
    tables_s: Mapping[str, float]
    commits: int
    failures: int
    cpu: Usage
    start_s: float
    made: Mapping[str, list[Commit]]
    project: Project

    def record(self) -> dict[str, Any]:
        """Its figures, as they are kept in JSON."""
        return {
            "mean_s": self.mean_s,
            "warm_s": self.warm_s,
            "commits": self.commits,
            "failures": self.failures,
            "own_cpu_s": self.cpu.own_s,
            "others_cpu_s": self.cpu.others_s,
            "tables_s": dict(self.tables_s),
        }


def start_producer(staged: Path, feeds: Path, start_s: float) -> subprocess.Popen[bytes]:
    """The process that releases the staged files, the first one at ``start_s``."""
    arguments = [str(staged), str(feeds), str(start_s)]
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.overload.producer", *arguments], env=environment()
    )


def follow(
    workload: Workload,
    root: Path,
    staged: Path,
    how: str,
    scheduler: Mapping[str, Any],
    seconds: float,
    *,
    configuration: Mapping[str, str] | None = None,
    history: Path | None = None,
    cold_share: float = COLD_SHARE,
) -> Outcome:
    """Let one variant follow the workload in the empty folder ``root``, and leave it there.

    Args:
        workload: What is wanted.
        root: Becomes the project's folder.
        staged: Where :func:`benchmarks.overload.workload.stage` put the files.
        how: warehouse, loop or streaming.
        scheduler: The project's settings of it.
        seconds: How long.
        configuration: Further settings of Spark.
        history: Tables that are there before the first file, copied from this folder.
        cold_share: Of the time, after which ``warm_s`` begins.
    """
    project = write_project(root, workload.feeds, workload.tables, scheduler, configuration)
    if history is not None:
        shutil.copytree(history, root / "warehouse")
    log = root / "child.log"
    command = [sys.executable, "-m", "benchmarks.overload.variant", how, str(root), str(seconds)]
    with child(command, log=log) as process:
        while answer(process, log) != "ready":
            pass
        start_s = time.time() + LEAD_S
        before = usage(process.pid)
        producer = start_producer(staged, root / "feed", start_s)
        tell(process, str(start_s))
        time.sleep(max(0.0, start_s + seconds - time.time()))
        spent = usage(process.pid) - before
        failures = int(answer(process, log))
        if producer.wait(30.0):
            raise RuntimeError("the producer failed")
    found = commits(project, start_s)
    end_s = start_s + seconds
    tables_s = _means_s(found, start_s, 0.0, seconds)
    warm_tables_s = _means_s(found, start_s, cold_share * seconds, seconds)
    in_time = sum(start_s <= each.at_s <= end_s for made in found.values() for each in made)
    mean_s, warm_s = _weighted(project, tables_s), _weighted(project, warm_tables_s)
    return Outcome(mean_s, warm_s, tables_s, in_time, failures, spent, start_s, found, project)


def follow_each(
    benchmark: str,
    workload: Workload,
    variants: Sequence[tuple[str, str, Mapping[str, Any]]],
    seconds: float,
) -> dict[str, Outcome]:
    """What variants came to by name, one after the other over the same files; each is reported.

    Args:
        benchmark: Its name, for the lines that tell how far it is.
        workload: What is wanted.
        variants: Name, how, and the project's scheduler settings, in their order.
        seconds: How long each follows it.
    """
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        staged, root = Path(folder) / "staged", Path(folder) / "run"
        stage(workload, staged, seconds)
        for name, how, scheduler in variants:
            outcome = outcomes[name] = follow(workload, root, staged, how, scheduler, seconds)
            stale = f"{outcome.mean_s:.2f} s stale, warm {outcome.warm_s:.2f} s"
            line = f"{benchmark}: {name}: {stale}, {outcome.commits} commits"
            print(line, file=sys.stderr, flush=True)
            shutil.rmtree(root)
    return outcomes


def _means_s(
    found: Mapping[str, list[Commit]], start_s: float, from_s: float, to_s: float
) -> dict[str, float]:
    """Each table's mean staleness between two moments after the start, seconds."""
    means_s = {}
    for name, made in found.items():
        before_s2, all_s2 = (area_s2(made, start_s, start_s + at_s) for at_s in (from_s, to_s))
        means_s[name] = (all_s2 - before_s2) / (to_s - from_s)
    return means_s


def _weighted(project: Project, tables_s: Mapping[str, float]) -> float:
    """The mean of the tables' by priority."""
    priorities = {table.name: table.priority for table in project.tables}
    weighted = sum(priorities[name] * mean_s for name, mean_s in tables_s.items())
    return weighted / sum(priorities.values())
