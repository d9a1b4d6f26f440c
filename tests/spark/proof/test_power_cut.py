"""The power fails after any write of a run: nothing acknowledged is lost, nothing loaded twice."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pyspark import SparkContext

from freshline.runtime.options import RunOptions
from freshline.runtime.tracks import Outcome
from freshline.runtime.warehouse import Warehouse
from tests.spark.proof.equality import DUCKDB, Checker
from tests.spark.proof.shop import Shop, one_of_each
from tests.spark.proof.support import QUICK, Kept, Seen, run_here
from tests.support.power_cut import Disk, put, recorded
from tests.support.share import share

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

VIEWS = ("hourly", "daily")
TABLES = ("orders", "visits", "orders__rejected", *VIEWS)
RESTARTS = 24


class Telling(Seen):
    """Makes a file for each update that it is told of, so that the recording knows when."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        super().ended(outcome, retry_in_s)
        if retry_in_s is None and outcome.result is not None:
            (self._folder / f"told-{outcome.command.table}-{outcome.result.version}").touch()


class Moment:
    """What a disk has after so many writes, and which updates had been told of by then."""

    def __init__(self, writes, image, told) -> None:
        self.writes = writes
        self.image = image
        self.told = told

    def commits(self, storage: Path, table: str) -> dict[int, bytes]:
        """The files of a table's commits."""
        log = f"{storage / table}/_delta_log"
        paths = [Path(name) for name in self.image if name.endswith(".json")]
        return {
            int(path.stem): self.image[str(path)]
            for path in paths
            if str(path.parent) == log and path.stem.isdigit()
        }


@pytest.fixture(scope="module")
def recording(spark, tmp_path_factory):
    """A shop, and every state of its disk during a run."""
    root = tmp_path_factory.mktemp("cut")
    shop = Shop(root / "shop", VIEWS)
    storage = Path(shop.project.storage)
    one_of_each(shop, 1)
    run_here(shop, spark)
    one_of_each(shop, 2)
    disk = Disk(storage)
    gateway: Any = SparkContext._gateway
    java = gateway.proc.pid
    seen = Telling(storage)
    with recorded(storage, [os.getpid(), java], root / "strace.log") as operations:
        warehouse = Warehouse(
            shop.project,
            lambda: Kept(shop, spark),
            seen,
            RunOptions(until_idle=True),
            backoff=QUICK,
        )
        assert warehouse.run() == 0
    assert set(seen.done) == {"orders", "visits", *VIEWS}
    moments, told, known = [], set(), set()
    for writes, operation in enumerate(operations, 1):
        disk.do(operation)
        if "/told-" in operation.path:
            _, table, version = Path(operation.path).name.split("-")
            told.add((table, int(version)))
        for image in (disk.least(), disk.every_name()):
            ours = f"{storage}/_freshline/"
            key = frozenset(each for each in image.items() if not each[0].startswith(ours))
            if key not in known:
                known.add(key)
                moments.append(Moment(writes, image, set(told)))
    return shop, disk, moments


def test_the_replay_ends_where_the_run_ended(recording):
    shop, disk, _ = recording
    storage = Path(shop.project.storage)
    real = {str(each): each.read_bytes() for each in storage.rglob("*") if each.is_file()}
    now = {name: content for name, content in disk.now().items() if content is not None}
    differing = {name for name in {*real, *now} if real.get(name) != now.get(name)}
    assert not [name for name in differing if not name.endswith("-shm")]  # SQLite maps it


def test_what_was_told_is_there_and_no_commit_is_there_without_its_data(recording):
    shop, _, moments = recording
    storage = Path(shop.project.storage)
    assert len(moments) > 30
    assert len(moments[-1].told) == len(TABLES) - 1
    for moment in moments:
        whole = set()
        for table in TABLES:
            for version, content in moment.commits(storage, table).items():
                if not content:
                    continue
                whole.add((table, version))
                for line in content.splitlines():
                    said = json.loads(line)
                    added = said.get("add") or said.get("cdc")
                    if added:
                        data = moment.image.get(str(storage / table / unquote(added["path"])))
                        assert len(data or b"") == added["size"], (moment.writes, table, version)
        assert moment.told <= whole, moment.writes


@pytest.mark.parametrize("part", share(range(RESTARTS), part=8))
def test_a_run_that_starts_from_any_of_them_has_every_row_once(recording, spark, tmp_path, part):
    shop, _, moments = recording
    moment = moments[part * (len(moments) - 1) // (RESTARTS - 1)]
    again = tmp_path / "shop"
    shutil.copytree(shop.root, again, ignore=shutil.ignore_patterns("warehouse"))
    put(moment.image, Path(shop.project.storage), again / "warehouse")
    found = Shop(again, VIEWS)
    found.written = shop.written
    run_here(found, spark)
    Checker(found, spark).check(by=(DUCKDB,))
