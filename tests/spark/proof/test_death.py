"""SIGKILL at every step of every write: nothing is lost, nothing is doubled.

Each child is started on a warehouse with something to load, dies at its failpoint, and what it
left is brought up to date in this process. Children run two at a time, ahead of the tests. Each
costs a third of a minute of two cores: one of them is tried here, all by ``make proof``.
"""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import freshline
from freshline.runtime.journal.paths import journal_path
from tests.spark.proof.equality import DUCKDB, Checker
from tests.spark.proof.shop import Shop, one_of_each
from tests.spark.proof.support import Child, run_here
from tests.support.share import WHOLE, share

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

VIEWS = ("hourly", "daily", "spenders", "newest", *(("near", "crossed") if WHOLE else ()))
"""A sum that spenders does not show as it is needs a state beside the view; crossed is its own.
Of newest the keys of new rows are computed again."""

FIRST_LOAD = ("base.before_commit:1", "base.after_commit:1")
"""Tried where nothing was ever loaded: the first commit says which columns a feed has."""

REBUILDING = ("recovery.before_table", "recovery.after_table:2")
"""Tried without a journal, so that there is something to recover."""

FAILPOINTS = (  # name:n dies the n-th time it comes there
    # the list of files
    "files.before_journal", "files.after_journal:2",
    # the journal's own transactions: of the recovery, of the updates
    "journal.before_commit:12", "journal.after_commit:2",
    # an event, its command, and the start that is noted of it
    "event.before:4", "event.after:2", "journal.before_start:2", "journal.after_start",
    "update.before:2",
    # a base table: data, rejected rows, commit
    "base.before_data", "base.after_data", "base.before_rejected",
    "base.before_rejected_commit", "base.after_rejected",
    "base.before_commit:2", "base.after_commit",
    # a view: data, commit
    "derived.before_data:2", "derived.after_data", "derived.before_commit",
    "derived.after_commit:3",
    # the state that merging keeps
    "state.before_data", "state.before_commit", "state.after_commit",
    # the end that is noted of an update
    "update.before_journal", "update.after_journal:3",
    *REBUILDING, *FIRST_LOAD,
)  # fmt: skip

TRIED = share(FAILPOINTS, part=len(FAILPOINTS), first=FAILPOINTS.index("derived.after_commit:3"))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory, spark) -> Shop:
    """A warehouse up to date; each child gets a copy."""
    shop = Shop(tmp_path_factory.mktemp("loaded"), VIEWS)
    one_of_each(shop, 0)
    run_here(shop, spark)
    return shop


@pytest.fixture(scope="module")
def deaths(loaded, tmp_path_factory, request) -> Iterator[dict[str, Future[tuple[Shop, int]]]]:
    """Per failpoint the shop whose child died there, and its exit status."""

    def die(failpoint: str) -> tuple[Shop, int]:
        root = tmp_path_factory.mktemp("death")
        if failpoint in FIRST_LOAD:
            shop = Shop(root, VIEWS)
        else:
            shutil.copytree(loaded.root, root, dirs_exist_ok=True)
            shop = Shop(root, VIEWS, seed=2)
            shop.written = {table: dict(files) for table, files in loaded.written.items()}
            shop.next_id = loaded.next_id
        for hour in (1, 2):
            one_of_each(shop, hour)
        if failpoint in REBUILDING:
            delete_journal(shop)
        with Child(shop, "--until-idle", failpoint=failpoint) as child:
            return shop, child.wait()

    wanted = [
        item.callspec.params["failpoint"]
        for item in request.session.items
        if getattr(item, "callspec", None) and "failpoint" in item.callspec.params
    ]
    pool = ThreadPoolExecutor(2)
    try:
        yield {failpoint: pool.submit(die, failpoint) for failpoint in wanted}
    finally:
        pool.shutdown(cancel_futures=True)


def delete_journal(shop: Shop) -> None:
    path = journal_path(shop.project)
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


@pytest.mark.parametrize("failpoint", TRIED)
def test_a_kill_loses_nothing_and_doubles_nothing(failpoint, deaths, spark):
    shop, status = deaths[failpoint].result()
    assert status == -signal.SIGKILL, (shop.root / "child.log").read_text()
    run_here(shop, spark)
    Checker(shop, spark).check(by=(DUCKDB,))


def test_every_failpoint_is_tried():
    source, tests = Path(freshline.__file__).parent, Path(__file__).parents[2]
    named = {
        name
        for folder in ("runtime", "spark")
        for file in (source / folder).rglob("*.py")
        for name in re.findall(r'failpoint\(\s*"([^"]+)"', file.read_text())
    }
    # Elsewhere a test dies within its process: `armed("backfill.after_data=eio")`.
    quoted = {
        name
        for folder in ("spark", "unit")
        for file in (tests / folder).rglob("*.py")
        for name in re.findall(r'"([a-z]+\.[a-z_]+)(?:[:=]\w+)?"', file.read_text())
    }
    assert named - quoted == set()
    assert {failpoint.split(":")[0] for failpoint in FAILPOINTS} <= named
