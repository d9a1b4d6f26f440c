"""A pipeline's SQL becomes a project."""

import time

import pytest

from freshline.project.model import CatalogSettings
from tests.unit.importing.pipeline_texts import SETTINGS, SPEC, TABLES, messages


def queries(project):
    return {table.name: (table.kind, table.query) for table in project.tables}


def test_a_pipeline_is_a_project(pipeline, tmp_path):
    project, errors = pipeline(
        """\
        CREATE STREAMING TABLE orders COMMENT 'all of them'
          TBLPROPERTIES ('freshline.time' = 'at')
          AS SELECT * FROM STREAM web WHERE id > 0;
        CREATE MATERIALIZED VIEW by_day AS
          SELECT date_trunc('DAY', at) AS day, sum(price) AS total
          FROM shop.orders GROUP BY 1;
        CREATE STREAMING TABLE copies AS SELECT id FROM STREAM(orders);
        """,
        settings=SETTINGS + TABLES,
    )
    assert errors == []
    assert (project.name, project.storage) == ("shop", f"{tmp_path}/kept/tables")
    assert project.scheduler.tracks == 3
    assert project.configuration == {"spark.sql.session.timeZone": "UTC"}
    assert queries(project) == {
        "orders": ("base", "SELECT * FROM STREAM web WHERE id > 0"),
        "by_day": (
            "derived",
            "SELECT date_trunc('DAY', at) AS day, sum(price) AS total\n  FROM orders GROUP BY 1",
        ),
        "copies": ("derived", "SELECT id FROM orders"),
    }
    orders, by_day, copies = project.tables
    assert (orders.feed, orders.comment, orders.time_column) == ("web", "all of them", "at")
    assert (by_day.priority, by_day.target_lag_s, by_day.parents) == (3.0, 600.0, ("orders",))
    assert [str(table.query_place) for table in project.tables] == [
        "tables/all.sql:3", "tables/all.sql:5", "tables/all.sql:7",
    ]  # fmt: skip
    assert copies.parents == ("orders",)
    assert project.catalog == CatalogSettings("shop")


def test_temporary_views_are_put_into_the_queries_and_lines_stay(pipeline):
    project, errors = pipeline("""\
        CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;
        CREATE TEMPORARY VIEW good AS
          SELECT * FROM orders -- the good ones
          WHERE price > 0;
        CREATE OR REPLACE TEMP VIEW named (a, b) AS SELECT id, price FROM good;
        CREATE MATERIALIZED VIEW best AS
          SELECT a
          FROM named;
        """)
    assert errors == []
    best = project.table("best")
    assert best.query == (
        "WITH good_view AS ( SELECT * FROM orders WHERE price > 0 ), named_view AS ( SELECT * FROM"
        " (SELECT id, price FROM good_view AS good) AS named(a, b) ) SELECT a\n"
        "  FROM named_view AS named"
    )
    assert (str(best.query_place), best.parents) == ("tables/all.sql:7", ("orders",))


def test_several_flows_are_a_union_by_name(pipeline):
    project, errors = pipeline("""\
        CREATE STREAMING TABLE orders;
        CREATE FLOW from_web AS INSERT INTO orders BY NAME SELECT * FROM STREAM web;
        CREATE FLOW from_app AS INSERT INTO shop.orders BY NAME SELECT id, price FROM STREAM app;
        """)
    assert errors == []
    assert queries(project) == {
        "orders__from_web": ("base", "SELECT * FROM STREAM web"),
        "orders__from_app": ("base", "SELECT id, price FROM STREAM app"),
        "orders": (
            "derived",
            (
                "SELECT `id`, `at`, `price` FROM orders__from_web UNION ALL"
                " SELECT `id`, NULL AS `at`, `price` FROM orders__from_app"
            ),
        ),
    }
    assert project.table("orders__from_web").target_downstream


def test_a_union_needs_the_names_of_the_columns(pipeline):
    _, errors = pipeline("""\
        CREATE STREAMING TABLE orders;
        CREATE FLOW a AS INSERT INTO orders BY NAME SELECT *, id + 1 FROM STREAM web;
        CREATE FLOW b AS INSERT INTO orders BY NAME SELECT id FROM STREAM app;
        """)
    assert messages(errors) == [
        (
            "[unknown-columns] tables/all.sql:2: the columns of flow a into orders are not"
            " listed; several flows into one table are a union by the columns' names. Name the"
            " columns in the query, or declare those of orders."
        )
    ]


