"""A project whose settings of Spark change while nothing new arrives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from freshline.delta.log import last_commit
from freshline.project.load import load_project
from freshline.spark.engine.result_settings import settings_of
from freshline.spark.updates import SparkExecutor
from tests.spark.proof.support import Loaded, Seen, run_here
from tests.spark.views.proving import session_in

pytestmark = pytest.mark.spark

SETTINGS = """\
name: shop
storage: warehouse
libraries: [{glob: {include: 'tables/*.sql'}}]
maintenance: {trials: false, compact: false, vacuum: false, audit: 0}
feeds:
  f: {kind: files, path: in, format: json, schema: 'id BIGINT, price DECIMAL(38,10)'}
"""
TABLES = """\
CREATE STREAMING TABLE orders AS SELECT id, price FROM STREAM f;
CREATE MATERIALIZED VIEW squares AS SELECT id, price * price AS p FROM orders;
CREATE MATERIALIZED VIEW named AS SELECT id, '${spark.shop.who}' AS who FROM orders;
"""
PRECISE = "spark.sql.decimalOperations.allowPrecisionLoss"


class Shop:
    """The project in a folder, run under one setting after the other."""

    def __init__(self, root, spark):
        self.root, self.spark = root, spark
        (root / "in").mkdir()
        (root / "in" / "a.json").write_text('{"id": 1, "price": 1.5}\n')
        (root / "tables").mkdir()
        (root / "tables" / "all.sql").write_text(TABLES)

    def run(self, name: str, value: str) -> Seen:
        text = f"{SETTINGS}configuration: {{{name}: '{value}'}}\n"
        (self.root / "freshline.yml").write_text(text)
        self.project = load_project(self.root)
        return run_here(Loaded(self.root, self.project), self.spark)

    def facts(self, view: str) -> Mapping[str, Any]:
        commit = last_commit(self.project.table_path(view))
        assert commit is not None
        return commit.metadata


@pytest.fixture
def shop(tmp_path, spark):
    return Shop(tmp_path, spark)


def test_views_are_made_again_at_the_next_start(shop):
    shop.run(PRECISE, "true")
    assert shop.run(PRECISE, "true").done == []
    seen = shop.run(PRECISE, "false")
    assert sorted(seen.done) == ["named", "squares"]
    assert shop.facts("squares")["reason"] == "settings-changed"
    told = "2 views are rebuilt, since settings of Spark that decide rows have changed: named, "
    assert told + "squares" in seen.notices
    assert shop.run(PRECISE, "false").done == []


def test_what_is_about_speed_makes_none_again(shop):
    shop.run("spark.sql.shuffle.partitions", "2")
    assert shop.run("spark.sql.shuffle.partitions", "3").done == []


def test_a_view_with_a_variable_is_made_again_where_its_value_is_another(shop, spark):
    shop.run("spark.shop.who", "ann")
    ann, bob = (session_in(spark, "UTC", {"spark.shop.who": who}) for who in ("ann", "bob"))
    made = {
        name: {"plan": None, "settings": settings_of(ann, shop.project, shop.project.table(name))}
        for name in ("named", "squares")
    }
    assert SparkExecutor(shop.project, ann).made_otherwise(made) == []
    assert SparkExecutor(shop.project, bob).made_otherwise(made) == ["named"]
