"""A disk of 8 MiB: refused soon, nothing lost, and on it goes without a restart."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from freshline.ingest.engine.landedfile import landed_names
from freshline.ingest.log.disk import DiskAdmission, is_full
from freshline.ingest.log.rows import pack
from freshline.ingest.log.segment import Segment
from freshline.ingest.receipts import Batch, Unavailable
from tests.support.pushing import batch, engine
from tests.support.small_disk import fill, mounted

_RECORD_BYTES = 20_000


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "8m") as folder:
        yield folder


class Client:
    """Pushes what cannot be compressed, each request until it is acknowledged."""

    def __init__(self, gateway) -> None:
        self.gateway = gateway
        self.acknowledged = 0

    def push(self) -> None:
        """One request, once.

        Raises:
            Unavailable: It was refused; the next call is the same request again.
        """
        padding = os.urandom(_RECORD_BYTES // 2).hex()
        pushed = batch("clicks", "a", self.acknowledged, 1, padding)
        receipt = self.gateway.submit(pushed, None).result(timeout=120)
        self.acknowledged += 1
        assert receipt.first == self.acknowledged

    def push_until_refused(self, most: int = 2000) -> Unavailable:
        for _ in range(most):
            try:
                self.push()
            except Unavailable as refused:
                return refused
        raise AssertionError("a disk of 8 MiB has no end")

    def push_until_taken(self, timeout_s: float = 120.0) -> None:
        until_s = time.monotonic() + timeout_s
        while True:
            try:
                return self.push()
            except Unavailable:
                assert time.monotonic() < until_s, "it never went on"
                time.sleep(0.01)


def load(home: Path) -> list[int]:
    """The requests in the landed files, which go, as the warehouse does it."""
    requests = []
    names = [file.name for file in landed_names("clicks", home)]
    for name in names:
        requests += pq.read_table(home / name)["request"].to_pylist()
    for name in names:
        (home / name).unlink()
    return requests


def test_a_small_disk_refuses_soon_and_goes_on_when_files_are_loaded(small_disk):
    gateway = engine(small_disk, memory_bytes=4_000_000, ballast_bytes=32 << 20)
    gateway.start()
    client = Client(gateway)
    home = small_disk / "landed" / "clicks"
    loaded: list[int] = []
    for _ in range(3):
        refused = client.push_until_refused()
        assert refused.code == "disk"
        assert 1 <= refused.retry_after_s <= 300
        assert gateway.metrics().state in {"disk", "open"}
        go_on(client, home, loaded)
    assert drained(gateway, home, loaded)
    gateway.close()
    assert loaded == list(range(client.acknowledged))


def go_on(client: Client, home: Path, loaded: list[int]) -> None:
    """Load what is landed until the next request is taken."""
    before = client.acknowledged
    until_s = time.monotonic() + 120.0
    while client.acknowledged == before:
        assert time.monotonic() < until_s, "it never went on"
        loaded += load(home)
        with contextlib.suppress(Unavailable):
            client.push()
        time.sleep(0.01)


def drained(gateway, home: Path, loaded: list[int]) -> bool:
    """Land and load the rest."""
    for _ in range(600):
        done = gateway.drain(0.1)
        loaded += load(home)
        if done:
            return True
    return False


def test_a_disk_that_others_fill_loses_nothing_and_goes_on_when_they_leave(small_disk):
    gateway = engine(small_disk, memory_bytes=4_000_000, ballast_bytes=32 << 20)
    gateway.start()
    client = Client(gateway)
    home = small_disk / "landed" / "clicks"
    for _ in range(20):
        client.push()
    fill(small_disk / "others")
    assert client.push_until_refused().code == "disk"
    (small_disk / "others").unlink()
    client.push_until_taken()
    loaded: list[int] = []
    assert drained(gateway, home, loaded)
    gateway.close()
    assert loaded == list(range(client.acknowledged))
    restarted = engine(small_disk)
    assert restarted.start(threads=False).messages == ()
    restarted.close()


def test_a_disk_that_is_too_full_for_a_request_is_told_so_until_it_would_fit(small_disk):
    gate = DiskAdmission(small_disk, 0.9, 0.7, 1 << 20)
    gate.look(0)
    assert gate.admits(400_000)
    others = small_disk / "others"
    others.write_bytes(bytes((8 << 20) - (3 << 19)))  # a MiB and a half is left
    gate.look(0)
    asked = (60_000, 400_000, 60_000)  # the second does not fit; a smaller one still does
    told = [(gate.admits(size_bytes), gate.closed, gate.full) for size_bytes in asked]
    assert told == [(True, False, False), (False, False, True), (True, False, False)]
    others.unlink()
    gate.look(0)
    assert not gate.full


def test_a_gateway_says_that_others_filled_its_disk(small_disk):
    gateway = engine(small_disk, memory_bytes=4_000_000, ballast_bytes=32 << 20)
    gateway.start(threads=False)
    assert gateway.metrics().state == "open"
    fill(small_disk / "others")
    assert gateway.metrics().state == "disk"
    (small_disk / "others").unlink()
    assert gateway.metrics().state == "open"
    gateway.close()


@pytest.mark.parametrize("free_pages", [0, 1, 7, 8])
def test_no_room_to_open_a_segment_is_a_full_disk(small_disk, free_pages):
    """The index of its log takes eight pages; a row finds none after that."""
    segment = Segment.create(small_disk, 1, 1, {}, 1 << 20)
    fill(small_disk / "others")
    with (small_disk / "others").open("r+b") as others:
        others.truncate((small_disk / "others").stat().st_size - 4096 * free_pages)
    with pytest.raises(sqlite3.Error) as full:
        segment.append([(1, 1, pack(Batch("clicks", 1, os.urandom(2000)), None, 1))])
    segment.close()
    assert is_full(full.value)


def test_a_commit_that_hits_the_end_of_the_disk_loses_nothing(small_disk, monkeypatch):
    """Nothing warns that the disk is filling, until SQLite finds it full."""
    with monkeypatch.context() as unwarned:
        unwarned.setattr(DiskAdmission, "look", lambda *_: None)
        unwarned.setattr(DiskAdmission, "admits", lambda *_: True)
        gateway = engine(small_disk, memory_bytes=4_000_000, ballast_bytes=32 << 20)
        gateway.start()
        client = Client(gateway)
        assert client.push_until_refused().code == "disk"
    assert any("a commit failed" in message for message in gateway.metrics().messages)
    home = small_disk / "landed" / "clicks"
    loaded: list[int] = []
    go_on(client, home, loaded)
    assert drained(gateway, home, loaded)
    gateway.close()
    assert loaded == list(range(client.acknowledged))
