"""A warehouse of these views: what happens in it, and a judge that shares nothing with others.

The judge runs the view's own text on Spark over the versions that the commit names, as delta-rs
reads them, and compares rows as multisets: lists in their order, maps without one.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from freshline.delta.log import last_commit
from freshline.spark.views.derived import DerivedUpdates
from freshline.sql.costs import Costs, Sizes
from tests.spark.conftest import Shop
from tests.spark.habits import tables
from tests.spark.views.proving import over_statics, session_in
from tests.support.share import WHOLE

ROOT = Path(__file__).parents[2] / "data" / "habits"
AREAS = ("product", "finance", "machines", "syntax", "everyday")
STATICS = ("customers", "cal")
ZONE = "Europe/Berlin"

File = tuple[str, int, int, float]
"""A file's table, seed, count of rows, and hours behind the start."""


@dataclass(frozen=True)
class View:
    """A view: its name, its query, and its properties."""

    name: str
    query: str
    more: Mapping[str, str]


def views(area: str) -> list[View]:
    """The views of a file of tests/data/habits."""
    found = []
    for text in (ROOT / f"{area}.sql").read_text().split("\n-- name: ")[1:]:
        head, query = text.split("\n", 1)
        name, *more = head.split(" | ")
        found.append(View(name.strip(), query.strip(), dict(each.split("=") for each in more)))
    return found


@dataclass(frozen=True)
class Step:
    """What happens before views are updated: files, statements by others, upkeep."""

    files: Sequence[File] = ()
    by_hand: Sequence[str] = ()
    restored: Sequence[str] = ()
    upkeep: Sequence[tuple[str, str]] = ()
    full: float = 0.0


HISTORY = (
    Step(
        files=[
            *(("events", 1, 40, 0), ("payments", 1, 30, 0), ("iot", 1, 40, 0)),
            ("prices", 1, 6, -2),
        ],
    ),
    # The other tables stand still; then the one that moved does.
    Step(files=[("events", 2, 12, 2), ("events", 3, 0, 2), ("iot", 2, 15, 1)]),
    Step(files=[("payments", 2, 12, 3), ("prices", 2, 3, 2), ("iot", 3, 0, 3)]),
    Step(
        files=[
            *(("events", 4, 1, -40), ("events", 1, 10, 0), ("payments", 3, 1, 700)),
            ("iot", 4, 6, 30),
        ],
    ),
    Step(
        files=[("payments", 4, 5, 4)],
        by_hand=[
            "DELETE FROM {events} WHERE event_id % 7 = 1 OR user_id IS NULL",
            "UPDATE {events} SET ts = ts + INTERVAL 1 HOUR, kind = 'buy' WHERE event_id % 5 = 2",
            "DELETE FROM {iot} WHERE dev = 2 AND temp > 0",
        ],
    ),
    Step(
        files=[("events", 5, 8, 5), ("iot", 5, 8, 5), ("payments", 5, 6, 5)],
        upkeep=[("events", "compact"), ("payments", "compact")],
    ),
    Step(
        files=[("iot", 6, 5, 6), ("prices", 3, 2, 4)],
        by_hand=[
            ("MERGE INTO {payments} t USING (SELECT DISTINCT pay_id FROM {payments} WHERE pay_id %"
            " 4 = 0) s ON t.pay_id = s.pay_id WHEN MATCHED AND t.status = 'void' THEN DELETE WHEN"
            " MATCHED THEN UPDATE SET value = t.value + 1, user_id = 'u1'"),
            "INSERT OVERWRITE {prices} SELECT * FROM {prices} WHERE sku <> 'cart'",
            "UPDATE {iot} SET at = at - INTERVAL 1 DAY, temp = NULL WHERE dev = 3",
        ],
        full=0.2,
    ),
    Step(files=[("events", 6, 6, 4), ("payments", 6, 6, 6)], restored=["iot"]),
    Step(files=[("events", 7, 9, 7), ("payments", 7, 9, 7), ("iot", 7, 9, 7), ("prices", 4, 2, 6)]),
)  # fmt: skip


@dataclass
class Found:
    """What came of it.

    Attributes:
        compared: Versions that were compared with their query.
        ways: Updates by strategy and code.
        of: The same by view.
        final: Rows of final views.
        faults: View, step, kind and what was found, of every view that went wrong.
    """

    compared: int = 0
    ways: Counter[str] = field(default_factory=Counter)
    of: dict[str, Counter[str]] = field(default_factory=dict)
    final: int = 0
    faults: list[tuple[str, int, str, str]] = field(default_factory=list)


