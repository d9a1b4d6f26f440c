"""The pages that are written from the code say what the code says."""

from __future__ import annotations

import pytest

from scripts.write_reference import ROOT, pages


@pytest.mark.parametrize(("path", "text"), list(pages().items()), ids=lambda each: str(each)[-24:])
def test_pages_written_from_the_code_are_up_to_date(path, text):
    written = path.read_text(encoding="utf-8")
    assert written == text, f"run `make reference`: {path.relative_to(ROOT)} is of other code"
