"""How a table that streams other tables here differs from the rows that Spark's stream appends.

Spark computes the rows of each new row once and keeps them. Here the table is a view: its rows
are those of its query over all rows, corrected when what it reads changes. Where each row of the
streamed table makes its rows by itself, both are the same. The clock, chance, limits and
watermarks depend on when rows came, which no query over all rows knows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sqlglot import exp

from freshline.sql.text.functions import volatile_call
from freshline.sql.text.reads import reads_of, rewritten
from freshline.sql.text.rowwise import (
    CLAUSES,
    faults_of_words,
    joined_fault,
    mentions,
    own_fault,
    step_fault,
)
from freshline.sql.text.tokens import tokens
from freshline.sql.text.tree import tree_of

RULE = (
    "a table that streams tables of the project is its query over all of their rows, and knows"
    " nothing of when they came"
)
CORRECTED = (
    "its rows are those of its query over all rows, and are corrected when what it reads changes;"
    " Spark keeps a row as it was when it was written"
)
LIMIT_STEP = "Remove it, or make a materialized view, in which ORDER BY stands before the LIMIT."
WATERMARK_STEP = (
    "Make it a materialized view without the watermark: rows that come late correct their groups."
)
CLOCK_STEP = (
    "Compute it where the records are loaded, in the streaming table over the feed, and read it"
    " from there."
)
_MARK = "__freshline_streamed__"
_COUNTING = (CLAUSES["limit"], CLAUSES["offset"], CLAUSES["sample"])
_SAME_ROWS = tuple(CLAUSES[each] for each in ("order", "sort", "cluster", "distribute"))
_UNITS = frozenset(
    each + plural
    for each in (
        "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR",
    )
    for plural in ("", "S")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Appended:
    """How far a query can be a table that streams.

    Attributes:
        refusal: Why it cannot, as the end of a sentence about the query; None: it can.
        next_step: Of the refusal.
        difference: How its rows differ from what Spark appends, a sentence; None: not at all.
    """

    refusal: str | None = None
    next_step: str = ""
    difference: str | None = None


def appended(query: str, streamed: Collection[str], *, watermark: bool = False) -> Appended:
    """Judges a query over tables of which it streams some.

    Args:
        query: It, with or without STREAM in front of those that it streams.
        streamed: Names in lower case, in the spelling of ``Read.name``.
        watermark: What it streams has a watermark already.
    """
    if (call := volatile_call(tokens(query))) is not None:
        token, kind = call
        asked = "the clock" if kind == "clock" else "chance"
        return Appended(f"asks {asked} ({token.text.lower()})", CLOCK_STEP)
    plain = _without_watermark(query)
    faults = list(dict.fromkeys(_faults(plain, streamed)))
    if any(fault in _COUNTING for fault in faults):
        fault = next(fault for fault in faults if fault in _COUNTING)
        return Appended(f"takes some of the rows: {fault}", LIMIT_STEP)
    if not faults:
        return Appended()
    beside = _beside(plain, streamed)
    if (watermark or plain != query) and faults != [beside]:
        return Appended("has a watermark that decides which rows are written", WATERMARK_STEP)
    return Appended(difference=f"{faults[0]}: {CORRECTED}")


def has_watermark(query: str) -> bool:
    """Whether a query gives a watermark."""
    return _without_watermark(query) != query


def _faults(query: str, streamed: Collection[str]) -> Iterator[str]:
    """What in a query makes more than rows of each streamed row by itself."""
    marks = {read.name: _MARK for read in reads_of(query) if read.name.lower() in streamed}
    marked = rewritten(query, marks)
    tree = tree_of(marked)
    beside = _beside(query, streamed)
    if tree is None:
        yield from (fault for fault in faults_of_words(query) if fault not in _SAME_ROWS)
        if any(token.is_word("JOIN") for token in tokens(query)) and beside is None:
            yield "JOIN compares rows with each other"
    else:
        streams = [each for each in tree.find_all(exp.Table) if each.name == _MARK]
        yield from _on_way(streams, tree)
    if beside is not None:
        yield beside


def _beside(query: str, streamed: Collection[str]) -> str | None:
    """That a query reads tables beside those that it streams."""
    others = {read.name: None for read in reads_of(query) if read.name.lower() not in streamed}
    return f"it reads {', '.join(others)} beside what it streams" if others else None


def _on_way(streams: list[exp.Table], tree: exp.Expr) -> Iterator[str]:
    """What is wrong on the ways from the streams up to the root."""
    passed: dict[int, int] = {}
    left: list[exp.Expr] = list(streams)
    while left:
        node: exp.Expr | None = left.pop()
        below: exp.Expr | None = None
        while node is not None:
            passed[id(node)] = passed.get(id(node), 0) + 1
            if isinstance(node, exp.Select) and passed[id(node)] > 1:
                yield "it joins rows that it streams with each other"
            if passed[id(node)] > 1:
                break
            parent = node.parent
            yield from _own(node)
            if fault := joined_fault(node, below):
                yield _of_stream(fault)
            if parent is not None and (fault := _step(node, parent)):
                yield fault
            if isinstance(node, exp.CTE):
                left += mentions(node, tree)
                break
            node, below = parent, node


def _own(node: exp.Expr) -> Iterator[str]:
    """What a node itself does; a limit even where it groups, too."""
    limits = [CLAUSES[key] for key in ("limit", "offset", "sample") if node.args.get(key)]
    if isinstance(node, exp.Query | exp.Table):
        yield from limits
    if isinstance(node, exp.Union) and not node.args.get("distinct"):
        return
    if isinstance(node, exp.SetOperation):
        yield f"{type(node).__name__.upper()} compares rows with each other"
        return
    fault = own_fault(node)
    if fault is not None and fault not in _SAME_ROWS:
        yield fault


def _step(node: exp.Expr, parent: exp.Expr) -> str | None:
    if isinstance(node, exp.Query) and isinstance(parent, exp.Union):
        return None
    fault = step_fault(node, parent)
    return None if fault is None else _of_stream(fault)


def _of_stream(fault: str) -> str:
    return fault.replace("the feed", "the stream")


def _without_watermark(query: str) -> str:
    """The query without its ``WATERMARK column DELAY OF interval``, which sqlglot cannot read."""
    found = tokens(query)
    for at, token in enumerate(found):
        if not (token.is_word("DELAY") and at + 1 < len(found) and found[at + 1].is_word("OF")):
            continue
        start = next((back for back in range(at, -1, -1) if found[back].is_word("WATERMARK")), None)
        if start is None:
            continue
        end = at + 2
        while end < len(found) and (
            found[end].is_word("INTERVAL", "TO", *_UNITS)
            or found[end].kind == "string"
            or found[end].text.isdigit()
        ):
            end += 1
        rest = query[: found[start].start] + query[found[end - 1].end :]
        return _without_watermark(rest)
    return query
