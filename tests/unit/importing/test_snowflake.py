"""Snowflake's dynamic tables as a freshline project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from freshline import texts
from freshline.cli import main
from freshline.core.errors import UserError, UserErrors
from freshline.importing.snowflake.script import read_snowflake
from freshline.importing.writing import Judgement, write
from freshline.project.load import load_project

SCRIPT = """\
USE SCHEMA shop.public;
create table raw.orders (id number, t timestamp_ntz, price number(12,2));
create view v as select id, t, price from raw.orders where price > 0; -- it's all
create or replace dynamic table daily target_lag='10 minutes' warehouse=wh
  refresh_mode=incremental initialize=on_create cluster by (d) comment='By day; it''s'
as with orders as (select * from v)
select date_trunc('day', o.t) as d, sum(o.price) as s, count(*)::int as n
from orders o join public.customers c on c.id = o.id group by all;
create dynamic table latest target_lag = downstream warehouse = wh
as select id, t from shop.raw.orders
  qualify row_number() over (partition by id order by t desc) = 1;
create dynamic table late target_lag = '1 hour' warehouse = wh
as select dateadd(day, 1, t) x from v;
create dynamic table top_days target_lag='1 hour' warehouse=wh
as select d, s::float / 2 as s from shop.public.daily where s > 10.5;
create dynamic table leaky target_lag='1 hour' warehouse=wh as select * from late;
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "shop.sql"
    path.write_text(SCRIPT)
    return path


def test_what_a_refused_table_reads_becomes_no_feed(tmp_path):
    """A misspelled name in it would be a table of the new project, over a feed nobody fills."""
    path = tmp_path / "shop.sql"
    path.write_text(
        f"{SCRIPT}create dynamic table adds target_lag='1 hour' warehouse=wh"
        " as select dateadd(day, 1, t) x from raw.ordrs;\n"
    )
    write(read_snowflake(path), tmp_path / "new")
    project = load_project(tmp_path / "new", tmp_path / "new")
    assert "ordrs" not in {table.name for table in project.tables}


def test_a_script_that_is_not_there(tmp_path):
    with pytest.raises(UserError) as caught:
        read_snowflake(tmp_path / "none.sql")
    assert (caught.value.code, caught.value.next_step) == ("unreadable-file", "Check the path.")
    assert caught.value.what == "the file cannot be read: No such file or directory"


def test_a_script_that_never_ends(monkeypatch):
    monkeypatch.setattr(texts, "MOST_CHARACTERS", 1000)
    with pytest.raises(UserError, match="1,000 characters, or never ends") as caught:
        read_snowflake(Path("/dev/zero"))
    assert caught.value.code == "unreadable-file"


