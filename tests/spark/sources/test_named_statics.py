"""A static table that a view names by the catalog changes while nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pytest

from freshline.delta.log import last_commit
from freshline.project.load import load_project
from freshline.project.model import Project
from tests.spark.proof.support import Seen, run_here

pytestmark = pytest.mark.spark

SETTINGS = """\
name: named
storage: warehouse
maintenance: {trials: false, compact: false, vacuum: false, audit: 0}
libraries: [{glob: {include: tables/*.sql}}]
spark: {master: "local[2]"}
feeds:
  orders_feed: {kind: files, path: feed, format: csv, schema: "id BIGINT, usr BIGINT"}
"""
TABLES = """\
CREATE STREAMING TABLE orders AS SELECT * FROM STREAM orders_feed;
CREATE MATERIALIZED VIEW by_name AS
  SELECT u.name, count(*) AS n FROM orders o JOIN named_statics.users u ON o.usr = u.id GROUP BY 1;
"""


@dataclass
class NamedShop:
    root: Path
    spark: Any

    @property
    def project(self) -> Project:
        return load_project(self.root)

    def run(self) -> Seen:
        return run_here(self, self.spark)

    def view(self) -> dict[str, int]:
        found = deltalake.DeltaTable(self.project.table_path("by_name")).to_pyarrow_table()
        return {row["name"]: row["n"] for row in found.to_pylist()}

    def pin(self) -> int:
        commit = last_commit(self.project.table_path("by_name"))
        assert commit is not None
        return int(commit.metadata["parents"]["named_statics.users"])


@pytest.fixture
def shop(tmp_path, spark) -> Iterator[NamedShop]:
    for folder in ("tables", "feed"):
        (tmp_path / folder).mkdir()
    (tmp_path / "freshline.yml").write_text(SETTINGS)
    (tmp_path / "tables" / "all.sql").write_text(TABLES)
    (tmp_path / "feed" / "1.csv").write_text("1,1\n2,1\n3,2\n")
    spark.sql("CREATE DATABASE IF NOT EXISTS named_statics")
    make_users(spark, tmp_path / "users", "ann", "bob")
    yield NamedShop(tmp_path, spark)
    spark.sql("DROP TABLE IF EXISTS named_statics.users")


def make_users(spark, place, *names):
    spark.sql("DROP TABLE IF EXISTS named_statics.users")
    spark.sql(
        f"CREATE TABLE named_statics.users (id BIGINT, name STRING) USING delta LOCATION '{place}'"
    )
    rows = ", ".join(f"({number}, '{name}')" for number, name in enumerate(names, 1))
    spark.sql(f"INSERT INTO named_statics.users VALUES {rows}")


def test_the_view_follows(shop):
    assert shop.run().done == ["orders", "by_name"]
    assert (shop.view(), shop.pin()) == ({"ann": 2, "bob": 1}, 1)
    assert shop.run().done == []
    shop.spark.sql("UPDATE named_statics.users SET name = 'eve' WHERE id = 2")
    assert shop.run().done == ["by_name"]
    assert (shop.view(), shop.pin()) == ({"ann": 2, "eve": 1}, 2)
    # Another table under the name, with as many versions.
    make_users(shop.spark, shop.root / "others", "zoe", "yan")
    shop.spark.sql("UPDATE named_statics.users SET name = 'xia' WHERE id = 2")
    assert shop.run().done == ["by_name"]
    assert (shop.view(), shop.pin()) == ({"zoe": 2, "xia": 1}, 2)
    assert shop.run().done == []
