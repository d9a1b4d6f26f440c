"""A table none of whose commits of ours is left in its log: its updates go on from its number."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from freshline.delta.log import application, last_commit, last_transaction
from freshline.runtime.journal.paths import journal_path
from tests.support.shop import made_shop


def forget_commits(shop, table):
    """After two updates others commit, and no commit of ours is left: the last one that was."""
    for minute in (1, 2):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    path = shop.project.table_path(table)
    before = last_commit(path)
    assert before is not None
    DeltaTable(path).alter.set_table_description("others saw to it every night")
    shop.executor._forget_log(path)
    return before


def lose_journal(shop):
    for part in journal_path(shop.project).parent.glob("journal.db*"):
        part.unlink()


@pytest.mark.parametrize("journal", ["there", "lost"])
def test_a_view_goes_on_with_its_numbers(tmp_path, journal):
    shop = made_shop(tmp_path, {"orders": (), "doubled": ("orders",)})
    before = forget_commits(shop, "doubled")
    path = shop.project.table_path("doubled")
    assert last_commit(path) is None
    assert last_transaction(path, application("doubled")) == before.update
    if journal == "lost":
        lose_journal(shop)
    asked = len(shop.executor.requests)
    for minute in (3, 4):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    numbers = [each.number for each in shop.executor.requests[asked:] if each.table == "doubled"]
    assert numbers == [before.update + 1 + each for each in range(len(numbers))]
    assert shop.executor.numbers("doubled") == [1, 2, 3, 4]


def test_a_base_table_keeps_its_number(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    before = forget_commits(shop, "orders")
    lose_journal(shop)
    assert shop.run_until_idle() == 1  # what is in it was loaded nobody knows when
    [row] = shop.journal_rows("SELECT number FROM tables")
    assert row["number"] == before.update
