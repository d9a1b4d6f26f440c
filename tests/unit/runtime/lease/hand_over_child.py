"""A warehouse in a process of its own, without Spark: it stands by, and runs until it is ended.

``root number clock``: the process' clock is ``clock`` seconds ahead of the machine's. While the
file ``away-NUMBER`` is there the process cannot reach what it names: ``lease`` or ``tables``. The
lease has its real times: of shorter ones a busy machine may take all.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from freshline.core import lease
from freshline.core.errors import FreshlineError, PlatformError
from freshline.runtime.lease.file_store import FileStore
from freshline.runtime.lease.leadership import Leadership
from tests.support.shop import Shop, made_project


class Partition:
    """What this process cannot reach."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def from_lease(self) -> bool:
        return self._named() == "lease"

    def from_tables(self) -> bool:
        return self._named() == "tables"

    def _named(self) -> str:
        try:
            return self._file.read_text()
        except OSError:
            return ""


class Far(FileStore):
    """The lease, behind a network that may be parted."""

    partition: Partition

    def read(self) -> Any:
        self._reach()
        return super().read()

    def swap(self, record: lease.Record, tag: str | None) -> str:
        self._reach()
        return super().swap(record, tag)

    def _reach(self) -> None:
        if self.partition.from_lease():
            raise OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))


def told(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(root: Path, number: str, ahead_s: float) -> int:
    """Stand by, lead, and say so in lines on standard output."""
    real_time_s = time.time
    time.time = lambda: real_time_s() + ahead_s
    project = made_project(root, {"orders": (), "sums": ("orders",)})
    partition = Partition(root / f"away-{number}")
    shop = Shop(project)
    shop.clock = time.time
    run = shop.executor.run

    def reached(request: Any) -> Any:
        if partition.from_tables():
            raise PlatformError("storage-unreachable", "the tables cannot be reached")
        return run(request)

    shop.executor.run = reached  # type: ignore[method-assign]
    warehouse = shop.warehouse()
    store = Far(project.own_folder)
    store.partition = partition
    leadership = Leadership(project, standby=True, store=store)
    signal.signal(signal.SIGTERM, lambda *_: warehouse.stop())
    try:
        leadership.take()
        told(f"leads {leadership.epoch}")
        warehouse.run(leadership)
    except FreshlineError as error:
        told(f"ended {error.code}")
        return error.exit_status
    told("ended")
    return 0


if __name__ == "__main__":
    # At once: an update that a track has not ended yet may be within delta-rs, which does not
    # survive the end of Python around it.
    os._exit(main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
