"""Clients that are slow, greedy or many: each is cut off, the others are served on."""

from __future__ import annotations

import json
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.ingest.http.pace import Budget, Patience
from freshline.ingest.records.limits import Limits
from freshline.ingest.records.records import NDJSON
from tests.unit.ingest.http.serving import DDL, WAIT_S, served, until_closed

SHORT = Patience(header_s=0.1, body_s=0.1, idle_s=1.0, linger_s=0.1)
FOR_BODIES = Patience(header_s=WAIT_S, body_s=0.1, linger_s=0.1)
"""A busy machine may take a tenth of a second between a connection and its first byte."""
FOR_TWO = Patience(header_s=0.7, linger_s=0.1)
HEAD = (
    b"POST /v1/feeds/clicks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
)


def answered(answer: bytes) -> tuple[bytes, dict]:
    """Status line and error object."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0], json.loads(body)


@pytest.fixture(scope="module")
def hurried():
    with served(patience=SHORT) as gateway:
        yield gateway


def test_headers_that_never_end_are_cut_off(hurried):
    with hurried.raw() as connection:
        connection.sendall(HEAD)
        status, error = answered(until_closed(connection))
    assert status == b"HTTP/1.1 408 Request Timeout"
    assert error == {
        "error": "slow-client",
        "message": "the headers came in too slowly",
        "record": None,
    }


def test_a_connection_without_a_request_is_closed(hurried):
    with hurried.raw() as connection:
        assert until_closed(connection) == b""


def test_empty_lines_for_ever_are_no_request(hurried):
    with hurried.raw() as connection:
        connection.sendall(b"\r\n\r\n")
        assert until_closed(connection)[:12] in (b"HTTP/1.1 408", b"")


def test_a_body_that_never_ends_is_cut_off():
    with served(patience=FOR_BODIES) as gateway:
        with gateway.raw() as connection:
            connection.sendall(HEAD + b"content-length: 100\r\n\r\n" + b'{"id"')
            status, error = answered(until_closed(connection))
        assert gateway.engine.batches["clicks"] == []
        assert gateway.app.refused["clicks", "slow-client"] == 1
    assert status == b"HTTP/1.1 408 Request Timeout"
    assert error["message"] == "the body came in too slowly"


@pytest.mark.parametrize("pipelined", [1, 2])
def test_a_client_that_closes_its_side_behind_its_request_is_answered(pipelined):
    with served() as gateway, gateway.raw() as connection:
        body = b'{"id": 1}'
        request = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
        gateway.engine.held = []
        connection.sendall(request * pipelined)
        connection.shutdown(socket.SHUT_WR)
        for held in range(pipelined):
            while len(gateway.engine.held) <= held:
                time.sleep(0.01)
            future, receipt = gateway.engine.held[held]
            time.sleep(0.05)  # the end of what the client says has come by then
            future.set_result(receipt)
        answers = until_closed(connection).split(b"HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [b"200"] * pipelined
    assert b"connection: close" in answers[-1]


def test_a_client_that_closes_its_side_is_not_answered_for_ever():
    with served(patience=Patience(half_closed_s=0.2)) as gateway, gateway.raw() as connection:
        gateway.engine.held = []
        connection.sendall(HEAD + b"content-length: 9\r\n\r\n" + b'{"id": 1}')
        connection.shutdown(socket.SHUT_WR)
        assert until_closed(connection) == b""
        assert gateway.engine.is_holding.wait(WAIT_S)
        gateway.engine.held[0][0].set_result(gateway.engine.held[0][1])


def test_a_client_that_closes_its_side_within_its_request_is_gone():
    with served() as gateway, gateway.raw() as connection:
        connection.sendall(HEAD + b"content-length: 90\r\n\r\n" + b'{"id": 1}')
        connection.shutdown(socket.SHUT_WR)
        assert until_closed(connection) == b""
        assert gateway.engine.batches["clicks"] == []


def test_a_second_request_has_its_own_time():
    """The first is answered; half of the next is as slow as half of the first."""
    with served(patience=FOR_TWO) as gateway, gateway.raw() as connection:
        whole = HEAD + b"content-length: 3\r\n\r\nbad"
        connection.sendall(whole + HEAD)
        answers = until_closed(connection).split(b"HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [b"422", b"408"]


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"a" * 20_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"x: a\r\n" * 4000 + b"\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"a" * 20_000,
    ],
    ids=["path", "value", "many", "endless"],
)
def test_headers_too_large_are_431(head):
    with served() as gateway, gateway.raw() as connection:
        connection.sendall(head)
        status, error = answered(until_closed(connection))
        assert status == b"HTTP/1.1 431 Request Header Fields Too Large"
        assert (error["error"], error["record"]) == ("headers-too-large", None)
        assert gateway.push(b'{"id": 1}').status == 200


@pytest.mark.parametrize(
    "request_",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["nonsense", "two-lengths", "negative", "upgrade", "http-2", "tls"],
)
def test_what_is_no_request_is_400_and_ends_the_connection(request_):
    with served() as gateway, gateway.raw() as connection:
        connection.sendall(request_)
        status, error = answered(until_closed(connection))
        assert status == b"HTTP/1.1 400 Bad Request"
        assert error["error"] == "bad-request"


def test_one_connection_too_many_is_told_to_come_back():
    patience = Patience(connections=2, linger_s=0.1)
    with served(patience=patience) as gateway:
        first, second = gateway.raw(), gateway.raw()
        for each in (first, second):  # accepted for certain once they are answered
            each.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert each.recv(100).startswith(b"HTTP/1.1 200")
        with gateway.raw() as third:
            answer = until_closed(third)
        status, error = answered(answer)
        assert status == b"HTTP/1.1 503 Service Unavailable"
        assert error["error"] == "busy"
        assert b"\r\nretry-after: 1\r\n" in answer
        first.close()
        second.close()


def taken(gateway):
    gateway.ask("GET", "/healthz")
    return gateway.app._budget.taken_bytes


def test_more_bytes_at_once_than_the_budget_are_told_to_come_back():
    with served(limits=Limits(body_bytes=60_000), budget_bytes=100_000) as gateway:
        request = HEAD + b"content-length: 60000\r\n\r\n"
        with gateway.raw() as slow:
            slow.sendall(request + b" " * 59_000)
            while taken(gateway) < 59_000:
                pass
            late = gateway.push(b" " * 50_000)
            assert (late.status, late.json["error"]) == (503, "busy")
            assert late.headers["retry-after"] == "1"
            slow.sendall(b" " * 1_000)
            assert slow.recv(100).startswith(b"HTTP/1.1 422")  # read to its end: no record
        assert gateway.push(b'{"id": 1}').status == 200
        assert gateway.app._budget.taken_bytes == 0


def test_slow_clients_hold_what_they_have_sent_and_not_what_they_announce():
    with served(limits=Limits(body_bytes=60_000), budget_bytes=100_000) as gateway:
        request = HEAD + b"content-length: 60000\r\n\r\n"
        slow = [gateway.raw() for _ in range(20)]
        for each in slow:
            each.sendall(request + b" ")
        while taken(gateway) < len(slow):
            pass
        assert gateway.push(b'{"id": 1}').status == 200
        for each in slow:
            each.close()


def test_greedy_clients_of_one_feed_leave_room_for_the_others():
    feeds = {"clicks": DDL, "orders": DDL}
    limits = Limits(body_bytes=60_000)
    with served(feeds, limits=limits, budget_bytes=100_000) as gateway:
        request = HEAD + b"content-length: 60000\r\n\r\n"
        greedy = [gateway.raw() for _ in range(3)]
        for each in greedy:
            each.sendall(request + b" " * 40_000)
        while gateway.app.refused["clicks", "busy"] == 0:
            taken(gateway)
        assert gateway.push(b'{"id": 1, "note": "' + b"x" * 9_000 + b'"}', "orders").status == 200
        for each in greedy:
            each.close()


def test_a_body_has_an_end_however_steadily_it_drips():
    patience = Patience(body_s=0.1, body_bytes_per_s=1.0, body_most_s=0.5, linger_s=0.1)
    with served(patience=patience) as gateway, gateway.raw() as drip:
        drip.sendall(HEAD + b"content-length: 50000\r\n\r\n" + b" " * 100)  # 100 s by its size
        status, error = answered(until_closed(drip))
    assert status == b"HTTP/1.1 408 Request Timeout"
    assert error["message"] == "the body came in too slowly"


@given(
    st.integers(1, 5),
    st.integers(0, 50),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60), st.booleans())),
)
def test_every_feed_can_have_its_share_at_any_time(feeds, whole, steps):
    budget = Budget(100, feeds, whole)
    share = (100 - whole) // feeds
    held: dict[str, list[int]] = {str(feed): [] for feed in range(feeds)}
    for number, size, gives in steps:
        feed = str(number % feeds)
        if gives and held[feed]:
            budget.give(held[feed].pop(), feed)
        elif budget.take(size, feed):
            held[feed].append(size)
        else:
            assert sum(held[feed]) + size > share, "its share was refused"
        total = sum(map(sum, held.values()))
        assert budget.taken_bytes == total <= 100
    for name, sizes in held.items():
        for size in sizes:
            budget.give(size, name)
    assert budget.taken_bytes == 0
    assert budget.take(max(whole, share), "0")


def test_a_client_that_goes_away_leaves_nothing_behind():
    with served() as gateway:
        with gateway.raw() as connection:
            connection.sendall(HEAD + b"content-length: 100\r\n\r\n" + b'{"id"')
            while gateway.app._budget.taken_bytes == 0:
                gateway.ask("GET", "/healthz")
        while gateway.app._budget.taken_bytes:
            gateway.ask("GET", "/healthz")
        assert gateway.engine.batches["clicks"] == []


def test_a_pushed_line_of_another_host_is_refused_where_no_token_is_wanted():
    """A web page whose name was made to mean 127.0.0.1."""
    with served() as gateway:
        reply = gateway.push(b'{"id": 1}', host="attacker.example")
        assert (reply.status, reply.json["error"]) == (421, "misdirected")
        for host in ("localhost:8787", "127.0.0.1", "[::1]:8787", "LOCALHOST."):
            assert gateway.push(b'{"id": 1}', host=host).status == 200
        assert gateway.ask("GET", "/metrics", headers={"host": "a.example"}).status == 421
        assert gateway.ask("GET", "/healthz", headers={"host": "a.example"}).status == 200
        assert NDJSON in gateway.ask("GET", "/openapi.json").body.decode()
