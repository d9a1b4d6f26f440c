"""DuckDB as the judge of decompositions: batch by batch and merged, against all at once.

Streams are tables with one more column, ``batch_of``; a batch, or all of them, is a view under
the stream's own name. Decimals, integers and dates must agree exactly, doubles to 1e-9.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from freshline.sql.query.normal import source_name
from freshline.sql.query.records import Decomposition, Partial, Reason, Source
from freshline.sql.states.decompose import decompose

_TYPES = {"hugeint": "bigint", "integer": "int", "varchar": "string", "utinyint": "int"}
_SPARKS = {"every": "bool_and", "some": "bool_or", "std": "stddev"}
_TOLERANCE = 1e-9


@dataclass
class Merging:
    """A DuckDB database with streams and static tables.

    Attributes:
        sources: Its tables.
        batches: How many batches the streams come in.
        keeps_rows: Whether states may hold rows of streams.
    """

    sources: Sequence[Source]
    batches: int
    keeps_rows: bool = False
    database: duckdb.DuckDBPyConnection = field(
        default_factory=lambda: duckdb.connect(config={"threads": 1})
    )
    _shown: dict[str, str] = field(default_factory=dict)

    @property
    def streams(self) -> list[str]:
        return [source.name for source in self.sources if not source.static]

    def load(self, rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> None:
        """Fills the tables; the rows of a stream end with the number of their batch."""
        for source in self.sources:
            columns = [f'"{name}" {_duck_type(kind)}' for name, kind in source.columns.items()]
            table = source.name if source.static else f"all_{source.name}"
            columns += [] if source.static else ["batch_of INTEGER"]
            self.database.execute(f"CREATE OR REPLACE TABLE {table} ({', '.join(columns)})")
            if rows[source.name]:
                holes = ", ".join("?" * len(columns))
                statement = f"INSERT INTO {table} VALUES ({holes})"
                self.database.executemany(statement, list(rows[source.name]))

    def show(self, wanted: Mapping[str, Iterable[int]] | None = None) -> None:
        """Lets each stream's name mean these batches of it; None: all of them."""
        for name in self.streams:
            which = range(self.batches) if wanted is None else wanted[name]
            listed = ", ".join(str(at) for at in which) or "NULL"
            if self._shown.get(name) == listed:
                continue
            self._shown[name] = listed
            self.database.execute(
                f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * EXCLUDE (batch_of) "
                f"FROM all_{name} WHERE batch_of IN ({listed})"
            )

    def typer(self, query: str) -> list[tuple[str, str]]:
        """Columns and types as DuckDB gives them, in Spark's words."""
        self.show()
        found = self.database.execute(f"DESCRIBE {in_duckdb(query)}").fetchall()
        return [(row[0], _TYPES.get(row[1].lower(), row[1].lower())) for row in found]

    def cut(self, query: str) -> Decomposition | Reason:
        return decompose(query, self.sources, self.typer, keeps_rows=self.keeps_rows)

    def at_once(self, query: str) -> list[tuple[Any, ...]]:
        """The query's rows over everything."""
        self.show()
        return self.database.execute(in_duckdb(query)).fetchall()

    def merged(
        self, cut: Decomposition, order: random.Random | None = None
    ) -> list[tuple[Any, ...]]:
        """The rows of the final query over the combined states of all batches."""
        for partial in cut.partials:
            self._combined(partial, cut, order or random.Random(0))
        self.show(dict.fromkeys(self.streams, ()))  # the final must not read them
        return self.database.execute(in_duckdb(cut.final)).fetchall()

    def state_rows(self, cut: Decomposition) -> dict[str, int]:
        """Rows of each partial's state, added over the batches; to be asked after merged."""
        return {
            partial.name: self._number(f"SELECT count(*) FROM every_{partial.name}")
            for partial in cut.partials
        }

    def _number(self, query: str) -> int:
        row = self.database.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    def _combined(self, partial: Partial, cut: Decomposition, order: random.Random) -> None:
        """Fills the relation called as the partial, over two levels of combining."""
        name, query = partial.name, in_duckdb(partial.query)
        combine = in_duckdb(partial.combine)
        self.show()
        run = self.database.execute
        run(f"CREATE OR REPLACE TEMP TABLE every_{name} AS SELECT * FROM ({query}) LIMIT 0")
        for batch in self._changes(partial, cut):
            self.show(batch)
            run(f"INSERT INTO every_{name} {query}")
        run(f"CREATE OR REPLACE TEMP TABLE half_{name} AS SELECT * FROM every_{name} LIMIT 0")
        count = self._number(f"SELECT count(*) FROM every_{name}")
        some = order.randint(0, count)
        run(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM every_{name} LIMIT {some}")
        run(f"INSERT INTO half_{name} {combine}")
        run(
            f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM half_{name} UNION ALL "
            f"(SELECT * FROM every_{name} OFFSET {some})"
        )
        run(f"CREATE OR REPLACE TEMP TABLE whole_{name} AS {combine}")
        run(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM whole_{name}")

    def _changes(self, partial: Partial, cut: Decomposition) -> list[dict[str, Iterable[int]]]:
        """What the streams' names mean while each part of the state is computed."""
        if cut.linearity == "joint":
            return [dict.fromkeys(self.streams, (at,)) for at in range(self.batches)]
        tables = sqlglot.parse_one(partial.query, dialect="spark").find_all(exp.Table)
        read = sorted({source_name(table) for table in tables} & set(self.streams))
        changes: list[dict[str, Iterable[int]]] = []
        for at in range(self.batches):
            for position, name in enumerate(read):
                old: dict[str, Iterable[int]] = dict.fromkeys(self.streams, range(at))
                new: dict[str, Iterable[int]] = dict.fromkeys(read[:position], range(at + 1))
                changes.append({**old, **new, name: (at,)})
        return changes

    def check(self, query: str, order: random.Random | None = None) -> Decomposition:
        """That ``query`` can be cut and that merged equals at once."""
        cut = self.cut(query)
        assert isinstance(cut, Decomposition), f"{cut}\n{query}"
        expected, found = self.at_once(query), self.merged(cut, order)
        difference = first_difference(expected, found)
        assert difference is None, f"{difference}\n{query}\n{cut.final}\n{cut.partials}"
        if cut.group_columns is not None:
            self._check_groups(cut)
        return cut

    def _check_groups(self, cut: Decomposition) -> None:
        """That the rows of one group come from this group's state alone."""
        assert cut.group_columns is not None
        (partial,) = cut.partials
        whole = f"whole_{partial.name}"
        wanted = in_duckdb(cut.final)
        self.database.execute(
            f"CREATE OR REPLACE TEMP VIEW {partial.name} AS SELECT * FROM {whole}"
        )
        everything = self.database.execute(wanted).fetchall()
        apart: list[tuple[Any, ...]] = []
        for at in range(self._number(f"SELECT count(*) FROM {whole}")):
            self.database.execute(
                f"CREATE OR REPLACE TEMP VIEW {partial.name} AS "
                f"SELECT * FROM {whole} LIMIT 1 OFFSET {at}"
            )
            key = self.database.execute(f"SELECT * FROM {partial.name}").fetchone()
            rows = self.database.execute(wanted)
            names = [column[0] for column in rows.description or ()]
            found = rows.fetchall()
            assert key is not None
            for column, state in cut.group_columns.items():
                place = partial.keys.index(state)
                assert all(row[names.index(column)] == key[place] for row in found)
            apart += found
            if at > 40:
                return
        assert first_difference(everything, apart) is None


@cache
def in_duckdb(query: str) -> str:
    """``query`` in DuckDB's words."""
    tree = sqlglot.parse_one(query, dialect="spark")
    for fold in list(tree.find_all(exp.Reduce)):
        fold.replace(_fold(fold))
    for by in list(tree.find_all(exp.ArgMax, exp.ArgMin)):  # Spark's do not skip NULL
        name = "arg_max_null" if isinstance(by, exp.ArgMax) else "arg_min_null"
        by.replace(exp.Anonymous(this=name, expressions=[by.this, by.expression]))
    for any_ in list(tree.find_all(exp.Any)):
        any_.replace(exp.LogicalOr(this=any_.this))
    for call in list(tree.find_all(exp.Anonymous)):
        call.set("this", _SPARKS.get(call.name.lower(), call.this))
    return tree.sql(dialect="duckdb")


def _fold(node: exp.Reduce) -> exp.Expr:
    """Spark's aggregate(list, start, merge, finish) as DuckDB's list_reduce."""
    step, finish = node.args["merge"], node.args.get("finish")
    names = ", ".join(each.name for each in step.expressions)
    body = step.this.sql(dialect="duckdb")
    items = node.this.sql(dialect="duckdb")
    start = node.args["initial"].sql(dialect="duckdb")
    filled = f"list_filter({items}, lambda x: x IS NOT NULL)"
    text = f"list_reduce({filled}, lambda {names}: {body}, {start})"
    if finish is not None:
        name = finish.expressions[0].name
        text = f"list_transform([{text}], lambda {name}: {finish.this.sql(dialect='duckdb')})[1]"
    return exp.Var(this=text)


def first_difference(
    expected: Sequence[tuple[Any, ...]], found: Sequence[tuple[Any, ...]]
) -> str | None:
    """What differs between two results, in whatever order their rows come."""
    if len(expected) != len(found):
        return f"{len(expected)} rows at once, {len(found)} merged: {expected[:3]} {found[:3]}"
    for one, other in zip(sorted(expected, key=_place), sorted(found, key=_place), strict=True):
        if not _same(one, other):
            return f"at once {one}, merged {other}"
    return None


def _place(row: Any) -> Any:
    """An order of rows in which doubles that differ in the last digits stay neighbours."""
    if isinstance(row, tuple | list):
        return tuple(_place(value) for value in row)
    if row is None:
        return (0, "")
    if isinstance(row, bool | int | float | Decimal):
        number = float(row)
        return (1, f"{number:+.6e}" if math.isfinite(number) else str(number))
    return (2, str(row))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, int | float | Decimal):
        close = math.isclose(one, float(other), rel_tol=_TOLERANCE, abs_tol=1e-12)
        return close or (math.isnan(one) and math.isnan(float(other)))
    return bool(one == other)


def _duck_type(kind: str) -> str:
    return {"string": "VARCHAR", "int": "INTEGER"}.get(kind, kind.upper())
