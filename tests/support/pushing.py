"""Records that tell where they come from, engines that are small, and what was landed of them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from freshline.ingest.engine.engine import Engine
from freshline.ingest.engine.landedfile import landed_names
from freshline.ingest.engine.settings import EngineSettings, FeedSpec
from freshline.ingest.receipts import Batch

SCHEMA = pa.schema([("who", pa.string()), ("request", pa.int64()), ("record", pa.int64())])

Record = tuple[str, int, int]

# The first conversion of a list imports pandas. In a process that is going to fork once for each
# of many short lives (lives.py) that must happen now.
pa.array([0])


def batch(feed: str, who: str, request: int, records: int = 1, padding: str = "") -> Batch:
    """``records`` records, each of which says whose it is, of which request, and its place."""
    rows = pa.record_batch(
        [[who + padding] * records, [request] * records, list(range(records))], schema=SCHEMA
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        writer.write_batch(rows)
    return Batch(feed, records, sink.getvalue().to_pybytes())


def specs(folder: Path, *feeds: str, quota_bytes: int | None = None) -> dict[str, FeedSpec]:
    return {
        feed: FeedSpec(feed, SCHEMA, folder / "landed" / feed, quota_bytes=quota_bytes)
        for feed in feeds
    }


def small(**changes) -> EngineSettings:
    """Sizes that a test reaches."""
    sizes = {
        "memory_bytes": 1_000_000,
        "segment_bytes": 256 * 1024,
        "landing_period_s": 0.0,
        "ballast_bytes": 4096,
    }
    return EngineSettings(**sizes | changes)


def engine(folder: Path, *feeds: str, quota_bytes: int | None = None, **changes) -> Engine:
    """Not started."""
    names = feeds or ("clicks",)
    return Engine(folder, specs(folder, *names, quota_bytes=quota_bytes), small(**changes))


def land(engine: Engine) -> None:
    """All that is acknowledged, or as much of it as can be landed."""
    engine.roll()
    engine.commit_waiting()
    while engine.land_once():
        pass


def landed(folder: Path, feed: str) -> dict[int, Record]:
    """Every landed record by its sequence number.

    Asserts what always holds: no number is in two files, and a file has as many records as its
    name says.
    """
    found: dict[int, Record] = {}
    home = folder / "landed" / feed
    for file in landed_names(feed, home):
        rows = pq.read_table(home / file.name).to_pylist()
        assert len(rows) == file.last - file.first + 1, file
        for number, row in enumerate(rows, file.first):
            assert number not in found, (file, number)
            found[number] = (row["who"], row["request"], row["record"])
    return found
