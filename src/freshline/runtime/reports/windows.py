"""Which windows of the project's reports are still to be made.

A view's windows follow the one that its table shows. As long as it shows none they begin with the
oldest that was begun; the first time, with the window of now, and with the one before where its
deadline is still ahead. What was begun and cannot be made any more is given up.
Ad hoc reports stand in the journal until they are made.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from freshline.core.errors import Place, UserError
from freshline.delta.log import last_commit
from freshline.project.asked import asked_table
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.project.windows import window_at, zone_name
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.store import OPEN, WantedReport, note_wanted, read_reports
from freshline.times import rfc3339, seconds

MOST_BEHIND = 100
"""Windows of one view that a start makes up for; older ones are left out."""

_MADE = (
    f"the {MOST_BEHIND} newest windows of a view's present length are made, after the one that its"
    " table shows"
)

Due = tuple[WantedReport, TableDef]
Fault = tuple[WantedReport, UserError]


class ReportWindows:
    """Says which reports are wanted now.

    Args:
        project: Its reports are the views with a window.
        journal: Read for what was asked, and for what is over.
        ended_only: Only windows that are over (``--until-idle``).
    """

    def __init__(self, project: Project, journal: Journal, *, ended_only: bool) -> None:
        self._project = project
        self._journal = journal
        self._ended_only = ended_only
        self._next_s: dict[str, float | None] = {}
        self._looked: set[str] = set()
        """Views of which a run knows what it leaves out."""
        for view in project.reports:
            commit = last_commit(project.table_path(view.name))
            shown = commit.metadata.get("window") if commit is not None else None
            self._next_s[view.name] = seconds(shown["end"]) if shown else None

    def due(self, now_s: float, known: set[str]) -> tuple[list[Due], list[Fault]]:
        """Reports that are wanted and not among the ``known``, oldest window first.

        Returns:
            Them, and those that cannot be made any more: ad hoc reports whose query no longer fits
            the project, windows that a view has left behind.
        """
        rows = {each.wanted.name: each for each in read_reports(self._journal)}
        # Windows of another length begin where others did, and have their names.
        told = {(name, each.wanted.end_s) for name, each in rows.items()}
        over = {(name, end_s) for name, end_s in told if rows[name].state not in OPEN}
        begun = [
            each.wanted
            for name, each in rows.items()
            if name not in known and each.state in OPEN and each.wanted.query is None
        ]
        found: list[Due] = []
        faults: list[Fault] = []
        for view in self._project.reports:
            starts_s = [each.start_s for each in begun if each.view == view.name]
            windows = self._of_view(view, now_s, min(starts_s, default=None))
            found += [
                (each, view)
                for each in windows
                if each.name not in known and (each.name, each.end_s) not in over
            ]
            if view.name not in self._looked and windows:
                self._looked.add(view.name)
                first_s, ends_s = windows[0].start_s, [self._next_s[view.name] or 0.0]
                mine = [each.wanted for each in rows.values() if each.wanted.view == view.name]
                ends_s += [each.end_s for each in mine if each.query is None]
                since_s = max((each for each in ends_s if each <= first_s), default=0.0)
                faults += self._never_begun(view, since_s, first_s, told, now_s)
            if windows and self._next_s[view.name] is None:
                # Also where the clock jumps over windows, as while a machine sleeps.
                self._next_s[view.name] = windows[0].start_s
        made = {wanted.name for wanted, _ in found}
        faults += [
            (wanted, _left_behind(wanted, self._project))
            for wanted in begun
            if wanted.name not in made and wanted.end_s <= now_s
        ]
        for name, each in rows.items():
            wanted = each.wanted
            if wanted.query is None or each.state not in OPEN or name in known:
                continue
            if self._ended_only and wanted.end_s > now_s:
                continue
            where = Place(wanted.file or "the journal", 1)
            try:
                found.append((wanted, asked_table(self._project, name, wanted.query, where)))
            except UserError as error:  # no other report waits for it
                faults.append((wanted, error))
        return found, faults

    def next_s(self, now_s: float) -> float:
        """When the next window of a view begins; infinite where there is none."""
        if self._ended_only:
            return float("inf")
        ends = (
            window_at(now_s, view.report.window_s, _zone(self._project, view))[1]
            for view in self._project.reports
            if view.report is not None
        )
        return min(ends, default=float("inf"))

    def _of_view(self, view: TableDef, now_s: float, begun_s: float | None) -> list[WantedReport]:
        wanted = window_of(self._project, view, now_s)
        first_s = begun_s if (next_s := self._next_s[view.name]) is None else next_s
        if first_s is not None and first_s > wanted.end_s:
            first_s = None  # by a clock that was ahead: what cannot be made until then is told
        found: list[WantedReport] = []
        while len(found) < MOST_BEHIND:
            over = wanted.end_s <= now_s
            if first_s is not None and wanted.start_s < first_s:
                break
            if first_s is None and over and wanted.deadline_s <= now_s and not self._ended_only:
                break
            if over or not self._ended_only:
                found.append(wanted)
                if first_s is None and over:
                    break
            wanted = window_of(self._project, view, wanted.start_s - 1.0)
        return found[::-1]

    def _never_begun(
        self,
        view: TableDef,
        since_s: float,
        first_s: float,
        known: AbstractSet[tuple[str, float]],
        now_s: float,
    ) -> list[Fault]:
        """The windows before the oldest that is made, told as one: the newest of them.

        Args:
            view: The report.
            since_s: Where the newest ends that was made or begun before; 0: none was.
            first_s: Where the oldest begins that is made.
            known: Names of windows that the journal has, and where they end.
            now_s: The time.
        """
        assert view.report is not None
        if not 0.0 < since_s < first_s:
            return []
        newest, oldest = (window_of(self._project, view, at) for at in (first_s - 1.0, since_s))
        if (newest.name, newest.end_s) in known:
            return []  # it was begun, or told by a former run
        note_wanted(self._journal, newest, "live", now_s)
        count = round((first_s - oldest.start_s) / view.report.window_s)
        what = f"the window {newest.name} is"
        if newest != oldest:
            what = f"{count:,} windows of {view.name}, from {oldest.name} to {newest.name}, are"
        error = UserError(
            "report-left-behind",
            f"{what} not made any more",
            where=view.place,
            rule=_MADE,
            next_step="Ask for the rows with `freshline report submit`.",
        )
        return [(newest, error)]


def _left_behind(wanted: WantedReport, project: Project) -> UserError:
    view = project.report(wanted.view)
    return UserError(
        "report-left-behind",
        f"the window {wanted.name} was begun and is not made any more",
        where=None if view is None else view.place,
        rule=_MADE,
        next_step="Ask for its rows with `freshline report submit`.",
    )


def window_of(project: Project, view: TableDef, moment_s: float) -> WantedReport:
    """The report of a view about its window that holds a moment."""
    settings = view.report
    assert settings is not None
    start_s, end_s = window_at(moment_s, settings.window_s, _zone(project, view))
    name = f"{view.name}@{rfc3339(start_s).replace('.000000', '')}"
    deadline_s = settings.deadline.after(end_s)
    return WantedReport(
        name, view.name, None, None, start_s, end_s, deadline_s, settings.groups,
        definition_of(view),
    )  # fmt: skip


def read_since_s(project: Project, journal: Journal) -> dict[str, float]:
    """Of each table that a report still to be made reads, the start of the oldest such window.

    No batch reads a version that was replaced before its window began.
    """
    found: dict[str, float] = {}
    for each in read_reports(journal):
        wanted = each.wanted
        if each.state not in OPEN:
            continue
        table = project.report(wanted.view)
        if table is None:
            try:
                table = asked_table(project, wanted.name, wanted.query or "", Place("", 1))
            except UserError:  # it no longer fits the project, and is told so when it is made
                continue
        for name in table.parents:
            found[name] = min(wanted.start_s, found.get(name, wanted.start_s))
    return found


def _zone(project: Project, view: TableDef) -> str:
    """That of the session in which the report's query runs."""
    return zone_name(project.configuration, view.settings)
