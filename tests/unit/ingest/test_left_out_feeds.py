"""A feed is left out of the project for one start: what was acknowledged is there when it is back.

Its file is in the ledger and not shown yet: the process died, or the store was away, between both.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from freshline.delta.stores import arrow_store, use
from freshline.failpoints import armed
from freshline.ingest.engine.engine import Engine
from freshline.ingest.engine.settings import FeedSpec
from freshline.ingest.engine.store_landing import StoreLanding
from tests.support.pushing import SCHEMA, batch, land, landed, small
from tests.support.s3_server import S3Server


def host(folder: Path, *feeds: str, place: str | None = None) -> Engine:
    specs = {
        name: FeedSpec(name, SCHEMA, folder / "landed" / name, store=place and f"{place}/{name}")
        for name in feeds
    }
    made = Engine(folder, specs, small())
    made.start(threads=False)
    return made


def push(engine: Engine, feed: str) -> None:
    future = engine.submit(batch(feed, "a", 0), None)
    engine.commit_waiting()
    future.result(timeout=0)


def test_what_a_death_left_unshown_is_shown_when_its_feed_is_back(tmp_path):
    engine = host(tmp_path, "clicks", "visits")
    push(engine, "clicks")
    with armed("ingest.land.before-publish=eio"):
        engine.roll()
        engine.commit_waiting()
        engine.land_once()
    engine.close()
    without = host(tmp_path, "visits")
    assert any("of feed clicks" in text for text in without.recovery.messages)
    push(without, "visits")
    land(without)
    without.close()
    again = host(tmp_path, "clicks", "visits")
    assert again.recovery.messages == ()
    land(again)
    assert list(landed(tmp_path, "clicks").values()) == [("a", 0, 0)]
    assert list(landed(tmp_path, "visits").values()) == [("a", 0, 0)]
    assert again.metrics().segments == 1
    again.close()


def test_what_was_shown_keeps_no_segment_of_a_feed_that_is_left_out(tmp_path):
    engine = host(tmp_path, "clicks", "visits")
    push(engine, "clicks")
    with armed("ingest.unlink.before=eio"):
        land(engine)
    engine.close()
    without = host(tmp_path, "visits")
    assert without.recovery.messages == ()
    land(without)
    assert without.metrics().segments == 1
    without.close()


@pytest.fixture
def place(request):
    with S3Server() as server:
        use(server.settings)
        yield f"s3a://lake/{request.node.name}/_freshline/landed"
        use({})


def test_what_waits_for_the_store_is_put_there_when_its_feed_is_back(tmp_path, place, monkeypatch):
    from pyarrow import fs

    engine = host(tmp_path, "clicks", "visits", place=place)
    push(engine, "clicks")
    with monkeypatch.context() as patch:
        patch.setattr(StoreLanding, "_reached", lambda _: (_ for _ in ()).throw(OSError("away")))
        land(engine)
    engine.close()
    without = host(tmp_path, "visits", place=place)
    land(without)
    without.close()
    again = host(tmp_path, "clicks", "visits", place=place)
    land(again)
    again.close()
    system, base = arrow_store(f"{place}/clicks")
    found = system.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    files = [info.path for info in found if info.is_file]
    rows = [row for path in files for row in pq.read_table(path, filesystem=system).to_pylist()]
    assert [(row["who"], row["request"]) for row in rows] == [("a", 0)]
