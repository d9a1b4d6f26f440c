"""Batches of a report on Spark: equal to the query at once, each finished partial run once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from freshline.core.errors import PlatformError
from freshline.delta.log import commits, last_commit
from freshline.executor.report_records import BatchRequest, BatchResult, Window
from freshline.failpoints import armed
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine import jvm
from freshline.spark.reports import batches as report_batches
from tests.spark.conftest import MIDNIGHT_S, Shop
from tests.spark.views.judges import as_of
from tests.support.share import share

pytestmark = pytest.mark.spark

HOUR_S = 3600.0
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("shop", pa.string()),
        ("price", pa.decimal128(10, 2)),
    ]
)
ORDERS = "SELECT id, at, shop, price FROM STREAM orders_feed"
QUERY = (
    "SELECT shop, count(*) AS orders, sum(price) AS revenue, avg(price) AS mean, "
    "count(DISTINCT id % 3) AS kinds FROM orders GROUP BY shop HAVING count(*) > 0"
)


@dataclass
class Sales:
    """Orders in hourly windows, and a report over them."""

    shop: Shop
    folder: Path
    query: str = QUERY
    names: int = 0

    def orders(self, *rows: tuple[int, float, str, str]) -> int:
        """These come: id, minutes after midnight, shop, price; the table's new version."""
        self.names += 1
        midnight = datetime.fromtimestamp(MIDNIGHT_S, UTC)
        made = [
            (number, midnight + timedelta(minutes=minutes), shop, Decimal(price))
            for number, minutes, shop, price in rows
        ]
        columns = [dict(zip(SCHEMA.names, row, strict=True)) for row in made]
        return self.shop.come(
            "orders", pa.Table.from_pylist(columns, SCHEMA), MIDNIGHT_S + 600 * self.names
        )

    def window(self, hour: int = 0) -> Window:
        start_s = MIDNIGHT_S + hour * HOUR_S
        table = self.shop.project.table("sales")
        return Window(table, start_s, start_s + HOUR_S, start_s + 2 * HOUR_S, "abc")

    def batch(self, *, hour: int = 0, final: bool = False, **pins: int) -> BatchResult:
        return self.shop.executor.run_batch(BatchRequest(self.window(hour), pins, final))

    def at_once(self, hour: int = 0) -> list[dict[str, Any]]:
        """The query over all rows of the window that are there now."""
        session = self.shop.session.newSession()
        start_s = int(MIDNIGHT_S + hour * HOUR_S)
        path = self.shop.path("orders")
        frame = as_of(session, path, deltalake.DeltaTable(path).version()).filter(
            f"at >= timestamp_seconds({start_s}) AND at < timestamp_seconds({start_s + 3600})"
        )
        frame.createOrReplaceTempView("orders")
        return sorted((row.asDict() for row in session.sql(self.query).collect()), key=repr)

    def metadata(self) -> dict[str, Any]:
        commit = last_commit(self.shop.path("sales"))
        assert commit is not None
        return dict(commit.metadata)

    def partials(self) -> list[Path]:
        folder = Path(self.shop.project.own_path) / "reports" / "sales"
        return sorted(folder.glob("*/*")) if folder.exists() else []


def _sales(shop: Shop, *, time: str | None = "at", query: str = QUERY) -> Sales:
    folder = shop.feed(
        "orders_feed", "csv", "id BIGINT, at TIMESTAMP, shop STRING, price DECIMAL(10,2)"
    )
    shop.table("orders", ORDERS, time_column=time)
    shop.table("sales", query)
    return Sales(shop, folder, query)


@contextmanager
def _dying_at(failpoint: str) -> Iterator[None]:
    with armed(f"{failpoint}=eio"), pytest.raises(OSError, match=failpoint):
        yield