def test_a_script_becomes_a_project(script, tmp_path):
    into = tmp_path / "new"
    rows = {each.item.key: each for each in write(read_snowflake(script), into).assembly.outcomes}
    project = load_project(into, into)
    assert {table.name: (table.parents, table.target_lag_s) for table in project.tables} == {
        "orders": ((), None),
        "customers": ((), None),
        "daily": (("orders", "customers"), 600.0),
        "latest": (("orders",), None),
        "top_days": (("daily",), 3600.0),
    }
    assert (project.table("daily").refresh, project.table("daily").comment) == (
        "incremental",
        "By day; it's",
    )
    assert project.table("latest").target_downstream
    assert {key: row.left_out[0] for key, row in rows.items() if row.became == "not taken"} == {
        "late": "`DATEADD(DAY, 1, t)` is not translated",
        "leaky": "it reads late, which was not taken",
    }
    assert rows["daily"].left_out == (
        "WAREHOUSE: updates run on the project's tracks",
        "INITIALIZE: a table is first computed when `freshline run` starts",
        "CLUSTER BY: tables are not clustered",
    )
    assert rows["top_days"].changed == ()
    assert project.feeds["customers_feed"].path == str(into / "feed" / "customers")
    assert (into / "tables" / "daily.sql").read_text() == (
        "CREATE MATERIALIZED VIEW daily\n"
        "  COMMENT 'By day; it\\'s'\n"
        "  TBLPROPERTIES ('freshline.target_lag' = '10 minutes', "
        "'freshline.refresh' = 'incremental')\n"
        "AS\nWITH v_view AS (\n"
        "SELECT\n  id,\n  t,\n  price\nFROM orders AS orders\nWHERE\n  price > 0\n),\n"
        "orders AS (\n  SELECT\n    *\n  FROM v_view AS v\n)\n"
        "SELECT\n  CAST(CAST(o.t AS DATE) AS TIMESTAMP_NTZ) AS d,\n  SUM(o.price) AS s,\n"
        "  CAST(COUNT(*) AS DECIMAL(38, 0)) AS n\n"
        "FROM orders AS o\nJOIN customers AS c\n  ON c.id = o.id\nGROUP BY ALL;\n"
    )
    assert (into / "not_translated.sql").read_text() == (
        "-- Statements that were not translated; freshline does not read this file.\n\n"
        "-- Line 12: `DATEADD(DAY, 1, t)` is not translated\n"
        "--   create dynamic table late target_lag = '1 hour' warehouse = wh\n"
        "--   as select dateadd(day, 1, t) x from v\n"
    )


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select * from r qualify row_number() over (order by a) = 1",
         "under QUALIFY, `*` has to be a column or to have a name by AS"),
        ("select greatest(a, b) as g from r", "`GREATEST(a, b)` is not translated"),
        ("select datediff(hour, a, b) as h from r", "`DATEDIFF(HOUR, a, b)` is not translated"),
        ("select last_value(a) over (order by b) as l from r",
         "`LAST_VALUE(a)` is not translated"),
        ("select date_trunc('week', a) as w from r",
         "the unit of `DATE_TRUNC('WEEK', a)` depends on the session"),
        ("select a::timestamp_tz as t from r", "the type `TIMESTAMPTZ` is not translated"),
        ("select a from @stage", "`@stage` is no table"),
        ("select foo(a) as f from r", "`FOO(a)` is not translated"),
        ("select a from r where b = '<% site %>'",
         "it has the variable <% site %>: write its value"),
        ("select a from r where b in ('x', '&{site}')",
         "it has the variable &{site}: write its value"),
        ("select a from r where a > 1e5",
         "`1e5` is a DOUBLE in Spark: write it without an exponent"),
    ],
)  # fmt: skip
def test_what_would_mean_something_else_is_not_translated(tmp_path, query, reason):
    path = tmp_path / "one.sql"
    path.write_text(f"create dynamic table x target_lag='1 hour' warehouse=w as {query}")
    with pytest.raises(UserErrors) as raised:
        write(read_snowflake(path), tmp_path / "new")
    assert [each.what for each in raised.value.errors] == [
        "no table of the Snowflake script one.sql can be imported",
        f"x: {reason}",
    ]


@pytest.mark.parametrize(
    ("type_", "spark"),
    [("int", "DECIMAL(38, 0)"), ("number", "DECIMAL(38, 0)"), ("number(9,1)", "DECIMAL(9, 1)"),
     ("float", "DOUBLE"), ("timestamp", "TIMESTAMP_NTZ"), ("varchar", "STRING")],
)  # fmt: skip
def test_types_keep_their_digits(tmp_path, type_, spark):
    path = tmp_path / "one.sql"
    path.write_text(
        f"create dynamic table x target_lag='1 hour' warehouse=w as select a::{type_} as a from r"
    )
    write(read_snowflake(path), tmp_path / "new")
    assert f"CAST(a AS {spark}) AS a" in (tmp_path / "new" / "tables" / "x.sql").read_text()


