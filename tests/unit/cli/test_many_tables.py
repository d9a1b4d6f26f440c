"""Messages about a project with many tables stay short."""

from __future__ import annotations

import pytest

from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from tests.unit.cli.conftest import write_measured

VIEWS = 100
LONGEST = 500
"""Characters of a line: the names of a hundred views are 900."""


@pytest.fixture(params=["nothing", "one update", "all"])
def shop(shop, request):
    """A hundred views more: none was measured, or one update of some, or all of them."""
    names = [f"view_{number}" for number in range(VIEWS)]
    text = "".join(f"CREATE MATERIALIZED VIEW {name} AS SELECT n FROM orders;\n" for name in names)
    (shop.root / "tables" / "views.sql").write_text(text)
    if request.param != "nothing":
        measured = ["orders", "big", "small", *names]
        updates, beta = (60, 0.0001) if request.param == "all" else (1, 0.1)
        journal = Journal(journal_path(shop.project), create=True)
        names = measured if request.param == "all" else measured[: VIEWS // 2]
        write_measured(journal, names, updates, alpha_s=0.0001, beta=beta)
        journal.close()
    return shop


@pytest.mark.parametrize("command", ["validate --no-spark", "guarantees", "status", "doctor"])
def test_no_line_has_the_names_of_all_tables(shop, freshline, command):
    told = freshline(*command.split())
    lines = (told.stdout + told.stderr).splitlines()
    assert lines
    assert [line for line in lines if len(line) > LONGEST] == []
