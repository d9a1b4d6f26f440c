"""What Spark refuses, with the line in the user's file, several at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freshline.spark.analysis import analyse

pytestmark = pytest.mark.spark


@pytest.fixture
def orders(shop):
    shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, price DECIMAL(15,2)")
    shop.table("orders", "SELECT id, at, price FROM STREAM f")
    return shop


def errors(shop) -> list[str]:
    return [error.render() for error in analyse(shop.project, shop.session).errors]


def test_a_right_project_has_columns_and_no_errors(orders):
    orders.table("totals", "SELECT date(at) AS day, sum(price) AS price FROM orders GROUP BY 1")
    found = analyse(orders.project, orders.session)
    assert (found.errors, found.notes) == ([], [])
    assert found.columns == {
        "orders": (("id", "bigint"), ("at", "timestamp"), ("price", "decimal(15,2)")),
        "totals": (("day", "date"), ("price", "decimal(25,2)")),
    }


def test_several_errors_come_at_once_each_with_its_line(orders):
    orders.table("a", "SELECT id,\n  prise\nFROM orders")
    orders.table("below_a", "SELECT nonsense FROM a")
    orders.table("b", "SELECT id,\n\n  nofun(id) AS x FROM orders")
    orders.table("c", "SELECT\n  at + price AS x FROM orders")
    orders.table("d", "SELECT id\nFROM orders\nGROUP ORDER id")
    assert errors(orders) == [
        (
            "[unknown-column] tables/a.sql:4: Spark refuses the query of table a:"
            " A column, variable,"
            " or function parameter with name `prise` cannot be resolved; Spark names it"
            " UNRESOLVED_COLUMN.WITH_SUGGESTION. Did you mean price, id, at?"
        ),
        (
            "[unknown-function] tables/b.sql:5: Spark refuses the query of table b: Cannot resolve"
            " routine `nofun` on search path [`system`.`builtin`, `system`.`session`,"
            " `spark_catalog`.`default`]; Spark names it UNRESOLVED_ROUTINE."
            " Correct the name, or add"
            " the jar that has it."
        ),
        (
            "[type-mismatch] tables/c.sql:4: Spark refuses the query of table c: Cannot resolve"
            ' "(at + price)" due to data type mismatch: the left and right operands of the binary'
            ' operator have incompatible types ("TIMESTAMP" and "DECIMAL(15,2)"); Spark names it'
            " DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES. Cast one side, or use another column."
        ),
        (
            "[bad-sql] tables/d.sql:5: Spark refuses the query of table d: Syntax error at or near"
            " 'ORDER'; Spark names it PARSE_SYNTAX_ERROR. Correct the query's syntax."
        ),
    ]


def test_a_table_that_the_text_does_not_show_is_found_in_sparks_plan(orders):
    stored = f"parquet.`{orders.root / 'lent'}`"
    orders.session.range(3).write.parquet(str(orders.root / "lent"))
    orders.session.sql(
        "CREATE OR REPLACE FUNCTION most_lent(least BIGINT) RETURNS BIGINT"
        f" RETURN (SELECT max(id) FROM {stored} WHERE id > least)"
    )
    orders.table("seen", f"SELECT id FROM orders WHERE id IN (SELECT id FROM {stored})")
    orders.table("unseen", f"SELECT id FROM orders WHERE id IN (SELECT id FROM {stored} /*hid*/)")
    orders.table("called", "SELECT most_lent(id) AS m FROM orders")
    orders.table("base", f"SELECT f.id FROM STREAM f JOIN {stored} /*hid*/ USING (id)")
    tables = tuple(
        replace(table, statics=()) if "/*hid*/" in table.query else table
        for table in orders.project.tables
    )
    found = analyse(replace(orders.project, tables=tables), orders.session).errors
    orders.session.sql("DROP FUNCTION most_lent")
    assert [error.code for error in found] == ["unseen-table"] * 3
    assert [error.where and error.where.file for error in found] == [
        "tables/unseen.sql", "tables/called.sql", "tables/base.sql",
    ]  # fmt: skip
    assert found[1].what == (
        "Spark reads a table for the query of table called that is not named in it:"
        " Relation [id] parquet"
    )


def test_a_column_list_names_columns_in_the_order_of_the_query(orders):
    orders.table("some", "SELECT id, price FROM orders", columns=(("PRICE", "in euros"),))
    orders.table("none", "SELECT id, price FROM orders", columns=(("id", None), ("cost", "x")))
    orders.table("order", "SELECT id, price FROM orders", columns=(("price", None), ("id", None)))
    assert errors(orders) == [
        (
            f"[column-list] tables/{table}.sql:3: table {table} lists the columns {listed}, and its"
            " query has id, price; a column list names columns of the query, in their order; it may"
            " leave columns out. Correct the list, or name the columns in the query with AS."
        )
        for table, listed in (("none", "id, cost"), ("order", "price, id"))
    ]


def test_what_is_no_column_of_a_table(orders):
    orders.table("twice", "SELECT id, price AS ID FROM orders")
    orders.table(
        "named",
        "SELECT count(*), id AS `a b`, max(price) AS _change_TYPE FROM orders GROUP BY 2",
    )
    orders.table(
        "nothing",
        "SELECT id, NULL AS x, INTERVAL 1 DAY AS d, array('a' COLLATE UTF8_LCASE) AS c FROM orders",
    )
    orders.table("time", "SELECT id FROM orders", time_column="at")
    orders.table("kind", "SELECT id FROM orders", time_column="id", partitioned_by=("x",))
    assert errors(orders) == [
        (
            "[duplicate-column] tables/twice.sql:3: table twice has 2 columns named id; names of"
            " columns differ, whatever the case. Give each a name of its own with AS."
        ),
        (
            "[bad-column-name] tables/named.sql:3: table named has a column named 'count(1)'; Delta"
            " allows no spaces and none of ,;{}()= in names of columns. Give it a name with AS."
        ),
        (
            "[bad-column-name] tables/named.sql:3: table named has a column named"
            " 'a b'; Delta allows"
            " no spaces and none of ,;{}()= in names of columns. Give it a name with AS."
        ),
        (
            "[bad-column-name] tables/named.sql:3: table named has a column named '_change_TYPE';"
            " the change feed of a table has columns of its own by this name. Give it another name"
            " with AS."
        ),
        (
            "[bad-column-type] tables/nothing.sql:3: table nothing has column x of type VOID, which"
            " Delta cannot store; a column has a type that Delta knows. Cast it, for example to"
            " STRING."
        ),
        (
            "[bad-column-type] tables/nothing.sql:3: table nothing has column d of"
            " type INTERVAL DAY,"
            " which Delta cannot store; a column has a type that Delta knows. Cast"
            " it, for example to"
            " STRING."
        ),
        (
            "[bad-column-type] tables/nothing.sql:3: table nothing has column c[] of type"
            " STRING COLLATE UTF8_LCASE, which Delta cannot store; a column has a type that"
            " Delta knows. Cast it, for example to STRING."
        ),
        (
            "[unknown-column] tables/time.sql:3: table time has no column at, its"
            " freshline.time; its"
            " columns are id. Name one of them, or select that column."
        ),
        (
            "[bad-time-column] tables/kind.sql:3: table kind has freshline.time ="
            " id, of type BIGINT;"
            " an event-time column is a TIMESTAMP or a DATE. Name another column, or cast this one."
        ),
        (
            "[unknown-column] tables/kind.sql:3: table kind has no column x to be"
            " partitioned by; its"
            " columns are id. Name one of them, or select that column."
        ),
    ]


def test_a_schema_that_spark_does_not_know_is_told_once(shop):
    shop.feed("f", "csv", "id BIGINTEGER")
    shop.table("a", "SELECT id FROM STREAM f")
    shop.table("b", "SELECT id FROM STREAM f")
    assert errors(shop) == [
        (
            "[bad-schema] freshline.yml:7: the schema of feed f is not understood: Unsupported data"
            ' type "BIGINTEGER"; a schema is a list such as `id BIGINT, at TIMESTAMP, price'
            " DECIMAL(15,2)`. Correct the schema."
        ),
    ]


def test_a_static_table_that_is_not_there(orders):
    orders.table("a", "SELECT 1 AS x FROM orders, default.nowhere")
    orders.table("b", "SELECT 1 AS x FROM orders,\n delta.`nowhere`")
    orders.table("c", "SELECT 1 AS x FROM orders,\n delta.`nowhere` VERSION AS OF 3")
    first, second, third = errors(orders)
    assert first == (
        "[unknown-table] tables/a.sql:3: Spark refuses the query of table a: The table or view"
        " `default`.`nowhere` cannot be found; Spark names it TABLE_OR_VIEW_NOT_FOUND. Correct the"
        " name, or create the table."
    )
    assert second == (
        "[unknown-table] tables/b.sql:3: Spark refuses the query of table b: Path does not exist:"
        f" file:{orders.root}/nowhere; Spark names it PATH_NOT_FOUND. Correct the path, or create"
        " the table."
    )
    assert third.startswith("[unknown-table] tables/c.sql:")


def test_a_parquet_feed_without_schema_or_file_is_left_out_with_a_note(shop):
    shop.feed("f", "parquet", None)
    shop.table("t", "SELECT nonsense FROM STREAM f")
    found = analyse(shop.project, shop.session)
    assert found.errors == []
    assert found.notes == [
        (
            "tables over feed f were not checked: feed f declares no schema and has no file to take"
            " it from"
        )
    ]


def test_a_parquet_feed_takes_its_columns_from_a_file_and_keeps_nothing(shop):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = shop.feed("f", "parquet", None)
    pq.write_table(pa.table({"id": [1]}), folder / "a.parquet")
    shop.table("t", "SELECT id, nonsense FROM STREAM f")
    assert [error.code for error in analyse(shop.project, shop.session).errors] == [
        "unknown-column"
    ]
    assert not (shop.root / "warehouse").exists()