GET_DDL = """\
create or replace TABLE SHOP.RAW.ORDERS (
\tID NUMBER(38,0) NOT NULL autoincrement start 1 increment 1 noorder COMMENT 'Of the order',
\tTS TIMESTAMP_NTZ(9) DEFAULT CURRENT_TIMESTAMP(),
\tCUSTOMER VARCHAR(16777216),
\tprimary key (ID)
)COMMENT='As they come; all' ;
create or replace view SHOP.PUBLIC.V(\n\tORDER_ID,\n\tDAY\n) as
  select id, date_trunc('day', ts) from raw.orders;
create or replace transient dynamic table SHOP.PUBLIC.DAILY(\n\tDAY COMMENT 'UTC',\n\tN\n)
 lag = 'DOWNSTREAM' refresh_mode = AUTO initialize = ON_CREATE warehouse = WH copy grants
 cluster by LINEAR(DAY) immutable where (day < current_date() - 7) require user
 as select day, count(*) from shop.public.v group by 1 /* by ; day */;
create dynamic table "Newest" (no number(38,0) not null comment 'it', customer)
  target_lag = '1 hour' warehouse = w as select * from (select id, customer from raw.orders);
create materialized view mv comment = 'kept' as select customer from raw.orders group by 1;
create dynamic table hidden (a with masking policy p) target_lag='1 hour' warehouse=w
  as select id from raw.orders;
create dynamic table two (a, b) target_lag='1 hour' warehouse=w as select id from raw.orders;
create dynamic table own target_lag='1 hour' warehouse=w row access policy p on (id)
  as select id from raw.orders;
create secure view mine copy grants row access policy p on (id) as select id from raw.orders;
"""


def test_statements_as_get_ddl_prints_them(tmp_path):
    path, into = tmp_path / "ddl.sql", tmp_path / "new"
    path.write_text(GET_DDL)
    found = read_snowflake(path)
    assert found.items[0].schema == "`ID` DECIMAL(38, 0), `TS` TIMESTAMP_NTZ, `CUSTOMER` STRING"
    rows = {each.item.key: each for each in write(found, into).assembly.outcomes}
    project = load_project(into, into)
    assert {table.name: (table.comment, table.columns) for table in project.tables} == {
        "ORDERS": ("As they come; all", (("ID", "Of the order"),)),
        "DAILY": (None, (("day", "UTC"),)),
        "Newest": (None, (("no", "it"),)),
        "mv": ("kept", ()),
    }
    assert project.table("Newest").query == (
        "SELECT\n  CAST(no AS DECIMAL(38, 0)) AS no,\n  customer\n"
        "FROM (\n  SELECT\n    *\n  FROM (\n"
        "    SELECT\n      id,\n      customer\n    FROM ORDERS AS orders\n  )\n"
        ") AS listed(no, customer)"
    )
    assert project.table("DAILY").query.endswith(
        "SELECT\n  day,\n  COUNT(*) AS N\nFROM V_view AS v\nGROUP BY\n  1"
    )
    assert rows["shop.public.daily"].changed == (
        "IMMUTABLE WHERE fell away: every row is corrected when what it was made of changes",
    )
    assert rows["shop.public.daily"].left_out[0] == (
        "REQUIRE USER: updates run as the user who runs freshline"
    )
    assert {key: row.left_out[0] for key, row in rows.items() if row.became == "not taken"} == {
        "hidden": "its column a has MASKING POLICY p",
        "two": "its column list has 2 names, and its query 1 columns",
        "own": "its ROW ACCESS POLICY has no counterpart",
        "mine": "its ROW ACCESS POLICY has no counterpart",
    }


def test_short_names_belong_to_the_schema_in_use(tmp_path):
    path, into = tmp_path / "one.sql", tmp_path / "new"
    made = "create dynamic table {} target_lag = '1 hour' warehouse = w as select id from {};\n"
    path.write_text(
        "create table crm.orders (id int);\n"
        "use role loader; use warehouse big; use database shop;\n"
        f"{made.format('a', 'orders')}"
        "use schema raw;\n"
        f"{made.format('a', 'orders')}"
        f"{made.format('b', 'orders o join shop.crm.orders c using (id)')}"
        f"{made.format('c', 'public.a, a as mine')}"
    )
    rows = write(read_snowflake(path), into).assembly.outcomes
    project = load_project(into, into)
    assert {table.name: table.parents for table in project.tables if table.parents} == {
        "public_a": ("public_orders",),
        "raw_a": ("raw_orders",),
        "b": ("raw_orders", "crm_orders"),
        "c": ("public_a", "raw_a"),
    }
    assert [row.item.key for row in rows if row.became == "not taken"] == []
    assert not (into / "not_translated.sql").exists()


