"""A pipeline of Python and SQL runs here as it is, and each version of its tables is its query."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import deltalake
import pytest
from pyspark.pipelines.init_cli import init

from freshline.core.errors import PlatformError
from freshline.executor.report_records import BatchRequest, Window
from freshline.importing.pipelines.load import collect
from freshline.project.model import Project
from freshline.spark.pipelines.programs import register_programs
from freshline.spark.verification.run import verified
from tests.spark.pipelines.conftest import SETTINGS
from tests.spark.proof.support import Kept, UtcSessions, run_here
from tests.support.pipelines import Pipeline

pytestmark = pytest.mark.spark

PYTHON = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession, functions as F

session = SparkSession.active()


@dp.table(comment="raw", table_properties={"freshline.priority": "3"})
def orders() -> DataFrame:
    rows = spark.readStream.format("json").schema("id BIGINT, at TIMESTAMP, price DOUBLE")
    rows = rows.option("maxFilesPerTrigger", 1).load("in")
    return rows.where("price > 0").withColumn("day", F.to_date("at"))


@dp.temporary_view
def dear():
    return SparkSession.active().read.table("orders").filter("price > 2")


@dp.materialized_view(schema="day DATE COMMENT 'in UTC', total DECIMAL(10,2)")
def totals():
    return session.sql("SELECT day, sum(price) AS total FROM orders GROUP BY day")


dp.create_streaming_table("both")


@dp.append_flow(target="both")
def first():
    return spark.readStream.table("orders").select("id", "price")


@dp.append_flow(target="both")
def second():
    named = spark.readStream.table("spark_catalog.default.orders")
    more = F.udf(lambda number: number + 1, "long")
    return named.select((F.col("price") * 2).alias("price"), more("id").alias("id"))


@dp.materialized_view
def numbers():
    return spark.range(4)
"""
SQL = """\
CREATE MATERIALIZED VIEW by_day AS SELECT day, count(*) AS n FROM orders GROUP BY day;
CREATE MATERIALIZED VIEW dears AS SELECT count(*) AS n FROM dear;
CREATE TEMPORARY VIEW some AS SELECT id FROM numbers WHERE id % 2 = 0;
CREATE MATERIALIZED VIEW even AS SELECT * FROM some;
"""


def rows(project: Project, table: str) -> list[tuple[str, ...]]:
    """All rows of a table, as texts, in order."""
    found = deltalake.DeltaTable(project.table_path(table)).to_pyarrow_table().to_pylist()
    return sorted(tuple(str(value) for value in row.values()) for row in found)


def test_python_and_sql_run_together(pipeline, spark):
    mixed = pipeline(PYTHON, SQL)
    mixed.come("a.json", row(1, "01", 2.5), row(2, "01", 1.5), row(3, "02", -1.0))
    run_here(mixed, spark)
    mixed.come("b.json", row(4, "02", 4.0))
    run_here(mixed, spark)
    project = mixed.project
    found = {table.name: rows(project, table.name) for table in project.tables}
    totals = spark.read.format("delta").load(project.table_path("totals")).schema
    assert [each.metadata.get("comment") for each in totals] == ["in UTC", None]
    assert [each[0] for each in found.pop("orders")] == ["1", "2", "4"]
    assert found == {
        "totals": [("2026-01-01", "4.00"), ("2026-01-02", "4.00")],
        "both": [
            ("1", "2.5"), ("2", "1.5"), ("2", "5.0"), ("3", "3.0"), ("4", "4.0"), ("5", "8.0"),
        ],
        "numbers": [("0",), ("1",), ("2",), ("3",)],
        "by_day": [("2026-01-01", "2"), ("2026-01-02", "1")],
        "dears": [("2",)],
        "even": [("0",), ("2",)],
    }  # fmt: skip
    checks = list(verified(UtcSessions(spark), project, project.tables, "newest"))  # type: ignore[arg-type]
    assert {check.table: (check.outcome, check.reason) for check in checks} == dict.fromkeys(
        ["orders", *found], ("right", "")
    )
    looked, errors = collect(mixed.root, mixed.root, analyse=False)
    assert errors == []
    assert looked is not None
    assert looked.tables == project.tables


