"""A view goes on after a row over which its query fails, whatever Spark says of it, is gone."""

from __future__ import annotations

import pyarrow as pa
import pytest

from freshline.core.errors import FreshlineError
from freshline.sql.query.records import Source
from freshline.sql.strategy import full
from tests.spark.conftest import Shop
from tests.spark.views.proving import Proving

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), *((each, pa.string()) for each in ("kind", "text"))])
QUERIES = {
    # By SQLSTATE, or what fails where Spark has none; each with a text over which it fails.
    "22018": ("SELECT kind, sum(CAST(text AS INT)) AS n FROM orders GROUP BY kind", "1", "x"),
    "23505": (
        "SELECT str_to_map(text, ';', '=')['to'] AS land, count(*) AS n FROM orders GROUP BY 1",
        "to=de",
        "to=de;to=fr",
    ),
    "42601": (
        "SELECT kind, sum(length(text) + to_number(text, '9')) AS n FROM orders GROUP BY kind",
        "1",
        "x",
    ),
    "P0001": (
        "SELECT kind, sum(IF(text = 'x', raise_error('no'), 1)) AS n FROM orders GROUP BY kind",
        "1",
        "x",
    ),
    "sequence": (
        "SELECT kind, sum(size(sequence(1, CAST(text AS INT), 1))) AS n FROM orders GROUP BY kind",
        "2",
        "-1",
    ),
    "format": (
        "SELECT kind, sum(length(format_string(text, id))) AS n FROM orders GROUP BY kind",
        "%d",
        "%q",
    ),
}


@pytest.mark.parametrize("what", QUERIES)
def test_a_view_goes_on_once_the_row_is_gone_over_which_its_query_fails(spark, tmp_path, what):
    query, good, bad = QUERIES[what]
    proving = Proving(Shop(tmp_path, spark))
    proving.feed(Source("orders", {"id": "bigint", "kind": "string", "text": "string"}))
    proving.view("totals", query)
    proving.plan()

    def come(number: int, text: str) -> None:
        row = {"id": number, "kind": "a", "text": text}
        proving.arrive("orders", pa.Table.from_pylist([row], SCHEMA))

    come(1, good)
    proving.update("totals")
    come(2, good)
    proving.update("totals")
    come(3, bad)
    with pytest.raises(FreshlineError):  # as the query over all rows does
        proving.update("totals")
    proving.gone("orders", "id = 3")
    # The changes since the last update still hold the row.
    result = proving.update("totals")
    come(4, good)
    proving.update("totals")
    told = [code for _, code in proving.told["totals"]]
    assert told == ["first-build", "merges", "changes-failed", proving.first_merge("totals")]
    # What failed is told: it could be a fault of ours.
    assert result.reason.startswith(f"{full('changes-failed').reason}: ")
