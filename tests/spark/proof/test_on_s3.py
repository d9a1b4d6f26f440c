"""A warehouse that is wholly on S3, by real Spark: feed, tables, logs and lease.

One run loads what is there, keeps a view from changes, and meets a store that hangs and one that
closes every connection. At the end every version equals its query, and no line is lost or doubled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import freshline
from freshline.delta.log import commits
from freshline.delta.stores import delta_table, use
from freshline.project.load import load_project
from freshline.project.model import Project
from tests.spark.proof.support import Child, eventually
from tests.support.s3_front import S3Front
from tests.support.s3_server import S3Server
from tests.support.s3_spark import PACKAGES, WITHOUT, s3_jars

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(1800)]

AWAY_S = 45.0
"""Longer than a lease, and than any of the clients waits for one answer."""
SQL = {
    "orders": "CREATE STREAMING TABLE orders AS SELECT id, k FROM STREAM orders_feed;",
    "sums": "CREATE MATERIALIZED VIEW sums TBLPROPERTIES ('freshline.refresh' = 'incremental')"
    " AS SELECT k, count(*) AS n, sum(id) AS total FROM orders GROUP BY k;",
    "most": "CREATE MATERIALIZED VIEW most AS SELECT max(n) AS n, sum(total) AS total FROM sums;",
}


class Lake:
    """The project's folder, and what was put into its feed."""

    def __init__(self, root: Path, server: S3Server, front: S3Front) -> None:
        self.root = root
        self._client = server.client()
        self.written: list[tuple[int, int]] = []
        settings = server.settings | WITHOUT | {"spark.hadoop.fs.s3a.endpoint": front.url}
        configuration = "".join(f'  {name}: "{value}"\n' for name, value in settings.items())
        (root / "tables").mkdir(parents=True)
        for name, text in SQL.items():
            (root / "tables" / f"{name}.sql").write_text(text)
        (root / "freshline.yml").write_text(
            "name: lake\nstorage: s3a://lake/shop\nmaintenance: {trials: false, audit: 0}\n"
            "libraries:\n  - glob: {include: tables/**/*.sql}\n"
            f"spark: {{master: 'local[2]', packages: {json.dumps(PACKAGES)}}}\n"
            f"configuration:\n{configuration}"
            "feeds:\n  orders_feed: {kind: files, path: 's3a://lake/incoming/orders', format: csv,"
            " schema: 'id BIGINT, k BIGINT', period: 2 seconds}\n"
        )

    @property
    def project(self) -> Project:
        return load_project(self.root)

    def file(self, rows: int = 20) -> None:
        """Put a file of new lines into the feed."""
        first = len(self.written)
        lines = [(first + number, (first + number) % 7) for number in range(rows)]
        self._client.put_object(
            Bucket="lake",
            Key=f"incoming/orders/{first:06d}.csv",
            Body="".join(f"{number},{key}\n" for number, key in lines).encode(),
        )
        self.written += lines

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Of the newest version; none where there is no table yet."""
        try:
            found = delta_table(self.project.table_path(table))
        except Exception:  # noqa: BLE001 - not there yet, or the store is away
            return []
        rows: list[dict[str, Any]] = found.to_pyarrow_table().to_pylist()
        return rows

    def is_fresh(self) -> bool:
        """Whether every line put there has reached the last view."""
        total = sum(number for number, _ in self.written)
        return [row["total"] for row in self.rows("most")] == [total]

    def asked(self, *arguments: str) -> tuple[int, Any]:
        """A command of freshline beside the run: its exit status and its JSON."""
        done = subprocess.run(
            [sys.executable, "-c", "from freshline.cli.main import main; main()", *arguments,
             "--project", str(self.root), "--json"],
            env={**os.environ, "PYTHONPATH": str(Path(freshline.__file__).parents[1])},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)


def out_of_reach(
    lake: Lake, child: Child, shut: Callable[[], None], opened: Callable[[], None]
) -> None:
    """The store is away for a while: the run goes on, and catches up when it is back."""
    shut()
    time.sleep(AWAY_S)
    assert child.process.poll() is None, child.output()
    opened()
    lake.file()
    eventually(lake.is_fresh)


def test_everything_on_s3_and_a_store_that_is_away(tmp_path):
    s3_jars()
    with S3Server() as server, S3Front(server.port) as front:
        use(server.settings)
        lake = Lake(tmp_path / "lake", server, front)
        lake.file()
        with Child(lake) as child:
            eventually(lake.is_fresh)
            for _ in range(3):
                lake.file()
                eventually(lake.is_fresh)
            status, said = lake.asked("status")
            assert (status, said["leader"]["pid"]) == (0, child.process.pid)
            out_of_reach(lake, child, server.away, server.back)
            out_of_reach(
                lake,
                child,
                lambda: setattr(front, "away", lambda _: True),
                lambda: setattr(front, "away", None),
            )
            child.process.send_signal(signal.SIGTERM)
            assert child.wait() == 0, child.output()
        status, said = lake.asked("verify", "--versions", "all")
        assert status == 0, said
        checked = {name: len(each["checked"]) for name, each in said["tables"].items()}
        made = {name: list(commits(lake.project.table_path(name))) for name in SQL}
        assert checked == {name: len(each) for name, each in made.items()}, said
        assert "group-merge" in {each.metadata["strategy"] for each in made["sums"]}
        found = Counter((row["id"], row["k"]) for row in lake.rows("orders"))
        assert found == Counter(lake.written)
        assert front.lists_of("incoming/orders") > 0
