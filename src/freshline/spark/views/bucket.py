"""Bucket-recompute: the user's own query for the buckets that changes touch, and no others.

Event times of the change rows -> buckets that can differ -> rows on which those depend -> the
query over just these rows -> its output in just those buckets, which replaces them. The
intervals come from analysis (:class:`freshline.sql.query.records.Buckets`); a wider set of
buckets or rows is as right, only dearer, so they are rounded outwards freely.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.failpoints import goes_wrong
from freshline.spark.commits.replacement import replace
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import kind_of, same_columns
from freshline.spark.views.emission import Emission, emission
from freshline.spark.views.incremental import (
    Increment,
    NotIncrementalError,
    Parent,
    StagedUpdate,
)
from freshline.spark.views.timesets import (
    MOST_INTERVALS,
    TimeSet,
    changed_by,
    covered,
    earlier,
    microseconds,
    read_by,
    replaced_rows,
    spread_us,
    time_set,
    within,
)
from freshline.sql.query.records import Buckets

_BIN_US = 3_600_000_000
"""Change rows are summed up by the hour: their first and last time in it are enough."""


def recompute(increment: Increment) -> StagedUpdate:
    """Write the buckets that the parents' changes touch anew."""
    buckets = increment.plan.buckets
    assert isinstance(buckets, Buckets)
    kind = kind_of(increment.schema, buckets.column)
    zone = increment.zone
    touched = _touched(increment, buckets)
    if goes_wrong("buckets.narrowed"):
        touched = TimeSet(tuple((lo + (hi - lo) // 2, hi) for lo, hi in touched.intervals))
    shown, again = None, TimeSet()
    more: dict[str, Any] = {}
    if increment.table.emit == "final":
        shown = emission(
            increment.project,
            increment.table,
            increment.request.parents,
            increment.plan,
            spread_us(kind, zone),
        )
        touched, again = _shown(increment, shown, touched, spread_us(kind, zone))
        more = {**shown.facts(buckets.column), "corrected": 0}
    predicate = within(buckets.column, kind, touched, zone)
    if predicate == "false":
        return StagedUpdate(None, more)
    if shown is not None:
        predicate = f"{predicate} AND {within(buckets.column, kind, shown.buckets, zone)}"
    if kind == "timestamp" and len(touched.intervals) <= MOST_INTERVALS:
        more = {**more, **replaced_rows(buckets.column, touched)}
    apart = earlier(buckets.column, kind, touched, zone)
    touched = covered(kind, touched, zone)
    for parent in increment.parents:
        reads = buckets.reads.get(parent.name.lower())
        if reads is None:  # named in a WITH query that nothing reads
            increment.register(parent.name, parent.frame)
            continue
        wanted = read_by(touched, reads)
        rows = parent.frame.filter(within(reads.column, parent.kind(reads.column), wanted, zone))
        increment.register(parent.name, rows)
    output = jvm.query(increment.session, increment.query)
    if not same_columns(output.schema, increment.schema):
        raise NotIncrementalError("schema-changed")
    corrected = {"corrected": within(buckets.column, kind, again, zone)} if again else {}
    replaced = replace(
        increment.transaction,
        output.filter(predicate),
        predicate,
        configuration=increment.project.configuration,
        input_bytes=increment.input_bytes(output),
        counted=corrected,
        apart=apart,
    )
    return StagedUpdate(replaced.staged, {**more, **replaced.facts})


def _touched(increment: Increment, buckets: Buckets) -> TimeSet:
    """The buckets that can differ, from the event times of all change rows."""
    touched, unknown = logged_buckets(increment, buckets)
    if not unknown:
        return touched
    times = [
        _times(parent, buckets.reads[parent.name.lower()].column).select(
            F.lit(number).alias("parent"), "bin", "first", "last"
        )
        for number, parent in enumerate(unknown)
    ]
    rows = reduce(DataFrame.unionAll, times).collect()
    for number, parent in enumerate(unknown):
        mine = [row for row in rows if row["parent"] == number]
        at = time_set(
            ((row["first"], row["last"]) for row in mine if row["bin"] is not None),
            null=any(row["bin"] is None for row in mine),
            most=len(mine),
        )
        reads = buckets.reads[parent.name.lower()]
        touched = touched.either(changed_by(at, reads))
    return touched


def logged_buckets(increment: Increment, buckets: Buckets) -> tuple[TimeSet, list[Parent]]:
    """The buckets that can differ by what the log says, and the parents whose rows must be read."""
    touched, unknown = TimeSet(), []
    for parent in increment.parents:
        reads = buckets.reads.get(parent.name.lower())
        if reads is None or not parent.changes.some:
            continue
        at = _logged_times(parent, reads.column)
        if at is None:
            unknown.append(parent)
        else:
            touched = touched.either(changed_by(at, reads))
    return touched, unknown


def _logged_times(parent: Parent, column: str) -> TimeSet | None:
    """The event times of the change rows as the log knows them; None: they must be read.

    What commits say that replaced the rows of such times, or the files' statistics, which are good
    enough where no file spans more time than one of the bins that reading would tell.
    """
    if parent.kind(column) != "timestamp":
        return None
    replaced = parent.changes.replaced_us(column)
    if replaced is not None:
        spans_us, null = replaced
        return time_set(spans_us, null=null, most=max(1, len(spans_us)))
    told = parent.changes.times_us(column)
    if told is None:
        return None
    spans = [span for span, _ in told if span is not None]
    if any(last - first >= _BIN_US for first, last in spans):
        return None
    return time_set(spans, null=any(null for _, null in told), most=max(1, len(spans)))


def _times(parent: Parent, column: str) -> DataFrame:
    """The first and the last event time of each hour's change rows; NULL is an hour too."""
    time_us = microseconds(column, parent.kind(column))
    times = parent.changes.all(parent.schema).selectExpr(f"{time_us} AS time_us")
    return times.groupBy(F.expr(f"time_us DIV {_BIN_US}").alias("bin")).agg(
        F.min("time_us").alias("first"), F.max("time_us").alias("last")
    )


def _shown(
    increment: Increment, shown: Emission, touched: TimeSet, spread: int
) -> tuple[TimeSet, TimeSet]:
    """What has to be written of what is touched, and what of that was shown before."""
    facts, buckets = increment.last.metadata, increment.plan.buckets
    assert isinstance(buckets, Buckets)
    # Another column of the view holds its buckets where a parent's freshline.time changed.
    if facts.get("emitted_by", buckets.column) != buckets.column:
        raise NotIncrementalError("parent-redefined")
    before_us = facts.get("emitted_us")
    if before_us is None or before_us > shown.until_us:
        raise NotIncrementalError("parent-went-back")
    again = TimeSet(touched.until(before_us).intervals)
    if before_us < shown.until_us:
        touched = touched.either(TimeSet(((before_us + 1, shown.until_us),)))
    return touched.until(shown.until_us + spread), again
