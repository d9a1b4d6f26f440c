"""What a pipeline's SQL cannot have is refused, or told, with its line."""

import pytest

from tests.unit.importing.pipeline_texts import messages

ORDERS = """\
CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;
CREATE MATERIALIZED VIEW customers AS SELECT 1 AS id, 'a' AS name;
"""


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
                "CREATE TEMPORARY VIEW w AS SELECT 1 AS b;"
                "\nCREATE MATERIALIZED VIEW shop.V AS SELECT 1 AS c;"
            ),
            (
                "[duplicate-name] tables/all.sql:3: V is defined twice; it is already defined at"
                " tables/all.sql:1. Rename or remove one of them."
            ),
        ),
        (
            (
                "CREATE STREAMING TABLE orders AS SELECT id FROM STREAM web;\n"
                "CREATE TEMPORARY VIEW Orders AS SELECT id FROM shop.orders WHERE id > 1;\n"
                "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM shop.orders;"
            ),
            (
                "[duplicate-name] tables/all.sql:2: the temporary view Orders has the name of the"
                " table spark_catalog.shop.orders; queries here read tables by their last names;"
                " the table is defined at tables/all.sql:1. Rename the view, and where it is read."
            ),
        ),
        (
            (
                "CREATE STREAMING TABLE orders;\n"
                "CREATE FLOW one AS INSERT INTO orders BY NAME SELECT id FROM STREAM web;\n"
                "CREATE FLOW two AS INSERT INTO orders BY NAME SELECT id FROM STREAM app;\n"
                "CREATE TEMPORARY VIEW orders__two AS SELECT id FROM orders;"
            ),
            (
                "[duplicate-name] tables/all.sql:4: the temporary view orders__two has the name of"
                " the table spark_catalog.shop.orders; queries here read tables by their last"
                " names; the table is defined at tables/all.sql:1. Rename the view, and where it is"
                " read."
            ),
        ),
        (
            (
                "CREATE STREAMING TABLE t AS SELECT id FROM STREAM lake.t;\n"
                "CREATE TEMPORARY VIEW t_feed AS SELECT id FROM t;"
            ),
            (
                "[duplicate-name] tables/all.sql:2: the temporary view t_feed has the name of a"
                " feed; queries read both by their names; the feed of what NAME streams is"
                " NAME_feed. Rename the view, and where it is read."
            ),
        ),
        (  # nobody is told of what reads it
            (
                "CREATE TEMPORARY VIEW orders AS SELECT id FROM STREAM web;\n"
                "CREATE TEMPORARY VIEW more AS SELECT id FROM STREAM orders;\n"
                "CREATE STREAMING TABLE shop.orders AS SELECT * FROM STREAM orders;\n"
                "CREATE STREAMING TABLE big AS SELECT more.id FROM STREAM more WHERE id > 9;\n"
                "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM shop.orders;"
            ),
            (
                "[duplicate-name] tables/all.sql:1: the temporary view orders has the name of the"
                " table spark_catalog.shop.orders; queries here read tables by their last names;"
                " the table is defined at tables/all.sql:3. Rename the view, and where it is read."
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


@pytest.mark.parametrize("name", ["STREAM(a)", "STREAM a", "STREAM(default.A)"])
def test_options_of_a_stream_of_a_dataset_are_refused(pipeline, name):
    """Spark would leave out what they say; here the table equals its query over all rows."""
    _, errors = pipeline(
        "CREATE STREAMING TABLE a AS SELECT * FROM STREAM lake.x;\n"
        f"CREATE STREAMING TABLE b AS SELECT * FROM {name} WITH (maxBytesPerTrigger = 3) AS s;\n"
        "CREATE STREAMING TABLE c AS\n"
        f"SELECT * FROM {name} WITH (skipChangeCommits) AS s;"
    )
    (error,) = errors
    assert str(error) == (
        "[stream-refused] tables/all.sql:4: a stream of a Delta table has the option"
        " skipChangeCommits; a table here equals its query over one version of the source: all of"
        " its rows, and the changed ones as they are now. Remove the option."
    )
