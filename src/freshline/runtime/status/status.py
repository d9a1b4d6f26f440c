"""How every table stands now, from the journal and the project alone.

Needs neither Spark nor the running warehouse: the journal is written at every instant, and
the lock tells whether somebody still writes it. So the answer takes milliseconds, and is the
same for ``freshline status``, the live table of ``freshline run`` and the web.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from freshline.executor.distrust import WrongView
from freshline.project.lags import target_lags
from freshline.project.model import Project, TableDef
from freshline.runtime.journal.lock import holder
from freshline.runtime.journal.paths import own_folder
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.journal.strategies import (
    NO_UPKEEP,
    Corrections,
    StrategyUse,
    read_corrections,
    read_uses,
)
from freshline.runtime.journal.trials import Tried, read_trials
from freshline.runtime.reports.store import ReportStatus, read_reports
from freshline.runtime.requests.backfills import BackfillStatus, read_backfills
from freshline.runtime.status.run import RunStatus, last_run, run_status
from freshline.runtime.status.source_status import SourceStatus, read_sources
from freshline.runtime.status.target_history import TargetCompliance, lately
from freshline.runtime.status.told import NOTHING_TOLD, AlertStatus, read_alerts
from freshline.runtime.status.topic_status import TopicStatus, read_topics
from freshline.runtime.status.trusted import wrong_views
from freshline.runtime.status.watched import (
    NOTHING_WATCHED,
    FeedStatus,
    Misfit,
    WatchedTable,
    read_feeds,
    read_misfit,
    read_watched,
)
from freshline.times import brief_s

NOTHING_KNOWN = "nothing is known yet"
_REBUILT = "the journal has no run; the next one fills it, from the tables' logs too"


@dataclass(frozen=True, slots=True)
class FileTrouble:
    """A file that could not be read, or that changed after it was loaded.

    Attributes:
        name: Relative to the feed's path.
        state: retrying, quarantined, vanished or changed.
        reason: One line.
        attempts: How often it was tried.
        retry_s: When it is tried again; None: not by itself.
    """

    name: str
    state: str
    reason: str
    attempts: int
    retry_s: float | None


@dataclass(frozen=True, slots=True)
class LastUpdate:
    """The newest committed update of a table."""

    number: int
    at_s: float
    seconds: float
    rows: int
    rejected_rows: int
    strategy: str
    reason: str
    version: int


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table.

    Attributes:
        state: wrong (an audit said so, and it was not rebuilt yet), new (nothing known of its
            data), fresh (nothing pending), waiting, running, retrying (after a failure), paused
            or dropped (no longer in the project).
        freshness_s: F, seconds since the epoch; None while nothing is known.
        staleness_s: now - F.
        target_lag_s: What its target_lag asks for; for DOWNSTREAM the least of what its
            children are asked for; None without one.
        within_target: Whether staleness is at most that; None without a target or data.
        pending_files: Base tables: files that arrived and are in no commit.
        pending_s: Derived tables: how far its sources' freshness is ahead of its own.
        troubles: Files that could not be read, or that changed after they were loaded.
        expected_s: What an update of what is pending should take; None before the first.
        failures: Failed updates in a row; ``error`` says why the last one failed.
        next: What happens to it next, one phrase.
        waits_since_s: Since when its work is there, that of an update that runs too; None: none is.
        without_data: What a new view waits for: parents without data, where others have some.
        lately: How its target was kept in the last day; None: not known, or not asked for.
        paused: Also where the state is another one: it is wrong, or an update still runs.
        upkeep: What runs of it where that is no update, such as ``vacuum``.
    """

    name: str
    kind: str
    state: str
    priority: float | None
    freshness_s: float | None
    staleness_s: float | None
    target_lag_s: float | None
    within_target: bool | None
    pending_files: int | None
    pending_s: float | None
    troubles: tuple[FileTrouble, ...]
    last_update: LastUpdate | None
    expected_s: float | None
    updates: int
    rejected_rows: int
    failures: int
    error: str | None
    note: str | None
    track: int | None
    next: str
    lately: TargetCompliance | None = None
    wrong: WrongView | None = None
    rebuilt: bool = True
    without_data: tuple[str, ...] = ()
    paused: bool = False
    waits_since_s: float | None = None
    upkeep: str | None = None