def test_late_early_and_no_rows_in_batches_equal_the_query_at_once(shop: Shop) -> None:
    sales = _sales(shop)
    # An early row of the next window, and one of the window before.
    first = sales.orders((1, 5, "a", "1.10"), (2, 70, "a", "9.00"), (3, -1, "b", "9.00"))
    assert sales.batch(orders=first).batches == 1
    empty = sales.orders()
    assert sales.batch(orders=empty).batches == 2
    second = sales.orders((4, 30, "a", "2.20"), (5, 31, "b", "3.30"))
    assert sales.batch(orders=second).batches == 3
    third = sales.orders((6, 65, "a", "9.00"), (7, 2, "c", "4.40"), (8, 60, "c", "9.00"))
    result = sales.batch(orders=third, final=True)
    assert result.batches == 4
    assert shop.rows("sales") == sales.at_once()
    assert [row["shop"] for row in shop.rows("sales")] == ["a", "b", "c"]

    told = sales.metadata()
    assert told["window"] == {
        "start": "2026-01-01T00:00:00.000000Z",
        "end": "2026-01-01T01:00:00.000000Z",
    }
    assert told["deadline"] == "2026-01-01T02:00:00.000000Z"
    assert told["parents"] == {"orders": third}
    assert [part["parents"]["orders"] for part in told["batches"]] == [first, empty, second, third]
    assert told["cost_s"] >= told["final_s"] > 0
    assert told["strategy"] == "report"
    assert told["complete"] is True
    assert sales.partials() == []  # nobody needs them any longer


