"""TPC-H over orders and lineitem as streams, in batches of which one is empty."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from freshline.core.errors import Place
from freshline.project.model import Feed
from freshline.spark.report_records import BatchRequest, Window
from tests.spark.conftest import MIDNIGHT_S, Shop
from tests.unit.sql.tpch import generate, tpch_query

pytestmark = pytest.mark.spark
STREAMS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def _order(row: tuple[Any, ...]) -> list[str]:
    return [f"{float(v):.6e}" if isinstance(v, int | float | Decimal) else str(v) for v in row]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder, 0.002)
    with duckdb.connect() as database:
        for name, key in STREAMS.items():
            for number, holds in enumerate([f"{key} % 7 < 3", "FALSE", f"{key} % 7 >= 3"]):
                part = folder / name / f"{number}.parquet"
                part.parent.mkdir(exist_ok=True)
                source = folder / f"{name}.parquet"
                database.execute(f"COPY (FROM '{source}' WHERE {holds}) TO '{part}'")
    return folder


@pytest.mark.parametrize("name", ["q03", "q12"])
def test_in_batches_equals_at_once(shop: Shop, data: Path, name: str) -> None:
    for stream in STREAMS:
        shop.feeds[f"{stream}_feed"] = Feed(
            f"{stream}_feed", "files", str(data / stream), "parquet", {}, None, None, None,
            Place("freshline.yml", 7),
        )  # fmt: skip
        shop.table(stream, f"SELECT * FROM STREAM {stream}_feed")
    customer = f"parquet.`{data}/customer.parquet`"
    query = tpch_query(name).replace("customer", customer, 1)
    shop.table("report", query)
    window = Window(
        shop.project.table("report"), MIDNIGHT_S - 60.0, MIDNIGHT_S + 3600.0, MIDNIGHT_S + 7200.0
    )
    lines = 0
    for number in range(3):
        # The lines come before their orders, so those of one order are in two batches.
        lines = shop.load("lineitem", f"{number}.parquet").version
        if number:
            orders = shop.load("orders", f"{number - 1}.parquet").version
            pins = {"lineitem": lines, "orders": orders}
            shop.executor.run_batch(BatchRequest(window, pins, final=False))
    orders = shop.load("orders", "2.parquet").version
    pins = {"lineitem": lines, "orders": orders}
    result = shop.executor.run_batch(BatchRequest(window, pins, final=True))
    assert result.batches == 3
    session = shop.session.newSession()
    for stream in STREAMS:
        session.read.parquet(str(data / f"{stream}.parquet")).createOrReplaceTempView(stream)
    expected = sorted((tuple(row) for row in session.sql(query).collect()), key=_order)
    found = session.read.format("delta").load(shop.path("report"))
    assert found.columns == session.sql(query).columns
    rows = sorted((tuple(row) for row in found.collect()), key=_order)
    assert len(rows) == len(expected) > 0
    assert all(
        _same(one, other)
        for row, want in zip(rows, expected, strict=True)
        for one, other in zip(row, want, strict=True)
    )
