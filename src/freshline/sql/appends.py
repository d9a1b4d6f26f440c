"""May what new rows make simply be added to a view?

It may when each row of a source that changes makes its output rows alone, with nothing but
static tables beside it. Then for insertions into all such sources at once the query over
everything is the query over the old rows plus the query over the new ones (``+`` of bags). Where
rows of such sources meet in inner joins, what the new rows of each make with all rows of the
others can be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from sqlglot import exp

from freshline.sql.query.nondeterministic import require_deterministic
from freshline.sql.query.normal import normalise, source_name
from freshline.sql.query.records import Linearity, Reason, Source
from freshline.sql.query.scopes import is_limited, makes_groups, own_nodes
from freshline.sql.query.unsupported import Unsupported, unsupported
from freshline.sql.states.linear import LinearAnalysis
from freshline.sql.text.canonical import is_natural, kind_of, side_of

_OUTER = {"LEFT": "right", "RIGHT": "left", "FULL": "either"}


def appends(
    query: str, sources: Sequence[Source], *, functions: AbstractSet[str] = frozenset()
) -> Linearity | Reason:
    """Whether the output of inserted rows can be appended, or why not.

    Args:
        query: The user's text.
        sources: Every table that it reads.
        functions: User-defined functions that were declared deterministic, lower case.

    Returns:
        ``joint``; or a reason with a code of :func:`~freshline.sql.query.normal.normalise` or
        :func:`~freshline.sql.query.nondeterministic.nondeterminism`, or one of AGGREGATE, DISTINCT,
        WINDOW, LIMIT, SET_OPERATION, STREAM_JOIN, STATIC_OUTER, STATIC_BRANCH, SUBQUERY,
        STATIC, SYNTAX.
    """
    try:
        tree = normalise(query, sources)
        require_deterministic(tree, functions=functions)
        check = _Check({source.name.replace("`", ""): source for source in sources})
        if not check.moves(tree):
            raise unsupported("STATIC", "the query reads nothing that changes")
        check.query(tree)
    except Unsupported as refusal:
        return refusal.reason
    return "joint"


def appends_of_each(tree: exp.Query, sources: Sequence[Source]) -> bool:
    """Whether each row of a query is made from one row of each source that changes.

    Then what the new rows of one source make with all rows of the others can be appended.

    Args:
        tree: A normalised query.
        sources: Every table that it reads.
    """
    named = [replace(source, name=source.name.replace("`", "")) for source in sources]
    analysis = LinearAnalysis(named, "each")
    try:
        return analysis.query(tree).streams == analysis.streams == analysis.streams_in(tree)
    except Unsupported:
        return False


class _Check:
    """Raises Unsupported at the first part of a query that looks at more than one row."""

    def __init__(self, sources: dict[str, Source]) -> None:
        self.sources = sources

    def moves(self, node: exp.Expr) -> bool:
        """Whether ``node`` reads a source that changes."""
        return any(
            not self.sources[source_name(table)].static
            for table in node.find_all(exp.Table)
            if isinstance(table.this, exp.Identifier)
        )

    def query(self, node: exp.Expr) -> None:
        """A query that reads something that changes."""
        if is_limited(node):
            raise unsupported("LIMIT", "LIMIT and OFFSET count all rows", node)
        if isinstance(node, exp.Subquery):
            self.query(node.this)
        elif isinstance(node, exp.SetOperation):
            self._set_operation(node)
        elif isinstance(node, exp.Select):
            self._select(node)
        else:
            raise unsupported("SYNTAX", "this form of query is not analysed", node)

    def _set_operation(self, node: exp.SetOperation) -> None:
        if not isinstance(node, exp.Union) or node.args.get("distinct"):
            raise unsupported(
                "SET_OPERATION", "rows of one side are compared with all others'; see UNION ALL"
            )
        for branch in (node.left, node.right):
            if not self.moves(branch):
                raise unsupported(
                    "STATIC_BRANCH", "rows of a static table would be added every time", branch
                )
            self.query(branch)

    def _select(self, select: exp.Select) -> None:
        if makes_groups(select):
            raise unsupported("AGGREGATE", "new rows change existing groups")
        if distinct := select.args.get("distinct"):
            raise unsupported("DISTINCT", "a new row may be there already", distinct)
        for window in own_nodes(select, exp.Window):
            raise unsupported("WINDOW", "a window function looks at other rows", window)
        for key, value in select.args.items():
            if key in {"from_", "joins"}:
                continue
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, exp.Expr) and self.moves(part):
                    raise unsupported("SUBQUERY", "a subquery looks at rows that change", part)
        self._relations(select.args.get("from_"), select.args.get("joins") or [])

    def _relations(self, first: exp.Expr | None, joins: Sequence[exp.Join]) -> None:
        assert first is not None, "what reads a source has a FROM clause"
        relation = first.this if isinstance(first, exp.From) else first
        moving = self._relation(relation)
        for join in joins:
            on = join.args.get("on")
            if kind_of(join) not in {"", "INNER", "CROSS", "OUTER"} or (
                join.args.get("using") or is_natural(join)
            ):
                raise unsupported("SYNTAX", "this kind of join is not analysed", join)
            if on is not None and self.moves(on):
                raise unsupported("SUBQUERY", "a subquery looks at rows that change", on)
            right = self._relation(join.this)
            if moving and right:
                raise unsupported(
                    "STREAM_JOIN", "new rows of one side also meet old rows of the other", join
                )
            lost = _OUTER.get(side_of(join))
            if lost and ((moving and lost != "right") or (right and lost != "left")):
                raise unsupported(
                    "STATIC_OUTER",
                    "rows of a static table are kept until they find a match",
                    join,
                )
            moving = moving or right

    def _relation(self, node: exp.Expr) -> bool:
        """Checks one relation; the answer is whether it (with what it is joined to) moves."""
        if not self.moves(node):
            return False
        joins = node.args.get("joins") or []
        if isinstance(node, exp.Table):
            if not isinstance(node.this, exp.Identifier):
                raise unsupported("SYNTAX", "a query inside a table function", node)
            bare = not self.sources[source_name(node)].static
        elif isinstance(node, exp.Subquery) and not isinstance(node.this, exp.Query):
            bare = self._relation(node.this)
        elif isinstance(node, exp.Subquery):
            bare = self.moves(node.this)
            if bare:
                self.query(node)
        else:
            raise unsupported("SYNTAX", "this part of FROM is not analysed", node)
        if joins:
            raise unsupported("SYNTAX", "write the joins one behind the other", node)
        return bare