@pytest.mark.proof
def test_the_cost_counts_what_every_batch_took_to_write(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_s = 0.0
    stage = Transaction.stage

    def ten_seconds(*arguments: Any, **more: Any) -> Any:
        nonlocal clock_s
        clock_s += 10.0
        return stage(*arguments, **more)

    clock = SimpleNamespace(monotonic=lambda: clock_s)
    monkeypatch.setattr(report_batches, "time", clock)
    monkeypatch.setattr(Transaction, "stage", ten_seconds)
    sales = _sales(shop)
    sales.batch(orders=sales.orders((1, 5, "a", "1.10")))
    sales.batch(orders=sales.orders((2, 6, "b", "2.20")), final=True)
    told = sales.metadata()
    # Each batch writes one partial, the last one the result too.
    assert [part["seconds"] for part in told["batches"]] == [10.0, 10.0]
    assert (told["final_s"], told["cost_s"]) == (10.0, 30.0)


def test_the_table_holds_the_newest_window_and_its_history_the_others(shop: Shop) -> None:
    sales = _sales(shop)
    version = sales.orders((1, 5, "a", "1.10"), (2, 70, "b", "2.00"))
    first = sales.batch(orders=version, final=True)
    second = sales.batch(orders=version, final=True, hour=1)
    assert (first.version, second.version) == (0, 1)
    assert [row["shop"] for row in shop.rows("sales", 0)] == ["a"]
    assert [row["shop"] for row in shop.rows("sales")] == ["b"]


def test_no_result_takes_the_place_of_rows_of_others(shop: Shop) -> None:
    sales = _sales(shop)
    version = sales.orders((1, 5, "a", "1.10"))
    deltalake.write_deltalake(shop.path("sales"), pa.table({"of": ["others"]}))
    with pytest.raises(PlatformError, match="a table of others") as error:
        sales.batch(orders=version, final=True)
    assert error.value.code == "table-replaced"
    assert shop.rows("sales") == [{"of": "others"}]


@pytest.mark.parametrize("before", ["orders", "kept"])
def test_no_submitted_report_takes_the_place_of_a_table_that_left_the_project(
    shop: Shop, before: str
) -> None:
    sales = _sales(shop)
    pins = {"orders": sales.orders((1, 5, "a", "1.10"))}
    shop.table("kept", "SELECT id FROM orders")
    shop.derive("kept", **pins)
    rows = shop.rows(before)
    table = replace(shop.project.table("sales"), name=before)
    asked = replace(sales.window(), table=table, asked_s=MIDNIGHT_S + 2 * HOUR_S)
    with pytest.raises(PlatformError, match=f"is in the place of report {before}") as error:
        shop.executor.run_batch(BatchRequest(asked, pins, final=True))
    assert error.value.code == "table-replaced"
    assert shop.rows(before) == rows


def test_a_window_is_committed_once(shop: Shop) -> None:
    sales = _sales(shop)
    version = sales.orders((1, 5, "a", "1.10"))
    once = sales.batch(orders=version, final=True)
    again = sales.batch(orders=version, final=True)
    assert (again.repeated, again.version, again.rows) == (True, once.version, once.rows)
    assert deltalake.DeltaTable(shop.path("sales")).version() == once.version


def test_a_report_asked_for_again_about_the_same_window_is_made_again(shop: Shop) -> None:
    sales = _sales(shop)
    asked = replace(sales.window(), asked_s=MIDNIGHT_S + 2 * HOUR_S)
    pins = {"orders": sales.orders((1, 5, "a", "1.10"))}
    assert shop.executor.run_batch(BatchRequest(asked, pins, final=True)).version == 0
    pins = {"orders": sales.orders((2, 6, "a", "2.20"))}  # a late row
    again = replace(asked, asked_s=MIDNIGHT_S + 3 * HOUR_S)
    result = shop.executor.run_batch(BatchRequest(again, pins, final=True))
    assert (result.repeated, result.version) == (False, 1)
    assert shop.rows("sales") == sales.at_once()
    assert shop.executor.run_batch(BatchRequest(again, pins, final=True)).repeated


def test_a_view_under_the_name_of_a_submission_has_the_window_of_that_day(shop: Shop) -> None:
    sales = _sales(shop)
    pins = {"orders": sales.orders((1, 5, "a", "1.10"), (2, 70, "b", "2.00"))}
    asked = replace(sales.window(), asked_s=MIDNIGHT_S + 1.5 * HOUR_S)
    assert shop.executor.run_batch(BatchRequest(asked, pins, final=True)).version == 0
    result = sales.batch(orders=pins["orders"], final=True, hour=1)  # it began before that
    assert (result.repeated, result.version) == (False, 1)
    assert sales.batch(orders=pins["orders"], final=True, hour=1).repeated


def test_what_is_left_of_a_window_that_was_given_up_goes_with_the_next_result(shop: Shop) -> None:
    sales = _sales(shop)
    version = sales.orders((1, 5, "a", "1.10"), (2, 65, "b", "2.00"), (3, 125, "c", "3.00"))
    sales.batch(orders=version)
    sales.batch(orders=version, hour=2)
    assert len({path.parent for path in sales.partials()}) == 2
    sales.batch(orders=version, hour=1, final=True)
    assert {path.parent.name[:15] for path in sales.partials()} == {"20260101T020000"}
    assert sales.batch(orders=version, hour=2, final=True).batches == 1


def test_death_between_partial_and_final_runs_no_partial_again(shop: Shop) -> None:
    sales = _sales(shop)
    first = sales.orders((1, 5, "a", "1.10"))
    sales.batch(orders=first)
    second = sales.orders((2, 6, "a", "2.00"), (3, 7, "b", "3.00"))
    with _dying_at("report.before_final"):
        sales.batch(orders=second, final=True)
    made = {str(path): deltalake.DeltaTable(str(path)).version() for path in sales.partials()}
    assert set(made.values()) == {1}  # two batches each
    shop.restart()
    with _dying_at("report.before_commit"):
        sales.batch(orders=second, final=True)
    assert {
        str(path): deltalake.DeltaTable(str(path)).version() for path in sales.partials()
    } == made
    shop.restart()
    last = sales.batch(orders=second, final=True)
    assert (last.batches, last.read) == (2, False), "its seconds say nothing of what rows cost"
    assert shop.rows("sales") == sales.at_once()


@pytest.mark.parametrize(
    "failpoint",
    share(
        ("report.before", "report.before_partial", "report.after_final", "report.after_commit"),
        part=4,
        first=2,
    ),
)
def test_death_at_a_step_of_the_last_batch_leaves_one_right_result(
    shop: Shop, failpoint: str
) -> None:
    sales = _sales(shop)
    first = sales.orders((1, 5, "a", "1.10"))
    sales.batch(orders=first)
    second = sales.orders((2, 6, "a", "2.00"), (3, 7, "b", "3.00"))
    with _dying_at(failpoint):
        sales.batch(orders=second, final=True)
    shop.restart()
    result = sales.batch(orders=second, final=True)
    committed = failpoint in ("report.after_final", "report.after_commit")
    assert (result.version, result.repeated) == (0, committed)
    assert shop.rows("sales") == sales.at_once()
    assert [part["parents"]["orders"] for part in sales.metadata()["batches"]] == [first, second]
    assert sales.partials() == []  # nothing is left of them, whenever it died


@pytest.mark.proof
def test_death_between_two_partials_of_a_batch_completes_it(shop: Shop) -> None:
    query = "SELECT count(DISTINCT shop) AS shops, count(DISTINCT id) AS ids, sum(price) AS s FROM orders"  # noqa: E501
    sales = _sales(shop, query=query)
    first = sales.orders((1, 5, "a", "1.10"), (1, 6, "b", "1.00"))
    with _dying_at("report.after_partial"):
        sales.batch(orders=first)
    shop.restart()
    second = sales.orders((2, 6, "a", "2.00"))
    assert sales.batch(orders=second, final=True).batches == 2
    assert (
        shop.rows("sales")
        == sales.at_once()
        == [{"shops": 2, "ids": 2, "s": shop.rows("sales")[0]["s"]}]
    )


@pytest.mark.proof
def test_rows_without_event_time_are_in_the_window_of_their_arrival(shop: Shop) -> None:
    sales = _sales(shop, time=None)
    # Freshness after each file: 00:10, 00:20, ... ; the sixth stands for the hour's last minutes.
    versions = [sales.orders((number, 0, "a", "1.00")) for number in range(1, 9)]
    sales.batch(orders=versions[2])
    sales.batch(orders=versions[7], final=True)
    assert [row["orders"] for row in shop.rows("sales")] == [6]
    sales.batch(orders=versions[7], final=True, hour=1)
    assert [row["orders"] for row in shop.rows("sales")] == [2]


def test_a_window_begun_by_arrival_is_begun_anew_by_event_time(shop: Shop) -> None:
    sales = _sales(shop, time=None)
    # The second row arrives in the window, and happens in the next one.
    first = sales.orders((1, 5, "a", "1.10"), (2, 70, "a", "9.00"))
    assert sales.batch(orders=first).batches == 1
    shop.table("orders", ORDERS, time_column="at")
    second = sales.orders((3, 30, "a", "2.20"))
    assert sales.batch(orders=second, final=True).batches == 1
    assert shop.rows("sales") == sales.at_once()


def test_what_cannot_be_cut_runs_once_and_says_why(shop: Shop) -> None:
    sales = _sales(shop, query="SELECT shop, collect_list(price) AS prices FROM orders GROUP BY 1")
    first = sales.orders((1, 5, "a", "1.10"))
    early = sales.batch(orders=first)
    assert (early.batches, early.code) == (0, "ORDER_DEPENDENT")
    second = sales.orders((2, 6, "a", "2.00"))
    assert sales.batch(orders=second, final=True).code == "ORDER_DEPENDENT"

    def in_any_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "prices": sorted(row["prices"])} for row in rows]

    assert in_any_order(shop.rows("sales")) == in_any_order(sales.at_once())
    told = sales.metadata()
    assert (told["strategy"], told["reason"], told["batches"]) == (
        "report-once", "ORDER_DEPENDENT", [],
    )  # fmt: skip


