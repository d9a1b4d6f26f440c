"""A warehouse over somebody else's Delta table: killed, without journal, while versions come."""

from __future__ import annotations

import signal
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pytest

from freshline.delta.log import commits
from freshline.project.load import load_project
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.status.status import WarehouseStatus, read_status
from tests.spark.proof.support import Child, Seen, run_here, running_here
from tests.spark.sources.world import arrow
from tests.support.share import share

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SETTINGS = """\
name: sources
storage: warehouse
maintenance: {trials: false, compact: false, vacuum: false, audit: 0}
libraries: [{glob: {include: tables/*.sql}}]
spark: {master: "local[2]"}
feeds:
  orders_feed: {kind: delta, path: source, period: 1 second}
"""
TABLES = """\
CREATE STREAMING TABLE orders AS SELECT * FROM STREAM orders_feed;
CREATE MATERIALIZED VIEW by_kind AS SELECT kind, count(*) AS n FROM orders GROUP BY 1;
"""
FAILPOINTS = (
    "files.after_journal", "journal.after_start", "base.after_data", "base.before_commit",
    "base.after_commit", "update.after_journal",
)  # fmt: skip
TRIED = share(FAILPOINTS, part=6, first=4)


@dataclass
class SourceShop:
    root: Path
    spark: Any
    next_id: int = 0

    def __post_init__(self) -> None:
        (self.root / "tables").mkdir()
        (self.root / "freshline.yml").write_text(SETTINGS)
        (self.root / "tables" / "all.sql").write_text(TABLES)

    @property
    def project(self) -> Project:
        return load_project(self.root)

    @property
    def source(self) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(str(self.root / "source"))

    def append(self, count: int) -> None:
        rows = [(self.next_id + i, "ab"[i % 2], i) for i in range(count)]
        self.next_id += count
        deltalake.write_deltalake(str(self.root / "source"), arrow(rows), mode="append")

    def load(self) -> Seen:
        return run_here(self, self.spark)

    def rows(self, name: str) -> list[dict[str, Any]]:
        path = self.project.table_path(name)
        return list(deltalake.DeltaTable(path).to_pyarrow_table().to_pylist())

    def status(self) -> WarehouseStatus:
        return read_status(self.project, time.time())

    def check(self) -> None:
        wanted = list(self.source.to_pyarrow_table().to_pylist())
        assert Counter(map(repr, self.rows("orders"))) == Counter(map(repr, wanted))
        counts = Counter(row["kind"] for row in wanted)
        assert {row["kind"]: row["n"] for row in self.rows("by_kind")} == counts

    def loaded(self) -> list[tuple[str, int, int]]:
        """Of each commit: how, rows, and the source's version."""
        found = []
        for commit in commits(self.project.table_path("orders")):
            said = commit.metadata
            assert said["source"]["version"] == said["parents"]["orders_feed"]
            found.append((said["strategy"], said["rows"], said["source"]["version"]))
        return found

    def lose_journal(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{journal_path(self.project)}{suffix}").unlink(missing_ok=True)


@pytest.fixture
def shop(tmp_path, spark):
    return SourceShop(tmp_path, spark)


@pytest.mark.parametrize("failpoint", TRIED)
def test_a_kill_loses_nothing_and_doubles_nothing(shop, failpoint):
    shop.append(4)
    shop.load()
    shop.append(3)
    shop.append(2)
    with Child(shop, "--until-idle", failpoint=failpoint) as child:
        assert child.wait() == -signal.SIGKILL, (shop.root / "child.log").read_text()
    shop.append(1)
    if failpoint in ("base.after_commit", "base.before_commit"):
        shop.lose_journal()
    shop.load()
    shop.check()
    loaded = shop.loaded()
    assert sum(rows for _, rows, _ in loaded) == 10
    assert {strategy for strategy, _, _ in loaded} == {"append"}
    assert loaded[-1][2] == 3
    shop.source.delete("id = 0")
    shop.load()
    shop.check()


def test_versions_come_while_a_warehouse_runs(shop):
    shop.append(4)
    with running_here(shop, shop.spark) as seen:
        seen.wait_for("by_kind", 1)
        shop.append(3)
        seen.wait_for("by_kind", 2)
        shop.source.update(updates={"kind": "'c'"}, predicate="id = 1")
        seen.wait_for("by_kind", 3)
        shop.check()
        shop.source.optimize.compact()
        shop.append(1)
        seen.wait_for("by_kind", 4)
    shop.check()
    assert shop.loaded() == [
        ("append", 4, 0), ("append", 3, 1), ("full", 7, 2), ("append", 1, 4)
    ]  # fmt: skip
    assert (
        "feed orders_feed: version 2 (UPDATE) changed or removed rows; orders is loaded again in"
        " full"
    ) in seen.notices
    (source,) = shop.status().sources
    assert (source.state, source.version, source.lag_versions, source.error) == ("read", 4, 0, None)
    (shop.root / "tables" / "all.sql").write_text(TABLES.replace("*", "id, lower(kind) AS kind", 1))
    seen = shop.load()
    assert "table orders is loaded again: its query changed" in seen.notices
    assert shop.loaded()[-1] == ("full", 8, 4)
