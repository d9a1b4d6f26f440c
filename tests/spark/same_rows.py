"""Whether two queries found the same rows, whatever their order and that of values in lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any


def assert_same_rows(expected: Sequence[Any], found: Sequence[Any]) -> None:
    """Fails unless both hold the same rows: doubles to nine digits, the rest exactly."""
    assert len(expected) == len(found)
    for one, other in zip(sorted(expected, key=_place), sorted(found, key=_place), strict=True):
        for value, same in zip(one, other, strict=True):
            if isinstance(value, float):
                assert math.isclose(value, same, rel_tol=1e-9, abs_tol=1e-12), (one, other)
            elif isinstance(value, list):
                assert sorted(map(str, value)) == sorted(map(str, same))
            else:
                assert value == same, (one, other)


def _place(row: Any) -> list[str]:
    numbers = (int, float, Decimal)
    return [
        f"{float(value):+.6e}" if isinstance(value, numbers) else "" if isinstance(value, list)
        else str(value) for value in row
    ]  # fmt: skip
