"""Which parts of a query are static, which are linear in the streams, and why others are not.

A part is linear if its rows over all batches are the rows of each batch put together (as a
bag). Two kinds (docs/views.md):

- ``joint``: a batch is a part of every stream at once. Streams may join on their batch keys,
  in inner and outer joins; what groups by the key, is distinct in it, partitions a window by
  it or is correlated on it stays linear, since rows with one key never part.
- ``each``: no such promise. Inner joins make a part linear in each stream with the others
  whole, as long as every stream occurs once.

Batch keys spread by equality: a column set equal to one in a condition that every row meets
is a key too. A key column on the side of an outer join that can be missing is none any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from freshline.sql.query.normal import source_name
from freshline.sql.query.records import Linearity, Source
from freshline.sql.query.scopes import (
    conjuncts,
    equal_columns,
    free_aliases,
    is_inner,
    is_limited,
    items_of,
    makes_groups,
    queries_in,
    windows_in,
)
from freshline.sql.query.unsupported import Unsupported, unsupported
from freshline.sql.text.canonical import is_natural, side_of

_ColumnName = tuple[str, str]
"""Alias and column."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What is known of a relation that is static or linear.

    Attributes:
        streams: That it reads; empty: it is static.
        keys: Output columns that hold a batch key, with the key part's position.
    """

    streams: frozenset[str] = frozenset()
    keys: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Core:
    """FROM and WHERE of a query whose rows are linear, but for the late conditions.

    Attributes:
        streams: That the FROM clause reads.
        keys: Its columns that hold a batch key, with the key part's position.
        early: Conditions of WHERE and of inner joins that a batch can decide for itself.
        late: Those it cannot: about an outer query, or about all batches.
    """

    streams: frozenset[str]
    keys: frozenset[tuple[_ColumnName, int]]
    early: tuple[exp.Expr, ...]
    late: tuple[exp.Expr, ...]


@dataclass(slots=True)
class _Row:
    """A row of the FROM clause while its joins are walked through."""

    streams: frozenset[str] = frozenset()
    keys: set[tuple[_ColumnName, int]] = field(default_factory=set)


class LinearAnalysis:
    """Answers for one list of sources and one kind of linearity."""

    def __init__(self, sources: Sequence[Source], linearity: Linearity) -> None:
        self.streams = {source.name for source in sources if not source.static}
        self.linearity = linearity
        self._batch_keys = {
            source.name: source.batch_key if linearity == "joint" else ()
            for source in sources
            if not source.static
        }
        self._positions = max((len(key) for key in self._batch_keys.values()), default=0)

    def streams_in(self, tree: exp.Expr) -> frozenset[str]:
        """The streams that ``tree`` reads anywhere."""
        names = {source_name(table) for table in tree.find_all(exp.Table)}
        return frozenset(names & self.streams)

    def relation(self, item: exp.Expr) -> Flow:
        """What an item of a FROM clause is.

        Raises:
            Unsupported: It is neither static nor linear.
        """
        streams = self.streams_in(item)
        if not streams:
            return Flow()
        if isinstance(item, exp.Table):
            name = source_name(item)
            keys = ((column.lower(), at) for at, column in enumerate(self._batch_keys[name]))
            return Flow(streams, frozenset(keys))
        if isinstance(item, exp.Subquery):
            flow = self.query(item.this)
            names = item.alias_column_names
            if names:
                outputs = item.this.named_selects
                by_old = dict(zip(outputs, names, strict=False))
                keys = ((by_old.get(name, name), at) for name, at in flow.keys)
                return Flow(flow.streams, frozenset(keys))
            return flow
        raise unsupported("SYNTAX", "this part of FROM is not analysed", item)

    def query(self, query: exp.Expr) -> Flow:
        """What a whole query is, as a relation.

        Raises:
            Unsupported: It is neither static nor linear.
        """
        if not self.streams_in(query):
            return Flow()
        if isinstance(query, exp.Subquery):
            return self.query(query.this)
        if is_limited(query):
            raise unsupported(
                "KEEPS_ROWS", "LIMIT below an aggregate needs the rows of all batches", query
            )
        if isinstance(query, exp.SetOperation):
            return self._set_operation(query)
        if isinstance(query, exp.Select):
            return self._select(query)
        raise unsupported("SYNTAX", "this form of query is not analysed", query)

    def core(self, select: exp.Select) -> Core:
        """FROM and WHERE of ``select``, conditions sorted by when they can be decided.

        Raises:
            Unsupported: Its rows are not linear, whatever the conditions.
        """
        joins: list[exp.Join] = list(select.args.get("joins") or [])
        hoists = not any(side_of(join) in {"RIGHT", "FULL"} for join in joins)
        where = conjuncts(select.args.get("where"))
        conditions = list(where)
        if hoists:
            conditions += [
                c for join in joins if is_inner(join) for c in conjuncts(join.args.get("on"))
            ]
        row = self._joined(select, joins, conditions if hoists else [])
        row.keys = self._spread(row.keys, conditions)
        own = {item.alias_or_name for item in items_of(select)}
        early: list[exp.Expr] = []
        late: list[exp.Expr] = []
        for condition in conditions:
            foreign = free_aliases(condition) - own
            decided = not foreign and self._decided_in_batch(condition, row.keys)
            (early if decided else late).append(condition)
        for join in joins:
            on = join.args.get("on")
            if on is None or (hoists and is_inner(join)):
                continue
            if free_aliases(on) - own or not self._decided_in_batch(on, row.keys):
                raise unsupported("KEEPS_ROWS", "a condition of a join reaches beyond a batch", on)
        return Core(row.streams, frozenset(row.keys), tuple(early), tuple(late))

    def decided_in_batch(self, tree: exp.Expr, core: Core) -> bool:
        """Whether every subquery in an expression over ``core`` needs one batch alone."""
        return self._decided_in_batch(tree, set(core.keys))

    # ------------------------------------------------------------------ joins

    def _joined(
        self, select: exp.Select, joins: Sequence[exp.Join], where: Sequence[exp.Expr]
    ) -> _Row:
        items = items_of(select)
        if not items:
            return _Row()
        row = self._item_row(items[0])
        for join in joins:
            if join.args.get("using") or is_natural(join) or join.args.get("match_condition"):
                raise unsupported("SYNTAX", "this join is not analysed", join)
            row = self._join(row, self._item_row(join.this), join, where)
        return row

    def _item_row(self, item: exp.Expr) -> _Row:
        if item.args.get("joins"):
            raise unsupported("SYNTAX", "a join in parentheses is not analysed", item)
        flow = self.relation(item)
        keys = {((item.alias_or_name, name), at) for name, at in flow.keys}
        return _Row(flow.streams, keys)

    def _join(self, left: _Row, right: _Row, join: exp.Join, where: Sequence[exp.Expr]) -> _Row:
        side = side_of(join)
        keeps_left, keeps_right = side in {"LEFT", "FULL"}, side in {"RIGHT", "FULL"}
        if not is_inner(join) and side not in {"LEFT", "RIGHT", "FULL"}:
            raise unsupported("SYNTAX", "this join is not analysed", join)
        for static, linear, kept in ((left, right, keeps_left), (right, left, keeps_right)):
            if kept and not static.streams and linear.streams:
                raise unsupported(
                    "STATIC_OUTER",
                    "an outer join keeps rows of a static table: whether one has a partner is "
                    "known only once all rows have arrived",
                    join,
                )
        if left.streams and right.streams:
            self._check_meeting(left, right, join, where)
        row = _Row(left.streams | right.streams)
        row.keys |= set() if keeps_right else left.keys
        row.keys |= set() if keeps_left else right.keys
        return row

    def _check_meeting(
        self, left: _Row, right: _Row, join: exp.Join, where: Sequence[exp.Expr]
    ) -> None:
        """That rows of two linear sides meet only within a batch, or linearly in each."""
        names = " and ".join([", ".join(sorted(left.streams)), ", ".join(sorted(right.streams))])
        if self.linearity == "each":
            if left.streams & right.streams:
                raise unsupported(
                    "JOIN_ACROSS_BATCHES", f"the query joins {names} with itself", join
                )
            if not is_inner(join):
                message = f"an outer join between {names} takes back rows it gave before"
                raise unsupported("JOIN_ACROSS_BATCHES", message, join)
            return
        equal = [*conjuncts(join.args.get("on")), *(where if is_inner(join) else [])]
        spread = self._spread(left.keys, equal)
        met = {at for column, at in right.keys if (column, at) in spread}
        if not self._positions or met != set(range(self._positions)):
            raise unsupported(
                "JOIN_ACROSS_BATCHES",
                f"streams {names} are not joined on their batch keys, so rows that belong "
                "together may be in different batches",
                join,
            )

    @staticmethod
    def _spread(
        keys: Iterable[tuple[_ColumnName, int]], conditions: Iterable[exp.Expr]
    ) -> set[tuple[_ColumnName, int]]:
        """``keys`` and all columns that the conditions set equal to one of them."""
        spread = set(keys)
        pairs = [
            ((a.table, a.name.lower()), (b.table, b.name.lower()))
            for a, b in equal_columns(conditions)
        ]
        while True:
            more = {
                (to, at)
                for a, b in pairs
                for one, to in ((a, b), (b, a))
                for column, at in spread
                if column == one
            } - spread
            if not more:
                return spread
            spread |= more

    def _complete(self, positions: Iterable[int]) -> bool:
        return self._positions > 0 and set(positions) == set(range(self._positions))

    # ------------------------------------------------------- whole queries

    def _select(self, select: exp.Select) -> Flow:
        core = self.core(select)
        if core.late:
            raise unsupported(
                "KEEPS_ROWS", "a condition below an aggregate needs all batches", core.late[0]
            )
        if not core.streams:
            raise unsupported(
                "KEEPS_ROWS", "a subquery over a stream stands in a static query", select
            )
        keys = dict[_ColumnName, set[int]]()
        for column, at in core.keys:
            keys.setdefault(column, set()).add(at)

        def positions(expressions: Iterable[exp.Expr]) -> set[int]:
            found: set[int] = set()
            for each in expressions:
                if isinstance(each, exp.Column):
                    found |= keys.get((each.table, each.name.lower()), set())
            return found

        self._check_clauses(select, positions)
        outer_keys = set(core.keys)
        for clause in [*select.expressions, select.args.get("having"), select.args.get("qualify")]:
            if clause is not None and not self._decided_in_batch(clause, outer_keys):
                raise unsupported(
                    "KEEPS_ROWS", "a subquery below an aggregate needs all batches", clause
                )
        found = set[tuple[str, int]]()
        for item in select.expressions:
            value = item.unalias()
            if isinstance(value, exp.Column):
                at_positions = keys.get((value.table, value.name.lower()), set())
                found |= {(item.alias_or_name.lower(), at) for at in at_positions}
        return Flow(core.streams, frozenset(found))

    def _check_clauses(self, select: exp.Select, positions: object) -> None:
        """That grouping, DISTINCT and windows never bring rows of two batches together."""
        assert callable(positions)
        group = select.args.get("group")
        if makes_groups(select):
            keys = group.expressions if group is not None and is_plain(group) else []
            if not self._complete(positions(keys)):
                raise unsupported("KEEPS_ROWS", "an aggregate stands below another one", select)
        if select.args.get("distinct"):
            outputs = [item.unalias() for item in select.expressions]
            if not self._complete(positions(outputs)):
                raise unsupported("KEEPS_ROWS", "DISTINCT stands below an aggregate", select)
        for window in windows_in(select):
            if not self._complete(positions(window.args.get("partition_by") or [])):
                raise unsupported(
                    "WINDOW",
                    "a window function over the rows of a stream needs them all; compute it over "
                    "aggregates, or partition it by the batch key",
                    window,
                )

    def _set_operation(self, query: exp.SetOperation) -> Flow:
        left, right = self.query(query.left), self.query(query.right)
        if not left.streams or not right.streams:
            raise unsupported("STATIC_BRANCH", "a branch of a set operation reads no stream", query)
        bag = isinstance(query, exp.Union) and not query.args.get("distinct")
        if self.linearity == "each":
            if not bag or left.streams != right.streams:
                raise unsupported(
                    "JOIN_ACROSS_BATCHES", "a set operation over different streams", query
                )
            return Flow(left.streams)
        places = list(zip(query.left.named_selects, query.right.named_selects, strict=False))
        keys = {
            (one.lower(), at)
            for one, other in places
            for name, at in left.keys
            if name == one.lower() and (other.lower(), at) in right.keys
        }
        if not bag and not self._complete({at for _, at in keys}):
            raise unsupported(
                "KEEPS_ROWS", "a set operation compares rows of different batches", query
            )
        return Flow(left.streams | right.streams, frozenset(keys))

    # ---------------------------------------------------------- subqueries

    def _decided_in_batch(self, tree: exp.Expr, keys: set[tuple[_ColumnName, int]]) -> bool:
        """Whether all subqueries in ``tree`` are static or stay within the row's batch."""
        for query in queries_in(tree):
            if not self.streams_in(query):
                continue
            if self.linearity == "each" or not self._tied(query, keys):
                return False
        return True

    def _tied(self, query: exp.Query, outer: set[tuple[_ColumnName, int]]) -> bool:
        """Whether a subquery sees only rows that have the batch key of the outer row."""
        if isinstance(query, exp.SetOperation):
            return all(self._tied(side, outer) for side in (query.left, query.right))
        if isinstance(query, exp.Subquery):
            return self._tied(query.this, outer)
        if not isinstance(query, exp.Select):
            return False
        positions = self._tied_by_in(query, outer)
        try:
            core = self.core(query)
        except Unsupported:
            return self._complete(positions)
        own = dict[_ColumnName, set[int]]()
        for column, at in core.keys:
            own.setdefault(column, set()).add(at)
        for a, b in equal_columns(core.late):
            for one, other in ((a, b), (b, a)):
                for at in own.get((one.table, one.name.lower()), set()):
                    if ((other.table, other.name.lower()), at) in outer:
                        positions.add(at)
        if not core.streams or not self._complete(positions):
            return False
        rest = [*core.late, *query.expressions, query.args.get("having")]
        inner = set(core.keys) | outer
        return all(self._decided_in_batch(each, inner) for each in rest if each is not None)

    def _tied_by_in(self, query: exp.Select, outer: set[tuple[_ColumnName, int]]) -> set[int]:
        """Positions that ``column IN (query)`` ties, where the query itself is linear.

        NOT IN is as good: a batch key is never NULL.
        """
        parent = query.parent
        while isinstance(parent, exp.Subquery):
            parent = parent.parent
        if not isinstance(parent, exp.In) or not isinstance(parent.this, exp.Column):
            return set()
        try:
            flow = self.query(query)
        except Unsupported:
            return set()
        name = query.expressions[0].alias_or_name.lower()
        column = (parent.this.table, parent.this.name.lower())
        return {at for key, at in flow.keys if key == name and (column, at) in outer}


def is_plain(group: exp.Group) -> bool:
    """Whether a GROUP BY makes one grouping: no ROLLUP, CUBE or GROUPING SETS."""
    kinds = (exp.Rollup, exp.Cube, exp.GroupingSets)
    return not any(group.args.get(key) for key in ("rollup", "cube", "grouping_sets", "all")) and (
        not any(isinstance(each, kinds) for each in group.expressions)
    )
