"""Where a query is cut: at the highest aggregate whose rows are linear.

A walk from the top. An aggregate (or DISTINCT, EXISTS, IN: they need no row twice) over linear
rows becomes a partial and its merge; what stands above stays as it is, in the final query.
Where the rows are not linear because a stream meets something that is only known at the end
(an aggregate of a stream, a static table whose rows an outer join keeps), the FROM clause is
split: the stream's side is grouped, the join runs in the final query.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from sqlglot import exp

from freshline.sql.query.records import Partial
from freshline.sql.query.scopes import (
    conjuncts,
    free_aliases,
    is_inner,
    is_limited,
    items_of,
    makes_groups,
    queries_in,
    windows_in,
)
from freshline.sql.query.unsupported import Unsupported, unsupported
from freshline.sql.states.block import Block
from freshline.sql.states.kept_rows import kept_query, kept_table
from freshline.sql.states.linear import LinearAnalysis
from freshline.sql.states.merged_block import merged_block
from freshline.sql.states.states import Typer
from freshline.sql.text.canonical import side_of

_HELPS = "EQUAL_NOT_SAME"
"""A reason to be told even where rows could be kept: the query can be written otherwise."""
_KEPT = "kept"
"""Mark of a relation whose rows are kept."""


class Cutter:
    """Cuts one query.

    Args:
        analysis: Of what is linear.
        typer: Columns and types of a query over the sources.
        taken: Names that no partial may have.
        keeps_rows: Whether a state may hold rows of a stream, grouped, where nothing smaller
            does (:mod:`freshline.sql.states.kept_rows`).

    Attributes:
        partials: Those found so far.
        groups: State key by output column, by identity of the SELECT whose rows are each a
            function of one group of a partial.
    """

    def __init__(
        self,
        analysis: LinearAnalysis,
        typer: Typer,
        taken: AbstractSet[str],
        *,
        keeps_rows: bool = False,
    ) -> None:
        self.analysis = analysis
        self.typer = typer
        self.partials: list[Partial] = []
        self.groups: dict[int, Mapping[str, str]] = {}
        self._names = self._aliases = 0
        self._taken = taken
        self._keeps_rows = keeps_rows
        self._aggregates_above = 0

    def next_name(self) -> str:
        """A name for a partial that no other one has."""
        while True:
            self._names += 1
            name = f"partial_{self._names}"
            if name not in self._taken:
                return name

    def _next_alias(self) -> str:
        while True:
            self._aliases += 1
            name = f"kept_{self._aliases}"
            if name not in self._taken:
                return name

    def query(self, query: exp.Query, *, distinct: bool = False) -> exp.Query:
        """``query`` over the partials; ``distinct``: how often a row comes does not matter.

        Raises:
            Unsupported: It needs rows of the streams themselves, or cannot be merged.
        """
        if not self.analysis.streams_in(query):
            return query
        if isinstance(query, exp.Subquery):
            query.set("this", self.query(query.this, distinct=distinct))
            return query
        if isinstance(query, exp.SetOperation):
            unbounded = isinstance(query, exp.Union) and not is_limited(query)
            same = bool(query.args.get("distinct")) or (distinct and unbounded)
            query.set("this", self.query(query.left, distinct=same))
            query.set("expression", self.query(query.right, distinct=same))
            return query
        if isinstance(query, exp.Select):
            return self._select(query, distinct=distinct)
        raise unsupported("SYNTAX", "this form of query is not analysed", query)

    def subqueries(self, tree: exp.Expr) -> None:
        """Cuts the queries inside an expression that reads streams, in place."""
        for query in list(queries_in(tree)):
            if not self.analysis.streams_in(query):
                continue
            parent = query.parent
            while isinstance(parent, exp.Subquery):
                parent = parent.parent
            if isinstance(parent, exp.Exists):
                _ask_for_presence(query)
            at_most_once = isinstance(parent, exp.Exists | exp.In)
            new = self.query(query.copy(), distinct=at_most_once)
            if query is not tree:
                query.replace(new)

    def _select(self, select: exp.Select, *, distinct: bool) -> exp.Select:
        if makes_groups(select):
            return self._aggregate(select, distinct=False)
        unique = bool(select.args.get("distinct")) or (distinct and not is_limited(select))
        if unique and not windows_in(select):
            return self._aggregate(select, distinct=True)
        return self._plain(select)

    def _aggregate(self, select: exp.Select, *, distinct: bool) -> exp.Select:
        """A query that needs no row of its FROM clause by itself."""
        try:
            core = self.analysis.core(select)
        except Unsupported as why:
            return self._split(select, why, distinct=distinct)
        if not core.streams:
            return self._plain(select)
        late = {id(each) for each in core.late}
        rows = exp.Select()
        for key in ("from_", "joins", "laterals"):
            if value := select.args.get(key):
                rows.set(key, value if key == "from_" else list(value))
        own = frozenset(item.alias_or_name for item in items_of(select))
        joins: list[exp.Join] = list(select.args.get("joins") or [])
        in_on = {id(c) for join in joins for c in conjuncts(join.args.get("on"))}
        kept = [[c for c in conjuncts(join.args.get("on")) if id(c) not in late] for join in joins]
        where = [c.copy() for c in core.early if id(c) not in in_on]
        rows = rows.copy()
        for join, conditions in zip(rows.args.get("joins") or [], kept, strict=True):
            if is_inner(join):
                join.set("on", exp.and_(*(c.copy() for c in conditions)) if conditions else None)
                join.set("kind", None if conditions else "CROSS")
        if where:
            rows = rows.where(*where)
        return merged_block(self, Block(select, own, rows, [c.copy() for c in core.late], distinct))

    def _plain(self, select: exp.Select) -> exp.Select:
        """A query that stays in the final as it is: what it reads is cut."""
        tables = [each for each in items_of(select) if isinstance(each, exp.Table)]
        if self._aggregates_above and any(self.analysis.streams_in(each) for each in tables):
            kept = kept_query(select, self._next_alias, self.typer) if self._keeps_rows else None
            if kept is not None:
                return self._plain(kept)
        for item in items_of(select):
            if not self.analysis.streams_in(item):
                continue
            if not isinstance(item, exp.Subquery):
                raise self._refused_to_keep(select, item)
            item.set("this", self.query(item.this))
        for key in ("expressions", "joins", "where", "group", "having", "qualify", "order"):
            value = select.args.get(key)
            for tree in value if isinstance(value, list) else [value]:
                if isinstance(tree, exp.Join):
                    tree = tree.args.get("on")  # noqa: PLW2901 - its relation is done
                if tree is not None:
                    self.subqueries(tree)
        return select

    def _refused_to_keep(self, select: exp.Select, item: exp.Expr) -> Unsupported:
        windows = windows_in(select)
        if windows:
            ranks = isinstance(windows[0].this, exp.RowNumber | exp.Rank | exp.DenseRank)
            step = (
                "the newest row of a key is max(struct(time, a, b)) with GROUP BY key"
                if ranks
                else "compute it over aggregates"
            )
            return unsupported(
                "WINDOW",
                f"a window function over the rows of {item.alias_or_name} needs them all; {step}",
                windows[0],
            )
        return unsupported(
            "KEEPS_ROWS",
            f"the result holds rows of {item.alias_or_name} themselves, so a state would be as "
            "large as the input; aggregate them, or maintain the query as a table",
            select,
        )

    # -------------------------------------------------------------- split FROM

    def _split(self, select: exp.Select, why: Unsupported, *, distinct: bool) -> exp.Select:
        """The FROM clause's linear part grouped, the rest joined to it in the final."""
        direct, derived = self._sorted_streams(select)
        if not direct:
            try:
                return self._below_an_aggregate(select)
            except Unsupported as below:
                raise (below if why.reason.code == "KEEPS_ROWS" else why) from None
        before, whole = len(self.partials), select.copy()
        try:
            joins: list[exp.Join] = list(select.args.get("joins") or [])
            if select.args.get("laterals"):
                raise why
            if self._keeps_rows and why.reason.code == "JOIN_ACROSS_BATCHES":
                return self._split_keeping(select, direct, why, distinct=distinct)
            if all(is_inner(join) for join in joins):
                return self._split_inner(select, whole, direct, derived, distinct=distinct)
            if len(direct) > 1:
                raise why
            return self._split_outer(select, whole, direct[0], derived, distinct=distinct)
        except Unsupported as split:
            if any(isinstance(item, exp.Table) for item in direct):
                across = why.reason.code == "JOIN_ACROSS_BATCHES" and split.reason.code != _HELPS
                raise (why if across else split) from None
            del self.partials[before:]
            return self._below_an_aggregate(whole)

    def _below_an_aggregate(self, select: exp.Select) -> exp.Select:
        self._aggregates_above += 1
        try:
            return self._plain(select)
        finally:
            self._aggregates_above -= 1

    def _split_keeping(
        self, select: exp.Select, direct: list[exp.Expr], why: Unsupported, *, distinct: bool
    ) -> exp.Select:
        """One linear relation grouped; the rows of the others are kept, each by itself."""
        before = len(self.partials)
        for stays in (item.alias_or_name for item in direct):
            attempt = select.copy()
            for item in self._sorted_streams(attempt)[0]:
                if item.alias_or_name != stays:
                    self._keep(item, attempt, distinct=distinct)
            one, derived = self._sorted_streams(attempt)
            if len(one) > 1:
                continue
            joins: list[exp.Join] = list(attempt.args.get("joins") or [])
            try:
                if all(is_inner(join) for join in joins):
                    return self._split_inner(attempt, select, one, derived, distinct=distinct)
                return self._split_outer(attempt, select, one[0], derived, distinct=distinct)
            except Unsupported as failed:
                del self.partials[before:]
                why = failed if failed.reason.code == _HELPS else why
        raise why

    def _keep(self, item: exp.Expr, select: exp.Select, *, distinct: bool) -> None:
        if isinstance(item, exp.Table):
            kept = kept_table(item, select, self._next_alias, self.typer, distinct=distinct)
            if kept is not None:
                kept.meta[_KEPT] = True
                item.replace(kept)

    def _sorted_streams(self, select: exp.Select) -> tuple[list[exp.Expr], list[exp.Expr]]:
        """The relations that read streams: linear ones, and subqueries to be cut themselves."""
        direct: list[exp.Expr] = []
        derived: list[exp.Expr] = []
        for item in items_of(select):
            if not self.analysis.streams_in(item):
                continue
            if item.meta.get(_KEPT):
                derived.append(item)  # by itself even where its groups are linear
                continue
            try:
                self.analysis.relation(item)
            except Unsupported:
                if not isinstance(item, exp.Subquery):
                    raise
                derived.append(item)
            else:
                direct.append(item)
        return direct, derived

    def _split_inner(
        self,
        select: exp.Select,
        whole: exp.Select,
        direct: list[exp.Expr],
        derived: list[exp.Expr],
        *,
        distinct: bool,
    ) -> exp.Select:
        conditions = conjuncts(select.args.get("where"))
        for join in select.args.get("joins") or []:
            conditions += conjuncts(join.args.get("on"))
        items = items_of(select)
        inside = [id(item) for item in direct]
        own = {item.alias_or_name for item in direct}
        others = {id(item) for item in derived}
        grown = True
        while grown:  # static tables join the side to which a condition ties them
            grown = False
            for item in items:
                name = item.alias_or_name
                if id(item) in inside or id(item) in others:
                    continue
                if any(
                    name in free_aliases(c) and (free_aliases(c) - {name})
                    and free_aliases(c) <= own | {name}
                    for c in conditions
                ):  # fmt: skip
                    inside.append(id(item))
                    own.add(name)
                    grown = True
        rest = [item for item in items if id(item) not in inside]
        rows = _crossed([item.copy() for item in items if id(item) in inside])
        if conditions:
            rows = rows.where(*(c.copy() for c in conditions))
        core = self.analysis.core(rows)
        late = [c.copy() for c in core.late]
        early = [c.copy() for c in core.early]
        rows.set("where", exp.Where(this=exp.and_(*early)) if early else None)
        for item in rest:
            if self.analysis.streams_in(item):
                item.set("this", self.query(item.this))
        block = Block(select, frozenset(own), rows, late, distinct, rest=rest, whole=whole)
        return merged_block(self, block)

    def _split_outer(
        self,
        select: exp.Select,
        whole: exp.Select,
        item: exp.Expr,
        derived: list[exp.Expr],
        *,
        distinct: bool,
    ) -> exp.Select:
        """The only stream's side of outer joins grouped where it stands."""
        name = item.alias_or_name
        joins: list[exp.Join] = list(select.args.get("joins") or [])
        at = next((n for n, join in enumerate(joins) if join.this is item), -1)
        side = side_of(joins[at]) if at >= 0 else ""
        missing = side in {"LEFT", "FULL"} or any(
            side_of(join) in {"RIGHT", "FULL"} for join in joins[at + 1 :]
        )
        if side == "RIGHT" and any(side_of(j) in {"RIGHT", "FULL"} for j in joins[at + 1 :]):
            missing = True
        early: list[exp.Expr] = []
        late: list[exp.Expr] = []
        for condition in conjuncts(select.args.get("where")):
            alone = free_aliases(condition) == {name} and not list(queries_in(condition))
            (early if alone and not missing else late).append(condition.copy())
        if side == "LEFT":
            on: list[exp.Expr] = []
            for condition in conjuncts(joins[at].args.get("on")):
                alone = free_aliases(condition) == {name} and not list(queries_in(condition))
                (early if alone else on).append(condition.copy())
            joins[at].set("on", exp.and_(*on) if on else exp.true())
        for join in joins:
            tied = join.args.get("on")
            if tied is not None and self.analysis.streams_in(tied):
                raise unsupported("STATIC_OUTER", "a subquery over a stream in an outer join", tied)
        rows = _crossed([item.copy()])
        if early:
            rows = rows.where(*early)
        for other in derived:
            other.set("this", self.query(other.this))
        block = Block(
            select,
            frozenset({name}),
            rows,
            late,
            distinct,
            whole=whole,
            place=item,
            can_be_missing=missing,
        )
        return merged_block(self, block)


def _crossed(items: list[exp.Expr]) -> exp.Select:
    rows = exp.Select(from_=exp.From(this=items[0]))
    if items[1:]:
        rows.set("joins", [exp.Join(this=item, kind="CROSS") for item in items[1:]])
    return rows


def _ask_for_presence(query: exp.Query) -> None:
    """EXISTS needs no columns, no order, and no limit but LIMIT 0 and what an OFFSET leaves."""
    if not isinstance(query, exp.Select) or makes_groups(query) or query.args.get("offset"):
        return
    query.set("expressions", [exp.alias_(exp.Literal.number(1), "present")])
    query.set("order", None)
    limit = query.args.get("limit")
    if limit is not None and limit.expression.name not in {"", "0"}:
        query.set("limit", None)
