"""Taking, keeping and losing the lease of a storage on this machine, with real files."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from freshline.core.errors import PlatformError, UserError
from freshline.core.lease import Holder, Record
from freshline.delta.log import commits, last_commit
from freshline.executor.fence import before_commit
from freshline.project.load import load_project
from freshline.render.status import faults
from freshline.runtime.journal.lock import WarehouseLock, holder
from freshline.runtime.journal.paths import journal_path, own_folder
from freshline.runtime.journal.store import Journal
from freshline.runtime.lease import succession
from freshline.runtime.lease.file_store import FileStore
from freshline.runtime.lease.leader import leader_record
from freshline.runtime.lease.leadership import Leadership, boot_s
from freshline.runtime.lease.store import SwapRefusedError
from freshline.runtime.requests.client import ask
from freshline.runtime.status.status import read_status
from freshline.runtime.status.waiting import Goal, look
from tests.support.shop import LiveRun, eventually, made_shop

FAR = Holder("far", "elsewhere", 77, "another machine")


@pytest.fixture
def shop(tmp_path):
    return made_shop(tmp_path, {"orders": (), "sums": ("orders",)})


@pytest.fixture
def store(shop):
    return FileStore(own_folder(shop.project))


def sixty_times_faster() -> float:
    return boot_s() * 60


def put(store: FileStore, record: Record) -> None:
    """Write a record over whatever is there."""
    store.swap(record, store.read()[1])


def test_nothing_is_committed_under_a_lease_that_was_given_back(shop):
    lease = Leadership(shop.project)
    assert lease.take()
    lease.check_commit()
    lease.release()
    with pytest.raises(PlatformError, match=r"given the lease .* back") as raised:
        lease.check_commit()
    assert raised.value.code == "lease-lapsed"


def test_each_run_has_an_epoch_of_its_own_which_its_commits_carry(shop, store):
    for number in (1, 2, 3):
        shop.file("orders", number, [number])
        shop.run_until_idle()
        record = store.read()[0]
        assert record is not None
        assert (record.epoch, record.released) == (number, True)
    for name in ("orders", "sums"):
        path = shop.project.table_path(name)
        assert [each.metadata["epoch"] for each in commits(path)] == [1, 2, 3]
    assert leader_record(shop.project) is None


def test_who_leads_is_told_while_a_run_goes_on(shop, store):
    with LiveRun(shop):
        shop.recorder.wait_for("ready")
        found = leader_record(shop.project) or {}
        assert found.pop("since").startswith("20")
        assert found == {"host": os.uname().nodename, "pid": os.getpid(), "epoch": 1}


def test_a_deleted_or_damaged_lease_never_lowers_the_epoch(shop, store):
    path = Path(store.place)
    for number, text in enumerate(("", "{}", "not json", None), start=1):
        shop.file("orders", number, [number])
        shop.run_until_idle()
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
    shop.file("orders", 9, [9])
    shop.run_until_idle()
    epochs = [each.metadata["epoch"] for each in commits(shop.project.table_path("orders"))]
    assert epochs == [1, 2, 3, 4, 5]


def test_a_swap_compares(store):
    first, second = Record(FAR, 1, 0.0), Record(FAR, 2, 0.0)
    tag = store.swap(first, None)
    with pytest.raises(SwapRefusedError):
        store.swap(second, None)
    store.swap(second, tag)
    with pytest.raises(SwapRefusedError):
        store.swap(first, tag)
    assert store.read()[0] == second
    assert Path(store.place).stat().st_size == 1024
    assert json.loads(Path(store.place).read_text())["epoch"] == 2


def test_a_second_start_is_refused_and_a_standby_waits_until_the_first_ends(shop):
    first = Leadership(shop.project)
    assert first.take()
    with pytest.raises(UserError, match=f"process {os.getpid()} runs this warehouse already"):
        Leadership(shop.project).take()
    told: list[str] = []
    second = Leadership(shop.project, standby=True, tell=told.append)
    taking = threading.Thread(target=second.take)
    taking.start()
    eventually(lambda: told)
    host = os.uname().nodename
    assert told == [f"standing by: process {os.getpid()} on {host} runs this warehouse (epoch 1)"]
    assert (first.leads(), second.leads()) == (True, False)
    first.release()
    taking.join()
    assert (second.leads(), second.epoch, second.beside) == (True, 2, False)
    second.release()
    assert holder(own_folder(shop.project)) is None


def test_projects_in_two_folders_that_share_a_storage_exclude_each_other(tmp_path):
    projects = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "freshline.yml").write_text(
            f"name: {name}\nstorage: file://{tmp_path}/lake\n"
            "libraries: [{glob: {include: '*.sql'}}]\n"
            "feeds: {f: {kind: files, path: in, format: csv, schema: n BIGINT}}\n"
        )
        (tmp_path / name / "a.sql").write_text(
            "CREATE STREAMING TABLE a AS SELECT n FROM STREAM f;"
        )
        projects.append(load_project(tmp_path / name))
    with Leadership(projects[0]) as lease:
        assert lease.take()
        found = leader_record(projects[1]) or {}
        assert (found["pid"], found["epoch"]) == (os.getpid(), 1)
        with pytest.raises(UserError, match=f"process {os.getpid()} runs this ware") as raised:
            Leadership(projects[1]).take()
        assert raised.value.exit_status == 2
    assert journal_path(projects[0]) == journal_path(projects[1])


def test_a_standby_can_be_stopped(shop):
    with Leadership(shop.project) as first:
        first.take()
        second = Leadership(shop.project, standby=True)
        second.stop()
        assert not second.take()
        second.release()
        first.check_commit()


def test_the_lease_of_a_process_elsewhere_is_waited_for_and_then_taken_over(shop, store):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    before = {name: last_commit(shop.project.table_path(name)) for name in ("orders", "sums")}
    put(store, Record(FAR, 7, 0.0))
    told: list[str] = []
    with Leadership(shop.project, tell=told.append, clock=sixty_times_faster) as lease:
        assert lease.take()
        assert (lease.epoch, lease.from_afar) == (8, True)
    with Leadership(shop.project) as lease:
        assert lease.take()
        assert (lease.epoch, lease.from_afar) == (9, False)
    (text,) = told
    assert text == (
        "process 77 on elsewhere ran this warehouse and did not give the lease back; if it does"
        " not renew it within 15 s, it is taken over"
    )
    for name, last in before.items():
        fence = last_commit(shop.project.table_path(name))
        assert last is not None
        assert fence is not None
        assert fence.version == last.version + 1
        assert fence.metadata["epoch"] == 8
        assert (fence.metadata["strategy"], fence.metadata["reason"]) == ("compact", "fence")
        assert fence.update == last.update
        assert fence.metadata["to"] == last.metadata["to"]
        assert fence.metadata.get("parents") == last.metadata.get("parents")
        log = Path(shop.project.table_path(name), "_delta_log", f"{fence.version:020d}.json")
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        assert [list(each) for each in actions] == [["commitInfo"], ["txn"]]
        assert actions[1]["txn"]["appId"] == f"freshline.{name}"
    # The fence changed no row, and nothing has to be done again.
    shop.run_until_idle()
    assert len(shop.executor.requests) == 2
    shop.file("orders", 2, [2])
    shop.run_until_idle()
    assert shop.executor.numbers("sums") == [1, 2]
    shop.check_views()


@pytest.mark.parametrize("ends", ["gives it back", "dies"])
def test_fences_that_could_not_be_made_are_made_by_the_next_leader(shop, store, monkeypatch, ends):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    put(store, Record(FAR, 7, 0.0))

    def fails(*_: object) -> None:
        raise PlatformError("log-unreadable", "the storage is away")

    lease = Leadership(shop.project, clock=sixty_times_faster)
    with monkeypatch.context() as patched:
        patched.setattr("freshline.runtime.lease.leadership.fence_tables", fails)
        with pytest.raises(PlatformError, match="the storage is away"):
            lease.take()
    lease.release()
    left = store.read()[0]
    assert left is not None
    assert (left.epoch, left.released, left.fenced) == (8, True, False)
    if ends == "dies":  # of which the next leader knows, since it ran on the same machine
        gone = dataclasses.replace(left.holder, pid=2**22 + 1)
        put(store, dataclasses.replace(left, holder=gone, released=False))
    with Leadership(shop.project) as lease:
        assert lease.take()
        assert lease.epoch == 9
    for name in ("orders", "sums"):
        fence = last_commit(shop.project.table_path(name))
        assert fence is not None
        assert (fence.metadata["epoch"], fence.metadata["reason"]) == (9, "fence")
    after = store.read()[0]
    assert after is not None
    assert (after.released, after.fenced) == (True, True)


def test_a_table_that_cannot_be_fenced_does_not_keep_the_others_from_being_led(
    shop, store, monkeypatch
):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    put(store, Record(FAR, 7, 0.0))

    def opened(path: str) -> DeltaTable:
        if path == shop.project.table_path("orders"):
            raise DeltaError("Kernel error: Unsupported Delta table type")
        return DeltaTable(path)

    monkeypatch.setattr(succession, "delta_table", opened)
    monkeypatch.setattr(succession, "_PAUSE_S", 0.0)
    told: list[str] = []
    with Leadership(shop.project, tell=told.append, clock=sixty_times_faster) as lease:
        assert lease.take()
    (text,) = told[1:]
    assert text == (
        "table orders cannot be fenced off from the process that ran before, which may still commit"
        " to it if it wakes up: Kernel error: Unsupported Delta table type"
    )
    fence = last_commit(shop.project.table_path("sums"))
    assert fence is not None
    assert fence.metadata["reason"] == "fence"


def test_a_start_ends_when_a_process_elsewhere_renews_the_lease(shop, store):
    put(store, Record(FAR, 7, 0.0, 1))
    lease = Leadership(shop.project, clock=sixty_times_faster)
    threading.Timer(0.1, lambda: put(store, Record(FAR, 7, 0.0, 2))).start()
    with pytest.raises(UserError) as raised:
        lease.take()
    assert raised.value.code == "already-running"
    assert str(raised.value).startswith(
        "[already-running] process 77 on elsewhere runs this warehouse already; one run per"
        f" storage; it holds {store.place}. "
    )
    assert holder(own_folder(shop.project)) is None


def test_a_run_that_another_process_took_over_from_ends_and_commits_nothing_more(shop, store):
    live = LiveRun(shop).__enter__()
    shop.file("orders", 1, [1])
    shop.recorder.wait_for("done sums")
    put(store, Record(FAR, 2, 0.0))
    eventually(lambda: live.failure is not None)
    with pytest.raises(PlatformError) as raised:
        live.stop()
    assert str(raised.value) == (
        "[lease-lost] process 77 on elsewhere took this warehouse over (epoch 2): this process did"
        " not renew the lease in time; one run per storage. Nothing committed is lost. Start"
        " `freshline run --standby` to follow the other process."
    )
    assert shop.executor.closed
    assert store.read()[0] == Record(FAR, 2, 0.0)


def test_a_commit_that_passed_nothing_yet_is_refused_after_a_take_over(shop, store):
    with Leadership(shop.project) as lease:
        lease.take()
        assert json.loads(before_commit('{"a": 1}')) == {"a": 1, "epoch": 1}
        put(store, Record(FAR, 2, 0.0))
        with pytest.raises(PlatformError, match=r"\[lease-lost\] process 77 on elsewhere"):
            before_commit("{}")
    assert before_commit('{"a": 1}') == '{"a": 1}'  # of a process that runs no warehouse


def test_nothing_is_committed_while_the_lease_cannot_be_renewed(shop, store, monkeypatch):
    now_s = [1000.0]
    with Leadership(shop.project, clock=lambda: now_s[0]) as lease:
        lease.take()
        now_s[0] += 13.9
        lease.check_commit()
        assert lease.leads()
        monkeypatch.setattr(
            FileStore, "swap", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error"))
        )
        now_s[0] += 0.2
        assert not lease.leads()
        with pytest.raises(PlatformError, match=r"\[lease-lapsed\] the lease .* was not renewed"):
            lease.check_commit()
        lease.check()  # nobody took over: the run goes on


def test_a_full_disk_keeps_nobody_from_renewing(shop, store):
    """The record is written in place: the file never grows."""
    record = Record(Holder("x" * 32, "h" * 200, 4_000_000, "m" * 60), 10**9, 1e9, 10**9)
    tag = store.swap(record, None)
    size = Path(store.place).stat().st_size
    store.swap(Record(FAR, 1, 0.0), tag)
    assert Path(store.place).stat().st_size == size == 1024
    assert store.read()[0] == Record(FAR, 1, 0.0)


def test_a_successor_beside_a_frozen_process_has_lock_and_journal_of_its_own(shop, store):
    """As where a process is stopped while it writes into the journal."""
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    frozen_lock = WarehouseLock(own_folder(shop.project))
    put(store, Record(FAR, 7, 0.0))
    frozen = Journal(journal_path(shop.project), create=True)
    frozen.write("INSERT INTO runs (id, pid) VALUES (50, 50)", ())
    frozen.flush()
    frozen._db.execute("BEGIN IMMEDIATE")
    frozen._db.execute("INSERT INTO runs (id, pid) VALUES (51, 51)")
    shop.file("orders", 2, [2])
    lease = Leadership(shop.project, standby=True, clock=sixty_times_faster)
    assert lease.take()
    assert lease.beside
    started_s = time.monotonic()
    warehouse = shop.warehouse()
    live = threading.Thread(target=lambda: warehouse.run(lease))
    live.start()
    shop.recorder.wait_for("done sums", 2)
    assert time.monotonic() - started_s < 60  # each of its writes would wait five seconds
    with pytest.raises(PlatformError, match=r"\[lock-lost\]"):
        frozen_lock.check()
    frozen._db.execute("COMMIT")
    frozen.write("DELETE FROM runs", ())
    frozen.close()
    frozen_lock.release()
    rows = shop.journal_rows("SELECT id, pid FROM runs ORDER BY id")
    assert [row["id"] for row in rows][-2:] == [50, 51]
    assert rows[-1]["pid"] == os.getpid()
    assert shop.executor.numbers("sums") == [1, 2]
    warehouse.stop()
    live.join()
    # The caller took the lease, so the run keeps it.
    assert holder(own_folder(shop.project)) is not None
    lease.release()
    assert holder(own_folder(shop.project)) is None


def test_a_table_that_does_not_exist_yet_is_not_made_by_a_take_over(shop, store):
    put(store, Record(FAR, 7, 0.0))
    with Leadership(shop.project, clock=sixty_times_faster) as lease:
        assert lease.take()
    assert not DeltaTable.is_deltatable(shop.project.table_path("orders"))


@pytest.fixture
def standing_by(shop, store, tmp_path):
    """A host that led once, and stands by now: its journal is behind what the leader committed."""
    journal, kept = journal_path(shop.project), tmp_path / "kept"
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    kept.mkdir()
    for file in journal.parent.glob(f"{journal.name}*"):
        shutil.copy2(file, kept)
    shop.file("orders", 2, [2])  # loaded by the leader elsewhere, which has a journal of its own
    shop.run_until_idle()
    for file in journal.parent.glob(f"{journal.name}*"):
        file.unlink()
    for file in kept.iterdir():
        shutil.copy2(file, journal.parent)
    put(store, Record(FAR, 9, 0.0))
    told: list[str] = []
    lease = Leadership(shop.project, standby=True, tell=told.append)
    taking = threading.Thread(target=lease.take)
    taking.start()
    eventually(lambda: told)
    assert told == ["standing by: process 77 on elsewhere runs this warehouse (epoch 9)"]
    yield shop
    lease.stop()
    taking.join()
    lease.release()


def test_beside_a_standby_a_wait_looks_into_the_tables_logs(standing_by):
    goal = Goal(fresh_to_s=datetime(2026, 1, 2, 0, 2, tzinfo=UTC).timestamp())
    (orders,) = look(standing_by.project, ("orders",), goal, time.time())
    assert orders.fresh, orders


def test_a_standby_is_no_run(standing_by):
    project = standing_by.project
    assert holder(own_folder(project)) is None
    found = read_status(project, time.time())
    assert not found.run.running
    assert any("not running" in line for line in faults(found))
    (answer,) = ask(project, "pause", ["orders"]).values()
    assert answer["message"] == (
        "orders is paused; no warehouse is running here (process 77 on elsewhere has the lease, and"
        " is not told), so it takes effect at the next start"
    )
    with pytest.raises(UserError) as raised:
        Leadership(project).take()
    assert raised.value.code == "already-running"
    assert raised.value.what == f"process {os.getpid()} stands by for this warehouse"
    assert "Ask on the host of the leader" in (raised.value.next_step or "")


def test_a_standby_that_has_taken_over_is_the_run(shop, store):
    put(store, Record(FAR, 9, 0.0))
    lease = Leadership(shop.project, standby=True, clock=sixty_times_faster)
    assert lease.take()
    assert not lease.beside
    assert holder(own_folder(shop.project)) == os.getpid()
    lease.release()
    assert holder(own_folder(shop.project)) is None
