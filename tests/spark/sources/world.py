"""A Delta table that somebody else writes, a base table and a view over it, and their oracle."""

from __future__ import annotations

from collections import Counter
from typing import Any

import deltalake
import pyarrow as pa

from freshline.core.errors import Place
from freshline.delta.log import last_commit
from freshline.executor.records import FeedFile, UpdateResult
from freshline.project.definition import definition_of
from freshline.project.model import DeltaSource, Feed
from freshline.runtime.feeds.sources import SourceListing, SourceNews
from freshline.spark.verification.versions import Verifier
from tests.spark.conftest import Shop

Rows = list[tuple[int, str, int]]


def arrow(rows: Rows) -> pa.Table:
    ids, kinds, prices = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "kind": pa.array(kinds, pa.string()),
            "price": pa.array(prices, pa.int64()),
        }
    )


class World:
    """The source is at ROOT/source, by its path or by a name in the catalog.

    Args:
        shop: Where it is.
        table: Its name in the catalog; None: it is read by its path.
        on_new_table: The feed's setting.
        follows: Whether the view over the base table is brought up to date after each load; else
            after the first one and those in full.
    """

    def __init__(
        self,
        shop: Shop,
        *,
        table: str | None = None,
        on_new_table: str = "refuse",
        follows: bool = True,
    ) -> None:
        self.shop = shop
        self.follows = follows
        self.at = str(shop.root / "source")
        self.known: set[str] = set()
        self.looked: list[FeedFile] = []
        self.table = table
        self.declare(on_new_table)
        shop.table("orders", "SELECT * FROM STREAM orders_feed")
        shop.table("by_kind", "SELECT kind, count(*) AS n, sum(price) AS s FROM orders GROUP BY 1")
        self.listing = self.listen()

    def declare(self, on_new_table: str) -> None:
        self.shop.feeds["orders_feed"] = Feed(
            "orders_feed", "delta", "" if self.table else self.at, "delta", {}, None, None, None,
            Place("freshline.yml", 7), DeltaSource(self.table, on_new_table),
        )  # fmt: skip
        self.shop.restart()

    def listen(self) -> SourceListing:
        """As a new process does."""
        return SourceListing(
            self.shop.feeds["orders_feed"],
            "orders",
            self.shop.executor.source("orders_feed"),
            self.shop.path("orders"),
            self.known,
        )

    @property
    def source(self) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(self.at)

    def append(self, *rows: tuple[int, str, int]) -> None:
        deltalake.write_deltalake(self.at, arrow(list(rows)), mode="append")

    def sql(self, text: str) -> None:
        self.shop.session.sql(text.replace("SOURCE", f"delta.`{self.at}`"))

    def news(self) -> SourceNews:
        found = self.listing.news(2e9)
        self.known |= {file.name for file in found.files}
        return found

    def load(self, *files: FeedFile, **more: Any) -> UpdateResult:
        table = self.shop.project.table("orders")
        filled = last_commit(self.shop.path("orders")) is not None
        more = {"definition": definition_of(table), "filled": filled, "files": files, **more}
        return self.shop.load("orders", **more)

    def sync(self) -> UpdateResult | None:
        """Load what is new, and the view behind it; both must be right. None: nothing was."""
        news = self.news()
        if not news.files:
            return None
        result = self.load(*news.files)
        self.check(of_view=self.follows or how(result)[:2] != APPENDED)
        return result

    def check(self, *, of_view: bool = True) -> None:
        """Base table and view equal their queries, by what delta-rs reads; verify agrees."""
        version = deltalake.DeltaTable(self.shop.path("orders")).version()
        rows = self.source_rows()
        assert counted(self.shop.rows("orders")) == counted(rows)
        has_rows = "by_kind" in self.shop.numbers
        if not rows or (has_rows and not of_view):
            return
        self.shop.derive("by_kind", orders=version)
        wanted: dict[str, list[int]] = {}
        for row in rows:
            n_s = wanted.setdefault(row["kind"], [0, 0])
            n_s[0] += 1
            n_s[1] += row["price"] or 0
        found = {row["kind"]: [row["n"], row["s"] or 0] for row in self.shop.rows("by_kind")}
        assert found == wanted

    def verified(self) -> str:
        table = self.shop.project.table("orders")
        version = deltalake.DeltaTable(self.shop.path("orders")).version()
        check = Verifier(self.shop.project).check(self.shop.session.newSession(), table, version)
        return check.reason or check.outcome if check.outcome != "right" else "right"

    def source_rows(self) -> list[dict[str, Any]]:
        if self.source.protocol().min_reader_version == 1:
            found: list[dict[str, Any]] = self.source.to_pyarrow_table().to_pylist()
            return found
        # Spark alone reads deletion vectors and renamed columns.
        frame = self.shop.session.read.format("delta").load(self.at)
        return [row.asDict(recursive=True) for row in frame.collect()]


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


APPENDED = ("append", "row-wise")


def how(result: UpdateResult | None) -> tuple[str, str, int]:
    """Strategy, its code, and rows."""
    assert result is not None
    return result.strategy, result.code, result.rows
