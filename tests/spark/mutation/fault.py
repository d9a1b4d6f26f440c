"""A small fault of the kind that people make: a piece of a file, and what stands there instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        name: What went wrong, in a few words.
        file: Below ``src/freshline``.
        old: Text that stands there once.
        new: What would stand there by mistake.
    """

    name: str
    file: str
    old: str
    new: str


def faults_in(file: str, *faults: tuple[str, str, str]) -> tuple[Fault, ...]:
    return tuple(Fault(name, file, old, new) for name, old, new in faults)