def test_a_name_that_could_be_two_tables_is_refused(tmp_path):
    path = tmp_path / "one.sql"
    path.write_text(
        "create table a.r (x int); create table b.r (x int);\n"
        "create dynamic table t target_lag='1 hour' warehouse=w as select x from r;\n"
        "create dynamic table u target_lag='1 hour' warehouse=w as select x from b.r;\n"
    )
    outcomes = write(read_snowflake(path), tmp_path / "new").assembly.outcomes
    assert [(each.item.key, each.became, each.left_out[:1]) for each in outcomes[2:]] == [
        ("t", "not taken", ("r in it can be any of a.r, b.r",)),
        ("u", "materialized view `u`", ("WAREHOUSE: updates run on the project's tracks",)),
    ]


def test_a_file_that_is_not_closed(tmp_path):
    path = tmp_path / "one.sql"
    path.write_text("select 'x")
    with pytest.raises(UserError, match="unreadable-file"):
        read_snowflake(path)


def test_the_command(script):
    done = CliRunner().invoke(
        main.app_for(["import"]), ["import", "snowflake", str(script), "--json", "--no-spark"]
    )
    told = json.loads(done.stdout)
    assert done.stderr == ""
    assert (done.exit_code, told["directory"]) == (0, str(script.with_suffix("")))
    assert told["models"][1] == {
        "name": "v",
        "kind": "view",
        "became": "put into the queries that read it",
        "changed": [],
        "not_taken": [],
    }
    again = CliRunner().invoke(main.app_for(["import"]), ["import", "snowflake", str(script)])
    assert again.exit_code == 2


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            (
                "create dynamic table s.x target_lag='1 hour' warehouse=w backfill from y "
                "as select a from r"
            ),
            "BACKFILL FROM gives it rows that its query does not make",
        ),
        (
            (
                "create dynamic table s.x target_lag='1 hour' warehouse=w with aggregation policy p"
                " as select a from r"
            ),
            "it makes no table, or in a form that sqlglot does not know",
        ),
        (
            "create table s.x (a int, b varchar) with row access policy p on (a)",
            "its ROW ACCESS POLICY has no counterpart",
        ),
        (
            "create table s.x (a int, b varchar not null with masking policy p)",
            "its column b has MASKING POLICY p",
        ),
        (
            "create table s.x (a int with projection policy p)",
            "its column a has PROJECTION POLICY p",
        ),
        ("create dynamic table s.x clone r", "it has no query"),
        ("create table s.x clone r", "it has no query"),
        ("create table s.x as select 1 as a", "its query was run once, when the table was made"),
    ],
)
def test_readers_of_a_table_that_was_not_taken_get_no_feed_in_its_place(
    tmp_path, statement, reason
):
    path = tmp_path / "one.sql"
    path.write_text(
        f"{statement};\n"
        "create dynamic table t target_lag='1 hour' warehouse=w as select a from x;\n"
        "create dynamic table u target_lag='1 hour' warehouse=w as select a from r;\n"
    )
    outcomes = write(read_snowflake(path), tmp_path / "new").assembly.outcomes
    assert [(each.item.key, each.became, each.left_out[:1]) for each in outcomes[:2]] == [
        ("s.x", "not taken", (reason,)),
        ("t", "not taken", ("it reads s.x, which was not taken",)),
    ]


