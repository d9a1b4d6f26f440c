"""What each test file costs: processor seconds of its process and of all that it started.

Seconds on the clock tell more about what else the machine does. ``make test`` keeps what it
measured in ``.cache``, ``make costs`` makes a table of it (``tests/costs.json``), and the next run
starts with the dearest files.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / ".cache" / "test-costs"
TABLE = ROOT / "tests" / "costs.json"
PROVED = {
    "tests/spark/generated/test_generated_views.py": 2500.0,
    "tests/spark/tpcds/test_tpcds_views.py": 1340.0,
    "tests/spark/habits/test_habits.py": 820.0,
    "tests/spark/proof/test_death.py": 550.0,
    "tests/spark/views/test_kinds.py": 525.0,
    "tests/spark/views/test_lie_in_wait.py": 355.0,
    "tests/spark/proof/test_random_kills.py": 310.0,
    "tests/spark/tutorial/test_tutorial.py": 300.0,
    "tests/unit/runtime/lease/test_hand_over.py": 190.0,
}
"""Processor seconds of the dearest files in the proof, put together from pieces of it. One of them
that begins last would end an hour behind all others."""
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def table() -> dict[str, float]:
    """Processor seconds by file, as last measured and committed."""
    found: dict[str, float] = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    return found


def measured() -> dict[str, float]:
    """Processor seconds by file of the newest run, dearest first."""
    found: dict[str, float] = {}
    for path in MEASURED.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            file, cpu_s = json.loads(line)
            found[file] = found.get(file, 0.0) + cpu_s
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def processor_s() -> float:
    """Processor seconds of this process and its descendants, ended ones included."""
    times: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        children.setdefault(int(fields[1]), []).append(int(folder.name))
        times[int(folder.name)] = sum(map(int, fields[11:15]))
    ticks, queue = 0, [os.getpid()]
    while queue:
        process = queue.pop()
        ticks += times.get(process, 0)
        queue += children.get(process, [])
    return ticks / _TICKS_A_SECOND


class Costs:
    """Plugin of pytest that notes what every file took, wherever it runs.

    Args:
        worker: Name of the process that runs tests; empty for the only one.
    """

    def __init__(self, worker: str = "") -> None:
        self._path = MEASURED / f"{worker or 'only'}.jsonl"
        self._before_s = processor_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Iterator[None]:
        """Note the cost of a file behind its last test."""
        told = yield
        if nextitem is None or nextitem.path != item.path:
            now_s = processor_s()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                cost_s = round(now_s - self._before_s, 2)
                print(json.dumps([str(item.path.relative_to(ROOT)), cost_s]), file=file)
            self._before_s = now_s
        return told


def forget() -> None:
    """Remove what an earlier run measured."""
    shutil.rmtree(MEASURED, ignore_errors=True)


def dearest_first(items: list[pytest.Item], known: Mapping[str, float]) -> None:
    """Sort tests by what their files cost, unknown files first; two workers end together."""
    items.sort(key=lambda item: -known.get(str(item.path.relative_to(ROOT)), float("inf")))
