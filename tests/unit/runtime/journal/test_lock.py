"""Who runs a warehouse can be asked by anybody, and asking refuses no start."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from pathlib import Path

import pytest

from freshline.core.errors import PlatformError, UserError
from freshline.ingest.log.disk import FolderLock
from freshline.runtime.journal.lock import WarehouseLock, holder
from freshline.runtime.journal.paths import own_folder
from tests.support.shop import LiveRun, eventually, made_shop


def test_who_may_only_read_the_lock_sees_that_a_warehouse_runs(tmp_path, monkeypatch):
    real = os.open

    def reading_alone(path, flags, *mode):
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *mode)

    assert holder(tmp_path) is None
    with WarehouseLock(tmp_path):
        monkeypatch.setattr(os, "open", reading_alone)
        assert holder(tmp_path) == os.getpid()
    assert holder(tmp_path) is None


@pytest.mark.parametrize("lost", ["deleted", "replaced", "folder"])
def test_a_run_whose_lock_was_deleted_ends_before_another_does_its_work(tmp_path, lost):
    shop = made_shop(tmp_path, {"orders": ()})
    path = own_folder(shop.project) / "lock"
    live = LiveRun(shop).__enter__()
    shop.file("orders", 1, [1])
    shop.recorder.wait_for("done orders")
    path.unlink()
    if lost == "replaced":
        path.touch()
    elif lost == "folder":
        shutil.rmtree(path.parent)
    eventually(lambda: live.failure is not None)
    with pytest.raises(PlatformError) as raised:
        live.stop()
    assert str(raised.value) == (
        f"[lock-lost] somebody deleted or replaced {path} while this warehouse runs; another"
        " process could now run it, too, and only one may. Start `freshline run` again, and leave"
        " this folder alone while it runs; nothing committed is lost."
    )
    assert shop.executor.closed
    shop.file("orders", 2, [2])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2]


def test_a_storage_that_is_away_for_a_moment_takes_no_lock(tmp_path, monkeypatch):
    def stale(path, **_):
        raise OSError(116, "Stale file handle", str(path))

    with WarehouseLock(tmp_path) as lock, monkeypatch.context() as away:
        away.setattr(Path, "stat", stale)
        lock.check()


def test_who_may_not_even_read_it_is_told_so(tmp_path, monkeypatch):
    def refused(path, *_):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(
        PlatformError, match=r"cannot see whether a warehouse runs: .*/lock: Permission denied"
    ):
        holder(tmp_path)


def test_a_start_waits_for_those_who_only_ask(tmp_path, monkeypatch):
    with WarehouseLock(tmp_path):
        pass
    asking = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            os.close(asking)

    monkeypatch.setattr(time, "sleep", sleep)
    with WarehouseLock(tmp_path):
        assert len(waits) == 3
        with pytest.raises(UserError, match=f"process {os.getpid()} runs this warehouse"):
            WarehouseLock(tmp_path)


FOLDERS = {
    "warehouse": (WarehouseLock, "lock", "cannot make or write"),
    "gateway": (FolderLock, "ingest-folder", "cannot use"),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_disk_without_room_for_the_number_is_an_error_with_a_code(tmp_path, monkeypatch, kind):
    lock, code, words = FOLDERS[kind]

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "pwrite", full)
        with pytest.raises(PlatformError, match=f"{words} .*: No space left on device") as caught:
            lock(tmp_path)
    assert caught.value.code == code
    with lock(tmp_path):  # nobody holds it after the failure
        assert (tmp_path / "lock").read_text() == str(os.getpid())
