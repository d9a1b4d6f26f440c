"""Columns stand where they stand in dbt's table: queries may read them by their position."""

from __future__ import annotations

import pytest

from freshline.importing.dbt.order import in_order
from freshline.importing.dbt.project import read_dbt

QUERY = "select a, b, c from t"


@pytest.mark.parametrize(
    ("query", "config", "columns", "parts", "adapter", "expected"),
    [
        # A contract's order is that of its columns.
        (QUERY, {"contract": {"enforced": True}}, "cab", "", "databricks", "c, a, b"),
        ("select * from t; -- all", {"contract": {"enforced": True}}, "ab", "", "spark", "a, b"),
        (QUERY, {"contract": {"enforced": True}}, "abc", "", "spark", None),
        (QUERY, {"contract": {"enforced": False}}, "cab", "", "spark", None),
        (QUERY, {"contract": {"enforced": True}}, "cab", "a", "spark", "c, b, a"),
        # Spark and Hudi put the columns that partition a table at its end, Delta does not.
        (QUERY, {"file_format": "parquet"}, "", "ba", "spark", "c, b, a"),
        (QUERY, {"file_format": "hudi"}, "", "a", "spark", "b, c, a"),
        (QUERY, {"file_format": "hudi"}, "", "a", "databricks", "b, c, a"),
        (QUERY, {"file_format": "iceberg"}, "", "a", "spark", None),
        (QUERY, {"file_format": None}, "", "a", "spark", "b, c, a"),
        ("select * from t", {}, "", "a", "spark", "* EXCEPT (a), a"),
        (QUERY, {"file_format": "parquet"}, "", "c", "spark", None),
        (QUERY, {"file_format": "delta"}, "", "a", "spark", None),
        (QUERY, {"file_format": "Delta"}, "", "a", "spark", None),
        (QUERY, {}, "", "a", "databricks", None),
        ("", {}, "", "a", "spark", None),
    ],
)
def test_columns_stand_where_dbt_puts_them(query, config, columns, parts, adapter, expected):
    node = {"config": config, "columns": {name: {} for name in columns}}
    found = in_order(query, node, tuple(parts), adapter)
    inner = query.partition(";")[0]
    assert found == (
        query if expected is None else f"SELECT {expected} FROM (\n{inner}\n) AS model_subq"
    )


def test_a_contract_orders_the_columns_of_an_imported_model(compiled):
    def agree(manifest):
        model = manifest["nodes"]["model.shop.revenue"]
        model["config"]["contract"] = {"enforced": True}
        model["columns"] = {name: {"name": name} for name in ("n", "revenue", "day")}

    item = next(each for each in read_dbt(compiled(agree)).items if each.key.endswith("revenue"))
    assert str(item.query).startswith("SELECT n, revenue, day FROM (\nwith ")
    assert "contract: a table has the types of its query, and constraints are not checked" in (
        item.left_out
    )
