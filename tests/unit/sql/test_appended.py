"""Watermarks in queries that stream, in the ways to write their delay."""

from __future__ import annotations

import pytest

from freshline.sql.text.appended import Appended, appended, has_watermark

DELAYS = (
    "INTERVAL 1 HOUR", "interval '1' hour", "INTERVAL '1 hour 30 minutes'", "INTERVAL 10 MINUTES",
    "INTERVAL 1 HOUR 30 MINUTES", "INTERVAL '1:30' HOUR TO MINUTE", "INTERVAL 10 seconds",
)  # fmt: skip


@pytest.mark.parametrize("delay", DELAYS)
def test_what_passes_on_each_row_may_have_a_watermark(delay):
    query = f"SELECT o.limit, o.id FROM STREAM o WATERMARK at DELAY OF {delay} WHERE o.id > 1"
    assert has_watermark(query)
    assert appended(query, ["o"]) == Appended()


@pytest.mark.parametrize("delay", DELAYS)
def test_what_a_watermark_decides_is_refused(delay):
    query = f"SELECT count(*) AS n FROM STREAM o WATERMARK at DELAY OF {delay} GROUP BY day"
    assert appended(query, ["o"]).refusal == "has a watermark that decides which rows are written"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM STREAM a UNION ALL SELECT * FROM STREAM b LIMIT 5",
        "(SELECT * FROM STREAM a LIMIT 5) UNION ALL SELECT * FROM STREAM b",
        "SELECT * FROM (SELECT * FROM STREAM a UNION ALL SELECT * FROM STREAM b) OFFSET 2",
        "WITH x AS (SELECT * FROM STREAM a UNION SELECT * FROM STREAM b LIMIT 5) SELECT * FROM x",
    ],
)
def test_a_limit_is_refused_wherever_it_stands(query):
    refusal = appended(query, ["a", "b"]).refusal
    assert refusal is not None
    assert refusal.startswith("takes some of the rows")
