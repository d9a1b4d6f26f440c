"""Each form of Spark's programming guide for pipelines runs here, or is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from freshline.spark.analysis import analyse
from freshline.spark.verification.run import verified
from tests.spark.pipelines import documented
from tests.spark.pipelines.conftest import SETTINGS
from tests.spark.pipelines.test_pipeline import rows
from tests.spark.proof.support import UtcSessions, run_here
from tests.support.pipelines import Pipeline

pytestmark = pytest.mark.spark

HEAD = "from pyspark import pipelines as dp\n"
STREAM = "spark.readStream.schema('id INT').json('in')"


def test_every_form_is_taken(shared: SparkSession, tmp_path: Path) -> None:
    documented.write(tmp_path)
    (tmp_path / "freshline.yml").write_text(SETTINGS)
    documented.come(tmp_path, documented.FILES[0])
    found = analyse(Pipeline(tmp_path).project, shared)
    assert (found.errors, found.notes) == ([], [])
    assert {*documented.TABLES} < {*found.columns}


@pytest.mark.proof
def test_every_form_runs(shared: SparkSession, tmp_path: Path) -> None:
    documented.write(tmp_path)
    (tmp_path / "freshline.yml").write_text(SETTINGS)
    documented.come(tmp_path, documented.FILES[0])
    guide = Pipeline(tmp_path)
    run_here(guide, shared)
    project = guide.project
    # Two flows of different settings are tables of their own; the target is their union.
    parts = {"customers_us__append_west", "customers_us__append_east"}
    assert {table.name for table in project.tables} == {*documented.TABLES, *parts}
    found = {name: rows(project, name) for name in documented.TABLES}
    assert {name: len(each) for name, each in found.items()} == {
        "trips": 4, "trips_again": 4, "long_trips_by_zone": 3, "orders": 12, "customers": 4,
        "customer_orders": 12, "daily_orders_by_state": 4, "far_west_orders": 8,
        "east_orders": 4, "customers_us_west": 2, "customers_us_east": 1, "customers_us": 3,
        "sql_trips": 4, "sql_orders": 12, "sql_short_count": 1, "sql_customer_orders": 12,
        "sql_daily_orders_by_state": 4, "sql_customers_us": 3,
    }  # fmt: skip
    assert found["sql_daily_orders_by_state"] == found["daily_orders_by_state"]
    assert found["customers_us"] == [
        ("1", "Ada", "west"), ("2", "Bob", "west"), ("3", "Cy", "east"),
    ]  # fmt: skip
    assert found["long_trips_by_zone"] == [("None", "1"), ("a", "1"), ("b", "1")]
    assert found["sql_short_count"] == [("a", "1")]
    checks = list(verified(UtcSessions(shared), project, project.tables, "newest"))  # type: ignore[arg-type]
    assert {(check.outcome, check.reason) for check in checks if check.table != "sql_trips"} == {
        ("right", "")
    }
    (outside,) = (check for check in checks if check.table == "sql_trips")
    assert (outside.outcome, outside.reason.rsplit(", ", 1)[1]) == (
        "skipped", "which has no versions",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("python", "sql", "told"),
    [
        (
            'dp.create_sink("out", "parquet", {"path": "/x"})',
            "",
            (
                "[sink] t/a.py:2: out is a sink; a run keeps tables, and writes to nothing else."
                " Read the table's changes where they are wanted."
            ),
        ),
        (
            (
                'dp.create_streaming_table("t")\n'
                'dp.create_auto_cdc_flow(target="t", source="s", keys=["id"], sequence_by="at")'
            ),
            "",
            (
                "[auto-cdc] t/a.py:3: the flow into t applies changes (AUTO CDC); a table is its"
                " query over all data that came, in any order. Keep the changes in a streaming"
                " table, and take the newest of each key in a materialized view: max_by(struct(*),"
                " sequence) ... GROUP BY key."
            ),
        ),
        (
            "@dp.table\ndef rates():\n    return spark.readStream.format('rate').load()",
            "",
            (
                "[stream-refused] t/a.py:2: a stream of format rate is not taken; streams from"
                " outside are files of parquet, csv, json, Delta tables, and topics of Kafka."
                " Declare the feed rates_feed in a freshline.yml beside the pipeline, or load the"
                " data into files."
            ),
        ),
        (
            "@dp.table\ndef copied():\n    return spark.readStream.table('samples.taxi.trips')",
            "",
            (
                "[stream-refused] t/a.py:2: a stream reads the table samples.taxi.trips; a table"
                " outside the pipeline is named by its schema in spark_catalog. Load the table by"
                " its path: .format('delta').load(path)."
            ),
        ),
        (
            "",
            "CREATE STREAMING TABLE copied\nAS SELECT * FROM STREAM samples.taxi.trips;",
            (
                "[unknown-stream] t/b.sql:2: flow copied streams samples.taxi.trips, which is no"
                " table of the pipeline and no feed; what comes from outside is a feed, declared"
                " under `feeds:` in a freshline.yml beside the pipeline. Declare the feed trips:"
                " {kind: delta, path: PATH}, and read STREAM trips."
            ),
        ),
        (
            "@dp.table\ndef copied():\n    return spark.readStream.table('trips')",
            "",
            (
                "[unknown-stream] t/a.py:4: readStream.table('trips') names no dataset of the"
                " pipeline; a table outside the pipeline is streamed by its schema and its name."
                " Correct the name, or put the table's schema in front of it."
            ),
        ),
        (
            (
                "@dp.table\ndef copied():\n    return spark.readStream.format('delta')"
                ".option('skipChangeCommits', True).load('/lake/trips')"
            ),
            "",
            (
                "[stream-refused] t/a.py:2: a stream of a Delta table has the option"
                " skipChangeCommits; a table here equals its query over one version of the source:"
                " all of its rows, and the changed ones as they are now. Remove the option."
            ),
        ),
        (
            f"@dp.materialized_view\ndef v():\n    return {STREAM}",
            "",
            (
                "[view-reads-feed] t/a.py:2: the materialized view v streams from outside; only a"
                " streaming table loads a stream. Make it a streaming table, or read one that loads"
                " the stream."
            ),
        ),
        (
            f"@dp.temporary_view\ndef s():\n    return {STREAM}",
            "CREATE MATERIALIZED VIEW v AS\nSELECT id FROM s;",
            (
                "[view-reads-feed] t/b.sql:2: the materialized view v streams from outside; only a"
                " streaming table loads a stream. Make it a streaming table, or read one that loads"
                " the stream."
            ),
        ),
        (
            (
                f"@dp.temporary_view\ndef s():\n    return {STREAM}\n"
                "@dp.table\ndef v():\n    return spark.table('s').groupBy().count()"
            ),
            "",
            (
                "[not-row-wise] t/a.py:5: the function of v does more than pass on each record:"
                " Aggregate; each record of a stream makes its rows by itself. Keep the records in"
                " this table, and do the rest in a materialized view over it."
            ),
        ),
        (
            "",
            (
                "CREATE STREAMING TABLE t;\nCREATE MATERIALIZED VIEW s AS SELECT 1 AS a;\n"
                "CREATE FLOW f AS INSERT INTO t\nSELECT * FROM STREAM(s);"
            ),
            (
                "[by-position] t/b.sql:4: flow f inserts by the position of columns; the rows of a"
                " flow go by the names of their columns, under Spark too. Write INSERT INTO ... BY"
                " NAME SELECT ..."
            ),
        ),
        (
            (
                "@dp.materialized_view\ndef saved():\n"
                "    spark.range(3).write.saveAsTable('x')\n    return spark.range(3)"
            ),
            "",
            (
                "[changes-session] t/a.py:4: write.saveAsTable changes the session or writes data;"
                " definitions of a pipeline return DataFrames and do nothing else. Make a"
                " temporary view with @temporary_view, set what has to be set in the pipeline's"
                " configuration, or return the DataFrame."
            ),
        ),
        (
            (
                "@dp.materialized_view\ndef p():\n    rows = spark.range(3).groupBy()\n"
                "    return rows.pivot('id').count()"
            ),
            "",
            (
                "[pivot] t/a.py:5: pivot has no list of values, so the table's columns would be"
                " those of the moment; the columns of a dataset are the same in each of its"
                " versions. Name the values: pivot(column, [...])."
            ),
        ),
    ],
)
def test_what_is_not_taken_is_refused_with_its_line(pipeline, python, sql, told):
    refused = pipeline(f"{HEAD}{python}\n", sql)
    assert [error.render() for error in refused.errors] == [told]


def test_what_spark_would_refuse_and_we_take(pipeline, shared):
    """A streaming table of a batch query (the guide has one in its loop), and PIVOT in SQL."""
    taken = pipeline(
        f"""{HEAD}
for number in (1, 2):
    @dp.table(name=f"up_to_{{number}}")
    def counted(wanted=number):
        return spark.sql("SELECT id FROM STREAM numbers").where(f"id < {{wanted}}")
""",
        """
        CREATE MATERIALIZED VIEW numbers AS SELECT id, id % 2 AS odd FROM range(4);
        CREATE MATERIALIZED VIEW turned AS
          SELECT * FROM numbers PIVOT (count(id) AS n FOR odd IN (0, 1));
        """,
    )
    run_here(taken, shared)
    assert {table.name: rows(taken.project, table.name) for table in taken.project.tables
    } == {
        "numbers": [("0", "0"), ("1", "1"), ("2", "0"), ("3", "1")],
        "up_to_1": [("0",)],
        "up_to_2": [("0",), ("1",)],
        "turned": [("2", "2")],
    }  # fmt: skip
