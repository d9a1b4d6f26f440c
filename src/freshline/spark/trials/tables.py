"""The tables of a trial: small Delta tables in a temporary folder, a commit a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import deltalake
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from freshline.spark.trials.checksums import write_checksum
from freshline.spark.trials.inputs import Row
from freshline.sql.text.reads import backquoted

_PARTS = 3
"""A deletion takes about one row in so many."""

Key = str | int | None
"""A value of a column that can be a key."""


@dataclass(frozen=True, slots=True)
class Done:
    """One thing that was done to a table.

    Attributes:
        step: Of the trial, from 0.
        table: Its name.
        rows: Rows inserted; None: rows were deleted or updated.
        where: A condition that holds for these; "": rows were inserted.
        by_spark: Whether the condition is SQL of Spark, else of delta-rs.
        values: Their new values by column, as SQL; none: they were deleted.
    """

    step: int
    table: str
    rows: pa.Table | None = None
    where: str = ""
    by_spark: bool = False
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Tables:
    """Tables that a trial fills and empties.

    Attributes:
        session: Deletes rows.
        folder: Holds them.
        schemas: Spark's columns of each, by name.
        step: Of the trial; that whatever is done belongs to.
        history: What was done so far, in order.
    """

    session: SparkSession
    folder: Path
    schemas: Mapping[str, StructType]
    step: int = 0
    history: list[Done] = field(default_factory=list)
    _keys: dict[str, list[tuple[str, Key]]] = field(default_factory=dict)
    _seen: dict[str, dict[str, Counter[Key]]] = field(default_factory=dict)

    @property
    def arrow(self) -> dict[str, pa.Schema]:
        """The columns of each as Arrow's types.

        Raises:
            PySparkTypeError: Arrow has no such type.
        """
        return {
            name: to_arrow_schema(schema, timezone="UTC") for name, schema in self.schemas.items()
        }

    def path(self, name: str) -> str:
        """Where a table is."""
        return str(self.folder / name)

    def arrow_rows(self, name: str, rows: Sequence[Row]) -> pa.Table:
        """Rows in the types of a table's columns."""
        schema = to_arrow_schema(self.schemas[name], timezone="UTC")
        columns = [pa.array([row[each.name] for row in rows], each.type) for each in schema]
        return pa.Table.from_arrays(columns, schema=schema)

    def insert(self, name: str, rows: Sequence[Row]) -> None:
        """Append rows; the first rows of a table make it."""
        table = self.arrow_rows(name, rows)
        self.again(Done(self.step, name, table))
        for each in table.schema:
            if pa.types.is_string(each.type) or pa.types.is_integer(each.type):
                values = Counter[Key](row[each.name] for row in rows)
                value, _ = values.most_common(1)[0]
                seen = self._seen.setdefault(name, {}).setdefault(each.name, Counter())
                seen.update(values)
                self._keys[name] = [*self._keys.get(name, []), (each.name, value)]

    def take_away(self, name: str, part: int) -> None:
        """Delete the rows of a key, and move those of another to a third one."""
        self.delete(name, part)
        self.update(name, part)

    def delete(self, name: str, part: int) -> None:
        """Delete the rows of a key, or about a third of them where no column can be a key.

        Args:
            name: Of the table.
            part: Decides which.
        """
        keys = self._keys.get(name)
        if keys:
            self.again(Done(self.step, name, where=_equals(*keys[part % len(keys)])))
        else:
            columns = [backquoted(each) for each in self._hashed(name)]
            condition = f"pmod(hash({', '.join(columns)}), {_PARTS}) = {part % _PARTS}"
            self.again(Done(self.step, name, where=condition, by_spark=True))

    def update(self, name: str, part: int) -> None:
        """Move the rows of a key to another one, by every column that can be a key.

        Args:
            name: Of the table.
            part: Decides which: the next key after the one that is deleted.
        """
        keys = self._keys.get(name, [])
        if not keys:
            return
        column, value = keys[(part + 1) % len(keys)]
        values = {}
        for each, seen in self._seen[name].items():
            for other, _ in seen.most_common():
                if other is not None and (each, other) != (column, value):
                    values[_quoted(each)] = _literal(other)
                    break
        if values:
            where = _equals(column, value)
            self.again(Done(self.step, name, where=where, values=values))

    def again(self, done: Done) -> None:
        """Do what was done in another trial, or decided in this one."""
        path = self.path(done.table)
        if done.rows is not None:
            deltalake.write_deltalake(
                path,
                done.rows,
                mode="append",
                configuration={"delta.enableChangeDataFeed": "true"},
            )
            self._committed(done.table)
        elif done.by_spark:
            self.session.sql(f"DELETE FROM delta.{backquoted(path)} WHERE {done.where}")
        else:
            table = deltalake.DeltaTable(path)
            if done.values:
                table.update(dict(done.values), predicate=done.where)
            else:
                table.delete(done.where)
            self._committed(done.table)
        self.history.append(done)

    def _hashed(self, name: str) -> list[str]:
        return [
            each.name for each in self.schemas[name] if "map<" not in each.dataType.simpleString()
        ]

    def _committed(self, name: str) -> None:
        write_checksum(self.folder / name, self.version(name))

    def frame(self, name: str) -> DataFrame:
        """The rows of a table as they are now, as Spark's own and not as those of a Delta table."""
        rows = deltalake.DeltaTable(self.path(name)).to_pyarrow_table()
        # PySpark cannot convert an Arrow table without a chunk that has times within a struct.
        return self.session.createDataFrame(rows if rows.num_rows else [], self.schemas[name])

    def version(self, name: str) -> int:
        """The newest."""
        return int(deltalake.DeltaTable(self.path(name)).version())


def _equals(column: str, value: Key) -> str:
    """A condition as delta-rs reads it."""
    name = _quoted(column)
    return f"{name} IS NULL" if value is None else f"{name} = {_literal(value)}"


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _literal(value: Key) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
