"""What the gateway tolerates from clients: connections, headers, slowness, bytes in transit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits of connections; a connection that breaks one is closed.

    Attributes:
        connections: At once; one more is answered 503.
        header_bytes: Request line and headers.
        header_s: From the first byte of a request to the end of its headers.
        body_s: For a body, and
        body_bytes_per_s: as much longer as it is larger, but
        body_most_s: no longer than that.
        idle_s: Between requests.
        write_s: For a client that does not read its answers.
        half_closed_s: For an answer to a client that has said all and closed its side.
        linger_s: How long what a refused client still sends is read, so that it gets to see
            its answer.
    """

    connections: int = 512
    header_bytes: int = 16_384
    header_s: float = 10.0
    body_s: float = 10.0
    body_bytes_per_s: float = 16_384.0
    body_most_s: float = 120.0
    idle_s: float = 75.0
    write_s: float = 10.0
    half_closed_s: float = 10.0
    linger_s: float = 2.0


class Budget:
    """Bytes of request bodies that may be in memory at once; for one thread.

    What is beyond ``whole_bytes`` is kept for the feeds in equal parts: slow or greedy clients
    of one feed leave room for those of the others.

    Args:
        most_bytes: Of all feeds together.
        feeds: How many there are.
        whole_bytes: So many a single feed can have while the others hold nothing.
    """

    def __init__(self, most_bytes: int, feeds: int = 1, whole_bytes: int = 0) -> None:
        self.most_bytes = most_bytes
        self.taken_bytes = 0
        self._feeds = max(1, feeds)
        self._share_bytes = max(0, most_bytes - whole_bytes) // self._feeds
        self._of: dict[str, int] = {}

    def take(self, size_bytes: int, feed: str = "") -> bool:
        """Take so many for a feed, if there are."""
        of_others = sum(min(each, self._share_bytes) for name, each in self._of.items()
                        if name != feed)  # fmt: skip
        kept_bytes = self._share_bytes * (self._feeds - 1) - of_others
        if self.taken_bytes + size_bytes + kept_bytes > self.most_bytes:
            return False
        self.taken_bytes += size_bytes
        self._of[feed] = self._of.get(feed, 0) + size_bytes
        return True

    def give(self, size_bytes: int, feed: str = "") -> None:
        """Give them back."""
        self.taken_bytes -= size_bytes
        left_bytes = self._of.get(feed, 0) - size_bytes
        self._of[feed] = left_bytes
        if not left_bytes:
            del self._of[feed]