def row(number: int, day: str, price: float) -> dict[str, Any]:
    return {"id": number, "at": f"2026-01-{day}T10:00:00", "price": price}


HEAD = "from pyspark import pipelines as dp\nfrom pyspark.sql import functions as F\n"
OWN_MODULE = (
    "import pathlib, sys\n"
    "sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'own'))\n"
    "from helper_of_a import save\n"
    "from concurrent.futures import ThreadPoolExecutor\n"
    "from delta.tables import DeltaTable\n"
    "def in_a_thread(work): return ThreadPoolExecutor(1).submit(work).result()\n"
)
WRITES = (
    "DeltaTable.create(spark).location('out').addColumn('a', 'INT').execute()",
    "DeltaTable.convertToDelta(spark, 'parquet.`out`')",
    "spark.range(2).rdd.saveAsTextFile('out')",
    "spark.range(2).foreach(print)",
    "spark.range(2).foreachPartition(print)",
    "spark.sparkContext.addFile('/etc/hostname')",
    "spark.sparkContext.setLocalProperty('a', 'b')",
    "spark.sparkContext.stop()",
    "spark.stop()",
    "spark.range(1).sparkSession.interruptAll()",
    "spark.streams.resetTerminated()",
    "spark._jsparkSession.sql('CREATE TABLE out USING delta AS SELECT 1 AS a')",
    "spark.range(1).sparkSession._jsparkSession.stop()",
    "j = spark.range(1)._jdf; j.toString()",
    "spark.sql(\"SELECT reflect('java.lang.System', 'setProperty', 'x', 'y')\").collect()",
    "spark.range(1).selectExpr(\"java_method('java.lang.System', 'gc')\").collect()",
    "spark.range(1).select(F.expr(\"reflect('java.lang.System', 'gc')\")).collect()",
    "spark.range(1).select(F.reflect(F.lit('java.lang.System'), F.lit('gc'))).collect()",
    "in_a_thread(lambda: getattr(spark.range(1), 'write').save('out'))",
)
STREAM = "spark.readStream.schema('id INT').json('in')"


def test_what_a_function_may_not_do_is_told_with_its_line(pipeline):
    refused = pipeline(
        f"""{HEAD}
dp.create_sink("out", "kafka", {{}})

@dp.table
def grouped():
    return {STREAM}.groupBy("id").count()

@dp.table
def joined():
    return {STREAM}.join(spark.table("plain"), "id")

@dp.materialized_view
def nothing():
    return 1

@dp.materialized_view
def broken():
    return spark.table("plain").select("nope")

@dp.table
def rates():
    return spark.readStream.format("rate").load()

@dp.table
def pattern():
    return spark.readStream.schema("id INT").json("in/*.json")
""",
        "CREATE MATERIALIZED VIEW plain AS SELECT 1 AS id;",
    )
    assert [(error.code, str(error.where)) for error in refused.errors] == [("sink", "t/a.py:4")]
    text = (refused.root / "t" / "a.py").read_text().replace("dp.create_sink", "dict")
    (refused.root / "t" / "a.py").write_text(text.replace('"out", "kafka", {}', ""))
    assert [(error.code, str(error.where), error.what) for error in refused.errors] == [
        ("not-row-wise", "t/a.py:6",
         "the function of grouped does more than pass on each record: Aggregate"),
        ("one-feed", "t/a.py:10",
         "the function of joined joins a stream from outside with plain"),
        ("no-dataframe", "t/a.py:14", "the function of nothing returns no DataFrame"),
        ("python-failed", "t/a.py:20", refused.errors[3].what),
        ("stream-refused", "t/a.py:22", "a stream of format rate is not taken"),
        ("stream-refused", "t/a.py:26", "a stream reads the pattern in/*.json"),
    ]  # fmt: skip
    assert "nope" in refused.errors[3].what


