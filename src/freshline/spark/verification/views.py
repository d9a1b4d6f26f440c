"""One version of a view, verified: its query over the versions that its commit names."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from freshline.delta.histories import put_back
from freshline.delta.log import commit_at, size_bytes
from freshline.executor.verified import VersionCheck
from freshline.spark.engine.columns import kind_of
from freshline.spark.engine.pins import asked_of, at_version, id_at
from freshline.spark.engine.result_settings import set_as_then, unsaid, zone_of
from freshline.spark.pipelines.programs import register_programs
from freshline.spark.verification.check import Check, SkippedError, ordered
from freshline.spark.views.emission import Emission
from freshline.spark.views.plans import plan_of
from freshline.spark.views.timesets import within
from freshline.sql.query.records import Buckets
from freshline.sql.text.reads import quoted


class ViewCheck(Check):
    """A version of a view under way."""

    def done(self) -> VersionCheck:
        """Verify it."""
        last = commit_at(self.path, self.version)
        self.stand_on(last if last is not None else self.commits_until()[-1])
        self.refuse_chance()
        return self._compared_with_query()

    def _compared_with_query(self) -> VersionCheck:
        facts, table = self.facts, self.table
        self.refuse_definition(facts, "it was made")
        pins: Mapping[str, int] = facts.get("parents", {})
        missing = [name for name in table.parents if name not in pins]
        if missing:
            raise SkippedError(f"its commit names no version of {', '.join(missing)}")
        for read in table.statics:
            if read.name not in pins and not read.time_travel:
                raise SkippedError(f"it reads {read.name}, which has no versions")
        self._refuse_replaced(pins)
        if (name := unsaid(self.project, facts)) is not None:
            raise SkippedError(
                f"an earlier version of freshline made it, maybe with another {name}"
            )
        if not set_as_then(self.session, self.project, table, facts):
            raise SkippedError("it was made with other values of its query's variables")
        self.query = self.pinned(pins)
        asked = asked_of(table)
        frames = {
            name: at_version(self.session, self.project.table_path(name), int(pins[name]), asked)
            for name in table.parents
        }

        def expected(seed: int | None = None) -> DataFrame:
            for name, frame in frames.items():
                ordered(frame, seed).createOrReplaceTempView(quoted(name))
            register_programs(self.session, self.project, table, self.names)
            return self._shown(self.session.sql(self.query), frames)

        sizes = [size_bytes(self.project.table_path(name), int(pins[name])) for name in frames]
        known_bytes = None if None in sizes or table.statics else sum(map(int, filter(None, sizes)))
        actual = at_version(self.session, self.path, self.version)
        return self.compared(actual, expected, known_bytes)

    def _refuse_replaced(self, pins: Mapping[str, int]) -> None:
        """Versions of a table say nothing of another one that has its name now."""
        ids: Mapping[str, str] = self.facts.get("ids", {})
        found = {
            name: id_at(self.session, self.project.table_path(name), int(pins[name]))
            for name in self.table.parents
            if name in ids
        }
        others = put_back(self.project, self.facts)
        for name, now in found.items():
            if ids[name] != now:
                raise SkippedError(f"{name} was dropped and created again since")
        for name in others:
            raise SkippedError(f"{name} was put back from a copy since")
        self.refuse_replaced_statics(self.facts)

    def _shown(self, output: DataFrame, frames: Mapping[str, DataFrame]) -> DataFrame:
        """With final emission: the rows of buckets that were complete."""
        until_us = self.facts.get("emitted_us")
        if until_us is None:
            return output
        column = self.facts.get("emitted_by") or self._bucket_column(frames)
        kind = kind_of(output.schema, column)
        shown = Emission(int(until_us)).buckets
        return output.filter(within(column, kind, shown, zone_of(self.session)))

    def _bucket_column(self, frames: Mapping[str, DataFrame]) -> str:
        """Of a commit of an older version of ours, which does not say it."""
        schemas = {name: frame.schema for name, frame in frames.items()}
        plan = plan_of(self.session, self.project, self.table, schemas)
        if not isinstance(plan.buckets, Buckets):
            raise SkippedError("it showed complete buckets, and its query has none any more")
        return plan.buckets.column
