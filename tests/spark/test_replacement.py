"""Rows of a view replaced by one write: the same table and change feed as by Delta's own way."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.spark.commits import replacement
from freshline.spark.commits import transaction as commit
from freshline.spark.commits.replacement import Replaced, replace
from freshline.spark.commits.transaction import Staged, Transaction
from freshline.spark.engine import jvm, sizing
from freshline.spark.engine.errors import SparkError, message
from freshline.spark.engine.pins import location
from tests.support.share import WHOLE, share

pytestmark = pytest.mark.spark

Row = tuple[int | None, str | None, float | None]
"""Hours since the start, a name, a number."""

START = datetime(2026, 3, 28, 20, tzinfo=UTC)
NAMES = ("hour", "name", "x")
SCHEMA = "hour TIMESTAMP, name STRING, x DOUBLE"
FIRST: tuple[Row, ...] = (
    (0, "a", 1.0), (0, "b", None), (1, "a", 2.0), (1, "a", 2.0),
    (2, None, math.nan), (None, "c", 3.0),
)  # fmt: skip
LATER: tuple[Row, ...] = ((3, "a", 4.0), (4, "a", 5.0))


def hour(count: int) -> str:
    return f"TIMESTAMP_LTZ'{START + timedelta(hours=count):%Y-%m-%d %H:%M:%S}Z'"


def of_hours(*counts: int) -> str:
    chosen = " OR ".join(f"(hour >= {hour(each)} AND hour <= {hour(each)})" for each in counts)
    return f"(hour IS NOT NULL AND ({chosen}))"


@dataclass
class Table:
    """A Delta table of two files that a test changes."""

    session: SparkSession
    path: str
    number: int = 0

    def frame(self, rows: Iterable[Row]) -> DataFrame:
        made = [
            (None if at is None else START + timedelta(hours=at), name, x) for at, name, x in rows
        ]
        return self.session.createDataFrame(made, SCHEMA).coalesce(1)

    def begin(self) -> Transaction:
        self.number += 1
        return Transaction(self.session.newSession(), location(self.path), "view", self.number)

    def fill(self, *commits: tuple[Row, ...], partitioned_by: tuple[str, ...] = ()) -> None:
        for rows in commits:
            staged = self.begin().stage(self.frame(rows), "append", partitioned_by=partitioned_by)
            staged.commit("{}")

    def stage(
        self, rows: Iterable[Row], predicate: str, apart: str | None = None, **counted: str
    ) -> Replaced:
        return replace(
            self.begin(),
            self.frame(rows),
            predicate,
            configuration={},
            input_bytes=0,
            counted=counted,
            apart=apart,
        )

    def replace(self, rows: Iterable[Row], predicate: str, apart: str | None = None) -> Replaced:
        replaced = self.stage(rows, predicate, apart)
        replaced.staged.commit("{}")
        return replaced

    def rows(self) -> Counter[str]:
        return told(self.session.read.format("delta").load(self.path).toArrow())

    def stored(self) -> Counter[str]:
        """Its rows as delta-rs reads them."""
        return told(deltalake.DeltaTable(self.path).to_pyarrow_table())

    def changes(self, version: int) -> Counter[str]:
        reader = self.session.read.format("delta").option("readChangeFeed", "true")
        reader = reader.option("startingVersion", version).option("endingVersion", version)
        return told(reader.load(self.path).toArrow())

    def told_changes(self, version: int) -> Counter[str]:
        """Its change feed as delta-rs reads it."""
        return told(pa.table(deltalake.DeltaTable(self.path).load_cdf(version, version)))

    def actions(self) -> Counter[str]:
        """Kinds of actions in the newest commit."""
        log = Path(self.path) / "_delta_log"
        newest = max(log.glob("*.json"))
        return Counter(key for line in newest.read_text().splitlines() for key in json.loads(line))

    @property
    def version(self) -> int:
        return int(deltalake.DeltaTable(self.path).version())


def told(rows: pa.Table) -> Counter[str]:
    """Rows by their text, which tells -0.0 from 0.0 and NaN from NULL."""
    names = [name for name in rows.column_names if not name.startswith("_commit_")]
    columns = [
        column.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(column.type) else column
        for column in map(rows.column, names)
    ]
    return Counter(map(repr, zip(*(column.to_pylist() for column in columns), strict=True)))


@pytest.fixture(scope="module")
def filled(spark, tmp_path_factory) -> Table:
    """What every test begins with."""
    made = Table(spark, str(tmp_path_factory.mktemp("filled") / "table"))
    made.fill(FIRST, LATER)
    return made


@pytest.fixture
def asked(monkeypatch) -> None:
    """Delta is asked which files hold such rows, however small the table."""
    monkeypatch.setattr(commit, "_TAKEN_WHOLE_BYTES", -1)


@pytest.fixture(params=share(["small", "asked"], part=2, first=1))
def table(filled, tmp_path, request) -> Table:
    if request.param == "asked":
        request.getfixturevalue("asked")
    return copied(filled, tmp_path / "ours")


def copied(table: Table, path: Path) -> Table:
    shutil.copytree(table.path, path)
    return Table(table.session, str(path), table.number)


def net(changes: Counter[str]) -> Counter[str]:
    """Changes without the pairs that undo each other."""
    gone = Counter(
        {row.replace("'delete'", "'insert'"): n for row, n in changes.items() if "'delete'" in row}
    )
    come = Counter({row: n for row, n in changes.items() if "'insert'" in row})
    taken = gone - come
    return (come - gone) + Counter(
        {row.replace("'insert'", "'delete'"): n for row, n in taken.items()}
    )


CASES: dict[str, tuple[tuple[Row, ...], str]] = {
    "one bucket of a file": (((0, "a", 7.0), (0, "b", None)), of_hours(0)),
    "buckets of both files": (((1, "a", 2.0), (3, "z", None)), of_hours(1, 3)),
    "the bucket without a time": (((None, "c", 4.0), (None, None, None)), "hour IS NULL"),
    "null and others": (((None, "c", 3.0), (2, "q", 1.0)), f"({of_hours(2)} OR hour IS NULL)"),
    "fewer of equal rows": (((1, "a", 2.0),), of_hours(1)),
    "more of equal rows": (((1, "a", 2.0),) * 3, of_hours(1)),
    "no row of the table": (((9, "new", 1.0),), of_hours(9)),
    "a condition on another column": (((7, "a", 0.5),), "(name IS NOT NULL AND name IN ('a'))"),
    "all rows": (((5, "a", 1.0), (None, "b", 2.0)), "true"),
    "an empty result": ((), of_hours(0, 2)),
    "an empty table": ((), "true"),
    "a value that only its sign changes": (((0, "a", -0.0), (0, "b", None)), of_hours(0)),
}


SMALL = share(list(CASES), part=2)
WAYS_OF_CASES = share(
    [
        (case, way)
        for case in CASES
        for way in ("small", "asked")
        if WHOLE or (case in SMALL) == (way == "small")
    ],
    part=2,
)
"""Half of the cases, by one of the two ways; all by both in the proof."""
READ_BY_SPARK = share(list(CASES), part=5)
"""Cases that Spark reads too, of both ways; all in the proof."""


@pytest.mark.parametrize(("case", "table"), WAYS_OF_CASES, indirect=["table"])
def test_a_part_is_replaced_as_delta_would(case, table, tmp_path):
    rows, predicate = CASES[case]
    twin = copied(table, tmp_path / "twin")
    twin.begin().stage(twin.frame(rows), "overwrite", options={"replaceWhere": predicate}).commit(
        "{}"
    )
    replaced = table.replace(rows, predicate)
    assert replaced.staged.rows == len(rows)
    assert table.stored() == twin.stored()
    told = net(twin.told_changes(2))
    assert replaced.changes == told.total()
    if told:
        assert table.told_changes(2) == told
    if WHOLE or case in READ_BY_SPARK:
        assert table.rows() == twin.stored()
        assert table.changes(2) == told
    assert "deletionVector" not in "".join(
        each.read_text() for each in (Path(table.path) / "_delta_log").glob("*.json")
    )


def test_delta_rs_reads_the_same_change_feed(table):
    table.replace([(0, "a", 7.0), (0, "b", None)], of_hours(0))
    found = deltalake.DeltaTable(table.path).load_cdf(2, 2).read_all()
    rows = zip(*(found.column(name).to_pylist() for name in (*NAMES, "_change_type")), strict=True)
    assert sorted(rows) == [(START, "a", 1.0, "delete"), (START, "a", 7.0, "insert")]


@pytest.mark.parametrize("table", ["asked"], indirect=True)
def test_files_that_hold_no_row_of_the_part_stay(table):
    table.replace([(4, "a", 6.0)], of_hours(4))
    assert table.actions() == {"commitInfo": 1, "txn": 1, "add": 1, "cdc": 1, "remove": 1}
    table.replace([(9, "a", 6.0)], of_hours(9))
    assert table.actions() == {"commitInfo": 1, "txn": 1, "add": 1}


def test_a_small_table_is_written_anew(filled, tmp_path):
    table = copied(filled, tmp_path / "ours")
    table.replace([(4, "a", 6.0)], of_hours(4))
    assert table.actions() == {"commitInfo": 1, "txn": 1, "add": 1, "cdc": 1, "remove": 2}


@pytest.mark.parametrize("table", ["asked"], indirect=True)
def test_a_large_file_is_cut_so_that_its_older_rows_are_not_written_again(
    table, tmp_path, monkeypatch
):
    table.fill(tuple((at, "old", 1.0) for at in range(4)))
    twin = copied(table, tmp_path / "twin")
    monkeypatch.setattr(replacement, "_CUT_FROM_BYTES", 0)
    for number, made in enumerate(
        (
            {"remove": 3, "add": 2},  # one of what came before hour 2, one of the rest
            {"remove": 1, "add": 1},  # of the rest nothing is older
            {"remove": 2, "add": 2},  # late rows reach both
        )
    ):
        at = (2, 2, 1)[number]
        rows = [(at, "new", float(number)), (at + 1, "new", None)]
        replaced = table.replace(rows, of_hours(at, at + 1), apart=f"hour < {hour(at)}")
        whole = twin.replace(rows, of_hours(at, at + 1))
        assert (replaced.staged.cuts, whole.staged.cuts) == (True, False)
        actions = table.actions()
        assert {kind: actions[kind] for kind in made} == made
        assert replaced.staged.rows == 2
        assert table.stored() == twin.stored()
        assert table.told_changes(table.version) == twin.told_changes(twin.version)
    assert table.rows() == twin.stored()
    assert table.changes(table.version) == twin.told_changes(twin.version)


@pytest.mark.parametrize(
    ("rows", "compiled"), [pytest.param(100, "false", marks=pytest.mark.proof), (2000, "true")]
)
def test_a_file_of_few_bytes_is_rewritten_compiled_where_it_has_many_rows(
    rows, compiled, table, monkeypatch
):
    monkeypatch.setattr(sizing, "COMPILED_FROM_BYTES", 40_000)
    own = Table(table.session.newSession(), table.path, table.number)
    own.fill(((1, "a", 1.0),) * rows)
    own.session.conf.set("spark.sql.codegen.wholeStage", "false")
    assert not own.replace([(1, "b", 2.0)], of_hours(1), apart=f"hour < {hour(1)}").staged.cuts
    assert own.session.conf.get("spark.sql.codegen.wholeStage") == compiled


def test_where_nothing_differs_no_file_changes(table):
    before = table.stored()
    replaced = table.replace([row for row in FIRST if row[0] in (0, 2)], of_hours(0, 2))
    assert (replaced.staged.rows, replaced.changes) == (3, 0)
    assert table.actions() == {"commitInfo": 1, "txn": 1}
    assert table.stored() == before


def test_new_rows_are_counted_by_condition(table):
    rows: list[Row] = [(0, "late", 1.0), (1, "late", 2.0), (1, "late", 3.0)]
    for hours in ((0, 1), (10, 11)):
        moved = [(hours[row[0] or 0], *row[1:]) for row in rows]
        replaced = table.stage(moved, of_hours(*hours), last=of_hours(hours[1]), none="x > 5")
        assert replaced.counts == {"last": 2, "none": 0}
        assert replaced.staged.rows == 3


@pytest.mark.parametrize("is_told", [True, False])
def test_the_times_of_the_rows_that_differ_are_told(table, monkeypatch, is_told):
    if not is_told:  # Spark does not say what it observed in time
        monkeypatch.setattr(jvm, "observation", lambda *_: None)
    kept = [row for row in (*FIRST, *LATER) if row[0] in (1, 3, 4)]
    rows = [*kept, (0, "a", 9.0), (0, "b", None), (9, "a", 1.0), (None, "c", 4.0)]
    replaced = replace(
        table.begin(),
        table.frame(rows),
        "true",
        configuration={},
        input_bytes=0,
        timed="HOUR",
    )
    # Hour 2 is gone, hours 1, 3 and 4 are as they were.
    differ = [START + timedelta(hours=at) for at in (0, 2, 9)]
    values = tuple(int(each.timestamp()) * 1_000_000 for each in differ)
    assert replaced.times_us == (values, True)
    assert replaced.changes == 6


def test_columns_that_cannot_be_compared_are_replaced_whole(spark, tmp_path):
    table = Table(spark, str(tmp_path / "nested"))
    columns = ("hour", "name", F.array("x").alias("x"))
    table.begin().stage(table.frame(FIRST).select(*columns), "append").commit("{}")
    replaced = replace(
        table.begin(),
        table.frame([(0, "a", 1.0), (0, "b", 2.0)]).select(*columns),
        of_hours(0),
        configuration={},
        input_bytes=0,
    )
    replaced.staged.commit("{}")
    assert (replaced.staged.rows, replaced.changes) == (2, 4)
    assert table.changes(1).total() == 4
    assert table.stored().total() == len(FIRST)


def test_a_partitioned_table_is_replaced_by_whole_files(spark, tmp_path):
    table = Table(spark, str(tmp_path / "partitioned"))
    table.fill(FIRST, LATER, partitioned_by=("hour",))
    replaced = table.stage([(1, "b", 1.0)], of_hours(1), late="name = 'b'")
    replaced.staged.commit("{}")
    assert (replaced.staged.rows, replaced.counts, replaced.changes) == (1, {"late": 1}, None)
    assert table.changes(2).total() == 3
    assert table.actions()["cdc"] == 0
    # By another column each partition's file is gone through.
    assert table.replace([(1, "a", 1.0)], "name = 'a'").staged.rows == 1
    assert table.stored().total() == 5


def appended(table: Table) -> Staged:
    return table.begin().stage(table.frame([(0, "late", 1.0)]), "append")


def emptied(table: Table) -> Staged:
    return table.stage((), of_hours(1)).staged


@pytest.mark.parametrize("other", [emptied, appended])
def test_another_writer_in_between_is_noticed(table, other):
    replaced = table.stage([(0, "a", 7.0)], of_hours(0))
    rewriting = other is emptied
    if rewriting:
        other(table).commit("{}")
    else:
        # An append that read nothing may come before or after, but Delta must not lose it.
        deltalake.write_deltalake(
            table.path,
            deltalake.DeltaTable(table.path).to_pyarrow_table().slice(0, 1),
            mode="append",
        )
    between = table.stored()
    with pytest.raises((*SparkError, PySparkException)) as raised:
        replaced.staged.commit("{}")
    assert "DELTA_CONCURRENT" in message(raised.value) or "oncurrent" in str(raised.value)
    assert table.stored() == between


def test_what_is_staged_and_never_committed_leaves_the_table_as_it_was(table):
    before, version = table.stored(), table.version
    table.stage([(0, "a", 7.0)], of_hours(0))
    assert (table.stored(), table.version) == (before, version)
    table.replace([(0, "a", 8.0)], of_hours(0))
    assert table.stored().total() == before.total() - 1
    assert table.told_changes(version + 1).total() == 3
