"""What SET and RESET of a Databricks script say about its tables."""

from __future__ import annotations

import pytest

from freshline.importing.databricks.script import read_databricks
from tests.support.databricks import NO_ANSI, imported


def test_settings_of_a_script_hold_for_the_statements_below(tmp_path):
    project, rows = imported(
        tmp_path,
        "CREATE TABLE raw (x STRING);\n"
        "SET spark.sql.ansi.enabled = false;\nSET TIME ZONE 'Asia/Tokyo';\n"
        "CREATE MATERIALIZED VIEW a AS SELECT CAST(x AS INT) AS x FROM raw;\n"
        "SET spark.sql.ansi.enabled = true;\n"
        "CREATE MATERIALIZED VIEW b AS SELECT CAST(x AS INT) AS x FROM raw;",
    )
    wanted = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Tokyo"}
    assert {name: project.configuration.get(name) for name in wanted} == wanted
    assert [table.name for table in project.tables] == ["raw", "a"]
    assert rows["b"].left_out == (
        (
            "SET spark.sql.ansi.enabled above it does not hold for the first tables of the script:"
            " import it as a project of its own, or cast in the query what the setting decides"
        ),
    )


@pytest.mark.parametrize(
    ("statement", "name", "value"),
    [
        ("SET TIMEZONE = 'America/New_York'", "session.timeZone", "America/New_York"),
        ("set timezone = America/New_York", "session.timeZone", "America/New_York"),
        ("SET ANSI_MODE = false", "ansi.enabled", "false"),
        ("SET `ansi_mode` = FALSE", "ansi.enabled", "false"),
        ("SET LEGACY_TIME_PARSER_POLICY = legacy", "legacy.timeParserPolicy", "LEGACY"),
    ],
)
def test_parameters_of_databricks_sql_are_settings_of_spark(tmp_path, statement, name, value):
    """Before, nothing of them was taken, and nothing said."""
    project, rows = imported(
        tmp_path,
        f"{statement};\nCREATE MATERIALIZED VIEW a AS SELECT to_date(at) AS day FROM raw;\n"
        "SET TIMEZONE = 'Asia/Tokyo';\nSET ANSI_MODE = true;\n"
        "SET legacy_time_parser_policy = corrected;\n"
        "CREATE MATERIALIZED VIEW b AS SELECT to_date(at) AS day FROM raw;",
    )
    assert project.configuration[f"spark.sql.{name}"] == value
    assert [table.name for table in project.tables] == ["raw", "a"]
    assert f"spark.sql.{name}" in rows["b"].left_out[0]


@pytest.mark.parametrize("statement", ["RESET", "RESET timezone", "SET TIMEZONE = LOCAL"])
def test_a_setting_that_is_taken_back_takes_the_tables_below_with_it(tmp_path, statement):
    _, rows = imported(
        tmp_path,
        "SET spark.sql.session.timeZone = 'Asia/Tokyo';\n"
        "CREATE MATERIALIZED VIEW a AS SELECT to_date(at) AS day FROM raw;\n"
        "RESET ANSI_MODE;\nSET timezone = 'Asia/Tokyo';\n"
        "CREATE MATERIALIZED VIEW b AS SELECT to_date(at) AS day FROM raw;\n"
        f"{statement};\nCREATE MATERIALIZED VIEW c AS SELECT to_date(at) AS day FROM raw;",
    )
    assert [rows[name].taken for name in "abc"] == [True, True, False]
    assert rows["c"].left_out[0].startswith("SET spark.sql.session.timeZone above it does not")


def test_the_case_of_a_value_makes_no_other_setting(tmp_path):
    _, rows = imported(
        tmp_path,
        "SET ANSI_MODE = FALSE;\nSET LEGACY_TIME_PARSER_POLICY = legacy;\n"
        "CREATE MATERIALIZED VIEW a AS SELECT x FROM raw;\n"
        "SET spark.sql.ansi.enabled = false;\nSET spark.sql.legacy.timeParserPolicy = LEGACY;\n"
        "CREATE MATERIALIZED VIEW b AS SELECT x FROM raw;",
    )
    assert [rows[name].taken for name in "ab"] == [True, True]


def test_a_setting_that_spark_does_not_have_is_told(tmp_path):
    path = tmp_path / "one.sql"
    path.write_text(
        "SET STATEMENT_TIMEOUT = 60;\nSET VAR site = 'eu';\nSET STATEMENT_TIMEOUT = 60;\n"
        "CREATE MATERIALIZED VIEW a AS SELECT x FROM raw;\nSET spark.sql.shuffle.partitions = 9;\n"
    )
    ends = "of the script is not taken over:"
    told = (
        f"SET STATEMENT_TIMEOUT {ends} Spark has no setting of that name",
        f"SET VAR site {ends} no view has a session's variables",
    )
    assert read_databricks(path).notes == (*told, NO_ANSI)


@pytest.mark.parametrize("name", ["ANSI_MODE", "spark.sql.ansi.enabled"])
def test_an_ansi_mode_that_the_script_does_not_set_is_told(tmp_path, name):
    """It is off in Databricks on many clusters, and on here: some values differ."""
    path = tmp_path / "one.sql"
    made = "CREATE MATERIALIZED VIEW a AS SELECT size(tags) AS n FROM raw;\n"
    path.write_text(f"{made}SET {name} = false;\n")
    assert read_databricks(path).notes == (NO_ANSI,)
    path.write_text(f"SET {name} = false;\n{made}")
    assert not any("does not set" in note for note in read_databricks(path).notes)
    path.write_text("CREATE TABLE raw (id INT);\n")
    assert read_databricks(path).notes == ()


def test_a_setting_that_cannot_be_read_takes_the_tables_below_with_it(tmp_path):
    _, rows = imported(
        tmp_path,
        "CREATE MATERIALIZED VIEW a AS SELECT x FROM raw;\nSET TIME ZONE LOCAL;\n"
        "CREATE MATERIALIZED VIEW b AS SELECT x FROM raw;",
    )
    assert [rows[name].taken for name in ("a", "b")] == [True, False]


def test_a_setting_that_decides_no_rows_refuses_nothing(tmp_path):
    project, _ = imported(
        tmp_path,
        "CREATE TABLE raw (x STRING);\nSET mypath = /data;\n"
        "CREATE MATERIALIZED VIEW a AS SELECT x FROM raw;\n"
        "SET pipelines.x = 8;\nSET spark.sql.shuffle.partitions = 9;\n"
        "CREATE MATERIALIZED VIEW b AS SELECT x FROM raw;",
    )
    assert [table.name for table in project.tables] == ["raw", "a", "b"]
    assert "mypath" not in project.configuration
