"""Is a base table's query row-wise over its feed?

It is when each record of the feed makes its output rows alone, whatever other records there
are: then appending the rows of each file, in any order and any grouping of files, gives the
table of all files. The way from the feed's mention up to the query's root decides it: every
SELECT that it passes must be free of grouping, DISTINCT, ordering, limits, aggregates and
windows, every join must keep no row of its other side on its own, and no set operation may
add rows that do not come from the feed. Parts off that way read static tables only and are
free.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from freshline.sql.text.canonical import is_aggregate, kind_of, side_of
from freshline.sql.text.functions import AGGREGATES, is_call
from freshline.sql.text.reads import Read, reads_of, rewritten
from freshline.sql.text.tokens import Token, tokens
from freshline.sql.text.tree import tree_of

_MARK = "__freshline_feed__"
CLAUSES = {
    "distinct": "DISTINCT compares records with each other",
    "group": "GROUP BY groups records",
    "having": "HAVING judges groups of records",
    "qualify": "QUALIFY judges windows over records",
    "order": "ORDER BY sorts records",
    "sort": "SORT BY sorts records",
    "cluster": "CLUSTER BY sorts records",
    "distribute": "DISTRIBUTE BY regroups records",
    "limit": "LIMIT counts records",
    "offset": "OFFSET counts records",
    "pivots": "PIVOT aggregates records",
    "sample": "TABLESAMPLE draws records by chance",
}
"""What each clause does to records, by sqlglot's name for it."""
_SET_OPERATION = "{} adds or compares rows beside the feed's"
_WORDS = {
    "GROUP": "group", "HAVING": "having", "QUALIFY": "qualify", "ORDER": "order",
    "SORT": "sort", "CLUSTER": "cluster", "DISTRIBUTE": "distribute", "LIMIT": "limit",
    "OFFSET": "offset", "PIVOT": "pivots", "TABLESAMPLE": "sample",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a query is row-wise.

    Attributes:
        fault: Why not, in words, or None.
        analysed: False where the query was judged by its words alone, more strictly, because
            its form is known to Spark only.
    """

    fault: str | None
    analysed: bool


def row_wise(query: str) -> Verdict:
    """Judges a query that reads exactly one feed, once."""
    read = next(read for read in reads_of(query) if read.stream)
    feed = read.name
    tree = tree_of(rewritten(query, {feed: _MARK}))
    mention = tree and next((t for t in tree.find_all(exp.Table) if t.name == _MARK), None)
    if tree is None or mention is None:
        fault = next(faults_of_words(query), None) or _fault_of_place(tokens(query), read)
        return Verdict(fault, analysed=False)
    hiding = (cte for cte in tree.find_all(exp.CTE) if cte.alias.lower() == feed.lower())
    if any(mention not in cte.walk() for cte in hiding):
        return Verdict(f"its WITH query {feed} has the name of the feed", analysed=True)
    return Verdict(_fault_on_way(mention, tree), analysed=True)


def _fault_on_way(node: exp.Expr, tree: exp.Expr) -> str | None:
    """The first fault on the way from ``node`` up to the root."""
    below: exp.Expr | None = None
    while True:
        parent = node.parent
        own = own_fault(node) or joined_fault(node, below)
        if fault := own or (parent and step_fault(node, parent)):
            return fault
        below = node
        if isinstance(node, exp.CTE):
            found = mentions(node, tree)
            if len(found) != 1:
                return f"its WITH query {node.alias} is read {len(found)} times"
            if found[0].find_ancestor(exp.CTE) is node:
                return f"its WITH query {node.alias} reads only itself"
            node, below = found[0], None
        elif parent is None:
            return None
        else:
            node = parent


def mentions(cte: exp.CTE, tree: exp.Expr) -> list[exp.Table]:
    """Where a query of WITH is read."""
    name = cte.alias.lower()
    return [t for t in tree.find_all(exp.Table) if t.name.lower() == name and not t.db]


def own_fault(node: exp.Expr) -> str | None:
    """What in ``node`` itself makes records depend on each other."""
    if isinstance(node, exp.SetOperation):
        return _SET_OPERATION.format(type(node).__name__.upper())
    if isinstance(node, exp.Select | exp.Subquery | exp.Table):
        for key, fault in CLAUSES.items():
            if _pivots(node) if key == "pivots" else node.args.get(key):
                return fault
    if isinstance(node, exp.Select):
        for part in _own_expressions(node):
            if isinstance(part, exp.Window):
                return "a window function (OVER) looks at other records"
            if name := _aggregate(part):
                return f"the aggregate {name} looks at many records"
    return None


def _pivots(node: exp.Expr) -> bool:
    """Whether PIVOT stands behind ``node``; UNPIVOT makes rows of each row alone."""
    return any(not pivot.args.get("unpivot") for pivot in node.args.get("pivots") or [])


def _are_pivoted(joins: Iterable[exp.Join]) -> bool:
    """Whether PIVOT stands behind a join: it is of all that is joined up to there.

    In sqlglot's tree it is the join's, or that of what is joined last.
    """
    return any(_pivots(join) or _pivots(join.this) for join in joins)


def _own_expressions(select: exp.Select) -> Iterator[exp.Expr]:
    """The nodes of a SELECT without those of its subqueries."""
    for item in select.expressions:
        yield from item.walk(prune=lambda part: isinstance(part, exp.Query))


def _aggregate(node: exp.Expr) -> str | None:
    if not is_aggregate(node):
        return None
    return node.sql(dialect="databricks").split("(")[0].lower()


def joined_fault(node: exp.Expr, below: exp.Expr | None) -> str | None:
    """What keeps other rows of what ``node`` is joined to in its own parentheses.

    Args:
        node: On the way.
        below: From where the way came to it; None: the way begins here.
    """
    joins = node.args.get("joins") or []
    if not isinstance(node, exp.Table | exp.Subquery) or isinstance(below, exp.Join):
        return None
    if _are_pivoted(joins):
        return CLAUSES["pivots"]
    faults = (_join_fault(join, feed_is_right=False) for join in joins)
    return next((fault for fault in faults if fault is not None), None)


def step_fault(node: exp.Expr, parent: exp.Expr) -> str | None:
    """What makes the step from ``node`` to ``parent`` more than passing records on."""
    if isinstance(parent, exp.Join):
        return _join_fault(parent, feed_is_right=True)
    if isinstance(node, exp.From | exp.Join):
        joins = parent.args.get("joins") or []
        at = joins.index(node) if isinstance(node, exp.Join) else -1
        behind = joins[at + 1 :]
        if _are_pivoted(joins[max(at, 0) :]):
            return CLAUSES["pivots"]
        return next(
            (fault for join in behind if (fault := _join_fault(join, feed_is_right=False))), None
        )
    if isinstance(parent, exp.Subquery | exp.Table | exp.SetOperation):
        return None  # a set operation is a fault of its own
    if isinstance(parent, exp.From | exp.CTE) or isinstance(node, exp.CTE | exp.With):
        return None
    if isinstance(parent, exp.Query) and isinstance(node, exp.Subquery):
        return None
    return "the feed is read inside an expression"


def _join_fault(join: exp.Join, *, feed_is_right: bool) -> str | None:
    side, kind = side_of(join), kind_of(join)
    lost = {"LEFT", "FULL"} if feed_is_right else {"RIGHT", "FULL"}
    if side in lost and kind not in {"SEMI", "ANTI"}:
        return f"the {side} JOIN keeps rows of the other side that no record of the feed meets"
    if feed_is_right and kind in {"SEMI", "ANTI"}:
        return f"the {kind} JOIN gives rows of the other side, not of the feed"
    return None


def _fault_of_place(found: Sequence[Token], feed: Read) -> str | None:
    """What keeps records from being passed on where the feed stands, by the words around it.

    Args:
        found: The query's tokens.
        feed: Where the feed is read.
    """
    at = next(at for at, token in enumerate(found) if token.start == feed.start)
    around: list[int] = []
    for each in range(at):
        if found[each].is_symbol("("):
            around.append(each)
        elif found[each].is_symbol(")"):
            around.pop()
    for each in around:
        if each and found[each - 1].is_word("AS"):
            return "a WITH query reads the feed, in a form that is known to Spark alone"
        if each and not (found[each - 1].is_word("FROM", "JOIN") or found[each - 1].text == "("):
            return "the feed is read inside an expression"
    for each, token in enumerate(found):
        if token.is_word("JOIN"):
            words = {before.text.upper() for before in found[max(each - 3, 0) : each]}
            side = next((word for word in ("LEFT", "RIGHT", "FULL") if word in words), None)
            kind = next((word for word in ("SEMI", "ANTI") if word in words), None)
            join = exp.Join(side=side, kind=kind)
            if fault := _join_fault(join, feed_is_right=each < at):
                return fault
    return None


def faults_of_words(query: str) -> Iterator[str]:
    """Every word that can make records depend on each other, wherever it stands."""
    found = tokens(query)
    for at, token in enumerate(found):
        if token.kind != "word":
            continue
        word = token.text.upper()
        behind = found[at + 1] if at + 1 < len(found) else None
        if word in _WORDS and behind is not None and not behind.is_symbol("."):
            yield CLAUSES[_WORDS[word]]
        if word == "DISTINCT" and not (at and found[at - 1].is_word("IS", "NOT")):
            yield CLAUSES["distinct"]
        if word == "OVER" and behind is not None and behind.is_symbol("("):
            yield "a window function (OVER) looks at other records"
        if word == "AGGREGATE" and at and found[at - 1].text == "|>":
            yield "AGGREGATE groups records"
        if word == "NEAREST" and at and found[at - 1].is_word("APPROX", "EXACT"):
            yield "NEAREST BY compares records with each other"
        if word in {"UNION", "EXCEPT", "INTERSECT", "MINUS"}:
            yield _SET_OPERATION.format(word)
        if is_call(found, at) and word.lower() in AGGREGATES:
            yield f"the aggregate {word.lower()} looks at many records"


def minds_columns(query: str, gained: Collection[str]) -> bool:
    """Whether records without these columns may give other rows once the feed has gained them.

    ``struct(*)`` then has them too, NATURAL compares by them, and a name that the query has given
    to something else may mean them from then on.

    Args:
        query: The user's text.
        gained: Names of columns.
    """
    names = {each.lower() for each in gained}
    found = tokens(query)
    within: list[bool] = []  # by open bracket: whether it holds the arguments of a call
    for at, token in enumerate(found):
        before = found[at - 1] if at else None
        if token.is_word("NATURAL") or (token.is_name and token.name.lower() in names):
            return True
        if token.is_symbol("("):
            behind = found[at + 1 : at + 2]
            is_query = any(each.is_word("SELECT", "WITH", "FROM") for each in behind)
            within.append(before is not None and before.is_name and not is_query)
        elif token.is_symbol(")"):
            within = within[:-1]
        elif token.is_symbol("*") and within and within[-1] and found[at - 1].text in "(,.":
            return True  # behind anything else it multiplies
    return False
