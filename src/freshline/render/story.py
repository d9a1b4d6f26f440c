"""A table's updates as sentences and as JSON, for ``freshline story`` and the page."""

from __future__ import annotations

from collections import Counter
from typing import Any

from freshline.render.output import clock, counted, moment
from freshline.runtime.status.story import UpdateStory
from freshline.times import brief_s

_NAMED = 3


def told(name: str, chapter: UpdateStory) -> str:
    """One update as sentences, a line each."""
    attempt = f", attempt {chapter.attempt}" if chapter.attempt > 1 else ""
    lines = [f"{name}, update {chapter.number}{attempt}: {_ended(chapter)}"]
    start = f"{clock(chapter.started_s)} UTC on track {chapter.track}"
    if chapter.released_s is None or chapter.waited_s is None:
        lines.append(f"Started {start}; nothing had to arrive for it.")
    else:
        failed = ""
        if chapter.failed_s is not None:
            failed = f" since an attempt failed at {clock(chapter.failed_s, chapter.started_s)}"
        lines.append(
            f"Pending since {clock(chapter.released_s, chapter.started_s)},"
            f" started {start} (waited {brief_s(chapter.waited_s)}{failed})."
        )
    lines.append(_loads(chapter))
    over = "; ".join(f"{each.table} ({each.score})" for each in chapter.over)
    asked = chapter.score == "asked for"
    lines.append("Requested by a user." if asked else f"Chosen with {chapter.score}.")
    lines.append(f"Passed over: {over}." if over else "Nothing else was waiting.")
    if chapter.meanwhile:
        lines.append(_meanwhile(chapter))
    if chapter.seconds is not None:
        lines.append(f"Took {chapter.seconds:.2f} s (estimate {chapter.expected_s:.2f} s).")
    if chapter.strategy:
        lines.append(f"Strategy {chapter.strategy}: {chapter.reason}.")
    return "\n  ".join(lines)


def _ended(chapter: UpdateStory) -> str:
    if chapter.state == "done":
        rejected = f", {chapter.rejected_rows:,} rejected" if chapter.rejected_rows else ""
        return f"version {chapter.version}, {counted(chapter.rows or 0, 'row')}{rejected}"
    if chapter.state == "running":
        return "still running"
    return f"{chapter.state}: {chapter.error}"


def _loads(chapter: UpdateStory) -> str:
    advanced = "Advanced" if chapter.state == "done" else "Would advance"
    what = "rebuilt in full" if chapter.full else f"{brief_s(chapter.to_s - chapter.from_s)} more"
    if chapter.files is not None:
        source = f" from {counted(chapter.files, 'file')}"
    elif chapter.parents:
        pins = ", ".join(f"{name} version {version}" for name, version in chapter.parents)
        source = f" from {pins}"
    else:
        source = ""
    start, end = (clock(each, chapter.started_s) for each in (chapter.from_s, chapter.to_s))
    return f"{advanced} freshness {start} -> {end}: {what}{source}."


def _meanwhile(chapter: UpdateStory) -> str:
    """Who held the tracks, by the time each took of the waiting."""
    held: dict[str, float] = {}
    updates: Counter[str] = Counter()
    for each in chapter.meanwhile:
        held[each.table] = held.get(each.table, 0.0) + each.overlap_s
        updates[each.table] += 1
    named = [
        f"{name} ({counted(updates[name], 'update')}, {brief_s(held_s)})"
        for name, held_s in sorted(held.items(), key=lambda item: -item[1])[:_NAMED]
    ]
    if len(held) > _NAMED:
        named.append(counted(len(held) - _NAMED, "other table"))
    return f"While it waited, the tracks ran {', '.join(named)}."


def chapter_record(chapter: UpdateStory) -> dict[str, Any]:
    """One update as JSON."""
    return {
        "number": chapter.number,
        "attempt": chapter.attempt,
        "state": chapter.state,
        "track": chapter.track,
        "released": moment(chapter.released_s),
        "started": moment(chapter.started_s),
        "finished": moment(chapter.finished_s),
        "waited_s": chapter.waited_s,
        "seconds": chapter.seconds,
        "expected_s": chapter.expected_s,
        "from": moment(chapter.from_s),
        "to": moment(chapter.to_s),
        "files": chapter.files,
        "rows": chapter.rows,
        "rejected_rows": chapter.rejected_rows,
        "version": chapter.version,
        "full": chapter.full,
        "strategy": chapter.strategy,
        "reason": chapter.reason,
        "error": chapter.error,
        "parents": dict(chapter.parents),
        "score": chapter.score,
        "passed_over": [{"table": each.table, "score": each.score} for each in chapter.over],
        "meanwhile": [
            {
                "table": each.table,
                "number": each.number,
                "track": each.track,
                "started": moment(each.started_s),
                "finished": moment(each.finished_s),
                "overlap_s": each.overlap_s,
            }
            for each in chapter.meanwhile
        ],
    }