def test_streams_joined_across_batches(shop: Shop) -> None:
    folder = shop.feed("lines_feed", "csv", "order BIGINT, sold TIMESTAMP, qty INT")
    query = (
        "SELECT shop, sum(qty) AS qty, count(*) AS n FROM orders JOIN lines ON id = order "
        "GROUP BY shop"
    )
    shop.table("lines", "SELECT order, sold, qty FROM STREAM lines_feed", time_column="sold")
    sales = _sales(shop, query=query)

    def lines(name: str, text: str) -> int:
        (folder / name).write_text(text, encoding="utf-8")
        return shop.load("lines", name).version

    one = sales.orders((1, 5, "a", "1.00"), (2, 6, "b", "1.00"))
    none = lines("0.csv", "")
    sales.batch(orders=one, lines=none)
    some = lines("1.csv", "1,2026-01-01T00:10:00Z,3\n3,2026-01-01T00:10:00Z,5\n")
    sales.batch(orders=one, lines=some)
    two = sales.orders((3, 7, "a", "1.00"))
    more = lines("2.csv", "2,2026-01-01T00:11:00Z,7\n1,2026-01-01T02:11:00Z,100\n")
    assert sales.batch(orders=two, lines=more, final=True).batches == 3
    assert shop.rows("sales") == [
        {"shop": "a", "qty": 8, "n": 2},
        {"shop": "b", "qty": 7, "n": 1},
    ]


def test_a_stream_that_was_loaded_anew_is_read_anew(shop: Shop) -> None:
    sales = _sales(shop)
    first = sales.orders((1, 5, "a", "1.10"))
    sales.batch(orders=first)
    (sales.folder / "1.csv").write_text("1,2026-01-01T00:05:00Z,b,2.00\n", encoding="utf-8")
    anew = shop.load("orders", "1.csv", full=True).version
    assert sales.batch(orders=anew, final=True).batches == 1  # the first counts no more
    assert shop.rows("sales") == sales.at_once()
    assert [part["number"] for part in sales.metadata()["batches"]] == [2]


