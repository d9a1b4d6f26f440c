"""Who runs a warehouse can be asked by anybody, and asking refuses no start."""

from __future__ import annotations

import fcntl
import os
import time

import pytest

from freshline.core.errors import PlatformError, UserError
from freshline.runtime.journal.lock import WarehouseLock, holder


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


def test_who_may_not_even_read_it_is_told_so(tmp_path, monkeypatch):
    def refused(path, *_):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(PlatformError, match=r"cannot be seen: .*/lock: Permission denied"):
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
