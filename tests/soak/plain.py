"""The soak without Spark, ``make soak ARGS=--plain``: the same runtime over real Delta commits.

``python -m tests.soak.plain ROOT STORAGE run|once|refresh`` is its warehouse. An update takes
milliseconds, so that in the same time a hundred times as many meet the faults.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

_OFFSET = Path(os.environ.get("FRESHLINE_SOAK_CLOCK", "none"))
_real_time_s = time.time


def _time_s() -> float:
    try:
        return _real_time_s() + float(_OFFSET.read_text())
    except (OSError, ValueError):
        return _real_time_s()


if __name__ == "__main__":
    time.time = _time_s

import dataclasses  # noqa: E402 - the clock comes first
import random  # noqa: E402
import signal  # noqa: E402
import threading  # noqa: E402
from collections import Counter  # noqa: E402

import deltalake  # noqa: E402

from freshline.project.model import Project  # noqa: E402
from freshline.runtime.options import RunOptions  # noqa: E402
from tests.soak.running import Run  # noqa: E402
from tests.support.shop import Shop as Numbers  # noqa: E402
from tests.support.shop import made_project  # noqa: E402

TABLES = {"orders": (), "users": (), "both": ("orders", "users"), "again": ("both",)}


def project_of(root: Path, storage: Path) -> Project:
    """The project, with its tables elsewhere."""
    return dataclasses.replace(made_project(root, TABLES), storage=str(storage))


class PlainShop:
    """As the other shop: numbers, and tables that hold those of their parents."""

    def __init__(self, root: Path, storage: Path, seed: int) -> None:
        self.root = root
        self.storage = storage
        self._chance = random.Random(seed)
        self.numbers: dict[str, list[int]] = {"orders": [], "users": []}
        self.files = 0
        self.views: tuple[str, ...] = ("both", "again")
        self.some_rows = "n % 7 = 0"
        root.mkdir(parents=True)

    def produce(self, until: threading.Event, every_s: float) -> None:
        """Write files for both feeds until told to stop; older days among their folders."""
        while not until.wait(self._chance.expovariate(1.0 / every_s)):
            self.files += 1
            feed = "users" if self.files % 3 == 1 else "orders"
            numbers = [100 * self.files + n for n in range(self._chance.randrange(1, 5))]
            self.numbers[feed] += numbers
            day = max(0, self.files // 60 - self._chance.choice([0, 0, 0, 0, 1, 2]))
            path = self.root / "feed" / feed / f"day={day:03d}" / f"{self.files:06d}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f".{path.name}.tmp")
            draft.write_text("\n".join(map(str, numbers)))
            draft.rename(path)

    def table(self, name: str) -> deltalake.DeltaTable:
        """A table as others see it."""
        return deltalake.DeltaTable(str(self.storage / name))

    def differences(self) -> list[str]:
        """Every table that does not hold the numbers that it must."""
        both = [*self.numbers["orders"], *self.numbers["users"]]
        wanted = {**self.numbers, "both": both, "again": both}
        told = []
        for name, numbers in wanted.items():
            found = Counter(self.table(name).to_pyarrow_table()["n"].to_pylist())
            more, less = found - Counter(numbers), Counter(numbers) - found
            if more or less:
                told.append(f"{name}: too many {sorted(more)[:5]} of {more.total()},"
                            f" too few {sorted(less)[:5]} of {less.total()}")  # fmt: skip
        return told


class PlainRun(Run):
    """Its process."""

    def is_refused(self, name: str) -> bool:
        """Nobody looks: there is no command for it."""
        return False

    def _command(self, *command: str) -> list[str]:
        kind = "once" if "--until-idle" in command else command[0]
        return [sys.executable, "-m", "tests.soak.plain", str(self._shop.root),
                str(self._shop.storage), kind]  # fmt: skip


def main() -> int:
    """Run the warehouse until it is told to stop, or until it is idle; or ask for a reload."""
    root, storage, kind = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    shop = Numbers(project_of(root, storage))
    shop.clock = time.time
    if kind == "refresh":
        return 0 if shop.ask("refresh", "orders", "full").get("ok") else 1
    if kind == "retry":
        return 0
    shop.executor.forgets = True
    warehouse = shop.warehouse(RunOptions(until_idle=kind == "once"))
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: warehouse.stop())
    try:
        return 3 if warehouse.run() else 0
    finally:
        notices = [line for line in shop.recorder.lines if line.startswith("notice")]
        sys.stderr.write("\n".join([*notices[-20:], ""]))


if __name__ == "__main__":
    sys.exit(main())
