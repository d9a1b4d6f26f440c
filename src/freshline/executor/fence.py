"""What every commit passes: may this process still commit, and under which epoch?

A process that runs a warehouse holds the lease of its storage and raises this fence around its
commits, so that none gets through once another process may have taken over. One process runs
one warehouse, hence one fence. An update that outlives its run stays behind it: by then another
process may lead.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from freshline.failpoints import failpoint


class Permit(Protocol):
    """The right to commit."""

    @property
    def epoch(self) -> int:
        """Of the lease; grows with each process that takes it."""
        ...

    def check_commit(self) -> None:
        """Make sure that this process may commit now.

        Raises:
            PlatformError: It may not, or nobody knows.
        """
        ...


_permits: list[Permit] = []
_of_thread = threading.local()


@contextmanager
def fenced(permit: Permit) -> Iterator[None]:
    """Have every commit of this process pass ``permit`` for a while."""
    _permits.append(permit)
    try:
        yield
    finally:
        _permits.remove(permit)


def permits() -> tuple[Permit, ...]:
    """What commits of this process pass now."""
    return tuple(_permits)


@contextmanager
def behind(kept: Sequence[Permit]) -> Iterator[None]:
    """Have the commits of this thread pass ``kept``, even when no fence is there any more."""
    _of_thread.permits = kept
    try:
        yield
    finally:
        del _of_thread.permits


def before_commit(metadata: str) -> str:
    """The metadata of a commit that is about to be made, with the epoch it is made under.

    Args:
        metadata: The commit's userMetadata, a JSON object.

    Raises:
        PlatformError: This process may not commit (any more).
    """
    failpoint("fence.before_check")
    for permit in dict.fromkeys((*getattr(_of_thread, "permits", ()), *_permits)):
        permit.check_commit()
        metadata = json.dumps(json.loads(metadata) | {"epoch": permit.epoch}, ensure_ascii=False)
    failpoint("fence.after_check")
    return metadata
