"""Faults in what is said of times: buckets, intervals, joins by time."""

from __future__ import annotations

from tests.spark.mutation.fault import faults_in

BUCKETS = (
    *faults_in(
        "sql/buckets/window_frames.py",
        (
            "ends of a descending frame are not swapped",
            'yield time, (-frame[1], -frame[0]) if ordered.args.get("desc") else frame',
            "yield time, frame",
        ),
        (
            "PRECEDING is read as FOLLOWING",
            "(-span if is_preceding(side) else span)",
            "(span if is_preceding(side) else -span)",
        ),
        (
            "a frame's missing end is its start",
            "hi = (0, 0) if end is None else",
            "hi = lo if end is None else",
        ),
        (
            "a ROWS frame is taken for a RANGE frame",
            "times.time(ordered.this) if is_range(frames[0]) else None",
            "times.time(ordered.this)",
        ),
        (
            "a lag is taken for what its frame says",
            "_IGNORE_FRAMES + _IGNORE_FRAMES_TOO)",
            "_IGNORE_FRAMES)",
        ),
        (
            "a second column of the order is not looked at",
            "len(frames) != 1 or len(orders[0].expressions) != 1",
            "len(frames) != 1",
        ),
        (
            "reads of a window are cut instead of joined",
            "reads[time][source] = hull(reads[time][source], (lo, hi))",
            "reads[time][source] = (lo, hi)",
        ),
    ),
    *faults_in(
        "sql/buckets/conditions.py",
        (
            "less-than leaves out a microsecond more",
            "exp.LT: (-INFINITE, -1)",
            "exp.LT: (-INFINITE, -2)",
        ),
        ("at-least is read as at-most", "exp.GTE: (0, INFINITE)", "exp.GTE: (-INFINITE, 0)"),
        ("unequal is read as equal", "exp.NEQ: (-INFINITE, INFINITE)", "exp.NEQ: (0, 0)"),
        (
            "the high end of BETWEEN is left out of the range",
            '_compare(times, part.this, part.args["high"], exp.LTE)',
            '_compare(times, part.this, part.args["high"], exp.LT)',
        ),
        (
            "sides of an OR count as if both held",
            "if isinstance(condition, exp.And):",
            "if isinstance(condition, exp.And | exp.Or):",
        ),
        ("after <=> a time is never NULL", "if kind is not exp.NullSafeEQ:", "if kind:"),
        ("a FULL JOIN keeps its match on both sides", "if side.full:", "if not side:"),
    ),
    *faults_in(
        "sql/query/null_rejecting.py",
        (
            "NOT IN a query rejects NULL",
            'if isinstance(inner, exp.In) and inner.args.get("query"):',
            "if isinstance(inner, exp.Exists):",
        ),
    ),
    *faults_in(
        "sql/buckets/joins.py",
        (
            "RIGHT JOIN is not turned round",
            'return joined(right, left, "LEFT", condition, zone)',
            'return joined(left, right, "LEFT", condition, zone)',
        ),
        (
            "what a match says holds without one",
            "result = pair if inner else side_by_side(left, right, _both(left, right))",
            "result = pair",
        ),
        (
            "the side that can be missing keeps its NULL rule",
            'if inner or (one is left and side == "LEFT"):',
            "if True:",
        ),
        (
            "a row without a match does not depend on the other side",
            "reads, null_ok = one.depending_on(other, matched, times)",
            "reads, null_ok = one.depending_on(other if inner else Relation(), matched, times)",
        ),
        (
            "times of the missing side are never NULL",
            "result.differences.nonnull -= times_there",
            "result.differences.nonnull |= times_there",
        ),
    ),
    *faults_in(
        "sql/buckets/relation.py",
        (
            "the lower bound is not moved by the link",
            "lo = max(lo, known[0] + reads[source][0])",
            "lo = max(lo, reads[source][0])",
        ),
        (
            "ranges are cut where they should be joined",
            "return min(one[0], other[0]), max(one[1], other[1])",
            "return max(one[0], other[0]), min(one[1], other[1])",
        ),
        (
            "a grid narrows a bound by a step too much",
            "hi - (hi - phase) % step",
            "hi - (hi - phase) % step - step",
        ),
    ),
    *faults_in(
        "sql/buckets/projection.py",
        (
            "a union takes the times of its first branch alone",
            "reads[source] = hull(reads[source], seen) if source in reads else seen",
            "reads[source] = reads.get(source, seen)",
        ),
        ("differences of a union hold in one branch", "*hull(known, also))", "*known)"),
    ),
    *faults_in(
        "sql/buckets/times.py",
        ("an end of a window is its start", "(size_us, size_us), kind)", "(0, 0), kind)"),
        (
            "a sliding window is as long as its slide",
            "size_us = lengths[0]",
            "size_us = lengths[-1]",
        ),
        (
            "an interval is added where it is taken away",
            "base, -span if isinstance(node, exp.Sub) else span, times.kind(base))",
            "base, span, times.kind(base))",
        ),
        (
            "date_sub goes forward",
            (
                "def _whole(node: exp.Expr) -> int | None:\n"
                '    """A whole number written as a literal, perhaps times minus one."""\n'
                "    node = node.unnest()\n    if isinstance(node, exp.Neg):\n"
                "        inner = _whole(node.this)\n"
                "        return None if inner is None else -inner"
            ),
            (
                "def _whole(node: exp.Expr) -> int | None:\n"
                '    """A whole number written as a literal, perhaps times minus one."""\n'
                "    node = node.unnest()\n    if isinstance(node, exp.Neg):\n"
                "        inner = _whole(node.this)\n        return None if inner is None else inner"
            ),
        ),
        (
            "a month ends after 28 days",
            "(-DAY_US - bend, 30 * DAY_US + bend)",
            "(-DAY_US - bend, 27 * DAY_US + bend)",
        ),
        (
            "a time bucket ends early",
            "(1 - length_us - bend, bend)",
            "(2 - length_us - bend, bend)",
        ),
        (
            "greatest is taken for its least bound",
            "max if isinstance(node, exp.Greatest) else min",
            "min",
        ),
        (
            "coalesce is its first argument",
            "        return one  # NULL together\n",
            "        return one  # NULL together\n    if one:\n        return one\n",
        ),
        (
            "a date begins at the time itself",
            "change = _sum(change, date_us(times.zone))",
            "change = _sum(change, (0, 0))",
        ),
    ),
    *faults_in(
        "sql/query/calendar.py",
        (
            "an hour ends a microsecond early",
            "return 1 - length_us - zone.longer_us(length_us), zone.later_us(length_us)",
            "return 2 - length_us - zone.longer_us(length_us), zone.later_us(length_us)",
        ),
        (
            "clocks that are put back do not count",
            "return 1 - length_us - zone.longer_us(length_us), zone.later_us(length_us)",
            "return 1 - length_us, zone.later_us(length_us)",
        ),
        ("a quarter has 91 days", '"QUARTER": 92', '"QUARTER": 91'),
        (
            "a day of an interval is 24 hours where clocks change",
            "bend_us = 0 if zone is None or self.is_fixed else zone.spread_us",
            "bend_us = 0",
        ),
        (
            "a minus before an interval is lost",
            "return -span if negative and span is not None else span",
            "return span",
        ),
        (
            "two intervals are added where one is taken away",
            "return left + right if isinstance(node, exp.Add) else left + -right",
            "return left + right",
        ),
        (
            "minutes of INTERVAL DAY TO SECOND are seconds",
            "int(minutes) * MINUTE_US",
            "int(minutes) * _SECOND_US",
        ),
    ),
    *faults_in(
        "sql/buckets/walk.py",
        (
            "a LIMIT is passed over",
            "if is_limited(node) and self._moves(body):",
            "if is_limited(node) and not self._moves(body):",
        ),
        (
            "a subquery in WHERE is not looked at",
            (
                "for query in _subqueries_of(select):\n"
                "            self._watch(query, relation, kept)"
            ),
            "for query in ():\n            self._watch(query, relation, kept)",
        ),
        (
            "ROLLUP's keys count as keys of every row",
            "for key in common_keys(select):",
            "for key in group_keys(select):",
        ),
        (
            "any time of a source counts as its event time",
            "elif column.lower() == self.columns[source.name]:",
            "elif column:",
        ),
        (
            "a NOT EXISTS is read as EXISTS",
            "and id(holder) in kept and _needs_rows(body):\n            # True",
            "and _needs_rows(body):\n            # True",
        ),
    ),
)
