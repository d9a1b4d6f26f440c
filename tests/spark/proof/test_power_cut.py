"""The power fails after any write of a run: nothing acknowledged is lost, nothing loaded twice."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
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

VIEWS = ("hourly", "daily")


class Telling(Seen):
    """Makes a file for each update that it is told of, so that the recording knows when."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        super().ended(outcome, retry_in_s)
        if retry_in_s is None and outcome.result is not None:
            (self._folder / f"told-{outcome.command.table}-{outcome.result.version}").touch()


@pytest.fixture(scope="module")
def cut(spark, tmp_path_factory):
    """A shop, how its storage was before a run, and what that run wrote there."""
    root = tmp_path_factory.mktemp("cut")
    shop = Shop(root / "shop", VIEWS)
    storage = Path(shop.project.storage)
    one_of_each(shop, 1)
    run_here(shop, spark)
    one_of_each(shop, 2)
    before = root / "before"
    shutil.copytree(storage, before)
    disk = Disk(storage)
    java = SparkContext._gateway.proc.pid
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
    return shop, disk, operations


def images(cut):
    """Every image of the disk in the order of the writes, each kind once, and the writes' number."""
    shop, disk, operations = cut
    seen = set()
    for number, operation in enumerate([None, *operations]):
        if operation is not None:
            disk.do(operation)
        for image in (disk.least(), disk.every_name(), disk.now()):
            tables = {
                name: content for name, content in image.items() if "/_freshline/" not in name
            }
            key = hash(tuple(sorted(tables.items())))
            if key not in seen:
                seen.add(key)
                yield number, image


def log_of(image, storage: Path, table: str) -> dict[int, bytes]:
    """The commits of a table in an image, by version."""
    log = f"{storage / table}/_delta_log/"
    return {
        int(Path(name).stem): content
        for name, content in image.items()
        if name.startswith(log) and name.endswith(".json") and "/." not in name
        and not name.startswith(f"{log}_")
    }  # fmt: skip


def test_each_moment_has_what_was_told_whole_and_no_commit_without_its_data(cut):
    shop, disk, operations = cut
    storage = Path(shop.project.storage)
    told = {}
    assert len(operations) > 100
    found = list(images((shop, disk, operations)))
    for number, image in found:
        for name in image:
            if "/told-" in name:
                _, table, version = Path(name).name.split("-")
                told.setdefault(number, []).append((table, int(version)))
        for table in ("orders", "visits", "orders__rejected", *VIEWS):
            for version, content in log_of(image, storage, table).items():
                try:
                    actions = [json.loads(line) for line in content.splitlines()]
                except ValueError:
                    continue
                for each in actions:
                    added = each.get("add") or each.get("cdc")
                    if added:
                        data = image.get(str(storage / table / unquote(added["path"])))
                        assert data is not None, (number, table, version, added["path"])
                        assert len(data) == added["size"]
    # The replay ends where the processes ended, else it has missed a write.
    real = {str(each): each.read_bytes() for each in storage.rglob("*") if each.is_file()}
    now = {name: content for name, content in disk.now().items() if content is not None}
    missed = [name for name in {*real, *now}
              if not name.endswith("-shm") and real.get(name) != now.get(name)]  # fmt: skip
    assert not missed
