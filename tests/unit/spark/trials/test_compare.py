"""What a view holds, read without Spark."""

from __future__ import annotations

from collections import Counter

import deltalake
import pyarrow as pa
import pytest

from freshline.spark.trials.compare import stored

DAY_US = 86_400_000_000


@pytest.mark.parametrize("day", [-719_164, -719_163, -719_162, 0, 2_932_896, 2_932_897])
@pytest.mark.parametrize("kind", ["date", "timestamp", "ntz"])
def test_times_beyond_those_of_python_are_read(tmp_path, day, kind):
    # Python's begin with the first day of the year 1, day -719162, and end with the year 9999.
    zone = "UTC" if kind == "timestamp" else None
    number = day if kind == "date" else day * DAY_US
    times = pa.array([number, None], pa.int32() if kind == "date" else pa.int64())
    column = times.cast(pa.date32() if kind == "date" else pa.timestamp("us", zone))
    deltalake.write_deltalake(str(tmp_path / "t"), pa.table({"at": column, "n": [1, 2]}))
    assert stored(str(tmp_path / "t"), 0) == Counter({(number, 1): 1, (None, 2): 1})
