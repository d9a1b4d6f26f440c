"""Lives of an engine that end by SIGKILL, one after the other on the same folder.

A program of its own, without threads, so that it can fork: a life costs some milliseconds, not
the half second that imports take. Prints one JSON object.

    python -m tests.ingest.lives random FOLDER LOOPS SEED
    python -m tests.ingest.lives failpoints FOLDER NAME...
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from freshline.failpoints import armed
from freshline.ingest.engine.engine import Engine
from freshline.ingest.receipts import Batch, Receipt, Unavailable
from tests.support.pushing import batch, engine, landed

FEEDS = ("clicks", "visits")
PRODUCERS = 4
_LONGEST_LIFE_S = 0.15
_LONGEST_WAIT_S = 120.0


def in_child(
    life: Callable[[], None], killed_after_s: float | None = None, begun: int | None = None
) -> int:
    """Live it in a process of its own; returns its exit status, negative for a signal.

    With ``begun`` the time until it is killed counts from the first byte in that pipe.
    """
    child = os.fork()
    if child == 0:
        try:
            life()
        except BaseException:  # noqa: BLE001 - nothing may return into the parent
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if killed_after_s is not None:
        if begun is not None:
            select.select([begun], [], [], _LONGEST_WAIT_S)
        time.sleep(killed_after_s)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def feed_of(request: int) -> str:
    return FEEDS[request % 2]


def records_of(request: int) -> int:
    return 1 + request % 5


def produce(
    gateway: Engine | Committing, folder: Path, who: str, requests: int | None = None
) -> None:
    """Push one request after the other, note each answer; go on where the last life stopped.

    The one that was under way is sent again with its key, as a client does.
    """
    notes = folder / f"acknowledged-{who}"
    request = len(notes.read_text().splitlines()) if notes.exists() else 0
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while requests is None or request < requests:
        feed = feed_of(request)
        pushed = batch(feed, who, request, records_of(request), padding="x" * (request % 97))
        try:
            receipt = gateway.submit(pushed, f"{who}-{request}").result()
        except Unavailable:
            if requests is None:
                time.sleep(0.001)
            continue
        os.write(file, f"{receipt.first}\n".encode())
        request += 1
    os.close(file)


def busy_life(folder: Path, begun: int) -> None:
    """Four producers, a small memory, landing all the time; ends only by a signal."""
    gateway = engine(
        folder, *FEEDS, memory_bytes=64_000, segment_bytes=16_000, landing_period_s=0.02
    )
    gateway.start()
    threads = [
        threading.Thread(target=produce, args=(gateway, folder, f"p{number}"))
        for number in range(PRODUCERS)
    ]
    os.write(begun, b"!")
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def short_life(folder: Path, point: str) -> None:
    """Two producers one after the other and landing in between, without other threads."""
    with armed(f"{point}=kill") if point else contextlib.nullcontext():
        gateway = engine(folder, *FEEDS)
        gateway.start(threads=False)
        pushing = Committing(gateway)
        for requests in (3, 6):
            for who in ("p0", "p1"):
                produce(pushing, folder, who, requests)
            gateway.roll()
            gateway.commit_waiting()
            while gateway.land_once():
                pass
        gateway.close()


class Committing:
    """An engine without threads that commits what is submitted at once."""

    def __init__(self, gateway: Engine) -> None:
        self.gateway = gateway

    def submit(self, pushed: Batch, key: str | None) -> Future[Receipt]:
        future = self.gateway.submit(pushed, key)
        self.gateway.commit_waiting()
        return future


def check(folder: Path) -> None:
    """Recover, land everything, and compare it with what was acknowledged."""
    gateway = engine(folder, *FEEDS)
    recovery = gateway.start(threads=False)
    assert recovery.messages == (), recovery
    gateway.roll()
    gateway.commit_waiting()
    while gateway.land_once():
        pass
    metrics = gateway.metrics()
    gateway.close()
    assert metrics.segments == 1, metrics
    assert metrics.messages == (), metrics
    found = {feed: landed(folder, feed) for feed in FEEDS}
    seen: dict[tuple[str, int], int] = {}
    for feed, records in found.items():
        assert sorted(records) == list(range(1, len(records) + 1)), feed
        number = 1
        while number <= len(records):
            padded, request, _ = records[number]
            who = padded.rstrip("x")
            assert (who, request) not in seen, f"{who} {request} was landed twice"
            assert feed == feed_of(request)
            seen[who, request] = number
            for place in range(records_of(request)):
                assert records[number + place] == (padded, request, place)
            number += records_of(request)
    for notes in folder.glob("acknowledged-*"):
        who = notes.name.removeprefix("acknowledged-")
        for request, first in enumerate(notes.read_text().splitlines()):
            assert seen.get((who, request)) == int(first), f"{who} {request} was lost"


def half_files(folder: Path) -> list[str]:
    """Files under a complete name that are not complete."""
    bad = []
    for path in folder.glob("landed/*/*.parquet"):
        with path.open("rb") as file:
            start = file.read(4)
            file.seek(-4, os.SEEK_END)
            if (start, file.read(4)) != (b"PAR1", b"PAR1"):
                bad.append(path.name)
    return bad


def at_random(folder: Path, loops: int, seed: int) -> dict[str, object]:
    chance = random.Random(seed)
    for loop in range(loops):
        ours, theirs = os.pipe()
        # One in four dies while it starts.
        begun = ours if loop % 4 else None
        after_s = chance.uniform(0.0, _LONGEST_LIFE_S if loop % 4 else _LONGEST_LIFE_S / 4)
        ended = in_child(partial(busy_life, folder, theirs), after_s, begun)
        assert ended == -signal.SIGKILL, ended
        os.close(ours)
        os.close(theirs)
    assert not half_files(folder)
    assert in_child(lambda: check(folder)) == 0, "see the traceback above"
    notes = [path.read_text().splitlines() for path in folder.glob("acknowledged-*")]
    files = len(list(folder.glob("landed/*/*.parquet")))
    return {"loops": loops, "acknowledged": sum(map(len, notes)), "files": files}


def at_failpoints(folder: Path, names: list[str]) -> dict[str, object]:
    survived = []
    for name in names:
        home = folder / name
        home.mkdir()
        if in_child(partial(short_life, home, name)) != -signal.SIGKILL:
            survived.append(name)
        assert not half_files(home), name
        assert in_child(partial(check, home)) == 0, f"after a death at {name}"
        assert in_child(partial(short_life, home, "")) == 0, name
        assert in_child(partial(check, home)) == 0, f"after the life after {name}"
    return {"survived": survived}


if __name__ == "__main__":
    mode, where, *rest = sys.argv[1:]
    if mode == "random":
        report = at_random(Path(where), int(rest[0]), int(rest[1]))
    else:
        report = at_failpoints(Path(where), rest)
    sys.stdout.write(json.dumps(report))
