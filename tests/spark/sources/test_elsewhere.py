"""What a warehouse reads elsewhere: a Delta table of others on S3, a table of another catalog.

The writer of the Delta table is delta-rs; the other catalog is Spark's own for JDBC, over Derby.
The warehouse itself is on the disk (tests/spark/proof/test_on_s3.py has all of one on S3).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyspark
import pytest

import freshline
from freshline.delta.stores import delta_table, storage_options, use
from tests.support.s3_server import S3Server
from tests.support.s3_spark import PACKAGES, WITHOUT, s3_jars

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(1800)]

SOURCE = "s3a://lake/theirs/clicks"
SQL = {
    "clicks": "CREATE STREAMING TABLE clicks AS SELECT id, product FROM STREAM clicks_feed;",
    "by_title": "CREATE MATERIALIZED VIEW by_title AS SELECT p.title, count(*) AS n"
    " FROM clicks c JOIN erp.app.products p ON p.id = c.product GROUP BY p.title;",
}
ASK = """\
import sys
import zipfile
from pathlib import Path
from freshline.project.load import load_project
from freshline.spark.engine.session import start_session
session = start_session(load_project(Path.cwd()))
for statement in sys.argv[1:]:
    session.sql(statement)
"""


class Reader:
    """A project that reads elsewhere."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def process(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(Path(freshline.__file__).parents[1])},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def run(self) -> str:
        done = self.process("-m", "freshline", "run", "--until-idle", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        found = delta_table(str(self.root / "warehouse" / table)).to_pyarrow_table().to_pylist()
        return sorted(tuple(row.values()) for row in found)

    def wrong(self) -> dict[str, list[Any]]:
        """What ``freshline verify`` found, by table."""
        checked = json.loads(self.process("-m", "freshline", "verify", "--json").stdout)
        return {name: each["wrong"] for name, each in checked["tables"].items()}


class World(Reader):
    """A project that reads elsewhere, and those who write there."""

    def __init__(self, root: Path, server: S3Server) -> None:
        super().__init__(root)
        derby = f"jdbc:derby:;databaseName={root / 'erp'}"
        catalog = {
            "spark.sql.catalog.erp": (
                "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
            ),
            "spark.sql.catalog.erp.url": f"{derby};create=true",
            "spark.sql.catalog.erp.driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
        }
        settings = server.settings | WITHOUT | catalog
        (root / "tables").mkdir(parents=True)
        for name, text in SQL.items():
            (root / "tables" / f"{name}.sql").write_text(text)
        (root / "freshline.yml").write_text(
            "name: reader\nstorage: warehouse\nserver: {port: 0}\n"
            "maintenance: {trials: false, audit: 0}\n"
            "libraries:\n  - glob: {include: tables/**/*.sql}\n"
            f"spark: {{master: 'local[2]', packages: {json.dumps(PACKAGES)}}}\n"
            f"configuration: {json.dumps(settings)}\n"
            f"feeds:\n  clicks_feed: {{kind: delta, path: '{SOURCE}'}}\n"
        )

    def catalog(self, *statements: str) -> None:
        """Statements that others run in the other catalog."""
        done = self.process("-c", ASK, *statements)
        assert done.returncode == 0, done.stderr

    def append(self, *rows: tuple[int, int]) -> None:
        """What their writer adds to the Delta table."""
        table = pa.table({"id": [each[0] for each in rows], "product": [each[1] for each in rows]})
        options = storage_options(SOURCE)
        path = SOURCE.replace("s3a:", "s3:")
        deltalake.write_deltalake(path, table, mode="append", storage_options=options)


def test_a_delta_table_on_s3_and_a_table_of_another_catalog(tmp_path):
    s3_jars()
    with S3Server() as server:
        use(server.settings)
        world = World(tmp_path / "reader", server)
        world.append((1, 10), (2, 20))
        world.catalog(
            "CREATE TABLE erp.app.products (id BIGINT, title STRING)",
            "INSERT INTO erp.app.products VALUES (10, 'tea'), (20, 'pots')",
        )
        world.run()
        assert world.rows("clicks") == [(1, 10), (2, 20)]
        assert world.rows("by_title") == [("pots", 1), ("tea", 1)]

        world.append((3, 10))
        world.catalog("INSERT INTO erp.app.products VALUES (30, 'cups')")
        world.append((4, 30))
        world.run()
        assert world.rows("clicks") == [(1, 10), (2, 20), (3, 10), (4, 30)]
        assert world.rows("by_title") == [("cups", 1), ("pots", 1), ("tea", 2)]

        delta_table(SOURCE).delete("id = 1")
        said = world.run()
        assert "source-rewrote" in said or "DELETE" in said, said
        assert world.rows("clicks") == [(2, 20), (3, 10), (4, 30)]
        assert world.rows("by_title") == [("cups", 1), ("pots", 1), ("tea", 1)]
        assert world.wrong() == {"clicks": [], "by_title": []}


LAKE = """\
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.delta.catalog.DeltaCatalog;

/** A catalog of Delta tables beside the session's: each folder of a folder is a table. */
public class Lake extends DeltaCatalog {
    @Override public String name() { return "lake"; }
    @Override public String[] defaultNamespace() { return new String[] {"app"}; }
    @Override public boolean functionExists(Identifier name) { return false; }
    @Override public UnboundFunction loadFunction(Identifier name)
            throws NoSuchFunctionException {
        throw new NoSuchFunctionException(name);
    }

    @Override public Table loadTable(Identifier name) {
        if (name.namespace()[0].equals("delta")) return loadPathTable(name);
        String root = SparkSession.active().conf().get("spark.lake.root");
        return loadPathTable(Identifier.of(new String[] {"delta"}, root + "/" + name.name()));
    }
}
"""
BY_WHOM = (
    "CREATE MATERIALIZED VIEW by_whom AS SELECT p.name, count(*) AS n"
    " FROM visits v JOIN {} p ON p.id = v.person GROUP BY p.name;"
)


def lake_jar(folder: Path) -> Path:
    """The catalog, compiled."""
    folder.mkdir()
    (folder / "Lake.java").write_text(LAKE)
    spark = Path(pyspark.__file__).parent / "jars" / "*"
    own = Path(freshline.__file__).parents[2] / ".cache" / "jars" / "*"
    subprocess.run(
        ["javac", "-cp", f"{spark}:{own}", "-d", str(folder), str(folder / "Lake.java")], check=True
    )
    with zipfile.ZipFile(folder / "lake.jar", "w") as jar:
        jar.write(folder / "Lake.class", "Lake.class")
    return folder / "lake.jar"


@pytest.mark.skipif(not shutil.which("javac"), reason="no Java compiler")
@pytest.mark.parametrize("named", ["lake.app.people", "app.people"])
def test_a_delta_table_of_another_catalog_is_read_at_a_version(tmp_path, named):
    lake, root = tmp_path / "lake", tmp_path / "reader"

    def write(table, mode="append", **columns):
        deltalake.write_deltalake(str(lake / table), pa.table(columns), mode=mode)

    write("visits", id=[1, 2], person=[10, 20])
    write("people", id=[10, 20], name=["Ann", "Bo"])
    (root / "tables").mkdir(parents=True)
    (root / "tables" / "visits.sql").write_text(
        "CREATE STREAMING TABLE visits AS SELECT id, person FROM STREAM visits_feed;"
    )
    (root / "tables" / "by_whom.sql").write_text(BY_WHOM.format(named))
    settings = {
        "spark.jars": str(lake_jar(tmp_path / "java")),
        "spark.sql.catalog.lake": "Lake",
        "spark.lake.root": str(lake),
    }
    if named == "app.people":
        settings["spark.sql.defaultCatalog"] = "lake"
    (root / "freshline.yml").write_text(
        "name: reader\nstorage: warehouse\nserver: {port: 0}\n"
        "maintenance: {trials: false, audit: 0}\n"
        "libraries:\n  - glob: {include: tables/**/*.sql}\n"
        "spark: {master: 'local[2]'}\n"
        f"configuration: {json.dumps(settings)}\n"
        f"feeds:\n  visits_feed: {{kind: delta, path: '{lake / 'visits'}'}}\n"
    )
    world = Reader(root)
    world.run()
    assert world.rows("visits") == [(1, 10), (2, 20)]
    assert world.rows("by_whom") == [("Ann", 1), ("Bo", 1)]

    write("visits", id=[3, 4], person=[10, 30])
    write("people", id=[30], name=["Cy"])
    world.run()
    assert world.rows("visits") == [(1, 10), (2, 20), (3, 10), (4, 30)]
    assert world.rows("by_whom") == [("Ann", 2), ("Bo", 1), ("Cy", 1)]

    write("people", "overwrite", id=[10], name=["Anna"])
    write("visits", id=[5], person=[10])
    world.run()
    assert world.rows("by_whom") == [("Anna", 3)]
    assert world.wrong() == {"visits": [], "by_whom": []}
