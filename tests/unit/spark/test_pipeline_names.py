"""Names in a pipeline's Python functions of tables that are no datasets of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from freshline.importing.pipelines.definitions import Scope
from freshline.spark.pipelines.current import Call


@pytest.fixture
def call() -> Call:
    """One of a pipeline whose specification names a database, with a dataset."""
    session: Any = SimpleNamespace(
        table=lambda name: name, sql=lambda text: SimpleNamespace(text=text)
    )
    return Call(
        session,
        lambda parts: "orders_view" if parts == ("orders",) else None,
        lambda _: "",
        whole_of=Scope("spark_catalog", "shop").whole,
    )


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("orders", "orders_view"),
        ("regions", "spark_catalog.shop.regions"),
        ("raw.regions", "raw.regions"),
        ("delta.`/data/x`", "delta.`/data/x`"),
        ("regions@v1", "regions@v1"),
    ],
)
def test_a_table_outside_is_in_the_database_of_the_specification(call, name, read):
    assert call.table(name) == read


def test_what_a_query_reads_is_so_too_and_is_noted(call):
    frame: Any = call.query("SELECT * FROM orders JOIN regions r USING (id) JOIN raw.a USING (id)")
    assert frame.text == (
        "SELECT * FROM orders_view AS orders JOIN spark_catalog.shop.regions r USING (id)"
        " JOIN raw.a USING (id)"
    )
    assert call.outside == {"regions": "spark_catalog.shop.regions"}
    assert call.names == {"orders": "orders_view"}


def test_another_catalog_holds_for_names_with_a_schema(call):
    call.whole_of = Scope("lake").whole
    assert [call.table(name) for name in ("a", "raw.a", "main.raw.a")] == [
        "lake.default.a", "lake.raw.a", "main.raw.a",
    ]  # fmt: skip
    call.feed_of = lambda stream: f"feed of {stream.table}"  # which is refused as one
    assert call.stream_of("raw.a", {}) == "`feed of lake.raw.a`"
