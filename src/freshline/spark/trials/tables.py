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


@dataclass(frozen=True, slots=True)
class Done:
    """One thing that was done to a table.

    Attributes:
        step: Of the trial, from 0.
        table: Its name.
        rows: Rows inserted; None: rows were deleted.
        deleted: A condition; "": rows were inserted.
        by_spark: Whether the condition is SQL of Spark, else of delta-rs.
    """

    step: int
    table: str
    rows: pa.Table | None = None
    deleted: str = ""
    by_spark: bool = False


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
    _keys: dict[str, list[str]] = field(default_factory=dict)

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
                values = Counter(row[each.name] for row in rows)
                value, _ = values.most_common(1)[0]
                self._keys[name] = [*self._keys.get(name, []), _equals(each.name, value)]

    def delete(self, name: str, part: int) -> None:
        """Delete the rows of a key, or about a third of them where no column can be a key.

        Args:
            name: Of the table.
            part: Decides which.
        """
        keys = self._keys.get(name)
        if keys:
            self.again(Done(self.step, name, deleted=keys[part % len(keys)]))
        else:
            columns = [backquoted(each) for each in self._hashed(name)]
            condition = f"pmod(hash({', '.join(columns)}), {_PARTS}) = {part % _PARTS}"
            self.again(Done(self.step, name, deleted=condition, by_spark=True))

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
            self.session.sql(f"DELETE FROM delta.{backquoted(path)} WHERE {done.deleted}")
        else:
            deltalake.DeltaTable(path).delete(done.deleted)
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


def _equals(column: str, value: str | int | None) -> str:
    """A condition as delta-rs reads it."""
    name = '"' + column.replace('"', '""') + '"'
    if value is None:
        return f"{name} IS NULL"
    return f"{name} = " + (
        "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
    )
