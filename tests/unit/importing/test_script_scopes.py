"""Which table a short name of a script means: by USE, by CREATE SCHEMA, by a view's own schema."""

from __future__ import annotations

import pytest

from freshline.importing.databricks.script import read_databricks
from freshline.importing.scopes import Scope, scopes
from freshline.importing.snowflake.script import read_snowflake

MADE = "create dynamic table {} target_lag = '1 hour' warehouse = w as {};\n"
SHOWN = "create materialized view {} as {};\n"


@pytest.fixture
def read(tmp_path):
    def make(script, reader=read_snowflake):
        (tmp_path / "one.sql").write_text(script)
        found = reader(tmp_path / "one.sql")
        return found, {".".join(item.relation): item for item in found.items}

    return make


def on_one_line(item):
    return " ".join(str(item.query).split())


@pytest.mark.parametrize(
    ("product", "text", "scope"),
    [
        ("Snowflake", "use schema shop.raw", ("shop", "raw")),
        ("Snowflake", 'USE SCHEMA "shop"."my raw"', ("shop", "my raw")),
        ("Snowflake", "use raw", ("raw", "public")),
        ("Snowflake", "use role loader", ("a", "b")),
        ("Snowflake", "use secondary roles all", ("a", "b")),
        ("Snowflake", "use schema identifier('x')", (None, None)),
        ("Snowflake", "use schema &{env}_raw", (None, None)),
        ("Snowflake", "create schema raw", ("a", "raw")),
        ("Snowflake", "create or replace transient schema if not exists shop.raw", ("shop", "raw")),
        ("Snowflake", "create schema raw with managed access", ("a", "raw")),
        ("Snowflake", "create database shop comment = 'x'", ("shop", "public")),
        ("Snowflake", "create or alter schema raw_<% env %>", (None, None)),
        ("Snowflake", "create schema identifier('x')", (None, None)),
        ("Snowflake", "create database role shop.reader", ("a", "b")),
        ("Snowflake", "create table schema (database int)", ("a", "b")),
        ("Snowflake", "alter schema raw set comment = 'x'", ("a", "b")),
        ("Databricks", "USE shop", ("a", "shop")),
        ("Databricks", "USE CATALOG main", ("main", None)),
        ("Databricks", "SET CATALOG main", ("main", None)),
        ("Databricks", "USE SCHEMA ${schema}", (None, None)),
        ("Databricks", "CREATE SCHEMA shop", ("a", "b")),
    ],
)
def test_a_statement_chooses_what_short_names_below_it_belong_to(product, text, scope):
    first = "use schema a.b" if product == "Snowflake" else "USE a.b"
    *_, found = scopes([first, text, ""], product)
    assert found == Scope(*scope)


def test_types_of_a_short_name_are_those_of_its_own_schema(read):
    """Before, ``at`` of shop.us.events was the DATE of shop.eu.events, and was not truncated."""
    _, items = read(
        "use schema shop.eu;\ncreate table events (id number, at date);\n"
        "use schema shop.us;\ncreate table events (id number, at timestamp_ntz);\n"
        + MADE.format(
            "hourly", "select date_trunc('hour', at) h, count(*) n from events group by 1"
        )
        + MADE.format("daily", "select date_trunc('hour', at) h from eu.events")
    )
    assert "HOUR(at)" in on_one_line(items["shop.us.hourly"])
    assert on_one_line(items["shop.us.daily"]).startswith("SELECT at AS h FROM shop.eu.events")


def test_digits_of_a_short_name_are_those_of_its_own_schema(read):
    """mart.orders over raw.orders, both read by their short names."""
    _, items = read(
        "use schema shop.raw;\ncreate table orders (id number, amount number(10, 2));\n"
        "use schema shop.mart;\n"
        + MADE.format("orders", "select id, amount / 3 as amount from shop.raw.orders")
        + MADE.format("sevenths", "select id, amount / 7 as v from orders")
    )
    # amount / 3 has 8 digits behind the point, so that amount / 7 has 12.
    assert "DECIMAL(38, 12)) AS v" in on_one_line(items["shop.mart.sevenths"])


def test_create_schema_makes_its_schema_the_current_one(read):
    """As GET_DDL of a database relies on. Before, the second ``orders`` replaced the first."""
    found, items = read(
        "create or replace database shop;\ncreate or replace schema raw;\n"
        "create or replace table orders (id number, amount number(10, 2));\n"
        "create or replace schema shop.mart;\n"
        "create or replace dynamic table orders target_lag = '1 hour' warehouse = w"
        " as select id, amount / 3 as amount from raw.orders;\n"
    )
    assert items["shop.raw.orders"].role == "base"
    text = on_one_line(items["shop.mart.orders"])
    assert "FROM shop.raw.orders" in text
    assert "DECIMAL(38, 8)) AS amount" in text
    assert not any("replaces" in note for note in found.notes)


