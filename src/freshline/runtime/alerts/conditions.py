"""What is wrong at one instant, read from the status; one condition for each kind and subject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from freshline.executor.distrust import WrongView
from freshline.project.model import Project
from freshline.runtime.reports.store import GIVEN_UP, OPEN, standing
from freshline.runtime.requests.backfills import given_up_last
from freshline.runtime.status.blame import Blame, reload_error
from freshline.runtime.status.status import TableStatus, WarehouseStatus
from freshline.times import brief_s, rfc3339

SUBJECTS = {"silent": "feed", "report-late": "report"}
"""What a kind is about; all others are about a table."""

_LATE_REPORT_S = 10.0
"""A report that missed its deadline and is made so long before the last look, or later, counts
as late once more, to be told: the last look may not have found it in the journal yet."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that is wrong now.

    Attributes:
        kind: Of ``ALERT_KINDS``.
        subject: The table, feed or report.
        since_s: Since when, seconds since the epoch, as far as that is known.
        reason: Why, one phrase.
        data: What else an event tells.
    """

    kind: str
    subject: str
    since_s: float
    reason: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from the others."""
        return self.kind, self.subject


class Conditions:
    """Finds them, one status after the other; remembers what only counts up."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._broken: dict[str, int] = {}
        self._looked_s: float | None = None

    def now(self, status: WarehouseStatus) -> dict[tuple[str, str], Condition]:
        """All conditions of one status, by kind and subject."""
        looked_s = status.now_s if self._looked_s is None else self._looked_s
        self._looked_s = status.now_s
        found = [
            *self._of_tables(status),
            *_silent_feeds(status),
            *_late_reports(status, looked_s - _LATE_REPORT_S),
        ]
        return {condition.key: condition for condition in found}

    def _of_tables(self, status: WarehouseStatus) -> Iterator[Condition]:
        freshness_s = {item.name: item.freshness_s for item in status.tables}
        blame = Blame(self._project, status, freshness_s)
        unread = _unread(self._project, status)
        for item in status.tables:
            if item.state == "dropped":
                continue
            stands = _stands(item)
            if item.within_target is False:
                yield _late(item, blame, stands)
            elif (since_s := status.unbuilt_late_s(item)) is not None:
                waits = blame.of(item.name, lambda freshness_s, _: freshness_s is not None)
                yield Condition("late", item.name, since_s, f"never built: {waits}", stands)
            if item.failures and item.error:
                data = {**stands, "failures": item.failures}
                yield Condition("failing", item.name, status.now_s, item.error, data)
            elif (error := reload_error(item)) is not None and not item.pending_files:
                # What is pending may be the file that could not be read, tried again this moment.
                yield Condition("failing", item.name, status.now_s, error, stands)
            elif item.name in unread:
                yield Condition("failing", item.name, status.now_s, unread[item.name], stands)
            elif (backfill := given_up_last(status.backfills, item.name)) is not None:
                since_s = backfill.ended_s or status.now_s
                yield Condition("failing", item.name, since_s, backfill.given_up or "", stands)
            if item.wrong is not None:
                yield _wrong(item, item.wrong, stands)
            bad = [each for each in item.troubles if each.state in ("quarantined", "changed")]
            if bad:
                data = {**stands, "files": [each.name for each in bad][:10], "count": len(bad)}
                yield Condition("quarantine", item.name, status.now_s, bad[0].reason, data)
            yield from self._broken_bound(status, item, stands)

    def _broken_bound(
        self, status: WarehouseStatus, item: TableStatus, stands: Mapping[str, Any]
    ) -> Iterator[Condition]:
        """A bound that was broken just now, or whose table is still beyond it."""
        watched = status.watched_table(item.name)
        count = sum((watched.violations or {}).values())
        before = self._broken.get(item.name, 0)
        self._broken[item.name] = count
        bound_s = watched.bounds_s.get("staleness")
        beyond = bound_s is not None and item.staleness_s is not None and item.staleness_s > bound_s
        if count > before or (count and beyond):
            reason = watched.last_violation or "no reason seen"
            data = {**stands, "bound_s": bound_s, "count": count}
            yield Condition("bound-broken", item.name, status.now_s, reason, data)


def unbuilt(status: WarehouseStatus) -> set[tuple[str, str]]:
    """Which tables' lateness lasts: those with a target and work that have no data yet.

    When they became late counts from the run's start, or from the arrival of what waits: a restart
    or an older file makes them late later, and no fresher.
    """
    return {
        ("late", item.name)
        for item in status.tables
        if item.freshness_s is None and item.target_lag_s is not None and item.state != "dropped"
        if _has_work(item)
    }


def _has_work(item: TableStatus) -> bool:
    """Whether a table that was never built could be, also while a run that starts has not begun.

    The files of a base table may all vanish; a view's parents do not lose their data.
    """
    if item.kind != "base" or item.pending_files or item.waits_since_s is not None:
        return True
    return any(each.state in ("retrying", "quarantined") for each in item.troubles)


def _unread(project: Project, status: WarehouseStatus) -> dict[str, str]:
    """Tables whose feed cannot be read in full, and why."""
    errors = {feed.name: feed.error for feed in status.feeds if feed.error is not None}
    found = {
        table.name: f"feed {table.feed}: {errors[table.feed]}"
        for table in project.tables
        if status.run.running and table.feed in errors
    }
    for each in status.looked_at:
        if each.error is not None:
            found[each.table] = f"feed {each.feed}: {each.error}"
    return found


def _stands(item: TableStatus) -> dict[str, Any]:
    return {
        "state": item.state,
        "staleness_s": None if item.staleness_s is None else round(item.staleness_s, 3),
        "target_lag_s": item.target_lag_s,
        "freshness": None if item.freshness_s is None else rfc3339(item.freshness_s),
    }


def _late(item: TableStatus, blame: Blame, stands: Mapping[str, Any]) -> Condition:
    assert item.freshness_s is not None
    assert item.target_lag_s is not None
    target_lag_s = item.target_lag_s

    def is_met(freshness_s: float | None, now_s: float) -> bool:
        return freshness_s is not None and now_s - freshness_s <= target_lag_s

    since_s = item.freshness_s + target_lag_s
    return Condition("late", item.name, since_s, blame.of(item.name, is_met), stands)


def _wrong(item: TableStatus, wrong: WrongView, stands: Mapping[str, Any]) -> Condition:
    """Until it is trusted again: somebody should look at the evidence, though it is rebuilt."""
    reason = (
        f"version {wrong.version} ({wrong.strategy}) has {wrong.missing:,} rows missing and"
        f" {wrong.extra:,} extra"
    )
    data = {
        **stands,
        "version": wrong.version,
        "missing": wrong.missing,
        "extra": wrong.extra,
        "rebuilt": item.rebuilt,
        "evidence": wrong.evidence,
    }
    return Condition("wrong-view", item.name, wrong.found_s, reason, data)


def _silent_feeds(status: WarehouseStatus) -> Iterator[Condition]:
    if not status.run.running:
        return
    for feed in status.feeds:
        if feed.silent_since_s is None:
            continue
        reason = "nothing arrived" if feed.last_s is None else (
            f"nothing for {brief_s(max(0.0, status.now_s - feed.last_s))}"
        )  # fmt: skip
        if feed.period_s:
            reason += f", expected every {brief_s(feed.period_s)}"
        data = {
            "last_file": None if feed.last_s is None else rfc3339(feed.last_s),
            "period_s": feed.period_s,
        }
        yield Condition("silent", feed.name, feed.silent_since_s, reason, data)


def _late_reports(status: WarehouseStatus, since_s: float) -> Iterator[Condition]:
    """Those that are still to be made, and those made since ``since_s``.

    One that was given up is late until a later window is made, or somebody withdraws it.
    """
    given_up = {each.wanted.name for each in standing(status.reports) if each.state == GIVEN_UP}
    for report in status.reports:
        deadline_s, finish_s = report.wanted.deadline_s, report.finish_s
        if report.state in OPEN or finish_s is None:
            is_wanted = report.state in OPEN or report.wanted.name in given_up
            late = is_wanted and status.now_s > deadline_s
        else:
            late = finish_s > deadline_s and finish_s >= since_s
        if late:
            reason = report.late or report.error or "it is not made yet"
            data = {
                "view": report.wanted.view,
                "state": report.state,
                "deadline": rfc3339(deadline_s),
            }
            yield Condition("report-late", report.wanted.name, deadline_s, reason, data)
