"""What makes two runs of a query over the same rows differ: the clock, chance, order.

A view whose query has such a part cannot be kept equal to its query by updating a piece of it,
and its states cannot be merged. To Spark itself the clock's functions are deterministic, since
they give one value within one query; hence the lists of names (``functions.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import pairwise

from sqlglot import exp

from freshline.sql.query.records import Reason
from freshline.sql.query.scopes import is_limited, items_of, makes_groups
from freshline.sql.query.unsupported import Unsupported, text_of
from freshline.sql.text.builtin import BUILT_IN, ELSEWHERE
from freshline.sql.text.canonical import counts_rows, is_whole
from freshline.sql.text.functions import AGGREGATES, CHANCE, CLOCK, SPECIAL_TIME
from freshline.sql.text.tokens import tokens

_CLOCK_NODES = (
    exp.CurrentDate,
    exp.CurrentDatetime,
    exp.CurrentTime,
    exp.CurrentTimestamp,
    exp.CurrentTimestampLTZ,
    exp.Localtime,
    exp.Localtimestamp,
    exp.UtcDate,
    exp.UtcTime,
    exp.UtcTimestamp,
)
_CHANCE_NODES = (exp.Rand, exp.Randn, exp.Randstr, exp.Shuffle, exp.Uniform, exp.Uuid)
_ENVIRONMENT = frozenset(
    """
    current_catalog current_database current_path current_schema current_user java_method
    measure reflect session_user try_reflect user version
    """.split()  # noqa: SIM905
)
_ENVIRONMENT_NODES = (
    exp.CurrentCatalog,
    exp.CurrentDatabase,
    exp.CurrentSchema,
    exp.CurrentUser,
    exp.SessionUser,
)
_ORDERED_NODES = (
    exp.AnyValue,
    exp.ArrayAgg,
    exp.First,
    exp.FirstValue,
    exp.Last,
    exp.LastValue,
    exp.NthValue,
)
_RANKING = (exp.RowNumber, exp.Lag, exp.Lead, exp.Ntile)
_ORDER_DOES_NOT_MATTER = (exp.ArraySort, exp.ArraySize)
_OF_A_SET = (
    *_ORDER_DOES_NOT_MATTER,
    exp.ArrayContains,
    exp.ArrayMax,
    exp.ArrayMin,
    exp.ArrayOverlaps,
    exp.Explode,
    exp.ExplodeOuter,
)
"""What gives the same for an array's elements in any order."""
_OF_A_SET_TOO = frozenset({"cardinality", "explode_outer"})
_CHOICES = {
    exp.ArgMax: "max_by chooses freely among rows that tie",
    exp.ArgMin: "min_by chooses freely among rows that tie",
    exp.Mode: "mode chooses freely among values that are equally frequent",
    exp.ArrayUniqueAgg: "the elements of collect_set have no order of their own",
    exp.ApproxQuantile: "an approximate percentile may differ slightly when computed again",
    exp.RowNumber: "row_number numbers rows freely that tie in its ORDER BY",
}
_NOW = re.compile(
    r"\s*(now|today|tomorrow|yesterday)(\s+(utc|gmt|z|[a-z]+/\S+|[+-]\d\S*))?\s*\Z", re.IGNORECASE
)
_TIME_OF_DAY = re.compile(r"[\s\x00-\x1f]*(T\d|\d{1,2}:)")
"""A text without a date, which Spark takes for a time of today."""
_PASSING: dict[type, tuple[str, ...]] = {
    exp.Array: ("expressions",),
    exp.Bracket: ("this",),
    exp.Case: ("ifs", "default"),
    exp.Coalesce: ("this", "expressions"),
    exp.Greatest: ("this", "expressions"),
    exp.If: ("true", "false"),
    exp.Least: ("this", "expressions"),
    exp.Map: ("values",),
    exp.Nullif: ("this",),
    exp.Paren: ("this",),
    exp.VarMap: ("values",),
}
"""Where the operands stand of which one can be the value."""
_MOMENTS = (
    exp.DataType.Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.TIMESTAMPLTZ,
    exp.DataType.Type.TIMESTAMPNTZ,
    exp.DataType.Type.DATETIME,
)
_DAYS = (exp.DataType.Type.DATE,)


def nondeterminism(tree: exp.Expr, *, functions: AbstractSet[str] = frozenset()) -> Reason | None:
    """The first part of ``tree`` that may answer differently over the same rows, or None.

    Args:
        tree: Of a whole query (or a part of one).
        functions: Names, lower case, of user-defined functions that were declared to be
            deterministic functions of a row.

    Returns:
        A reason with one of these codes. CLOCK: the time of the run. VOLATILE: chance, the
        files' layout, or who runs it. ORDER_DEPENDENT: the order in which rows happen to
        come. LIMIT_UNORDERED: some rows, whichever. UNKNOWN_FUNCTION: nothing is known.
    """
    for node in tree.walk():
        if found := _clock(node) or _chance(node) or _order(node) or _limit(node):
            return found
        if name := _unknown(node, functions):
            return _reason(
                "UNKNOWN_FUNCTION",
                f"{name} is not built in; nothing says that it is a deterministic function "
                "of a row",
                node,
            )
    return _unsorted_set(tree)


