"""What every commit passes: may this process still commit, and under which epoch?

A process that runs a warehouse holds the lease of its storage and raises this fence around its
commits, so that none gets through once another process may have taken over. One process runs
one warehouse, hence one fence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
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


@contextmanager
def fenced(permit: Permit) -> Iterator[None]:
    """Have every commit of this process pass ``permit`` for a while."""
    _permits.append(permit)
    try:
        yield
    finally:
        _permits.remove(permit)


def before_commit(metadata: str) -> str:
    """The metadata of a commit that is about to be made, with the epoch it is made under.

    Args:
        metadata: The commit's userMetadata, a JSON object.

    Raises:
        PlatformError: This process may not commit (any more).
    """
    failpoint("fence.before_check")
    for permit in _permits:
        permit.check_commit()
        metadata = json.dumps(json.loads(metadata) | {"epoch": permit.epoch}, ensure_ascii=False)
    failpoint("fence.after_check")
    return metadata
