"""Outages, catching up and broken bounds, as freshline status shows them."""

from __future__ import annotations

from typing import Any

from freshline.render.output import clock, counted, moment
from freshline.runtime.requests.backfills import BackfillStatus
from freshline.runtime.status.status import WarehouseStatus
from freshline.runtime.status.watched import FeedStatus, Misfit, Recovery, WatchedTable
from freshline.times import brief_s


def feed_record(feed: FeedStatus, *, running: bool) -> dict[str, Any]:
    """One feed as JSON; nobody listens, and nothing is out, where nothing runs."""
    return {
        "name": feed.name,
        "last_file": moment(feed.last_s),
        "period_s": feed.period_s,
        "jitter_s": feed.jitter_s,
        "out_since": moment(feed.silent_since_s) if running else None,
        "came_back": moment(feed.came_back_s),
        "error": feed.error,
    }


def misfit_record(misfit: Misfit | None) -> dict[str, Any] | None:
    """A partition that no longer fits, as JSON."""
    if misfit is None:
        return None
    return {
        "partition": misfit.partition,
        "since": moment(misfit.since_s),
        "what": misfit.what,
    }


def backfill_record(item: BackfillStatus) -> dict[str, Any]:
    """One backfill as JSON."""
    return {
        "table": item.table,
        "from": moment(item.from_s),
        "to": moment(item.to_s),
        "asked": moment(item.asked_s),
        "state": item.state,
        "ended": moment(item.ended_s),
        "error": item.error,
    }


def watched_record(item: WatchedTable, *, running: bool) -> dict[str, Any]:
    """What is added to a table's JSON."""
    violations = item.violations
    return {
        "mode": item.mode if running else None,
        "catching_up": None
        if item.recovery is None or not running
        else _recovery_record(item.recovery),
        "newest": moment(item.newest_s),
        "bounds_s": dict(item.bounds_s),
        "worst_s": dict(item.worst_s),
        "violations": None
        if violations is None
        else {"count": sum(violations.values()), "reasons": dict(violations)},
    }


def _recovery_record(item: Recovery) -> dict[str, Any]:
    return {
        "since": moment(item.since_s),
        "backlog_s": item.backlog_s,
        "fresh_first": moment(item.first_s),
        "fresh": moment(item.fresh_s),
        "at_the_latest": moment(item.bound_s),
        "waits_for_capacity": item.waits,
    }


def watched_remarks(found: WarehouseStatus) -> list[str]:
    """What people should know, a line each."""
    lines = []
    now_s = found.now_s
    if (misfit := found.misfit) is not None:
        lines.append(
            f"partition {misfit.partition}: no longer fits what updates cost, since "
            f"{clock(misfit.since_s, now_s)}: {misfit.what}; set tracks, or use another partition"
        )
    if found.run.running:
        for feed in found.feeds:
            if feed.silent_since_s is not None:
                due = f", expected every {brief_s(feed.period_s)}" if feed.period_s else ""
                lines.append(
                    f"feed {feed.name}: silent, nothing since"
                    f" {clock(feed.silent_since_s, now_s)}{due}"
                )
    lines += [feed.error for feed in found.feeds if feed.error is not None]
    lines += [
        f"{each.table}: a backfill of {clock(each.from_s)} to {clock(each.to_s)} is {each.state}"
        for each in found.backfills
        if each.ended_s is None
    ]
    there = {item.name for item in found.tables if item.state != "dropped"}
    lines += [
        f"{each.table}: {each.given_up}; `freshline backfill` asks for it again,"
        f" `freshline retry {each.table}` ends this"
        for each in found.backfills
        if each.given_up and each.table in there
    ]
    for table in found.tables:
        item = found.watched_table(table.name)
        if item.recovery is not None and found.run.running:
            lines.append(f"{table.name}: {_catching_up(item, item.recovery, now_s)}")
        if item.newest_s is not None:
            lines.append(
                f"{table.name}: holds data up to {clock(item.newest_s, now_s)}, complete up to"
                " where it is fresh to; older files follow as there is capacity"
            )
        if item.violations:
            times = counted(sum(item.violations.values()), "time")
            why = ", ".join(f"{reason}: {count}" for reason, count in item.violations.items())
            lines.append(f"{table.name}: past its bounds {times} in this run ({why})")
            if item.last_violation:
                lines.append(f"{table.name}: last {item.last_violation}")
    return lines


def _catching_up(item: WatchedTable, recovery: Recovery, now_s: float) -> str:
    mode = f"{item.mode}, " if item.mode not in (None, "normal", "waiting") else ""
    text = f"{mode}catching up, {brief_s(recovery.backlog_s)} behind"
    if recovery.waits:
        text += ", waits for capacity"
    if recovery.fresh_s is None:
        return f"{text}; no end in sight at what updates cost"
    text += f", fresh again about {clock(recovery.fresh_s, now_s)}"
    if recovery.first_s is not None and abs(recovery.first_s - recovery.fresh_s) >= 1.0:
        text += f" (first thought {clock(recovery.first_s, now_s)})"
    return text
