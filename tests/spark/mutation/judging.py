"""Who finds a fault: the second reading of the plans that it changes, or trials of these views."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from freshline.spark.engine.errors import SparkError
from freshline.spark.trials.runner import try_view
from freshline.spark.views import plans
from freshline.spark.views.asked import Remembered
from freshline.spark.views.verify import typer
from freshline.sql.plan import view_plan
from freshline.sql.query.records import Decomposition, Reason, Source, ViewPlan
from freshline.sql.states.decompose import decompose
from freshline.sql.strategy import READINGS_DIFFER
from tests.spark.conftest import Shop
from tests.spark.mutation.applying import StaleError, applied
from tests.spark.mutation.fault import Fault
from tests.spark.mutation.faults_of_keys import KEYS, PATHS_OF_KEYS, UPDATES_OF_KEYS
from tests.spark.mutation.faults_of_strategies import STRATEGIES
from tests.spark.mutation.faults_of_ties import SECOND
from tests.spark.mutation.mends import SECOND_TOO, Mend
from tests.spark.mutation.queries import KEYED, KEYS_TRIED, MUTATED
from tests.spark.views.proving import Proving, over_statics
from tests.spark.views.selecting import wrongly_selected
from tests.support.agreement import disagreements

_ARROW = {"int": pa.int32(), "string": pa.string(), "date": pa.date32(),
          "timestamp": pa.timestamp("us", "UTC")}  # fmt: skip
ZONE = "Europe/Berlin"
"""Not UTC: what is right in UTC alone is a fault as well."""

_TRIED = 3
"""Views whose plans a fault changes that are tried."""


@dataclass(frozen=True)
class Verdict:
    """What became of a fault.

    Attributes:
        by: ``second reading``, ``Spark``, ``law``, ``analysis fails``, ``trial``, ``error``,
            ``gives up``, ``not found``, ``not reached`` or ``stale``.
        query: That found it.
        told: What was said.
    """

    by: str
    query: str = ""
    told: str = ""


class Judges:
    """Queries with their plans as they are without a fault.

    Args:
        session: Any; in :data:`ZONE`.
        folder: For static tables and for trials.
        queries: To analyse.
        tried: Those of them that are tried where a fault is in a strategy.
        sources: That they read.
    """

    def __init__(
        self,
        session: SparkSession,
        folder: Path,
        queries: Iterable[str],
        tried: Iterable[str],
        sources: Sequence[Source] = MUTATED,
    ) -> None:
        self._session = session
        self._proving = Proving(Shop(folder, session))
        statics = [source for source in sources if source.static]
        for source in sources:
            if source.static:
                kinds = [(name, _ARROW[kind]) for name, kind in source.columns.items()]
                nothing = pa.Table.from_pylist([], pa.schema(kinds))
                self._proving.shop.delta(f"static/{source.name}", nothing)
            else:
                self._proving.feed(source)
        self._names: dict[str, str] = {}
        for number, query in enumerate(dict.fromkeys(queries)):
            self._names[query] = f"q{number}"
            text = over_statics(query, [source.name for source in statics])
            self._proving.view(f"q{number}", text)
        self._parents = {source.name: _schema(source) for source in sources if not source.static}
        self._project = self._proving.shop.project
        self._tried = tuple(tried)
        self._types: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._sources: dict[str, tuple[Remembered, str, list[Source]]] = {}
        self._known: dict[str, ViewPlan] = {}
        self._first: dict[str, ViewPlan | str] = {}

    def judge(self, fault: Fault) -> Verdict:
        """Analyses with the fault, and tries what only trials can find."""
        try:
            if fault in SECOND:
                with applied(fault):
                    broken = next(disagreements(), "")
                return Verdict("law", *broken.split(": ", 1)) if broken else Verdict("not found")
            if fault in PATHS_OF_KEYS:
                with applied(fault):
                    wrong = next(wrongly_selected(self._session), "")
                return Verdict("law", wrong) if wrong else Verdict("not found")
            if fault in (*STRATEGIES, *UPDATES_OF_KEYS):
                tried = KEYS_TRIED if fault in UPDATES_OF_KEYS else self._tried
                plans = {query: self._without(query) for query in tried}
                with applied(fault):
                    return self._tries(plans)
            asked = KEYED if fault in KEYS else self._names
            for query in asked:
                if query not in self._first:
                    self._first[query] = self._first_reading(query)
            with applied(fault):
                readings = {query: self._first_reading(query) for query in asked}
            changed = [query for query in asked if readings[query] != self._first[query]]
            for query in changed:
                self._without(query)
            with applied(fault):
                return self._judged(changed)
        except StaleError as error:
            return Verdict("stale", told=str(error))

    def taken_out(self, mend: Mend) -> Verdict:
        """Whether a trial finds what a mend ended, the second reading switched off.

        :data:`SECOND_TOO` stands before what the trial said where that reading differs as well.
        """
        try:
            with ExitStack() as stack:
                for fault in mend.faults:
                    stack.enter_context(applied(fault))
                plan = self._plan(mend.query)
                if isinstance(plan, str):
                    return Verdict("analysis fails", mend.query, plan)
                doubted = READINGS_DIFFER in _codes(plan)
                with patch.object(plans, "confirmed", lambda *given: given[-1]):
                    plan = self._plan(mend.query)
                assert isinstance(plan, ViewPlan)
                found = self._tries({mend.query: plan}) if _allowed(plan) else Verdict("gives up")
        except StaleError as error:
            return Verdict("stale", told=str(error))
        also = SECOND_TOO if doubted else ""
        return replace(found, query=mend.query, told=also + found.told)

    def _without(self, query: str) -> ViewPlan:
        """The plan without a fault."""
        if query not in self._known:
            plan = self._plan(query)
            assert isinstance(plan, ViewPlan), plan
            self._known[query] = plan
        return self._known[query]

    def _judged(self, queries: Sequence[str]) -> Verdict:
        """What is said, with the fault, of the views whose first reading it changes."""
        changed: dict[str, ViewPlan] = {}
        narrower = ""
        for query in queries:
            plan, known = self._plan(query), self._known[query]
            if isinstance(plan, str):
                return Verdict("analysis fails", query, plan)
            found = _objection(query, plan, known)
            if found is not None:
                return found
            narrower = narrower or query
            if not _allowed(plan).issubset(_allowed(known)) and len(changed) < _TRIED:
                changed[query] = plan
        if changed:
            return self._tries(changed)
        return Verdict("gives up", narrower) if narrower else Verdict("not reached")

    def _tries(self, tried: Mapping[str, ViewPlan]) -> Verdict:
        """Trials of views with these plans, until one fails."""
        for query, plan in tried.items():
            table = self._project.table(self._names[query])
            parents = {name: self._parents[name] for name in table.parents}
            try:
                verdict = try_view(self._session, self._project, table, parents, plan, budget_s=12)
            except Exception as error:  # noqa: BLE001 - a fault may do anything
                place = traceback.extract_tb(error.__traceback__)[-1]
                told = f"{type(error).__name__}: {error}"[:300]
                return Verdict("error", query, f"{told} ({place.name}, line {place.lineno})")
            if verdict.outcome == "failed":
                return Verdict("trial", query, verdict.reason)
        return Verdict("not found", "; ".join(tried))

    def _sources_of(self, query: str) -> tuple[Remembered, str, list[Source]]:
        """A session in which the query's sources are views, its text there, and the sources."""
        table = self._project.table(self._names[query])
        own = Remembered(self._session.newSession())
        parents = {name: self._parents[name] for name in table.parents}
        return own, *plans._sources(own, self._project, table, parents)

    def _first_reading(self, query: str) -> ViewPlan | str:
        """The analysis of the text alone; what Spark says of types is known from before."""
        if query not in self._sources:
            self._sources[query] = self._sources_of(query)
        session, text, sources = self._sources[query]

        def types(asked: str) -> list[tuple[str, str]]:
            if (query, asked) not in self._types:
                self._types[query, asked] = typer(session)(asked)
            return self._types[query, asked]

        def cut(text: str, sources: Sequence[Source]) -> Decomposition | Reason:
            try:
                return decompose(text, sources, types)
            except SparkError as error:
                return Reason("SPARK", str(error)[:200])

        try:
            return view_plan(text, sources, decompose=cut, session_zone=ZONE)
        except Exception as error:  # noqa: BLE001 - loud, so found
            return f"{type(error).__name__}: {error}"[:300]

    def _plan(self, query: str) -> ViewPlan | str:
        table = self._project.table(self._names[query])
        parents = {name: self._parents[name] for name in table.parents}
        try:
            return plans.plan_of(self._session, self._project, table, parents)
        except Exception as error:  # noqa: BLE001 - loud, so found
            return f"{type(error).__name__}: {error}"[:300]


