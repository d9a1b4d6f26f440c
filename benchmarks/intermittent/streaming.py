"""The same queries under Structured Streaming: a query each, all on the same two cores.

Sources are the streams' Delta tables, whose versions appear by the clock; each query writes a
Delta table of its own. Complete mode where a query reads one stream; where it joins both, append
mode, whose rows come when the watermark passes the window's end: rows that come right after the
last slice see to that.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.intermittent.batches import Reports
from benchmarks.intermittent.queries import ARRIVED, JOINED, STREAMS, over, streams_of, text
from benchmarks.intermittent.revealed import Clock, Revealed
from benchmarks.intermittent.slices import Slices
from benchmarks.intermittent.timed import Outcome, Wanted
from freshline.spark.engine.sizing import COMPILED

_SETTINGS = {
    **COMPILED,  # here the batches are of many sizes
    "spark.sql.shuffle.partitions": "2",  # a slot each, instead of Spark's 200
    "spark.sql.streaming.numRecentProgressUpdates": "2000",
}
_LATE = "5 minutes"
"""How far the streams may be apart, and their watermarks behind, as the rows' times say."""
_WINDOW = "1 day"
_POLL_S = 0.25
_MOST_LATE_S = 300.0


class FailedError(Exception):
    """A streaming query ended with an error; says which and why."""


@dataclass(frozen=True, slots=True)
class _Follower:
    """One query under way, or one that has ended."""

    name: str
    query: StreamingQuery
    result: Path
    rows: int

    def done_s(self) -> float | None:
        """When its result was complete, seconds since the epoch; None: not yet."""
        if self.name in JOINED:
            return _first_rows_s(self.result)
        seen = 0
        for progress in self.query.recentProgress:
            seen += progress.numInputRows
            if seen >= self.rows:
                began_s = datetime.fromisoformat(progress.timestamp).timestamp()
                return began_s + progress.batchDuration / 1e3
        return None


def run(
    reports: Reports,
    session: SparkSession,
    wanted: Sequence[Wanted],
    how: str,
    trigger_s: float | None,
    window_s: float,
    folder: Path,
) -> Outcome:
    """Make all reports of the set once.

    Args:
        reports: For what they read, and what they cost.
        session: Theirs.
        wanted: The set.
        how: A name for this way.
        trigger_s: Between micro-batches, 0: one after the other; None: all at the window's end
            (``availableNow``).
        window_s: Length of the window.
        folder: Its own, not there yet.

    Returns:
        What came of it; a report that was not complete after so long is infinitely late, and
        what its query took until then counts.

    Raises:
        FailedError: A query failed.
        RuntimeError: A result is wrong.
    """
    slices = reports.slices
    own = session.newSession()
    for name, value in _SETTINGS.items():
        own.conf.set(name, value)
    plain, flushed = (
        {name: Revealed(_table(slices, name), folder / kind / name) for name in STREAMS}
        for kind in ("plain", "flushed")
    )
    times_s = [window_s * (number + 1) / slices.count for number in range(slices.count)]
    started: list[_Follower] = []
    try:
        if trigger_s is not None:
            started = _start(
                own,
                slices,
                wanted,
                folder,
                {"processingTime": f"{round(1e3 * trigger_s)} milliseconds"},
            )
            for each in started:
                _first(each)
        before, began_s, now_s = reports.tasks(), time.monotonic(), time.time()
        if trigger_s is None:  # nothing is done before the window's end, so it is that now
            began_s, now_s = began_s - window_s, now_s - window_s
        clocks = [
            Clock(list(plain.values()), times_s, began_s),
            Clock(list(flushed.values()), [*times_s, window_s], began_s),
        ]
        for clock in clocks:
            clock.start()
        for clock in clocks:
            clock.join()
        if trigger_s is None:
            started = _start(own, slices, wanted, folder, {"availableNow": True})
        done_s = _wait(started)
    finally:
        for each in started:
            each.query.stop()
    outcome = Outcome(how, tasks=reports.tasks() - before)
    due_s = {each.query: each.deadline_s for each in wanted}
    for each in started:
        outcome.late_s[each.name] = done_s[each.name] - now_s - due_s[each.name]
        outcome.batches[each.name] = sum(
            progress.numInputRows > 0 for progress in each.query.recentProgress
        )
        if done_s[each.name] < math.inf:
            slices.check(each.name, each.result)
    return outcome


def _start(
    session: SparkSession,
    slices: Slices,
    wanted: Sequence[Wanted],
    folder: Path,
    trigger: dict[str, Any],
) -> list[_Follower]:
    started: list[_Follower] = []
    for each in wanted:
        name = each.query
        joined = name in JOINED
        for stream in STREAMS:
            frame = _stream(session, folder / ("flushed" if joined else "plain") / stream)
            if joined:
                frame = frame.withWatermark(ARRIVED[stream], _LATE)
            frame.createOrReplaceTempView(stream)
        query = text(name)
        if joined:
            query = JOINED[name].format(bound=f"INTERVAL {_LATE}", window=_WINDOW)
        result = folder / "result" / name
        rows = sum(slices.rows[stream] for stream in streams_of(name))
        try:
            writer = session.sql(over(query, slices.statics)).writeStream.format("delta")
            writer = writer.outputMode("append" if joined else "complete").trigger(**trigger)
            writer = writer.option("checkpointLocation", str(folder / "checkpoint" / name))
            running = writer.queryName(name).start(str(result))
        except PySparkException as error:
            for other in started:
                other.query.stop()
            raise FailedError(f"{name}: {str(error).splitlines()[0]}") from error
        started.append(_Follower(name, running, result, rows))
    return started


def _first(started: _Follower) -> None:
    """Let a query do what there is before the window, which is nothing."""
    try:
        started.query.processAllAvailable()
    except PySparkException as error:
        raise FailedError(f"{started.name}: {str(error).splitlines()[0]}") from error


def _stream(session: SparkSession, path: Path) -> DataFrame:
    return session.readStream.format("delta").load(str(path))


def _table(slices: Slices, name: str) -> Path:
    return Path(slices.project.table_path(name))


def _wait(started: Sequence[_Follower]) -> dict[str, float]:
    """Until every result is complete or it has been long enough; when each was."""
    until_s = time.monotonic() + _MOST_LATE_S
    done: dict[str, float] = {}
    while len(done) < len(started):
        for each in started:
            if each.name in done:
                continue
            failure = each.query.exception()
            if failure is not None:
                raise FailedError(f"{each.name}: {str(failure).splitlines()[0]}")
            at_s = each.done_s()
            if at_s is not None:
                done[each.name] = at_s
        if time.monotonic() > until_s:
            break
        time.sleep(_POLL_S)
    return {each.name: done.get(each.name, math.inf) for each in started}


def _first_rows_s(table: Path) -> float | None:
    """When a table first had rows; None: it has none."""
    for entry in sorted((table / "_delta_log").glob("*.json")):
        for line in entry.read_text().splitlines():
            added = json.loads(line).get("add")
            if added is not None and json.loads(added["stats"])["numRecords"] > 0:
                return entry.stat().st_mtime
    return None
