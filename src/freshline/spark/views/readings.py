"""The second reading: what a view's plan rests on, confirmed from Spark's own plan of the query.

The first reading is of the query's text (:mod:`freshline.sql`). Where Spark's analysed plan does
not confirm one of its facts, the view is computed in full (docs/design/0062); keys alone are left
out by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.engine.jvm import activate, elements, java_frame
from freshline.spark.views.asked import Asks
from freshline.spark.views.verify import alike, with_partials, written_back
from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Buckets, Decomposition, Keys, Reason, Source, ViewPlan
from freshline.sql.readings.canonical_form import canonical_form
from freshline.sql.readings.comparison import Difference, bucketed, differences, keyed, merged
from freshline.sql.readings.plans import simplified
from freshline.sql.readings.trees import Tree, parsed
from freshline.sql.strategy import READINGS_DIFFER
from freshline.sql.text.tokens import tokens
from freshline.sql.text.written import for_spark

_MOST_VALUES = 1000
"""Of so many constants the texts are asked of Spark, a few calls for each."""


def confirmed(session: Asks, query: str, sources: Sequence[Source], plan: ViewPlan) -> ViewPlan:
    """The plan, if Spark's reading of the query confirms it; else one that allows nothing.

    Keys that are not confirmed are left out by themselves: less of them is understood here than of
    times, and nothing else rests on them.

    Args:
        session: One in which every source is a table or a view, of any content: nothing is
            read. For a moment it has temporary views of the partials' names.
        query: The user's text.
        sources: Every table that it reads.
        plan: What analysis of the text found.
    """
    of_keys: list[Difference] = []
    try:
        read = spark_plan(session, query)
        found = _compared(session, read, sources, plan)
        if isinstance(plan.keys, Keys):
            of_keys = keyed(plan.keys, read, sources)
    except SparkError as error:
        found = [Difference("the plan", "can be read", f"cannot: {one_line(error)}")]
    except Exception as error:  # noqa: BLE001 - see the next lines
        # A plan of a shape that is not known here is not confirmed, which is all that is asked. A
        # fault of this reading must not end the analysis of a whole project either.
        found = [Difference("the plan", "is understood", f"is not ({error!r})")]
    if not found:
        return replace(plan, keys=_why(of_keys)) if of_keys else plan
    why = _why(found)
    return ViewPlan(why, why, why, notes=plan.notes, keys=why)


def confirms_buckets(session: Asks, query: str, sources: Sequence[Source], found: Buckets) -> bool:
    """Whether Spark's plan of a query says the same of its buckets of time."""
    streams = {source.name.lower() for source in sources if not source.static}
    try:
        return not bucketed(found, spark_plan(session, query), streams)
    except Exception:  # noqa: BLE001 - a plan of a shape that is not known here confirms nothing
        return False


def resolved_otherwise(session: Asks, query: str, sources: Sequence[Source]) -> Reason | None:
    """Why states may not be cut from the tree of a query; None: Spark reads that tree as the query.

    sqlglot resolves the names of the query for it, and does that otherwise than Spark now and
    then: it wrote a map's key in small letters, and put an alias of SELECT into HAVING where Spark
    takes the column.

    Args:
        session: One in which every source is a table or a view.
        query: The user's text, to which :func:`.same_plan` has said yes.
        sources: Every table that it reads.
    """
    text, own = for_spark(normalise(query, sources)), written_back(query)
    try:
        forms = [canonical_form(spark_plan(session, each)) for each in (own, text)]
        if (forms[0] == forms[1] and _tries(own) == _tries(text)) or alike(session, query, text):
            return None
        said = "has another plan in Spark than the query"
    except SparkError as error:
        said = f"is refused by Spark: {one_line(error)}"
    except Exception as error:  # noqa: BLE001 - a plan of a shape that is not known here
        said = f"has a plan that is not understood ({error!r})"
    return Reason(
        "ROUND_TRIP",
        f"the query with its names resolved, from which states are cut, {said}: states made from"
        " it could be wrong; write each column with its table, and no alias that is also a"
        " column's name",
    )


def _tries(query: str) -> set[str]:
    """Functions that give NULL where others fail; Spark's JSON of a plan does not tell them."""
    return {token.text.upper() for token in tokens(query) if token.text.upper().startswith("TRY_")}


def _why(found: Sequence[Difference]) -> Reason:
    told = "; ".join(dict.fromkeys(str(each) for each in found))
    return Reason(
        READINGS_DIFFER, f"our reading of the query and Spark's are not the same: {told}", None
    )


def _compared(
    session: Asks, read: Tree, sources: Sequence[Source], plan: ViewPlan
) -> list[Difference]:
    found = differences(plan, read, sources)
    if isinstance(plan.merge, Decomposition):
        with with_partials(session, plan.merge):
            partials = [
                (spark_plan(session, each.query), spark_plan(session, each.combine))
                for each in plan.merge.partials
            ]
            final = spark_plan(session, plan.merge.final)
        found += merged(plan.merge, read, partials, final, sources)
    return found


def spark_plan(session: Asks, query: str) -> Tree:
    """Spark's analysed plan of a query, as it is read."""
    return analysed_tree(session.sql(query))


def analysed_tree(frame: DataFrame) -> Tree:
    """Spark's analysed plan of a frame, as it is read."""
    activate(frame.sparkSession)  # times in the plan are written by the active session's clock
    plan = java_frame(frame).queryExecution().analyzed()
    text = plan.toJSON()
    return simplified(parsed(text, _texts_of_values(plan) if ".LocalRelation" in text else {}))


def _texts_of_values(plan: Any) -> dict[int, list[str]]:
    """By number of a column of VALUES: its texts, without NULLs. Large ones are left out."""
    found: dict[int, list[str]] = {}
    for each in (plan, *elements(plan.subqueriesAll())):
        for leaf in elements(each.collectLeaves()):
            if leaf.getClass().getSimpleName() != "LocalRelation":
                continue
            columns, data = list(elements(leaf.output())), leaf.data()
            if data.size() * len(columns) > _MOST_VALUES:
                continue
            rows = list(elements(data))
            for at, column in enumerate(columns):
                if column.dataType().typeName().startswith("string"):
                    values = [row.getUTF8String(at) for row in rows]
                    texts = {value.toString() for value in values if value is not None}
                    found[column.exprId().id()] = sorted(texts)
    return found
