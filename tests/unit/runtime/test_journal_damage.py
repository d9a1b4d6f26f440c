"""A journal in which a text is no text any more is put aside, and rebuilt from the tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from freshline.runtime.journal.paths import journal_path
from tests.unit.runtime.shop import made_shop

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