def test_declared_columns_are_cast(pipeline):
    project, errors = pipeline("""\
        CREATE STREAMING TABLE orders (price DECIMAL(10, 2), id INT COMMENT 'its number')
          USING parquet CLUSTER BY (id)
          AS SELECT price, id FROM STREAM web;
        """)
    assert errors == []
    assert project.tables[0].query == (
        "SELECT CAST(price AS DECIMAL(10, 2)) AS price, CAST(id AS INT) AS id FROM"
        " (SELECT price, id FROM STREAM web)"
    )
    assert project.tables[0].columns == (("id", "its number"),)
    assert project.warnings == (
        "tables/all.sql:1: orders is a Delta table, not parquet",
        "tables/all.sql:1: orders is not clustered: CLUSTER BY is left out",
        "freshline.yml:3: no table reads feed app",
    )


def test_settings_and_scopes_hold_for_what_stands_behind_them(pipeline):
    project, errors = pipeline(
        """\
        CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;
        SET spark.sql.ansi.enabled = false;
        SET TIME ZONE 'Europe/Berlin';
        USE other;
        CREATE MATERIALIZED VIEW first AS SELECT id FROM shop.orders JOIN customers USING (id);
        """,
    )
    assert errors == []
    first = project.table("first")
    assert first.settings == {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "Europe/Berlin",
    }
    assert project.table("orders").settings == {}
    assert [read.name for read in first.statics] == ["spark_catalog.other.customers"]
    assert first.parents == ("orders",)


def test_names_of_tables_outside_belong_to_the_catalog_in_use(pipeline):
    project, errors = pipeline(
        """\
        CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;
        USE CATALOG lake;
        CREATE MATERIALIZED VIEW v AS
          SELECT id FROM spark_catalog.shop.orders JOIN raw.a USING (id) JOIN b USING (id)
          JOIN main.raw.c USING (id) JOIN parquet.`/data/d` USING (id) JOIN delta.`e` USING (id);
        USE spark_catalog.shop;
        CREATE MATERIALIZED VIEW w AS SELECT id FROM orders JOIN raw.a USING (id);
        """,
    )
    assert errors == []
    assert [read.name for read in project.table("v").statics] == [
        "lake.raw.a", "lake.default.b", "main.raw.c", "parquet.`/data/d`", "delta.e",
    ]  # fmt: skip
    assert [read.name for read in project.table("w").statics] == ["raw.a"]


def test_a_stream_in_another_catalog_is_not_advised_to_be_one_of_the_session_s(pipeline):
    _, errors = pipeline("USE CATALOG lake;\nCREATE STREAMING TABLE t AS SELECT * FROM STREAM r.x;")
    assert "Declare the feed x: {kind: delta, path: PATH}" in str(errors[0])


def test_settings_of_a_temporary_view_hold_for_what_reads_it(pipeline):
    """Through other views too; Spark refuses two values of one setting."""
    sql = """\
        CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;
        CREATE MATERIALIZED VIEW before AS SELECT day FROM more;
        CREATE STREAMING TABLE flowed;
        CREATE FLOW f AS INSERT INTO flowed BY NAME SELECT day FROM more;
        SET spark.sql.session.timeZone = {zone};
        CREATE TEMPORARY VIEW days AS SELECT CAST(at AS DATE) AS day FROM orders;
        SET spark.sql.ansi.enabled = false;
        CREATE TEMPORARY VIEW more AS SELECT day FROM days;
        """
    spec = SPEC.replace("configuration:\n  spark.sql.session.timeZone: UTC\n", "")
    project, errors = pipeline(sql.format(zone="Asia/Tokyo"), spec=spec)
    assert errors == []
    both = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.ansi.enabled": "false"}
    assert project.table("before").settings == project.table("flowed").settings == both
    project, errors = pipeline(sql.format(zone="UTC"))
    assert errors == []
    _, errors = pipeline(sql.format(zone="Asia/Tokyo"))
    assert [error.code for error in errors] == ["two-settings"] * 4
    assert str(errors[0]) == (
        "[two-settings] tables/all.sql:2: spark.sql.session.timeZone is UTC for before and"
        " Asia/Tokyo for more, which it reads; a temporary view is computed within the queries"
        " that read it, under one setting. Set the same value for both, or make more a"
        " materialized view."
    )


