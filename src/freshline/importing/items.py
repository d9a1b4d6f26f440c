"""What an importer found in the other tool's files, and what became of each item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["base", "table", "view", "inlined", "outside"]
"""base: loaded from a feed. table: a table computed by a query. view: a query with a name, put
into each query that reads it. inlined: the other tool put it there already. outside: a table
that something else fills, read by its name."""


FEED_NAME = "_the_feed_of_this_table"
"""Stands in the query of an item of role base for the name that its feed gets."""


@dataclass(frozen=True, slots=True)
class Item:
    """One model, source or statement of the other tool, its SQL already Spark's.

    Attributes:
        key: Its name there, unique; what the page calls it.
        kind: What it is there, in words, e.g. ``incremental model``.
        role: What it is to be.
        relation: The parts of the name by which queries read it; empty where none can.
        query: The SELECT; None for sources of which every column is taken.
        comment: The table's comment.
        properties: TBLPROPERTIES to write.
        partitioned_by: Columns to partition by.
        columns: Comments of columns, by the column's name there.
        feed: For ``base``: the feed's entry of freshline.yml.
        schema: For ``base``: its columns and types where the other tool declares them.
        needs: Keys of items whose SQL is inside ``query`` already.
        refusal: Why it cannot be taken, or None.
        temporary: It is a view of a session, in no schema: a name of several parts never means it.
        stays: Something else goes on filling its table, so that where it is not taken, others
            can still read it by its name.
        changed: What is different here, a sentence each.
        left_out: What was not taken over, with the reason, a sentence each.
    """

    key: str
    kind: str
    role: Role
    relation: tuple[str, ...] = ()
    query: str | None = None
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    partitioned_by: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    feed: Mapping[str, Any] | None = None
    schema: str | None = None
    needs: tuple[str, ...] = ()
    refusal: str | None = None
    temporary: bool = False
    stays: bool = False
    changed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A data test of the other tool.

    Attributes:
        key: Its name there, unique.
        kind: Its kind there; of those that are taken, a kind of ``checks:``.
        of: The key of the item whose rows it is about.
        column: A column or an SQL expression.
        values: Of accepted_values.
        to: Of relationships: the key of the item that is referred to.
        field: Of relationships: a column or expression over that item.
        where: The rows that it is about, as an SQL condition; None: all.
        warns: Rows that fail it are a warning there.
        refusal: Why it cannot be taken, or None.
    """

    key: str
    kind: str
    of: str
    column: str = ""
    values: tuple[str | int | float | bool, ...] = ()
    to: str | None = None
    field: str | None = None
    where: str | None = None
    warns: bool = False
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """All that an importer found.

    Attributes:
        name: A name for the new project.
        origin: Where it comes from, e.g. ``dbt project shop``.
        items: In the order of the page.
        checks: Tests.
        notes: What concerns the project as a whole.
        configuration: Settings of Spark under which the other tool runs the queries.
        appendix: Statements that were not translated, as a SQL file of comments.
    """

    name: str
    origin: str
    items: tuple[Item, ...]
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    appendix: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the new project.

    Attributes:
        item: What it was made from.
        name: Its name.
        feed: The name of the feed that it loads, or None.
        query: With the names of the new project, views put in.
        columns: Name and comment of the query's columns that have one, in the query's order.
    """

    item: Item
    name: str
    feed: str | None
    query: str
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an item: a row of the page.

    Attributes:
        taken: It is part of the new project.
    """

    item: Item
    taken: bool
    became: str
    changed: tuple[str, ...]
    left_out: tuple[str, ...]
