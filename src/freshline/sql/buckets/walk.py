"""The walk through a query's blocks that carries dependence on times from FROM to output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from sqlglot import exp

from freshline.sql.buckets.conditions import apply, conjuncts
from freshline.sql.buckets.differences import Differences, is_infinite
from freshline.sql.buckets.joins import joined, side_by_side, watching
from freshline.sql.buckets.projection import projected, united
from freshline.sql.buckets.relation import Kind, Relation
from freshline.sql.buckets.ties import chosen_in_groups, chosen_in_subquery
from freshline.sql.buckets.times import Times, kind_of_type
from freshline.sql.buckets.window_frames import windowed
from freshline.sql.query.grouping import common_keys, group_keys, has_subtotals
from freshline.sql.query.normal import source_name
from freshline.sql.query.records import Reason, Source
from freshline.sql.query.scopes import is_limited, makes_groups, own_nodes
from freshline.sql.query.unsupported import text_of, unsupported
from freshline.sql.query.zone import DAY_US, Zone
from freshline.sql.text.canonical import is_natural, kind_of, side_of


def time_of(source: Source, column: str) -> Kind | None:
    """The kind of time that a column of ``source`` holds, or None."""
    return kind_of_type(source.columns[column])


def sources_in(
    tree: exp.Query, sources: Sequence[Source]
) -> tuple[Sequence[Source], Sequence[Source]]:
    """The sources that a normalised query reads, and those of them that change.

    Raises:
        Unsupported: None of them changes (STATIC).
    """
    mentioned = {source_name(table) for table in tree.find_all(exp.Table) if table.this.name}
    read = [source for source in sources if source.name.replace("`", "") in mentioned]
    moving = [source for source in read if not source.static]
    if not moving:
        raise unsupported("STATIC", "the query reads nothing that changes")
    return read, moving


class Walk:
    """One walk, with one event-time column for each source that changes.

    Args:
        sources: Every table that the query reads.
        columns: By name of source that changes: the column, lower case.
        zone: Of the session.
        kind: Of a source's column, lower case, as a time; None: it is none.

    Attributes:
        losses: Where bounds were lost for good, in the order of the walk.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        columns: Mapping[str, str],
        zone: Zone,
        kind: Callable[[Source, str], Kind | None] = time_of,
    ) -> None:
        self.sources = {source.name.replace("`", ""): source for source in sources}
        self.columns = columns
        self.zone = zone
        self._kind = kind
        self.losses: list[Reason] = []

    def query(self, node: exp.Expr, alias: str) -> Relation:
        """The relation that a query makes, its columns under ``alias``."""
        if isinstance(node, exp.Subquery):
            self._check_limit(node, node.this)
            return self.query(node.this, alias)
        if isinstance(node, exp.SetOperation):
            if node.args.get("by_name"):
                raise unsupported("SYNTAX", "set operations BY NAME are not analysed")
            left, right = self.query(node.left, alias), self.query(node.right, alias)
            self._check_limit(node, node)
            return united(left, right, node, alias)
        if not isinstance(node, exp.Select):
            raise unsupported("SYNTAX", "this form of query is not analysed", node)
        relation = self.rows(node)
        self._check_limit(node, node)
        return projected(relation, node, alias, self.zone)

    def _check_limit(self, node: exp.Expr, body: exp.Expr) -> None:
        if is_limited(node) and self._moves(body):
            raise unsupported("LIMIT", "LIMIT and OFFSET count all rows", node)

    def _moves(self, node: exp.Expr) -> bool:
        """Whether ``node`` reads a source that is not static."""
        tables = (
            table for table in node.find_all(exp.Table) if isinstance(table.this, exp.Identifier)
        )
        return any(not self.sources[source_name(table)].static for table in tables)

    def rows(self, select: exp.Select) -> Relation:
        """Rows of a block before its projection: joined, filtered, grouped, windowed."""
        relation = self._from(select)
        times = Times(relation, self.zone)
        where = select.args.get("where")
        apply(times, where.this if where else None)
        for part in (*select.expressions, *group_keys(select), *_window_parts(select)):
            times.fields(part.unalias())  # made known before what looks at them
        self._subqueries(select, relation)
        if makes_groups(select):
            relation = self._grouped(select, relation)
            if having := select.args.get("having"):
                apply(Times(relation, self.zone), having.this)
        if windows := list(own_nodes(select, exp.Window)):
            reason = windowed(select, windows, relation, self.zone)
            if reason is not None:
                self.losses.append(reason)
        return relation

    def _from(self, select: exp.Select) -> Relation:
        source, where = select.args.get("from_"), select.args.get("where")
        relation = self._relation(source.this) if source is not None else Relation()
        asked = list(conjuncts(where.this if where else None))
        relation = self._joins(relation, select.args.get("joins") or [], asked)
        if select.args.get("laterals"):
            relation.unique = None
        return relation

    def _joins(
        self, relation: Relation, joins: Sequence[exp.Join], asked: Sequence[exp.Expr] = ()
    ) -> Relation:
        """The rows joined; ``asked``: conditions that all rows meet which are left in the end."""
        for at, join in enumerate(joins):
            side, kind = side_of(join), kind_of(join)
            if kind not in {"", "INNER", "CROSS", "OUTER"} or (
                join.args.get("using") or is_natural(join)
            ):
                raise unsupported("JOIN", "this kind of join is not analysed", join)
            condition = join.args.get("on")
            if condition is not None and any(self._moves(q) for q in condition.find_all(exp.Query)):
                raise unsupported(
                    "SUBQUERY_IN_ON", "a subquery in ON; write it in WHERE", condition
                )
            right = self._relation(join.this)
            if not side and not any(side_of(each) in {"RIGHT", "FULL"} for each in joins[at + 1 :]):
                condition = _with_asked(condition, asked, relation.aliases | right.aliases)
            left, relation = relation, joined(relation, right, side, condition, self.zone)
            if side in {"LEFT", "RIGHT"}:
                kept, other = (left, right) if side == "LEFT" else (right, left)
                self._note_static_side(join, kept, other, relation)
        return relation

    def _note_static_side(
        self, join: exp.Join, kept: Relation, other: Relation, result: Relation
    ) -> None:
        if kept.sources or not other.sources:
            return
        for time in kept.own_times():
            ranges = [result.reads_at(time, source) for source in other.sources]
            if not any(is_infinite(bound) for both in ranges for bound in both):
                return  # such as a calendar
        self.losses.append(
            Reason(
                "STATIC_OUTER",
                "rows of a static table are kept without a match, and have no time",
                text_of(join).strip(),
            )
        )

    def _relation(self, node: exp.Expr) -> Relation:
        """What stands in FROM: a source, a query, values, or a function of rows."""
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            relation = self._source(node)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery):
            relation = self._relation(node.this)
        elif isinstance(node, exp.Subquery):
            relation = self.query(node, node.alias)
        elif isinstance(node, exp.Table | exp.Values | exp.Lateral | exp.Unnest):
            if any(self._moves(query) for query in node.find_all(exp.Query)):
                raise unsupported("LATERAL_SUBQUERY", "a query inside a table function", node)
            relation = Relation(aliases=frozenset((node.alias_or_name,)))
        else:
            raise unsupported("SYNTAX", "this part of FROM is not analysed", node)
        if isinstance(node, exp.Values):
            return relation
        return self._joins(relation, node.args.get("joins") or [])

    def _source(self, table: exp.Table) -> Relation:
        """A source's own rows: each depends on itself, at its event time."""
        source, alias = self.sources[source_name(table)], table.alias_or_name
        relation = Relation(aliases=frozenset((alias,)))
        if not source.static:
            relation.sources = frozenset((source.name,))
        for column in source.columns:
            kind = self._kind(source, column)
            if kind is None:
                continue
            time = f"{alias}.{column.lower()}"
            relation.differences.add(time)
            relation.kinds[time] = kind
            if kind == "date" and (grain := Times(relation, self.zone).wall_grain(DAY_US)):
                relation.grains[time] = grain
            relation.columns[alias, column.lower()] = {"": time}
            if source.static:
                relation.reads[time] = {}
            elif column.lower() == self.columns[source.name]:
                relation.reads[time] = {source.name: (0, 0)}
                relation.null_ok.add(time)
        return relation

    def _grouped(self, select: exp.Select, rows: Relation) -> Relation:
        """Groups: each depends on all rows that have its key's time."""
        times = Times(rows, self.zone)
        keys: dict[str, dict[str, str]] = {}
        for key in common_keys(select):
            if fields := times.fields(key):
                keys[key.sql(dialect="spark")] = fields
        if not keys and has_subtotals(select) and any(map(times.fields, group_keys(select))):
            self.losses.append(
                Reason(
                    "SUBTOTALS",
                    "ROLLUP, CUBE and GROUPING SETS make rows over all times",
                    text_of(select.args["group"]),
                )
            )
        own = list(dict.fromkeys(time for fields in keys.values() for time in fields.values()))
        groups = Relation(
            aliases=rows.aliases,
            sources=rows.sources,
            differences=rows.differences.restricted(own),
            kinds={time: rows.kinds[time] for time in own},
            grains={time: rows.grains[time] for time in own if time in rows.grains},
            aggregated=rows,
        )
        for place, known in rows.columns.items():
            if all(time in own for time in known.values()):
                groups.columns[place] = known
        for time in own:
            groups.reads[time] = {source: rows.reads_at(time, source) for source in rows.sources}
            if rows.is_null_ok(time):
                groups.null_ok.add(time)
        for shared, what in rows.choices:
            kept = {time for time in own if rows.follows(time, shared)}
            groups.choices.append((kept, what))
        chosen_in_groups(select, groups)
        return groups

    def _subqueries(self, select: exp.Select, relation: Relation) -> None:
        """Makes rows depend on what the subqueries in the block's expressions look at."""
        where = select.args.get("where")
        kept = {id(part) for part in conjuncts(where.this if where else None)}
        for query in _subqueries_of(select):
            self._watch(query, relation, kept)

    def _watch(self, query: exp.Query, relation: Relation, kept: set[int]) -> None:
        """One subquery; ``kept``: conjuncts of WHERE, true for every row that is left."""
        if not self._moves(query):
            return
        holder = query.parent
        while isinstance(holder, exp.Subquery | exp.Paren):
            holder = holder.parent
        body = query.unnest()
        if isinstance(body, exp.Select):
            inner, matched = self._correlated(body, relation)
            chosen_in_subquery(body, inner)
        else:
            inner = self.query(body, "")
            matched = relation.differences.copy()
            matched.include(inner.differences)
        if (
            isinstance(holder, exp.In)
            and id(holder) in kept
            and _is_plain(body)
            and _needs_rows(body)
        ):
            both = side_by_side(relation, inner, matched)
            column = body.expressions[0].unalias()
            apply(Times(both, self.zone), exp.EQ(this=holder.this.copy(), expression=column.copy()))
        if isinstance(holder, exp.Exists | exp.In) and id(holder) in kept and _needs_rows(body):
            # True for every row kept: so there is a row of the subquery that meets it all.
            own = relation.own_times()
            watching(relation, inner, matched)
            relation.differences.include(matched.restricted(own))
        else:
            watching(relation, inner, matched)

    def _correlated(self, select: exp.Select, outer: Relation) -> tuple[Relation, Differences]:
        """Rows of a subquery's FROM, and what holds of those that its WHERE lets through."""
        inner = self._from(select)
        matched = outer.differences.copy()
        matched.include(inner.differences)
        both = side_by_side(outer, inner, matched)
        where = select.args.get("where")
        apply(Times(both, self.zone), where.this if where else None)
        for query in _subqueries_of(select):
            if self._moves(query):
                raise unsupported("SUBQUERY", "a subquery within a subquery", query)
        return inner, matched


