"""A pipeline's SQL and specification become a project, or errors that name their lines."""

from pathlib import Path
from textwrap import dedent

import pytest

from freshline.cli.options import collected
from freshline.importing.pipelines.load import collect
from freshline.project.model import CatalogSettings
from freshline.ui.what_if import WhatIf

SPEC = """\
name: shop
storage: file://{root}/kept
database: shop
configuration:
  spark.sql.session.timeZone: UTC
libraries:
  - glob:
      include: tables/**
"""
SETTINGS = """\
feeds:
  web: {kind: files, path: web, format: json, schema: "id BIGINT, at TIMESTAMP, price DOUBLE"}
  app: {kind: files, path: app, format: json, schema: "price DOUBLE, id BIGINT, at TIMESTAMP"}
scheduler: {tracks: 3}
"""
TABLES = """\
tables:
  by_day: {priority: 3, target_lag: 10 minutes}
"""


@pytest.fixture
def pipeline(tmp_path):
    """Writes a pipeline; returns its project and errors."""

    def write(sql, *, spec=SPEC, settings=SETTINGS):
        (tmp_path / "tables").mkdir(exist_ok=True)
        (tmp_path / "spark-pipeline.yml").write_text(spec.format(root=tmp_path))
        if settings is not None:
            (tmp_path / "freshline.yml").write_text(settings)
        (tmp_path / "tables" / "all.sql").write_text(dedent(sql))
        return collect(tmp_path, tmp_path)

    return write


def queries(project):
    return {table.name: (table.kind, table.query) for table in project.tables}


def messages(errors):
    return [error.render() for error in errors]


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


@pytest.mark.parametrize(
    "said", ["USE SCHEMA IDENTIFIER('x')", "USE a.b.c", "SET CATALOG a.b", "USE CATALOG a b"]
)
def test_a_catalog_or_schema_that_is_no_name_is_refused(pipeline, said):
    _, errors = pipeline(f"{said};\nSET CATALOG 'lake';\nUSE `a.b`.c;")
    assert [str(error) for error in errors] == [
        (
            f"[bad-statement] tables/all.sql:1: {said} names no catalog or schema; it is USE"
            " schema, USE catalog.schema or SET CATALOG catalog. Write the name itself."
        )
    ]


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
    }  # fmt: skip
    assert {table.name: (table.kind, table.feed) for table in project.tables} == {
        "clicks": ("base", "clicks_feed"),
        "visits": ("base", "visits_feed"),
        "paid": ("base", "paid_feed"),
        "raw_twice": ("base", "raw_feed"),
        "late": ("base", "late_feed"),
    }
    assert queries(project)["clicks"] == (
        "base", "select id from STREAM clicks_feed AS clicks where id > 0",
    )  # fmt: skip


