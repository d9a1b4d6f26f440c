"""No group of a regular expression is possessive: before 3.11.5 Python matches them wrongly.

``(...)*+`` takes a part of what did not match (CPython issue 106052). Debian 12 has Python 3.11.2.
An atomic group, ``(?>(...)*)``, means the same and is right.
"""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "freshline"
POSSESSIVE = re.compile(r"\)(?:[*+?]|\{\d+(?:,\d*)?\})\+")


def test_no_group_is_possessive():
    found = [
        (str(path.relative_to(SOURCE)), line)
        for path in sorted(SOURCE.rglob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if POSSESSIVE.search(line) and "``(...)*+``" not in line
    ]
    assert found == []