def test_a_statement_by_a_whole_name_replaces_one_by_a_short_name(read):
    found, items = read(
        "use schema shop.raw;\ncreate table t (p number(10,2));\nuse schema shop.mart;\n"
        "create or replace table raw.t (p number(10,8));\n"
        + MADE.format("x", "select p * p as v from raw.t")
    )
    assert items["shop.raw.t"].schema == "`p` DECIMAL(10, 8)"
    assert "DECIMAL(38, 12)" in on_one_line(items["shop.mart.x"])
    assert found.notes == ("The statement on line 2: a later statement replaces what it makes.",)


def test_a_name_with_two_dots_is_in_public(read):
    _, items = read(
        "use schema shop.raw;\ncreate table shop..t (id int);\ncreate table t (id date);\n"
        + MADE.format("x", "select id + 1 as v from shop..t")
    )
    assert "FROM shop.public.t" in on_one_line(items["shop.raw.x"])
    assert items["shop.public.t"].schema == "`id` DECIMAL(38, 0)"


@pytest.mark.parametrize("kind", ["view", "materialized view"])
def test_short_names_in_a_view_belong_to_the_views_own_schema(read, kind):
    _, items = read(
        "use schema shop.raw;\ncreate table orders (id number, d date);\n"
        "create table shop.mart.orders (id number, d timestamp_ntz);\n"
        f"create {kind} shop.mart.v as select id, date_trunc('hour', d) as h from orders;\n"
        f"create {kind} v as select id, date_trunc('hour', d) as h from orders;\n"
        + MADE.format("d", "select id, h from shop.mart.v")
        + MADE.format("e", "select id, h from v")
    )
    assert "FROM shop.mart.orders" in on_one_line(items["shop.mart.v"])
    assert "HOUR(d)" in on_one_line(items["shop.mart.v"])
    assert "d AS h FROM shop.raw.orders" in on_one_line(items["shop.raw.v"])
    assert "FROM shop.mart.v" in on_one_line(items["shop.raw.d"])
    assert "FROM shop.raw.v" in on_one_line(items["shop.raw.e"])


def test_short_names_in_a_dynamic_table_of_another_schema_are_refused(read):
    """Snowflake's manual does not say whose schema they are in."""
    found, items = read(
        "use schema shop.raw;\ncreate table orders (id int);\ncreate table mart.orders (id int);\n"
        + MADE.format("shop.mart.d", "select id from orders")
        + MADE.format("shop.mart.e", "select id from raw.orders")
        + MADE.format("shop.raw.f", "select id from orders")
    )
    reason = "orders in it can be in its own schema or in that of USE: write the schema there"
    assert items["shop.mart.d"].refusal == reason
    assert [items[name].refusal for name in ("shop.mart.e", "shop.raw.f")] == [None, None]
    assert found.notes == (f"The statement on line 4: {reason}.",)


def test_a_use_that_cannot_be_read_is_told(read):
    found, items = read(
        "use schema shop.raw;\ncreate table orders (id number);\nuse schema identifier($x);\n"
        + MADE.format("d", "select id from orders")
    )
    assert "FROM shop.raw.orders" in on_one_line(items["d"])
    assert found.notes == (
        (
            "The statement on line 3: what it names cannot be read, so a short name below it is"
            " the one table of that name in the file."
        ),
    )


@pytest.mark.parametrize(("reader", "made"), [(read_snowflake, MADE), (read_databricks, SHOWN)])
def test_a_table_of_another_schema_is_not_the_scripts_own(read, reader, made):
    script = made.format("orders", "select id from raw.order_events where id > 0")
    script += made.format("daily", "select count(*) as n from legacy.orders")
    _, items = read(script, reader)
    assert items["daily"].changed[-1] == (
        "legacy.orders in it is taken for orders of the file, whose whole name no USE tells: if"
        " they are two tables, put USE in front of both"
    )
    _, items = read(f"USE shop.mart;\n{script}", reader)
    assert "legacy.orders" in on_one_line(items["shop.mart.daily"])
    assert not any("legacy.orders" in each for each in items["shop.mart.daily"].changed)


def test_a_temporary_view_is_in_no_schema(read):
    """Before, ``raw.orders`` was taken for the temporary view ``orders``."""
    _, items = read(
        "USE main.shop;\n"
        "CREATE TEMPORARY VIEW orders AS SELECT id FROM raw.orders;\n"
        "CREATE MATERIALIZED VIEW a AS SELECT id FROM raw.orders;\n"
        "USE main.other;\n"
        "CREATE MATERIALIZED VIEW b AS SELECT id FROM orders;\n"
        "CREATE MATERIALIZED VIEW c AS SELECT id FROM shop.orders;\n",
        read_databricks,
    )
    assert {name: item.query for name, item in items.items() if item.role != "base"} == {
        "orders": "SELECT id FROM main.raw.orders AS orders",
        "main.shop.a": "SELECT id FROM main.raw.orders AS orders",
        "main.other.b": "SELECT id FROM orders",
        "main.other.c": "SELECT id FROM main.shop.orders AS orders",
    }