def clock_or_chance(tree: exp.Expr) -> Reason | None:
    """The first part of ``tree`` that no second run can repeat (CLOCK, VOLATILE), or None."""
    for node in tree.walk():
        if found := _clock(node) or _chance(node):
            return found
    return None


def of_elsewhere(query: str, *, functions: AbstractSet[str] = frozenset()) -> Reason | None:
    """A call of a function that sqlglot takes for one that it knows, and Spark has not, or None.

    In the catalog there can be one of that name, of which nothing is known. In sqlglot's tree it
    does not have its own name.

    Args:
        query: The user's text.
        functions: As of :func:`nondeterminism`.
    """
    for token, behind in pairwise(tokens(query)):
        name = token.name.lower() if token.is_name else ""
        if behind.is_symbol("(") and name in ELSEWHERE and name not in functions:
            return Reason(
                "UNKNOWN_FUNCTION",
                f"{name} is not built in; nothing says that it is a deterministic function "
                "of a row",
                token.text,
            )
    return None


def require_deterministic(tree: exp.Expr, *, functions: AbstractSet[str] = frozenset()) -> None:
    """Raises :class:`.Unsupported` with what :func:`nondeterminism` finds."""
    if reason := nondeterminism(tree, functions=functions):
        raise Unsupported(reason)


def cautions(tree: exp.Expr) -> tuple[str, ...]:
    """Sentences on parts that may choose among equally right answers."""
    kinds = {type(node) for node in tree.walk()}
    return tuple(text for kind, text in _CHOICES.items() if kind in kinds)


def _reason(code: str, message: str, node: exp.Expr) -> Reason:
    return Reason(code, message, text_of(node))


def _unknown(node: exp.Expr, functions: AbstractSet[str]) -> str | None:
    """The name of a function that ``node`` calls and nothing is known of."""
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
        # Somebody's function that is called as a built-in one. Those have their short names here.
        prefix = [part.name for part in node.this.find_all(exp.Identifier)]
        return ".".join([*prefix, node.expression.name or "function"])
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Identifier | exp.Star):
        return text_of(node)  # the same with FILTER
    if not isinstance(node, exp.Anonymous):
        return None
    name = node.name.lower()
    known = name in BUILT_IN or name in AGGREGATES or name in functions
    return None if known else node.name


def _clock(node: exp.Expr) -> Reason | None:
    called = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    asks = isinstance(node, _CLOCK_NODES)
    asks = asks or (called in CLOCK and (called != "unix_timestamp" or not node.expressions))
    if isinstance(node, exp.Literal) and node.is_string and _NOW.match(node.name):
        return _reason("CLOCK", f"'{node.name}' as a time has another value in every run", node)
    if isinstance(node, exp.Cast) and node.is_type(*_MOMENTS, *_DAYS):
        for text in _texts(node.this):
            if SPECIAL_TIME.match(text):
                return _reason("CLOCK", f"'{text}' as a time has another value in every run", node)
            if _TIME_OF_DAY.match(text) and node.is_type(*_MOMENTS):
                return _reason("CLOCK", f"the time '{text}' without a date is one of today", node)
    if asks:
        return _reason(
            "CLOCK", f"{text_of(node)} has another value in every run; write a literal", node
        )
    return None


def _texts(value: exp.Expr) -> Iterator[str]:
    """The literal texts that a value can be: itself, or those among which it chooses."""
    found: list[object] = [value]
    for node in found:
        if isinstance(node, exp.Literal) and node.is_string:
            yield node.name
        elif isinstance(node, exp.Expr):
            for name in _PASSING.get(type(node), ()):
                held = node.args.get(name)
                found += held if isinstance(held, list) else [held]


def _chance(node: exp.Expr) -> Reason | None:
    called = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if isinstance(node, _CHANCE_NODES) or called in CHANCE:
        return _reason("VOLATILE", f"{text_of(node)} differs from run to run", node)
    if isinstance(node, _ENVIRONMENT_NODES) or called in _ENVIRONMENT:
        return _reason(
            "VOLATILE", f"{text_of(node)} depends on who runs the query, or on other code", node
        )
    return None


def _order(node: exp.Expr) -> Reason | None:
    if isinstance(node, exp.GroupConcat):
        ordered = isinstance(node.this, exp.Order) or isinstance(node.parent, exp.WithinGroup)
    elif isinstance(node, _ORDERED_NODES):
        ordered = isinstance(_user(node), _ORDER_DOES_NOT_MATTER) or isinstance(
            node.this, exp.Order
        )
        if not ordered and _is_ordered_window(node):
            return _reason(
                "ORDER_DEPENDENT",
                f"{text_of(node)} depends on the order in which rows come that tie in the window's"
                " ORDER BY; use max or min of a struct of the order's columns and the value",
                node,
            )
    elif isinstance(node, _RANKING):
        ordered = _is_ordered_window(node)
    elif isinstance(node, exp.WindowSpec) and counts_rows(node):
        window = node.parent
        ordered = is_whole(node) or (
            isinstance(window, exp.Window)
            and (bool(window.args.get("order")) or bool(window.args.get("alias")))
        )
    else:
        return None
    if ordered:
        return None
    return _reason(
        "ORDER_DEPENDENT",
        f"{text_of(node)} depends on the order in which rows come; give it an order of its own",
        node,
    )


