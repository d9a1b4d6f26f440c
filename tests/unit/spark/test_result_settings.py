"""Which settings of Spark a view's commit names: those that decide its rows."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from freshline.project.model import Project, TableDef
from freshline.spark.engine.result_settings import settings_of, surely_differ

ALWAYS = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}
TABLE: TableDef = SimpleNamespace(  # type: ignore[assignment] # nothing but its query is asked for
    query="SELECT count(*) AS n FROM orders", programs=()
)


def told(tmp_path, name: str, value: str) -> bool:
    """Whether the commit of a view names this setting of its project."""
    project = Project("p", tmp_path, str(tmp_path / "w"), (), {}, {name: value})
    found = {**ALWAYS, name: value}
    session = SimpleNamespace(conf=SimpleNamespace(get=lambda key, _default=None: found[key]))
    settings = settings_of(session, project, TABLE)  # type: ignore[arg-type] # as the session
    assert settings.items() >= ALWAYS.items()
    return settings.get(name) == value


@pytest.mark.parametrize(
    "name",
    [
        "optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled",
        "optimizer.decorrelateExistsSubqueryLegacyIncorrectCountHandling.enabled",
        "optimizer.decorrelateUnionOrSetOpUnderLimit.enabled",
        "optimizer.scalarSubqueryUseSingleJoin",
        "optimizer.metadataOnly",
        "optimizer.enableJsonExpressionOptimization",
        "optimizer.ofALaterVersion",
        "execution.pythonUDF.arrow.enabled",
        "execution.pandas.convertToArrowArraySafely",
        "execution.pyspark.binaryAsBytes",
        "decimalOperations.allowPrecisionLoss",
    ],
)
def test_what_decides_rows_is_named(tmp_path, name):
    assert told(tmp_path, f"spark.sql.{name}", "false")


@pytest.mark.parametrize(
    "name",
    [
        "optimizer.excludedRules",
        "optimizer.dynamicPartitionPruning.enabled",
        "optimizer.runtime.bloomFilter.enabled",
        "optimizer.windowGroupLimitThreshold",
        "execution.arrow.maxRecordsPerBatch",
        "execution.reuseSubquery",
        "execution.pyspark.udf.simplifiedTraceback.enabled",
        "adaptive.enabled",
        "shuffle.partitions",
    ],
)
def test_what_is_about_speed_is_not_named(tmp_path, name):
    assert not told(tmp_path, f"spark.sql.{name}", "8")


LOSES = {"spark.sql.decimalOperations.allowPrecisionLoss": "false"}


@pytest.mark.parametrize(
    "now", [ALWAYS | {"spark.sql.session.timeZone": "Asia/Tokyo"}, ALWAYS | LOSES, {}]
)
def test_a_setting_that_is_another_one_is_told_from_the_commit(now):
    assert surely_differ({"plan": None, "settings": ALWAYS}, now, TABLE)


@pytest.mark.parametrize(
    ("facts", "now"),
    [
        ({"plan": None}, ALWAYS),
        ({"settings": ALWAYS}, ALWAYS | LOSES),
        ({"plan": None, "settings": ALWAYS | {"spark.sql.shuffle.partitions": "2"}}, ALWAYS),
        (
            {"plan": None, "settings": ALWAYS | {"spark.sql.parquet.filterPushdown": "false"}},
            ALWAYS | {"spark.sql.parquet.filterPushdown": "true"},
        ),
    ],
    ids=["says none", "of a version that said fewer", "about speed", "set by updates themselves"],
)
def test_a_commit_that_says_less_or_more_makes_nothing_anew_by_itself(facts, now):
    assert not surely_differ(facts, now, TABLE)


@pytest.mark.parametrize(
    ("variable", "differs"),
    [
        ("spark.shop.region", True),
        ("env:REGION", True),
        ("spark.app.id", False),
        ("spark.app.startTime", False),
        ("spark.driver.port", False),
        ("spark:spark.driver.host", False),
    ],
)
def test_a_variable_that_each_start_changes_makes_nothing_anew_by_itself(variable, differs):
    query = f"SELECT '${{{variable}}}' AS v, count(*) AS n FROM orders"
    table: TableDef = SimpleNamespace(query=query, programs=())  # type: ignore[assignment] # as above
    then, now = ({**ALWAYS, "${}": value} for value in ("a", "b"))
    assert surely_differ({"plan": None, "settings": then}, now, table) == differs
    assert surely_differ({"plan": None, "settings": then}, {**now, **LOSES}, table)
