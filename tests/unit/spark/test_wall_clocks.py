"""When Spark may move a condition on a column below the cast that makes the column."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from freshline.spark.engine.columns import keep_wall_clocks

RULES = "spark.sql.optimizer.excludedRules"
UNWRAPS = "org.apache.spark.sql.catalyst.optimizer.UnwrapCastInBinaryComparison"
WALL = '[{"class": "Cast", "dataType": "timestamp"}, {"name": "wall", "dataType": "timestamp_ntz"}]'
INSTANT = '[{"name": "at", "dataType": "timestamp"}]'


class Conf(dict[str, str]):
    """Of a session: what is set."""

    def set(self, name: str, value: str) -> None:
        self[name] = value


def excluded(zone: str, kind: str, plan: str) -> str:
    """The rules that are excluded for a condition on a column of a query with this plan."""
    conf = Conf({"spark.sql.session.timeZone": zone, RULES: "mine"})
    session = SimpleNamespace(conf=conf)
    analyzed = SimpleNamespace(toJSON=lambda: plan)
    planned = SimpleNamespace(analyzed=lambda: analyzed)
    output = SimpleNamespace(_jdf=SimpleNamespace(queryExecution=lambda: planned))
    keep_wall_clocks(session, (each for each in ["bigint", kind]), output)  # type: ignore[arg-type] # as both
    return conf[RULES]


@pytest.mark.parametrize(
    ("zone", "kind", "plan"),
    [
        ("Europe/Berlin", "timestamp", WALL),  # 02:30 in March is 03:30
        ("Europe/Berlin", "timestamp_ntz", INSTANT),  # 02:30 in October comes twice
        ("America/St_Johns", "date", INSTANT),
        ("Africa/Cairo", "date", WALL),  # 00:30 in April is 01:30, the date's first instant
    ],
)
def test_a_condition_stays_above_a_cast_that_clocks_bend(zone, kind, plan):
    assert excluded(zone, kind, plan) == f"mine,{UNWRAPS}"


@pytest.mark.parametrize(
    ("zone", "kind", "plan"),
    [
        ("UTC", "timestamp", WALL),
        ("+02:00", "timestamp", WALL),
        ("Europe/Berlin", "timestamp", INSTANT),
        ("Europe/Berlin", "date", INSTANT),
    ],
)
def test_elsewhere_spark_may_move_it(zone, kind, plan):
    assert excluded(zone, kind, plan) == "mine"
