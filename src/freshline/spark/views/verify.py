"""Spark's confirmation of a decomposition, before anything made by sqlglot runs.

sqlglot changes some of Spark's SQL in silence (``listagg`` gains a separator, ``max_by(x, y, n)``
loses an argument), so a query is trusted to it only if Spark optimises the text that comes back
from it to the same plan as the user's own (docs/views.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame
from sqlglot import exp

from freshline.spark.engine import jvm
from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.engine.jvm import java_frame, schema_of, schema_text
from freshline.spark.views.asked import Asks, Remembered
from freshline.sql.query.normal import parsed
from freshline.sql.query.records import Decomposition, Reason
from freshline.sql.query.unsupported import Unsupported
from freshline.sql.text.canonical import kind_of
from freshline.sql.text.reads import quoted_column
from freshline.sql.text.tokens import Token, tokens
from freshline.sql.text.written import for_spark


def typer(session: Asks) -> Callable[[str], list[tuple[str, str]]]:
    """Column names and types of a query, as Spark's analysis gives them.

    Args:
        session: One in which every source of the queries is a table or a view.
    """

    def types(query: str) -> list[tuple[str, str]]:
        frame = session.sql(query)
        found = _columns(frame)
        if "collate" in schema_text(frame):  # PySpark's types leave collations out
            fields = java_frame(frame).schema().fields()
            kinds = [field.dataType().catalogString() for field in fields]
            return [(name, kind) for (name, _), kind in zip(found, kinds, strict=True)]
        return found

    return types


def verify(session: Asks, query: str, decomposition: Decomposition) -> Reason | None:
    """Why Spark does not confirm ``decomposition``; None: it does.

    Args:
        session: One in which every source is a table or a view, of any content: nothing is
            read. For a moment it has temporary views of the partials' names.
        query: The user's text.
        decomposition: What :func:`freshline.sql.states.decompose.decompose` made of it.
    """
    if not same_plan(session, query):
        return Reason(
            "ROUND_TRIP",
            "the query is cut into states with the help of sqlglot, and what sqlglot writes back "
            "for it has another plan in Spark: a function or a literal of it is read otherwise "
            "there, so states made from it could be wrong",
        )
    try:
        found = _final_schema(session, decomposition)
    except SparkError as error:
        return Reason("ROUND_TRIP", f"Spark refuses the query cut into states: {one_line(error)}")
    wanted = _columns(session.sql(query))
    if found != wanted:
        differences = [
            f"{name} {kind} instead of {' '.join(other)}"
            for (name, kind), other in zip(found, wanted, strict=False)
            if (name, kind) != other
        ]
        what = differences[0] if differences else f"{len(found)} columns instead of {len(wanted)}"
        return Reason("ROUND_TRIP", f"cut into states the query has other columns: {what}")
    return None


def shows_state(session: Asks, decomposition: Decomposition) -> bool:
    """Whether Spark confirms that the view's rows are the state of its only partial.

    The state's columns read back from the final query must be, to Spark's optimiser, the very
    query that puts the state's rows together: the same groups, none left out, the same types.
    """
    shown = decomposition.own_state
    if shown is None or len(decomposition.partials) != 1:
        return False
    columns = ", ".join(
        f"{quoted_column(output)} AS {quoted_column(name)}" for name, output in shown.items()
    )
    try:
        with with_partials(session, decomposition):
            wanted = session.sql(decomposition.partials[0].combine)
            back = session.sql(f"SELECT {columns} FROM ({decomposition.final})")
            if _columns(back) != _columns(wanted):
                return False
            plan = java_frame(back).queryExecution().optimizedPlan()
            return bool(plan.sameResult(java_frame(wanted).queryExecution().optimizedPlan()))
    except SparkError:
        return False


def same_plan(session: Asks, query: str) -> bool:
    """Whether Spark makes the same plan of sqlglot's rendering of ``query``."""
    try:
        own = _planned(session, _with_units_in_capitals(query))
        texts = dict.fromkeys([written_back(query), _otherwise(for_spark(parsed(query)))])
        return any(_alike(own, _planned(session, text)) for text in texts)
    except (Unsupported, *SparkError):
        return False


