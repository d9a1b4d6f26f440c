"""Every query of the suites, and the tables that it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from freshline.sql.query.records import Buckets, Decomposition, Reason, Source, ViewPlan
from tests.spark.conftest import Shop
from tests.spark.views.kinds import KINDS
from tests.spark.views.lie_in_wait import ANYWHERE, CLOCKS
from tests.spark.views.lie_in_wait import SOURCES as TRAP_SOURCES
from tests.spark.views.proving import Proving, over_statics, session_in
from tests.support.tpch import tpch_names, tpch_query, tpch_sources
from tests.support.view_cases import SOURCES


@dataclass(frozen=True)
class Suite:
    """Queries by the name of their view, over these tables."""

    name: str
    sources: Sequence[Source]
    queries: Mapping[str, str]

    @property
    def columns(self) -> dict[str, Mapping[str, str]]:
        return {source.name: source.columns for source in self.sources}

    def warehouse(self, spark: SparkSession, folder: Path) -> Proving:
        """The tables without a row."""
        proving = Proving(Shop(folder, session_in(spark, "UTC")))
        for source in self.sources:
            if source.static:
                ddl = ", ".join(f"{name} {kind}" for name, kind in source.columns.items())
                frame = spark.createDataFrame([], ddl)
                frame.write.format("delta").save(str(folder / "static" / source.name))
            else:
                proving.feed(source)
        return proving

    def read(self, query: str) -> str:
        """A query as a view's: its static tables by their paths."""
        return over_statics(query, [source.name for source in self.sources if source.static])


SUITES = (
    Suite("kinds", SOURCES, {kind.name: kind.query for kind in KINDS}),
    Suite("traps", TRAP_SOURCES, {trap.name: trap.query for trap in (*ANYWHERE, *CLOCKS)}),
    Suite(
        "tpch",
        tpch_sources(batch_keys=False),
        {name: tpch_query(name).strip().rstrip(";") for name in tpch_names()},
    ),
)


def gist(plan: ViewPlan) -> dict[str, Any]:
    """What a plan decides: ways, keys and bounds, without the words that it is written in."""
    return {
        "appends": plan.appends.code if isinstance(plan.appends, Reason) else plan.appends,
        "buckets": _buckets(plan.buckets),
        "merge": _merge(plan.merge),
        "keys": plan.keys.code if isinstance(plan.keys, Reason) else asdict(plan.keys),
        "always full": plan.always_full,
    }


def _buckets(found: Buckets | Reason) -> Any:
    if isinstance(found, Reason):
        return found.code
    reads = {
        name.lower(): (each.column.lower(), each.lo_us, each.hi_us)
        for name, each in found.reads.items()
    }
    return found.column.lower(), reads


def _merge(found: Decomposition | Reason) -> Any:
    if isinstance(found, Reason):
        return found.code
    keys = sorted(len(partial.keys) for partial in found.partials)
    shown = found.group_columns
    return keys, found.linearity, None if shown is None else sorted(map(str.lower, shown))