def test_options_of_a_stream_of_a_table_outside_are_refused(pipeline):
    """All rows were loaded in spite of them; in Python they are refused, too."""
    _, errors = pipeline(
        "CREATE STREAMING TABLE a AS SELECT * FROM STREAM lake.x WITH (maxFilesPerTrigger = 3) x;\n"
        "CREATE STREAMING TABLE b AS\n"
        "SELECT * FROM STREAM(lake.x) WITH ('readChangeFeed' = true, startingVersion = 3) AS x;"
    )
    assert [str(error) for error in errors] == [
        (
            f"[stream-refused] tables/all.sql:3: a stream of a Delta table has the option {option};"
            " a table here equals its query over one version of the source: all of its rows, and"
            " the changed ones as they are now. Remove the option."
        )
        for option in ("readChangeFeed", "startingVersion")
    ]


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


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "\nDROP TABLE x;",
            (
                "[not-in-pipelines] tables/all.sql:2: a statement starts with DROP; a pipeline's"
                " SQL has CREATE STREAMING TABLE, CREATE MATERIALIZED VIEW, CREATE TEMPORARY VIEW,"
                " CREATE FLOW ... AS INSERT INTO, SET and USE. Run it elsewhere: a pipeline defines"
                " tables and changes no session."
            ),
        ),
        (
            (
                "CREATE STREAMING TABLE t;\n"
                "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM web KEYS (id);"
            ),
            (
                "[auto-cdc] tables/all.sql:2: the flow applies changes (AUTO CDC); a table is its"
                " query over all data that came, in any order. Keep the changes in a streaming"
                " table, and take the newest of each key in a materialized view: max_by(struct(*),"
                " sequence) ... GROUP BY key."
            ),
        ),
        (
            "CREATE STREAMING TABLE t;\nCREATE FLOW f AS INSERT INTO ONCE t BY NAME SELECT 1 AS a;",
            (
                "[once-flow] tables/all.sql:2: flow f inserts once; a table is its query over all"
                " data that came. Load the data as a feed or a table of its own."
            ),
        ),
        (
            "CREATE FLOW f AS INSERT INTO t BY NAME SELECT 1 AS a;",
            (
                "[unknown-target] tables/all.sql:1: flow f writes into the unknown table 't'; the"
                " pipeline's datasets are none. Define it with CREATE STREAMING TABLE."
            ),
        ),
        (
            "CREATE STREAMING TABLE t;",
            (
                "[no-flow] tables/all.sql:1: nothing writes into the streaming table t; its rows"
                " come from its own query, or from flows. Add CREATE FLOW ... AS INSERT INTO t BY"
                " NAME query."
            ),
        ),
        (
            (
                "CREATE MATERIALIZED VIEW v AS SELECT 1 AS a;\n"
                "CREATE FLOW f AS INSERT INTO v BY NAME SELECT 2 AS a;"
            ),
            (
                "[second-flow] tables/all.sql:2: flow f writes into v, which has a query; only a"
                " streaming table has several flows. Make it a streaming table, or put the two"
                " queries into one."
            ),
        ),
        (
            (
                "CREATE STREAMING TABLE clicks AS SELECT * FROM STREAM web;\n"
                "CREATE STREAMING TABLE t AS SELECT * FROM STREAM shop.visits;"
            ),
            (
                "[unknown-stream] tables/all.sql:2: flow t streams shop.visits, which is no table"
                " of the pipeline and no feed; what comes from outside is a feed, declared under"
                " `feeds:` in a freshline.yml beside the pipeline. Declare the feed visits: {kind:"
                " delta, table: shop.visits}, and read STREAM visits."
            ),
        ),
        (
            "CREATE STREAMING TABLE t AS\nSELECT a.id FROM STREAM w.c AS a JOIN w.c AS b;",
            (
                "[unknown-stream] tables/all.sql:2: flow t streams w.c, which is no table of the"
                " pipeline and no feed; what comes from outside is a feed, declared under"
                " `feeds:` in a freshline.yml beside the pipeline. Declare the feed c: {kind:"
                " delta, table: w.c}, and read STREAM c."
            ),
        ),
        (
            "CREATE STREAMING TABLE t AS\nSELECT *\nFROM STREAM wob;",
            (
                "[unknown-stream] tables/all.sql:3: flow t streams wob, which is no table of the"
                " pipeline and no feed; what comes from outside is a feed, declared under `feeds:`"
                " in a freshline.yml beside the pipeline. Declare the feed wob, and read STREAM"
                " wob."
            ),
        ),
        (
            "CREATE TEMPORARY VIEW a AS SELECT * FROM b;\nCREATE TEMP VIEW b AS SELECT * FROM a;",
            (
                "[circle] tables/all.sql:1: temporary views read each other in a circle: a reads b"
                " reads a; a view is computed from datasets that do not need it. Remove one of"
                " these names from the query that reads it."
            ),
        ),
        (
            (
                "CREATE MATERIALIZED VIEW v AS SELECT 1 AS a;\n"
                "CREATE TEMPORARY VIEW V AS SELECT 1 AS b;"
                "\nCREATE MATERIALIZED VIEW shop.V AS SELECT 1 AS c;"
            ),
            (
                "[duplicate-name] tables/all.sql:3: V is defined twice; it is already defined at"
                " tables/all.sql:1. Rename or remove one of them."
            ),
        ),
        (
            "CREATE STREAMING TABLE t (id INT NOT NULL) AS SELECT id FROM STREAM web;",
            (
                "[column-list] tables/all.sql:1: the columns of t have NOT; a column is a name, a"
                " type and perhaps a COMMENT. Put conditions and computed columns into the query."
            ),
        ),
        (
            "SET x;",
            (
                "[bad-statement] tables/all.sql:1: SET gives no value; in a pipeline it is SET name"
                " = value. Give the value, or remove the statement."
            ),
        ),
        # A view that cannot be read is told once, and not by what reads it.
        (
            (
                "CREATE TEMPORARY VIEW v AS\nSELECT (id FROM STREAM web;\n"
                "CREATE STREAMING TABLE t AS SELECT id FROM STREAM v;"
            ),
            (
                "[bad-sql] tables/all.sql:2: query of v: a parenthesis is not closed; a query only"
                " reads, parentheses are closed, and table names are written out. Correct the"
                " query."
            ),
        ),
        (
            "CREATE VIEW v AS SELECT id FROM ${db}.web;",
            (
                "[bad-sql] tables/all.sql:1: query of v: a table's name has a variable (${...}) in"
                " it; a query only reads, parentheses are closed, and table names are written out."
                " Correct the query."
            ),
        ),
        (
            "CREATE MATERIALIZED VIEW v AS\nSELECT count(*) AS n FROM STREAM web;",
            (
                "[view-reads-feed] tables/all.sql:2: view v reads STREAM web; only a streaming"
                " table reads a feed. Read a base table over the feed, or make it a STREAMING"
                " TABLE."
            ),
        ),
    ],
)
def test_what_is_refused_is_refused_with_its_line(pipeline, sql, message):
    project, errors = pipeline(sql)
    assert project is None
    assert messages(errors) == [message]


