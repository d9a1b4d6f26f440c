"""What ``freshline status`` shows: lines, a table, or one JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from freshline.render.followed import source_record, source_remarks, topic_record, topic_remarks
from freshline.render.output import clock, counted, moment, percent
from freshline.render.report_table import report_record
from freshline.render.strategies import last_use, strategies_record, strategies_remarks, use_of
from freshline.render.verified import wrong_record, wrong_remark
from freshline.render.watched import (
    backfill_record,
    feed_record,
    misfit_record,
    watched_record,
    watched_remarks,
)
from freshline.runtime.journal.strategies import StrategyUse
from freshline.runtime.reports.store import GIVEN_UP, OPEN, standing
from freshline.runtime.requests.backfills import given_up_last
from freshline.runtime.status.blame import reload_error
from freshline.runtime.status.run import RunStatus
from freshline.runtime.status.status import (
    FileTrouble,
    TableStatus,
    WarehouseStatus,
)
from freshline.times import brief_s

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod
    from rich.table import Table
    from rich.text import Text

_MOST_CHANGED = 3
"""So many files that changed are named one by one."""

_NUMBERS = ("stale", "target", "kept", "executor", "pending")
_COLUMNS = ("table", "state", "fresh to (UTC)", *_NUMBERS, "last update", "next")
_LEFT_OUT = ("executor", "kept", "last update", "pending", "fresh to (UTC)", "target", "next")
"""Where there is no room, the first of these first."""
_SHORTENED_TO = {"last update": 15, "next": 16}
_GAP = 2

_COLOURS = {
    "wrong": "bold red",
    "running": "cyan", "fresh": "green", "retrying": "red", "paused": "yellow", "dropped": "dim",
}  # fmt: skip


def headline(found: WarehouseStatus) -> str:
    """One line on the run."""
    run = found.run
    if not run.running:
        if run.since_s is None:
            return f"{found.project}: not running"
        if run.stopped_s is None:
            return f"{found.project}: not running; the last run was killed"
        return f"{found.project}: not running since {clock(run.stopped_s, found.now_s)} UTC"
    since = f" since {clock(run.since_s, found.now_s)} UTC" if run.since_s is not None else ""
    starting = "" if run.ready_s is not None else ", Spark is starting"
    return (
        f"{found.project}: process {run.pid} runs{since}, {counted(run.tracks, 'track')}, "
        f"policy {run.policy}{starting}"
    )


class StatusTable:
    """The tables as a table; a narrow terminal gets fewer columns, which can be read."""

    def __init__(self, found: WarehouseStatus) -> None:
        self._found = found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """As rich asks for it, which knows the width."""
        from rich.cells import cell_len
        from rich.table import Table
        from rich.text import Text

        rows = [self._row(item) for item in self._found.tables]
        widths = {
            name: min(
                max([cell_len(name), *(cell_len(str(row[at])) for row in rows)]),
                _SHORTENED_TO.get(name, options.max_width),
            )
            for at, name in enumerate(_COLUMNS)
        }
        for name in _LEFT_OUT:
            if sum(widths.values()) + _GAP * (len(widths) - 1) > options.max_width:
                del widths[name]
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in widths:
            justify: JustifyMethod = "right" if name in _NUMBERS else "left"
            table.add_column(name, justify=justify, no_wrap=name != "next")
        for row in rows:
            shown = zip(_COLUMNS, row, strict=True)
            table.add_row(*(Text(cell) if isinstance(cell, str) else cell
                            for name, cell in shown if name in widths))  # fmt: skip
        yield table

    def _row(self, item: TableStatus) -> tuple[str | Text, ...]:
        """In the order of the columns."""
        from rich.text import Text

        now_s = self._found.now_s
        missed = "red" if item.within_target is False else ""
        return (
            item.name,
            _shown_state(item),
            "" if item.freshness_s is None else clock(item.freshness_s, now_s),
            Text("" if item.staleness_s is None else brief_s(item.staleness_s), missed),
            "" if item.target_lag_s is None else brief_s(item.target_lag_s),
            _kept(item),
            "" if item.lately is None else brief_s(item.lately.executor_s),
            _pending(item, self._found),
            _last(item, self._found.uses(item.name)),
            item.next,
        )


def remarks(found: WarehouseStatus) -> list[str]:
    """What needs somebody's attention, a line each."""
    lines = []
    for item in found.tables:
        if item.wrong is not None:
            lines.append(wrong_remark(item.wrong, rebuilt=item.rebuilt, now_s=found.now_s))
        if item.error:
            times = counted(item.failures, "failure") if item.failures else "the last failure"
            lines.append(f"{item.name}: {times}: {item.error}")
        quarantined = [each for each in item.troubles if each.state == "quarantined"]
        lines += [f"{item.name}: quarantined {each.name}: {each.reason}" for each in quarantined]
        if quarantined:
            lines.append(f"{item.name}: `freshline retry {item.name}` tries them again")
        vanished = [each for each in item.troubles if each.state == "vanished"]
        lines += [f"{item.name}: {each.name}: {each.reason}" for each in vanished[:_MOST_CHANGED]]
        if len(vanished) > _MOST_CHANGED:
            lines.append(f"{item.name}: {counted(len(vanished), 'file')} vanished in all")
        changed = [each for each in item.troubles if each.state == "changed"]
        lines += [f"{item.name}: {each.name}: {each.reason}" for each in changed[:_MOST_CHANGED]]
        if changed:
            files = counted(len(changed), "file")
            lines.append(
                f"{item.name}: {files} changed after being loaded: `freshline refresh {item.name}"
                f" --full` loads every file again, `freshline accept {item.name}` leaves it so"
            )
        if item.rejected_rows:
            rows = counted(item.rejected_rows, "row does", "rows do")
            lines.append(f"{item.name}: {rows} not fit the schema, see {item.name}__rejected")
        if item.note:
            lines.append(f"{item.name}: {item.note}")
    lines += topic_remarks(found) + source_remarks(found) + strategies_remarks(found)
    if found.alerts.oldest_s is not None:
        events = counted(found.alerts.undelivered, "event")
        since = clock(found.alerts.oldest_s, found.now_s)
        lines.append(f"alerts: {events} not delivered, the oldest since {since}; retrying")
    lines += _unknown(found)
    return lines + watched_remarks(found)


