"""What the gateway puts up with from clients: connections, headers, slowness, bytes in flight."""

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
        body_bytes_per_s: as much longer as it is larger.
        idle_s: Between requests.
        write_s: For a client that does not read its answers.
        linger_s: How long what a refused client still sends is read, so that it gets to see
            its answer.
    """

    connections: int = 512
    header_bytes: int = 16_384
    header_s: float = 10.0
    body_s: float = 10.0
    body_bytes_per_s: float = 16_384.0
    idle_s: float = 75.0
    write_s: float = 10.0
    linger_s: float = 2.0


class Budget:
    """Bytes of request bodies that may be in memory at once; for one thread."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.taken_bytes = 0

    def take(self, size_bytes: int) -> bool:
        """Take so many, if there are."""
        if self.taken_bytes + size_bytes > self.most_bytes:
            return False
        self.taken_bytes += size_bytes
        return True

    def give(self, size_bytes: int) -> None:
        """Give them back."""
        self.taken_bytes -= size_bytes