def _with_asked(
    condition: exp.Expr | None, asked: Sequence[exp.Expr], aliases: AbstractSet[str]
) -> exp.Expr | None:
    """An inner join's condition, and what WHERE asks of its rows alone: the same rows are left.

    Only where no later join adds rows without them, which WHERE would see as NULL.
    """
    more = [
        part.copy()
        for part in asked
        if not any(True for _ in part.find_all(exp.Query))
        and {column.table for column in part.find_all(exp.Column)} <= aliases
    ]
    return exp.and_(condition, *more, copy=False) if more else condition


def _needs_rows(body: exp.Expr) -> bool:
    """Whether this subquery is empty where it finds no rows; ``SELECT count(*)`` is not."""
    if not isinstance(body, exp.Select):
        return False
    return not makes_groups(body) or bool(group_keys(body) and not has_subtotals(body))


def _is_plain(body: exp.Expr) -> bool:
    """Whether a row of this subquery depends only on rows that have its values."""
    return isinstance(body, exp.Select) and not (
        is_limited(body)
        or body.args.get("qualify")
        or any(True for _ in own_nodes(body, exp.Window))
    )


def _subqueries_of(select: exp.Select) -> Iterator[exp.Query]:
    """The queries in expressions of a block, not those of its FROM clause."""
    for key, value in select.args.items():
        if key in {"from_", "joins", "laterals"}:
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr):
                yield from _outermost_queries(part)


def _outermost_queries(node: exp.Expr) -> Iterator[exp.Query]:
    if isinstance(node, exp.Query):
        yield node
        return
    for child in node.iter_expressions():
        yield from _outermost_queries(child)


def _window_parts(select: exp.Select) -> Iterator[exp.Expr]:
    for node in own_nodes(select, exp.Window, exp.Ordered):
        if isinstance(node, exp.Window):
            yield from node.args.get("partition_by") or []
        else:
            yield node.this
