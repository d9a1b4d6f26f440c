"""A generated project in a warehouse: things happen, and Spark judges every commit of a view."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from freshline.delta.log import last_commit
from freshline.spark.engine.errors import condition
from freshline.sql.plan import FAULT
from freshline.sql.query.records import Reason, ViewPlan
from freshline.sql.strategy import READINGS_DIFFER, incremental
from tests.spark.conftest import Shop
from tests.spark.generated.history import Event
from tests.spark.generated.project import Generated, View, static_names
from tests.spark.generated.tables import STATICS, STREAMS, TABLES, ZONE_STARTS, rows, static_rows
from tests.spark.views.judges import Row, SparkJudge, stored
from tests.spark.views.proving import Proving, over_statics, session_in

LAGS = 0.7
"""How often a view is updated after a step in the middle."""
FAILED = (PySparkException, Py4JJavaError)
"""What comes of a query that Spark cannot run; not of a Spark that is gone."""
PARTITIONS = (1, 2, 5)
"""Spark adds doubles by partitions. Where none is left over from 0.0 in one and 5e-17 in another,
UNION and DISTINCT keep other numbers of rows: each of these answers is right."""
DOUBTS = (READINGS_DIFFER, "ROUND_TRIP", "SPARK")


@dataclass(frozen=True)
class Failure:
    """A view that was wrong, or could not be brought up to date though Spark runs its query.

    Attributes:
        kind: ``wrong``, ``error``, ``refused``, or ``unjudged``: the query fails, its update did
            not.
        view: Its name.
        step: After which step, from 0.
        strategy: Of the commit.
        told: What differs, or the error.
    """

    kind: str
    view: str
    step: int
    strategy: str
    told: str


@dataclass
class Outcome:
    """What running a project came to.

    Attributes:
        failures: At most one a view.
        strategies: Updates by strategy and code.
        reasons: Views by what analysis says of each way.
        both: Updates that Spark could not compute either, and what it said.
        doubts: Queries that are computed in full since somebody doubts our reading, and why.
    """

    failures: list[Failure] = field(default_factory=list)
    strategies: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    both: Counter[str] = field(default_factory=Counter)
    doubts: list[str] = field(default_factory=list)


class Warehouse:
    """A project's tables, its views and its judge.

    Args:
        spark: Any session of the JVM.
        folder: For everything.
        project: What is run.
        settings: Of Spark, beside the project's time zone.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        project: Generated,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.project = project
        self.start = ZONE_STARTS[project.zone]
        self.session = session_in(spark, project.zone, settings)
        self.proving = Proving(Shop(folder, self.session))
        self.people = self.session.newSession()
        self.judge = SparkJudge(self.session)
        self.outcome = Outcome()
        names = set().union(*(view.names for view in project.views))
        for static in STATICS:
            if static.name in names:
                self.proving.shop.delta(f"static/{static.name}", static_rows(static, self.start))
        for stream in STREAMS:
            if stream.name in names:
                shop = self.proving.shop
                shop.feed(f"{stream.name}_feed", "parquet", stream.ddl)
                query = f"SELECT * FROM STREAM {stream.name}_feed"
                shop.table(stream.name, query, time_column=stream.time)
        self.tables = {table.name for table in self.proving.shop.tables}

    def run(self) -> Outcome:
        """Everything that happens, step by step."""
        alive = self._planned()
        for step, events in enumerate(self.project.steps):
            for event in events:
                self._happen(event)
            for view in list(alive):
                missing = set(self.proving.shop.project.table(view.name).parents) - self.tables
                orphan = bool(missing - {each.name for each in alive})
                if orphan or (self._is_due(view, step) and not self._updated(view, step)):
                    alive.remove(view)
        return self.outcome

    def _is_due(self, view: View, step: int) -> bool:
        """Whether a view is updated after a step; some lag, so that an update spans versions."""
        if step in (0, len(self.project.steps) - 1) or view.merges:
            return True
        return random.Random(f"{self.project.seed} {view.name} {step}").random() < LAGS

    def _planned(self) -> list[View]:
        """The views that analysis accepts."""
        for view in self.project.views:
            self.proving.view(view.name, over_statics(view.sql, static_names()))
        found = self.proving.shop.executor.analyse()
        refused = {str(each.where).split(".sql")[0].split("/")[-1]: each for each in found.errors}
        for name, error in refused.items():
            self.outcome.failures.append(Failure("refused", name, 0, "", error.render()))
        for name, plan in found.plans.items():
            ways = (plan.appends, plan.buckets, plan.merge, plan.keys)
            faults = [each for each in ways if isinstance(each, Reason) and each.code == FAULT]
            if faults:
                told = faults[0].message
                self.outcome.failures.append(Failure("refused", name, 0, "", told))
        alive = [view for view in self.project.views if view.name in found.plans]
        kept = {view.name for view in alive} | self.tables
        shop = self.proving.shop
        shop.tables = [table for table in shop.tables if table.name in kept]
        shop.plans = dict(found.plans)
        shop.restart()
        for view in alive:
            plan = found.plans[view.name]
            self.outcome.reasons.update(reasons(plan))
            self.outcome.doubts += [f"{view.sql}: {told}" for told in doubts(plan)]
        read = {name for view in alive for name in shop.project.table(view.name).parents}
        return [view for view in alive if view.name in read or maintained(found.plans[view.name])]

    def _happen(self, event: Event) -> None:
        table = TABLES[event.table]
        if table.name not in self.tables:
            return
        path = self.proving.shop.path(table.name)
        if event.kind == "file":
            at = self.start.__class__.fromtimestamp(
                self.start.timestamp() + 3600 * event.hours, self.start.tzinfo
            )
            self.proving.arrive(table.name, rows(table, event.count, event.seed, at))
        elif event.kind == "deed":
            self.people.sql(event.deed.replace("{t}", f"delta.`{path}`"))
        else:
            back = max(0, self.proving.version(table.name) - event.back)
            self.people.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF {back}")

    def _updated(self, view: View, step: int) -> bool:
        """Whether a view was brought up to date, and rightly."""
        shop = self.proving.shop
        table = shop.project.table(view.name)
        parents = {name: self.proving.version(name) for name in table.parents}
        try:
            result = shop.executor.run(shop.request(view.name, parents=parents))
        except Exception as error:  # noqa: BLE001 - none is expected, so each is a failure
            pins = {name: (shop.path(name), version) for name, version in parents.items()}
            try:
                self._expected(view, pins)
            except FAILED as refusal:
                self.outcome.both[condition(refusal)] += 1
                return False
            told = f"{type(error).__name__}: {error}"[:1500]
            self.outcome.failures.append(Failure("error", view.name, step, "", told))
            return False
        self.outcome.strategies[f"{result.strategy} {result.code}"] += 1
        if view.merges and step == 0:
            self.proving.dear(view.name, "bucket-recompute")
        kind = "wrong"
        try:
            told = self._difference(view)
        except FAILED as refusal:  # of a query whose update went well
            kind, told = "unjudged", str(refusal)[:1500]
        if told:
            failure = Failure(kind, view.name, step, f"{result.strategy} {result.code}", told)
            self.outcome.failures.append(failure)
        return not told

    def _difference(self, view: View) -> str:
        """What is wrong with the newest version; "": nothing."""
        shop = self.proving.shop
        path = shop.path(view.name)
        commit = last_commit(path)
        assert commit is not None
        table = shop.project.table(view.name)
        recorded = {name: int(version) for name, version in commit.metadata["parents"].items()}
        pins = {name: (shop.path(name), recorded[name]) for name in table.parents}
        found = stored(path, commit.version)
        told = difference(found, self._expected(view, pins))
        if told and any(
            not difference(found, self._expected(view, pins, number)) for number in PARTITIONS
        ):
            return ""
        return told

    def _expected(
        self, view: View, pins: Mapping[str, tuple[str, int]], partitions: int | None = None
    ) -> Counter[Row]:
        """The view's own text over the versions, and over the static tables, which never change."""
        statics = {name: (str(self.proving.shop.root / "static" / name), 0)
                   for name in static_names() if name in view.names}  # fmt: skip
        return self.judge.rows(view.sql, {**pins, **statics}, partitions=partitions)


