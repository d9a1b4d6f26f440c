"""What a warehouse keeps of its own is closed to other users, whatever the umask."""

from __future__ import annotations

import os
import stat

import pytest

from freshline.runtime.journal.lock import WarehouseLock
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from tests.support.shop import made_shop


@pytest.fixture(params=[0o000, 0o022])
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_a_run_leaves_nothing_that_others_can_read(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    path = journal_path(shop.project)
    assert mode(path.parent) == 0o700
    assert {each.name: mode(each) for each in path.parent.iterdir()} == {
        each.name: 0o600 for each in path.parent.iterdir()
    }
    assert path.exists()
    assert mode(path.parent.parent) & 0o055 == 0o055  # the tables are made to be read


@pytest.mark.usefixtures("umask")
def test_what_an_older_version_left_open_is_closed_and_still_read(tmp_path):
    folder = tmp_path / "storage" / "_freshline"
    path = folder / "journal.db"
    older = Journal(path, create=True)
    older.write("INSERT INTO runs (pid) VALUES (7)")
    older.flush()
    parts = [path.with_name(path.name + end) for end in ("", "-wal", "-shm")]
    for part in parts:
        part.chmod(0o644)
    folder.chmod(0o755)
    newer = Journal(path, create=True)
    assert [mode(part) for part in parts] == [0o600] * 3
    assert mode(folder) == 0o700
    assert [tuple(row) for row in newer.rows("SELECT pid FROM runs")] == [(7,)]
    newer.close()
    older.close()
    folder.chmod(0o755)
    with WarehouseLock(folder):
        assert mode(folder) == 0o700
