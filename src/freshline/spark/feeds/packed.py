"""A feed's file on this machine, opened without Spark."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import BinaryIO, cast

_ELSE_PACKED = frozenset({".zst", ".zstd", ".deflate", ".snappy", ".lz4"})
"""Endings of files that Spark unpacks."""


def can_open(path: Path) -> bool:
    """Whether :func:`opened` gives the bytes that Spark reads."""
    return path.suffix.lower() not in _ELSE_PACKED


def opened(path: Path) -> BinaryIO:
    """Its bytes; those of a .gz or .bz2 file unpacked.

    Raises:
        OSError: It cannot be opened.
    """
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast("BinaryIO", gzip.open(path, "rb"))
    return cast("BinaryIO", bz2.open(path, "rb")) if suffix == ".bz2" else path.open("rb")
