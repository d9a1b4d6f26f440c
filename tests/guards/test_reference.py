"""The pages that are written from the code say what the code says."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from scripts.write_reference import REFERENCE, ROOT, pages


@pytest.mark.parametrize(("path", "text"), list(pages().items()), ids=lambda each: str(each)[-24:])
def test_pages_written_from_the_code_are_up_to_date(path, text):
    written = path.read_text(encoding="utf-8")
    assert written == text, f"run `make reference`: {path.relative_to(ROOT)} is of other code"


def test_no_two_metrics_have_one_name():
    names = re.findall(r"^\| `(\w+)", (REFERENCE / "metrics.md").read_text(), re.MULTILINE)
    assert len(names) > 50
    assert [name for name, count in Counter(names).items() if count > 1] == []