def _unsorted_set(tree: exp.Expr) -> Reason | None:
    """A use of ``collect_set`` that shows in which order its elements happen to stand.

    As a column of the result it may stand in any order; so it may as a column of a subquery, as
    long as the same holds for all that is made of that column.
    """
    found: list[exp.Expr] = list(tree.find_all(exp.ArrayUniqueAgg))
    named: set[tuple[str, str]] = set()
    judged: set[int] = set()
    while found:
        for node in found:
            column = _unsorted_column(node)
            if column is None:
                message = (
                    f"{text_of(node)} has no order of its own, and what is made of it here "
                    "depends on one; sort it with sort_array"
                )
                return _reason("ORDER_DEPENDENT", message, _user(node) or node)
            named |= column
        judged |= {id(node) for node in found}
        found = [
            column
            for column in tree.find_all(exp.Column)
            if (column.table, column.name.lower()) in named and id(column) not in judged
        ]
    return None


def _unsorted_column(node: exp.Expr) -> set[tuple[str, str]] | None:
    """The column of a subquery that ``node`` becomes, if any; None: its order would show."""
    user = _user(node)
    if isinstance(user, exp.Window) and user.this is not None and node.arg_key == "this":
        node, user = user, _user(user)
    called = user.name.lower() if isinstance(user, exp.Anonymous) else ""
    if type(user) in _OF_A_SET or called in _OF_A_SET_TOO:  # posexplode is a kind of explode
        return set()
    item = user if isinstance(user, exp.Alias) else node
    query = item.parent
    if not isinstance(query, exp.Select) or item.arg_key != "expressions":
        return None
    if query.args.get("distinct") or (is_limited(query) and _orders_by(query, item)):
        return None
    at = next(at for at, each in enumerate(query.expressions) if each is item)
    while isinstance(query.parent, exp.SetOperation | exp.Subquery):
        query = query.parent
        if isinstance(query, exp.SetOperation):
            if not isinstance(query, exp.Union) or query.args.get("distinct"):
                return None
        elif query.alias:
            break
    if query.parent is None:
        return set()
    if isinstance(query, exp.Subquery) and isinstance(query.parent, exp.From | exp.Join):
        return {(query.alias, query.this.named_selects[at].lower())}
    return set() if isinstance(query.parent, exp.Exists) else None


def _orders_by(select: exp.Select, item: exp.Expr) -> bool:
    """Whether the output column decides which rows a limit leaves."""
    order = select.args.get("order")
    name = item.alias_or_name.lower()
    return order is not None and any(
        column.name.lower() == name for column in order.find_all(exp.Column)
    )


def _user(node: exp.Expr) -> exp.Expr | None:
    """What uses the value of ``node``, past FILTER, DISTINCT and IGNORE NULLS."""
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.Paren):
        parent = parent.parent
    if isinstance(parent, exp.ArraySort) and parent.args.get("expression"):
        return None  # sorted by a comparison of the user's
    return parent


def _is_ordered_window(node: exp.Expr) -> bool:
    """Whether ``node`` is the function of a window that has an order (or a name: see WINDOW)."""
    user = _user(node)
    if not isinstance(user, exp.Window):
        return False
    if user.args.get("order"):
        return True
    named = user.args.get("alias")
    select = user.find_ancestor(exp.Select)
    if named is None or select is None:
        return False
    return any(
        window.name == named.name and window.args.get("order")
        for window in select.args.get("windows") or []
    )


def _limit(node: exp.Expr) -> Reason | None:
    if not isinstance(node, exp.Query) or isinstance(node.parent, exp.Exists):
        return None
    limit = node.args.get("limit") or node.args.get("offset")
    if limit is None or node.args.get("order") or _has_one_row(node):
        return None
    return _reason("LIMIT_UNORDERED", "LIMIT without ORDER BY keeps whichever rows come", limit)


def _has_one_row(query: exp.Expr) -> bool:
    """Whether a query has one row at most without its limit, so that a limit chooses nothing."""
    if isinstance(query, exp.Subquery):
        return _has_one_row(query.this)
    if not isinstance(query, exp.Select) or query.args.get("laterals"):
        return False
    if any(each.find(exp.UDTF, exp.Explode) for each in query.expressions):
        return False
    if makes_groups(query):
        return query.args.get("group") is None
    items = items_of(query)
    return bool(items) and all(
        isinstance(item, exp.Subquery) and _has_one_row(item) for item in items
    )