def written_back(query: str) -> str:
    """What sqlglot makes of a query, before any name in it is resolved.

    Raises:
        Unsupported: sqlglot cannot read it.
    """
    return _otherwise(for_spark(_commas_as_inner_joins(parsed(query))))


def _otherwise(text: str) -> str:
    """Another text than the user's even where sqlglot writes the same.

    What chance decides differs between two analyses, and one is kept for each text.
    """
    return f"{text}\n"


def alike(session: Asks, query: str, other: str) -> bool:
    """Whether Spark makes the same plan of two texts."""
    return _alike(_planned(session, _with_units_in_capitals(query)), _planned(session, other))


def _commas_as_inner_joins(tree: exp.Query) -> exp.Query:
    """``FROM a, b`` is an inner join to Spark; sqlglot writes CROSS JOIN, another plan."""
    for join in tree.find_all(exp.Join):
        if kind_of(join) == "CROSS" and not join.args.get("on"):
            join.set("kind", "INNER")
    return tree


def _with_units_in_capitals(query: str) -> str:
    """``date_trunc('hour', at)`` as sqlglot writes it; to Spark ``'hour'`` is ``'HOUR'`` there."""
    edits: list[Token] = []
    open_calls: list[str] = []
    found = tokens(query)
    for before, token, behind in zip([None, *found], found, [*found[1:], None], strict=False):
        if token.is_symbol("("):
            open_calls.append(before.text.lower() if before is not None else "")
        elif token.is_symbol(")") and open_calls:
            open_calls.pop()
        elif token.kind == "string" and open_calls and before is not None and behind is not None:
            first = before.is_symbol("(") and behind.is_symbol(",")
            last = before.is_symbol(",") and behind.is_symbol(")")
            call = open_calls[-1]
            if (first and call == "date_trunc") or (last and call == "trunc"):
                edits.append(token)
    for edit in reversed(edits):
        query = f"{query[: edit.start]}{edit.text.upper()}{query[edit.end :]}"
    return query


def _planned(session: Asks, query: str) -> Any:
    return java_frame(session.sql(query)).queryExecution()


def _alike(one: Any, other: Any) -> bool:
    """Whether two queries have the same plan, as they were analysed or optimised.

    The first is the quicker one to find out, and says what the second never does: the optimiser
    makes ``EXISTS (..) OR ..`` a join with a column of its own, by which Spark takes even one text,
    planned twice, for two.
    """
    return bool(
        one.analyzed().sameResult(other.analyzed())
        or one.optimizedPlan().sameResult(other.optimizedPlan())
    )


def _final_schema(session: Asks, decomposition: Decomposition) -> list[tuple[str, str]]:
    """Columns of the final query, over views that have the shape of the states.

    Where combining would change a state's columns, those it would have instead.
    """
    with with_partials(session, decomposition) as states:
        for partial, state in zip(decomposition.partials, states, strict=True):
            combined = session.sql(partial.combine)
            if _columns(combined) != _columns(state):
                return [(partial.name, schema_of(combined).simpleString())]
        return _columns(session.sql(decomposition.final))


@contextmanager
def with_partials(session: Asks, decomposition: Decomposition) -> Iterator[Sequence[DataFrame]]:
    """Temporary views named as the partials, each its query over the sources.

    :class:`Remembered` keeps them for the next one who asks.
    """
    if isinstance(session, Remembered):
        for partial in decomposition.partials:
            session.view(partial.name, session.sql(partial.query))
        yield [session.sql(partial.query) for partial in decomposition.partials]
        return
    made: list[str] = []
    try:
        states = []
        for partial in decomposition.partials:
            state = session.sql(partial.query)
            jvm.show(state, partial.name)
            made.append(partial.name)
            states.append(state)
        yield states
    finally:
        for name in made:
            session.catalog.dropTempView(name)


def _columns(frame: DataFrame) -> list[tuple[str, str]]:
    return [(each.name, each.dataType.simpleString()) for each in schema_of(frame)]
