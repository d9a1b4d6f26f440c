"""How far behind its freshness a parent that is a view is complete.

A base table that is fresh up to F has all rows up to F (but for late ones; where its time is a
DATE, the rows of a day come until it is over by the clock of the table's zone). A view over it
need not: its rows of v can depend on rows of its parents up to v + hi, so they are complete once F
has passed v + hi. A final view over such a view waits that much longer, and the waits of a chain of
views add up. They follow from the queries and their zones alone, whatever the versions are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from freshline.project.model import Project, TableDef
from freshline.sql.buckets.timeline import buckets
from freshline.sql.buckets.times import kind_of_type
from freshline.sql.query.records import Buckets, Reason, Source, ViewPlan
from freshline.sql.query.zone import DAY_US, Zone, zone

Sources = Callable[[TableDef], tuple[str, list[Source]]]
"""A view's query as analysis reads it, and the columns of what it reads."""

Confirms = Callable[[str, list[Source], Buckets], bool]
"""Whether Spark's own plan of a query says the same of its buckets."""

Clocks = Callable[[TableDef], tuple[str, bool]]
"""Of the session that runs a view's query, as its own settings may say: its time zone, and whether
TIMESTAMP means TIMESTAMP_NTZ."""


class Holds:
    """Finds them, for one project and session.

    Args:
        project: Of the views.
        sources_of: Asked for the views among the parents alone.
        clocks_of: Asked for all parents, and for the view over them.
        confirms: Asked for what is found of these.
    """

    def __init__(
        self, project: Project, sources_of: Sources, clocks_of: Clocks, confirms: Confirms
    ) -> None:
        self._project = project
        self._sources_of = sources_of
        self._clocks_of = clocks_of
        self._confirms = confirms

    def added(self, plan: ViewPlan, table: TableDef, sources: list[Source]) -> ViewPlan:
        """The plan of a view that shows final buckets, with what its parents hold back.

        Without buckets, and the reason, where it cannot be told when a parent is complete.
        """
        if not isinstance(plan.buckets, Buckets):
            return plan
        holds_us = self._by_parent(table, plan.buckets, sources)
        if isinstance(holds_us, Reason):
            return replace(plan, buckets=holds_us)
        return replace(plan, holds_us=holds_us)

    def _by_parent(
        self, table: TableDef, found: Buckets, sources: list[Source]
    ) -> dict[str, int] | Reason:
        known = {source.name: source for source in sources}
        holds_us = {}
        for name in table.parents:
            reads = found.reads.get(name.lower())
            if reads is None:
                continue
            source = known[name.lower()]
            kind = kind_of_type(source.columns[reads.column]) or "timestamp"
            if self._project.table(name).kind == "base":
                if source.time_column not in (None, reads.column):
                    why = f"its freshline.time is {source.time_column}"
                    return _open(self._project.table(name), reads.column, why)
                if hold_us := self._of_base(name, kind, table):
                    holds_us[name] = hold_us
                continue
            behind = self._of_view(name, reads.column)
            if isinstance(behind, Reason):
                return behind
            holds_us[name] = behind + self._later_us(name, kind, table)
        return holds_us

    def _of_base(self, name: str, kind: str, reader: TableDef) -> int:
        """Rows of one time come until so long after the instant that a view reads in it.

        Those of a day until it is over by its own clock, and those of an hour that this shows
        twice until it is over the second time.
        """
        if kind == "timestamp":
            return 0
        made = self._clock(self._project.table(name))
        is_one = made == self._clock(reader)
        later_us = made.back_us if is_one else self._later_us(name, kind, reader)
        return later_us + (DAY_US if kind == "date" else 0)

    def _later_us(self, name: str, kind: str, reader: TableDef) -> int:
        """By how much a time is a later instant where it was made than to a view that reads it.

        A DATE and a wall clock's time are, where the one clock is west of the other. In one zone
        they are not, but a final parent shows them only so long after their instants.
        """
        if kind == "timestamp":
            return 0
        made, read = self._clock(self._project.table(name)), self._clock(reader)
        return max(0, read.offset_hi_us - made.offset_lo_us)

    def _clock(self, table: TableDef) -> Zone:
        """The one that dates and wall clocks of a table are of."""
        return zone(self._clocks_of(table)[0])

    def _of_view(self, name: str, column: str) -> int | Reason:
        """Rows whose ``column`` is up to the view's freshness less this are complete."""
        view = self._project.table(name)
        query, sources = self._sources_of(view)
        session_zone, ntz = self._clocks_of(view)
        found = buckets(query, sources, session_zone=session_zone, timestamp_ntz=ntz, column=column)
        if isinstance(found, Reason):
            return _open(view, column, found.message)
        if not self._confirms(query, sources, found):
            return _open(view, column, "our reading of its query and Spark's are not the same")
        if view.emit == "final":
            shown = buckets(query, sources, session_zone=session_zone, timestamp_ntz=ntz)
            if not isinstance(shown, Buckets) or shown.column != found.column:
                return _open(view, column, "it shows its final buckets by another column")
        holds_us = self._by_parent(view, found, sources)
        if isinstance(holds_us, Reason):
            return holds_us
        ends = {name.lower(): reads.hi_us for name, reads in found.reads.items()}
        before = {name.lower(): hold_us for name, hold_us in holds_us.items()}
        return max(0, *(end_us + before.get(name, 0) for name, end_us in ends.items()))


def _open(parent: TableDef, column: str, why: str) -> Reason:
    return Reason(
        "NEVER_COMPLETE",
        f"when the rows of {parent.name} are complete by {column} is unknown: {why}",
    )
