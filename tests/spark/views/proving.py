"""A shop whose views are proved: fed step by step, every commit judged by both engines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from freshline.delta.log import last_commit
from freshline.executor.records import UpdateResult
from freshline.spark.engine import jvm
from freshline.spark.views.derived import DerivedUpdates
from freshline.sql.costs import Costs, Sizes
from freshline.sql.explain import ways
from freshline.sql.query.records import Decomposition, Source, ViewPlan
from freshline.sql.text.reads import rewritten
from tests.spark.conftest import Shop
from tests.spark.views.judges import SparkJudge, assert_close, assert_same, duckdb_rows, stored
from tests.support.share import WHOLE

DEAR_S = 1000.0
"""Seconds that a strategy is said to have taken, so that it is not chosen."""


def session_in(
    spark: SparkSession, zone: str, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session on the same Spark that was started with another time zone, and other settings.

    As if it were a project's own: the sessions that its updates open inherit them, which
    they would not from ``conf.set``.
    """
    classes = jvm.named(spark, "org.apache.spark.sql.classic.SparkSession")
    classes.clearActiveSession()
    classes.clearDefaultSession()
    try:
        builder = classes.builder().config("spark.sql.session.timeZone", zone)
        for name, value in (settings or {}).items():
            builder = builder.config(name, value)
        session = SparkSession(spark.sparkContext, builder.getOrCreate())
    finally:
        classes.setDefaultSession(jvm.java_session(spark))
        jvm.activate(spark)
    assert session.newSession().conf.get("spark.sql.session.timeZone") == zone
    return session


