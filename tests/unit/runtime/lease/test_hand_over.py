"""Hand-overs under load, between processes: killed, stopped and continued, or told to end.

Files arrive all the time. At each hand-over a standby takes over; afterwards every number is in
the tables once, and no commit of an earlier epoch comes after one of a later.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

import freshline
from freshline.delta.log import commits
from tests.support.share import WHOLE
from tests.support.shop import Shop, eventually, made_project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

HAND_OVERS = 50 if WHOLE else 3
ROOT = Path(__file__).parents[4]


class Child:
    """A process that stands by."""

    def __init__(self, root: Path, number: int) -> None:
        self.log = root / f"child-{number}.log"
        source = Path(freshline.__file__).parents[1]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-X",
                    "faulthandler",
                    "-m",
                    "tests.unit.runtime.lease.hand_over_child",
                    str(root),
                ],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}"},
                stdout=log,
                stderr=log,
            )

    def leads(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return "leads" in self.log.read_text()


def holds_more(shop: Shop, numbers: int) -> bool:
    return len(shop.executor.numbers("sums")) > numbers


def test_no_row_is_lost_or_doubled_and_the_epochs_grow(tmp_path):
    shop = Shop(made_project(tmp_path, {"orders": (), "sums": ("orders",)}))
    chance = random.Random(7)
    enough = threading.Event()
    written: list[int] = []

    def produce() -> None:
        while not enough.wait(0.1):
            number = len(written)
            shop.file("orders", number, [number])
            written.append(number)

    producer = threading.Thread(target=produce)
    producer.start()
    children = [Child(tmp_path, 0)]
    stopped: list[Child] = []
    try:
        eventually(children[0].leads)
        for number in range(1, HAND_OVERS + 1):
            leader = children[-1]
            standby = Child(tmp_path, number)
            children.append(standby)
            so_far = len(written)
            eventually(partial(holds_more, shop, so_far))
            threading.Event().wait(chance.uniform(0, 0.3))
            how = ("stop", "kill", "end")[number % 3 - 1]
            sent = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "end": signal.SIGTERM}[how]
            leader.process.send_signal(sent)
            eventually(standby.leads)
            if how == "stop":
                stopped.append(leader)
                leader.process.send_signal(signal.SIGCONT)
                assert leader.process.wait(60) == 1, leader.log.read_text()
                assert leader.log.read_text().splitlines()[-1] in (
                    "ended lease-lost",
                    "ended lock-lost",
                )
        # The last leader has something to do, or there would be an epoch without a commit.
        eventually(partial(holds_more, shop, len(written)))
        enough.set()
        producer.join()
        eventually(lambda: len(shop.executor.numbers("sums")) >= len(written))
    finally:
        enough.set()
        for child in children:
            child.process.kill()
            child.process.wait()
    assert stopped
    assert shop.executor.numbers("orders") == written
    assert shop.executor.numbers("sums") == written
    for name in ("orders", "sums"):
        epochs = [each.metadata["epoch"] for each in commits(shop.project.table_path(name))]
        assert epochs == sorted(epochs)
        assert len(set(epochs)) == HAND_OVERS + 1
    shop.check_views()
