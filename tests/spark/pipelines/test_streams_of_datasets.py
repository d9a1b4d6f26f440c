"""What a streaming table over datasets of the pipeline cannot be is refused, or told."""

from __future__ import annotations

import pytest

from freshline.sql.text.appended import CORRECTED
from tests.spark.pipelines.test_pipeline import HEAD

pytestmark = pytest.mark.spark

ORDERS = f"""{HEAD}
@dp.table
def orders():
    return spark.readStream.schema("id BIGINT, cust INT, at TIMESTAMP").json("in")

@dp.materialized_view
def customers():
    return spark.range(3).selectExpr("CAST(id AS INT) AS cust", "concat('c', id) AS name")
"""
STREAM = "spark.readStream.table('orders')"


def function(body: str, name: str = "t", kind: str = "table") -> str:
    return f"{ORDERS}\n@dp.{kind}\ndef {name}():\n    return {body}\n"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"{STREAM}.withColumn('loaded', F.current_timestamp())", "asks the clock, or who runs it"),
        (f"{STREAM}.withColumn('r', F.rand())", "depends on chance"),
        (f"{STREAM}.limit(3)", "takes some of the rows: GlobalLimit"),
        (
            f"{STREAM}.withWatermark('at', '1 hour').groupBy(F.window('at', '1 hour')).count()",
            "has a watermark that decides which rows are written",
        ),
        (
            f"{STREAM}.withWatermark('at', '1 hour').dropDuplicatesWithinWatermark(['id'])",
            "has a watermark that decides which rows are written",
        ),
        (
            (
                "spark.sql('SELECT count(*) AS n FROM STREAM orders WATERMARK at DELAY OF"
                " INTERVAL 1"
                " HOUR GROUP BY cust')"
            ),
            "has a watermark that decides which rows are written",
        ),
    ],
)
def test_what_depends_on_when_rows_came_is_refused_in_python(pipeline, body, told):
    (error,) = pipeline(function(body)).errors
    assert error.render().startswith(
        f"[not-appended] t/a.py:12: the function of t streams a table of the pipeline and {told}; a"
        " table that streams tables of the project is its query over all of their rows, and knows"
        " nothing of when they came. "
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            f"{STREAM}.join(spark.table('customers'), 'cust', 'left')",
            "it reads customers beside what it streams",
        ),
        (
            f"{STREAM}.dropDuplicates(['cust'])",
            "it does more than pass on each row (Deduplicate)",
        ),
        (f"{STREAM}.groupBy('cust').count()", "it does more than pass on each row (Aggregate)"),
        (
            f"{STREAM}.join({STREAM}.selectExpr('id AS other'), F.expr('id = other'))",
            "it does more than pass on each row (Join)",
        ),
        (f"{STREAM}.where('id > 1').union({STREAM}).withWatermark('at', '1 hour')", None),
        ("spark.table('orders').groupBy('cust').count()", None),
    ],
)
def test_what_is_corrected_here_is_told_of_python(pipeline, body, told):
    notes = pipeline(function(body)).project.warnings
    wanted = [] if told is None else [f"t/a.py:12: streaming table t: {told}: {CORRECTED}"]
    assert [each for each in notes if "streaming table" in each] == wanted


def test_a_watermark_of_a_temporary_view_is_known_to_those_that_read_it(pipeline):
    marked = function(f"{STREAM}.withWatermark('at', '1 hour')", "u", "temporary_view")
    view = f"{marked}\n@dp.temporary_view\ndef v():\n    return spark.table('u').where('id > 1')\n"
    counted = "\n@dp.table\ndef n():\n    return spark.table('v').groupBy('cust').count()\n"
    refused = pipeline(
        f"{view}{counted}",
        "CREATE TEMPORARY VIEW w AS SELECT * FROM STREAM orders WATERMARK at DELAY OF INTERVAL 1"
        " HOUR;",
    )
    assert [(error.code, str(error.where)) for error in refused.errors] == [
        ("not-appended", "t/a.py:20")
    ]
    (refused.root / "t" / "a.py").write_text(view + counted.replace("'v'", "'w'"))
    assert [(error.code, str(error.where)) for error in refused.errors] == [
        ("not-appended", "t/a.py:20")
    ]
    (refused.root / "t" / "a.py").write_text(view)
    (refused.root / "t" / "b.sql").write_text(
        "CREATE STREAMING TABLE n AS\nSELECT count(*) AS n FROM v;"
    )
    assert [(error.code, str(error.where)) for error in refused.errors] == [
        ("not-appended", "t/b.sql:2")
    ]


@pytest.mark.parametrize(
    ("view", "told"),
    [("SELECT cust, count(*) AS n FROM STREAM orders GROUP BY cust", "GROUP BY groups records"),
     ("SELECT cust FROM STREAM orders LIMIT 3", None)],
)  # fmt: skip
def test_a_temporary_view_of_sql_hands_on_what_it_is(pipeline, view, told):
    read = pipeline(function("spark.table('w')"), f"CREATE TEMPORARY VIEW w AS {view};")
    if told is None:
        assert [(error.code, str(error.where)) for error in read.errors] == [
            ("not-appended", "t/a.py:12")
        ]
    else:
        assert f"t/a.py:12: streaming table t: {told}: {CORRECTED}" in read.project.warnings


def test_a_temporary_view_of_python_hands_on_what_it_is(pipeline):
    view = function(f"{STREAM}.groupBy('cust').count()", "v", "temporary_view")
    text = f"{view}\n@dp.table\ndef p():\n    return spark.readStream.table('v')\n"
    text += "\n@dp.table\ndef q():\n    return spark.readStream.table('p')\n"
    read = pipeline(text, "CREATE STREAMING TABLE s AS\nSELECT cust FROM STREAM v;")
    what = f"it does more than pass on each row (Aggregate): {CORRECTED}"
    assert {each for each in read.project.warnings if "streaming table" in each} == {
        f"t/a.py:16: streaming table p: {what}",
        f"t/b.sql:2: streaming table s: {what}",
    }
