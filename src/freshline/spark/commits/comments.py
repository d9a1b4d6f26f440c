"""Comments of a table and its columns, as its definition has them and Delta keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from freshline.project.model import TableDef
from freshline.spark.engine.columns import with_notes

_KEY = "comment"


@dataclass(frozen=True, slots=True)
class Comments:
    """What a table's definition says of it, for people.

    Attributes:
        table: Its comment; None: there is none.
        columns: Comment by the column's name in lower case, for columns that have one.
    """

    table: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, table: TableDef) -> Comments:
        """The comments in the table's statement."""
        columns = {name.lower(): text for name, text in table.columns if text is not None}
        return cls(table.comment, columns)

    @property
    def properties(self) -> dict[str, str]:
        """Delta's writer takes a new table's comment from its properties."""
        return {} if self.table is None else {_KEY: self.table}

    def on(self, schema: StructType) -> StructType:
        """``schema`` with these comments on its columns and no others."""
        return StructType([self._commented(each) for each in schema])

    def _commented(self, column: StructField) -> StructField:
        metadata = {key: value for key, value in column.metadata.items() if key != _KEY}
        comment = self.columns.get(column.name.lower())
        if comment is not None:
            metadata[_KEY] = comment
        return StructField(column.name, column.dataType, column.nullable, metadata)

    def in_frame(self, frame: DataFrame) -> DataFrame:
        """``frame`` with these comments on its columns, as a new table takes them over."""
        for column in frame.schema:  # a column of a parent brings the comment it has there
            if column.metadata.get(_KEY) != self.columns.get(column.name.lower()):
                frame = with_notes(frame, column.name, self._commented(column).metadata)
        return frame