@dataclass(frozen=True, slots=True)
class WarehouseStatus:
    """All tables at ``now_s``, in the project's order, dropped ones behind."""

    now_s: float
    project: str
    storage: str
    run: RunStatus
    tables: tuple[TableStatus, ...]
    note: str | None
    feeds: tuple[FeedStatus, ...] = ()
    watched: Mapping[str, WatchedTable] = field(default_factory=dict)
    backfills: tuple[BackfillStatus, ...] = ()
    reports: tuple[ReportStatus, ...] = ()
    strategies: Mapping[str, tuple[StrategyUse, ...]] = field(default_factory=dict)
    corrections: Mapping[str, Corrections] = field(default_factory=dict)
    topics: tuple[TopicStatus, ...] = ()
    misfit: Misfit | None = None
    trials: Mapping[str, Tried] = field(default_factory=dict)
    alerts: AlertStatus = NOTHING_TOLD
    sources: tuple[SourceStatus, ...] = ()
    wrong_unknown: str | None = None
    """Why nobody knows now which views are wrong: the storage does not answer."""

    @property
    def looked_at(self) -> tuple[TopicStatus | SourceStatus, ...]:
        """Topics and Delta tables that feeds read, by the table that reads them."""
        return (*self.topics, *self.sources)

    def uses(self, name: str) -> tuple[StrategyUse, ...]:
        """The strategies of a table's updates, the one used last first."""
        return self.strategies.get(name, ())

    def unbuilt_late_s(self, item: TableStatus) -> float | None:
        """When a table became late that has a target and work, and never had data; None: it is not.

        Its target counts since its work is there, or from the start of the run: before, nobody
        could have built it.
        """
        since_s, lag_s = self.run.since_s, item.target_lag_s
        if not self.run.running or since_s is None or lag_s is None:
            return None
        if item.freshness_s is not None or item.state == "dropped":
            return None
        if not item.without_data:
            if item.waits_since_s is None:
                return None  # nothing came for it yet
            since_s = max(since_s, item.waits_since_s)
        return since_s + lag_s if self.now_s > since_s + lag_s else None

    def watched_table(self, name: str) -> WatchedTable:
        """What the last run's oversight saw of a table."""
        return self.watched.get(name, NOTHING_WATCHED)


def read_status(project: Project, now_s: float, *, account: bool = True) -> WarehouseStatus:
    """How every table of ``project`` stands at ``now_s``.

    Args:
        project: Its tables, and where its journal is.
        now_s: Seconds since the epoch.
        account: Also read how each target was kept in the last day (``lately``), which takes
            longer than all the rest.

    Raises:
        PlatformError: The journal is there and cannot be read.
    """
    pid = holder(own_folder(project))
    with journal_read(project) as journal:
        if journal is None:
            return _nothing_known(project, pid, now_s)
        return _read(project, journal, pid, now_s, account=account)


def _nothing_known(project: Project, pid: int | None, now_s: float) -> WarehouseStatus:
    run = run_status(project, None, pid)
    why = "a run is just starting" if run.running else _REBUILT
    reader = _Reader(run, now_s, target_lags(project), {})
    tables = tuple(reader.unknown(table) for table in project.tables)
    note = f"{NOTHING_KNOWN}: {why}"
    return WarehouseStatus(now_s, project.name, project.storage, run, tables, note)


def _read(
    project: Project, journal: Journal, pid: int | None, now_s: float, *, account: bool
) -> WarehouseStatus:
    last = last_run(journal)
    run = run_status(project, last, pid)
    busy: dict[str, Row] = {}
    if run.running and last is not None:
        for row in journal.rows(
            "SELECT * FROM updates WHERE start_s>=? AND run=? AND state='running'",
            (last["started_s"], last["id"]),
        ):
            busy[row["table_name"]] = row
    wrong = wrong_views(project)
    rows = {row["name"]: row for row in journal.rows("SELECT * FROM tables")}
    filled = {name for name, row in rows.items() if row["version"] is not None}
    reader = _Reader(run, now_s, target_lags(project), busy, wrong.found, filled, account=account)
    tables = [
        reader.table(table, rows[table.name], journal)
        if table.name in rows
        else reader.unknown(table)
        for table in project.tables
    ]
    known = {table.name.lower() for table in project.tables}
    gone = sorted(name for name in rows if name.lower() not in known)
    tables += [reader.dropped(rows[name], journal) for name in gone]
    note = None
    if last is None:  # only requests and pauses were written
        note = f"{NOTHING_KNOWN}: {'a run is just starting' if run.running else _REBUILT}"
    return WarehouseStatus(
        now_s,
        project.name,
        project.storage,
        run,
        tuple(tables),
        note,
        _listed_feeds(project, journal),
        read_watched(journal),
        read_backfills(journal),
        read_reports(journal),
        read_uses(journal),
        read_corrections(journal),
        read_topics(project, journal),
        read_misfit(journal),
        read_trials(journal),
        read_alerts(journal),
        read_sources(project, journal),
        wrong.unknown,
    )


