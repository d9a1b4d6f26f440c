"""A view's plan: its query's analysis over the columns that its sources have in Spark.

Analysis reads names and types alone, so the sources are views without rows here, in a session
of their own. Static tables get plain names first: what is generated from the query can then
name them whatever their own names are (:func:`static_names`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from freshline.project.model import Project, TableDef
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import CHARS
from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.engine.own_session import own_session
from freshline.spark.engine.pins import Pinned, location, newest_snapshot, pin_statics
from freshline.spark.engine.result_settings import ANSI, is_timestamp_ntz, zone_of
from freshline.spark.views.asked import Remembered
from freshline.spark.views.holds import Holds
from freshline.spark.views.readings import confirmed, confirms_buckets, resolved_otherwise
from freshline.spark.views.verify import shows_state, typer, verify
from freshline.sql.plan import view_plan
from freshline.sql.query.records import Decomposition, Reason, Source, ViewPlan
from freshline.sql.states.decompose import decompose
from freshline.sql.states.states import Typer
from freshline.sql.text.reads import quoted, rewritten
from freshline.sql.text.tokens import tokens

_STATIC = "freshline_static_"
_STORED = (
    "LogicalRelation", "DataSourceV2Relation", "HiveTableRelation", "StreamingRelation",
    "StreamingRelationV2",
)  # fmt: skip
"""Spark's operators that read a table."""

_FEW_COLUMNS = 3
_NUMBER = re.compile(r"#\d+L?")
"""Behind a column's name, in what Spark writes of a plan."""

_DOTTED = "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}".lower()

_WIDEST = "decimal(38,"
"""Of fewer digits a sum has room for ten more than its values."""


def static_names(table: TableDef) -> dict[str, str]:
    """What stands for each static table in SQL generated from the query, by its name there.

    None of these names is in the query, where it could be a WITH query's or another table's.
    """
    prefix = _STATIC
    while prefix in table.query.lower():
        prefix += "_"
    return {read.name: f"{prefix}{number}" for number, read in enumerate(table.statics)}


def plan_of(
    session: SparkSession,
    project: Project,
    table: TableDef,
    parents: Mapping[str, StructType],
    columns_of: Callable[[str], StructType] | None = None,
    asked: Remembered | None = None,
) -> ViewPlan:
    """How a view can be maintained.

    Args:
        session: Any session; it tells the columns of static tables.
        project: Of the view.
        table: The view.
        parents: Columns of each table of the project that it reads.
        columns_of: Those of any of the project's tables; None: as they are in storage.
        asked: Over a session with the view's settings, in which its query may have been analysed
            over its parents already; None: one of its own.
    """
    if table.programs:
        python = Reason("PYTHON", "a Python function defines it, or a view that it reads")
        return ViewPlan(python, python, python, always_full="python")
    if not table.parents:
        alone = Reason("NO_PARENTS", "it reads no table of the project")
        return ViewPlan(alone, alone, alone, always_full="no-parents")
    if asked is None:
        asked = Remembered(own_session(session, table))
    own = asked.session
    if (setting := asked.read_otherwise) is not None:
        other = Reason(
            "SETTING",
            f"with {setting} a query can mean something else than analysis reads; without it the"
            " view could be maintained from changes",
        )
        return ViewPlan(other, other, other)

    def stored(name: str) -> StructType:
        return own.read.format("delta").load(location(project.table_path(name))).schema

    def clocks(each: TableDef) -> tuple[str, bool]:
        its = own if each is table else own_session(session, each)
        return zone_of(its), is_timestamp_ntz(its)

    def sources_of(view: TableDef) -> tuple[str, list[Source]]:
        known = {name: (columns_of or stored)(name) for name in view.parents}
        return _sources(asked, project, view, known)

    try:
        query, sources = _sources(asked, project, table, parents)
        plan = _named(_confirmed(asked, query, sources))
        open_reads = [read for read in table.statics if not read.time_travel]
        if any(newest_snapshot(own, read) is None for read in open_reads):
            plan = replace(plan, always_full="static-unversioned")
        if table.emit != "final":
            return plan
        confirms = partial(confirms_buckets, asked)
        return Holds(project, sources_of, clocks, confirms).added(plan, table, sources)
    except SparkError as error:
        why = Reason("SPARK", f"Spark could not analyse the query: {one_line(error)}")
        return ViewPlan(why, why, why)


def unseen_table(asked: Remembered, table: TableDef) -> str | None:
    """A table that Spark reads for a query and that was not found in its text, as Spark says it.

    The view would not be updated when it changes. A function of the catalog may read one, too.

    Args:
        asked: It sees the feed or the tables of the project that the query reads.
        table: Whose query it is; no Python function stands behind it.
    """
    names = {name: plain for name, plain, _ in _shown_statics(asked, table)}
    if table.feed is not None:
        names[table.feed] = quoted(table.feed)
    try:
        frame = asked.sql(rewritten(table.query, names) if names else table.query)
    except SparkError:
        return None  # a column is named by its table's full name
    plan = jvm.java_frame(frame).queryExecution().analyzed()
    for part in (plan, *jvm.elements(plan.subqueriesAll())):
        for leaf in jvm.elements(part.collectLeaves()):
            if leaf.getClass().getSimpleName() in _STORED:
                return _NUMBER.sub("", str(leaf.simpleString(_FEW_COLUMNS)))
    return None


