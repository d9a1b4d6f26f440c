"""``make soak``: a warehouse under a seeded schedule of faults, every table equal at the end.

A real ``freshline run`` with Spark and Delta loads what a producer writes all the time, while one
fault after the other comes. Each round of faults has every kind once. At the end the feeds rest,
one run without faults brings all tables up to date, and each is compared with what was produced.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.soak.faults import Faults
from tests.soak.plain import PlainRun, PlainShop
from tests.soak.running import Run
from tests.soak.shop import BASES, Place, Shop, say, stamp
from tests.support.small_disk import mounted

_DISK = "700m"
_TRIES = 5


@contextlib.contextmanager
def _disk(root: Path) -> Iterator[tuple[Path, bool]]:
    """A file system to be filled, where this user may mount one."""
    with contextlib.ExitStack() as stack:
        folder = root / "disk"
        try:
            yield stack.enter_context(mounted(folder, _DISK)), True
        except BaseException as error:
            if type(error).__name__ != "Skipped":  # pytest's, outside of pytest
                raise
            yield folder, False


def soak(seconds: float, seed: int, every_s: float, root: Path, *, plain: bool) -> int:
    """One soak; how many tables differ at the end."""
    chance = random.Random(seed)
    with _disk(root) as (disk, whole_disk):
        made = PlainShop if plain else Shop
        shop: Place = made(root / "project", disk / "warehouse", seed)
        run = PlainRun(shop) if plain else Run(shop)
        faults = Faults(shop, run, chance, whole_disk=whole_disk, spark=not plain)
        enough = threading.Event()
        producer = threading.Thread(target=shop.produce, args=(enough, every_s))
        counts: Counter[str] = Counter()
        waiting: list[str] = []
        end_s = time.monotonic() + seconds
        try:
            producer.start()
            run.start()
            run.wait_for_commits(2)
            while time.monotonic() < end_s:
                waiting = waiting or faults.order()
                kind = waiting.pop()
                counts[kind] += 1
                say(f"{stamp()} {shop.files} files; {kind}")
                faults.all[kind]()
                run.revive()
                faults.choose()
                run.wait_for_commits(chance.randint(0, 2))
        finally:
            enough.set()
            producer.join()
            run.end(signal.SIGTERM)
        return _checked(shop, run, faults, counts)


def _checked(shop: Place, run: Run, faults: Faults, counts: Counter[str]) -> int:
    say(f"{stamp()} the feeds rest after {shop.files} files; {run.starts} starts")
    statuses = []
    for _ in range(_TRIES):
        statuses.append(run.once())
        if statuses[-1] == 0:
            break
        faults.choose()
        run.ask("retry", *BASES, *shop.views)
    differing = shop.differences()
    for name, count in sorted(counts.items()):
        say(f"  {count:3d} x {name}")
    say(f"  exit statuses: {Counter(run.exits)}; of the last runs: {statuses}")
    for text in differing:
        say(f"DIFFERENT {text}")
    if statuses[-1] != 0:
        say("the last run left something behind; see run.log")
    say("equal" if not differing else "NOT EQUAL")
    return len(differing) + (statuses[-1] != 0)


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--file-every", type=float, default=0.7, help="seconds, on average")
    parser.add_argument("--plain", action="store_true", help="without Spark: more, and quicker")
    parser.add_argument("--keep", action="store_true", help="keep the folder of the soak")
    given = parser.parse_args()
    say(f"seed {given.seed}, {given.seconds:.0f} s")
    root = Path(tempfile.mkdtemp(prefix="freshline-soak-"))
    failed = soak(given.seconds, given.seed, given.file_every, root, plain=given.plain)
    if failed or given.keep:
        say(f"kept: {root}")
    else:
        subprocess.run(["rm", "-rf", str(root)], check=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
