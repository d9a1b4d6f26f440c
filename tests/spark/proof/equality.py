"""Whether a warehouse holds what it must: every version of every table, every file once.

Nothing here uses freshline: the log is read as JSON, rows by delta-rs; queries are computed by
plain Spark over VERSION AS OF and, as a second opinion, by DuckDB.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.spark.proof.shop import BASES, STATIC, VIEWS, Row, Shop

SPARK, DUCKDB = "Spark", "DuckDB"
"""Who computes a view's query."""
_REJECTED = "orders__rejected"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a table: its version and the metadata of ours."""

    version: int
    metadata: Mapping[str, Any]
    transactions: Mapping[str, int]


class Checker:
    """Checks one shop's warehouse; raises AssertionError with what differs.

    Args:
        shop: The project, which knows what was written into its feeds.
        spark: Any session with Delta.
    """

    def __init__(self, shop: Shop, spark: SparkSession) -> None:
        self.shop = shop
        self.storage = Path(shop.project.storage)
        self._spark = utc_session(spark)

    # ---- the checks ----

    def check(self, *, by: tuple[str, ...] = (SPARK, DUCKDB)) -> None:
        """Everything, and that nothing readable is left to load; views ``by`` these judges."""
        for table in BASES:
            self.check_base(table)
        self.check_rejected()
        for view in self.shop.views:
            self.check_view(view, by=by)
            self.check_pins_newest(view)
        self.check_journal()

    def check_base(self, table: str) -> None:
        """Each version has the rows of the files of the commits up to it; each file once."""
        log = self.commits(table)
        written = self.shop.written[table]
        files: list[str] = []
        for commit in log:
            files += commit.metadata["files"]
            expected = Counter(row for name in files for row in written[name].rows)
            _same(f"{table} version {commit.version}", self.rows(table, commit.version), expected)
        twice = [name for name, times in Counter(files).items() if times > 1]
        assert not twice, f"{table}: loaded twice: {twice}"
        assert set(files) == set(written), f"{table}: {set(written) ^ set(files)}"

    def check_rejected(self) -> None:
        """Each line that does not fit is there once, under its file, if that was loaded."""
        loaded = {name for commit in self.commits("orders") for name in commit.metadata["files"]}
        written = self.shop.written["orders"]
        expected = Counter((name, line) for name in loaded for line in written[name].misfits)
        found: Counter[Row] = Counter()
        if (self.storage / _REJECTED).exists():
            table = DeltaTable(self.storage / _REJECTED).to_pyarrow_table()
            found = counted(table.select(["file", "record"]))
        _same(_REJECTED, found, expected)

    def check_view(self, view: str, *, by: tuple[str, ...]) -> None:
        """Each version equals the query over the versions of its parents that it records."""
        reads = _reads(view)
        for commit in self.commits(view):
            pins = commit.metadata["parents"]
            assert set(pins) == set(reads), f"{view} version {commit.version} pins {pins}"
            found = self.rows(view, commit.version)
            for judge in by:
                expected = self.expected(view, pins, judge)
                _same(f"{view} version {commit.version} ({judge})", found, expected)

    def check_pins_newest(self, view: str) -> None:
        """The newest version was computed from the newest rows of all parents."""
        paths = self._paths(_reads(view))
        log = self.commits(view)
        if log or all((self.storage / name).exists() for name in paths):
            pins = log[-1].metadata["parents"]
            older = {
                name: pins[name]
                for name, path in paths.items()
                if pins[name] < self._newest_rows(name, path)
            }
            assert not older, view

    def _newest_rows(self, name: str, path: Path) -> int:
        """The newest version of a table but for compactions, which bring no rows."""
        if name == STATIC:
            return DeltaTable(path).version()
        commits = (each for each in self.commits(name) if each.metadata["strategy"] != "compact")
        return max(each.version for each in commits)

    def check_journal(self) -> None:
        """The journal says of files, numbers and versions what the log says."""
        path = self.storage / "_freshline" / "journal.db"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as journal:
            loaded = journal.execute(
                "SELECT table_name, name, number FROM files WHERE state='loaded'"
            ).fetchall()
            tables = journal.execute("SELECT name, number, version FROM tables").fetchall()
            broken = journal.execute("PRAGMA integrity_check").fetchone()[0]
        assert broken == "ok"
        expected = [
            (table, name, commit.metadata["update"])
            for table in BASES
            for commit in self.commits(table)
            for name in commit.metadata["files"]
        ]
        assert sorted(loaded) == sorted(expected)
        for name, number, version in tables:
            log = self.commits(name)
            last = (log[-1].metadata["update"], log[-1].version) if log else (0, None)
            assert (number, version) == last, name

    # ---- reading ----

    def commits(self, table: str) -> list[Commit]:
        """A table's commits, oldest first; each must carry metadata and its own number."""
        found = []
        for file in sorted((self.storage / table / "_delta_log").glob("*.json")):
            actions = [json.loads(line) for line in file.read_text().splitlines()]
            (info,) = (each["commitInfo"] for each in actions if "commitInfo" in each)
            metadata = json.loads(info["userMetadata"])
            numbers = {
                each["txn"]["appId"]: each["txn"]["version"] for each in actions if "txn" in each
            }
            assert metadata["freshline"] == 1
            assert metadata["table"] == table
            assert numbers == {f"freshline.{table}": metadata["update"]}
            found.append(Commit(int(file.stem), metadata, numbers))
        updates = [
            commit.metadata["update"]
            for commit in found
            if commit.metadata.get("reason") != "fence"  # of a take-over: it makes no update
        ]
        assert updates == sorted(set(updates)), f"{table}: numbers do not grow: {updates}"
        return found

    def rows(self, table: str, version: int) -> Counter[Row]:
        """What a table holds at a version."""
        return counted(DeltaTable(self.storage / table, version=version).to_pyarrow_table())

    def _paths(self, names: Iterable[str]) -> dict[str, Path]:
        return {
            name: self.shop.root / "static" / "customers" if name == STATIC else self.storage / name
            for name in names
        }

    def expected(self, view: str, pins: Mapping[str, int], judge: str) -> Counter[Row]:
        """A view's query over versions of its parents."""
        return self._by_spark(view, pins) if judge == SPARK else self._by_duckdb(view, pins)

    def _by_spark(self, view: str, pins: Mapping[str, int]) -> Counter[Row]:
        query = VIEWS[view].replace(STATIC, "customers")
        for name, path in self._paths(pins).items():
            frame = self._spark.sql(f"SELECT * FROM delta.`{path}` VERSION AS OF {pins[name]}")
            frame.createOrReplaceTempView("customers" if name == STATIC else name)
        return counted(self._spark.sql(query).toArrow())

    def _by_duckdb(self, view: str, pins: Mapping[str, int]) -> Counter[Row]:
        with duckdb.connect() as db:
            for name, path in self._paths(pins).items():
                table = _naive(DeltaTable(path, version=pins[name]).to_pyarrow_table())
                db.register("customers" if name == STATIC else name, table)
            rows = db.execute(VIEWS[view].replace(STATIC, "customers")).fetchall()
        return Counter(tuple(row) for row in rows)


def utc_session(spark: SparkSession) -> SparkSession:
    """A session in UTC, which the one that the tests share is not."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


def _reads(view: str) -> list[str]:
    words = VIEWS[view].split()
    return [name for name in (*BASES, *VIEWS, STATIC) if name in words]


def _naive(table: pa.Table) -> pa.Table:
    """Timestamps in UTC without saying so, as DuckDB and the tests have them."""
    for index, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type):
            moments = table[column.name].cast(pa.timestamp("us"))
            table = table.set_column(index, column.name, moments)
    return table


def counted(table: pa.Table) -> Counter[Row]:
    columns = [column.to_pylist() for column in _naive(table).columns]
    return Counter(zip(*columns, strict=True))


def _same(what: str, found: Counter[Row], expected: Counter[Row]) -> None:
    too_many, missing = found - expected, expected - found
    assert not too_many, f"{what}: {too_many.total()} rows too many: {list(too_many)[:3]}"
    assert not missing, f"{what}: {missing.total()} rows are missing: {list(missing)[:3]}"