def _shown_statics(asked: Remembered, table: TableDef) -> Iterator[tuple[str, str, StructType]]:
    """Of each static table its name, the one under which it is shown now, and its columns."""
    real = pin_statics(asked.session, table, fixed=False).names
    for name, plain in static_names(table).items():
        schema = jvm.schema_of(asked.sql(f"SELECT * FROM {real.get(name, name)}"))
        asked.show(plain, schema)
        yield name, plain, schema


def _sources(
    asked: Remembered, project: Project, table: TableDef, parents: Mapping[str, StructType]
) -> tuple[str, list[Source]]:
    """What the view reads, and its query with plain names of static tables."""
    sources = [
        _source(asked, name, parents[name], time_column=project.table(name).time_column)
        for name in table.parents
    ]
    names = {}
    for name, plain, schema in _shown_statics(asked, table):
        names[name] = plain
        sources.append(_source(asked, plain, schema, static=True))
    return rewritten(table.query, names) if names else table.query, sources


def _named(plan: ViewPlan) -> ViewPlan:
    """The plan without ways whose SQL would name a column that Spark does not find then.

    There columns are in lower case. Of one letter alone that is two, which Spark does not take for
    the one.
    """
    why = Reason(
        "DOTTED_I",
        "the name of a column has the letter \N{LATIN CAPITAL LETTER I WITH DOT ABOVE}, which to"
        " Spark is another one than its lower case",
    )
    merge = plan.merge
    if isinstance(merge, Decomposition):
        equal = [each.equal for each in merge.partials]
        merge = why if _has_dotted(merge.group_columns, merge.own_state, equal) else merge
    return replace(
        plan,
        buckets=why if _has_dotted(plan.buckets) else plan.buckets,
        merge=merge,
        equal=() if _has_dotted(plan.equal) else plan.equal,
        keys=why if _has_dotted(plan.keys) else plan.keys,
    )


def _has_dotted(*parts: object) -> bool:
    return _DOTTED in repr(parts).lower()


def _confirmed(asked: Remembered, query: str, sources: list[Source]) -> ViewPlan:
    session, types = asked.session, typer(asked)
    is_ansi = str(session.conf.get(ANSI)).lower() == "true"

    def cut(
        query: str, sources: Sequence[Source], *, keeps_rows: bool = False
    ) -> Decomposition | Reason:
        try:
            found = decompose(query, sources, types, keeps_rows=keeps_rows)
            return found if is_ansi else (overflow(found, types) or found)
        except SparkError as error:  # of a part of the query by itself: the other ways are left
            return Reason("SPARK", f"Spark refuses the query cut into states: {one_line(error)}")

    plan = view_plan(
        query,
        sources,
        decompose=cut,
        # Sums of kept rows times their numbers have other types than the query's.
        keeping=partial(cut, keeps_rows=True) if is_ansi else None,
        session_zone=zone_of(session),
        timestamp_ntz=is_timestamp_ntz(session),
    )
    if isinstance(plan.merge, Decomposition):
        refusal = verify(asked, query, plan.merge) or resolved_otherwise(asked, query, sources)
        merge = plan.merge
        if merge.own_state is not None and not shows_state(asked, merge):
            merge = replace(merge, own_state=None)
        plan = replace(plan, merge=merge if refusal is None else refusal)
    return confirmed(asked, query, sources, plan)


def united_chars(query: str, schemas: Iterable[StructType]) -> Reason | None:
    """Why states of a query with UNION over a CHAR cannot be kept; None: nothing is against it.

    To Spark a column is what it is in the first branch, so that a state would be filled up with
    blanks, or refuse what is longer (:func:`.without_mixed_chars`).

    Args:
        query: The user's text.
        schemas: Of what it reads; not asked for where there is no UNION.
    """
    if not any(token.is_word("UNION") for token in tokens(query)):
        return None
    if not any(CHARS in each.metadata for schema in schemas for each in schema):
        return None
    return Reason(
        "UNITED_CHARS",
        "of a UNION with a CHAR(n) or VARCHAR(n) a state cannot hold the texts as they are; cast"
        " the column to STRING where it is read",
    )


def static_schemas(session: SparkSession, table: TableDef, pinned: Pinned) -> Iterator[StructType]:
    """The columns of each static table as the pinned query reads it."""
    for read in table.statics:
        yield session.sql(f"SELECT * FROM {pinned.names.get(read.name, read.name)}").schema


def overflow(found: Decomposition | Reason, types: Typer) -> Reason | None:
    """Why states cannot be merged without ANSI mode; None: they can, or could not before.

    An overflow is then no error but NULL, and a sum of states would pass over it.
    """
    for state in found.partials if isinstance(found, Decomposition) else ():
        for name, kind in types(state.query):
            if name not in state.keys and kind.startswith(_WIDEST):
                return Reason(
                    "OVERFLOW",
                    f"without {ANSI} a sum of the type {kind} that overflows is NULL, which"
                    " merging would lose; cast the value to at most 27 digits",
                )
    return None


def _source(
    asked: Remembered,
    name: str,
    schema: StructType,
    *,
    static: bool = False,
    time_column: str | None = None,
) -> Source:
    asked.show(name, schema)
    return Source(
        name=name.lower(),
        columns={each.name.lower(): each.dataType.simpleString() for each in schema},
        static=static,
        time_column=time_column.lower() if time_column else None,
        padded=frozenset(each.name.lower() for each in schema if CHARS in each.metadata),
    )
