"""What goes into the gateway's engine, what comes back, and the reasons for a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Reason = Literal["memory", "disk", "commit-failed", "draining"]
"""Why nothing can be taken in right now."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One request's records of one feed, already checked against the feed's schema.

    Attributes:
        feed: The feed's name.
        records: How many, at least 1.
        body: An Arrow IPC stream of exactly so many rows, uncompressed.
        sent: What the client sent, decompressed; None: the body.
    """

    feed: str
    records: int
    body: bytes
    sent: bytes | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The records are on disk. ``last - first == accepted - 1``; a feed's first record is 1.

    ``duplicate``: the key had been used with the same records before; the numbers are those of
    the first time and nothing was stored again.
    """

    accepted: int
    first: int
    last: int
    duplicate: bool


class RefusedError(Exception):
    """Nothing of the request was stored.

    Attributes:
        code: Stable, for the answer's ``error``.
        message: For people, without anything secret.
    """

    code = "refused"

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class Unavailable(RefusedError):  # noqa: N818 - a state of the gateway, no fault
    """Try again after ``retry_after_s`` (1 to 300): HTTP 503.

    ``commit-failed`` alone leaves it open whether the records were stored (the disk failed while
    they were being written); with a key, sending them again is safe.
    """

    def __init__(self, code: Reason, retry_after_s: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_s = retry_after_s


class OverQuota(RefusedError):  # noqa: N818 - a state of the feed, no fault
    """The feed's backlog has reached its quota; try again after ``retry_after_s``: HTTP 429."""

    code = "over-quota"

    def __init__(self, retry_after_s: int, message: str) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class KeyConflict(RefusedError):  # noqa: N818 - the client's
    """The key was used with other records, within the time keys are remembered: HTTP 422."""

    code = "key-conflict"


class BatchTooLarge(RefusedError):  # noqa: N818 - the client's
    """Larger than memory can ever hold as one request: HTTP 413."""

    code = "too-large"


class UnknownFeed(RefusedError):  # noqa: N818 - the client's
    """No feed of that name takes pushed records: HTTP 404."""

    code = "unknown-feed"
