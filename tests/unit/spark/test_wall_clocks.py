"""Where Spark may make a condition on a column of one on a cast of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from freshline.core.errors import Place
from freshline.project.model import TableDef
from freshline.spark.engine.own_session import own_session

RULES = "spark.sql.optimizer.excludedRules"
UNWRAPS = "org.apache.spark.sql.catalyst.optimizer.UnwrapCastInBinaryComparison"


class Conf(dict[str, str]):
    """Of a session: what is set."""

    def set(self, name: str, value: str) -> None:
        self[name] = value


def excluded(zone: str, settings: dict[str, str] | None = None, rules: str = "mine") -> str:
    """The rules that are excluded in a table's own session."""
    conf = Conf({"spark.sql.session.timeZone": zone, RULES: rules})
    conf["spark.sql.parquet.outputTimestampType"] = "TIMESTAMP_MICROS"
    here = Place("tables.sql", 1)
    table = TableDef("v", "derived", "SELECT 1", here, here, settings=settings or {})
    session = SimpleNamespace(newSession=lambda: SimpleNamespace(conf=conf))
    own_session(session, table)  # type: ignore[arg-type]
    return conf[RULES]


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/St_Johns", "Africa/Cairo", "Asia/Tokyo"]
)
def test_a_condition_stays_above_a_cast_where_clocks_were_ever_changed(zone):
    assert excluded(zone) == f"mine,{UNWRAPS}"
    assert excluded(zone, rules="") == UNWRAPS
    assert excluded("UTC", {"spark.sql.session.timeZone": zone}) == f"mine,{UNWRAPS}"


@pytest.mark.parametrize("zone", ["UTC", "+02:00", "Etc/GMT-3"])
def test_elsewhere_spark_may_move_it(zone):
    assert excluded(zone) == "mine"
