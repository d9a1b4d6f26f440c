"""Values that waited while their column's type changed: cast where they stay what they are."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshline.ingest.engine.landedfile import LandedFile, UncastableError, hidden_path
from freshline.ingest.log.rows import pack
from freshline.ingest.receipts import Batch

TIME = dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.UTC)
MIDNIGHT = dt.datetime(2026, 1, 31, tzinfo=dt.UTC)
INSTANT = pa.timestamp("us", "UTC")


def landed(folder: Path, array: pa.Array, kind: pa.DataType, *, cast: bool = True) -> pa.Array:
    """What a file holds of values that were accepted before their column had this type."""
    sink = pa.BufferOutputStream()
    table = pa.table({"x": array})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed = pack(Batch("f", len(array), sink.getvalue().to_pybytes()), None, 0)
    file = LandedFile(folder, pa.schema([("x", kind)]), None, cast=cast)
    try:
        file.add(packed.body, len(array))
        file.write_waiting()
        file.finish("x")
    finally:
        file.abandon()
    return pq.read_table(hidden_path(folder, "x"))["x"].combine_chunks()


@pytest.mark.parametrize(
    ("array", "kind", "expected"),
    [
        (pa.array([1, None]), pa.string(), ["1", None]),
        (pa.array([1, None]), pa.float64(), [1.0, None]),
        (pa.array([1.0, -2.0, None]), pa.int32(), [1, -2, None]),
        (pa.array([math.inf, 0.5, None], pa.float32()), pa.float64(), [math.inf, 0.5, None]),
        (pa.array([Decimal("1.50")]), pa.decimal128(20, 6), [Decimal("1.500000")]),
        (pa.array([MIDNIGHT]), pa.date32(), [MIDNIGHT.date()]),
        (pa.array([dt.date(2026, 1, 31)]), INSTANT, [MIDNIGHT]),
        (pa.array(["2026-01-31T12:30:00Z", None]), INSTANT, [TIME, None]),
        (pa.array(["007", "1"]), pa.int64(), [7, 1]),
        (pa.array(["1.5"]), pa.decimal128(9, 2), [Decimal("1.50")]),
    ],
)
def test_a_value_that_stays_what_it_is_is_cast(tmp_path, array, kind, expected):
    found = landed(tmp_path, array, kind)
    assert found.type == kind
    assert found.to_pylist() == expected


def test_no_number_stays_none(tmp_path):
    found = landed(tmp_path, pa.array([math.nan, 1.0, None], pa.float32()), pa.float64())
    assert found.type == pa.float64()
    assert [str(each) for each in found.to_pylist()] == ["nan", "1.0", "None"]


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([MIDNIGHT, TIME], INSTANT), pa.date32()),
        (pa.array([1.239]), pa.decimal128(9, 2)),
        (pa.array([0.1, math.nan]), pa.float32()),
        (pa.array([1e300]), pa.float32()),
        (pa.array([5]), pa.bool_()),
        (pa.array([Decimal(15 * 10**23)], pa.decimal128(38, 0)), pa.decimal128(38, 18)),
        (pa.array([Decimal("0.1234567890123456789")]), pa.float64()),
        (pa.array([2**53 + 1]), pa.float64()),
        (pa.array(["1.239"]), pa.decimal128(9, 2)),
        (pa.array(["a"]), pa.int64()),
        (pa.array(["1e400"]), pa.float64()),
        (pa.array([1_769_860_800]), INSTANT),
        (pa.array([MIDNIGHT], INSTANT), pa.int64()),
    ],
)
def test_a_cast_that_would_make_another_value_is_not_made(tmp_path, array, kind):
    """Numbers are no times: nobody says whether they count seconds."""
    with pytest.raises(UncastableError, match=r"^column x: "):
        landed(tmp_path, array, kind)
    kept = landed(tmp_path, array, kind, cast=False)
    assert (kept.type, str(kept.to_pylist())) == (array.type, str(array.to_pylist()))
