"""A listening socket that counts connections from the moment they are accepted.

A server that speaks TLS hears of a connection once its handshake is done. Connections that say
nothing would hold all descriptors of the process by then, which the warehouse needs, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import resource
import socket
from collections import Counter
from typing import Any

_SPARE = 4
"""One in so many more than the limit is accepted, to be told that there are too many."""

_DESCRIPTORS = 4096
"""Of the process; the rest are for files."""


class Admission:
    """How many connections are open, in all and of each address.

    Args:
        connections: At once; a few more are let in to be answered, the others are closed.
    """

    def __init__(self, connections: int) -> None:
        self.most = connections + max(1, connections // _SPARE)
        self.most_of_one = max(1, connections * 3 // 4)
        self._of: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """Connections that were let in and are not closed."""
        return self._of.total()

    def enters(self, address: str) -> bool:
        """Let a connection in, unless there are too many.

        A share is left to the others, but for this machine's own: a proxy may stand there.
        """
        full = self.open >= self.most
        if full or (self._of[address] >= self.most_of_one and not _is_own(address)):
            return False
        self._of[address] += 1
        return True

    def leaves(self, address: str) -> None:
        """A connection that was let in is closed."""
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]


class Door(socket.socket):
    """A bound socket, taken over, whose connections are counted.

    Args:
        bound: The socket; of no use afterwards.
        admission: Who is let in.
    """

    def __init__(self, bound: socket.socket, admission: Admission) -> None:
        super().__init__(bound.family, bound.type, bound.proto, fileno=bound.detach())
        self._admission = admission

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection that is let in; the others are closed at once."""
        while True:
            connection, address = super().accept()
            host = str(address[0])
            if self._admission.enters(host):
                return _Passage(connection, self._admission, host), address
            connection.close()


class _Passage(socket.socket):
    """A connection that says when it is closed."""

    def __init__(self, accepted: socket.socket, admission: Admission, host: str) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        self._host: str | None = host
        self._admission = admission

    def close(self) -> None:
        """Close it; it counts no more."""
        super().close()
        if self._host is not None:
            self._admission.leaves(self._host)
            self._host = None


class HurriedLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers give a TLS handshake a time."""

    def __init__(self, handshake_s: float) -> None:
        super().__init__()
        self._handshake_s = handshake_s

    async def create_server(self, *args: Any, **more: Any) -> Any:
        """As asyncio's."""
        if more.get("ssl") is not None:
            more.setdefault("ssl_handshake_timeout", self._handshake_s)
        return await super().create_server(*args, **more)


def more_descriptors() -> None:
    """Let the process open so many files that its connections leave enough for the rest."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = hard == resource.RLIM_INFINITY
    wanted = _DESCRIPTORS if unlimited else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _is_own(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
