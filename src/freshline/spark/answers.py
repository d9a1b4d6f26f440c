"""Long answers from the JVM, without the pause that TCP makes in each of them.

py4j's side in the JVM writes an answer in pieces of 8 KB. By Nagle's algorithm the kernel keeps
the last piece back until the ones before it are acknowledged, and by that of delayed
acknowledgements this side waits 40 ms before it does so. That was most of what a plan or a list
of files took on its way.
"""

from __future__ import annotations

import io
import socket
from typing import Any

_END = ord("\n")
"""Of every answer."""


class Prompt(io.RawIOBase):
    """What a socket receives, acknowledged at once where an answer goes on.

    Args:
        receiver: The socket.
    """

    def __init__(self, receiver: socket.socket) -> None:
        super().__init__()
        self._receiver = receiver
        self._raw: Any = receiver.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """As every stream that is read."""
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        """What has come, into ``buffer``; how many bytes that is."""
        count: int | None = self._raw.readinto(buffer)
        if count and buffer[count - 1] != _END:
            self._receiver.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return count

    def close(self) -> None:
        """The stream's end; the socket stays open."""
        self._raw.close()
        super().close()


def acknowledge_at_once(gateway: Any) -> None:
    """Have the connections of a gateway, this thread's and those to come, do so.

    Where the system does not know TCP_QUICKACK nothing changes.

    Args:
        gateway: PySpark's, newly made: nothing is under way.
    """
    client: Any = getattr(gateway, "_gateway_client", None)
    new = getattr(client, "_create_new_connection", None)
    if new is None or not hasattr(socket, "TCP_QUICKACK"):
        return
    if "_create_new_connection" in vars(client):  # done before
        return

    def create() -> Any:
        connection = new()
        _make_prompt(connection)
        return connection

    client._create_new_connection = create  # noqa: SLF001 - py4j has no setting for it
    existing = client.get_thread_connection()
    if existing is not None:
        _make_prompt(existing)


def _make_prompt(connection: Any) -> None:
    if isinstance(connection.socket, socket.socket) and connection.stream is not None:
        connection.stream.close()
        connection.stream = io.BufferedReader(Prompt(connection.socket))