@pytest.mark.parametrize("later", share([-1, 0, 1], part=3, first=1))
def test_a_stream_that_was_put_back_is_read_anew(shop: Shop, later: int) -> None:
    """It has fewer versions than were read, as many of other rows, or more."""
    sales = _sales(shop)
    sales.orders((1, 5, "a", "1.10"))
    path, copy = Path(shop.path("orders")), shop.root / "copy"
    shutil.copytree(path, copy)
    version = sales.orders((2, 6, "b", "2.00"))
    if later < 0:
        version = sales.orders((5, 9, "e", "5.00"))
    sales.batch(orders=version)
    shutil.rmtree(path)
    shutil.copytree(copy, path)
    jvm.named(shop.session, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    shop.restart()
    version = sales.orders((3, 7, "c", "3.00"))
    if later > 0:
        version = sales.orders((4, 8, "d", "4.00"))
    assert sales.batch(orders=version, final=True).batches == 1  # the first counts no more
    assert shop.rows("sales") == sales.at_once()


REGIONS = (
    "SELECT r.region, count(*) AS n FROM orders o JOIN delta.`{}` r ON o.shop = r.shop"
    " GROUP BY r.region"
)


def regions(path: Path, **of: str) -> None:
    """A static table, created again under its name."""
    shutil.rmtree(path, ignore_errors=True)
    rows = pa.table({"shop": list(of), "region": list(of.values())})
    deltalake.write_deltalake(str(path), rows)


@pytest.mark.parametrize(
    "how", share(["created again", "put back", "put back and gone on"], part=3, first=1)
)
def test_a_static_table_that_became_another_one_between_batches(shop: Shop, how: str) -> None:
    path = shop.root / "regions"
    regions(path, a="north", b="south")
    sales = _sales(shop, query=REGIONS.format(path))
    if how != "created again":
        shutil.copytree(path, shop.root / "copy")
        rows = pa.table({"shop": ["c"], "region": ["west"]})
        deltalake.write_deltalake(str(path), rows, mode="append")
    sales.batch(orders=sales.orders((1, 5, "a", "1.10"), (2, 6, "c", "1.00")))
    if how != "created again":
        shutil.rmtree(path)
        shutil.copytree(shop.root / "copy", path)
        rows = pa.table({"shop": ["c"], "region": ["east"]})
        deltalake.write_deltalake(str(path), rows, mode="append")
        if how == "put back and gone on":
            rows = pa.table({"shop": ["d"], "region": ["far"]})
            deltalake.write_deltalake(str(path), rows, mode="append")
    else:
        regions(path, a="NORTH", b="SOUTH", c="EAST")
    version = sales.orders((3, 7, "b", "2.00"))
    assert sales.batch(orders=version, final=True).batches == 1  # the first counts no more
    told = sorted((row["region"], row["n"]) for row in shop.rows("sales"))
    north, south, east = (
        ("NORTH", "SOUTH", "EAST") if how == "created again" else ("north", "south", "east")
    )
    assert told == sorted([(north, 1), (south, 1), (east, 1)])


def test_a_static_table_gets_a_column_between_windows(shop: Shop) -> None:
    """The plan of the first window joined by other columns."""
    path = shop.root / "regions"
    regions(path, a="north", b="south")
    query = "SELECT region, count(*) AS n FROM orders NATURAL JOIN delta.`{}` GROUP BY region"
    sales = _sales(shop, query=query.format(path))
    version = sales.orders((1, 5, "a", "1.10"), (2, 6, "b", "1.00"))
    sales.batch(orders=version, final=True)
    rows = pa.table({"shop": ["a", "b"], "region": ["north", "south"], "id": [3, 99]})
    deltalake.write_deltalake(str(path), rows, mode="overwrite", schema_mode="overwrite")
    version = sales.orders((3, 65, "a", "2.00"), (4, 66, "b", "2.00"))
    sales.batch(hour=1, orders=version, final=True)
    assert shop.rows("sales") == [{"region": "north", "n": 1}]


@pytest.mark.proof
def test_the_state_says_what_was_read(shop: Shop) -> None:
    sales = _sales(shop)
    first = sales.orders((1, 5, "a", "1.10"))
    sales.batch(orders=first)
    for path in sales.partials():
        (commit,) = commits(str(path))
        facts = {key: commit.metadata[key] for key in ("update", "base", "parents", "before")}
        assert json.loads(json.dumps(facts)) == {
            "update": 1,
            "base": 1,
            "parents": {"orders": first},
            "before": {},
        }
