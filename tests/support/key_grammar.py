"""Views as analysts write them, of which some keep the rows of a key together and many do not.

Made by chance (a :class:`random.Random`, or what Hypothesis gives for one). Each view is written
twice: in Spark's SQL, with all its shorthands, for the analysis; and for DuckDB with every name
spelt out by this grammar, so that a name which the analysis misreads is not misread here, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.support.key_values import (
    SOURCES,
    WHOLE,
    Column,
    Scope,
    Values,
    both,
    duck_type,
    kinds_like,
    read,
    same_kind,
    wider,
)

ALIASES = ("o", "c", "a", "b", "x", "t", "u", "orders", "clicks")
SETS = (
    "UNION ALL", "UNION ALL", "UNION", "UNION DISTINCT", "EXCEPT", "INTERSECT", "EXCEPT ALL",
    "INTERSECT ALL", "MINUS",
)  # fmt: skip
Item = tuple[str, str, str]
"""Of a select list: the expression, its name and its type."""


@dataclass(frozen=True)
class View:
    """One query in both dialects."""

    spark: str
    duck: str


class _Writer(Values):
    """Writes queries, each as text with marks."""

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.named: list[tuple[str, str, list[tuple[str, str]]]] = []

    def subquery_condition(self, scope: Scope, depth: int, kind: str) -> str:
        depth += self.often(0.3)
        if kind in {"exists", "in"} and self.often(0.15):
            inner_text = self.aggregated(depth, scope)
            value = self.value(scope, ("int",))
            if kind == "exists" or value is None:
                return f"{self.chance.choice(('', 'NOT '))}EXISTS ({inner_text})"
            return f"{value[0]} {self.chance.choice(('IN', 'NOT IN'))} ({inner_text})"
        if kind == "exists":
            inner = self.select(depth - 1, scope, items=1)
            return f"{self.chance.choice(('', 'NOT '))}EXISTS ({inner[0]})"
        value = self.value(scope, (*WHOLE, "string"))
        if value is None:
            return "1 = 1"
        if kind == "scalar":
            sign = self.chance.choice((">", "=", "<=", "<>"))
            scalar = self.scalar(scope, depth)
            return f"{value[0]} {sign} {scalar}" if value[1] != "string" else f"{scalar} {sign} 1"
        plain = self.often(0.5)
        inner_text, columns = self.select(depth - 1, None if plain else scope, (value[1],))
        if not columns:
            return "1 = 1"
        word = self.chance.choice(("IN", "IN", "NOT IN"))
        return f"{value[0]} {word} ({inner_text})"

    def scalar(self, scope: Scope, depth: int) -> str:
        """A number that an aggregate of related rows gives."""
        text, inner = self.relations(max(depth - 1, 0), scope, most=1)
        value = self.value(Scope(inner.columns), ("int",))
        calls = ["count(*)"] + (
            [f"{f}({value[0]})" for f in ("max", "sum", "min")] if value else []
        )
        where = self.where(inner, depth - 1, correlated=0.85)
        return f"(SELECT {self.chance.choice(calls)} FROM {text}{where})"

    def aggregated(self, depth: int, outer: Scope) -> str:
        """Numbers for IN and EXISTS: of all related rows, or of each of their groups."""
        text, inner = self.relations(max(depth - 1, 0), outer, most=2)
        local = Scope(inner.columns)
        value, key = self.value(local, ("int",)), self.column(local)
        number = f"{self.chance.choice(('max', 'min'))}({value[0]})" if value else "count(*)"
        where = self.where(inner, depth - 1)
        if key is None or self.often(0.4):
            return f"SELECT {number} FROM {text}{where}"
        group = self.spelt(key, local)
        having = ""
        if self.often(0.4):
            equal = self.equality((key,), outer.columns, inner)
            having = f" HAVING {equal or 'count(*) > 1'}"
        shown = group if key.kind == "int" and self.often(0.6) else number
        return f"SELECT {shown} FROM {text}{where} GROUP BY {group}{having}"

    def where(self, scope: Scope, depth: int, correlated: float = 0.75) -> str:
        found: list[str | None] = list(scope.required)
        if scope.outer is not None and self.often(correlated):
            found.append(self.equality(scope.columns, scope.outer.columns, scope))
        found += [self.condition(scope, depth) for share in (0.35, 0.1) if self.often(share)]
        said = [text for text in found if text]
        return f" WHERE {' AND '.join(said)}" if said else ""

    # FROM.

    def relation(self, depth: int, taken: set[str]) -> tuple[str, list[Column]]:
        """A table or a query, with its columns."""
        if depth > 0 and self.often(0.3):
            return self.derived(depth, taken)
        if self.named and self.often(0.5):
            name, body, shown = self.chance.choice(self.named)
            spark, duck = name, f"({body})"
        else:
            hidden = {name for name, _, _ in self.named}
            there = [s for s in (*SOURCES[:2] * 3, *SOURCES[2:]) if s.name not in hidden]
            source = self.chance.choice(there)
            name = spark = source.name
            duck, shown = f"t_{name}", list(source.columns.items())
        free = [alias for alias in ALIASES if alias not in taken]
        if name not in taken and self.often(0.35):
            alias, written = name, ""
        else:
            alias = self.chance.choice(free)
            written = self.chance.choice((" ", " AS ")) + alias
        text = both(f"{spark}{written}", f"{duck} AS {alias}")
        return text, [Column(alias, column, kind, f"{alias}.{column}") for column, kind in shown]

    def derived(self, depth: int, taken: set[str]) -> tuple[str, list[Column]]:
        text, shown = self.query(depth - 1)
        free = [alias for alias in ALIASES if alias not in taken]
        alias = self.chance.choice(free)
        if self.often(0.12):
            duck = self.new_name()
            columns = [Column("", name, kind, f"{duck}.{name}") for name, kind in shown]
            return f"({text}){both('', f' AS {duck}')}", columns
        if self.often(0.12):
            names = [name for name, _ in shown]
            renamed = self.chance.sample(names, len(names))
            columns = [
                Column(alias, name, kind, f"{alias}.{name}")
                for name, (_, kind) in zip(renamed, shown, strict=True)
            ]
            return f"({text}) AS {alias}({', '.join(renamed)})", columns
        word = self.chance.choice((" ", " AS "))
        columns = [Column(alias, name, kind, f"{alias}.{name}") for name, kind in shown]
        return f"({text}){word}{alias}", columns

    def relations(self, depth: int, outer: Scope | None, most: int = 3) -> tuple[str, Scope]:
        """A FROM clause."""
        text, first = self.relation(depth, set())
        columns = first
        count = self.chance.choice((1, 1, 1, 2, 2, 2, 3)) if most > 1 else 1
        comma = self.often(0.15)
        wheres: list[str] = []
        for _ in range(count - 1):
            taken = {column.table for column in columns}
            other, right = self.relation(depth - 1, taken)
            scope = Scope((*columns, *right))
            if comma:
                text += f", {other}"
                columns = [*columns, *right]
                equal = self.equality(first, right, Scope(tuple(columns)))
                if equal and self.often(0.85):
                    wheres.append(equal)
            else:
                joined, columns = self.join(columns, other, right, scope, depth)
                text += joined
        if not comma and self.often(0.03):
            whole = self.columns(Scope(tuple(columns)), ("int",))
            if whole:
                value = self.spelt(self.chance.choice(whole), Scope(tuple(columns)))
                text += both(
                    f" LATERAL VIEW explode(array({value}, 1)) e AS usr",
                    f", LATERAL (SELECT unnest([{value}, 1]) AS usr) e",
                )
                columns = [*columns, Column("e", "usr", "int", "e.usr")]
        return text, Scope(tuple(columns), outer, tuple(wheres))

    def join(
        self, left: list[Column], other: str, right: list[Column], scope: Scope, depth: int
    ) -> tuple[str, list[Column]]:
        kind = self.chance.choice(
            ("JOIN", "JOIN", "INNER JOIN", "LEFT JOIN", "LEFT JOIN", "LEFT OUTER JOIN")
            + ("RIGHT JOIN", "FULL JOIN", "FULL OUTER JOIN", "SEMI", "ANTI")
            + ("CROSS JOIN",) * self.often(0.2)
        )
        if kind == "CROSS JOIN":
            return f" CROSS JOIN {other}", [*left, *right]
        if kind in {"SEMI", "ANTI"}:
            words = both(self.chance.choice((f"LEFT {kind}", kind)), kind) + " JOIN"
            return f" {words} {other} ON {self.on(left, right, scope, depth)}", left
        if self.often(0.25):
            used = self.using(left, kind, other, right)
            if used is not None:
                return used
        return f" {kind} {other} ON {self.on(left, right, scope, depth)}", [*left, *right]

    def on(self, left: list[Column], right: list[Column], scope: Scope, depth: int) -> str:
        found = [self.equality(left, right, scope)]
        if self.often(0.2):
            found.append(self.equality(left, right, scope))
        if self.often(0.15):
            found.append(self.condition(scope, 0))
        if self.often(0.03) and depth > 0:
            found.append(self.condition(scope, 1))
        said = [text for text in found if text] or ["1 = 1"]
        return (" OR " if self.often(0.08) else " AND ").join(said)

    def using(
        self, left: list[Column], kind: str, other: str, right: list[Column]
    ) -> tuple[str, list[Column]] | None:
        """A join with USING or NATURAL; DuckDB gets the condition and the coalesced columns."""
        shown = [column.name for column in left if not column.hidden]
        common = [c.name for c in right if c.name in shown]
        if not common or any(shown.count(name) > 1 for name in common):
            return None
        natural = self.often(0.25)
        users = ["usr"] if "usr" in common and self.often(0.6) else [self.chance.choice(common)]
        names = common if natural else users
        pairs = {
            name: (
                next(c for c in left if c.name == name and not c.hidden),
                next(c for c in right if c.name == name),
            )
            for name in names
        }
        if any(not same_kind(a.kind, b.kind) for a, b in pairs.values()):
            return None
        on = " AND ".join(f"{a.duck} = {b.duck}" for a, b in pairs.values())
        merged = [_merged(kind, name, a, b) for name, (a, b) in pairs.items()]
        rest = [
            replace(c, hidden=True) if c.name in names and not c.hidden else c
            for c in (*left, *right)
        ]
        columns = [*merged, *(c for c in rest if c.table or not c.hidden)]
        using = f" {kind} {other} USING ({', '.join(names)})"
        spark = f" NATURAL {kind} {other}" if natural else using
        return both(spark, f" {kind} {other} ON {on}"), columns

    # Queries.

    def items(self, scope: Scope, depth: int, kinds: Sequence[str] | None, most: int) -> list[Item]:
        """A select list."""
        items: list[Item] = []
        for at in range(len(kinds) if kinds else self.chance.randrange(1, most + 1)):
            wanted = kinds_like(kinds[at]) if kinds else None
            column = self.column(scope, wanted)
            earlier = [i for i in items if not any(c.name == i[1] for c in scope.columns)]
            if earlier and not kinds and self.often(0.03):
                text, name, kind = self.chance.choice(earlier)
                items.append((both(name, text), self.new_name(), kind))
                continue
            if column is None:
                if not kinds:
                    break
                items.append((f"CAST(NULL AS {both(kinds[at], duck_type(kinds[at]))})",
                              self.name_for("", items), kinds[at]))  # fmt: skip
                continue
            text, kind, name = self.spelt(column, scope), column.kind, column.name
            if self.often(0.1) and (pair := self.of_both(scope, column)):
                text, kind = pair
            elif self.often(0.1):
                text, kind = self.value(scope, wanted) or (text, kind)
            elif not kinds and self.often(0.04):
                text, kind = self.cast(scope) or (text, kind)
            elif not kinds and depth > 0 and self.often(0.05):
                text, kind, name = self.scalar(scope, depth), "bigint", "m"
            elif self.often(0.02):
                text, kind = self.literal("int"), "int"
            items.append((text, self.name_for(name, items), kind))
        return items

    def name_for(self, name: str, items: Sequence[Item]) -> str:
        """A name for an item: its own, or another's, to hide that one."""
        taken = {name for _, name, _ in items}
        if self.often(0.12):
            name = self.chance.choice(("usr", "id", "shop", "n", "k"))
        return name if name and name not in taken else self.new_name()

    def query(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        """A query of any kind, with its columns."""
        kind = self.chance.choice(("select",) * 5 + ("group",) * 4 + ("set", "set", "limit"))
        if kind == "group":
            return self.grouped(depth)
        if kind == "set":
            return self.set_operation(depth)
        text, shown = self.select(depth, None)
        if kind == "limit" and shown and self.often(0.5):
            order = ", ".join(str(at + 1) for at in range(len(shown)))
            text = f"(SELECT * FROM ({text}) q ORDER BY {order} LIMIT {self.chance.choice('123')})"
        return text, shown

    def select(
        self, depth: int, outer: Scope | None, kinds: Sequence[str] | None = None, items: int = 4
    ) -> tuple[str, list[tuple[str, str]]]:
        """A SELECT without GROUP BY; with ``outer`` it is correlated."""
        source, scope = self.relations(depth, outer, 3 if outer is None else 2)
        chosen = self.items(Scope(scope.columns), depth, kinds, items)
        chosen = chosen or [("1", "one", "int")]
        qualify = ""
        if outer is None and kinds is None:
            if self.often(0.3):
                name = self.new_name()
                chosen.append((self.window(scope), name, "bigint"))
            if self.often(0.1):
                limit = self.chance.choice((" = 1", " <= 2", " > 1"))
                qualify = f" QUALIFY {self.window(scope)}{limit}"
        where = self.where(scope, depth)
        distinct = "DISTINCT " if self.often(0.12) else ""
        texts = [self.shown(text, name) for text, name, _ in chosen]
        if not where and self.often(0.1):
            where = " WHERE 1 = 1"
        text = f"SELECT {distinct}{', '.join(texts)} FROM {source}{where}{qualify}"
        return text, [(name, kind) for _, name, kind in chosen]

    def shown(self, text: str, name: str) -> str:
        """An item of a select list with its name, which may be its own."""
        spark = read(text, 1)
        if spark.split(".")[-1].strip("`").lower() == name and self.often(0.7):
            return both(text, f"{text} AS {name}")
        if self.often(0.2) and re.fullmatch(r"[\w.]+", spark):
            return both(f"{text} {name}", f"{text} AS {name}")
        return f"{text} AS {name}"

    def window(self, scope: Scope) -> str:
        local = Scope(scope.columns)
        there = self.columns(local)
        order = [self.spelt(column, local) for column in self.chance.sample(there, len(there))]
        if self.often(0.3):
            order[0] += " DESC"
        keys = []
        for share in (0.85, 0.25):
            if self.often(share):
                value = self.value(local) if self.often(0.95) else self.cast(local)
                keys += [value[0]] if value else []
        by = f"PARTITION BY {', '.join(keys)} " if keys else ""
        value = self.value(local, ("int",))
        number = value[0] if value else "1"
        first, all_ = order[0], ", ".join(order)
        forms = [
            f"row_number() OVER ({by}ORDER BY {all_})",
            f"row_number() OVER ({by}ORDER BY {all_})",
            f"rank() OVER ({by}ORDER BY {first})",
            f"dense_rank() OVER ({by}ORDER BY {first})",
            f"lag({number}) OVER ({by}ORDER BY {all_})",
            f"sum({number}) OVER ({by})",
            f"count(*) OVER ({by})",
            f"max({number}) OVER ({by}ORDER BY {all_} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            f"sum({number}) OVER ({by}ORDER BY {first})",
        ]
        return self.chance.choice(forms)

    def aggregate(self, scope: Scope) -> Item:
        value = self.value(scope, ("int",))
        number = value[0] if value else "1"
        text = self.value(scope)
        any_ = text[0] if text else "1"
        kind = text[1] if text else "int"
        forms: list[tuple[str, str]] = [
            ("count(*)", "bigint"),
            (f"sum({number})", "bigint"),
            (f"max({number})", "int"),
            (f"min({any_})", kind) if kind != "boolean" else (f"min({number})", "int"),
            (f"count(DISTINCT {any_})", "bigint"),
            (both(f"percentile({number}, 0.5)", f"quantile_cont({number}, 0.5)"), "double"),
            (f"count(*) FILTER (WHERE {self.condition(scope, 0)})", "bigint"),
        ]
        form, kind = self.chance.choice(forms)
        return form, self.new_name() if self.often(0.9) else "usr", kind

    def grouped(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        source, scope = self.relations(depth, None)
        keys: list[Item] = []
        for share in (0.92, 0.4, 0.15):
            column = self.column(scope)
            if column is not None and self.often(share):
                text, kind = self.spelt(column, scope), column.kind
                if self.often(0.12):
                    text, kind = self.value(scope) or (text, kind)
                elif self.often(0.05):
                    text, kind = self.cast(scope) or (text, kind)
                if read(text, 2) not in [read(other, 2) for other, _, _ in keys]:
                    keys.append((text, self.name_for(column.name, keys), kind))
        items = [key for key in keys if self.often(0.92)]
        for _ in range(self.chance.randrange(1, 3)):
            text, name, kind = self.aggregate(scope)
            if any(name == other for _, other, _ in items):
                name = self.new_name()
            items.append((text, name, kind))
        if self.often(0.06) and keys:
            number = keys[0][0]
            window = self.chance.choice((
                f"sum(count(*)) OVER (PARTITION BY {number})", "sum(count(*)) OVER ()",
                f"rank() OVER (PARTITION BY {number} ORDER BY count(*))",
                "rank() OVER (ORDER BY count(*))",
            ))  # fmt: skip
            items.append((window, self.new_name(), "bigint"))
        if self.often(0.3):
            self.chance.shuffle(items)
        having = ""
        if self.often(0.15):
            having = " HAVING " + self.having(scope, keys, depth)
        where = self.where(scope, depth)
        texts = ", ".join(self.shown(text, name) for text, name, _ in items)
        visible = {column.name for column in scope.columns}
        group = self.group_by(keys, items, visible)
        text = f"SELECT {texts} FROM {source}{where}{group}{having}"
        return text, [(name, kind) for _, name, kind in items]

    def group_by(self, keys: Sequence[Item], items: Sequence[Item], visible: set[str]) -> str:
        if not keys:
            return ""
        texts = [
            both(key[1], key[0])
            if key in items and key[1] not in visible and self.often(0.3)
            else key[0]
            for key in keys
        ]
        plain = f" GROUP BY {', '.join(texts)}"
        if all(key in items for key in keys) and self.often(0.25):
            places = [str(items.index(key) + 1) for key in keys]
            return both(f" GROUP BY {', '.join(places)}", plain)
        plainly = all("OVER (" not in text for text, _, _ in items)
        if plainly and all(key in items for key in keys) and self.often(0.1):
            return both(" GROUP BY ALL", plain)
        if self.often(0.8):
            return plain
        first, rest = texts[0], texts[1:]
        forms = [
            f" GROUP BY ROLLUP ({', '.join(texts)})",
            f" GROUP BY CUBE ({', '.join(texts)})",
            f" GROUP BY GROUPING SETS (({', '.join(texts)}), ({first}))",
            f" GROUP BY GROUPING SETS (({', '.join(texts)}), ())",
            both(f"{plain} WITH ROLLUP", f" GROUP BY ROLLUP ({', '.join(texts)})"),
        ]
        if rest:
            forms += [f" GROUP BY {first}, ROLLUP ({', '.join(rest)})"] * 2
            forms += [f" GROUP BY GROUPING SETS ({', '.join(f'({text})' for text in texts)})"]
        return self.chance.choice(forms)

    def having(self, scope: Scope, keys: Sequence[Item], depth: int) -> str:
        plain = [c for c in scope.columns if any(read(t, 2) == c.duck for t, _, _ in keys)]
        grouped = Scope(tuple(plain), None)
        kinds = ["count(*) > 1", f"{self.aggregate(scope)[0]} IS NOT NULL"]
        if depth > 0:
            kinds.append(f"count(*) >= {self.scalar(grouped, depth)}")
            if plain:
                kinds.append(self.subquery_condition(grouped, depth, "in"))
                kinds.append(self.subquery_condition(grouped, depth, "exists"))
        return self.chance.choice(kinds)

    def set_operation(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        kinds = [self.chance.choice(("int", "int", "int", "string", "bigint"))
                 for _ in range(self.chance.randrange(1, 4))]  # fmt: skip
        text, shown = self.select(depth - 1, None, kinds)
        for _ in range(self.chance.choice((1, 1, 1, 2))):
            word = self.chance.choice(SETS)
            other, more = self.select(depth - 1, None, kinds)
            shown = [(name, wider(a, b)) for (name, a), (_, b) in zip(shown, more, strict=True)]
            duck = {"MINUS": "EXCEPT", "UNION DISTINCT": "UNION"}.get(word, word)
            text = f"({text}) {both(word, duck)} ({other})"
        return text, shown

    def with_queries(self, depth: int) -> str:
        """WITH before the query, empty for DuckDB, which reads the bodies where they are named."""
        texts = []
        for name in self.chance.sample(
            ("w", "recent", "orders", "base"), self.chance.randrange(1, 3)
        ):
            body, shown = self.query(depth - 1)
            texts.append(f"{name} AS ({body})")
            self.named.append((name, body, shown))
        return both(f"WITH {', '.join(texts)} ", "")


def _merged(kind: str, name: str, left: Column, right: Column) -> Column:
    """What the name alone means after USING: one side's column, which it is one with, or both."""
    if kind.startswith("FULL"):
        shown = f"coalesce({left.duck}, {right.duck})"
        return Column("", name, wider(left.kind, right.kind), shown)
    side = right if kind.startswith("RIGHT") else left
    return Column("", name, side.kind, side.duck)


def view(chance: Random) -> View:
    """One view by chance."""
    writer = _Writer(chance)
    depth = chance.choice((0, 1, 1, 2))
    before = writer.with_queries(depth) if depth and writer.often(0.2) else ""
    text = before + writer.query(depth)[0]
    return View(read(text, 1), read(text, 2))
