"""What a table's log tells without Spark."""

from __future__ import annotations

import deltalake
import pyarrow as pa

from freshline.spark.deltalog import row_count


def test_a_versions_rows_are_counted_from_its_log(tmp_path):
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, pa.table({"a": pa.array([], pa.int64())}))
    deltalake.write_deltalake(path, pa.table({"a": [1, 2, 3]}), mode="append")
    deltalake.write_deltalake(path, pa.table({"a": [4, 5]}), mode="append")
    deltalake.DeltaTable(path).delete("a > 3")
    assert [row_count(path, version) for version in range(4)] == [0, 3, 5, 3]


def test_a_version_that_is_not_there_has_no_known_count(tmp_path):
    path = str(tmp_path / "t")
    assert row_count(path, 0) is None
    unsaid = {"delta.dataSkippingNumIndexedCols": "0"}
    deltalake.write_deltalake(path, pa.table({"a": [1]}), configuration=unsaid)
    assert row_count(path, 0) == 1  # the count of rows is there without any column's statistics
    assert row_count(path, 7) is None