def _listed_feeds(project: Project, journal: Journal) -> tuple[FeedStatus, ...]:
    """Feeds whose folders a run lists; the journal has those that the project had before, too."""
    read = {table.feed for table in project.tables}
    listed = {name for name, feed in project.feeds.items() if feed.kind in ("files", "push")}
    return tuple(feed for feed in read_feeds(journal) if feed.name in read & listed)


class _Reader:
    """Turns rows of the journal into records."""

    def __init__(
        self,
        run: RunStatus,
        now_s: float,
        lags: Mapping[str, float],
        busy: Mapping[str, Row],
        wrong: Mapping[str, tuple[WrongView, bool]] | None = None,
        filled: Collection[str] = (),
        *,
        account: bool = True,
    ) -> None:
        self._run = run
        self._now_s = now_s
        self._lags = lags
        self._busy = busy
        self._wrong = wrong or {}
        self._filled = filled
        self._account = account

    def table(self, table: TableDef, row: Row, journal: Journal) -> TableStatus:
        """A table that the journal knows."""
        base = table.kind == "base"
        pending_files, troubles = _files(journal, table.name) if base else (None, ())
        pending_s = None if base else _ahead_s(row)
        # A table without a version has no data to be fresh or stale.
        freshness_s = None if row["version"] is None else row["freshness_s"]
        staleness_s = None if freshness_s is None else max(0.0, self._now_s - freshness_s)
        lag_s = self._lags.get(table.name)
        state = self._state(row, pending_files, pending_s)
        update = self._busy.get(table.name)
        wrong, rebuilt = self._wrong.get(table.name, (None, True))
        without = tuple(name for name in table.parents if name not in self._filled)
        if state != "new" or len(without) == len(table.parents):
            without = ()
        return TableStatus(
            name=table.name,
            kind=table.kind,
            state=state if rebuilt else "wrong",
            priority=self._priority(table, row),
            freshness_s=freshness_s,
            staleness_s=staleness_s,
            target_lag_s=lag_s,
            within_target=None if lag_s is None or staleness_s is None else staleness_s <= lag_s,
            pending_files=pending_files,
            pending_s=pending_s,
            troubles=troubles,
            last_update=_last_update(journal, table.name),
            expected_s=_expected_s(row),
            updates=row["updates"],
            rejected_rows=row["rejected_rows"],
            failures=row["failures"],
            error=row["error"],
            note=row["note"],
            track=update["track"] if update else None,
            next=self._next(state, row, update, without),
            lately=lately(journal, table.name, lag_s, self._now_s) if self._account else None,
            wrong=wrong,
            rebuilt=rebuilt,
            without_data=without,
            paused=bool(row["paused"]),
            waits_since_s=_waits_since_s(row, update),
            upkeep=update["strategy"] if update else None,
        )

    def _priority(self, table: TableDef, row: Row) -> float:
        """That of the run that goes on, where somebody may have changed it; else the project's."""
        if self._run.running and row["priority"] is not None:
            return float(row["priority"])
        return table.priority

    def unknown(self, table: TableDef) -> TableStatus:
        """A table that the journal does not know yet."""
        return TableStatus(
            name=table.name,
            kind=table.kind,
            state="new",
            priority=table.priority,
            freshness_s=None,
            staleness_s=None,
            target_lag_s=self._lags.get(table.name),
            within_target=None,
            pending_files=0 if table.kind == "base" else None,
            pending_s=None if table.kind == "base" else 0.0,
            troubles=(),
            last_update=None,
            expected_s=None,
            updates=0,
            rejected_rows=0,
            failures=0,
            error=None,
            note=None,
            track=None,
            next=self._when_there_is_data(),
        )

    def dropped(self, row: Row, journal: Journal) -> TableStatus:
        """A table that the project no longer has."""
        freshness_s = row["freshness_s"]
        return TableStatus(
            name=row["name"],
            kind=row["kind"] or "derived",
            state="dropped",
            priority=None,
            freshness_s=freshness_s,
            staleness_s=None if freshness_s is None else max(0.0, self._now_s - freshness_s),
            target_lag_s=None,
            within_target=None,
            pending_files=None,
            pending_s=None,
            troubles=(),
            last_update=_last_update(journal, row["name"]),
            expected_s=None,
            updates=row["updates"],
            rejected_rows=row["rejected_rows"],
            failures=0,
            error=None,
            note="no longer in the project; its data is left alone",
            track=None,
            next="nothing",
        )

    def _state(self, row: Row, pending_files: int | None, pending_s: float | None) -> str:
        if row["name"] in self._busy:
            return "running"
        if row["paused"]:
            return "paused"
        if row["failures"] and row["retry_s"] is not None:
            return "retrying"
        if pending_files or pending_s or row["since_s"] is not None:
            return "waiting"
        return "new" if row["version"] is None else "fresh"

    def _next(self, state: str, row: Row, update: Row | None, without: tuple[str, ...]) -> str:
        if update is not None:
            seconds = max(0.0, self._now_s - update["start_s"])
            what = f"{update['strategy']} runs" if update["strategy"] else "running"  # of upkeep
            return f"{what} on track {update['track']} for {brief_s(seconds)}"
        if state == "paused":
            return f"paused; `freshline resume {row['name']}`"
        if state in ("fresh", "new"):
            return self._when_there_is_data(without)
        if not self._run.running:
            return "at the next `freshline run`"
        if state == "retrying" and row["retry_s"] > self._now_s:
            return f"retry in {brief_s(row['retry_s'] - self._now_s)}"
        if self._run.ready_s is None:
            return "when Spark is ready"
        if len(self._busy) >= self._run.tracks:
            return "waiting for a track"
        return "waiting for its turn"

    def _when_there_is_data(self, without: tuple[str, ...] = ()) -> str:
        if not self._run.running:
            return "at the next `freshline run`"
        return f"when {' and '.join(without)} has data" if without else "when data arrives"


