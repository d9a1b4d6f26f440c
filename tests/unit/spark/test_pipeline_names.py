"""Names in a pipeline's Python functions of tables that are no datasets of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from freshline.core.errors import Place, UserError
from freshline.project.model import Program
from freshline.project.names import Scope
from freshline.spark.pipelines.call import Call
from freshline.spark.pipelines.programs import call_of


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


def test_what_a_query_reads_is_so_too(call):
    frame: Any = call.query("SELECT * FROM orders JOIN regions r USING (id) JOIN raw.a USING (id)")
    assert frame.text == (
        "SELECT * FROM orders_view AS orders JOIN spark_catalog.shop.regions r USING (id)"
        " JOIN raw.a USING (id)"
    )
    assert call.names == {"orders": "orders_view"}


def test_another_catalog_holds_for_names_with_a_schema(call):
    call.whole_of = Scope("lake").whole
    assert [call.table(name) for name in ("a", "raw.a", "main.raw.a")] == [
        "lake.default.a", "lake.raw.a", "main.raw.a",
    ]  # fmt: skip
    call.feed_of = lambda stream: f"feed of {stream.table}"  # which is refused as one
    assert call.stream_of("raw.a", {}) == "`feed of lake.raw.a`"


@pytest.fixture
def updated() -> Call:
    """One of an update, whose function read ``orders`` when it was called without rows."""
    session: Any = SimpleNamespace(
        table=lambda name: name, sql=lambda text: SimpleNamespace(text=text)
    )
    table: Any = SimpleNamespace(place=Place("t/a.py", 3))
    program = Program(
        "late",
        names={"orders": "orders"},
        scope=Scope("spark_catalog", "Shop"),
        datasets=frozenset({("spark_catalog", "shop", "orders"), ("dear",),
                            ("spark_catalog", "shop", "regions")}),
        outside={"spark_catalog.Shop.areas": False, "raw.areas": False},
    )  # fmt: skip
    return call_of(session, table, program)


def test_a_table_that_was_read_without_rows_is_in_that_database_too(updated):
    assert [updated.table(name) for name in ("orders", "areas", "raw.areas")] == [
        "orders", "spark_catalog.Shop.areas", "raw.areas",
    ]  # fmt: skip
    assert updated.query("SELECT * FROM areas").text == (
        "SELECT * FROM spark_catalog.Shop.areas AS areas"
    )


def refused(updated, name):
    """What is read only where there are rows: nobody would be told of its news."""
    with pytest.raises(UserError, match="which it did not read when it was called over") as caught:
        updated.table(name)
    assert caught.value.code == "other-reads"
    with pytest.raises(UserError):
        updated.query(f"SELECT * FROM {name}")


@pytest.mark.parametrize("name", ["rates", "raw.rates", "delta.`/data/x`"])
def test_a_table_outside_that_is_read_only_where_there_are_rows_is_refused(updated, name):
    refused(updated, name)
    assert updated.query(f"SELECT * FROM {name} VERSION AS OF 3").text.endswith("VERSION AS OF 3")


def test_a_table_outside_is_read_at_the_version_of_the_update(call):
    call.pinned = {"raw.a": "raw.a VERSION AS OF 4", "spark_catalog.shop.b": "_freshline_b"}
    call.session.read = SimpleNamespace(
        options=lambda **more: SimpleNamespace(table=lambda name: (name, more))
    )
    assert call.table("raw.a") == ("raw.a", {"versionAsOf": "4"})
    assert call.table("b").text == "SELECT * FROM _freshline_b AS b"
    assert call.query("SELECT * FROM raw.a, b, orders").text == (
        "SELECT * FROM raw.a VERSION AS OF 4, _freshline_b AS b, orders_view AS orders"
    )
    assert call.outside == {"raw.a": False, "spark_catalog.shop.b": False}
    call.query("SELECT * FROM raw.c VERSION AS OF 1")
    assert call.outside["raw.c"]


@pytest.mark.parametrize("name", ["Regions", "shop.regions", "spark_catalog.SHOP.regions", "dear"])
def test_a_dataset_that_is_read_only_where_there_are_rows_is_refused(updated, name):
    """It is no parent: its table of the catalog would be read instead."""
    refused(updated, name)


def test_a_name_with_a_point_in_it_is_not_one_with_a_schema(call):
    call.view_of = lambda parts: "_".join(parts) + str(len(parts))
    call.table("raw.`Orders`")
    call.table("`raw.orders`")
    assert call.names == {"raw.orders": "raw_Orders2", "`raw.orders`": "raw.orders1"}
