"""A journal that a run writes for a year stays as large as what is kept of it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.runtime.journal.pruning import KEPT, Kept, Pruning
from freshline.runtime.journal.store import Journal
from tests.support.shop import made_shop


class Ticking:
    """A monotonic clock that goes on by an hour at each look."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 3600.0
        return self.now_s


@pytest.fixture
def journal(tmp_path):
    found = Journal(tmp_path / "journal.db", create=True)
    yield found
    found.close()


def filled(journal: Journal, table: str, count: int, since: int = 0) -> None:
    columns = {
        "updates": ("table_name, state, parents", "'t', 'done', ?"),
        "instants": ("run, events", "1, ?"),
        "requests": ("kind, answer", "?, '{}'"),
        "backfills": ("table_name, state", "?, 'done'"),
        "runs": ("setting", "?"),
        "gaps": ("feed", "?"),
    }[table]
    for number in range(since + 1, since + count + 1):
        journal.write(
            f"INSERT INTO {table} (id, {columns[0]}) VALUES ({number}, {columns[1]})",
            (json.dumps(["x" * 500]),),
        )
    assert journal.flush()


def ids(journal: Journal, table: str) -> list[int]:
    return [row["id"] for row in journal.rows(f"SELECT id FROM {table} ORDER BY id")]


@pytest.mark.parametrize("table", [each.table for each in KEPT])
def test_the_newest_rows_of_each_kind_stay(journal, table):
    (rule,) = (each for each in KEPT if each.table == table)
    filled(journal, table, 1200)
    pruning = Pruning(journal, (Kept(table, 100, rule.but),), Ticking())
    for _ in range(10):
        pruning.step()
    assert ids(journal, table) == list(range(1101, 1201))


def test_what_is_still_wanted_stays_however_old_it_is(journal):
    filled(journal, "updates", 50)
    filled(journal, "requests", 50)
    filled(journal, "backfills", 50)
    filled(journal, "instants", 5)
    filled(journal, "runs", 50)
    journal.write("UPDATE updates SET table_name='quiet' WHERE id IN (3, 7)")
    journal.write("UPDATE updates SET state='running' WHERE id=5")
    journal.write("UPDATE requests SET answer=NULL WHERE id=4")
    journal.write("UPDATE backfills SET state='waiting' WHERE id=6")
    journal.write("UPDATE instants SET run=48")
    pruning = Pruning(journal, tuple(Kept(each.table, 2, each.but) for each in KEPT), Ticking())
    for _ in range(5):
        pruning.step()
    assert ids(journal, "updates") == [5, 7, 49, 50]
    assert ids(journal, "requests") == [4, 49, 50]
    assert ids(journal, "backfills") == [6, 49, 50]
    assert ids(journal, "runs") == [48, 49, 50]


def test_the_last_update_of_a_table_stays_behind_its_upkeep_and_its_failures(journal):
    filled(journal, "updates", 50)
    journal.write("UPDATE updates SET table_name='quiet' WHERE id IN (3, 7, 20, 30)")
    journal.write("UPDATE updates SET strategy='append' WHERE id IN (3, 7)")
    journal.write("UPDATE updates SET state='failed' WHERE id=20")
    journal.write("UPDATE updates SET strategy='vacuum' WHERE id=30")
    pruning = Pruning(journal, tuple(Kept(each.table, 2, each.but) for each in KEPT), Ticking())
    pruning.step()
    assert ids(journal, "updates") == [7, 30, 49, 50]


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 900), min_size=1, max_size=6),
    st.integers(0, 700),
    st.sets(st.integers(1, 900), max_size=5),
)
def test_however_rows_come_those_go_that_are_neither_new_nor_wanted(
    tmp_path_factory, bursts, kept, wanted
):
    journal = Journal(tmp_path_factory.mktemp("j") / "journal.db", create=True)
    pruning = Pruning(journal, (Kept("requests", kept, "answer IS NULL"),), Ticking())
    made = 0
    for burst in bursts:
        filled(journal, "requests", burst, made)
        made += burst
        for each in wanted:
            journal.write("UPDATE requests SET answer=NULL WHERE id=?", (each,))
        pruning.step()
    for _ in range(sum(bursts) // 500 + 2):
        pruning.step()
    expected = [n for n in range(1, made + 1) if n > made - kept or n in wanted]
    assert ids(journal, "requests") == expected
    journal.close()


def test_the_file_gets_no_larger_than_what_is_kept(tmp_path, journal):
    pruning = Pruning(journal, (Kept("instants", 200, "0"),), Ticking())
    sizes = []
    for hour in range(30):
        filled(journal, "instants", 400, 400 * hour)
        for _ in range(3):
            pruning.step()
        with closing(sqlite3.connect(journal.path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sizes.append(journal.path.stat().st_size)
    assert max(sizes[2:]) <= 1.1 * sizes[1]


def test_a_journal_of_before_gives_its_pages_back_too(tmp_path):
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE instants (id INTEGER PRIMARY KEY, run, now_s, events, commands)")
        db.executemany(
            "INSERT INTO instants VALUES (?, 1, 0, ?, '[]')",
            ((n, "x" * 500) for n in range(1, 5001)),
        )
        db.commit()
    before_bytes = path.stat().st_size
    journal = Journal(path, create=True)
    pruning = Pruning(journal, (Kept("instants", 10, "0"),), Ticking())
    for _ in range(20):
        pruning.step()
    journal.close()
    assert path.stat().st_size < before_bytes / 10


def test_nothing_is_removed_while_the_disk_is_full(journal):
    filled(journal, "instants", 30)
    pruning = Pruning(journal, (Kept("instants", 10, "0"),), Ticking())
    journal.behind = True
    pruning.step()
    assert len(ids(journal, "instants")) == 30
    journal.behind = False
    pruning.step()
    assert len(ids(journal, "instants")) == 10


def test_a_run_prunes_its_own_journal(tmp_path, monkeypatch):
    monkeypatch.setattr("freshline.runtime.journal.pruning.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("freshline.runtime.journal.pruning._PIECE_EVERY_S", 0.0)
    kept = (Kept("instants", 3, "0"),)
    monkeypatch.setattr(
        "freshline.runtime.warehouse.Pruning", lambda journal: Pruning(journal, kept)
    )
    shop = made_shop(tmp_path, {"a": ()})
    for minute in range(1, 5):
        shop.file("a", minute, [minute])
        assert shop.run_until_idle() == 0
    assert len(shop.journal_rows("SELECT id FROM instants")) <= 5
    assert shop.executor.numbers("a") == [1, 2, 3, 4]
