"""How the rows of a function that streams tables of the pipeline differ from what Spark appends.

The same as :mod:`freshline.sql.text.appended`, for a plan of Spark's in the place of a text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from freshline.core.errors import Place, UserError
from freshline.spark.engine import jvm
from freshline.sql.text.appended import CLOCK_STEP, CORRECTED, LIMIT_STEP, RULE, WATERMARK_STEP
from freshline.sql.text.reads import backquoted

ROW_WISE = frozenset(
    {
        "Project", "Filter", "Generate", "SubqueryAlias", "View", "LocalRelation", "LogicalRDD",
        "EventTimeWatermark", "Expand", "ResolvedHint", "UnresolvedHint", "RepartitionByExpression",
        "Repartition", "TypedFilter", "SerializeFromObject", "MapElements", "DeserializeToObject",
        "BatchEvalPython", "ArrowEvalPython",
    }
)  # fmt: skip
"""Operators of Spark's that make rows of each row by itself."""
_SAME_ROWS = ROW_WISE | {
    "Union", "Sort", "WithCTE", "CTERelationDef", "CTERelationRef", "MapInPandas", "MapInArrow",
    "UnresolvedSubqueryColumnAliases", "OneRowRelation",
}  # fmt: skip
_COUNTING = frozenset({"GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"})
_WATERMARKED = frozenset({"DeduplicateWithinWatermark"})
CURRENT_LIKE = "org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE"


def operators(frame: DataFrame) -> list[str]:
    """The names of the operators of a frame's plan, from the root down."""
    return _operators(jvm.java_frame(frame).queryExecution().analyzed())


def _operators(plan: Any) -> list[str]:
    found = [str(plan.nodeName())]
    for child in jvm.elements(plan.children()):
        found += _operators(child)
    return found


def whole_of_stream(
    frame: DataFrame, acted: Sequence[tuple[str, DataFrame]], views: Collection[str]
) -> str | None:
    """What looks at all rows of a stream at once, beside the operators of the plan, or None.

    Args:
        frame: What the function returned.
        acted: What the function computed while it ran: a DataFrame's method, and the DataFrame.
        views: Those that show the stream's rows.
    """
    plan = jvm.java_frame(frame).queryExecution().analyzed()
    if any(_reads(each, views) for each in jvm.elements(plan.subqueriesAll())):
        return "a subquery over the stream"
    for method, each in acted:
        if _reads(jvm.java_frame(each).queryExecution().analyzed(), views):
            return f"{method} of what the stream has"
    return None


def _reads(plan: Any, views: Collection[str]) -> bool:
    """Whether a plan, or a subquery in it, reads one of these views."""
    text = str(plan.toString()).lower()
    return any(f"view ({backquoted(view)},".lower() in text for view in views)


def asks_clock(session: SparkSession, plan: Any) -> bool:
    """Whether a plan asks what time it is, or who runs it."""
    return bool(plan.containsPattern(jvm.named(session, CURRENT_LIKE)()))


def asks(session: SparkSession, plan: Any) -> str | None:
    """That a plan asks for what is another thing each time, or None."""
    if asks_clock(session, plan):
        return "asks the clock, or who runs it"
    return None if plan.deterministic() else "depends on chance"


def difference(
    session: SparkSession, frame: DataFrame, beside: Sequence[str], *, watermark: bool
) -> str | None:
    """How the rows differ, a sentence; None: not at all.

    Args:
        session: Any.
        frame: What the function returned, over tables without rows.
        beside: Datasets that it reads and does not stream.
        watermark: What it streams has a watermark.

    Raises:
        RefusalError: No query over all rows is that table.
    """
    plan = jvm.java_frame(frame).queryExecution().analyzed()
    if (asked := asks(session, plan)) is not None:
        raise RefusalError(asked, CLOCK_STEP)
    found = _operators(plan)
    if counting := [name for name in found if name in _COUNTING]:
        raise RefusalError(f"takes some of the rows: {counting[0]}", LIMIT_STEP)
    strange = [name for name in found if name not in _SAME_ROWS]
    joins = [name for name in strange if name == "Join"]
    stateful = [name for name in strange if name != "Join" or not beside]
    if stateful and (watermark or _WATERMARKED & set(found)):
        raise RefusalError("has a watermark that decides which rows are written", WATERMARK_STEP)
    if beside:
        return f"it reads {', '.join(beside)} beside what it streams: {CORRECTED}"
    if strange:
        return f"it does more than pass on each row ({(joins or strange)[0]}): {CORRECTED}"
    return None


class RefusalError(Exception):
    """A function cannot be a table that streams; the first argument ends a sentence about it."""

    def at(self, function: str, place: Place) -> UserError:
        """The same with the function's name and place."""
        what, step = self.args
        return UserError(
            "not-appended",
            f"the function of {function} streams a table of the pipeline and {what}",
            where=place,
            rule=RULE,
            next_step=step,
        )
