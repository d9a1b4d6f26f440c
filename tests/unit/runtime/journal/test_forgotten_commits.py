"""A table none of whose commits of ours is left in its log: its updates go on from its number."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from freshline.delta.log import application, last_commit, last_transaction
from freshline.runtime.journal.paths import journal_path
from tests.support.shop import made_shop


@pytest.mark.parametrize("journal", ["there", "lost"])
def test_a_view_goes_on_with_its_numbers(tmp_path, journal):
    shop = made_shop(tmp_path, {"orders": (), "doubled": ("orders",)})
    for minute in (1, 2):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    path = shop.project.table_path("doubled")
    before = last_commit(path)
    assert before is not None
    DeltaTable(path).alter.set_table_description("others saw to it every night")
    shop.executor._forget_log(path)
    assert last_commit(path) is None
    assert last_transaction(path, application("doubled")) == before.update
    if journal == "lost":
        for part in journal_path(shop.project).parent.glob("journal.db*"):
            part.unlink()
    asked = len(shop.executor.requests)
    for minute in (3, 4):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    numbers = [each.number for each in shop.executor.requests[asked:] if each.table == "doubled"]
    assert numbers == [before.update + 1 + each for each in range(len(numbers))]
    assert shop.executor.numbers("doubled") == [1, 2, 3, 4]


def test_a_base_table_keeps_its_number(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    for minute in (1, 2):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    path = shop.project.table_path("orders")
    before = last_commit(path)
    assert before is not None
    DeltaTable(path).alter.set_table_description("others saw to it every night")
    shop.executor._forget_log(path)
    for part in journal_path(shop.project).parent.glob("journal.db*"):
        part.unlink()
    assert shop.run_until_idle() == 1  # what is in it was loaded nobody knows when
    [row] = shop.journal_rows("SELECT number FROM tables")
    assert row["number"] == before.update
