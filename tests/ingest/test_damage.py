"""A log that was cut short or in which a bit flipped: the same data, or said what is not.

Never wrong data, never silence, never a start that fails; after the first start the log is
whole again. FRESHLINE_FLIPS sets how many flips are tried (100), FRESHLINE_CUTS that only each
so-many-th byte is cut at (``make soak PART=gateway``: each).
"""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.pushing import batch, engine

_FLIPS = int(os.environ.get("FRESHLINE_FLIPS", "100"))
_EACH = int(os.environ.get("FRESHLINE_CUTS", "73"))
_CUT_BYTES = 8 * 1024
_REQUESTS = 24


@dataclass(frozen=True, slots=True)
class Sample:
    """A log that a death left, and what was acknowledged: (who, request, record) by number."""

    folder: Path
    stored: dict[str, dict[int, tuple[str, int, int]]]


def step(gateway):
    gateway.roll()
    gateway.commit_waiting()


def start(folder: Path, **changes):
    gateway = engine(folder, "clicks", "visits", landing_period_s=1e9, **changes)
    return gateway, gateway.start(threads=False)


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Landed and removed, full and not landed, and behind it the segment that is written to."""
    home = tmp_path_factory.mktemp("sample")
    gateway, _ = start(home / "live")
    stored: dict[str, dict[int, tuple[str, int, int]]] = {"clicks": {}, "visits": {}}
    chance = random.Random(5)
    for request in range(_REQUESTS):
        feed = ("clicks", "visits")[request % 2]
        padding = chance.randbytes(chance.choice((10, 300, 1500))).hex()
        future = gateway.submit(batch(feed, "a", request, 2, padding), f"k{request}")
        gateway.commit_waiting()
        receipt = future.result(timeout=0)
        for place in range(2):
            stored[feed][receipt.first + place] = ("a" + padding, request, place)
        if request in {4, 10}:
            step(gateway)
        if request == 4:
            while gateway.land_once():
                pass
    shutil.copytree(home / "live", home / "left")
    gateway.close()
    return Sample(home / "left", stored)


def outcome(sample: Sample, folder: Path) -> bool:
    """Start on a damaged log and land all of it; whether anything was lost.

    Asserts what the module says.
    """
    gateway, _ = start(folder)
    again = gateway.submit(batch("clicks", "b", 1000), None)
    step(gateway)
    assert again.result(timeout=0).first > len(sample.stored["clicks"]), "a number given twice"
    step(gateway)
    while gateway.land_once():
        pass
    metrics = gateway.metrics()
    gateway.close()
    lost = False
    for feed, stored in sample.stored.items():
        found: dict[int, tuple[str, int, int]] = {}
        for path in sorted((folder / "landed" / feed).glob("*.parquet")):
            found |= rows_of(path)
        for number, record in found.items():
            if record[0] != "b":
                assert record == stored[number], "wrong data"
        lost = lost or not stored.keys() <= found.keys()
    if lost:
        assert metrics.messages, "silent loss"
        assert metrics.corrupt_rows > 0, metrics.messages
        assert (folder / "quarantine" / "quarantine.jsonl").exists()
    else:
        assert metrics.corrupt_rows == 0, metrics.messages
    healed, second = start(folder)
    healed.close()
    assert second.messages == (), "met twice"
    assert second.corrupt_rows == 0
    return lost


def rows_of(path: Path) -> dict[int, tuple[str, int, int]]:
    """A file's records by number; requests that are lost leave gaps, so count from each."""
    rows = pq.read_table(path, use_threads=False).to_pylist()
    first, last = (int(part) for part in path.stem.rsplit("-", 2)[1:])
    if len(rows) == last - first + 1:
        numbers = list(range(first, last + 1))
    else:  # which of them are there, their request tells
        numbers = [1 + row["request"] // 2 * 2 + row["record"] for row in rows]
    return {
        number: (row["who"], row["request"], row["record"])
        for number, row in zip(numbers, rows, strict=True)
    }


def test_an_untouched_copy_loses_nothing(sample, shm_path):
    shutil.copytree(sample.folder, shm_path / "copy")
    gateway, recovery = start(shm_path / "copy")
    gateway.close()
    assert recovery.messages == ()
    assert not outcome(sample, shm_path / "copy")


@pytest.mark.slow
def test_a_log_cut_at_any_byte_of_its_end_is_noticed(sample, shm_path):
    wal = max(sample.folder.glob("segment-*.db-wal"))
    size = wal.stat().st_size
    assert size > 2 * _CUT_BYTES
    losses = 0
    for cut in range(1, _CUT_BYTES + 1, _EACH):
        folder = shm_path / str(cut)
        shutil.copytree(sample.folder, folder)
        os.truncate(folder / wal.name, size - cut)
        losses += outcome(sample, folder)
        shutil.rmtree(folder)
    assert losses > 0


@pytest.mark.slow
def test_a_flipped_bit_anywhere_is_noticed_or_harmless(sample, shm_path):
    chance = random.Random(11)
    files = [
        path
        for path in sorted(sample.folder.iterdir())
        if path.name.startswith(("segment", "catalogue", "witness"))
        and not path.name.endswith("-shm")
    ]
    weights = [path.stat().st_size for path in files]
    lost = 0
    for flip in range(_FLIPS):
        (path,) = chance.choices(files, weights)
        at, bit = chance.randrange(path.stat().st_size), chance.randrange(8)
        folder = shm_path / str(flip)
        shutil.copytree(sample.folder, folder)
        with (folder / path.name).open("r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1 << bit]))
        try:
            lost += outcome(sample, folder)
        except BaseException as error:
            error.add_note(f"flip {flip}: bit {bit} of byte {at} of {path.name}")
            raise
        shutil.rmtree(folder)
    assert 0 < lost < _FLIPS / 2


@pytest.mark.parametrize(("place", "lost"), [("first", 0), ("last", 1)])
def test_a_damaged_frame_of_sqlites_log_does_not_cost_those_behind_it(
    sample, shm_path, place, lost
):
    """SQLite itself drops every commit behind it; later frames hold most of its page anew."""
    folder = shm_path / "log"
    shutil.copytree(sample.folder, folder)
    wal = max(folder.glob("segment-*.db-wal"))
    log = bytearray(wal.read_bytes())
    body = b"\x28\xb5\x2f\xfd"  # begins a zstd frame
    at = log.index(body, 40) if place == "first" else log.rindex(body)
    log[at + 20] ^= 1
    wal.write_bytes(log)
    gateway, recovery = start(folder)
    gateway.close()
    assert recovery.corrupt_rows == lost
    assert recovery.requests == _REQUESTS - 5 - lost  # five were landed
    assert any("SQLite's log of it was damaged" in message for message in recovery.messages)
    told = [message for message in recovery.messages if message.startswith("request ")]
    assert len(told) == lost
    assert all(" of feed " in message for message in told)
