"""A journal in which a text is no text any more is put aside, and rebuilt from the tables."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import pytest

from freshline.core.errors import PlatformError
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from tests.support.shop import LiveRun, eventually, made_shop

SCHEMA_VERSION = range(60, 64)
"""Bytes of the header: a number that is too high says that a newer freshline wrote the journal."""
TEXTS = [("files", "name"), ("files", "state"), ("tables", "name"), ("requests", "kind")]


@pytest.mark.parametrize(("table", "column"), TEXTS)
def test_a_text_that_is_not_utf8_is_damage_like_any_other(tmp_path, table, column):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    shop.file("orders", 2, [2])
    shop.run_until_idle()
    path = journal_path(shop.project)
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO requests (at_s, kind, table_name) VALUES (0, 'pause', 'parts')")
        one = "name = (SELECT min(name) FROM files)" if table == "files" else "true"
        db.execute(f"UPDATE {table} SET {column} = CAST(X'6fff' AS TEXT) WHERE {one}")
        db.commit()
    shop.file("orders", 3, [3])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3]
    assert [line for line in shop.recorder.lines if "the journal was damaged" in line]
    assert len(list(path.parent.glob("*.damaged-*"))) >= 1


def test_a_journal_opens_whatever_bits_have_changed(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    path = journal_path(shop.project)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sound = path.read_bytes()
    chance = random.Random(1)
    aside = 0
    for _ in range(400):
        for part in path.parent.glob("journal.db*"):
            part.unlink()
        damaged = bytearray(sound)
        for _ in range(chance.choice([3, 30, 200])):
            # In the first pages, too, where the names of tables and columns stand.
            at = chance.randrange(chance.choice([4096, 20_000, len(sound)]))
            if at not in SCHEMA_VERSION:
                damaged[at] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(damaged))
        journal = Journal(path, create=True)
        aside += journal.moved_aside is not None
        assert journal.row("SELECT count(*) AS n FROM tables") is not None
        journal.close()
    assert aside > 100


def ruin(path):
    """All pages but the first, in the file itself, as a bad disk does it."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page_bytes,) = db.execute("PRAGMA page_size").fetchone()
        (pages,) = db.execute("PRAGMA page_count").fetchone()
    with path.open("r+b") as file:
        file.seek(page_bytes)
        file.write(b"\xff" * page_bytes * (pages - 1))


@pytest.mark.parametrize("new_file", [True, False])
def test_damage_that_is_met_during_a_run_ends_it_with_its_code_and_the_next_one_rebuilds(
    tmp_path, new_file
):
    shop = made_shop(tmp_path, {"orders": ()})
    path = journal_path(shop.project)
    shop.file("orders", 1, [1])
    live = LiveRun(shop).__enter__()
    shop.recorder.wait_for("done orders")
    eventually(lambda: shop.journal_rows("SELECT 1 FROM files WHERE state='loaded'"))
    ruin(path)
    if new_file:
        shop.file("orders", 2, [2])
    eventually(lambda: live.failure is not None)
    with pytest.raises(PlatformError) as raised:
        live.stop()
    (aside,) = path.parent.glob("*.damaged-*[0-9Z]")
    assert str(raised.value) == (
        f"[journal-damaged] the journal {path} is damaged: database disk image is malformed; it is"
        f" kept as {aside.name}; no row is lost with it. Start `freshline run` again: it rebuilds"
        " the journal from the tables' logs. Then check the disk."
    )
    assert not path.exists()
    assert shop.executor.closed
    shop.file("orders", 3, [3])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == ([1, 2, 3] if new_file else [1, 3])
