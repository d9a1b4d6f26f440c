"""What a place for the lease must be able to do."""

from __future__ import annotations

from typing import Protocol

from freshline.core.lease import Record


class SwapRefusedError(Exception):
    """The record is not the one that the swap compared with."""


class LeaseStore(Protocol):
    """One record that is replaced by compare-and-swap alone.

    Every method may raise OSError: the storage does not answer, and whether a swap took place is
    not known.
    """

    place: str
    """Where it is, for people."""

    cheap: bool
    """A read costs microseconds, so it may come before every commit."""

    def read(self) -> tuple[Record | None, str | None]:
        """The record and its tag; both None where there is none.

        Raises:
            OSError: The storage does not answer.
        """
        ...

    def swap(self, record: Record, tag: str | None) -> str:
        """Replace the record that has ``tag`` (None: there is none); the new one's tag.

        Raises:
            SwapRefusedError: There is another record.
            OSError: The storage does not answer.
        """
        ...
