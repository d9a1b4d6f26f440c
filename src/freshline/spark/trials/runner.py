"""A trial: a view's strategies over small generated tables, compared with its query each step.

The updates are those of the real view (:class:`freshline.spark.views.derived.DerivedUpdates`),
with its plan, on tables of its parents' columns. Each strategy that the plan allows has a copy of
the view of its own, updated by it wherever it is right; all copies read the same parents.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, cycle, groupby, islice
from operator import attrgetter
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.core.errors import FreshlineError
from freshline.executor.records import UpdateRequest
from freshline.executor.trials import Difference, Verdict
from freshline.project.model import Project, StaticRead, TableDef
from freshline.spark.analysis import Analysis
from freshline.spark.engine import jvm
from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.engine.own_session import own_session
from freshline.spark.engine.pins import pin_statics
from freshline.spark.engine.process import is_stopped
from freshline.spark.trials.arranged import ARRANGEMENTS
from freshline.spark.trials.compare import Values, counted, stored
from freshline.spark.trials.constants import Constants, constants_of
from freshline.spark.trials.evidence import Case, keep, kept_case
from freshline.spark.trials.inputs import REGIMES, Inputs, Regime
from freshline.spark.trials.tables import Done, Tables
from freshline.spark.views.derived import DerivedUpdates
from freshline.sql.costs import Costs, Sizes
from freshline.sql.query.records import Buckets, Decomposition, Keys, Reason, ViewPlan
from freshline.sql.strategy import HasRefreshSettings, Strategy, incremental
from freshline.sql.strategy import chosen as by_cost
from freshline.sql.text.reads import quoted, rewritten

BUDGET_S = 8.0
"""Of a track, for each view."""

_LEAST_STEPS, _MOST_STEPS = 3, 14
"""The first build and two changes are made, however long they take; up to the first deletion and
update where rows that are no more are looked for by a strategy of their own."""

_ROWS, _MORE_ROWS, _MOST_ROWS = 12, 6, 60
_LARGEST_LIMIT = 30
_SAMPLE = 10
_FOR_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_ONE_JOB = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
"""A table that is broadcast is a job of its own."""

_AGAIN = Regime(distinct=True)
"""Of a case that is done again: its result did not depend on the order of rows."""

_MERGING = ("bucket-merge", "group-merge", "group-recompute")


def try_view(
    session: SparkSession,
    project: Project,
    table: TableDef,
    parents: Mapping[str, StructType],
    plan: ViewPlan,
    *,
    budget_s: float = BUDGET_S,
    seed: int = 0,
    case: Case | None = None,
) -> Verdict:
    """Try every strategy that ``plan`` allows.

    Args:
        session: Any; the trial works in new ones of its kind.
        project: Of the view; its tables are not read.
        table: The view.
        parents: Columns of each table of the project that it reads.
        plan: What analysis made of it.
        budget_s: The trial ends after the step in which so many seconds have passed, but never
            before the first build and two or three changes were compared.
        seed: Of the inputs.
        case: Of an earlier trial that failed: the same is done again. None: inputs are generated.

    Raises:
        SparkError: Spark ended, or the trial's jobs were cancelled.
    """
    lanes = _lanes(table, plan)
    if not lanes:
        return Verdict("not-needed", reason="every update is computed in full")
    started_s = time.monotonic()
    # A count is never NULL as a query's column, but Delta's tables take NULL in every column.
    found = {**parents, **_static_schemas(session, table)}
    schemas = {name: schema.toNullable() for name, schema in found.items()}
    constants = constants_of(table.query)
    regimes = list(REGIMES) if case is None else [_AGAIN]
    reason = ""
    while regimes:
        regime = regimes.pop(0)
        folder = Path(tempfile.mkdtemp(prefix="freshline-trial-"))
        try:
            own = _session(session, table)
            trial = _Trial(own, project, table, schemas, plan, lanes, folder, case)
            deadline_s = started_s + budget_s
            verdict = trial.run(constants, regime, seed, deadline_s)
        except _UnusableError as error:
            reason = str(error)
            if error.is_final:
                break
            continue
        except _UnstableError as error:
            if not regime.distinct:
                regimes.insert(0, replace(regime, distinct=True, extremes=False))
            reason = str(error)
            continue
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return replace(verdict, seconds=time.monotonic() - started_s)
    return Verdict("undecided", seconds=time.monotonic() - started_s, reason=reason)


def _lanes(table: TableDef, plan: ViewPlan) -> tuple[str, ...]:
    """Names of the strategies to try; each gets a copy of the view."""
    if table.refresh == "full" or plan.always_full:
        return ()
    if table.emit == "final":
        return ("bucket-recompute",) if isinstance(plan.buckets, Buckets) else ()
    lanes = []
    if not isinstance(plan.appends, Reason):
        lanes.append("append")
    if isinstance(plan.buckets, Buckets):
        lanes.append("bucket-recompute")
    if isinstance(plan.merge, Decomposition):
        lanes.append("bucket-merge" if isinstance(plan.buckets, Buckets) else "group-merge")
    if isinstance(plan.keys, Keys) and not lanes:
        lanes.append("key-recompute")
    return tuple(lanes)


def _static_schemas(session: SparkSession, table: TableDef) -> dict[str, StructType]:
    """Columns of the static tables that a trial makes copies of, by a plain name."""
    own = session.newSession()
    names = pin_statics(own, table, fixed=False).names
    return {
        _static_name(number): own.sql(f"SELECT * FROM {names.get(read.name, read.name)}").schema
        for number, read in enumerate(table.statics)
        if not read.time_travel
    }


def _session(session: SparkSession, table: TableDef) -> SparkSession:
    """A view's own session that computes a few rows quickly, on a cluster as well."""
    own = own_session(session, table)
    for name, value in _FOR_FEW_ROWS.items():
        own.conf.set(name, value)
    return own