def _schema(source: Source) -> StructType:
    found = StructType.fromDDL(", ".join(f"`{n}` {kind}" for n, kind in source.columns.items()))
    assert isinstance(found, StructType)
    return found


def _objection(query: str, plan: ViewPlan, known: ViewPlan) -> Verdict | None:
    """What is said against a plan that nobody said against the one without the fault."""
    for reason in [each for each in _reasons(plan) if each not in _reasons(known)]:
        if reason.code == READINGS_DIFFER and READINGS_DIFFER not in _codes(known):
            return Verdict("second reading", query, reason.message)
        if reason.code in ("ROUND_TRIP", "SPARK"):
            return Verdict("Spark", query, reason.message)
    return None


def _reasons(plan: ViewPlan) -> list[Reason]:
    """Why the plan does not allow its other ways."""
    return [way for way in _ways(plan) if isinstance(way, Reason)]


def _allowed(plan: ViewPlan) -> set[str]:
    """The ways that the plan allows, as text."""
    return {repr(way) for way in _ways(plan) if not isinstance(way, Reason)}


def _ways(plan: ViewPlan) -> tuple[object, ...]:
    return plan.appends, plan.buckets, plan.merge, plan.keys


def _codes(plan: ViewPlan) -> set[str]:
    return {reason.code for reason in _reasons(plan)}