def _waits_since_s(row: Row, update: Row | None) -> float | None:
    """Since when a table's work is there: what waits, and what an update works on."""
    found = [] if row["since_s"] is None else [float(row["since_s"])]
    if update is not None:
        release_s, start_s = update["release_s"], float(update["start_s"])
        found.append(start_s if release_s is None else min(float(release_s), start_s))
    return min(found, default=None)


def _files(journal: Journal, table: str) -> tuple[int, tuple[FileTrouble, ...]]:
    """How many files wait, and those that could not be read; by the index, not a scan."""
    count = journal.row(
        "SELECT count(*) AS n FROM files WHERE table_name=? AND state IN ('pending','retrying')",
        (table,),
    )
    rows = journal.rows(
        "SELECT * FROM files WHERE table_name=?"
        " AND state IN ('retrying','quarantined','vanished') ORDER BY name",
        (table,),
    )
    troubles = tuple(
        FileTrouble(row["name"], row["state"], row["reason"] or "", row["attempts"], row["retry_s"])
        for row in rows
    )
    return (count["n"] if count else 0), troubles + _changed(journal, table)


def _changed(journal: Journal, table: str) -> tuple[FileTrouble, ...]:
    rows = journal.rows_if_there(
        "SELECT name, reason FROM changed_files WHERE table_name=? ORDER BY name", (table,)
    )
    return tuple(FileTrouble(row["name"], "changed", row["reason"], 0, None) for row in rows)


def _ahead_s(row: Row) -> float:
    if row["trailing_edge_s"] is None or row["freshness_s"] is None:
        return 0.0
    return max(0.0, float(row["trailing_edge_s"]) - float(row["freshness_s"]))


def _expected_s(row: Row) -> float | None:
    if not row["updates"] or row["alpha_s"] is None:
        return None
    return float(row["alpha_s"]) + float(row["beta"] or 0.0) * _ahead_s(row)


def _last_update(journal: Journal, table: str) -> LastUpdate | None:
    row = journal.row(
        "SELECT * FROM updates WHERE table_name=? AND state='done'"
        f" AND {NO_UPKEEP} ORDER BY id DESC LIMIT 1",
        (table,),
    )
    if row is None:
        return None
    return LastUpdate(
        number=row["number"], at_s=row["finish_s"], seconds=row["seconds"], rows=row["rows"],
        rejected_rows=row["rejected_rows"], strategy=row["strategy"], reason=row["reason"],
        version=row["version"],
    )  # fmt: skip
