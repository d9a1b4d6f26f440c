"""A Hive metastore in a process of its own: another Spark finds the tables while a run goes on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

import freshline
from freshline.spark.engine.java import find_java
from tests.spark.proof.support import Child, eventually

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(1200)]

_LOG4J = "org.apache.logging.log4j"
PROJECT = """\
name: shop
storage: warehouse
server: {port: 0}
maintenance: {trials: false, audit: 0}
libraries:
  - glob: {include: tables.sql}
catalog: {database: shop}
spark: {master: "local[2]"}
configuration:
  spark.hadoop.hive.metastore.uris: thrift://127.0.0.1:PORT
  spark.sql.warehouse.dir: ROOT/catalog
feeds:
  sold: {kind: files, path: feed, format: csv, schema: "id BIGINT", period: 1 second}
"""
TABLES = """\
CREATE STREAMING TABLE orders (id COMMENT 'Of the order') COMMENT 'As sold'
  AS SELECT id FROM STREAM sold;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders;
"""
READ = """\
from pathlib import Path
from freshline.project.load import load_project
from freshline.spark.engine.session import start_session
session = start_session(load_project(Path.cwd()))
print("tables", sorted(row.tableName for row in session.sql("SHOW TABLES IN shop").collect()))
for table in ("orders", "counted"):
    if session.catalog.tableExists(f"shop.{table}"):
        rows = session.sql(f"SELECT * FROM shop.{table}").collect()
        print(table, sorted(tuple(row) for row in rows))
        print(table, [row.comment for row in session.sql(f"DESCRIBE shop.{table}").collect()])
"""


class Shop:
    """What a child of ours runs."""

    def __init__(self, root: Path) -> None:
        from freshline.project.load import load_project

        self.root = root
        self.project = load_project(root)


@pytest.fixture
def metastore(tmp_path: Path) -> Iterator[int]:
    """The port of Hive's own metastore, from Spark's jars, over Derby."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    home = tmp_path / "metastore"
    home.mkdir()
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home / 'db'};create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": str(home / "warehouse"),
        # Hive would log by threads of a library that Spark's jars do not have.
        "log4j2.contextSelector": f"{_LOG4J}.core.selector.ClassLoaderContextSelector",
    }
    java = find_java()
    assert java is not None
    log = home / "log"
    with log.open("wb") as told:
        process = subprocess.Popen(
            [
                str(java.home / "bin" / "java"),
                "-Xmx256m",
                *(f"-D{name}={value}" for name, value in settings.items()),
                "-cp", f"{Path(pyspark.__file__).parent / 'jars'}/*",
                "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port),
            ],
            cwd=home, stdout=told, stderr=told,
        )  # fmt: skip
    try:
        eventually(lambda: listens(port) or process.poll() is not None)
        assert process.poll() is None, log.read_text()[-4000:]
        yield port
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_another_spark_reads_by_name_while_a_run_goes_on(tmp_path: Path, metastore: int) -> None:
    root = tmp_path / "shop"
    (root / "feed").mkdir(parents=True)
    settings = PROJECT.replace("ROOT", str(tmp_path)).replace("PORT", str(metastore))
    (root / "freshline.yml").write_text(settings)
    (root / "tables.sql").write_text(TABLES)
    (root / "feed/a.csv").write_text("1\n2\n")

    def process(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(Path(freshline.__file__).parents[1])},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    with Child(Shop(root)) as child:
        child.wait_for_commits(2)
        (root / "feed/b.csv").write_text("3\n")
        child.wait_for_commits(2)
        read = process("-c", READ)
        assert child.process.poll() is None, child.output()
        child.process.terminate()
        assert child.wait() == 0, child.output()
    assert read.splitlines()[-5:] == [
        "tables ['counted', 'orders']",
        "orders [(1,), (2,), (3,)]",
        "orders ['Of the order']",
        "counted [(3,)]",
        "counted [None]",
    ]
    assert "no name" not in child.output()
    dropped = process("-m", "freshline", "drop", "counted")
    assert dropped.startswith("spark_catalog.shop.counted is dropped; its data stay at")
    assert "tables ['orders']" in process("-c", READ)
    assert (root / "warehouse/counted/_delta_log").is_dir()
