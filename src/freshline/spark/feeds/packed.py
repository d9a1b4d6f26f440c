"""A feed's file on this machine, opened without Spark."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import BinaryIO, cast


def opened(path: Path) -> BinaryIO:
    """Its bytes; those of a .gz or .bz2 file unpacked.

    Raises:
        OSError: It cannot be opened.
    """
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.open(path, "rb"))
    return cast("BinaryIO", bz2.open(path, "rb")) if path.suffix == ".bz2" else path.open("rb")
