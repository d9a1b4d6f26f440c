"""Batches of a report on Spark: a partial for each, then the final, in one commit.

The query over a window's rows is cut into partials and a final
(:func:`freshline.sql.states.decompose.decompose`). A batch computes the partials of the rows that
came since the one before it; where streams are joined, of each stream's new rows with the others as
they were before or are now, so that rows that belong together may come in different batches.
What cannot be cut runs once, at the end. Either way the result appears in one commit, which
names the window, the batches, their cost and the deadline.

Source: Chandrasekaran and Sudarshan 2024, sections 2.2 and 6.1.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.core.errors import PlatformError
from freshline.delta.log import commit_of
from freshline.delta.metadata import encode
from freshline.delta.standing import of_others
from freshline.executor.records import UpdateRequest
from freshline.executor.report_records import BatchRequest, BatchResult
from freshline.failpoints import failpoint
from freshline.project.model import Project
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import (
    CHARS,
    cast_to,
    same_chars,
    same_columns,
    same_names,
    without_mixed_chars,
)
from freshline.spark.engine.errors import SparkError, is_gone, update_failed
from freshline.spark.engine.pins import (
    Pinned,
    at_version,
    location,
    newest_snapshot,
    pin_statics,
    static_at,
)
from freshline.spark.engine.result_settings import settings_of
from freshline.spark.engine.sizing import sized
from freshline.spark.pipelines.programs import register_programs
from freshline.spark.reports.state import (
    Batch,
    ReportState,
    forget_state,
    short_name,
    told_of,
)
from freshline.spark.reports.window_rows import (
    NOTHING,
    RewrittenError,
    WindowRows,
    streams,
    whole_or_window,
)
from freshline.spark.storable import refuse_unstorable
from freshline.spark.views.full_refresh import has_unversioned
from freshline.spark.views.plans import plan_of, static_names, static_schemas, united_chars
from freshline.sql.query.records import Decomposition, Partial, Reason
from freshline.sql.text.reads import reads_of, rewritten
from freshline.times import rfc3339

_Kinds = list[tuple[str, str, str | None]]
"""Of each column its name and type, and its length where it is a CHAR or VARCHAR."""


@dataclass(slots=True)
class _Run:
    """One batch under way."""

    session: SparkSession
    request: BatchRequest
    streams: dict[str, WindowRows]
    pinned: Pinned
    started_s: float
    state_rows: int = 0
    batch_s: float = 0.0
    read: bool = True

    def elapsed_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.started_s

    def versions(self) -> dict[str, int]:
        """What is read, by the names that the query has for it: parents and static tables."""
        return {**self.request.pins, **self.pinned.versions}

    def register(self, name: str, frame: DataFrame) -> None:
        """Make ``frame`` what a name means from now on in this session."""
        jvm.show(frame, name)


class ReportBatches:
    """Runs the batches of every report of a project.

    Args:
        project: Whose streams the reports read.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._plans: dict[str, tuple[object, Decomposition | Reason]] = {}
        self._kinds_of: dict[str, tuple[Decomposition, list[_Kinds]]] = {}

    def run(self, session: SparkSession, request: BatchRequest) -> BatchResult:
        """Carry out one batch.

        Raises:
            FreshlineError: It failed; finished batches stay, and no result was committed.
        """
        started_s = time.monotonic()
        window = request.window
        try:
            pins = dict(request.pins)
            rows = streams(session, self._project, window, pins)
            pinned = pin_statics(session, window.table)
            run = _Run(session, request, rows, pinned, started_s)
            if request.final and (done := self._repeated(run)) is not None:
                # A death came between the commit and this.
                forget_state(session, self._project, window)
                return done
            plan = self._plan(run)
            if isinstance(plan, Reason):
                return self._once(run, plan)
            return self._in_batches(run, plan)
        except RewrittenError as error:
            raise PlatformError(
                "arrivals-rewritten",
                f"rows of {error} were deleted or updated, so nobody can tell which of them"
                " arrived when",
                where=window.table.place,
                rule="a table without event time has its rows in the windows of their arrival",
                next_step="Name its event-time column with 'freshline.time'.",
            ) from error
        except SparkError as error:
            raise update_failed(self._project, window.table, error) from error

    # ---- what is known ----

    def _plan(self, run: _Run) -> Decomposition | Reason:
        table = run.request.window.table
        if table.programs:
            return Reason(
                "PYTHON", "a Python function makes its rows, so it is called once, at the end"
            )
        views = [each for each in table.parents if self._project.table(each).kind == "derived"]
        if views:
            return Reason(
                "READS_VIEW",
                f"view {views[0]} can change any of its rows, so it is read once, at the end",
            )
        if has_unversioned(table, run.pinned.versions):
            return Reason(
                "STATIC_UNVERSIONED",
                "a static table has no versions, so that each batch would read another state of"
                " it; it is read once, at the end",
            )
        schemas = {
            name: at_version(run.session, each.path, each.newest).schema
            for name, each in run.streams.items()
        }
        columns = {name: _kinds(each) for name, each in schemas.items()}
        signature = (table.query, columns, run.pinned.versions, run.pinned.ids)
        known = self._plans.get(table.name)
        if known is None or known[0] != signature:
            plan = plan_of(run.session, self._project, table, schemas).merge
            if isinstance(plan, Decomposition):
                plan = united_chars(table.query, _read(run, schemas)) or plan
            known = self._plans[table.name] = (signature, plan)
        return known[1]

    def _state(self, run: _Run, plan: Decomposition) -> ReportState:
        window = run.request.window
        cut = [[each.name, each.keys, each.query, each.combine] for each in plan.partials]
        names = [each.name for each in plan.partials]
        # Which rows are the window's, and what the query makes of them, follows from these, too.
        times = sorted((name, each.column) for name, each in run.streams.items())
        settings = sorted(settings_of(run.session, self._project, window.table).items())
        kinds = self._partial_kinds(run, plan)  # rows of another type are none of the same state
        facts = [window.definition, times, settings, cut]
        # Without the kinds: so an earlier version named it, and windows that are open go on.
        begun = ReportState(run.session, self._project, window, names, short_name(facts))
        if _has(begun, kinds):
            return begun
        return replace(begun, cut=short_name([*facts, kinds]))

    def _partial_kinds(self, run: _Run, plan: Decomposition) -> list[_Kinds]:
        """Of each partial its columns' kinds; asked of Spark once for each plan."""
        known = self._kinds_of.get(run.request.window.table.name)
        if known is None or known[0] is not plan:
            self._show_nothing(run)
            kinds = [_kinds(self._sql(run, each.query).schema) for each in plan.partials]
            known = self._kinds_of[run.request.window.table.name] = (plan, kinds)
        return known[1]

    def _show_nothing(self, run: _Run) -> None:
        """Give every stream its columns and no rows, for queries of which only these are asked."""
        for name, each in run.streams.items():
            run.register(name, each.upto(NOTHING))

    def _repeated(self, run: _Run) -> BatchResult | None:
        """The answer where the window's result is committed already."""
        window = run.request.window
        path = self._project.table_path(window.table.name)
        transaction = Transaction(run.session, location(path), window.counted_as, window.number)
        if not transaction.committed:
            return None
        commit = commit_of(path, window.number)
        if commit is None:
            raise PlatformError(
                "window-overtaken",
                f"the report {window.table.name} shows a later window than that of"
                f" {rfc3339(window.start_s)}",
                where=window.table.place,
                rule="its table holds the newest window's rows",
                next_step="Submit the query of the older window as a report of its own.",
            )
        facts = commit.metadata
        return BatchResult(
            len(facts["batches"]), 0, 0.0, 0.0, commit.version, int(facts["rows"]),
            str(facts.get("reason", "")), repeated=True, parents=dict(facts["parents"]),
        )  # fmt: skip

    # ---- in batches ----

    def _in_batches(self, run: _Run, plan: Decomposition) -> BatchResult:
        state, pinned = self._state(run, plan), run.pinned
        known = state.batches()
        try:
            batches = self._gone_on(run, plan, state, known)
        except (RewrittenError, *SparkError) as error:
            if not known or not (isinstance(error, RewrittenError) or is_gone(error)):
                raise
            # Rows that earlier batches read are others by now, or somebody removed their files.
            run.pinned = pinned
            batches = [self._begin(run, plan, state, state.batches()[-1].number + 1)]
        run.batch_s = run.elapsed_s()
        if not run.request.final:
            return BatchResult(
                batches[-1].number, run.state_rows, run.batch_s,
                parents=run.versions(), read=run.read,
            )  # fmt: skip
        failpoint("report.before_final")
        result = self._final(run, plan, state, batches, pinned.query)
        failpoint("report.after_final")
        forget_state(run.session, self._project, run.request.window)
        return result

    def _gone_on(
        self, run: _Run, plan: Decomposition, state: ReportState, known: list[Batch]
    ) -> list[Batch]:
        """The batches that make up the window, with one of what came since the last of them."""
        last = known[-1] if known else None
        if last is None:
            return [self._begin(run, plan, state, 1)]
        counted = [each for each in known if each.number >= last.base]
        if not self._goes_on(run, counted):
            return [self._begin(run, plan, state, last.number + 1)]
        run.pinned = _with_statics(run, last.statics)
        if not last.whole:  # the process died between its partials
            self._add(run, plan, state, last)
        if dict(last.pins) == dict(run.request.pins):
            run.read = False
            return counted
        new, statics = dict(run.request.pins), run.pinned.versions
        asked_s = run.request.window.asked_s
        batch = Batch(
            last.number + 1, last.base, new, last.pins, statics, last.told, asked_s=asked_s
        )
        self._add(run, plan, state, batch)
        return [*counted, replace(batch, seconds=run.elapsed_s())]

    def _goes_on(self, run: _Run, counted: list[Batch]) -> bool:
        """Whether what these batches read is there, and what is to be read, too."""
        *others, last = counted
        window = run.request.window
        return not (
            last.read_others(run.session, window.table)
            or last.read_what_is_gone(self._project, run.request.pins)
            or last.was_for_another(window, run.pinned.versions)
            or not all(each.whole for each in others)
        )

    def _begin(self, run: _Run, plan: Decomposition, state: ReportState, number: int) -> Batch:
        """All the window's rows are read; what there was of batches is left out."""
        pins, statics = dict(run.request.pins), run.pinned.versions
        told, asked_s = told_of(run.pinned), run.request.window.asked_s
        batch = Batch(number, number, pins, {}, statics, told, asked_s=asked_s)
        self._add(run, plan, state, batch)
        return replace(batch, seconds=run.elapsed_s())

    def _add(self, run: _Run, plan: Decomposition, state: ReportState, batch: Batch) -> None:
        frames = {
            partial.name: self._partial(run, plan, partial, batch) for partial in plan.partials
        }
        for name, rows in frames.items():
            run.state_rows += state.add(name, batch, rows, run.elapsed_s)

    def _partial(self, run: _Run, plan: Decomposition, partial: Partial, batch: Batch) -> DataFrame:
        """The state rows of what the batch adds."""
        old = {name: int(batch.before.get(name, NOTHING)) for name in run.streams}
        new = {name: int(batch.pins[name]) for name in run.streams}
        if plan.linearity == "joint" or not batch.before:
            for name, each in run.streams.items():
                run.register(name, each.between(old[name], new[name]))
            return self._sql(run, partial.query)
        read = {mention.parts[-1].lower() for mention in reads_of(partial.query)}
        terms = []
        for number, name in enumerate(run.streams):
            if old[name] == new[name] or name.lower() not in read:
                continue
            for other, (other_name, each) in enumerate(run.streams.items()):
                if other == number:
                    frame = each.between(old[name], new[name])
                else:
                    frame = each.upto((new if other < number else old)[other_name])
                run.register(other_name, frame)
            terms.append(self._sql(run, partial.query))
        if not terms:
            self._show_nothing(run)  # maybe nothing has named the streams in this session yet
            return self._sql(run, partial.query).limit(0)
        return reduce(DataFrame.unionAll, terms)

    def _final(
        self, run: _Run, plan: Decomposition, state: ReportState, batches: list[Batch], query: str
    ) -> BatchResult:
        """The result of these batches, with the columns of ``query``."""
        for name, each in run.streams.items():
            run.register(name, each.upto(int(run.request.pins[name])))
        schema = run.session.sql(query).schema
        combined = {}
        for partial in plan.partials:
            run.register(partial.name, state.rows(partial.name, batches[0].base))
            combined[partial.name] = self._sql(run, partial.combine)
        for name, frame in combined.items():
            run.register(name, frame)
        output = self._sql(run, plan.final)
        # The regenerated query's names can differ from the user's, its columns' order cannot.
        output = cast_to(output.toDF(*schema.fieldNames()), schema)
        parts = [
            {"number": each.number, "parents": dict(each.pins), "seconds": round(each.seconds, 3)}
            for each in batches
        ]
        version, rows, final_s = self._commit(run, output, parts, Reason("", ""))
        return BatchResult(
            len(batches), run.state_rows, run.batch_s, final_s, version, rows,
            parents=run.versions(), read=run.read,
        )  # fmt: skip

    # ---- once ----

    def _once(self, run: _Run, why: Reason) -> BatchResult:
        if not run.request.final:
            return BatchResult(0, 0, 0.0, code=why.code, reason=why.message, parents=run.versions())
        pins = dict(run.request.pins)
        frame = whole_or_window(self._project, run.streams, pins)
        for name in run.streams:
            run.register(name, frame(name))
        register_programs(run.session, self._project, run.request.window.table, run.pinned.names)
        output = run.session.sql(run.pinned.query)
        version, rows, _ = self._commit(run, output, [], why)
        seconds = run.elapsed_s()
        # An earlier version may have begun the window in batches, or it was cut before a change.
        forget_state(run.session, self._project, run.request.window)
        return BatchResult(
            1, 0, seconds, 0.0, version, rows, why.code, why.message, parents=run.versions()
        )

    # ---- the result ----

    def _commit(
        self, run: _Run, output: DataFrame, batches: list[dict[str, Any]], why: Reason
    ) -> tuple[int, int, float]:
        """The result's only commit; its version, rows and seconds."""
        window, session = run.request.window, run.session
        began_s = time.monotonic()
        table = window.table
        place = self._project.table_path(table.name)
        asked = window.asked_s is not None
        error = of_others(table, place, None, counted_as=window.counted_as, asked=asked)
        if error is not None:
            raise error
        path = location(place)
        transaction = Transaction(session, path, window.counted_as, window.number)
        output = without_mixed_chars(output)
        changed = transaction.schema is not None and not (
            same_columns(transaction.schema, output.schema)
            and same_chars(transaction.schema, output.schema)
            and same_names(transaction.partition_columns, table.partitioned_by)
        )
        if changed or not transaction.exists:
            refuse_unstorable(table, output)
        staged = transaction.stage(
            sized(session, output, self._project.configuration),
            "overwrite",
            partitioned_by=table.partitioned_by,
            options={"overwriteSchema": "true"} if changed else {},
        )
        seconds = time.monotonic() - began_s
        cost_s = sum(float(each["seconds"]) for each in batches) + seconds
        request = UpdateRequest(
            window.number, table.name, window.start_s, window.end_s,
            parents=run.request.pins, definition=window.definition,
        )  # fmt: skip
        metadata = encode(
            request,
            table=table.name,
            files=None,
            parents=run.versions(),
            strategy="report" if batches else "report-once",
            rows=staged.rows,
            more={
                "window": {"start": rfc3339(window.start_s), "end": rfc3339(window.end_s)},
                "deadline": rfc3339(window.deadline_s),
                "complete": run.request.complete,
                "batches": batches,
                "final_s": round(seconds, 3),
                "cost_s": round(cost_s, 3),
                "reason": why.code,
            },
        )
        failpoint("report.before_commit")
        version = staged.commit(metadata)
        failpoint("report.after_commit")
        return version, staged.rows, time.monotonic() - began_s

    def _sql(self, run: _Run, query: str) -> DataFrame:
        real = run.pinned.names
        table = run.request.window.table
        names = {plain: real.get(name, name) for name, plain in static_names(table).items()}
        return run.session.sql(rewritten(query, names) if names else query)


