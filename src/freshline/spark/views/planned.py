"""A view's plan, kept as long as it holds: analysis runs when the parents' columns change."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from freshline import __version__
from freshline.executor.explained import keep_explanation
from freshline.executor.records import UpdateRequest
from freshline.project.model import Project, TableDef
from freshline.spark.engine.pins import at_version
from freshline.spark.engine.result_settings import settings_of
from freshline.spark.views.incremental import Parent
from freshline.spark.views.plans import plan_of
from freshline.sql.explain import explanation_text
from freshline.sql.query.records import Reason, Source, ViewPlan


@dataclass(slots=True)
class _Known:
    """What analysis found of the view.

    Attributes:
        signature: The parents' columns over which it was found.
        plan: It.
        versions: Of the parents, at which they had these columns.
        key: What a trial of it is known by; "": not asked for yet.
        name: A short name for the ways that it has, and our version; "": not asked for yet.
    """

    signature: dict[str, str]
    plan: ViewPlan
    versions: dict[str, int] = field(default_factory=dict)
    key: str = ""
    name: str = ""


class Planned:
    """The plan of one view.

    Args:
        project: Of the view.
        table: The view.
        given: Its plan; None: it is analysed when it is first asked for.
    """

    def __init__(self, project: Project, table: TableDef, given: ViewPlan | None) -> None:
        self._project = project
        self._table = table
        self._known = None if given is None else _Known({}, given)
        self._is_given = given is not None

    @property
    def known(self) -> ViewPlan | None:
        """The plan as it was last asked for; None: not yet."""
        return None if self._known is None else self._known.plan

    def forget(self) -> None:
        """Analyse again when the plan is next asked for."""
        self._known, self._is_given = None, False

    def over(
        self, session: SparkSession, request: UpdateRequest, parents: Sequence[Parent]
    ) -> ViewPlan:
        """The plan over parents whose columns no commit since their old versions changed.

        They are opened only where the plan is not of these versions.
        """
        known = self._known
        before = {parent.name: parent.changes.old for parent in parents}
        if known is not None and known.versions == before:
            known.versions = dict(request.parents)
            return known.plan
        frames = {parent.name: parent.frame for parent in parents}
        return self._planned(session, request, frames).plan

    def at(self, session: SparkSession, request: UpdateRequest) -> ViewPlan:
        """The plan over the versions of the parents that the request names."""
        frames = {
            name: at_version(session, self._project.table_path(name), version)
            for name, version in request.parents.items()
        }
        return self._planned(session, request, frames).plan

    def key(self, session: SparkSession, request: UpdateRequest) -> str:
        """A short name for the view as it would be maintained now; its plan was asked for before.

        It changes with the query, the parents' columns, the plan made of them, the settings that
        results depend on, and our version: its strategies are to be tried again then.
        """
        known = self._known
        assert known is not None
        if not known.key:
            columns = sorted(known.signature.items())
            settings = settings_of(session, self._project, self._table)
            facts = [__version__, request.definition, columns, settings, known.plan]
            known.key = _short(facts)
        return known.key

    @property
    def name(self) -> str:
        """A short name for the ways that the plan has, and our version; it was asked for before."""
        known = self._known
        assert known is not None
        if not known.name:
            plan = known.plan
            ways = [plan.appends, plan.buckets, plan.merge, plan.equal, plan.keys]
            told = [None if isinstance(each, Reason) else each for each in ways]
            known.name = _short([__version__, told, sorted(plan.holds_us.items())])
        return known.name

    def goes_on_from(self, made: Mapping[str, Any]) -> bool:
        """Whether updates from changes may go on from the commit with these metadata.

        Not where another plan made it from changes: what was wrong then, and is corrected in this
        plan, would stay in all rows that no change touches. Commits of a version of ours that did
        not say its plan count as such. The query over all rows is right by any plan.
        """
        return made["strategy"] == "full" or made.get("plan", "") in (None, self.name)

    def _planned(
        self, session: SparkSession, request: UpdateRequest, frames: Mapping[str, DataFrame]
    ) -> _Known:
        """The plan, analysed again when the parents' columns changed."""
        known = self._known
        if known is None or not self._is_given:
            schemas = {name: frame.schema for name, frame in frames.items()}
            signature = {name: schema.simpleString() for name, schema in schemas.items()}
            if known is None or known.signature != signature:
                plan = plan_of(session, self._project, self._table, schemas)
                known = self._known = _Known(signature, plan)
                self._explain(plan)
            known.versions = dict(request.parents)
        return known

    def _explain(self, plan: ViewPlan) -> None:
        """Keep what ``freshline explain`` would say, for those who look without Spark."""
        table, project = self._table, self._project
        sources = [
            Source(name, {}, time_column=project.table(name).time_column) for name in table.parents
        ]
        sources += [Source(read.name, {}, static=True) for read in table.statics]
        keep_explanation(project, table, explanation_text(table.name, plan, sources))


def _short(facts: Sequence[object]) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