def test_two_views_of_one_flow_have_one_value_of_a_setting(pipeline):
    sql = """\
        CREATE MATERIALIZED VIEW joined AS SELECT one.id FROM one JOIN two USING (id);
        SET spark.sql.session.timeZone = Asia/Tokyo;
        CREATE TEMPORARY VIEW one AS SELECT id FROM orders;
        SET spark.sql.session.timeZone = {zone};
        CREATE TEMPORARY VIEW two AS SELECT id FROM orders;
        """
    spec = SPEC.replace("configuration:\n  spark.sql.session.timeZone: UTC\n", "")
    project, errors = pipeline(sql.format(zone="Asia/Tokyo"), spec=spec)
    assert errors == []
    assert project.table("joined").settings == {"spark.sql.session.timeZone": "Asia/Tokyo"}
    _, errors = pipeline(sql.format(zone="UTC"), spec=spec)
    assert [error.code for error in errors] == ["two-settings"]
    assert "is Asia/Tokyo for one and UTC for two" in str(errors[0])


def test_a_reports_own_time_zone_is_one_that_there_is(pipeline):
    """Its windows of days begin at midnight there."""
    sql = """\
        CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;
        SET TIME ZONE '{zone}';
        CREATE MATERIALIZED VIEW by_day
          TBLPROPERTIES ('freshline.window' = '1 day', 'freshline.deadline' = '06:00 UTC')
          AS SELECT sum(price) AS total FROM orders;
        """
    project, errors = pipeline(sql.format(zone="Asia/Tokyo"))
    assert errors == []
    assert [view.settings for view in project.reports] == [
        {"spark.sql.session.timeZone": "Asia/Tokyo"}
    ]
    _, errors = pipeline(sql.format(zone="Asia/Tokio"))
    assert [(error.code, str(error.where)) for error in errors] == [
        ("bad-value", "tables/all.sql:3")
    ]


def test_a_stream_of_a_delta_table_outside_is_a_feed(pipeline):
    """By its name or its path; the same table under one name is one feed."""
    project, errors = pipeline(
        """\
        create streaming table clicks as select id from stream(lake.`clicks`) where id > 0;
        CREATE STREAMING TABLE visits AS SELECT * FROM STREAM spark_catalog.Lake.Visits AS v;
        CREATE STREAMING TABLE paid AS SELECT * FROM STREAM delta.`s3a://lake/paid/`;
        CREATE TEMPORARY VIEW raw AS SELECT id AS key FROM STREAM lake.raw;
        CREATE STREAMING TABLE raw_twice AS SELECT key + key AS twice FROM raw;
        USE other;
        CREATE STREAMING TABLE late AS SELECT * FROM STREAM web.late;
        CREATE STREAMING TABLE near AS SELECT * FROM STREAM delta.`file:/lake/near`;
        """
    )
    assert errors == []
    assert {name: (feed.kind, feed.path, feed.settings.table, str(feed.place))
        for name, feed in project.feeds.items() if feed.kind == "delta"
    } == {
        "clicks_feed": ("delta", "", "lake.clicks", "tables/all.sql:1"),
        "visits_feed": ("delta", "", "Lake.Visits", "tables/all.sql:2"),
        "paid_feed": ("delta", "s3a://lake/paid", None, "tables/all.sql:3"),
        "raw_feed": ("delta", "", "lake.raw", "tables/all.sql:4"),
        "late_feed": ("delta", "", "web.late", "tables/all.sql:7"),
        "near_feed": ("delta", "/lake/near", None, "tables/all.sql:8"),
    }  # fmt: skip
    assert {table.name: (table.kind, table.feed) for table in project.tables} == {
        "clicks": ("base", "clicks_feed"),
        "visits": ("base", "visits_feed"),
        "paid": ("base", "paid_feed"),
        "raw_twice": ("base", "raw_feed"),
        "late": ("base", "late_feed"),
        "near": ("base", "near_feed"),
    }
    assert queries(project)["clicks"] == (
        "base", "select id from STREAM clicks_feed AS clicks where id > 0",
    )  # fmt: skip


def test_paths_that_differ_in_case_alone_are_two_feeds(pipeline):
    project, errors = pipeline(
        "CREATE STREAMING TABLE a AS SELECT * FROM STREAM delta.`/Data/In`;\n"
        "CREATE STREAMING TABLE b AS SELECT * FROM STREAM delta.`/data/in`;"
    )
    assert errors == []
    assert [project.feeds[name].path for name in ("a_feed", "b_feed")] == ["/Data/In", "/data/in"]
    assert [table.feed for table in project.tables] == ["a_feed", "b_feed"]