def _with_statics(run: _Run, versions: Mapping[str, int]) -> Pinned:
    """The query with static tables at the versions that the first batch read."""
    table, pinned = run.request.window.table, run.pinned
    names = dict(pinned.names)
    for read in table.statics:
        version = versions.get(read.name)
        if version is not None and version != pinned.versions.get(read.name):
            newest = newest_snapshot(run.session, read)
            names[read.name] = static_at(run.session, read, newest, version)
    query = rewritten(table.query, names) if names else table.query
    return Pinned(query, {**pinned.versions, **versions}, names=names)


def _read(run: _Run, streams: Mapping[str, StructType]) -> Iterator[StructType]:
    """The columns of all that a report reads."""
    yield from streams.values()
    yield from static_schemas(run.session, run.request.window.table, run.pinned)


def _has(state: ReportState, kinds: list[_Kinds]) -> bool:
    """Whether all partials of a state are on disk, with columns of these kinds."""
    for partial, expected in zip(state.partials, kinds, strict=True):
        there = state.columns(partial)
        if there is None or _kinds(there) != expected:
            return False
    return True


def _kinds(schema: StructType) -> _Kinds:
    """Those of the columns."""
    return [(each.name, each.dataType.simpleString(), each.metadata.get(CHARS)) for each in schema]
