"""What counts as a number in a file."""

from __future__ import annotations

import math
import re
from typing import Any

MOST_PRIORITY = 1e12
"""Weights are added up and multiplied by squares of seconds: no sum may be infinite."""
PRIORITY_RULE = "a priority is a number greater than 0, at most 1e12"


def is_priority(number: float) -> bool:
    """Whether a number can weigh a table's staleness."""
    return 0.0 < number <= MOST_PRIORITY


def priority_in(text: str) -> float | None:
    """The priority that a text writes, or None where it is no number or none that can weigh."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if is_priority(number) else None


def whole_number(text: str, most: int) -> int | None:
    """The whole number from 1 to ``most`` that a text writes in digits alone, or None."""
    # In front of them are ten zeros at most: Python reads no number of very many digits.
    if not re.fullmatch("0{0,9}[1-9][0-9]{0,8}", text):
        return None
    return int(text) if int(text) <= most else None


def is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold; true, false, NaN and infinity are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False