def test_a_declared_feed_goes_before_the_table_that_a_query_names(pipeline):
    settings = "feeds: {t_feed: {kind: delta, path: /lake/t, on_new_table: reload}}\n"
    project, errors = pipeline(
        "CREATE STREAMING TABLE t AS SELECT * FROM STREAM lake.t;", settings=settings
    )
    assert errors == []
    assert project.feeds["t_feed"].settings.on_new_table == "reload"


def test_two_tables_of_one_name_get_that_of_their_schema(pipeline):
    project, errors = pipeline(
        """\
        CREATE MATERIALIZED VIEW x AS SELECT 1 AS a;
        CREATE MATERIALIZED VIEW other.x AS SELECT a FROM x;
        """,
        settings=None,
    )
    assert errors == []
    assert queries(project) == {
        "shop_x": ("derived", "SELECT 1 AS a"),
        "other_x": ("derived", "SELECT a FROM shop_x AS x"),
    }


def test_a_base_table_knows_its_names_of_before_something_was_added_or_removed(pipeline):
    alone = "CREATE STREAMING TABLE orders AS SELECT id FROM STREAM web;"
    project, _ = pipeline(alone)
    assert project.table("orders").former == ("shop_orders",)
    project, _ = pipeline(f"{alone} CREATE STREAMING TABLE b.orders AS SELECT id FROM STREAM app;")
    assert project.table("shop_orders").former == ("orders",)
    project, _ = pipeline(
        f"{alone} CREATE FLOW app AS INSERT INTO orders BY NAME SELECT id FROM STREAM app;"
    )
    former = {table.name: table.former for table in project.tables}
    assert former == {
        "orders__orders": ("orders", "shop_orders", "shop_orders__orders"),
        "orders__app": ("orders", "shop_orders", "shop_orders__app"),
        "orders": (),
    }
    project, _ = pipeline(
        f"{alone} CREATE FLOW app AS INSERT INTO orders BY NAME SELECT id FROM STREAM app;"
        " CREATE MATERIALIZED VIEW b.orders AS SELECT 1 AS id;"
    )
    assert project.table("shop_orders__app").former == ("orders", "shop_orders", "orders__app")


@pytest.mark.parametrize(
    ("machine", "zone", "sql", "is_told"),
    [
        ("Asia/Tokyo", "", "", True),
        ("Europe/London", "", "", True),
        ("UTC", "", "", False),
        ("Asia/Tokyo", "configuration:\n  spark.sql.session.timeZone: UTC\n", "", False),
        ("Asia/Tokyo", "", "SET TIME ZONE 'Asia/Tokyo';\n", False),
    ],
)
def test_a_pipeline_without_a_time_zone_is_told_that_spark_takes_the_machines(
    pipeline, monkeypatch, machine, zone, sql, is_told
):
    """Before, nothing said that days were those of UTC here and other ones under Spark."""
    spec = SPEC.replace("configuration:\n  spark.sql.session.timeZone: UTC\n", zone)
    monkeypatch.setenv("TZ", machine)
    time.tzset()
    try:
        project, errors = pipeline(
            f"{sql}CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;\n"
            "CREATE MATERIALIZED VIEW days AS SELECT CAST(at AS DATE) AS day FROM orders;",
            spec=spec,
        )
    finally:
        monkeypatch.undo()
        time.tzset()
    assert errors == []
    told = [each for each in project.warnings if "spark.sql.session.timeZone" in each]
    assert [each[:64] for each in told] == [
        "spark-pipeline.yml: configuration has no spark.sql.session.timeZ"
    ] * is_told


def test_a_temporary_view_may_have_the_name_of_a_table_that_nobody_reads(pipeline):
    project, errors = pipeline(
        "CREATE TEMPORARY VIEW orders AS SELECT id FROM STREAM web WHERE id > 1;"
        " CREATE STREAMING TABLE shop.orders AS SELECT * FROM STREAM orders;"
    )
    assert errors == []
    table = project.table("orders")
    assert (table.kind, table.feed, table.programs) == ("base", "web", ())
    assert "FROM STREAM web WHERE id > 1" in table.query


def test_a_temporary_view_may_have_the_name_of_a_feed_that_nobody_reads(pipeline):
    project, errors = pipeline(
        "CREATE TEMPORARY VIEW app AS SELECT id FROM STREAM web WHERE id > 1;"
        " CREATE STREAMING TABLE orders AS SELECT * FROM STREAM app;"
    )
    assert errors == []
    assert project.table("orders").feed == "web"
    assert "FROM STREAM web WHERE id > 1" in project.table("orders").query
