"""Whether a view holds what its query gives: multisets of rows, values in one plain form."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import deltalake
import pyarrow as pa
from pyspark.sql import DataFrame

Values = tuple[Any, ...]
_DIGITS = 9
"""To which doubles must agree: their sums depend on the order of the rows."""


def counted(frame: DataFrame) -> Counter[Values]:
    """The rows of a frame and how often each occurs."""
    return _counted(frame.toArrow())


def stored(path: str, version: int) -> Counter[Values]:
    """The rows of a Delta table on this machine; read without a Spark job, which takes longer."""
    table = deltalake.DeltaTable(path, version=version)
    try:
        rows = table.to_pyarrow_table()
    except (ValueError, OverflowError):
        # It makes Python's dates of the files' statistics, and these begin with the year 1.
        query = deltalake.QueryBuilder().register("stored", table).execute("SELECT * FROM stored")
        rows = pa.table(query)
    return _counted(rows)


def _counted(table: pa.Table) -> Counter[Values]:
    columns = [_plain_column(column) for column in table.columns]
    if not columns:
        return Counter({(): table.num_rows})
    return Counter(zip(*columns, strict=True))


def _plain_column(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):  # Python's own end with the year 9999
        column = column.cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return [_plain(value) for value in column.to_pylist()]


def _plain(value: Any) -> Any:
    """A value that can be hashed; lists in no order, since sets become lists in any."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return tuple(_plain(each) for each in value.values())
    if isinstance(value, list | tuple):
        return tuple(sorted((_plain(each) for each in value), key=repr))
    return value
