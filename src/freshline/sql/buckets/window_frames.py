"""Window functions: which other rows a row's value depends on, by their times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from freshline.sql.buckets.relation import ANYWHERE, Range, Relation, hull
from freshline.sql.buckets.ties import called, chosen_by_windows, parts_of
from freshline.sql.buckets.times import Times
from freshline.sql.query.calendar import span_of
from freshline.sql.query.records import Reason
from freshline.sql.query.unsupported import text_of
from freshline.sql.query.zone import Zone
from freshline.sql.text.canonical import is_current_row, is_preceding, is_range

_IGNORE_FRAMES = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)
_IGNORE_FRAMES_TOO = (exp.Ntile, exp.Lag, exp.Lead)


def windowed(
    select: exp.Select, windows: Sequence[exp.Expr], relation: Relation, zone: Zone
) -> Reason | None:
    """Makes rows of ``relation`` depend on the rows that ``windows`` look at from them.

    A partition by a time holds rows of that time alone; a RANGE frame over a time holds rows
    within its intervals. Any other window looks at rows of any time.

    Returns:
        Why a bound was lost, or None.
    """
    times, lost = Times(relation, zone), None
    own = relation.own_times()
    reads = {
        time: {source: relation.reads_at(time, source) for source in relation.sources}
        for time in own
    }
    null_ok = {time for time in own if relation.is_null_ok(time)}
    for window in windows:
        assert isinstance(window, exp.Window)
        reach = list(_reach(window, select, times))
        if not reach and lost is None:
            lost = Reason(
                "WINDOW",
                "a window function looks at rows of any time; partition it by the bucket or give "
                "it a RANGE frame of intervals with both ends",
                text_of(window),
            )
        for time in own:
            linked = [
                (name, known, frame)
                for name, frame in reach
                if (known := relation.differences.between(name, time)) is not None
            ]
            for source in relation.sources:
                lo, hi = ANYWHERE
                for name, known, frame in linked:
                    seen = relation.reads_at(name, source)
                    lo = max(lo, known[0] + frame[0] + seen[0])
                    hi = min(hi, known[1] + frame[1] + seen[1])
                reads[time][source] = hull(reads[time][source], (lo, hi))
            if not any(relation.is_null_ok(name) for name, _, _ in linked):
                null_ok.discard(time)
    relation.reads, relation.null_ok = reads, null_ok
    chosen_by_windows(select, windows, relation, times)
    return lost


def _reach(window: exp.Window, select: exp.Select, times: Times) -> Iterator[tuple[str, Range]]:
    """Times by which rows in the window are near: its partition's, and that of its order."""
    named = parts_of(window, select)
    partition = [key for part in named for key in part.args.get("partition_by") or []]
    for key in partition:
        for member in times.fields(key).values():
            yield member, (0, 0)
    function = called(window)
    if isinstance(function, _IGNORE_FRAMES + _IGNORE_FRAMES_TOO):
        return
    orders = [part.args["order"] for part in named if part.args.get("order")]
    frames = [part.args["spec"] for part in named if part.args.get("spec")]
    if len(orders) != 1 or len(frames) != 1 or len(orders[0].expressions) != 1:
        return
    ordered = orders[0].expressions[0]
    time = times.time(ordered.this) if is_range(frames[0]) else None
    if time is None:
        return
    frame = _range_frame(frames[0], times, passes=times.kind(time) != "date")
    if frame is not None:
        yield time, (-frame[1], -frame[0]) if ordered.args.get("desc") else frame


def _range_frame(spec: exp.Expr, times: Times, *, passes: bool) -> Range | None:
    """Bounds of the order's time in a RANGE frame, less the row's own; in ascending order.

    Spark goes through the rows in their order and never back: where an edge lies earlier for a
    row than for one before it, the row has that one's edge. So it is with months (30 January 12:00
    and 31 January 10:00 go to the same day) and where clocks are put back.

    Args:
        spec: The frame.
        times: Of the rows.
        passes: Whether an edge can lie earlier for a later row; of dates it cannot.
    """
    lo = _edge(spec.args.get("start"), spec.args.get("start_side"), times)
    end = spec.args.get("end")
    hi = (0, 0) if end is None else _edge(end, spec.args.get("end_side"), times)
    if lo is None or hi is None:
        return None
    bend = max(lo[1] - lo[0], hi[1] - hi[0]) if passes else 0
    return hull((lo[0], hi[1]), (-bend, 0)) if bend else (lo[0], hi[1])


def _edge(value: object, side: object, times: Times) -> Range | None:
    if is_current_row(value):
        return 0, 0
    span = span_of(value) if isinstance(value, exp.Expr) else None
    if span is None:
        return None
    return (-span if is_preceding(side) else span).bounds_us(times.zone)
