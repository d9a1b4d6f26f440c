"""What counts as a number in a file."""

from __future__ import annotations

import math
from typing import Any


def is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold; true, false, NaN and infinity are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False