def test_a_thread_that_outlives_its_function_does_not_read_in_its_name(pipeline):
    read = "asked.put(1)\n    return answered()"
    refused = pipeline(
        f"""{HEAD}from queue import Queue
from threading import Thread
asked, told = Queue(), Queue()

def answer():
    while asked.get():
        try:
            told.put(spark.table('plain'))
        except BaseException as error:
            return told.put(error)

def answered():
    found = told.get()
    if isinstance(found, BaseException):
        raise found
    return found

@dp.materialized_view
def first():
    Thread(target=answer, daemon=True).start()
    {read}

@dp.materialized_view
def second():
    {read}
""",
        "CREATE MATERIALIZED VIEW plain AS SELECT 1 AS id;",
    )
    # By `first` too where the thread of its first call answers in its second one.
    told = {(error.code, str(error.where)) for error in refused.errors}
    assert told == {("no-session", "t/a.py:10")}


def test_functions_that_read_each_other_are_told_once_with_all_names(pipeline):
    reads = {"one": "two", "Two": "by_sql", "own": "own", "beside": "one"}
    functions = [
        f"@dp.materialized_view\ndef {name}():\n    return spark.table('{other}')\n"
        for name, other in reads.items()
    ]
    refused = pipeline(
        HEAD + "\n".join(functions), "CREATE MATERIALIZED VIEW by_sql AS SELECT * FROM one;"
    )
    told = "views read each other in a circle: "
    assert [(error.code, error.what) for error in refused.errors] == [
        ("circle", f"{told}one (t/a.py:3) reads Two (t/a.py:7) reads by_sql reads one"),
        ("circle", f"{told}own (t/a.py:11) reads own"),
        ("unknown-columns",
         "beside reads one, whose columns are not known: it is read in a circle"),
    ]  # fmt: skip


def test_what_the_text_does_not_show_is_refused_when_it_is_called(pipeline):
    """Spark's methods under other names, and in a module that the file imports."""
    forbidden = (
        "w = spark.range(2).write; w.save('out')",
        "s = spark.range(2); getattr(s, 'write').format('delta').save('out')",
        "c = spark.conf; c.set('spark.sql.ansi.enabled', 'false')",
        "u = spark.udf; u.register('f', lambda x: x)",
        "g = spark.range(2).createOrReplaceTempView; g('v')",
        "save(spark.range(2))",
        "t = spark.range(2).writeTo; t('x').create()",
        "spark.range(2).sparkSession.sql('CREATE VIEW v AS SELECT 1')",
        "spark.newSession().sql('DROP TABLE IF EXISTS v')",
        *WRITES,
    )
    functions = [
        f"@dp.materialized_view\ndef v{number}():\n    {code}\n    return spark.range(2)\n"
        for number, code in enumerate(forbidden)
    ]
    refused = pipeline(f"{OWN_MODULE}{HEAD}" + "\n".join(functions))
    (refused.root / "own").mkdir()
    (refused.root / "own" / "helper_of_a.py").write_text(
        "def save(frame):\n    frame.write.format('delta').save('out')\n"
    )
    told = [error.code for error in refused.errors]
    assert told == ["changes-session"] * len(forbidden), [str(each) for each in refused.errors]
    first, helped = refused.errors[0], refused.errors[5]
    assert str(first) == (
        "[changes-session] t/a.py:11: write changes the session or writes data; definitions of a"
        " pipeline return DataFrames and do nothing else. Make a temporary view with"
        " @temporary_view, set what has to be set in the pipeline's configuration, or return the"
        " DataFrame."
    )
    assert str(helped.where) == "own/helper_of_a.py:2"
    assert not (refused.root / "out").exists()