def test_properties_of_unknown_tables_are_told(pipeline):
    _, errors = pipeline(
        "CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web", settings=SETTINGS + TABLES
    )
    assert messages(errors) == [
        (
            "[unknown-table] freshline.yml:6: tables: names the table by_day; the pipeline's tables"
            " are orders. Correct the name."
        )
    ]


def test_a_wrong_specification_is_told(pipeline, tmp_path):
    _, errors = pipeline("", spec="name: shop\nlibrary: []\n", settings=None)
    assert messages(errors) == [
        (
            "[unknown-key] spark-pipeline.yml:2: spark-pipeline.yml has the unknown key 'library';"
            " the known keys are name, storage, catalog, database, schema, configuration,"
            " libraries. Did you mean libraries?"
        ),
        (
            "[missing-key] spark-pipeline.yml:1: spark-pipeline.yml has no storage; the key storage"
            " is required. Add storage: to it."
        ),
    ]
    _, errors = pipeline("", spec=SPEC.replace("tables/**", "tables/*.sql"), settings=None)
    assert messages(errors) == [
        (
            "[bad-glob] spark-pipeline.yml:7: the glob tables/*.sql is none that pipelines have;"
            " libraries is a list of {glob: {include: path}}; a path is a file's, or a folder's"
            " with /**. Write it as in the rule."
        )
    ]
    (tmp_path / "spark-pipeline.yaml").write_text("")
    _, errors = pipeline("", settings=None)
    assert [error.code for error in errors] == ["two-pipelines"]


def test_a_freshline_yml_with_libraries_is_a_project_by_itself(pipeline, tmp_path):
    settings = (
        "name: mine\nstorage: s\nlibraries: [{glob: {include: own.sql}}]\n"
        + SETTINGS.partition("scheduler")[0]
    )
    (tmp_path / "own.sql").write_text("CREATE STREAMING TABLE o AS SELECT * FROM STREAM web;")
    pipeline("DROP TABLE x", settings=settings)
    project, errors = collected(tmp_path)
    assert errors == []
    assert project is not None
    assert (project.name, [table.name for table in project.tables]) == ("mine", ["o"])


def test_a_pipeline_without_a_database_registers_its_tables_nowhere(pipeline):
    sql = "CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web"
    project, errors = pipeline(sql, spec=SPEC.replace("database: shop\n", ""))
    assert (project.catalog, errors) == (None, [])


def test_a_specification_of_any_name_is_named_by_the_user(pipeline, tmp_path, monkeypatch):
    pipeline("CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;")
    (tmp_path / "spark-pipeline.yml").rename(tmp_path / "nightly.yaml")
    monkeypatch.chdir(tmp_path.parent)
    nightly = Path(tmp_path.name, "nightly.yaml")
    project, errors = collected(nightly)
    assert errors == []
    assert project is not None
    assert (project.root, project.sql_files) == (tmp_path, (tmp_path / "tables" / "all.sql",))
    # What is played for its page is this pipeline, not what else its directory has.
    arguments = WhatIf(project)._arguments({})
    again, errors = collected(Path(arguments[arguments.index("--project") + 1]))
    assert (again, errors) == (project, [])
    _, errors = collected(tmp_path)  # beside it there is a freshline.yml that is no project
    assert [error.code for error in errors] == ["missing-key", "missing-key", "missing-key"]
    _, errors = collected(Path("none.yml"))
    assert messages(errors) == [
        (
            "[no-project] there is no file none.yml; a project is a directory with a freshline.yml"
            " or a spark-pipeline.yml, or a pipeline's specification itself. Correct the path."
        )
    ]