def maintained(plan: ViewPlan) -> bool:
    """Whether any update of the view can be another than the query over all rows."""
    return any(incremental(plan, rewrote=rewrote, final=False) for rewrote in (False, True))


def doubts(plan: ViewPlan) -> list[str]:
    """What is said against a plan by those who read the query otherwise."""
    ways = (plan.appends, plan.buckets, plan.merge, plan.keys)
    found = [each for each in ways if isinstance(each, Reason)]
    return sorted({each.message for each in found if each.code in DOUBTS})


def reasons(plan: ViewPlan) -> list[str]:
    """What analysis says of a view: each way with yes, or with why not."""
    ways = {
        "append": plan.appends, "buckets": plan.buckets, "merge": plan.merge, "keys": plan.keys,
    }  # fmt: skip
    return [
        f"{name}: {found.code if isinstance(found, Reason) else 'yes'}"
        for name, found in ways.items()
    ]


def difference(found: Counter[Row], expected: Counter[Row]) -> str:
    """The first rows that differ, doubles to nine digits; "": none."""
    more, missing = found - expected, expected - found
    if not more and not missing:
        return ""
    if more.total() == missing.total():
        pairs = zip(_sorted(more), _sorted(missing), strict=True)
        if all(_close(one, other) for one, other in pairs):
            return ""
    return (
        f"{found.total()} rows, {expected.total()} expected; {more.total()} too many:"
        f" {list(more)[:3]}; {missing.total()} missing: {list(missing)[:3]}"
    )


def _sorted(rows: Counter[Row]) -> Sequence[Row]:
    def place(value: Any) -> str:
        return f"{value:.5g}" if isinstance(value, float) else repr(value)

    return sorted(rows.elements(), key=lambda row: [place(value) for value in row])


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-8, abs_tol=1e-9)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_close, one, other))
    return bool(one == other)
