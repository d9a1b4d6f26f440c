"""Long answers of the JVM are acknowledged piece by piece, and arrive as they were sent."""

from __future__ import annotations

import io
import socket
import threading
from types import SimpleNamespace

import pytest

from freshline.spark.answers import acknowledge_at_once

pytestmark = pytest.mark.skipif(
    not hasattr(socket, "TCP_QUICKACK"), reason="of Linux alone; elsewhere nothing is changed"
)


_WAIT_S = 30.0
"""Until a test that would wait for ever fails."""


class _Told(socket.socket):
    """A socket that opens a gate when it is asked to acknowledge at once."""

    gate: threading.Semaphore

    def setsockopt(self, level, option, *value):
        super().setsockopt(level, option, *value)
        if (level, option) == (socket.IPPROTO_TCP, socket.TCP_QUICKACK):
            self.gate.release()


class _Client:
    """What py4j's client has for each thread."""

    def __init__(self, port: int, gate: threading.Semaphore) -> None:
        self._port, self._gate = port, gate
        self._own = threading.local()

    def _create_new_connection(self) -> SimpleNamespace:
        one = _Told(socket.AF_INET, socket.SOCK_STREAM)
        one.gate = self._gate
        one.settimeout(_WAIT_S)
        one.connect(("127.0.0.1", self._port))
        made = SimpleNamespace(socket=one, stream=one.makefile("rb"))
        self._own.connection = made
        return made

    def get_thread_connection(self) -> SimpleNamespace | None:
        return getattr(self._own, "connection", None)


def _answer(server: socket.socket, answers: list[list[bytes]], gate: threading.Semaphore) -> None:
    """Send each piece but an answer's first only when those before it are acknowledged."""
    one, _ = server.accept()
    with one:
        for first, *others in answers:
            one.sendall(first)
            for piece in others:
                if not gate.acquire(timeout=_WAIT_S):
                    return
                one.sendall(piece)
            one.recv(1)  # the next question


@pytest.mark.parametrize("existing", [True, False])
def test_an_answer_that_goes_on_is_acknowledged_before_it_goes_on(existing):
    answers = [[b"short\n"], [b"a" * 3000, b"b" * 30_000, b"c\n"], [b"last\n"]]
    gate = threading.Semaphore(0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = threading.Thread(target=_answer, args=(server, answers, gate), daemon=True)
        sender.start()
        client = _Client(server.getsockname()[1], gate)
        made = client._create_new_connection() if existing else None
        gateway = SimpleNamespace(_gateway_client=client)
        acknowledge_at_once(gateway)
        acknowledge_at_once(gateway)  # a second session of the same process
        connection = made or client._create_new_connection()
        assert isinstance(connection.stream, io.BufferedReader)
        for pieces in answers:
            assert connection.stream.readline() == b"".join(pieces)
            connection.socket.sendall(b"?")
        sender.join(_WAIT_S)
        assert connection.stream.readline() == b""
        connection.stream.close()
        connection.socket.close()
        assert connection.socket.fileno() == -1


def test_a_gateway_without_such_connections_stays_as_it_is():
    acknowledge_at_once(SimpleNamespace())
    acknowledge_at_once(SimpleNamespace(_gateway_client=SimpleNamespace()))
