"""What is pushed ends up in the table exactly once, also when it was pushed twice."""

from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
import sys
from decimal import Decimal

import deltalake
import pytest

from freshline.client import push
from tests.spark.proof.support import lend
from tests.spark.reports.live import Folder

pytestmark = pytest.mark.spark

PROGRAM = [sys.executable, "-m", "freshline"]
SETTINGS = """\
name: shop
storage: warehouse
maintenance: {trials: false}
libraries:
  - glob: {include: tables/*.sql}
spark: {master: "local[2]"}
feeds:
  clicks:
    kind: push
    schema: "id BIGINT NOT NULL, at TIMESTAMP, price DECIMAL(15,2), local TIMESTAMP_NTZ,
      day DATE, data BINARY, share FLOAT, tags ARRAY<STRING>, more MAP<STRING, INT>,
      place STRUCT<x: DOUBLE, y: DOUBLE>"
    time: at
ingest: {port: 0}
"""
TABLES = """\
CREATE STREAMING TABLE pages
  TBLPROPERTIES ('freshline.time' = 'at')
  AS SELECT *, place.x AS x FROM STREAM clicks;
CREATE MATERIALIZED VIEW by_day AS SELECT day, sum(price) AS paid FROM pages GROUP BY day;
"""
AT = dt.datetime(2026, 1, 31, 12, 0, 0, 123456, dt.UTC)


def record(number):
    return {
        "id": number,
        "at": AT + dt.timedelta(seconds=number),
        "price": Decimal("0.10"),
        "local": dt.datetime.fromisoformat("2026-01-31T12:00:00"),
        "day": dt.date(2026, 1, 31),
        "data": b"hi",
        "share": 0.5,
        "tags": ["a", "b"],
        "more": {"k": number},
        "place": {"x": 1.5, "y": None},
    }


def test_pushed_records_are_in_the_table_exactly_once(tmp_path, spark, monkeypatch):
    shop = Folder(tmp_path, SETTINGS, TABLES)
    lend(spark, monkeypatch)
    ingest = subprocess.Popen(
        [*PROGRAM, "ingest", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert ingest.stdout is not None
    url = json.loads(ingest.stdout.readline())["url"]
    records = [record(number) for number in range(1000)]
    assert push(url, "clicks", records, key="load").records == 1000
    assert push(url, "clicks", records, key="load").duplicates == 1000
    ingest.send_signal(signal.SIGKILL)
    ingest.communicate()
    done = shop.command("run", "--until-idle", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["left_behind"] == []
    rows = deltalake.DeltaTable(tmp_path / "warehouse" / "pages").to_pyarrow_table().to_pylist()
    rows.sort(key=lambda row: row["id"])
    expected = [{**each, "more": list(each["more"].items()), "x": 1.5} for each in records]
    assert rows == expected
    by_day = deltalake.DeltaTable(tmp_path / "warehouse" / "by_day").to_pyarrow_table().to_pylist()
    assert by_day == [{"day": dt.date(2026, 1, 31), "paid": Decimal("100.00")}]
    found = json.loads(shop.command("status", "--json").stdout)
    assert found["tables"][0]["freshness"] == "2026-01-31T12:16:39.123456Z"
    assert (found["ingest"]["url"], found["ingest"]["running"]) == (None, False)
