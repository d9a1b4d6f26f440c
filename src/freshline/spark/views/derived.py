"""An update of a derived table: from the changes of its parents, in one atomic commit.

:mod:`freshline.sql.strategy` chooses; each incremental strategy has a module of its own, and the
full computation, the one that always works, stands here. Whatever way is taken, what is
committed equals the query over the parents' versions that the commit names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.delta.changelog import ChangesGoneError
from freshline.delta.histories import KEY, marks_of
from freshline.delta.log import CommitRecord, last_commit, last_update, row_count
from freshline.delta.metadata import encode
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.failpoints import failpoint
from freshline.project.model import Project, TableDef
from freshline.spark.commits.comments import Comments
from freshline.spark.commits.repeated import repeated_result
from freshline.spark.commits.replacement import replace as replaced_rows
from freshline.spark.commits.selection import ALL
from freshline.spark.commits.transaction import Transaction, table_properties
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import (
    kind_of,
    same_chars,
    same_columns,
    same_names,
    without_mixed_chars,
)
from freshline.spark.engine.errors import SparkError, is_gone, update_failed
from freshline.spark.engine.pins import Pinned, asked_of, location, pin_statics, register_parents
from freshline.spark.engine.result_settings import settings_of, zone_of
from freshline.spark.engine.sizing import compile_for, known_bytes, known_weight, sized, weight
from freshline.spark.pipelines.programs import register_programs
from freshline.spark.storable import refuse_unstorable
from freshline.spark.views.append import append
from freshline.spark.views.bucket import recompute
from freshline.spark.views.changes import Changes
from freshline.spark.views.emission import emission, needs_buckets
from freshline.spark.views.full_refresh import (
    TYPES_CHANGED,
    full_refresh_reason,
    ids_of,
)
from freshline.spark.views.group import recompute_groups
from freshline.spark.views.incremental import (
    Increment,
    NotIncrementalError,
    Parent,
    RefreshStrategy,
    StagedUpdate,
    prepared_by,
)
from freshline.spark.views.key import recompute_keys
from freshline.spark.views.merge import merge
from freshline.spark.views.planned import Planned
from freshline.spark.views.plans import static_names, static_schemas, united_chars
from freshline.spark.views.strict import not_incremental, replaces_rows
from freshline.spark.views.timesets import spread_us, within
from freshline.sql.costs import BUILD, Costs, Sizes
from freshline.sql.query.records import Buckets, Decomposition, ViewPlan
from freshline.sql.strategy import (
    BY_COST,
    PARENT_REWROTE,
    STATE_BUILT,
    TRIED,
    Choice,
    Strategy,
    chosen,
    full,
    incremental,
    keeps_own_state,
)

_STRATEGIES: Mapping[str, RefreshStrategy] = {
    "append": append,
    "bucket-recompute": recompute,
    "bucket-merge": merge,
    "group-merge": merge,
    "group-recompute": recompute_groups,
    "key-recompute": recompute_keys,
}
_ASKING, _ASKED_EVERY = 4, 32  # updates, of so many in full


@dataclass(frozen=True, slots=True)
class _Update:
    """One update under way."""

    session: SparkSession
    transaction: Transaction
    request: UpdateRequest
    pinned: Pinned
    ids: Mapping[str, str]
    marks: Mapping[str, str]
    started_s: float
    is_second_try: bool = False


class DerivedUpdates:
    """Updates of one derived table.

    Args:
        project: Of the table.
        table: The derived table.
        plan: How it can be maintained; None: analysed at the first update.
        is_cold: Whether Spark was started so lately that what updates take says nothing.
        choose: Takes one of the strategies that are right; by default, by cost.
        is_trial: The table is a copy of a view, of which every way is to be tried.
        confirm: Called before the first update with the versions that it reads: raises where the
            query cannot be updated.
    """

    def __init__(
        self,
        project: Project,
        table: TableDef,
        plan: ViewPlan | None = None,
        is_cold: Callable[[], bool] = lambda: False,
        choose: Choice = chosen,
        *,
        is_trial: bool = False,
        confirm: Callable[[SparkSession, Mapping[str, int]], None] | None = None,
    ) -> None:
        self._project = project
        self._table = table
        self._plan = Planned(project, table, plan)
        self._path = location(project.table_path(table.name))
        self._children: list[DerivedUpdates] = []
        self._full_streak = 0
        self._is_cold = is_cold
        self._choose = choose
        self._is_trial = is_trial
        self._costs: Costs | None = None
        self._confirm = confirm

    def add_child(self, child: DerivedUpdates) -> None:
        """Another view of the project is computed from this one."""
        self._children.append(child)

    @property
    def wants_row_changes(self) -> bool:
        """Whether it may use to know which of a parent's rows differ.

        Telling them makes a full update of the parent a quarter longer. That is of no use to a view
        that has no other way than a full update once rows differ. If it has another way but was
        computed in full several times in a row, it stops asking, and asks again later.
        """
        if self._table.refresh == "full":
            return False
        plan, final = self._plan.known, self._table.emit == "final"
        if plan is not None and not incremental(plan, rewrote=True, final=final):
            return False
        return self._full_streak % _ASKED_EVERY < _ASKING

    def run(self, session: SparkSession, request: UpdateRequest) -> UpdateResult:
        """Bring the table to the request's versions of its parents.

        Raises:
            UserError: The view must be incremental, and its query has no such way.
            FreshlineError: The update failed; nothing was committed.
        """
        started_s = time.monotonic()
        try:
            transaction = Transaction(session, self._path, self._table.name, request.number)
            if transaction.committed:
                return repeated_result(self._project, self._table, request, started_s)
            pinned = pin_statics(session, self._table)
            ids = ids_of(session, self._project, request, pinned)
            marks = marks_of(self._project, request.parents)
            update = _Update(session, transaction, request, pinned, ids, marks, started_s)
            if self._confirm is not None:
                self._confirm(session, request.parents)
                self._confirm = None
            return self._carried_out(update)
        except SparkError as error:
            raise update_failed(self._project, self._table, error) from error

    def _carried_out(self, update: _Update) -> UpdateResult:
        """The update by the best way that turns out to be right."""
        last = self._last(update)
        if self._costs is None:
            self._costs = Costs(_known_costs(last, update.request))
        code = full_refresh_reason(
            update.session,
            self._project,
            self._table,
            update.request,
            update.pinned,
            update.ids,
            update.transaction,
            last,
        )
        if code in TYPES_CHANGED:
            self._plan.forget()
        if code is not None:
            return self._in_full(update, full(code))
        assert last is not None
        try:
            return self._incremental(update, last)
        except NotIncrementalError as error:
            strategy = full(error.code, error.what)
        except ChangesGoneError:
            strategy = full("changes-gone")
        except SparkError as error:
            if not is_gone(error):
                raise
            strategy = full("changes-gone")
        # What was staged so far is an orphan; the next transaction does not know of it.
        request = update.request
        transaction = Transaction(update.session, self._path, self._table.name, request.number)
        again = replace(update, transaction=transaction, is_second_try=True)
        return self._in_full(again, strategy)

    # ---- which way ----

    def _last(self, update: _Update) -> CommitRecord | None:
        if update.transaction.schema is None:
            return None
        return last_commit(self._project.table_path(self._table.name))

    # ---- the ways ----

    def _incremental(self, update: _Update, last: CommitRecord) -> UpdateResult:
        session, request = update.session, update.request
        parents, asked = [], asked_of(self._table)
        for name in self._table.parents:
            path, version = self._project.table_path(name), request.parents[name]
            changes = Changes(session, path, int(last.metadata["parents"][name]), version)
            if changes.redefined:
                raise NotIncrementalError("parent-redefined")
            parents.append(Parent(session, name, path, changes, asked))
        plan = self._plan.over(session, request, parents)
        united = united_chars(update.pinned.query, self._schemas(update, parents))
        if united is not None and isinstance(plan.merge, Decomposition):
            plan = replace(plan, merge=united)
        changed = [parent.changes for parent in parents]
        change_rows = sum(each.rows for each in changed)
        costs = self._costs
        assert costs is not None
        costs.guess_for(own_state=keeps_own_state(plan), joins=plan.appends == "each")
        whole_bytes = known_weight((parent.path, parent.changes.new) for parent in parents)
        if whole_bytes is None:  # the logs are elsewhere
            whole_bytes = sum(jvm.input_bytes(parent.frame) for parent in parents)
        sizes = Sizes(sum(weight(each.size_bytes, each.rows) for each in changed), whole_bytes)
        rewrote = any(each.rewrote for each in changed)
        ways = incremental(plan, rewrote=rewrote, final=self._table.emit == "final")
        expected = {"expected_s": costs.told_s([*(way.name for way in ways), "full"], sizes)}
        strategy = self._choose(
            self._table,
            plan,
            costs,
            rewrote=rewrote,
            sizes=sizes,
            holds_state="state" in last.metadata,
        )
        if strategy.name == "full":
            self._full_streak += 1
            return self._in_full(update, strategy, expected)
        objection = self._objection(update, last)
        if objection is not None:
            return self._in_full(update, full(objection), expected)
        if strategy.code != TRIED:
            self._full_streak = 0
        schema = update.transaction.schema
        assert schema is not None
        failpoint("derived.before_data")
        increment = Increment(
            session,
            update.transaction,
            self._project,
            self._table,
            request,
            update.pinned.query,
            self._statics(update),
            plan,
            strategy,
            tuple(parents),
            last,
            schema,
            sizes,
            costs,
            self._is_trial,
        )
        prepared = prepared_by(_STRATEGIES[strategy.name], increment)
        prepared = replace(prepared, more={**prepared.more, **expected})
        strategy = prepared.strategy or strategy
        built = strategy.code == STATE_BUILT
        read_rows = self._input_rows(request) if built else change_rows
        return self._committed(update, prepared, strategy, sizes, read_rows=read_rows)

    def _in_full(
        self, update: _Update, strategy: Strategy, expected: Mapping[str, Any] | None = None
    ) -> UpdateResult:
        """The query over all rows; replaces all rows."""
        session, transaction, table = update.session, update.transaction, self._table
        if table.refresh == "incremental_strict":
            # Here, since every way to a full computation ends here. A view that has a better
            # way passes: its first build and the like are no fault of its query.
            rewrote = strategy.code == PARENT_REWROTE and self._is_over_rewritten(update.request)
            error = not_incremental(
                table, self._plan.at(update.session, update.request), rewrote=rewrote
            )
            if error is not None:
                raise error
        register_parents(session, self._project, table, update.request.parents)
        register_programs(session, self._project, table, update.pinned.names)
        output = without_mixed_chars(session.sql(update.pinned.query))
        there = transaction.schema
        keeps_columns = there is not None and (
            same_columns(there, output.schema)
            and same_chars(there, output.schema)
            and same_names(transaction.partition_columns, table.partitioned_by)
        )
        if not keeps_columns:
            refuse_unstorable(table, output)
        changed = there is not None and not keeps_columns
        more: dict[str, Any] = {}
        if table.emit == "final":
            output, more = self._complete(update, output)
        configuration = self._project.configuration
        read = [
            (self._project.table_path(name), pin) for name, pin in update.request.parents.items()
        ]
        whole_bytes = known_bytes(read)
        input_bytes = whole_bytes or 0
        if whole_bytes is None or table.statics:  # whose size is not in a log of ours
            input_bytes = jvm.input_bytes(output)
        sizes = Sizes(whole_bytes=input_bytes if whole_bytes is None else known_weight(read))
        compile_for(session, configuration, sizes.whole_bytes)
        comments = Comments.of(table)
        if keeps_columns:
            transaction.describe(comments)
        failpoint("derived.before_data")
        row_changes_wanted = any(child.wants_row_changes for child in self._children)
        if strategy.code in BY_COST and row_changes_wanted and not changed:
            # Views over this one are told of the rows that differ, as if only these had been made.
            replaced = replaced_rows(
                transaction,
                output,
                ALL,
                configuration=configuration,
                input_bytes=input_bytes,
            )
            staged, more = replaced.staged, {**more, **replaced.facts}
        elif keeps_columns:
            staged = transaction.overwrite(sized(session, output, configuration, input_bytes))
        else:
            staged = transaction.stage(
                sized(session, comments.in_frame(output), configuration, input_bytes),
                "overwrite",
                partitioned_by=table.partitioned_by,
                options={"overwriteSchema": "true"} if changed else {},
                properties=table_properties(self._project, table) | comments.properties,
            )
        prepared = StagedUpdate(staged, {**more, **(expected or {})})
        read_rows = self._input_rows(update.request)
        return self._committed(
            update, prepared, strategy, sizes, read_rows=read_rows, changed=changed
        )

    def _committed(
        self,
        update: _Update,
        prepared: StagedUpdate,
        strategy: Strategy,
        sizes: Sizes,
        *,
        read_rows: int,
        changed: bool = False,
    ) -> UpdateResult:
        failpoint("derived.after_data")
        parents: Mapping[str, int] = {**update.request.parents, **update.pinned.versions}
        rows = prepared.staged.rows if prepared.staged is not None else 0
        costs = self._costs
        assert costs is not None
        metadata = encode(
            update.request,
            table=self._table.name,
            files=None,
            parents=parents,
            strategy=strategy.name,
            rows=rows,
            more={
                "reason": strategy.code,
                "read": read_rows,
                "settings": settings_of(update.session, self._project, self._table),
                "ids": update.ids,
                KEY: {**update.marks, **update.pinned.marks},
                "after": update.transaction.version,
                "costs": costs.facts,
                "plan": None if strategy.name == "full" else self._plan.name,
                **prepared.more,
            },
        )
        failpoint("derived.before_commit")
        if prepared.staged is not None:
            version = prepared.staged.commit(metadata)
        else:
            version = update.transaction.advance(metadata)
        failpoint("derived.after_commit")
        seconds = time.monotonic() - update.started_s
        # Of an update without changes, or in a cold JVM, or after another way was given up, the
        # seconds say nothing of the next one.
        if prepared.staged is not None and not update.is_second_try and not self._is_cold():
            name = BUILD if strategy.code == STATE_BUILT else strategy.name
            costs.note(name, sizes, seconds, cuts=prepared.staged.cuts)
        return UpdateResult(
            version=version,
            rows=rows,
            rejected_rows=0,
            seconds=seconds,
            strategy=strategy.name,
            reason=strategy.reason,
            repeated=False,
            parents=parents,
            schema_changed=changed,
            code=strategy.code,
            read_rows=read_rows,
            corrected_rows=int(prepared.more.get("corrected", 0)),
        )

    # ---- what is known ----

    def plan_and_key(self, session: SparkSession, request: UpdateRequest) -> tuple[ViewPlan, str]:
        """The view's plan over the request's versions, and what a trial of it is known by."""
        plan = self._plan.at(session, request)
        return plan, self._plan.key(session, request)

    def _objection(self, update: _Update, last: CommitRecord) -> str | None:
        """Why the strategies that are right by analysis are not trusted; None: they are."""
        trust = update.request.trust
        if trust is not None:  # there are trials
            code = trust.objection(self._plan.key(update.session, update.request))
            if code is not None:
                return code
        return None if self._plan.goes_on_from(last.metadata) else "other-version"

    def _is_over_rewritten(self, request: UpdateRequest) -> bool:
        """Whether a parent is a view whose rows every update of it replaces."""
        return any(
            replaces_rows(last_update(self._project.table_path(name), version))
            for name, version in request.parents.items()
            if self._project.table(name).kind == "derived"
        )

    def _schemas(self, update: _Update, parents: list[Parent]) -> Iterator[StructType]:
        """Of all that the query reads."""
        yield from (parent.schema for parent in parents)
        yield from static_schemas(update.session, self._table, update.pinned)

    def _statics(self, update: _Update) -> dict[str, str]:
        """What stands for the static tables' plain names in SQL made from the query."""
        real = update.pinned.names
        return {plain: real.get(name, name) for name, plain in static_names(self._table).items()}

    def _complete(self, update: _Update, output: DataFrame) -> tuple[DataFrame, dict[str, Any]]:
        """The complete buckets of a full computation, and what the commit says of them."""
        plan = self._plan.at(update.session, update.request)
        error = needs_buckets(self._table, plan)
        if error is not None:
            raise error
        assert isinstance(plan.buckets, Buckets)
        kind = kind_of(output.schema, plan.buckets.column)
        zone = zone_of(update.session)
        versions, spread = update.request.parents, spread_us(kind, zone)
        shown = emission(self._project, self._table, versions, plan, spread)
        output = output.filter(within(plan.buckets.column, kind, shown.buckets, zone))
        return output, {**shown.facts(plan.buckets.column), "corrected": 0}

    def _input_rows(self, request: UpdateRequest) -> int:
        """Rows of the parents at their pinned versions, as far as their logs tell."""
        counts = (
            row_count(self._project.table_path(name), pin) for name, pin in request.parents.items()
        )
        return sum(count or 0 for count in counts)


def _known_costs(last: CommitRecord | None, request: UpdateRequest) -> Mapping[str, Any] | None:
    """What the last commit says that updates take; another query's costs are no guide."""
    if last is None or last.metadata.get("definition", "") != request.definition:
        return None
    known: Mapping[str, Any] | None = last.metadata.get("costs")
    return known
