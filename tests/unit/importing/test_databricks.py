"""Databricks' streaming tables and materialized views as a freshline project."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from freshline.cli import main
from freshline.core.errors import UserError, UserErrors
from freshline.importing.databricks.script import read_databricks
from freshline.importing.writing import write
from freshline.project.load import load_project
from tests.support.databricks import NO_ANSI, imported

SCRIPT = """\
USE CATALOG main;
CREATE OR REFRESH STREAMING TABLE main.shop.orders (
    id BIGINT NOT NULL COMMENT 'its number', price DECIMAL(10, 2),
    at TIMESTAMP, tags ARRAY<STRUCT<name: STRING>>,
    CONSTRAINT has_price EXPECT (price > 0 OR (price IS NULL)))
  COMMENT 'as they come'
  CLUSTER BY AUTO
  TBLPROPERTIES ('quality' = 'bronze', 'freshline.priority' = '3')
AS SELECT id, price, at, tags FROM STREAM read_files(
  '/Volumes/main/shop/orders/', format => 'json',
  schema => 'id BIGINT, price DOUBLE, at TIMESTAMP, tags ARRAY<STRUCT<name: STRING>>',
  maxFilesPerTrigger => 10, includeExistingFiles => true, multiLine => true) WHERE id IS NOT NULL;
CREATE STREAMING TABLE returns AS SELECT * FROM STREAM(read_files('returns', format => 'parquet'));
CREATE VIEW dear AS SELECT * FROM shop.orders WHERE price > 100;
CREATE OR REPLACE MATERIALIZED VIEW shop.daily
  PARTITIONED BY (day) SCHEDULE EVERY 2 HOURS
AS SELECT to_date(at) AS day, count(*) AS n FROM dear GROUP BY 1;
CREATE MATERIALIZED VIEW by_price TRIGGER ON UPDATE AT MOST EVERY INTERVAL '5' MINUTE
  AS SELECT price, count(*) AS n FROM shop.orders GROUP BY price;
CREATE STREAMING TABLE copies SCHEDULE REFRESH CRON '0 0 * * * ?' AT TIME ZONE 'UTC'
  AS SELECT id FROM STREAM shop.orders;
CREATE STREAMING TABLE rated AS SELECT o.id, r.rate FROM STREAM(orders) o JOIN rates r USING (id);
CREATE STREAMING TABLE strict (CONSTRAINT ok EXPECT (id > 0) ON VIOLATION DROP ROW)
  AS SELECT id FROM STREAM orders;
