"""Each row is in one window, that of its event time as the session's clock shows it."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from freshline.core.errors import Place
from freshline.executor.report_records import Window
from freshline.project.model import TableDef
from freshline.spark.engine.own_session import own_session
from freshline.spark.reports.window_rows import WindowRows
from tests.spark.views.proving import session_in

pytestmark = pytest.mark.spark
_HOUR_S = 3600.0
_PLACE = Place("report.sql", 1)
_REPORT = TableDef("report", "derived", "SELECT 1", _PLACE, _PLACE)


def test_a_wall_clock_in_the_hour_left_out_is_in_the_window_of_the_hour_after(spark, tmp_path):
    # In Berlin 02:00 of 31 March 2024 became 03:00: 02:45 means 03:45, 01:45 UTC.
    walls = [datetime(2024, 3, 31, hour, 45) for hour in (1, 2, 3, 4)]  # noqa: DTZ001 - no zone
    path = str(tmp_path / "visits")
    write_deltalake(path, pa.table({"wall": pa.array(walls, pa.timestamp("us"))}))
    session = own_session(session_in(spark, "Europe/Berlin"), _REPORT)
    first_s = datetime(2024, 3, 31, tzinfo=UTC).timestamp()
    found = []
    for hour in range(4):
        start_s = first_s + hour * _HOUR_S
        window = Window(_REPORT, start_s, start_s + _HOUR_S, start_s + 2 * _HOUR_S)
        rows = WindowRows(session, path, 0, "wall", window).upto(0).toArrow().to_pylist()
        found.append(sorted(row["wall"].hour for row in rows))
    assert found == [[1], [2, 3], [4], []]