def test_of_two_specifications_one_is_named(pipeline, tmp_path):
    pipeline("CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;")
    other = tmp_path / "spark-pipeline.yaml"
    other.write_text(SPEC.format(root=tmp_path).replace("shop", "other"))
    _, errors = collected(tmp_path)
    assert messages(errors) == [
        (
            f"[two-pipelines] there are spark-pipeline.yml and spark-pipeline.yaml in {tmp_path}; a"
            " pipeline has one specification. Remove one of the two, or name one with --spec."
        )
    ]
    project, errors = collected(other)
    assert project is not None
    assert (project.name, errors) == ("other", [])


def test_the_freshline_yml_of_a_project_itself_is_its_directory(pipeline, tmp_path):
    own = "name: own\nstorage: kept\nlibraries: [{glob: {include: tables/*.sql}}]\n"
    pipeline("CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;", settings=own + SETTINGS)
    project, errors = collected(tmp_path / "freshline.yml")
    assert errors == []
    assert project is not None
    assert project.name == "own"


ORDERS = """\
CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;
CREATE MATERIALIZED VIEW customers AS SELECT 1 AS id, 'a' AS name;
"""


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT id, current_timestamp() AS loaded FROM STREAM orders",
         "asks the clock (current_timestamp)"),
        ("SELECT uuid() AS key, id FROM STREAM orders", "asks chance (uuid)"),
        ("SELECT id FROM STREAM orders LIMIT 3", "takes some of the rows: LIMIT counts records"),
        (("SELECT window(at, '1 hour').start AS s, count(*) AS n FROM STREAM orders WATERMARK at"
         " DELAY OF INTERVAL 1 HOUR GROUP BY window(at, '1 hour')"),
         "has a watermark that decides which rows are written"),
        ("SELECT count(*) AS n FROM STREAM marked", ("has a watermark that decides which rows are"
         " written")),
        ("SELECT id FROM limited", "takes some of the rows: LIMIT counts records"),
    ],
)  # fmt: skip
def test_a_stream_of_a_dataset_that_depends_on_when_rows_came_is_refused(pipeline, query, told):
    _, errors = pipeline(
        f"{ORDERS}CREATE STREAMING TABLE t AS\n{query};\n"
        "CREATE TEMPORARY VIEW marked AS SELECT * FROM STREAM orders WATERMARK at DELAY OF"
        " INTERVAL '10' MINUTES;\n"
        "CREATE TEMPORARY VIEW limited AS SELECT * FROM STREAM orders LIMIT 3;"
    )
    (message,) = messages(errors)
    assert message.startswith(
        "[not-appended] tables/all.sql:4: the query of t streams a table of the pipeline and"
        f" {told}; a table that streams tables of the project is its query over all of their"
        " rows, and"
        " knows nothing of when they came. "
    )


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT id FROM STREAM orders WHERE id > 1", None),
        ("SELECT id FROM STREAM orders UNION ALL SELECT id FROM STREAM orders", None),
        ("SELECT id FROM STREAM orders WATERMARK at DELAY OF INTERVAL 1 HOUR", None),
        ("SELECT count(*) AS n FROM orders", None),
        ("SELECT o.id, c.name FROM STREAM orders o JOIN customers c USING (id)",
         "it reads customers beside what it streams"),
        (("SELECT o.id FROM STREAM orders WATERMARK at DELAY OF INTERVAL 1 HOUR o JOIN customers c"
         " USING (id)"), "it reads customers beside what it streams"),
        ("SELECT id, count(*) AS n FROM STREAM orders GROUP BY id", "GROUP BY groups records"),
        ("SELECT DISTINCT id FROM STREAM orders", "DISTINCT compares records with each other"),
        ("SELECT n FROM STREAM counted", "the aggregate count looks at many records"),
        ("SELECT a.id FROM STREAM orders a JOIN STREAM orders b USING (id)",
         "it joins rows that it streams with each other"),
        ("SELECT id FROM STREAM orders UNION SELECT id FROM STREAM orders",
         "UNION compares rows with each other"),
    ],
)  # fmt: skip
def test_how_a_stream_of_a_dataset_differs_from_sparks_is_told(pipeline, query, told):
    project, errors = pipeline(
        f"{ORDERS}CREATE TEMPORARY VIEW counted AS SELECT count(*) AS n FROM STREAM orders;\n"
        f"CREATE STREAMING TABLE t AS\n{query};"
    )
    assert messages(errors) == []
    found = [each for each in project.warnings if "streaming table" in each]
    assert found == (
        []
        if told is None
        else [
            (
                f"tables/all.sql:5: streaming table t: {told}: its rows are those of its query over"
                " all rows, and are corrected when what it reads changes; Spark keeps a row as it"
                " was"
                " when it was written"
            )
        ]
    )