CREATE MATERIALIZED VIEW after_strict AS SELECT id FROM strict;
DELETE FROM orders;
"""


def test_a_later_statement_replaces_an_earlier_one(tmp_path):
    made = "CREATE {} MATERIALIZED VIEW x AS SELECT {} AS v FROM t;\n"
    path = tmp_path / "one.sql"
    path.write_text(made.format("", 1) + made.format("OR REPLACE", 2) + made.format("", 3))
    found = read_databricks(path)
    (item,) = [each for each in found.items if each.key == "x"]
    assert item.query == "SELECT 2 AS v FROM t"
    assert found.notes == (
        "The statement on line 1: a later statement replaces what it makes.",
        "The statement on line 3: x is made by an earlier statement.",
        NO_ANSI,
    )


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "shop.sql"
    path.write_text(SCRIPT)
    return path


def test_a_script_becomes_a_project(script, tmp_path):
    into = tmp_path / "new"
    rows = {each.item.key: each for each in write(read_databricks(script), into).assembly.outcomes}
    project = load_project(into, into)
    assert {
        table.name: (table.kind, table.parents, table.target_lag_s) for table in project.tables
    } == {
        "orders": ("base", (), None),
        "returns": ("base", (), None),
        "rates": ("base", (), None),
        "daily": ("derived", ("orders",), 7200.0),
        "by_price": ("derived", ("orders",), 300.0),
        "copies": ("derived", ("orders",), None),
        "rated": ("derived", ("orders", "rates"), None),
    }
    orders = project.table("orders")
    assert (orders.comment, orders.priority) == ("as they come", 3.0)
    assert orders.columns == (("id", "its number"),)
    assert orders.query == (
        "SELECT CAST(id AS BIGINT) AS id, CAST(price AS DECIMAL(10, 2)) AS price, CAST(at AS"
        " TIMESTAMP) AS at, CAST(tags AS ARRAY<STRUCT<name: STRING>>) AS tags FROM (SELECT id,"
        " price, at, tags FROM STREAM orders_feed WHERE id IS NOT NULL)"
    )
    feed = project.feeds["orders_feed"]
    assert (feed.path, feed.format, dict(feed.options)) == (
        "/Volumes/main/shop/orders", "json", {"multiline": "true", "locale": "en-US"},
    )  # fmt: skip
    assert feed.schema is not None
    assert feed.schema.startswith("id BIGINT, price DOUBLE")
    assert project.feeds["returns_feed"].path == str(into / "returns")
    assert project.table("daily").partitioned_by == ("day",)
    assert project.table("copies").query == "SELECT id FROM orders AS orders"
    assert rows["main.shop.orders"].left_out == (
        "NOT NULL of id: `not_null` of `checks:` in freshline.yml says it",
        "the expectation has_price is not counted; the rows are the same without it",
        "CLUSTER BY: tables are not clustered",
    )
    assert rows["returns"].changed == (
        "it has no column _rescued_data; records that do not fit go to returns__rejected",
        "a folder named as day=2026-01-31 gives its files no column day",
    )
    assert rows["by_price"].changed == ("TRIGGER ... AT MOST EVERY 5 minute is its target lag",)
    assert rows["copies"].left_out == (
        (
            "SCHEDULE CRON '0 0 * * * ?': tables are updated when what they read has news; set"
            " 'freshline.target_lag' to what is wanted"
        ),
    )
    assert {key: row.left_out[0] for key, row in rows.items() if row.became == "not taken"} == {
        "strict": (
            "its expectation ok drops rows or fails the update: put its condition into the"
            " query's WHERE"
        ),
        "after_strict": "it reads strict, which was not taken",
    }
    appendix = (into / "not_translated.sql").read_text()
    assert "-- Line 26: it makes no streaming table, materialized view or view\n" in appendix
    assert "--   DELETE FROM orders\n" in appendix
    assert "--   CREATE STREAMING TABLE strict (CONSTRAINT" in appendix


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("STREAMING TABLE t AS SELECT * FROM STREAM read_files('a', format => 'json')",
         "read_files of json has no schema, which a feed needs"),
        ("STREAMING TABLE t AS SELECT * FROM STREAM read_files('a/*.csv', format => 'csv')",
         "read_files reads the pattern a/*.csv: a feed is a folder"),
        ("STREAMING TABLE t AS SELECT * FROM STREAM read_files('a', format => 'avro')",
         "read_files has the format avro: a feed's is one of csv, json, parquet"),
        ("STREAMING TABLE t AS SELECT * FROM STREAM read_files('a')",
         "read_files has no format: a feed's is one of csv, json, parquet"),
        ("STREAMING TABLE t AS SELECT * FROM STREAM read_files(concat('a', 'b'))",
         "read_files has concat, which is no literal"),
        (("STREAMING TABLE t AS SELECT * FROM STREAM read_files('a', format => 'csv', "
         "schema => 'a INT', schemaHints => 'b INT')"),
         "read_files has schemahints, which a feed does not know"),
        ("STREAMING TABLE t AS SELECT * FROM STREAM read_files('a', 'json')",
         "read_files has 'json' without a name: write format => 'json'"),
        (("STREAMING TABLE t AS SELECT * FROM STREAM read_files('a', format => 'parquet', "
         "pathGlobFilter => 'x-*')"),
         ("read_files has pathglobfilter, but a feed loads every file of its folder: give these"
          " files a folder of their own")),
        (("STREAMING TABLE t AS SELECT * FROM STREAM read_files('a', format => 'parquet', "
         "includeExistingFiles => false)"),
         ("read_files has includeexistingfiles => false, but a feed also loads the files that are"
          " in its folder already: take the option away if that is right, or give the new files a"
          " folder of their own")),
        ("STREAMING TABLE t AS SELECT * FROM STREAM read_kafka(subscribe => 'x')",
         ("it reads from outside by read_kafka: a feed's files are read by STREAM"
          " read_files('folder', format => 'json', schema => '...')")),
        ("STREAMING TABLE t AS SELECT * FROM STREAM(raw) WITH (SKIPCHANGECOMMITS)",
         ("it reads a table with the option SKIPCHANGECOMMITS: here it has, and follows, all rows"
          " of what it reads. Remove the option if that is right")),
        (("STREAMING TABLE t AS SELECT * FROM STREAM read_files('a', format => 'parquet') f JOIN"
         " STREAM read_kinesis(streamName => 'x') USING (id)"),
         ("it reads from outside by read_kinesis: a feed's files are read by STREAM"
          " read_files('folder', format => 'json', schema => '...')")),
        ("STREAMING TABLE t", "it has no query"),
        ("STREAMING TABLE t (a, b) AS SELECT * FROM STREAM read_files('a', format => 'parquet')",
         "its column list has no types: name the columns in the query"),
        ("STREAMING TABLE t (a INT GENERATED ALWAYS AS (1)) AS SELECT 1 AS a",
         "its column a has GENERATED"),
        ("STREAMING TABLE t (a INT, PRIMARY KEY (a)) AS SELECT 1 AS a",
         "it has a key: `unique` and `not_null` of `checks:` are its like"),
        ("MATERIALIZED VIEW t WITH ROW FILTER f ON (a) AS SELECT 1 AS a",
         "its clause WITH has no counterpart"),
        ("MATERIALIZED VIEW t SCHEDULE EVERY hour AS SELECT 1 AS a",
         "the SCHEDULE EVERY of it cannot be read"),
    ],
)  # fmt: skip
def test_what_has_no_counterpart_is_refused(tmp_path, statement, reason):
    path = tmp_path / "one.sql"
    path.write_text(f"CREATE {statement};")
    with pytest.raises(UserErrors) as raised:
        write(read_databricks(path), tmp_path / "new")
    assert [each.what for each in raised.value.errors] == [
        "no table of the Databricks script one.sql can be imported",
        f"t: {reason}",
    ]


@pytest.mark.parametrize("kind", ["TEMPORARY VIEW", "VIEW", "MATERIALIZED VIEW", "LIVE TABLE"])
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("STREAM read_files('a', format => 'parquet')", "it streams files, which a streami"),
        ("STREAM(read_files('a', format => 'parquet'))", "it streams files, which a streami"),
        ("STREAM read_files('a', format => 'json')", "it streams files, which a streami"),
        ("raw JOIN read_files('a') USING (id)", "it reads from outside by read_files: a feed's"),
        ("STREAM(read_kinesis('a'))", "it reads from outside by read_kinesis: a feed's files"),
        ("STREAM main.shop.fn ('a')", "it reads from outside by main.shop.fn: a feed's files"),
    ],
)
def test_files_that_a_view_reads_are_no_table(tmp_path, kind, source, reason):
    """Before, a table called read_files was looked for, or made."""
    path = tmp_path / "one.sql"
    path.write_text(f"CREATE {kind} v AS SELECT * FROM {source};")
    (item,) = read_databricks(path).items
    assert str(item.refusal).startswith(reason)


@pytest.mark.parametrize("source", ["STREAM raw AS r (read_files)", "STREAM(raw) r WHERE (x > 1)"])
def test_words_like_those_of_files_are_names(tmp_path, source):
    path = tmp_path / "one.sql"
    path.write_text(f"CREATE STREAMING TABLE v AS SELECT read_files FROM {source};")
    assert {each.key: each.refusal for each in read_databricks(path).items} == {
        "v": None,
        "raw": None,
    }


def test_a_query_that_is_not_row_wise_is_left_out_with_freshlines_reason(tmp_path):
    path = tmp_path / "one.sql"
    files = "STREAM read_files('a', format => 'parquet')"
    path.write_text(
        f"CREATE STREAMING TABLE n AS SELECT count(*) AS n FROM {files};\n"
        f"CREATE STREAMING TABLE fine AS SELECT * FROM {files};"
    )
    outcomes = write(read_databricks(path), tmp_path / "new").assembly.outcomes
    assert [(each.item.key, each.became) for each in outcomes] == [
        ("n", "not taken"),
        ("fine", "streaming table `fine` over feed `fine_feed`"),
    ]
    assert "the aggregate count looks at many records" in outcomes[0].left_out[0]


@pytest.mark.parametrize(
    ("name", "why"),
    [("IDENTIFIER('orders')", "computed by IDENTIFIER"), ("${c}.orders", "has the variable")],
)
def test_a_name_that_is_not_written_out_takes_its_table_alone(tmp_path, name, why):
    path = tmp_path / "one.sql"
    path.write_text(
        f"CREATE MATERIALIZED VIEW a AS SELECT * FROM {name};\n"
        "CREATE MATERIALIZED VIEW b AS SELECT id FROM orders;"
    )
    written = write(read_databricks(path), tmp_path / "new")
    outcomes = {each.item.key: each for each in written.assembly.outcomes}
    assert why in outcomes["a"].left_out[0]
    assert outcomes["b"].taken


def test_a_file_that_is_not_closed(tmp_path):
    path = tmp_path / "one.sql"
    path.write_text("select 'x")
    with pytest.raises(UserError, match="unreadable-file"):
        read_databricks(path)


def test_the_command(script):
    command = ["import", "databricks", str(script), "--json", "--no-spark"]
    done = CliRunner().invoke(main.app_for(["import"]), command)
    told = json.loads(done.stdout)
    assert (done.exit_code, told["directory"]) == (0, str(script.with_suffix("")))
    assert told["models"][0]["became"] == "streaming table `orders` over feed `orders_feed`"


def test_what_streams_a_table_is_told_where_its_rows_differ(tmp_path):
    path = tmp_path / "one.sql"
    clauses = {
        "plain": "SELECT id FROM STREAM raw",
        "joined": "SELECT o.id, c.name FROM STREAM raw o JOIN customers c USING (id)",
        "grouped": "SELECT id, count(*) AS n FROM STREAM(raw) GROUP BY id",
        "stamped": "SELECT id, current_timestamp() AS loaded FROM STREAM raw",
        "limited": "SELECT * FROM STREAM raw LIMIT 3",
        "marked": "SELECT window(at, '1 hour') AS w, count(*) AS n FROM STREAM raw WATERMARK at"
        " DELAY OF INTERVAL 1 HOUR GROUP BY 1",
    }
    path.write_text(
        ";\n".join(f"CREATE STREAMING TABLE {name} AS {query}" for name, query in clauses.items())
    )
    rows = {each.item.key: each for each in write(read_databricks(path), tmp_path / "new")
            .assembly.outcomes}  # fmt: skip
    ends = "its rows are those of its query over all rows, and are corrected when what it reads"
    ends += " changes; Spark keeps a row as it was when it was written"
    assert {name: rows[name].changed for name in ("plain", "joined", "grouped")} == {
        "plain": (),
        "joined": (f"it reads customers beside what it streams: {ends}",),
        "grouped": (f"GROUP BY groups records: {ends}",),
    }
    assert {name: rows[name].left_out for name in ("stamped", "limited", "marked")} == {
        "stamped": (
            (
                "it streams a table and asks the clock (current_timestamp). Compute it where the"
                " records are loaded, in the streaming table over the feed, and read it from there"
            ),
        ),
        "limited": (
            (
                "it streams a table and takes some of the rows: LIMIT counts records. Remove it, or"
                " make a materialized view, in which ORDER BY stands before the LIMIT"
            ),
        ),
        "marked": (
            (
                "it streams a table and has a watermark that decides which rows are written. Make"
                " it a"
                " materialized view without the watermark: rows that come late correct their groups"
            ),
        ),
    }


def test_live_tables_are_what_they_were_called_once(tmp_path):
    project, rows = imported(
        tmp_path,
        "CREATE TABLE shop.raw (id INT COMMENT 'key', amount DECIMAL(8, 2)) USING DELTA;\n"
        "create or refresh live table bronze comment 'as it came' as select * from shop.raw;\n"
        "CREATE STREAMING LIVE TABLE silver AS SELECT id FROM STREAM(LIVE.bronze);\n"
        "CREATE TEMPORARY LIVE VIEW v AS SELECT * FROM LIVE.silver;\n"
        "CREATE LIVE TABLE gold AS SELECT count(*) AS n FROM live.v;\n"
        "CREATE TABLE copied AS SELECT 1 AS a;",
    )
    assert {table.name: (table.kind, table.parents) for table in project.tables} == {
        "raw": ("base", ()),
        "bronze": ("derived", ("raw",)),
        "silver": ("derived", ("bronze",)),
        "gold": ("derived", ("silver",)),
    }
    kinds = {key: row.item.kind for key, row in rows.items()}
    assert [kinds[key] for key in ("bronze", "silver", "v", "gold")] == [
        "materialized view", "streaming table", "view", "materialized view",
    ]  # fmt: skip
    assert rows["shop.raw"].item.schema == "id INT, amount DECIMAL(8, 2)"
    assert project.table("raw").query == "SELECT id, amount FROM STREAM raw_feed"
    assert rows["copied"].left_out == (
        "it is filled once, when it is made: make it a materialized view",
    )


def test_targets_of_flows_say_what_to_do_instead(tmp_path):
    _, rows = imported(
        tmp_path,
        "CREATE STREAMING TABLE a;\nCREATE STREAMING TABLE b;\nCREATE STREAMING TABLE c;\n"
        "APPLY CHANGES INTO LIVE.a FROM STREAM(raw) KEYS (id) SEQUENCE BY at;\n"
        "CREATE FLOW f AS INSERT INTO ONCE b BY NAME SELECT id FROM raw;\n"
        "CREATE FLOW g AS AUTO CDC INTO c FROM STREAM(raw) KEYS (id) SEQUENCE BY at;\n"
        "CREATE MATERIALIZED VIEW v AS SELECT id FROM raw;",
    )
    assert rows["a"].left_out == rows["c"].left_out
    assert rows["a"].left_out[0].startswith("changes are applied to it (AUTO CDC, APPLY CHANGES)")
    assert rows["b"].left_out[0].startswith("flows insert into it (CREATE FLOW)")


def test_a_table_with_a_query_and_a_flow_has_not_the_rows_of_its_query_alone(tmp_path):
    """Before, it was taken, and the rows of the flows were lost without a word."""
    _, rows = imported(
        tmp_path,
        "CREATE STREAMING TABLE a AS SELECT id FROM STREAM raw;\n"
        "CREATE STREAMING TABLE shop.b AS SELECT id FROM STREAM raw;\n"
        "CREATE STREAMING TABLE c AS SELECT id FROM STREAM raw;\n"
        "CREATE STREAMING TABLE shop.d AS SELECT id FROM STREAM raw;\n"
        "CREATE FLOW f AS INSERT INTO a BY NAME SELECT id FROM STREAM raw_west;\n"
        "CREATE FLOW g AS INSERT INTO ONCE main.shop.b BY NAME SELECT id FROM raw_old;\n"
        "CREATE FLOW h AS AUTO CDC INTO LIVE.c FROM STREAM(raw) KEYS (id) SEQUENCE BY at;\n"
        "CREATE FLOW i AS INSERT INTO other.d BY NAME SELECT id FROM STREAM raw_west;\n",
    )
    assert [rows[name].taken for name in ("a", "shop.b", "c", "shop.d")] == [
        False, False, False, True,
    ]  # fmt: skip
    assert rows["a"].left_out == rows["shop.b"].left_out
    assert rows["a"].left_out[0].startswith("flows insert into it (CREATE FLOW)")
    assert rows["c"].left_out[0].startswith("changes are applied to it (AUTO CDC")


def test_an_option_that_limits_a_batch_refuses_nothing(tmp_path):
    _, rows = imported(
        tmp_path,
        "CREATE LIVE TABLE a AS SELECT x FROM raw WITH (maxFilesPerTrigger = 1);\n"
        "CREATE LIVE TABLE b AS SELECT x FROM raw WITH ('maxFilesPerTrigger' = 1, other = 2);\n",
    )
    assert not rows["a"].left_out
    assert rows["b"].left_out[0].startswith("it reads a table with the option other: here")


def test_a_table_over_one_of_its_name_in_another_schema_reads_that(tmp_path):
    """Also through a view: no table reads itself. Before, it did, and was refused as a circle."""
    path = tmp_path / "one.sql"
    path.write_text(
        "CREATE OR REFRESH STREAMING TABLE orders AS SELECT id FROM STREAM raw.orders;\n"
        "CREATE OR REFRESH STREAMING TABLE clicks AS SELECT id FROM STREAM(LIVE.some);\n"
        "CREATE TEMPORARY LIVE VIEW some AS SELECT id FROM STREAM(main.raw.clicks);\n"
        "CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders JOIN raw.orders r"
        " USING (id);\n"
        "CREATE MATERIALIZED VIEW same AS SELECT id FROM shop.clicks;\n"
    )
    items = {each.key: each for each in read_databricks(path).items}
    assert {key: each.query for key, each in items.items() if each.query is not None} == {
        "orders": "SELECT id FROM raw.orders",
        "clicks": "SELECT id FROM some",
        "some": "SELECT id FROM main.raw.clicks",
        "counted": "SELECT count(*) AS n FROM orders JOIN raw.orders r USING (id)",
        "same": "SELECT id FROM clicks",
    }
    assert {key for key, each in items.items() if each.role == "base"} == {
        "raw.orders", "main.raw.clicks",
    }  # fmt: skip


def test_cells_of_a_notebook_end_statements(tmp_path):
    """Before, a statement without a semicolon took that of the next cell into its query."""
    path = tmp_path / "one.sql"
    path.write_text(
        "-- Databricks notebook source\n-- MAGIC %md\n-- MAGIC # Orders\n\n-- COMMAND ----------\n"
        "\nCREATE MATERIALIZED VIEW a AS SELECT id FROM t\n\n-- COMMAND ----------\n\n"
        "-- MAGIC %python\n-- MAGIC x = 1\n\n-- COMMAND ----------\n\n"
        "CREATE MATERIALIZED VIEW b AS SELECT id FROM a;\n-- COMMAND ----------\nDROP TABLE a\n"
    )
    found = read_databricks(path)
    assert {each.key: each.query for each in found.items if each.query is not None} == {
        "a": "SELECT id FROM t",
        "b": "SELECT id FROM a",
    }
    assert found.notes == (
        "The statement on line 18: it makes no streaming table, materialized view or view.",
        "Cells of %python in the notebook are not read.",
        NO_ANSI,
    )


def test_a_cell_of_a_notebook_ends_a_statement(tmp_path):
    project, rows = imported(
        tmp_path,
        "-- Databricks notebook source\nSET spark.sql.ansi.enabled = true\n\n"
        "-- COMMAND ----------\n\n-- DBTITLE 1,first\nCREATE LIVE TABLE a AS SELECT x FROM raw\n\n"
        "-- COMMAND ----------  \n\n-- MAGIC %md\n-- MAGIC ## text\n\n-- COMMAND ----------\n\n"
        "CREATE LIVE TABLE b AS\nSELECT x, '-- COMMAND ----------' AS y FROM LIVE.a\n",
    )
    assert [table.name for table in project.tables] == ["raw", "a", "b"]
    assert project.configuration["spark.sql.ansi.enabled"] == "true"
    assert "b" in rows


def test_variables_and_files_named_by_their_path_are_refused(tmp_path):
    _, rows = imported(
        tmp_path,
        "SET country = 'China';\n"
        "CREATE LIVE TABLE a AS SELECT x FROM raw WHERE c = '${country}';\n"
        "CREATE LIVE TABLE b AS SELECT x FROM raw -- not ${this}\n;\n"
        "CREATE LIVE TABLE c AS SELECT x FROM json.`/in/People`;\n"
        "CREATE LIVE TABLE d AS SELECT x FROM json.people;\n"
        "CREATE LIVE TABLE ${schema}.e AS SELECT x FROM raw;"
        "CREATE LIVE TABLE f AS SELECT x FROM raw WHERE c = '{{ country }}';",
    )
    assert rows["a"].left_out == (
        "it has the variable ${country}, which the pipeline gives: write its value",
    )
    assert rows["f"].left_out[0].startswith("it has the variable {{ country }}, which")
    assert rows["c"].left_out[0].startswith("it reads the files of json.`/in/People` by their")
    assert not rows["b"].left_out
    assert not rows["d"].left_out
    appendix = (tmp_path / "new" / "not_translated.sql").read_text()
    assert "-- Line 7: it has the variable ${schema}, which" in appendix
