"""Every answer of the gateway, over a real socket."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading

import pyarrow as pa
import pytest
import zstandard
from prometheus_client.parser import text_string_to_metric_families

from freshline.ingest.http.app import GatewayApp
from freshline.ingest.http.auth import Guard
from freshline.ingest.receipts import BatchTooLarge, OverQuota, Unavailable
from freshline.ingest.records.limits import Limits
from freshline.ingest.records.records import ARROW, JSON, NDJSON, RecordChecker
from freshline.project.ddl import columns
from tests.unit.ingest.http.serving import DDL, WAIT_S, MemoryEngine, served, until_closed

ONE = b'{"id": 1}'


@pytest.fixture(scope="module")
def shared():
    with served() as gateway:
        yield gateway


@pytest.fixture
def gateway(shared):
    shared.engine.__init__(["clicks"])
    return shared


def error(reply):
    """Status and error object of an answer that has the form of every error."""
    assert reply.headers["content-type"] == "application/json"
    found = reply.json
    assert list(found) == ["error", "message", "record"]
    return reply.status, found["error"], found["message"], found["record"]


def arrow(table: pa.Table, **options) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, **options) as writer:
        writer.write_table(table)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def test_lines_an_array_and_arrow_are_stored_in_order(gateway):
    lines = b'{"id": 1, "price": 1.10}\n\n{"id": 2, "price": "2.20"}\r\n'
    array = b' [ {"id": 3} , {"id": 4, "note": "\\u00e9"} ] '
    table = arrow(pa.table({"id": pa.array([5], pa.int32()), "note": ["five"]}))
    replies = [
        gateway.push(body, content_type=kind)
        for body, kind in ((lines, NDJSON), (array, JSON), (table, ARROW))
    ]
    assert [(reply.status, reply.json) for reply in replies] == [
        (200, {"accepted": 2, "first": 1, "last": 2, "duplicate": False}),
        (200, {"accepted": 2, "first": 3, "last": 4, "duplicate": False}),
        (200, {"accepted": 1, "first": 5, "last": 5, "duplicate": False}),
    ]
    rows = gateway.engine.rows("clicks")
    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5]
    assert [str(row["price"]) for row in rows[:2]] == ["1.10", "2.20"]
    assert [row["note"] for row in rows] == [None, None, None, "\u00e9", "five"]


@pytest.mark.parametrize(
    ("coding", "compress"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("zstd", zstandard.compress),
        ("identity", bytes),
        ("GZIP", lambda body: gzip.compress(body[:5]) + gzip.compress(body[5:])),
    ],
)
def test_a_compressed_body_is_read(gateway, coding, compress):
    assert gateway.push(compress(ONE), content_encoding=coding).status == 200
    assert [row["id"] for row in gateway.engine.rows("clicks")] == [1]


def test_a_repeated_key_gets_the_first_answer(gateway):
    first = gateway.push(ONE, idempotency_key="a-1")
    again = gateway.push(ONE, idempotency_key="a-1")
    assert first.json == {"accepted": 1, "first": 1, "last": 1, "duplicate": False}
    assert again.json == {"accepted": 1, "first": 1, "last": 1, "duplicate": True}
    assert len(gateway.engine.rows("clicks")) == 1
    other = gateway.push(b'{"id": 2}', idempotency_key="a-1")
    assert error(other) == (422, "key-conflict", "the key was used with other records", None)


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "\u00e9"])
def test_a_key_that_is_none_is_400(gateway, key):
    reply = gateway.push(ONE, idempotency_key=key.encode("latin-1"))
    assert error(reply)[:2] == (400, "bad-key")


def test_the_first_bad_record_is_named_and_nothing_is_stored(gateway):
    lines = [b'{"id": %d}' % number for number in range(600)]
    lines[500] = b'{"id": 500, "price": 1.005}'
    reply = gateway.push(b"\n".join(lines))
    assert error(reply) == (
        422,
        "bad-record",
        "column price: 1.005 has more than 2 digits behind the point of DECIMAL(15,2)",
        500,
    )
    assert gateway.engine.rows("clicks") == []


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        (b"", {}, (422, "no-records", "the request holds no record", None)),
        (b"[]", {"content_type": JSON}, (422, "no-records", "the request holds no record", None)),
        (
            ONE,
            {"content_type": JSON},
            (
                400,
                "bad-json",
                ("the body is no JSON array; records on lines of their own are "
                "application/x-ndjson"),
                None,
            ),
        ),
        (b"\xff", {}, (400, "bad-json", "byte 0 of the body is not UTF-8", None)),
        (
            b"junk",
            {"content_type": ARROW},
            (400, "bad-arrow", "the body is no whole Arrow IPC stream", None),
        ),
        (
            b"junk",
            {"content_encoding": "gzip"},
            (400, "bad-encoding", "the body is no whole gzip stream", None),
        ),
        (
            gzip.compress(ONE, mtime=0)[:-4],  # it names the test: the same for every worker
            {"content_encoding": "gzip"},
            (400, "bad-encoding", "the body is no whole gzip stream", None),
        ),
        (
            ONE,
            {"content_encoding": "br"},
            (415, "unsupported-media-type", "the content coding 'br' is not one of gzip, zstd",
             None),
        ),
        (
            ONE,
            {"content_type": "text/csv"},
            (
                415,
                "unsupported-media-type",
                ("the type 'text/csv' is not taken; Content-Type is one of application/x-ndjson,"
                " application/json, application/vnd.apache.arrow.stream"),
                None,
            ),
        ),
        (
            ONE,
            {"content_type": "application/x-ndjson; charset=latin1"},
            (415, "unsupported-media-type", "JSON is accepted in UTF-8 only", None),
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_for_good(gateway, body, headers, expected):
    assert error(gateway.push(body, **headers)) == expected
    assert gateway.engine.rows("clicks") == []


def test_a_refused_type_or_coding_is_told_what_is_taken(gateway):
    assert "application/x-ndjson" in gateway.push(ONE, content_type="a/b").headers["accept-post"]
    assert gateway.push(ONE, content_encoding="br").headers["accept-encoding"] == "gzip, zstd"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b" " * 100_001, {}),
        (gzip.compress(b" " * 100_001, mtime=0), {"content_encoding": "gzip"}),
        (zstandard.compress(b" " * 50_000_000), {"content_encoding": "zstd"}),
    ],
)
def test_a_body_too_large_before_or_after_decompression_is_413(gateway, body, headers):
    assert error(gateway.push(body, **headers))[:2] == (413, "too-large")


def test_a_body_too_large_in_pieces_is_413_before_its_end(gateway):
    """Nobody says how long it is, and it never ends: the answer cannot wait for that."""

    with gateway.raw() as connection:
        connection.sendall(
            b"POST /v1/feeds/clicks HTTP/1.1\r\nhost: localhost\r\n"
            b"content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        for _ in range(11):
            connection.sendall(b"2710\r\n" + b" " * 10_000 + b"\r\n")
        answer = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer


def test_a_large_body_is_refused_before_it_is_sent(gateway):
    with gateway.raw() as connection:
        connection.sendall(
            b"POST /v1/feeds/clicks HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n"
            b"content-type: application/x-ndjson\r\ncontent-length: 100001\r\n\r\n"
        )
        connection.shutdown(socket.SHUT_WR)
        answer = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_record_too_large_is_413_with_its_index():
    with served(limits=Limits(100_000, 1000, 1000)) as gateway:
        large = b'{"id": 2, "note": "%s"}' % (b"x" * 1000)
        told = (413, "too-large", "the record has more than 1,000 bytes", 1)
        assert error(gateway.push(ONE + b"\n" + large)) == told
        assert error(gateway.push(b"[%s,%s]" % (ONE, large), content_type=JSON)) == told
        many = b"[%s,%s,%s]" % (ONE, large, b",".join([ONE] * 5000))
        assert error(gateway.push(many, content_type=JSON)) == told
        table = arrow(pa.table({"id": [1, 2], "note": ["", "x" * 1001]}))
        assert error(gateway.push(table, content_type=ARROW)) == told


def test_more_records_than_a_request_may_have_are_413(gateway):
    told = (413, "too-large", "the request holds more than 1,000 records", None)
    assert error(gateway.push(b"\n".join([ONE] * 1001))) == told
    table = arrow(pa.table({"id": [1] * 1001}))
    assert error(gateway.push(table, content_type=ARROW)) == told
    assert gateway.push(b"\n".join([ONE] * 1000)).status == 200


@pytest.mark.parametrize(
    "path",
    ["/v1/feeds/orders", "/v1/feeds/", "/v1/feeds/clicks/", "/v1/feeds/../clicks",
     "/v1/feeds/..%2F..%2Fetc%2Fpasswd", "/v1/feeds/clicks%00", "/v1/feeds/CLICKS"],
)  # fmt: skip
def test_an_unknown_feed_is_404_whatever_it_is_called(gateway, path):
    reply = gateway.ask("POST", path, ONE, {"content-type": NDJSON})
    assert error(reply) == (
        404,
        "unknown-feed",
        "no feed of this name takes pushed records",
        None,
    )


def test_other_paths_are_404_and_other_methods_405(gateway):
    assert error(gateway.ask("GET", "/"))[:2] == (404, "not-found")
    got = gateway.ask("GET", "/v1/feeds/clicks")
    assert (error(got)[:2], got.headers["allow"]) == ((405, "method-not-allowed"), "POST")
    for path in ("/healthz", "/metrics", "/openapi.json"):
        posted = gateway.ask("POST", path, b"")
        assert error(posted)[:2] == (405, "method-not-allowed")
        assert posted.headers["allow"] == "GET, HEAD"
        assert gateway.ask("HEAD", path).status == 200


def test_the_engines_refusals_are_answered_with_when_to_come_back(gateway):
    gateway.engine.refusals = [
        OverQuota(7, "feed clicks has too much that is not landed"),
        Unavailable("memory", 2, "too much waits"),
        Unavailable("disk", 300, "the disk is too full"),
        Unavailable("commit-failed", 1, "the disk failed"),
        Unavailable("draining", 1, "the gateway is stopping"),
        BatchTooLarge("too large for the memory"),
    ]
    replies = [gateway.push(ONE) for _ in range(6)]
    assert [(*error(reply)[:2], reply.headers.get("retry-after")) for reply in replies] == [
        (429, "over-quota", "7"),
        (503, "memory", "2"),
        (503, "disk", "300"),
        (503, "commit-failed", "1"),
        (503, "draining", "1"),
        (413, "too-large", None),
    ]


def test_a_commit_that_fails_after_the_request_was_taken_is_503(gateway):
    gateway.engine.held = []

    def fail():
        assert gateway.engine.is_holding.wait(WAIT_S)
        gateway.engine.held[0][0].set_exception(Unavailable("commit-failed", 1, "the disk failed"))

    thread = threading.Thread(target=fail)
    thread.start()
    assert error(gateway.push(ONE))[:2] == (503, "commit-failed")
    thread.join()


def test_a_fault_of_ours_is_500_and_its_text_stays_out_of_answer_and_log(gateway, caplog):
    gateway.engine.refusals = [RuntimeError("what somebody pushed")]
    assert error(gateway.push(ONE)) == (
        500,
        "internal",
        "the gateway failed; its log says more",
        None,
    )
    assert "a request failed: RuntimeError at " in caplog.text
    assert "what somebody pushed" not in caplog.text


def test_health_is_whether_anything_is_taken_in(gateway):
    assert (gateway.ask("GET", "/healthz").status, gateway.ask("GET", "/healthz").json) == (
        200,
        {"status": "ok"},
    )
    gateway.engine.state = "disk"
    reply = gateway.ask("GET", "/healthz")
    assert error(reply) == (503, "disk", "no records are accepted: disk", None)
    assert reply.headers["retry-after"] == "5"


def test_metrics_are_prometheus_text_with_every_figure(gateway):
    gateway.app.refused.clear()
    gateway.push(b"[1]")
    gateway.push(ONE, feed="nobody")
    reply = gateway.ask("GET", "/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = {
        (sample.name.removeprefix("freshline_ingest_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(reply.body.decode())
        for sample in family.samples
    }
    expected = {
        ("received_requests_total", "clicks"): 1,
        ("received_records_total", "clicks"): 2,
        ("acknowledged_requests_total", "clicks"): 3,
        ("acknowledged_records_total", "clicks"): 4,
        ("duplicate_requests_total", "clicks"): 5,
        ("rejected_requests_total", "clicks", "bad-record"): 1,
        ("rejected_requests_total", "", "unknown-feed"): 1,
        ("backlog_requests", "clicks"): 6,
        ("backlog_records", "clicks"): 7,
        ("backlog_bytes", "clicks"): 8,
        ("backlog_age_seconds", "clicks"): 9.5,
        ("landed_records_total", "clicks"): 12,
        ("land_after_seconds",): 4.0,
        ("memory_peak_bytes",): 15,
        ("reads_total",): 16,
        ("writes_total",): 17,
        ("rewritten_bytes_total",): 0,
        ("disk_free_bytes",): 20,
        ("corrupt_rows_total",): 21,
        ("recovery_seconds",): 0.5,
        ("state", "open"): 1,
        ("state", "disk"): 0,
        ("group_requests_bucket", "+Inf"): 0,
        ("commit_seconds_bucket", "0.001"): 0,
    }
    assert {name: found.get(name) for name in expected} == expected


def test_one_connection_carries_many_requests_also_refused_ones(gateway):
    request = (
        b"POST /v1/feeds/clicks HTTP/1.1\r\nhost: localhost\r\n"
        b"content-type: application/x-ndjson\r\ncontent-length: %d\r\n\r\n%s"
    )
    bodies = (ONE, b"bad", b'{"id": 2}')
    with gateway.raw() as connection:
        connection.sendall(b"".join(request % (len(body), body) for body in bodies))
        answers = b""
        while answers.count(b"HTTP/1.1 ") < 3 or not answers.endswith(b"}"):
            answers += connection.recv(65536)
    statuses = [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"422", b"200"]
    assert json.loads(answers.rpartition(b"\r\n\r\n")[2])["first"] == 2


def test_what_is_under_way_is_answered_while_the_gateway_stops():
    with served() as gateway:
        gateway.engine.held = []
        replies = []
        thread = threading.Thread(target=lambda: replies.append(gateway.push(ONE)))
        thread.start()
        assert gateway.engine.is_holding.wait(WAIT_S)
        gateway.app.draining = True
        late = gateway.push(b'{"id": 2}')
        assert error(late) == (503, "draining", "the gateway is stopping", None)
        assert (late.headers["retry-after"], late.headers["connection"]) == ("5", "close")
        answer, receipt = gateway.engine.held[0]
        answer.set_result(receipt)
        thread.join()
        assert replies[0].status == 200


def test_an_answer_that_is_given_up_leaves_the_engine_its_future():
    """A cancelled future would throw in the engine's committer, and take all others with it."""
    limits = Limits()
    engine = MemoryEngine(["clicks"])
    engine.held = []
    checkers = {"clicks": RecordChecker(columns(DDL), limits)}
    app = GatewayApp(engine, checkers, Guard({}, public=False), limits)
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/feeds/clicks",
        "headers": [(b"content-type", NDJSON.encode()), (b"content-length", b"%d" % len(ONE))],
    }

    async def receive():
        return {"type": "http.request", "body": ONE, "more_body": False}

    async def send(message):
        raise AssertionError(message)

    async def give_up():
        answering = asyncio.create_task(app(scope, receive, send))
        assert await asyncio.to_thread(engine.is_holding.wait, WAIT_S)
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering

    asyncio.run(give_up())
    app.close()
    ((future, receipt),) = engine.held
    future.set_result(receipt)
    assert future.result() == receipt
