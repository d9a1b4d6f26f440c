"""``/v1/tracks?from=&to=``: what ran on each track, by time."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from starlette.requests import Request

from freshline.runtime.status.measured import utilisation
from freshline.ui.reads.reading import Reader
from freshline.ui.reads.runs import ran_s
from freshline.ui.reads.updates import began_before, behind_id, first_id
from freshline.ui.reads.window import AskedWindow, asked_window
from freshline.ui.views.table import has_page

_MOST = 2000
_COLUMNS = ("id", "track", "table", "number", "start_s", "finish_s", "state", "strategy")


def asked(_: Reader, request: Request) -> AskedWindow:
    """The window."""
    return asked_window(request.query_params)


def answer(reader: Reader, asked_for: AskedWindow) -> dict[str, Any]:
    """The updates that ran in the window, newest 2,000, oldest first; ``tables`` names them.

    ``dropped`` are those among them that the project no longer has.

    ``busy`` is each track's share of ``ran_s``, the part of the window in which a run went on;
    ``needed`` is what the tables need by what their updates cost, in tracks. Where ``cut``, updates
    before ``from_s`` were left out.
    """
    now_s = reader.clock()
    window = asked_for.at(now_s)
    tracks = reader.project.scheduler.tracks
    need = utilisation(reader.project)
    with reader.journal() as journal:
        rows: list[Any] = []
        begun: list[Any] = []
        busy: dict[int, float] = {}
        past_s = 0.0
        if journal is not None:
            first = first_id(journal, window.from_s)
            behind = behind_id(journal, window.to_s, now_s)
            newest = journal.row("SELECT max(id) AS id FROM runs")
            rows = journal.rows(
                "SELECT * FROM updates WHERE id>=? AND id<? ORDER BY id DESC LIMIT ?",
                (first, behind, _MOST + 1),
            )
            end_s = min(window.to_s, now_s)
            alive = newest["id"] if newest is not None and reader.run_now().running else None
            past_s = ran_s(journal, window.from_s, end_s, alive)
            busy_s: defaultdict[int, float] = defaultdict(float)
            for row in journal.rows(
                "SELECT track, sum(min(coalesce(finish_s, ?), ?) - max(start_s, ?)) AS busy_s"
                " FROM updates WHERE id>=? AND id<? AND start_s<?"
                " AND (finish_s>? OR finish_s IS NULL AND run=?) GROUP BY track",
                (end_s, end_s, window.from_s, first, behind, end_s, window.from_s, alive),
            ):
                busy_s[row["track"]] += row["busy_s"]
            running = [each.name for each in reader.status().tables if each.track is not None]
            begun = began_before(journal, first, window.from_s, alive, running)
            for row in begun:
                finish_s = end_s if row["finish_s"] is None else min(row["finish_s"], end_s)
                busy_s[row["track"]] += max(0.0, finish_s - window.from_s)
            for track, seconds in busy_s.items():
                busy[track] = min(1.0, seconds / past_s) if past_s > 0.0 else 0.0
    cut = len(rows) > _MOST
    shown = rows[:_MOST][::-1] if cut else [*begun, *rows[::-1]]
    names: dict[str, int] = {}
    told = []
    for row in shown:
        lost = row["finish_s"] is None and row["state"] != "running"
        if lost or (row["finish_s"] is not None and row["finish_s"] < window.from_s):
            continue
        table = names.setdefault(row["table_name"], len(names))
        told.append(
            [row["id"], row["track"], table, row["number"], round(row["start_s"], 3),
             None if row["finish_s"] is None else round(row["finish_s"], 3), row["state"],
             row["strategy"]]
        )  # fmt: skip
    return {
        "at_s": now_s,
        "from_s": shown[0]["start_s"] if cut else window.from_s,
        "to_s": window.to_s,
        "cut": cut,
        "tracks": max([tracks, *(each + 1 for each in busy)]),
        "ran_s": round(past_s, 3),
        "needed": round(need.tracks_needed, 3),
        "busy": {str(track): round(share, 4) for track, share in sorted(busy.items())},
        "tables": list(names),
        "dropped": [name for name in names if not has_page(reader.project, name)],
        "columns": list(_COLUMNS),
        "updates": told,
    }
