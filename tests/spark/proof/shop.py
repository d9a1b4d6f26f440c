"""A real project on disk, and producers that fill its feeds with all that feeds can bring.

Two feeds (csv with rows that do not fit, Parquet without a declared schema), two base tables
and views that roll up, roll up a rollup, join and count distinct. What a base table must hold
is computed here in plain Python, from what was written into the files.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from freshline.project.load import load_project

Row = tuple[Any, ...]

START = datetime(2026, 1, 5)  # noqa: DTZ001 - every moment here is UTC, as the tables have it
CUSTOMERS = 12

FEEDS = """
  orders_feed:
    kind: files
    path: feed/orders
    format: csv
    schema: "id BIGINT, made TIMESTAMP, customer BIGINT, price DECIMAL(12,2)"
    timestamp: {pattern: "-(\\\\d{8}T\\\\d{6})", format: "%Y%m%dT%H%M%S"}
    period: 1 second
  visits_feed:
    kind: files
    path: feed/visits
    format: parquet
    timestamp: {pattern: "-(\\\\d{8}T\\\\d{6})", format: "%Y%m%dT%H%M%S"}
    period: 1 second
"""
BASES = {
    "orders": """
        SELECT id, made, customer, CAST(price * 100 AS BIGINT) AS cents
        FROM STREAM orders_feed WHERE price >= 0""",
    "visits": "SELECT id, made, customer FROM STREAM visits_feed",
}
STATIC = "delta.`static/customers`"
VIEWS = {
    "hourly": """
        SELECT date_trunc('HOUR', made) AS hour, count(*) AS orders, sum(cents) AS cents
        FROM orders GROUP BY 1""",
    "daily": """
        SELECT date_trunc('DAY', hour) AS day, sum(orders) AS orders, max(cents) AS best
        FROM hourly GROUP BY 1""",
    "met": """
        SELECT o.id, v.id AS visit FROM orders o JOIN visits v
        ON o.customer = v.customer AND date_trunc('DAY', o.made) = date_trunc('DAY', v.made)""",
    "near": """
        SELECT o.id, v.id AS visit FROM orders o JOIN visits v
        ON v.made > o.made - INTERVAL 10 MINUTES AND v.made <= o.made""",
    "spenders": """
        SELECT customer, count(*) AS orders, sum(cents) * 2 AS twice, max(made) AS latest
        FROM orders GROUP BY 1""",
    "newest": """
        SELECT customer, id, cents FROM orders
        QUALIFY row_number() OVER (PARTITION BY customer ORDER BY id DESC) = 1""",
    "regions": f"""
        SELECT c.region, count(*) AS orders, sum(o.cents) AS cents
        FROM orders o LEFT JOIN {STATIC} c ON o.customer = c.id GROUP BY 1""",
    "visitors": """
        SELECT date_trunc('HOUR', made) AS hour, count(DISTINCT customer) AS people
        FROM visits GROUP BY 1""",
    "busy": """
        SELECT hour, h.orders, v.people FROM hourly h FULL JOIN visitors v USING (hour)""",
    "crossed": """
        SELECT o.customer, count(*) AS pairs FROM orders o JOIN visits v
        ON (o.id * 7) % 1009 < (v.id * 5) % 1013 GROUP BY 1""",
}
BY_CHANGES = "TBLPROPERTIES ('freshline.refresh' = 'incremental')"
"""In full, so few rows would be as quick; it is the other ways that are to be killed."""

USUAL = tuple(view for view in VIEWS if view != "crossed")
"""All but the one that takes seconds."""


@dataclass(slots=True)
class Written:
    """What a feed file was written with.

    Attributes:
        rows: Those that its base table must hold, as the base table's query makes them.
        misfits: Text lines that must be rejected.
    """

    rows: list[Row] = field(default_factory=list)
    misfits: list[str] = field(default_factory=list)


class Shop:
    """A project in a folder of its own.

    Args:
        root: Where; made when it is not there.
        views: Which of :data:`VIEWS`; parents must be among them.
        settings: Lines of freshline.yml besides those every project here has.
        storage: As in freshline.yml.
        seed: Of the rows that are made.
    """

    def __init__(
        self,
        root: Path,
        views: Iterable[str] = USUAL,
        *,
        master: str = "local[1]",
        settings: str = "scheduler: {tracks: 2}",
        storage: str = "warehouse",
        seed: int = 1,
    ) -> None:
        self.root = root
        self.views = tuple(views)
        self.chance = random.Random(seed)
        self.written: dict[str, dict[str, Written]] = {"orders": {}, "visits": {}}
        self.next_id = 0
        (root / "tables").mkdir(parents=True, exist_ok=True)
        (root / "freshline.yml").write_text(
            f"name: shop\nstorage: {storage}\nmaintenance: {{trials: false}}\nlibraries:\n"
            "  - glob: {include: tables/**/*.sql}\n"
            f'spark: {{master: "{master}"}}\n{settings}\nfeeds:{FEEDS}'
        )
        for name, query in BASES.items():
            (root / "tables" / f"{name}.sql").write_text(
                f"CREATE STREAMING TABLE {name} AS {query.strip()};\n"
            )
        for name in self.views:
            (root / "tables" / f"{name}.sql").write_text(
                f"CREATE MATERIALIZED VIEW {name} {BY_CHANGES} AS {VIEWS[name].strip()};\n"
            )
        if not (root / "static" / "customers").exists():
            regions = ["north", "south", "west"]
            rows = [{"id": n, "region": regions[n % 3]} for n in range(CUSTOMERS - 2)]
            write_deltalake(root / "static" / "customers", pa.Table.from_pylist(rows))
        self.project = load_project(root)

    # ---- producers ----

    def orders(
        self, name: str, at: datetime, rows: int, misfits: int = 0, *, counts: bool = True
    ) -> str:
        """Write a csv file; ``counts`` is false for a name that is loaded already."""
        written = Written()
        lines = []
        for _ in range(rows):
            number, moment = self._id(), self._moment(at)
            customer = self.chance.choice([None, *range(CUSTOMERS)])
            cents = self.chance.randint(-500, 9_999)
            lines.append(
                f"{number},{moment:%Y-%m-%d %H:%M:%S},{'' if customer is None else customer},"
                f"{cents / 100:.2f}"
            )
            if cents >= 0:
                written.rows.append((number, moment, customer, cents))
        for _ in range(misfits):
            line = self.chance.choice(["x{},2026-01-05 00:00:00,1,1.00", "{},no time,1,1.00"])
            written.misfits.append(line.format(self._id()))
        lines += written.misfits
        self.chance.shuffle(lines)
        self._put("orders", name, "".join(f"{line}\n" for line in lines).encode())
        if counts:
            self.written["orders"][name] = written
        return name

    def visits(self, name: str, at: datetime, rows: int) -> str:
        """Write a Parquet file."""
        made = [
            (self._id(), self._moment(at), self.chance.choice([None, *range(CUSTOMERS)]))
            for _ in range(rows)
        ]
        schema = pa.schema(
            [("id", pa.int64()), ("made", pa.timestamp("us", "UTC")), ("customer", pa.int64())]
        )
        columns = zip(*made, strict=True) if made else ([], [], [])
        table = pa.table([list(column) for column in columns], schema=schema)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        self._put("visits", name, sink.getvalue().to_pybytes())
        self.written["visits"][name] = Written(made)
        return name

    def garbage(self, table: str, name: str) -> str:
        """Write bytes that no reader takes."""
        self._put(table, name, self.chance.randbytes(200))
        return name

    def _put(self, table: str, name: str, content: bytes) -> None:
        path = self.root / "feed" / table / name
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.tmp")
        unfinished.write_bytes(content)
        unfinished.replace(path)

    def _id(self) -> int:
        self.next_id += 1
        return self.next_id

    def _moment(self, at: datetime) -> datetime:
        return at + timedelta(seconds=self.chance.randrange(3600))


def file_name(table: str, at: datetime, number: int, suffix: str) -> str:
    """A feed file's name with its timestamp."""
    return f"{table}-{at:%Y%m%dT%H%M%S}-{number}{suffix}"


def one_of_each(shop: Shop, hour: int) -> None:
    """An ordinary file for both feeds, the csv one with a row that does not fit."""
    at = START + timedelta(hours=hour)
    shop.orders(file_name("orders", at, hour, ".csv"), at, 8, 1)
    shop.visits(file_name("visits", at, hour, ".parquet"), at, 6)