@dataclass
class Proving:
    """Feeds, views over them, and what every update of a view must come to.

    Attributes:
        shop: Where they are.
        duckdb: Query for DuckDB by view; a view that is not there is judged by Spark alone.
        duckdb_zone: Time zone of DuckDB's session; None: its instants are wall clocks of UTC.
        told: Strategies of each view's updates so far, with their codes.
    """

    shop: Shop
    duckdb: dict[str, str] = field(default_factory=dict)
    duckdb_zone: str | None = None
    told: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    _judge: SparkJudge | None = None

    # ---- what there is ----

    def feed(self, source: Source) -> None:
        """A Parquet feed, and the base table of all its rows."""
        ddl = ", ".join(f"`{name}` {kind}" for name, kind in source.columns.items())
        self.shop.feed(f"{source.name}_feed", "parquet", ddl)
        self.shop.table(
            source.name,
            f"SELECT * FROM STREAM {source.name}_feed",
            time_column=source.time_column,
        )

    def view(self, name: str, query: str, *, duckdb: str | None = None, **more: Any) -> None:
        """A view; ``duckdb`` is the same query in DuckDB's words."""
        self.shop.table(name, query, **{"refresh": "incremental", **more})
        if duckdb is not None:
            self.duckdb[name] = duckdb

    @property
    def views(self) -> list[str]:
        return [table.name for table in self.shop.tables if table.kind == "derived"]

    def plan(self) -> Mapping[str, ViewPlan]:
        """Has Spark analyse every view; the plans are those that updates follow."""
        found = self.shop.plan()
        assert not found.errors, "\n".join(error.render() for error in found.errors)
        return found.plans

    def merges(self, view: str) -> bool:
        """Whether the view has both buckets and a state, so that cost decides."""
        return isinstance(self.shop.plans[view].merge, Decomposition)

    def tells_groups(self, view: str) -> bool:
        """Whether its groups are computed again where a parent lost rows of them."""
        plan = self.shop.plans[view]
        return ways(plan)[:2] == ("group-merge", "group-recompute")

    def first_merge(self, view: str) -> str:
        """The code of the first update that merges after one that leaves no state."""
        merge = self.shop.plans[view].merge
        assert isinstance(merge, Decomposition)
        return "state-built" if merge.own_state is None else "merges"

    def merged(self, view: str) -> str:
        """The code of an update that merges: whether its groups alone are written."""
        merge = self.shop.plans[view].merge
        assert isinstance(merge, Decomposition)
        alone = merge.group_columns and len(merge.partials) == 1
        return "merges" if alone or not any(each.keys for each in merge.partials) else "whole"

    def dear(self, view: str, strategy: str) -> None:
        """Says that a strategy was slow, so that another one is chosen where one is right."""
        updates = self.shop.executor._updates[view]
        assert isinstance(updates, DerivedUpdates)
        updates._costs = updates._costs or Costs()
        for _ in range(3):
            updates._costs.note(strategy, Sizes(1, 1), DEAR_S)

    # ---- what happens ----

    def arrive(self, table: str, rows: pa.Table) -> None:
        """One file comes into a table's feed and is loaded; in short its rows are in the table.

        A NaN is always loaded: statistics of a file that Spark did not write leave it out, and
        Spark then the file (docs/design/0261).
        """
        if not WHOLE and not _has_nan(rows):
            self.shop.come(table, rows)
            return
        feed = self.shop.feeds[f"{table}_feed"]
        folder = Path(feed.path)
        name = f"{len(list(folder.iterdir())):04}.parquet"
        pq.write_table(rows, folder / name)
        self.shop.load(table, name)

    def gone(self, table: str, predicate: str) -> None:
        """Somebody deletes rows."""
        DeltaTable(self.shop.path(table)).delete(predicate)

    def by_hand(self, *statements: str) -> None:
        """Somebody changes tables with SQL, in which ``{name}`` stands for the one of the name."""
        session = self.shop.session.newSession()
        tables = {table.name: f"delta.`{self.shop.path(table.name)}`" for table in self.shop.tables}
        for statement in statements:
            session.sql(statement.format(**tables))

    def version(self, table: str) -> int:
        return int(DeltaTable(self.shop.path(table)).version())

    def update(self, view: str, *, judged: bool = True, **more: Any) -> UpdateResult:
        """Brings a view to its parents' newest versions; the commit is judged."""
        parents = {name: self.version(name) for name in self.shop.project.table(view).parents}
        result = self.shop.executor.run(self.shop.request(view, parents=parents, **more))
        self.told.setdefault(view, []).append((result.strategy, result.code))
        if judged:
            self.judge(view)
        return result

    def step(self, views: Sequence[str] | None = None) -> dict[str, UpdateResult]:
        """Updates these views, or all, in their order."""
        return {view: self.update(view) for view in (self.views if views is None else views)}

    # ---- what must be ----

    def judge(self, view: str) -> None:
        """The newest version equals the query over the versions that its commit names.

        DuckDB judges it where it can, Spark where DuckDB cannot; the proof at full length
        has both judge what is not the query itself, computed in full.
        """
        table, path = self.shop.project.table(view), self.shop.path(view)
        commit = last_commit(path)
        assert commit is not None
        pins = {name: int(version) for name, version in commit.metadata["parents"].items()}
        told = f"{view} version {commit.version} by {commit.metadata['strategy']}"
        parents = {name: (self.shop.path(name), pins[name]) for name in table.parents}
        statics = {read.name: (str(read.path), pins[read.name]) for read in table.statics}
        assert pins.keys() == parents.keys() | statics.keys(), told
        found = stored(path, commit.version)
        if view in self.duckdb:
            plain = {name.split("`")[1].split("/")[-1]: at for name, at in statics.items()}
            expected = duckdb_rows(self.duckdb[view], {**parents, **plain}, self.duckdb_zone)
            assert_close(f"{told}, says DuckDB", found, expected)
        if view not in self.duckdb or (WHOLE and commit.metadata["strategy"] != "full"):
            if self._judge is None:
                self._judge = SparkJudge(self.shop.session)
            expected = self._judge.rows(table.query, parents, statics)
            assert_same(f"{told}, says Spark", found, expected)


def _has_nan(rows: pa.Table) -> bool:
    floats = [each.name for each in rows.schema if re.search("float|double", str(each.type))]
    return re.search(r"\bnan\b", str(rows.select(floats).to_pylist())) is not None


def over_statics(query: str, names: Sequence[str]) -> str:
    """The query with static tables named by their paths, ``static/NAME``."""
    return rewritten(query, {name: f"delta.`static/{name}`" for name in names})


@contextmanager
def found_out() -> Iterator[None]:
    """Fails unless the judges find a fault in what happens within."""
    # pytest.raises says itself that nothing was raised.
    with pytest.raises(AssertionError, match=r" rows (too many|are missing): "):
        yield