def faults(found: WarehouseStatus) -> list[str]:
    """Why a probe should call somebody, a line each; empty: all is well."""
    lines = [] if found.run.running else [headline(found)]
    lines += _unknown(found)
    for item in found.tables:
        if item.state == "dropped":
            continue
        if item.wrong is not None:
            lines.append(wrong_remark(item.wrong, rebuilt=item.rebuilt, now_s=found.now_s))
        if item.within_target is False:
            stale, target = brief_s(item.staleness_s or 0.0), brief_s(item.target_lag_s or 0.0)
            lines.append(f"{item.name}: late, {stale} stale where the target is {target}")
        if found.unbuilt_late_s(item) is not None:
            names = " and ".join(item.without_data)
            waits = f"it waits for the first data of {names}" if names else item.next
            lines.append(f"{item.name}: never built, {waits}")
        if item.failures:
            lines.append(f"{item.name}: {counted(item.failures, 'failure')}: {item.error}")
        elif (error := reload_error(item)) is not None:
            lines.append(f"{item.name}: the last failure: {error}")
        if (backfill := given_up_last(found.backfills, item.name)) is not None:
            lines.append(f"{item.name}: {backfill.given_up}")
        for word in ("quarantined", "retrying", "changed"):
            files = [each for each in item.troubles if each.state == word]
            if files:
                count = counted(len(files), "file")
                lines.append(f"{item.name}: {count} {word}, {files[0].name}: {files[0].reason}")
    lines += _report_faults(found)
    lines += [f"{item.table}: {item.error}" for item in found.looked_at if item.error is not None]
    return lines + [feed.error for feed in found.feeds if feed.error is not None]


def _unknown(found: WarehouseStatus) -> list[str]:
    """What nobody knows while the storage does not answer."""
    why = found.wrong_unknown
    return [] if why is None else [f"whether views were found wrong is not known now: {why}"]


def _report_faults(found: WarehouseStatus) -> list[str]:
    lines = []
    for report in standing(found.reports):
        if report.state == GIVEN_UP:
            lines.append(f"{report.wanted.name}: given up: {report.error or 'no reason is known'}")
        behind_s = report.behind_s(found.now_s)
        if report.state in OPEN and behind_s is not None:
            why = "" if report.error is None else f": {report.error}"
            lines.append(f"{report.wanted.name}: {brief_s(behind_s)} behind its deadline{why}")
        elif report.state in OPEN and report.error is not None:
            lines.append(f"{report.wanted.name}: failing: {report.error}")
    return lines


def _shown_state(item: TableStatus) -> Text:
    """Its state; one that waits for nothing can still be late."""
    from rich.text import Text

    late = item.state == "fresh" and item.within_target is False
    return Text("late", "red") if late else Text(item.state, _COLOURS.get(item.state, ""))


