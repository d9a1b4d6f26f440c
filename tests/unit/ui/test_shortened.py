"""Texts that are too long for their place end behind a word, and say that they were cut."""

from __future__ import annotations

import pytest

from freshline.render.output import shortened
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from tests.support.shop import Shop, made_project


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("column no longer", "column no longer"),
        ("column no longer there", "column no…"),
        ("column, no longer there", "column, no…"),
        ("no such column, of all", "no such column…"),
        ("/a/path/that/is/one/word", "/a/path/that/is…"),
    ],
)
def test_a_text_is_cut_behind_a_word(text, shown):
    assert shortened(text, 16) == shown
    assert len(shown) <= 16


def test_an_error_in_the_list_of_tables_says_that_it_goes_on(tmp_path, serve):
    shop = Shop(made_project(tmp_path, {"orders": ()}))
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    journal.write("UPDATE tables SET error=?, failures=1, retry_s=1", ("unreadable " * 30,))
    journal.close()
    with serve(shop.project) as ask:
        (line,) = ask("/v1/ui/tables").json["tables"]
        assert ask("/v1/tables/orders").json["error"] == "unreadable " * 30
    assert line["error"] == "unreadable " * 9 + "unreadable…"