def test_a_query_may_name_dataframes(pipeline, spark):
    """Spark makes views of them, for the query alone."""
    text = """
@dp.materialized_view
def n():
    return spark.sql("SELECT id + {by} AS x FROM {rows}", rows=spark.range(2), by=1)

@dp.materialized_view
def m():
    return spark.range(2).sparkSession.sql(sqlQuery="SELECT 1 AS x")

@dp.materialized_view
def named():
    return spark.sql("SELECT x + :more AS x FROM n WHERE x > :least", args={"more": 10, "least": 1})

@dp.materialized_view
def placed():
    return spark.sql("SELECT x + ? AS x FROM n WHERE x >= ?", [20, 2])
"""
    found = pipeline(f"{HEAD}{text}")
    assert found.errors == []
    for name, rows in (("n", [1, 2]), ("m", [1]), ("named", [12]), ("placed", [22])):
        own = spark.newSession()
        own.range(1, 3).withColumnRenamed("id", "x").createOrReplaceTempView("n")
        register_programs(own, found.project, found.project.table(name))
        assert sorted(row.x for row in own.table(name).collect()) == rows


def test_a_run_goes_on_with_the_functions_of_its_start(pipeline, spark, monkeypatch):
    text = f"{HEAD}@dp.materialized_view\ndef n():\n    return spark.range(2)\n"
    lone = pipeline(text)
    project = lone.project
    (lone.root / "t" / "a.py").write_text(text.replace("2", "3"))
    own = spark.newSession()
    register_programs(own, project, project.table("n"))
    assert own.table("n").count() == 2
    monkeypatch.setattr("freshline.spark.pipelines.modules._IMPORTED", {})
    with pytest.raises(PlatformError) as raised:
        register_programs(own, project, project.table("n"))
    assert str(raised.value) == (
        "[definition-gone] t/a.py:3: the file with the function of n changed; the files of a"
        " pipeline are read when a run starts. Start the run again."
    )


def test_a_report_is_made_by_a_function_under_its_own_settings(pipeline, spark):
    """A window's rows are what the function reads, in the zone that its flow sets."""
    orders = f"""{HEAD}
@dp.table(table_properties={{"freshline.time": "at"}})
def orders():
    return spark.readStream.schema("id BIGINT, at TIMESTAMP, price DOUBLE").json("in")
"""
    reported = pipeline(orders)
    reported.come("a.json", at("01T02:00"), at("01T20:00"), at("02T03:00"))
    run_here(reported, spark)
    reported = pipeline(
        f"""{orders}
@dp.materialized_view(
    table_properties={{"freshline.window": "1 day", "freshline.deadline": "06:00 UTC"}},
    spark_conf={{"spark.sql.session.timeZone": "Asia/Tokyo"}},
)
def days():
    return spark.table("orders").groupBy(F.to_date("at").alias("day")).count()
""",
        """
        SET spark.sql.session.timeZone = America/New_York;
        CREATE MATERIALIZED VIEW sql_days
          TBLPROPERTIES ('freshline.window' = '1 day', 'freshline.deadline' = '06:00 UTC')
          AS SELECT to_date(at) AS day, count(*) AS n FROM orders GROUP BY 1;
        """,
    )
    project = reported.project
    start_s = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    executor = Kept(reported, spark)
    told = {}
    for table in project.reports:
        window = Window(table, start_s, start_s + 86400.0, start_s + 108000.0, "abc")
        result = executor.run_batch(BatchRequest(window, {"orders": 0}, final=True))
        told[table.name] = (result.code, rows(project, table.name))
    assert told == {
        "days": ("PYTHON", [("2026-01-01", "1"), ("2026-01-02", "1")]),
        "sql_days": ("", [("2025-12-31", "1"), ("2026-01-01", "1")]),
    }


def at(moment: str) -> dict[str, Any]:
    return {"id": 1, "at": f"2026-01-{moment}:00", "price": 1.0}


@pytest.mark.usefixtures("shared")
def test_the_template_of_spark_pipelines_runs_as_it_is(tmp_path, spark, monkeypatch):
    monkeypatch.chdir(tmp_path)
    init("demo")
    demo = Pipeline(tmp_path / "demo")
    (demo.root / "freshline.yml").write_text(SETTINGS)
    run_here(demo, spark)
    ids = [(str(number),) for number in range(10)]
    assert rows(demo.project, "example_python_materialized_view") == ids
    assert rows(demo.project, "example_sql_materialized_view") == ids[::2]