def status_record(found: WarehouseStatus) -> dict[str, Any]:
    """The whole as JSON."""
    return {
        "at": moment(found.now_s),
        "project": found.project,
        "storage": found.storage,
        "note": found.note,
        "wrong_unknown": found.wrong_unknown,
        "run": _run_record(found.run),
        "partition_misfit": misfit_record(found.misfit),
        "alerts": {
            "told": [
                {"kind": kind, "subject": subject, "at": moment(at_s)}
                for kind, subject, at_s in found.alerts.told
            ],
            "undelivered": found.alerts.undelivered,
        },
        "backfills": [backfill_record(each) for each in found.backfills],
        "reports": [report_record(each, found.now_s) for each in standing(found.reports)],
        "topics": [topic_record(each) for each in found.topics],
        "sources": [source_record(each) for each in found.sources],
        "feeds": [feed_record(feed, running=found.run.running) for feed in found.feeds],
        "tables": [
            table_record(item, found.uses(item.name))
            | strategies_record(found, item.name)
            | watched_record(found.watched_table(item.name), running=found.run.running)
            for item in found.tables
        ],
    }


def table_record(item: TableStatus, uses: Sequence[StrategyUse]) -> dict[str, Any]:
    """One table as JSON."""
    last = item.last_update
    return {
        "name": item.name,
        "kind": item.kind,
        "state": item.state,
        "paused": item.paused,
        "priority": item.priority,
        "freshness": moment(item.freshness_s),
        "staleness_s": _rounded(item.staleness_s),
        "target_lag_s": item.target_lag_s,
        "within_target": item.within_target,
        "lately": None
        if item.lately is None
        else {
            "window_s": _rounded(item.lately.window_s),
            "within_target": _rounded(item.lately.within),
            "executor_s": _rounded(item.lately.executor_s),
        },
        "pending_files": item.pending_files,
        "pending_s": _rounded(item.pending_s),
        "quarantined": _files(item, "quarantined"),
        "retrying": _files(item, "retrying"),
        "vanished": _files(item, "vanished"),
        "changed": _files(item, "changed"),
        "last_update": None
        if last is None
        else {
            "number": last.number,
            "at": moment(last.at_s),
            "seconds": _rounded(last.seconds),
            "rows": last.rows,
            "rejected_rows": last.rejected_rows,
            "strategy": last.strategy,
            "reason": last.reason,
            "version": last.version,
        }
        | last_use(last, uses),
        "updates": item.updates,
        "rejected_rows": item.rejected_rows,
        "failures": item.failures,
        "error": item.error,
        "note": item.note,
        "wrong": None if item.wrong is None else wrong_record(item.wrong, rebuilt=item.rebuilt),
        "expected_s": _rounded(item.expected_s),
        "track": item.track,
        "next": item.next,
    }


def _run_record(run: RunStatus) -> dict[str, Any]:
    return {
        "running": run.running,
        "pid": run.pid,
        "since": moment(run.since_s),
        "ready": moment(run.ready_s),
        "stopped": moment(run.stopped_s),
        "tracks": run.tracks,
        "policy": run.policy,
    }


def _files(item: TableStatus, state: str) -> list[dict[str, Any]]:
    return [_file_record(each) for each in item.troubles if each.state == state]


def _file_record(trouble: FileTrouble) -> dict[str, Any]:
    return {
        "file": trouble.name,
        "reason": trouble.reason,
        "attempts": trouble.attempts,
        "retry": moment(trouble.retry_s),
    }


def _kept(item: TableStatus) -> str:
    """Share of the last day within the target."""
    share = None if item.lately is None else item.lately.within
    return "" if share is None else percent(share)


def _pending(item: TableStatus, found: WarehouseStatus) -> str:
    if item.pending_files:
        word = "file"
        if any(each.table == item.name for each in found.topics):
            word = "range"  # of offsets
        elif any(each.table == item.name for each in found.sources):
            word = "version"
        return counted(item.pending_files, word)
    return brief_s(item.pending_s) if item.pending_s else ""


def _last(item: TableStatus, uses: Sequence[StrategyUse]) -> str:
    last = item.last_update
    if last is None:
        return ""
    use = use_of(last, uses)
    read = f" from {use.last_read_rows:,}" if use is not None and use.last_read_rows else ""
    return f"{last.number}: {last.strategy}, +{last.rows:,} rows{read}, {last.seconds:.2f} s"


def _rounded(seconds: float | None) -> float | None:
    """To the microsecond: more digits are noise."""
    return None if seconds is None else round(seconds, 6)
