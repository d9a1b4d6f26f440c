"""What counts as a number in a file."""

from __future__ import annotations

import math
from typing import Any

_MOST_PRIORITY = 1e12
"""Weights are added up and multiplied by squares of seconds: no sum may be infinite."""
PRIORITY_RULE = "a priority is a number greater than 0, at most 1e12"


def is_priority(number: float) -> bool:
    """Whether a number can weigh a table's staleness."""
    return 0.0 < number <= _MOST_PRIORITY


def is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold; true, false, NaN and infinity are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False