def test_what_an_analysis_refuses_is_left_out_with_what_reads_it(script, tmp_path):
    """The first round refuses daily; top_days reads it, and goes with it."""
    rounds = []

    def judge(project):
        rounds.append({name: feed.schema for name, feed in project.feeds.items()})
        names = {table.name for table in project.tables}
        refused = {"tables/daily.sql": "Spark says no"} if "daily" in names else {}
        return Judgement(refused, () if refused else ("nothing else was wrong",))

    into = tmp_path / "new"
    written = write(read_snowflake(script), into, judge)
    assert rounds == [
        {"orders_feed": "`id` DECIMAL(38, 0), `t` TIMESTAMP_NTZ, `price` DECIMAL(12, 2)",
         "customers_feed": None},
        {"orders_feed": "`id` DECIMAL(38, 0), `t` TIMESTAMP_NTZ, `price` DECIMAL(12, 2)",
         "customers_feed": None},
    ]  # fmt: skip
    rows = {each.item.key: each for each in written.assembly.outcomes}
    assert rows["daily"].left_out[0] == "Spark says no"
    assert rows["top_days"].left_out[0] == "it reads daily, which was not taken"
    assert "- nothing else was wrong" in (into / "IMPORTED.md").read_text()
    assert not (into / "tables" / "daily.sql").exists()
    appendix = (into / "not_translated.sql").read_text()
    assert "-- daily: Spark says no\n--   WITH orders AS (\n" in appendix
    assert "schema" not in (into / "freshline.yml").read_text()


def test_a_listed_name_does_not_hide_a_column_that_the_query_orders_by(tmp_path):
    path = tmp_path / "ddl.sql"
    path.write_text(
        "create view v (a, b) as select x + 1, y from raw.t"
        " qualify row_number() over (partition by y order by a) = 1;"
    )
    (item,) = (each for each in read_snowflake(path).items if each.kind == "view")
    text = " ".join(str(item.query).split())
    assert "x + 1 AS _listed_0" in text
    assert "ORDER BY a" in text
    assert text.endswith("AS listed(a, b)")


def test_statements_that_change_what_others_made_are_told(tmp_path):
    path = tmp_path / "one.sql"
    path.write_text(
        "create table o (id int);\n"
        "alter dynamic table x set target_lag = '1 day';\n"
        "insert into o select 1;\n"
        "alter session set query_tag = 'x';\n"
    )
    changes = "it changes what was made, and is not carried out: tables are taken as their CREATE"
    told = [note.partition(": ")[2] for note in read_snowflake(path).notes]
    assert [each.startswith(changes) for each in told] == [True, True, False]


def test_a_stream_on_a_table_makes_no_table(tmp_path):
    """It was taken for one of that name, and then the name could be either."""
    path, into = tmp_path / "one.sql", tmp_path / "new"
    path.write_text(
        "use schema db.pub;\n"
        "create or replace TABLE ORDERS (ID NUMBER(38,0), AT TIMESTAMP_NTZ(9));\n"
        "create stream st on table orders;\n"
        "create table Orders (id int);\n"
        "create dynamic table d target_lag='1 hour' warehouse=w as"
        " select id, o.at, year(at) y from orders o where at > '2020-01-01';\n"
    )
    found = read_snowflake(path)
    outcomes = write(found, into).assembly.outcomes
    assert [(each.item.key, each.taken) for each in outcomes] == [("orders", True), ("d", True)]
    assert found.notes == (
        "The statement on line 3: it makes no table, or in a form that sqlglot does not know.",
        "The statement on line 4: orders is made by an earlier statement.",
    )


def test_a_source_has_the_columns_that_the_script_declares_in_their_order(tmp_path):
    """A list of names goes by place, and a Parquet file may have its columns in another order."""
    path, into = tmp_path / "one.sql", tmp_path / "new"
    path.write_text(
        'create table t (a int, "my b" date);\ncreate view v (x, y) as select * from t;\n'
        "create dynamic table d target_lag='1 hour' warehouse=w as select x, y from v, u;\n"
    )
    write(read_snowflake(path), into)
    project = load_project(into, into)
    assert project.table("t").query == "SELECT `a`, `my b` FROM STREAM t_feed"
    assert project.table("u").query == "SELECT * FROM STREAM u_feed"
