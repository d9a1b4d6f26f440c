"""Pages of docs/design have one format: a title, what is asked or decided, and a decision."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DESIGN = Path(__file__).parents[2] / "docs" / "design"
PAGES = sorted(DESIGN.glob("[0-9]*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_the_format(page):
    number, lines = int(page.name[:4]), page.read_text(encoding="utf-8").splitlines()
    assert re.match(rf"# {number}\. \S", lines[0]), f"the first line is '# {number}. Title'"
    assert lines[1] == ""
    assert re.match(r"\*\*(Question|Decision)[.:]", lines[2]), (
        "the third line begins with '**Question.**', or with '**Decision.**' where the title asks"
    )
    assert any(re.match(r"\*\*Decision\b", line) for line in lines), (
        "a paragraph begins with '**Decision.**' or '**Decision: what.**'"
    )


def test_a_number_is_given_once():
    numbers = [page.name[:4] for page in PAGES]
    assert len(set(numbers)) == len(numbers)
