"""Hand-overs under load, between processes that are hurt in every way in which a host is.

Files arrive all the time. At each hand-over a standby takes over from a leader that is

* killed,
* stopped for longer than its lease, and goes on afterwards,
* stopped within a commit, behind every check, and goes on afterwards,
* parted from the lease while it still reaches the tables,
* told to end,

and whose clock is ten seconds ahead of its successor's, or behind. Afterwards every number is in
the tables once, and no commit of an earlier epoch comes after one of a later. The proof does so
fifty times, and tells how long each successor took.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from functools import partial
from pathlib import Path

import pytest

import freshline
from freshline.core.lease import LAPSE_S
from freshline.delta.log import commits, last_commit
from freshline.runtime.lease.leader import leader_record
from tests.support.share import WHOLE
from tests.support.shop import PATIENCE_S, Shop, eventually, made_project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

WAYS = ("stop", "kill", "wake", "part", "end")
HAND_OVERS = 50 if WHOLE else 3
APART_S = 10.0
"""Between the clocks of a leader and its standby."""
BEYOND_S = 60.0
"""What a take-over may take beside the lease: the last look, fences, and a busy machine's turn.
On a quiet one it takes a second or two, which the test writes out."""
ROOT = Path(__file__).parents[4]


class Child:
    """A process that stands by.

    Args:
        root: The project's folder.
        number: Its own.
        way: How its lead will end.
    """

    def __init__(self, root: Path, number: int, way: str) -> None:
        self.log = root / f"child-{number}.log"
        self.away = root / f"away-{number}"
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
                    str(number),
                    str(APART_S * (number % 2)),
                ],
                cwd=ROOT,
                env={
                    **os.environ,
                    "PYTHONPATH": f"{source}{os.pathsep}{ROOT}",
                    "FRESHLINE_FAILPOINT": f"fence.after_check:{3 + number % 4}=stop"
                    if way == "wake"
                    else "",
                },
                stdout=log,
                stderr=log,
            )

    def leads(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return "leads" in self.log.read_text()

    def is_stopped(self) -> bool:
        state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state == "T"

    def hurt(self, way: str) -> None:
        """End its lead."""
        if way == "wake":
            eventually(self.is_stopped)
        elif way == "part":
            self.away.write_text("lease")
        else:
            sent = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "end": signal.SIGTERM}[way]
            self.process.send_signal(sent)

    def heal(self, way: str) -> None:
        """Let it go on; what it says then."""
        if way in ("stop", "wake"):
            self.process.send_signal(signal.SIGCONT)
        self.away.unlink(missing_ok=True)
        if way in ("stop", "wake", "part"):
            assert self.process.wait(PATIENCE_S) == 1, self.log.read_text()
            said = self.log.read_text().splitlines()[-1]
            assert said in ("ended lease-lost", "ended lock-lost"), said


def holds_more(shop: Shop, numbers: int) -> bool:
    return len(shop.executor.numbers("sums")) > numbers


def has_updated(shop: Shop, epoch: int) -> bool:
    """Whether the leader of an epoch has made an update: a fence is none."""
    newest = (last_commit(shop.project.table_path(name)) for name in ("orders", "sums"))
    return any(
        each.metadata["epoch"] == epoch and each.metadata.get("reason") != "fence"
        for each in newest
        if each is not None
    )


def keep_the_lease_without_tables(shop: Shop, leader: Child, spare: Child) -> None:
    """The leader cannot reach the tables for longer than its lease, which it keeps.

    A standby would not help: nothing says that it reaches them.
    """
    leader.away.write_text("tables")
    threading.Event().wait(1.5 * LAPSE_S)
    assert (leader_record(shop.project) or {})["pid"] == leader.process.pid
    assert not spare.leads()
    leader.away.unlink()


def say_how_long(took_s: dict[str, list[float]]) -> None:
    """Seconds from a fault to the first update of the successor."""
    for way, seconds in sorted(took_s.items()):
        middle, longest = statistics.median(seconds), max(seconds)
        sys.stderr.write(
            f"{way}: {len(seconds)} hand-overs, median {middle:.1f} s, longest {longest:.1f} s\n"
        )
    assert max(map(max, took_s.values())) <= LAPSE_S + BEYOND_S


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

    def way_of(number: int) -> str:
        return WAYS[number % len(WAYS)]

    producer = threading.Thread(target=produce)
    producer.start()
    children = [Child(tmp_path, 0, way_of(0))]
    took_s: dict[str, list[float]] = defaultdict(list)
    try:
        eventually(children[0].leads)
        for number in range(HAND_OVERS):
            leader, way = children[-1], way_of(number)
            standby = Child(tmp_path, number + 1, way_of(number + 1))
            children.append(standby)
            if way != "wake":
                eventually(partial(holds_more, shop, len(written)))
                threading.Event().wait(chance.uniform(0, 0.3))
            eventually(standby.log.exists)
            leader.hurt(way)
            hurt_s = time.monotonic()
            eventually(standby.leads)
            eventually(partial(has_updated, shop, number + 2))
            took_s[way].append(time.monotonic() - hurt_s)
            leader.heal(way)
        spare = Child(tmp_path, HAND_OVERS + 1, "kill")
        children.append(spare)
        keep_the_lease_without_tables(shop, children[-2], spare)
        eventually(partial(holds_more, shop, len(written)))
        enough.set()
        producer.join()
        eventually(lambda: len(shop.executor.numbers("sums")) >= len(written))
    finally:
        enough.set()
        for child in children:
            child.process.kill()
            child.process.wait()
    assert shop.executor.numbers("orders") == written
    assert shop.executor.numbers("sums") == written
    for name in ("orders", "sums"):
        epochs = [each.metadata["epoch"] for each in commits(shop.project.table_path(name))]
        assert epochs == sorted(epochs)
    shop.check_views()
    if WHOLE:
        say_how_long(took_s)
