"""One line of the doctor's: what was checked, how it stands, what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_GB = 1e9

State = Literal["ok", "warning", "wrong"]
"""warning: it works now, or may; wrong: a run would fail."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    Attributes:
        check: Its name: java, spark, delta, jars, storage, disk, clock, memory or port.
        what: A sentence without its full stop.
        next_step: What to do, a sentence with its full stop; empty where nothing is to be done.
    """

    check: str
    state: State
    what: str
    next_step: str = ""


def gigabytes(size_bytes: float) -> str:
    """A size for people, such as ``1.5 GB`` or ``40 MB``."""
    if size_bytes < _GB:
        return f"{size_bytes / 1e6:,.0f} MB"
    return f"{size_bytes / _GB:,.1f} GB"
