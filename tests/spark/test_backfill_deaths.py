"""A backfill that dies anywhere is there whole or not at all, and its retry makes it whole once."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

import pytest

from freshline.core.errors import PlatformError
from freshline.failpoints import armed

pytestmark = pytest.mark.spark

POINTS = (
    "backfill.before_data",
    "backfill.after_data",
    "backfill.before_commit",
    "backfill.after_commit",
)


def utc_s(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_a_backfill_that_died_is_made_whole_by_its_retry(shop):
    folder = shop.feed("f", "csv", "id BIGINT, at TIMESTAMP")
    shop.table("orders", "SELECT * FROM STREAM f", time_column="at")
    (folder / "a.csv").write_text("1,2026-01-01T12:00:00Z\n2,2026-01-02T08:00:00Z\n")
    loaded = shop.request("orders", "a.csv")
    shop.executor.run(loaded)
    shown = [1, 2]
    for number, point in enumerate(POINTS):
        corrected = [1, 20 + number]
        (folder / "a.csv").write_text(
            f"1,2026-01-01T12:00:00Z\n{corrected[1]},2026-01-02T08:00:00Z\n"
        )
        request = dataclasses.replace(
            shop.request("orders", "a.csv"),
            from_s=loaded.to_s,
            to_s=loaded.to_s,
            range_s=(utc_s("2026-01-02"), utc_s("2026-01-03")),
        )
        with armed(f"{point}=eio"), pytest.raises(PlatformError, match="Input/output"):
            shop.executor.run(request)
        committed = point == "backfill.after_commit"
        assert [row["id"] for row in shop.rows("orders")] == (corrected if committed else shown)
        shop.restart()
        assert shop.executor.run(request).repeated == committed
        shown = [row["id"] for row in shop.rows("orders")]
        assert shown == corrected