@pytest.mark.parametrize(
    ("statement", "refusal"),
    [
        ("create schema shop.raw default_ddl_collation = 'en-ci'", "en-ci"),
        ("create database shop default_ddl_collation = 'en-ci'; use schema shop.raw", "en-ci"),
        ("alter database shop set default_ddl_collation = 'de'; use schema shop.raw", "de"),
        ("create schema &{x} default_ddl_collation = 'de'; use schema shop.raw", "de"),
        ("create schema shop.raw default_ddl_collation = ''", None),
        ("create schema shop.other default_ddl_collation = 'de'; use schema shop.raw", None),
        (
            (
                "create schema shop.raw default_ddl_collation = 'de';"
                "alter schema shop.raw unset default_ddl_collation"
            ),
            None,
        ),
    ],
)
def test_a_schema_says_how_texts_of_its_tables_are_compared(read, statement, refusal):
    _, items = read(
        f"{statement};\ncreate table n (id int, name varchar);\ncreate table m (id int);\n"
        "create table o (name varchar) default_ddl_collation = '';\n"
        "create table p (name varchar collate 'utf8');\n"
    )
    told = (
        f"its schema or database has DEFAULT_DDL_COLLATION '{refusal}': Spark would compare its"
        " texts by their bytes"
    )
    assert items["shop.raw.n"].refusal == (told if refusal else None)
    assert [items[f"shop.raw.{name}"].refusal for name in "mop"] == [None, None, None]


@pytest.mark.parametrize(
    ("statement", "refusal"),
    [
        ("CREATE SCHEMA shop DEFAULT COLLATION UTF8_LCASE", "UTF8_LCASE"),
        ("create database if not exists main.shop comment 'x' default collation `de_CI`", "de_CI"),
        ("ALTER SCHEMA `main`.`shop` DEFAULT COLLATION UNICODE", "UNICODE"),
        ("CREATE CATALOG main DEFAULT COLLATION de", "de"),
        ("CREATE SCHEMA raw_${env} DEFAULT COLLATION UNICODE", "UNICODE"),
        ("CREATE SCHEMA shop DEFAULT COLLATION UTF8_BINARY", None),
        ("CREATE SCHEMA other DEFAULT COLLATION UTF8_LCASE", None),
        ("CREATE SCHEMA prod.shop DEFAULT COLLATION UTF8_LCASE", None),
        ("CREATE CATALOG prod DEFAULT COLLATION UTF8_LCASE", None),
        ("CREATE SCHEMA shop DEFAULT COLLATION de; ALTER SCHEMA shop DEFAULT COLLATION UTF8_BINARY",
         None),
    ],
)  # fmt: skip
def test_a_schema_of_databricks_says_how_texts_of_its_tables_are_compared(read, statement, refusal):
    """Before, they were compared by their bytes, without a word."""
    _, items = read(
        f"USE main.shop;\n{statement};\nCREATE TABLE n (id INT, names ARRAY<STRING>);\n"
        "CREATE TABLE m (id INT);\nCREATE VIEW v AS SELECT id FROM m;\n"
        "CREATE STREAMING TABLE s AS SELECT * FROM STREAM read_files('a', format => 'parquet');\n"
        "CREATE TEMPORARY VIEW z AS SELECT id FROM m;\n"
        "CREATE TABLE main.elsewhere.o (name STRING);\n"
        "CREATE TABLE prod.elsewhere.o (name STRING);\n",
        read_databricks,
    )
    told = (
        f"its schema or catalog has DEFAULT COLLATION {refusal}: Spark would compare its texts by"
        " their bytes"
    )
    reasons = [items[f"main.shop.{name}"].refusal for name in "nmvs"]
    assert reasons == ([told, None, told, told] if refusal else [None] * 4)
    assert items["z"].refusal is None
    others = [name for name in ("main", "prod") if items[f"{name}.elsewhere.o"].refusal is not None]
    is_any = "${" in statement
    assert others == [name for name in ("main", "prod") if is_any or f"CATALOG {name}" in statement]


def test_a_schema_that_can_be_a_tables_own_says_how_its_texts_are_compared(read):
    _, items = read(
        "CREATE TABLE o (name STRING);\nCREATE SCHEMA shop DEFAULT COLLATION UTF8_LCASE;\n"
        "CREATE TABLE n (name STRING);\nCREATE TABLE main.shop.p (name STRING);\n"
        "USE prod.other;\nCREATE CATALOG main DEFAULT COLLATION de;\n"
        "CREATE SCHEMA main.own DEFAULT COLLATION UTF8_BINARY;\n"
        "CREATE TABLE main.own.q (name STRING);\nCREATE TABLE main.r.r (name STRING);\n"
        "CREATE SCHEMA shop DEFAULT COLLATION de;\nCREATE TABLE main.own.t (name STRING);\n",
        read_databricks,
    )
    refused = [name for name, item in items.items() if item.refusal is not None]
    assert refused == ["n", "main.shop.p", "main.r.r"]
