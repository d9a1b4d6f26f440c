"""Amounts of bytes as people write them: ``64MB`` (a million each), ``1GiB`` (powers of 1024)."""

from __future__ import annotations

import re

RULE = "a size is a whole number with a unit, like '64MB', '1GB' or '512KiB'"

_UNITS_BYTES = {
    "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"(\d+)\s*([A-Za-z]*)\Z")


def size_bytes(text: object) -> int:
    """Bytes of a size.

    Raises:
        ValueError: It is none; the message says what is wrong with it.

    Example:
        >>> size_bytes("64MB")
        64000000
    """
    written = str(text).strip()
    size = _SIZE.match(written)
    if isinstance(text, bool) or size is None:
        raise ValueError(f"'{written}' is no size")
    if not size[2]:
        raise ValueError(f"'{written}' has no unit")
    unit = _UNITS_BYTES.get(size[2].lower())
    if unit is None:
        raise ValueError(f"'{written}' has the unknown unit '{size[2]}'")
    if int(size[1]) == 0:
        raise ValueError(f"'{written}' is not more than zero")
    return int(size[1]) * unit