class Warehouse:
    """Tables, views and their judge.

    Args:
        spark: Any session of the JVM.
        folder: For everything.
        chosen: The views, parents first.
        seed: Which views lag, and which merge.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, chosen: Sequence[View], seed: int = 0
    ) -> None:
        self.shop = Shop(folder, session_in(spark, ZONE))
        self.people = self.shop.session.newSession()
        self.oracle = Oracle(self.shop.session)
        self.found = Found()
        self.chance = random.Random(seed)
        self.views = {view.name: view for view in chosen}
        self.shop.delta("static/customers", tables.customers())
        self.shop.delta("static/cal", tables.calendar())
        words = {word for view in chosen for word in re.findall(r"\w+", view.query.lower())}
        self.tables = {name: ddl for name, ddl in tables.DDL.items() if name in words}
        for name, ddl in self.tables.items():
            self.shop.feed(f"{name}_feed", "parquet", ddl)
            self.shop.table(
                name, f"SELECT * FROM STREAM {name}_feed", time_column=tables.TIMES[name]
            )
        for view in chosen:
            query = over_statics(view.query, STATICS)
            self.shop.table(view.name, query, refresh="incremental", **view.more)

    def plan(self) -> None:
        """Analyses the views; those that are refused are faults, and left out."""
        found = self.shop.executor.analyse()
        self.refused = [error.render() for error in found.errors]
        kept = {*found.plans, *self.tables}
        self.shop.tables = [table for table in self.shop.tables if table.name in kept]
        self.views = {name: view for name, view in self.views.items() if name in kept}
        self.shop.plans = dict(found.plans)
        self.shop.restart()

    def run(self, history: Sequence[Step] = HISTORY, lags: float = 0.25) -> Found:
        """All steps; a view that went wrong is left out from then on, with what reads it."""
        alive = list(self.views)
        for number, step in enumerate(history):
            self.happen(step, number)
            for name in list(alive):
                parents = self.shop.project.table(name).parents
                gone = any(each in self.views and each not in alive for each in parents)
                late = 0 < number < len(history) - 1 and self.chance.random() < lags
                if gone or (not late and not self.updated(name, number, step.full)):
                    alive.remove(name)
        return self.found

    def happen(self, step: Step, number: int) -> None:
        """All of it that is about tables which a view reads."""
        at = _instant(number)
        for table, seed, count, hours in step.files:
            if table not in self.tables:
                continue
            rows = tables.rows(table, count, seed, hours)
            if not WHOLE:
                self.shop.come(table, rows, at)
                continue
            folder = Path(self.shop.feeds[f"{table}_feed"].path)
            name = f"{len(list(folder.iterdir())):04}.parquet"
            pq.write_table(rows, folder / name)
            self.shop.load(table, name, from_s=at, to_s=at)
        names = {name: f"delta.`{self.shop.path(name)}`" for name in self.tables}
        for statement in step.by_hand:
            if self.tables.keys() >= set(re.findall(r"{(\w+)}", statement)):
                self.people.sql(statement.format(**names))
        for name in self.tables.keys() & set(step.restored):
            back = self.version(name) - 2
            self.people.sql(f"RESTORE TABLE {names[name]} TO VERSION AS OF {back}")
        for name, kind in step.upkeep:
            if name not in self.tables:
                continue
            self.shop.executor.run(self.shop.request(name, upkeep=kind, definition=""))

    def version(self, name: str) -> int:
        return int(DeltaTable(self.shop.path(name)).version())

    def updated(self, name: str, step: int, full: float) -> bool:
        """Updates a view and judges its commit; whether it is right."""
        table = self.shop.project.table(name)
        parents = {each: self.version(each) for each in table.parents}
        more: dict[str, Any] = {"full": True} if self.chance.random() < full else {}
        at = _instant(step)
        more |= {"from_s": at, "to_s": at}
        try:
            result = self.shop.executor.run(self.shop.request(name, parents=parents, **more))
        except Exception as error:  # noqa: BLE001 - none is expected
            told = f"{type(error).__name__}: {error}"[:3000]
            if table.emit == "final" and "[freshness-unknown]" in told:
                return True  # others wrote the parent's newest version
            kind = "error"
            try:
                self.expected(name, parents)
            except PySparkException as refusal:
                kind, told = "both", str(refusal)[:300]
            self.found.faults.append((name, step, kind, told))
            return False
        told = f"{result.strategy} {result.code}"
        self.found.ways[told] += 1
        self.found.of.setdefault(name, Counter())[told] += 1
        if step == 0 and self.chance.random() < 0.5:
            self.dear(name, "bucket-recompute")
        wrong = self.difference(name, final=table.emit == "final")
        if wrong:
            self.found.faults.append((name, step, "wrong", f"{told}: {wrong}"))
        return not wrong

    def dear(self, name: str, strategy: str) -> None:
        """Says that a strategy was slow, so that another one is chosen where one is right."""
        updates = self.shop.executor._updates[name]
        assert isinstance(updates, DerivedUpdates)
        updates._costs = updates._costs or Costs()
        for _ in range(3):
            updates._costs.note(strategy, Sizes(1, 1), 1000.0)

    def expected(self, name: str, versions: Mapping[str, int]) -> Counter[Any]:
        statics = {each: str(self.shop.root / "static" / each) for each in STATICS}
        pins = {each: (self.shop.path(each), version) for each, version in versions.items()}
        pins |= {each: (path, 0) for each, path in statics.items()}
        return self.oracle.rows(self.views[name].query, pins)

    def difference(self, name: str, *, final: bool) -> str:
        """What is wrong with a view's newest version; "": nothing.

        A final view shows the buckets, its first column, up to one of them.
        """
        path = self.shop.path(name)
        commit = last_commit(path)
        assert commit is not None
        parents = self.shop.project.table(name).parents
        recorded = {each: int(commit.metadata["parents"][each]) for each in parents}
        found = DeltaTable(path, version=commit.version).to_pyarrow_table()
        self.found.compared += 1
        shown, expected = multiset(found), self.expected(name, recorded)
        if final:
            last = max((row[0] for row in shown if row[0] is not None), default=_NEVER)
            self.found.final += shown.total()
            expected = Counter(
                {row: n for row, n in expected.items() if row[0] is None or row[0] <= last}
            )
        return difference(shown, expected)


_NEVER = datetime(1, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def _instant(step: int) -> float:
    """How fresh tables are after a step: some rows are later, and of buckets not yet complete."""
    return datetime(2024, 10, 27, tzinfo=UTC).timestamp() + 3600 * step


class Oracle:
    """Spark on a view's text over versions, in a session of its own."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session.newSession()
        self._shown: dict[str, tuple[str, int]] = {}

    def rows(self, query: str, pins: Mapping[str, tuple[str, int]]) -> Counter[Any]:
        for name, (path, version) in pins.items():
            if self._shown.get(name) != (path, version):
                table = DeltaTable(path, version=version)
                kinds = StructType.fromJson(json.loads(table.schema().to_json()))
                rows = table.to_pyarrow_table()
                frame = self._session.createDataFrame(rows if rows.num_rows else [], kinds)
                frame.createOrReplaceTempView(name)
                self._shown[name] = (path, version)
        return multiset(self._session.sql(query).toArrow())


