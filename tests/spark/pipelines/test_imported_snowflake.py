"""Statements of Snowflake are analysed by Spark before the new project is written."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from freshline.importing.analysed import by_spark
from freshline.importing.snowflake.script import read_snowflake
from freshline.importing.writing import write
from freshline.project.load import load_project

pytestmark = pytest.mark.spark

SCRIPT = """\
create table raw.orders (id number not null, t timestamp_ntz, price number(12,2), note varchar,
  primary key (id));
create dynamic table daily target_lag='10 minutes' warehouse=wh
  as select date_trunc('day', t) as d, sum(price) as s from raw.orders group by 1;
create dynamic table wrong target_lag='1 hour' warehouse=wh as select id, prize from raw.orders;
create dynamic table odd target_lag='1 hour' warehouse=wh as select sum(t) as s from raw.orders;
create dynamic table after_wrong target_lag='1 hour' warehouse=wh as select id from wrong;
create dynamic table unknown target_lag='1 hour' warehouse=wh
  as select d.d, r.rate from daily d join rates r on r.d = d.d;
"""


def test_what_spark_refuses_is_left_out_with_its_reason(
    tmp_path: Path, shared: SparkSession
) -> None:
    assert shared is not None
    script = tmp_path / "shop.sql"
    script.write_text(SCRIPT)
    written = write(read_snowflake(script), tmp_path / "new", by_spark)
    rows = {each.item.key: each for each in written.assembly.outcomes}
    reasons = {key: row.left_out[0] for key, row in rows.items() if row.became == "not taken"}
    assert sorted(reasons) == ["after_wrong", "odd", "wrong"]
    assert reasons["wrong"].startswith("Spark refuses the query of table wrong: ")
    assert "`prize` cannot be resolved" in reasons["wrong"]
    assert "UNRESOLVED_COLUMN" in reasons["wrong"]
    assert "DATATYPE_MISMATCH" in reasons["odd"]
    assert reasons["after_wrong"] == "it reads wrong, which was not taken"
    appendix = (tmp_path / "new" / "not_translated.sql").read_text()
    assert appendix.count(reasons["wrong"]) == 1
    assert "--     prize\n" in appendix
    assert (
        "- Spark did not analyse rates, unknown: the columns of what they read are not known."
        " `freshline validate` does it once the feeds have files."
    ) in (tmp_path / "new" / "IMPORTED.md").read_text()
    project = load_project(tmp_path / "new", tmp_path / "new")
    assert {table.name for table in project.tables} == {"orders", "rates", "daily", "unknown"}


def imported_rows(spark: SparkSession, folder: Path, script: str, **views: str) -> list[list[Any]]:
    """What each dynamic table of a script has in Spark under the new project's settings."""
    (folder / "one.sql").write_text(script)
    found = read_snowflake(folder / "one.sql")
    session = spark.newSession()
    for name, value in found.configuration.items():
        session.conf.set(name, value)
    for name, query in views.items():
        session.sql(query).createOrReplaceTempView(name)
    queries = [str(item.query) for item in found.items if item.role == "table"]
    return [[tuple(row) for row in session.sql(query).collect()] for query in queries]


MADE = "create dynamic table {} target_lag = '1 hour' warehouse = w as {};\n"


def test_texts_mean_what_they_mean_in_snowflake(tmp_path: Path, shared: SparkSession) -> None:
    """A backslash in a pattern is one; a text beside a number is that number."""
    script = "create table t (name varchar, pat varchar, n number(38,0));\n"
    script += MADE.format("a", "select name from t where name like pat")
    script += MADE.format("b", r"select name from t where name like 'a\\_'")
    script += MADE.format("c", "select n from t where n = '9007199254740993'")
    script += MADE.format("d", "select $$x;y\\z$$ v, $$do$llar's$$ w from t where n = 1")
    values = (
        r"select * from values ('a\\b', 'a\\_', 9007199254740993BD),"
        r" ('a_', 'a\\_', 9007199254740992BD), ('a\\', '%\\', 1BD), ('ab', 'a_', 2BD)"
        " as (name, pat, n)"
    )
    assert imported_rows(shared, tmp_path, script, t=values) == [
        [("a\\b",), ("a\\",), ("ab",)],
        [("a\\b",)],
        [(Decimal(9007199254740993),)],
        [("x;y\\z", "do$llar's")],
    ]


def test_days_are_those_of_the_scripts_time_zone(tmp_path: Path, shared: SparkSession) -> None:
    script = "alter session set timezone = 'Asia/Tokyo';\ncreate table t (l timestamp_ltz);\n"
    script += MADE.format("a", "select l::date d from t")
    values = "select timestamp'2026-01-01 23:00:00Z' as l"
    assert imported_rows(shared, tmp_path, script, t=values) == [[(date(2026, 1, 2),)]]


def test_hours_are_those_of_the_clock_in_the_hour_that_summer_time_leaves_out(
    tmp_path: Path, shared: SparkSession
) -> None:
    script = "alter session set timezone = 'Europe/Berlin';\n"
    script += "create table t (n timestamp_ntz, d date, k number);\n"
    units = ("year", "month", "day", "hour", "minute", "second")
    parts = ", ".join(f"date_trunc('{unit}', n) as {unit[:2]}_" for unit in units)
    script += MADE.format("a", f"select {parts} from t")
    script += MADE.format("b", "select date_trunc('month', d) m, date_trunc('day', d + 1) x from t")
    script += MADE.format("c", "select k from t where k not in (select k from t where k > 1)")
    script += MADE.format("e", "select 1000 * 60 * 60 * 24 * 30 as ms from t")
    values = "select timestamp_ntz'2026-03-29 02:30:40.75' n, date'2026-05-31' d, 1BD k"
    starts = ["-01-01 00:00:00", "-03-01 00:00:00", "-03-29 00:00:00"]
    starts += ["-03-29 02:00:00", "-03-29 02:30:00", "-03-29 02:30:40"]
    assert imported_rows(shared, tmp_path, script, t=values) == [
        [tuple(datetime.fromisoformat(f"2026{start}") for start in starts)],
        [(date(2026, 5, 1), date(2026, 6, 1))],
        [(Decimal(1),)],
        [(Decimal(2592000000),)],
    ]  # fmt: skip


def test_trunc_of_a_moment_is_what_date_trunc_makes_of_it(
    tmp_path: Path, shared: SparkSession
) -> None:
    script = "alter session set timezone = 'UTC';\ncreate table t (l timestamp_ltz);\n"
    units = ("month", "day", "hour", "second")
    parts = ", ".join(f"trunc(l, '{unit}')::varchar as {unit[:2]}_" for unit in units)
    script += MADE.format("a", f"select {parts} from t")
    values = "select timestamp'2026-01-15 10:20:30.5Z' as l"
    (rows,) = imported_rows(shared, tmp_path, script, t=values)
    starts = ("01 00:00:00", "15 00:00:00", "15 10:00:00", "15 10:20:30")
    assert rows == [tuple(f"2026-01-{start}" for start in starts)]