def _static_name(number: int) -> str:
    return f"_static_{number}"


class _UnusableError(Exception):
    """The query itself fails on these inputs; ``is_final``: on any."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


class _UnstableError(Exception):
    """The query's result over these inputs depends on the order of rows."""


@dataclass
class _Trial:
    """One trial with inputs of one kind.

    Attributes:
        session: Its own.
        project, table: Of the real view.
        schemas: Columns of parents and static tables.
        plan: Of the view.
        lanes: Strategies to try.
        folder: Temporary.
        case: What is done, instead of what the inputs come to.
    """

    session: SparkSession
    project: Project
    table: TableDef
    schemas: Mapping[str, StructType]
    plan: ViewPlan
    lanes: tuple[str, ...]
    folder: Path
    case: Case | None = None
    compared: Counter[str] = field(default_factory=Counter)

    def run(self, constants: Constants, regime: Regime, seed: int, deadline_s: float) -> Verdict:
        """Make steps until the deadline, and compare after each.

        Raises:
            _UnusableError: The query fails on these inputs.
            _UnstableError: Its result depends on the order of rows.
        """
        storage = self.folder / "tables"
        self._tables = Tables(self.session, storage, self.schemas)
        for name, value in _ONE_JOB.items():
            self.session.conf.set(name, value)
        try:
            arrow = self._tables.arrow
        except PySparkException as error:
            raise _UnusableError(one_line(error), is_final=True) from error
        zone = str(self.session.conf.get("spark.sql.session.timeZone"))
        try:
            inputs = Inputs(arrow, constants, zone, regime, seed)
        except NotImplementedError as error:
            raise _UnusableError(str(error), is_final=True) from error
        views = self._views(str(storage))
        steps = 0
        recomputes = isinstance(self.plan.keys, Keys) or "group-merge" in self.lanes
        # The first deletion follows on the first rows and one insertion for each parent, or two.
        least = 2 + max(2, len(self.table.parents)) if recomputes else _LEAST_STEPS
        for step, action in enumerate(self._steps(inputs, constants)):
            if self.case is None and step >= least and time.monotonic() > deadline_s:
                break
            self._tables.step = step
            try:
                action()
            except NotImplementedError as error:
                raise _UnusableError(str(error), is_final=True) from error
            self._versions = {name: self._tables.version(name) for name in self.table.parents}
            steps += 1
            expected = self._expected()
            for lane, (view, updates) in views.items():
                difference, stable = self._step(step, lane, view, updates, expected)
                if not stable and not regime.distinct:
                    raise _UnstableError("the query's result depends on the order of rows")
                if difference is not None:
                    evidence = self._kept(difference, zone, seed)
                    return Verdict(
                        "failed", self.compared, steps, reason=difference.message,
                        difference=difference, evidence=evidence,
                    )  # fmt: skip
        return Verdict("passed", self.compared, steps)

    # ---- inputs ----

    def _steps(self, inputs: Inputs, constants: Constants) -> Iterator[Callable[[], None]]:
        """What happens to the tables, step by step."""
        if self.case is not None:
            return self._again(self.case)
        begun = partial(self._begin, inputs, constants)
        return chain([begun], islice(self._actions(inputs), _MOST_STEPS))

    def _again(self, case: Case) -> Iterator[Callable[[], None]]:
        """The steps of an earlier trial."""
        names = {case.statics[name]: copy for name, copy in self._copies().items()}
        for _, together in groupby(case.done, key=attrgetter("step")):
            done = [replace(each, table=names.get(each.table, each.table)) for each in together]

            def act(done: list[Done] = done) -> None:
                for each in done:
                    self._tables.again(each)

            yield act

    def _begin(self, inputs: Inputs, constants: Constants) -> None:
        limits = [int(each) for each in constants.numbers if each <= _LARGEST_LIMIT]
        count = min(_MOST_ROWS, max([_ROWS, *(2 * limit + 2 for limit in limits)]))
        for name in self.schemas:
            self._tables.insert(name, inputs.rows(name, count))

    def _actions(self, inputs: Inputs) -> Iterator[Callable[[], None]]:
        """What happens to the parents: one alone first, then rows go or move, then all."""
        parents = self.table.parents

        def insert(*names: str, rows: int = _MORE_ROWS) -> Callable[[], None]:
            def act() -> None:
                for name in names:
                    self._tables.insert(name, inputs.rows(name, rows))

            return act

        def exchange(name: str, part: int) -> Callable[[], None]:
            def act() -> None:
                self._tables.delete(name, part)
                self._tables.insert(name, inputs.rows(name, _MORE_ROWS // 2))

            return act

        # Where states merge the first change builds them, and only the second one is merged.
        for name in parents if len(parents) > 1 else parents * 2:
            yield insert(name)
        for part, name in enumerate(cycle(parents)):
            yield partial(self._tables.take_away, name, part)
            yield insert(*parents)
            # Of one row each the log tells the times: nothing is read for them.
            yield insert(*parents, rows=1)
            yield exchange(name, part + 1)

    def _copies(self) -> dict[str, str]:
        """The trial's own copy of each static table, by the name that the query uses."""
        return {
            read.name: _static_name(number)
            for number, read in enumerate(self.table.statics)
            if not read.time_travel
        }

    def _kept(self, difference: Difference, zone: str, seed: int) -> str:
        """The folder of the case; "": it could not be written, and the verdict is the same."""
        statics = self._copies()
        try:
            return keep(self.project, self.table, self._tables, difference, zone, seed, statics)
        except Exception:  # noqa: BLE001 - whatever it was, the view has failed
            return ""

    # ---- views ----

    def _views(self, storage: str) -> dict[str, tuple[TableDef, DerivedUpdates]]:
        """A copy of the view for each strategy, with the updates that prefer it."""
        place = self.table.place
        bases = tuple(
            TableDef(name, "base", "", place, place, feed=f"{name}_feed",
                     time_column=self.project.table(name).time_column)
            for name in self.table.parents
        )  # fmt: skip
        statics = tuple(
            read
            if read.time_travel
            else StaticRead(read.name, "delta", self._tables.path(_static_name(number)), read.spans)
            for number, read in enumerate(self.table.statics)
        )
        copies = {
            lane: replace(
                self.table,
                name=f"{self.table.name}__{lane.replace('-', '_')}",
                statics=statics,
                emit="early",
                refresh="incremental",
            )
            for lane in self.lanes
        }
        trial = replace(
            self.project,
            root=self.folder,
            storage=storage,
            tables=(*bases, *copies.values()),
            feeds={},
            reports=(),
        )
        # The judge reads the same rows by no Delta table: a job or two less for each.
        names = dict(pin_statics(self.session, self.table, fixed=False).names)
        names |= {name: quoted(copy) for name, copy in self._copies().items()}
        self._query = rewritten(self.table.query, names) if names else self.table.query
        return {
            lane: (
                view,
                DerivedUpdates(trial, view, self.plan, choose=_preferring(lane), is_trial=True),
            )
            for lane, view in copies.items()
        }

    def _step(
        self,
        step: int,
        lane: str,
        view: TableDef,
        updates: DerivedUpdates,
        expected: Counter[Values],
    ) -> tuple[Difference | None, bool]:
        """One update of one copy: how it differs, and whether the query's result is one."""
        request = UpdateRequest(
            step + 1, view.name, float(step), float(step + 1), parents=self._versions,
            definition="trial",
        )  # fmt: skip
        session = _session(self.session, self.table)
        try:
            result = updates.run(session, request)
        except FreshlineError as error:
            if is_cancelled(session, error):
                raise
            if error.code in ("empty-partition", "lost-partition"):
                # These rows can be in no such table.
                raise _UnusableError(one_line(error)) from error
            return Difference(lane, "", step, error=one_line(error)), True
        finally:
            jvm.java_session(session).sessionState().catalog().clearTempTables()
        actual = stored(self._tables.path(view.name), result.version)
        self.compared[result.strategy] += 1
        if actual == expected:
            return None, True
        others = [self._expected(arranged) for arranged in ARRANGEMENTS]
        if any(other != expected for other in others):
            same_count = {each.total() for each in (expected, *others)} == {expected.total()}
            if actual.total() == expected.total() or not same_count:
                return None, False
        return _difference(step, result.strategy, result.code, expected, actual), True

    def _expected(
        self, arranged: Callable[[DataFrame], DataFrame] = lambda frame: frame
    ) -> Counter[Values]:
        """The query's own result over the parents as they are now.

        Raises:
            _UnusableError: The query fails on them.
        """
        try:
            for name in self.schemas:
                frame = self._tables.frame(name)
                arranged(frame).createOrReplaceTempView(quoted(name))
            return counted(self.session.sql(self._query))
        except SparkError as error:
            if is_cancelled(self.session, error):
                raise
            raise _UnusableError(one_line(error)) from error


def _preferring(lane: str) -> Callable[..., Strategy]:
    """A choice of strategy that takes ``lane`` wherever it is right."""
    wanted = _MERGING if lane in _MERGING else (lane,)

    def choose(
        table: HasRefreshSettings,
        plan: ViewPlan,
        costs: Costs,
        *,
        rewrote: bool,
        sizes: Sizes,
        holds_state: bool,
    ) -> Strategy:
        ways = incremental(plan, rewrote=rewrote, final=table.emit == "final")
        preferred = [way for way in ways if way.name in wanted]
        if preferred:
            return preferred[0]
        return by_cost(table, plan, costs, rewrote=rewrote, sizes=sizes, holds_state=holds_state)

    return choose


def _difference(
    step: int, strategy: str, code: str, expected: Counter[Values], actual: Counter[Values]
) -> Difference:
    missing, extra = expected - actual, actual - expected
    return Difference(
        strategy,
        code,
        step,
        tuple(islice(missing.elements(), _SAMPLE)),
        tuple(islice(extra.elements(), _SAMPLE)),
    )


def is_cancelled(session: SparkSession, error: BaseException) -> bool:
    """Whether Spark, or its jobs, were ended from outside, which says nothing of the view."""
    text = str(error).lower()
    return "cancelled" in text or "canceled" in text or is_stopped(session)


def try_views(
    session: SparkSession, project: Project, analysis: Analysis, *, budget_s: float = BUDGET_S
) -> dict[str, Verdict]:
    """Try every view of a project that analysis accepted.

    Args:
        session: Any; the trials work in new ones of its kind.
        project: Of the views.
        analysis: Of the project.
        budget_s: For each view, see :func:`try_view`.
    """
    return {
        table.name: try_view(
            session,
            project,
            table,
            {name: analysis.schemas[name] for name in table.parents},
            analysis.plans[table.name],
            budget_s=budget_s,
            case=kept_case(project, table),
        )
        for table in project.tables
        if table.name in analysis.plans and table.name in analysis.schemas
    }