def multiset(table: pa.Table) -> Counter[Any]:
    """Rows and how often each is there."""
    kinds = list(table.schema.types)
    columns = [column.to_pylist() for column in table.columns]
    found = (
        tuple(_plain(value, kind) for value, kind in zip(row, kinds, strict=True))
        for row in zip(*columns, strict=True)
    )
    return Counter(found)


def _plain(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return (
            "map",
            *sorted(((k, _plain(v, kind.item_type)) for k, v in pairs), key=repr),
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ("list", *(_plain(each, kind.value_type) for each in value))
    if pa.types.is_struct(kind):
        return ("struct", *(_plain(value[each.name], each.type) for each in kind.fields))
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else ("wall", value)
    if isinstance(value, date):
        return ("day", value)
    return value


def difference(found: Counter[Any], expected: Counter[Any]) -> str:
    """The first rows that differ; doubles may in their last digits. "": none."""
    more, missing = found - expected, expected - found
    if not more and not missing:
        return ""
    if more.total() == missing.total():
        left = sorted(missing.elements(), key=_place)
        for row in sorted(more.elements(), key=_place):
            same = next((each for each in left if _close(row, each)), None)
            if same is None:
                break
            left.remove(same)
        else:
            return ""
    return (
        f"{found.total()} rows, {expected.total()} expected; {more.total()} too many:"
        f" {list(more)[:3]}; {missing.total()} missing: {list(missing)[:3]}"
    )


def _place(row: Any) -> str:
    return repr(row)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_close, one, other))
    return type(one) is type(other) and bool(one == other)
