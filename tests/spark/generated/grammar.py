"""A grammar of views, over all that SQL has and people write.

Names, types and what is valid come from Spark: a query is tried there, and thrown away where Spark
refuses it. Whatever would leave a choice (an order of ties, the first of some rows) is not made.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.spark.generated import expressions as x
from tests.spark.generated.queries import Both, First, Query, Select, With
from tests.spark.generated.tables import STATICS

Columns = dict[str, str]
"""Spark type by column."""
Describe = Callable[[str], Columns | None]

JOINS = ("JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "RIGHT JOIN", "FULL OUTER JOIN",
         "LEFT SEMI JOIN", "LEFT ANTI JOIN")  # fmt: skip
_KEYS = ("bike", "rider", "id")
_STATIC = {table.name for table in STATICS}
_NAMES = ("n", "total", "hour", "day", "k", "Value", "x1", "`order`", "last", "usr_id", "window")


@dataclass(frozen=True)
class Rows:
    """A FROM clause and the columns that it shows, by qualified name."""

    source: str
    queries: tuple[Query, ...]
    columns: Columns
    where: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()


class Grammar:
    """Makes queries over tables.

    Args:
        chance: Decides everything.
        tables: Columns of every table and of the views so far.
        describe: A query's columns by Spark, None where it refuses the query.
        start: About when the rows are, as a literal of SQL.
    """

    def __init__(
        self,
        chance: random.Random,
        tables: Mapping[str, Columns],
        describe: Describe,
        start: str,
    ) -> None:
        self._chance = chance
        self._tables = dict(tables)
        self._describe = describe
        self._start = start
        self._aliases = 0

    def view(self) -> Query:
        """A query that Spark accepts, of a table's columns."""
        while True:
            query = self._query(2)
            columns = self._describe(query.sql())
            if columns and self._reads_a_stream(query.sql()):
                return query

    def _reads_a_stream(self, sql: str) -> bool:
        return any(name in sql for name in self._tables if name not in _STATIC)

    # ---- queries ----

    def _query(self, depth: int) -> Query:
        shape = self._chance.choice(
            ("rows",) * 4
            + ("groups",) * 6
            + ("frames",) * 2
            + ("keyed",) * 4
            + ("set", "with", "self", "top")
        )
        if shape == "keyed":
            return self._keyed()
        if shape == "set" and depth:
            return self._set(depth - 1)
        if shape in {"with", "self"} and depth:
            return self._with(depth - 1, twice=shape == "self")
        if shape == "groups":
            return self._groups(self._rows(depth))
        if shape == "frames":
            return self._frames(self._rows(depth))
        if shape == "top":
            return self._top(depth)
        return self._plain(self._rows(depth))

    def _valid(self, make: Callable[[], Query]) -> tuple[Query, Columns]:
        """The first of some tries that Spark accepts; where none is, the rows of a table."""
        for _ in range(8):
            query = make()
            columns = self._describe(query.sql())
            if columns:
                return query, columns
        return Select((("*", ""),), "pings"), dict(self._tables["pings"])

    def _set(self, depth: int) -> Query:
        word = self._chance.choice(
            ("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL", "MINUS")
        )
        left, columns = self._valid(lambda: self._query(depth))
        if isinstance(left, Select) and left.tail:
            left = Select((("*", ""),), "{0} AS l", (left,))
        kinds = list(columns.values())
        rows = self._rows(0)
        outputs = [x.cast_to(kind, rows.columns, self._chance) for kind in kinds]
        named = tuple((text, f"b{at}") for at, text in enumerate(outputs))
        right = Select(named, rows.source, rows.queries, self._where(rows, 0))
        return Both(left, word, right)

    def _with(self, depth: int, *, twice: bool) -> Query:
        named, columns = self._valid(lambda: self._query(depth))
        name = f"w{depth}"
        self._tables[name] = columns
        try:
            if not twice:
                main = self._query(0) if self._chance.random() < 0.3 else self._over(name, columns)
            else:
                main = self._against_itself(name, columns)
        finally:
            del self._tables[name]
        return With(name, named, main)

    def _over(self, name: str, columns: Columns) -> Query:
        rows = Rows(name, (), dict(columns))
        return self._chance.choice((self._groups, self._plain, self._frames))(rows)

    def _against_itself(self, name: str, columns: Columns) -> Query:
        numbers = x.of_kind(columns, x.NUMBERS)
        key = self._chance.choice(list(columns))
        shape = self._chance.choice(("average", "anti", "join", "share"))
        if numbers and shape in {"average", "share"}:
            number = self._chance.choice(numbers)
            if shape == "average":
                low = self._chance.choice((">", "<=", "="))
                what = self._chance.choice(("avg", "max", "min"))
                where = (f"{number} {low} (SELECT {what}({number}) FROM {name})",)
                return Select((("*", ""),), name, (), where)
            outputs = ((key, "k"), (f"(SELECT count(*) FROM {name})", "of"))
            return Select(outputs, name)
        if shape == "anti":
            word = self._chance.choice(("LEFT ANTI JOIN", "LEFT SEMI JOIN"))
            on = f"a.{key} = b.{key}" + (f" AND a.{numbers[0]} < b.{numbers[0]}" if numbers else "")
            return Select((("*", ""),), f"{name} AS a {word} {name} AS b ON {on}")
        return Select(
            (("a." + key, "k"), ("count(*)", "n")),
            f"{name} a {self._chance.choice(JOINS[:6])} {name} b ON a.{key} = b.{key}",
            (), (), ("a." + key,),
        )  # fmt: skip

    def _top(self, depth: int) -> Query:
        inner, columns = self._valid(lambda: self._groups(self._rows(depth)))
        order = [f"{name} {self._chance.choice(('', 'DESC', 'DESC NULLS LAST', 'NULLS LAST'))}"
                 for name, kind in columns.items() if kind in x.SORTABLE]  # fmt: skip
        limit = self._chance.choice(("LIMIT 3", "LIMIT 1", "LIMIT 2 OFFSET 1", "LIMIT 30"))
        kept = tuple((name, "") for name, kind in columns.items() if kind in x.SORTABLE)
        self._chance.shuffle(order)
        if not kept:
            return inner
        tail = f"ORDER BY {', '.join(order)} {limit}"
        if len(kept) == len(columns) and self._chance.random() < 0.4:
            first = First(inner, tail)
            return first if self._chance.random() < 0.5 else Select((("*", ""),), "{0}", (first,))
        return Select(kept, "{0} AS g", (inner,), tail=tail)

    def _keyed(self) -> Query:
        """Rows of a key beside rows of the same key, most often; at times beside others."""
        name, one, columns = self._table()
        shared = [key for key in _KEYS if f"{one}.{key}" in columns]
        if not shared:
            return self._keyed()  # a view or a WITH query
        key, also = self._chance.choice(shared), self._chance.choice(shared)
        kept = {each: kind for each, kind in columns.items() if kind in x.SORTABLE}
        order = ", ".join(self._chance.sample(list(kept), len(kept)))
        by = ", ".join(dict.fromkeys((f"{one}.{key}", f"{one}.{also}")))
        shown = dict.fromkeys([f"{one}.{key}", *self._chance.choices(list(kept), k=2)])
        source, where = f"{name} AS {one}", self._where(Rows(name, (), columns), 0)
        shape = self._chance.choice(("first", "window", "groups", "partner", "partner", "outer"))
        if shape == "first":
            rank = self._chance.choice(("row_number() OVER ({0}) = 1", "rank() OVER ({0}) <= 2"))
            qualify = rank.format(f"PARTITION BY {by} ORDER BY {order}")
            return Select(self._named([*shown]), source, (), where, qualify=qualify)
        if shape == "window":
            what = self._chance.choice(
                (f"lag({self._chance.choice(list(kept))})", "count(*)", "dense_rank()")
            )
            window = f"{what} OVER (PARTITION BY {by} ORDER BY {order})"
            return Select(self._named([*shown, window]), source, (), where)
        if shape == "groups":
            number = self._chance.choice(
                [each for each, kind in kept.items() if kind in ("int", "bigint")] or ["1"]
            )
            outputs = self._named([f"{one}.{key}", f"percentile({number}, 0.5)", "count(*)"])
            return Select(outputs, source, (), where, (f"{one}.{key}",))
        while True:
            other_name, other, others = self._table()
            if f"{other}.{key}" in others:
                break
        on = [f"{one}.{key} {self._chance.choice(('=', '=', '=', '<=>'))} {other}.{key}"]
        if self._chance.random() < 0.3:
            on.append(x.predicate({**columns, **others}, self._chance, self._start))
        condition = " AND ".join(on)
        rest = [each for each, kind in others.items() if kind in x.SORTABLE]
        if shape == "outer":
            kind = self._chance.choice(("LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
            told = {"R": f"{other}.{key}", "F": f"coalesce({one}.{key}, {other}.{key})"}
            first = told.get(kind[0], f"{one}.{key}")
            outputs = self._named([first, *[*shown][1:], self._chance.choice(rest)])
            return Select(
                outputs, f"{source} {kind} {other_name} AS {other} ON {condition}", (), ()
            )
        inner = f"(SELECT 1 FROM {other_name} {other} WHERE {condition})"
        words = self._chance.choice(
            ("LEFT SEMI JOIN", "LEFT ANTI JOIN", "EXISTS", "NOT EXISTS", "IN")
        )
        if "JOIN" in words:
            joined = f"{source} {words} {other_name} AS {other} ON {condition}"
            return Select(self._named([*shown]), joined, (), where)
        found = f"{words} {inner}"
        if words == "IN":
            found = f"{one}.{key} IN (SELECT {other}.{key} FROM {other_name} {other})"
        return Select(self._named([*shown]), source, (), (*where, found))

    # ---- FROM ----

    def _rows(self, depth: int) -> Rows:
        kinds = ("table", "table", "static", "pair", "pair", "chain", "derived", "union", "explode",
                 "three")  # fmt: skip
        kind = self._chance.choice(kinds if depth else kinds[:6])
        if kind == "chain":
            return self._chain()
        if kind == "table":
            name, alias, columns = self._table()
            return Rows(f"{name} {alias}", (), columns)
        if kind == "static":
            return self._with_static()
        if kind == "explode":
            alias = self._alias()
            columns = self._qualified(alias, "trips")
            word = self._chance.choice(("LATERAL VIEW", "LATERAL VIEW OUTER"))
            source = f"trips {alias} {word} explode({alias}.tags) e{alias} AS tag{alias}"
            return Rows(source, (), {**columns, f"tag{alias}": "string"})
        if kind == "derived":
            query, columns = self._valid(lambda: self._query(depth - 1))
            alias = self._alias()
            rows = Rows(f"{{0}} {alias}", (query,), {f"{alias}.{c}": k for c, k in columns.items()})
            return self._joined(rows) if self._chance.random() < 0.4 else rows
        if kind == "union":
            query, columns = self._valid(lambda: self._set(0))
            alias = self._alias()
            return Rows(
                f"{{0}} AS {alias}", (query,), {f"{alias}.{c}": k for c, k in columns.items()}
            )
        name, alias, columns = self._table()
        pair = self._joined(Rows(f"{name} AS {alias}", (), columns))
        return self._joined(pair) if kind == "three" else pair

    def _chain(self) -> Rows:
        """Two streams and a static table, joined by a name that they share."""
        key, pairs, static = self._chance.choice((
            ("bike", ("trips", "pings", "repairs"), "bikes"),
            ("rider", ("trips", "offers", "pings"), "zones"),
        ))  # fmt: skip
        first, second = self._chance.sample(pairs, 2)
        kinds = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        one, other = self._chance.choice(kinds), self._chance.choice(kinds[:3])
        a, b, c = self._alias(), self._alias(), self._alias()
        columns = {key: self._tables[static][key]}
        for alias, name in ((a, first), (b, second), (c, static)):
            shown = self._qualified(alias, name).items()
            columns |= {each: kind for each, kind in shown if each != f"{alias}.{key}"}
        source = f"{first} {a} {one} {second} {b} USING ({key})"
        return Rows(f"{source} {other} {static} {c} USING ({key})", (), columns)

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def _table(self) -> tuple[str, str, Columns]:
        name = self._chance.choice([name for name in self._tables if name not in _STATIC])
        alias = self._alias()
        return name, alias, self._qualified(alias, name)

    def _qualified(self, alias: str, name: str) -> Columns:
        return {f"{alias}.{column}": kind for column, kind in self._tables[name].items()}

    def _with_static(self) -> Rows:
        name, alias, columns = self._table()
        static = self._chance.choice(("bikes", "zones"))
        key = "bike" if static == "bikes" else "rider"
        other = self._alias()
        shown = self._qualified(other, static)
        kind = self._chance.choice((*JOINS, "CROSS JOIN", ","))
        if f"{alias}.{key}" not in columns:
            kind = "CROSS JOIN"
        both = {**columns, **shown}
        first, second = f"{name} {alias}", f"{static} AS {other}"
        if self._chance.random() < 0.25 and kind not in {"LEFT SEMI JOIN", "LEFT ANTI JOIN"}:
            first, second = f"{static} AS {other}", f"{name} {alias}"
        if kind == ",":
            return Rows(f"{first}, {second}", (), both, (f"{alias}.{key} = {other}.{key}",))
        if kind == "CROSS JOIN":
            return Rows(f"{first} CROSS JOIN {second}", (), both)
        left_only = "SEMI" in kind or "ANTI" in kind
        if self._chance.random() < 0.3:
            shared = {each: k for each, k in both.items() if not each.endswith(f".{key}")}
            shared[key] = self._tables[static][key]
            source = f"{first} {kind} {second} USING ({key})"
            return Rows(source, (), columns if left_only else shared)
        source = f"{first} {kind} {second} ON {alias}.{key} = {other}.{key}"
        return Rows(source, (), columns if left_only else both)

    def _joined(self, rows: Rows) -> Rows:
        """With another table on keys, in a band of time, or both."""
        name, alias, columns = self._table()
        conditions = x.join_conditions(rows.columns, columns, self._chance)
        if not conditions:
            return rows
        kind = self._chance.choice(JOINS)
        source = f"{rows.source} {kind} {name} AS {alias} ON {' AND '.join(conditions)}"
        if kind in {"JOIN", "INNER JOIN"} and self._chance.random() < 0.2:
            source = f"{rows.source}, {name} {alias}"
            shown = {**rows.columns, **columns}
            return Rows(source, rows.queries, shown, (*rows.where, *conditions))
        left_only = "SEMI" in kind or "ANTI" in kind
        shown = dict(rows.columns) if left_only else {**rows.columns, **columns}
        return Rows(source, rows.queries, shown, rows.where)

    # ---- clauses ----

    def _where(self, rows: Rows, depth: int) -> tuple[str, ...]:
        found = list(rows.where)
        count = self._chance.choice((0, 0, 1, 1, 2))
        found += [x.predicate(rows.columns, self._chance, self._start) for _ in range(count)]
        if depth and self._chance.random() < 0.35:
            found.append(self._subquery(rows))
        return tuple(found)

    def _subquery(self, rows: Rows) -> str:
        name, alias, columns = self._table()
        conditions = x.join_conditions(rows.columns, columns, self._chance)
        more = [x.predicate(columns, self._chance, self._start)] * (self._chance.random() < 0.3)
        inner = " AND ".join((*conditions, *more)) or "TRUE"
        kind = self._chance.choice(("exists", "not exists", "in", "not in", "scalar", "whole"))
        if kind in {"exists", "not exists"}:
            return f"{kind.upper()} (SELECT 1 FROM {name} {alias} WHERE {inner})"
        pair = x.same_kind(rows.columns, columns, self._chance)
        if pair is None:
            return "TRUE"
        own, other = pair
        if kind == "in" and self._chance.random() < 0.2:
            skipped = f"ORDER BY {other} LIMIT 3 OFFSET {self._chance.choice((0, 2, 9))}"
            return f"{own} IN (SELECT {other} FROM {name} {alias} {skipped})"
        if kind in {"in", "not in"}:
            band = f" WHERE {inner}" if self._chance.random() < 0.5 else ""
            return f"{own} {kind.upper()} (SELECT {other} FROM {name} {alias}{band})"
        what = self._chance.choice(("max", "min"))
        where = f" WHERE {inner}" if kind == "scalar" else ""
        sign = self._chance.choice(("<", ">=", "=", "<>"))
        return f"{own} {sign} (SELECT {what}({other}) FROM {name} {alias}{where})"

    def _named(self, expressions: list[str]) -> tuple[tuple[str, str], ...]:
        names = self._chance.sample(_NAMES, len(_NAMES))
        if self._chance.random() < 0.03:
            names[0] = "`größe`"
        named = [names[at] if at < 2 else f"c{at}" for at in range(len(expressions))]
        return tuple(zip(expressions, named, strict=True))

    def _plain(self, rows: Rows) -> Query:
        where = self._where(rows, 1)
        if self._chance.random() < 0.1 and not rows.queries:
            return Select((("*", ""),), rows.source, rows.queries, where)
        count = self._chance.choice((1, 2, 3, 4))
        columns = [self._chance.choice(list(rows.columns)) for _ in range(count)]
        expressions = [x.scalar(each, rows.columns[each], self._chance) for each in columns]
        times = x.of_kind(rows.columns, x.TIMES)
        if times and self._chance.random() < 0.75:
            expressions.append(x.scalar(self._chance.choice(times), "timestamp?", self._chance))
        distinct = self._chance.random() < 0.12
        return Select(self._named(expressions), rows.source, rows.queries, where, distinct=distinct)

    def _groups(self, rows: Rows) -> Query:
        keys: list[str] = []
        times = x.of_kind(rows.columns, x.TIMES)
        if times and self._chance.random() < 0.65:
            keys.append(x.bucket(self._chance.choice(times), rows.columns, self._chance))
        for _ in range(self._chance.choice((0, 1, 1, 2))):
            column = self._chance.choice(list(rows.columns))
            if rows.columns[column] in x.SORTABLE:
                keys.append(x.scalar(column, rows.columns[column], self._chance))
        keys = list(dict.fromkeys(keys))
        aggregates = [x.aggregate(rows.columns, self._chance, self._start)
                      for _ in range(self._chance.choice((1, 1, 2, 3)))]  # fmt: skip
        shown = [key for key in keys if self._chance.random() < 0.9]
        outputs = self._named([*shown, *aggregates])
        having: tuple[str, ...] = ()
        if self._chance.random() < (0.2 if keys else 0.1):
            having = (x.having(rows.columns, self._chance),)
            if not keys and self._chance.random() < 0.3:
                return Select((("1", "one"),), rows.source, rows.queries, (), having=having)
        grouping, written = "{0}", tuple(keys)
        if keys and len(shown) == len(keys):
            grouping = self._chance.choice(
                ("{0}",) * 6 + ("ROLLUP ({0})", "CUBE ({0})", "ALL", "places", "sets")
            )
        if grouping == "places":
            grouping, written = "{0}", tuple(str(at + 1) for at in range(len(keys)))
        elif grouping == "sets":
            sets = ", ".join(f"({key})" for key in keys)
            both = f"({', '.join(keys)}), " if len(keys) > 1 else ""
            grouping = f"GROUPING SETS ({both}{sets}{self._chance.choice((', ()', ''))})"
        return Select(
            outputs, rows.source, rows.queries, self._where(rows, 1), written, grouping, having
        )

    def _frames(self, rows: Rows) -> Query:
        times = x.of_kind(rows.columns, ("timestamp", "date"))
        if not times:
            return self._groups(rows)
        time = self._chance.choice(times)
        keys = [each for each, kind in rows.columns.items() if kind in x.SORTABLE]
        window = x.window(time, rows.columns[time], keys, rows.columns, self._chance)
        others = [self._chance.choice(keys) for _ in range(2)]
        outputs = self._named([time, *others, window])
        qualify = ""
        if self._chance.random() < 0.2:
            order = ", ".join([time, *[each for each in keys if each != time]])
            part = self._chance.choice((f"date_trunc('HOUR', {time})", self._chance.choice(keys)))
            rank = self._chance.choice(("row_number", "rank", "dense_rank"))
            qualify = f"{rank}() OVER (PARTITION BY {part} ORDER BY {order}) <= 2"
        return Select(outputs, rows.source, rows.queries, self._where(rows, 0), qualify=qualify)
