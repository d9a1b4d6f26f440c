"""``/v1/tables/NAME/staleness?from=&to=``: how stale a table was, and why."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from freshline.project.lags import target_lags
from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.status.watched import read_watched
from freshline.ui.reads.blame import Attempt, blame
from freshline.ui.reads.reading import Reader
from freshline.ui.reads.updates import commit_after, updates_of
from freshline.ui.reads.window import AskedWindow, Window, asked_window
from freshline.ui.views.table import known_name

_MOST = 1000
_COLUMNS = (
    "number", "state", "release_s", "start_s", "finish_s", "from_s", "to_s", "strategy", "rows",
    "seconds",
)  # fmt: skip


def asked(reader: Reader, request: Request) -> tuple[str, AskedWindow]:
    """Table and window."""
    name = known_name(reader.project, request.path_params["name"])
    return name, asked_window(request.query_params)


def answer(reader: Reader, asked_for: tuple[str, AskedWindow]) -> dict[str, Any]:
    """The steps of its freshness, and the parts of its staleness.

    Between the steps staleness grows by a second a second: ``fresh_to_s`` is what the table was
    fresh to when the window began, each committed step takes it from ``from_s`` to ``to_s`` at
    ``finish_s``.
    """
    name, asked_window_ = asked_for
    now_s = reader.clock()
    window = asked_window_.at(now_s)
    project = reader.project
    with reader.journal() as journal:
        rows, cut = (
            ([], False) if journal is None else updates_of(journal, name, window, now_s, _MOST)
        )
        shown = Window(rows[0]["start_s"], window.to_s) if cut else window
        table = None if journal is None else _table(journal, name)
        fresh_s = _fresh_before(rows, shown)
        if journal is not None and not any(row["state"] == "done" for row in rows):
            fresh_s = _fresh_around(journal, name, shown, now_s, table)
        bound_s = None
        if journal is not None and (watched := read_watched(journal).get(name)):
            bound_s = watched.bounds_s.get("staleness")
    attempts = [_attempt(row) for row in rows]
    end_s = min(shown.to_s, now_s)
    if table is not None and table["since_s"] is not None and end_s > table["since_s"]:
        ahead_s = max(table["trailing_edge_s"] or 0.0, table["freshness_s"] or 0.0)
        attempts.append(Attempt(table["since_s"], None, None, ahead_s, done=False))
    parts = blame(fresh_s, attempts, shown.from_s, max(shown.from_s, end_s))
    return {
        "table": name,
        "at_s": now_s,
        "from_s": shown.from_s,
        "to_s": shown.to_s,
        "cut": cut,
        "target_lag_s": target_lags(project).get(name),
        "bound_s": bound_s,
        "fresh_to_s": fresh_s,
        "columns": list(_COLUMNS),
        "steps": [[row[column] for column in _COLUMNS] for row in rows],
        "blame": {
            "staleness_s": round(parts.staleness_s, 3),
            "source_s": round(parts.source_s, 3),
            "waiting_s": round(parts.waiting_s, 3),
            "working_s": round(parts.working_s, 3),
            "source": _source(reader, name),
        },
    }


def _fresh_before(rows: list[Row], window: Window) -> float | None:
    """F when the window began; None: no data yet."""
    done = [row for row in rows if row["state"] == "done"]
    before = [row["to_s"] for row in done if row["finish_s"] <= window.from_s]
    if before:
        return float(max(before))
    # The first of them all began without data: its from_s says nothing.
    if done and done[0]["number"] > 1:
        return float(done[0]["from_s"])
    return None


def _fresh_around(
    journal: Journal, name: str, window: Window, now_s: float, table: Row | None
) -> float | None:
    """F of a table of which the journal has no commit up to the window's end.

    The next one says what it was; where there is none, it is as fresh as it was: the journal was
    lost since its last commit.
    """
    following = commit_after(journal, name, window.to_s, now_s)
    if following is not None:
        return float(following["from_s"]) if following["number"] > 1 else None
    return None if table is None or table["version"] is None else table["freshness_s"]


def _attempt(row: Row) -> Attempt:
    release_s = row["release_s"]
    if release_s is not None and release_s > row["start_s"]:
        release_s = None  # it was asked for without news
    lost = row["finish_s"] is None and row["state"] != "running"
    return Attempt(
        release_s,
        None if lost else row["start_s"],
        row["finish_s"],
        row["to_s"],
        done=row["state"] == "done",
    )


def _table(journal: Journal, name: str) -> Row | None:
    return journal.row(
        "SELECT since_s, trailing_edge_s, freshness_s, version FROM tables WHERE name=?", (name,)
    )


def _source(reader: Reader, name: str) -> dict[str, Any]:
    """What the source's part is due to: the feed, or the parent that is least fresh now."""
    table = reader.project.table(name)
    if table.feed is not None:
        return {"kind": "feed", "name": table.feed}
    parents = list(table.parents)
    with reader.journal() as journal:
        if journal is not None and len(parents) > 1:
            marks = ",".join("?" * len(parents))
            row = journal.row(
                f"SELECT name FROM tables WHERE name IN ({marks}) ORDER BY freshness_s LIMIT 1",
                parents,
            )
            if row is not None:
                return {"kind": "table", "name": row["name"]}
    return {"kind": "table", "name": parents[0] if parents else None}
