"""The client's rules, against real servers; time is virtual."""

from __future__ import annotations

import datetime as dt
import socket
import threading
import uuid
from contextlib import contextmanager
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from freshline.client import Client, Pushed, PushFailedError, PushRefusedError, json_text, push
from freshline.ingest.receipts import OverQuota, Unavailable
from tests.unit.ingest.http.serving import WAIT_S, served

RECORDS: list[dict[str, object]] = [{"id": number} for number in range(7)]


class Waits:
    """A clock that moves only while somebody sleeps, and what was slept."""

    def __init__(self):
        self.now_s = 0.0
        self.slept_s: list[float] = []

    def sleep(self, seconds):
        self.slept_s.append(seconds)
        self.now_s += seconds

    def client(self, url, **options):
        return Client(url, sleep=self.sleep, clock=lambda: self.now_s, **options)


@pytest.fixture
def waits():
    return Waits()


@contextmanager
def answering(*answers: bytes):
    """A server that gives these answers, one a connection, and nothing afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WAIT_S)
        requests: list[bytes] = []

        def serve():
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(WAIT_S)
                    requests.append(connection.recv(65536))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
        thread.join()


def plain(status: int, body: bytes = b"", *headers: str) -> bytes:
    head = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}", "connection: close", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


STORED = plain(200, b'{"accepted": 1, "first": 5, "last": 5, "duplicate": false}')


def test_records_go_in_batches_over_one_connection():
    with served() as gateway:
        done = push(gateway.url, "clicks", iter(RECORDS), batch_records=3)
        assert done == Pushed(records=7, batches=3, first=1, last=7)
        assert [batch.records for batch in gateway.engine.batches["clicks"]] == [3, 3, 1]
        assert [row["id"] for row in gateway.engine.rows("clicks")] == list(range(7))


def test_the_same_key_stores_nothing_twice():
    with served() as gateway:
        first = push(gateway.url, "clicks", RECORDS, key="load-7", batch_records=3)
        again = push(gateway.url, "clicks", RECORDS, key="load-7", batch_records=3)
        assert first == Pushed(records=7, batches=3, first=1, last=7)
        assert again == Pushed(records=7, duplicates=7, batches=3, first=1, last=7)
        assert [key for _, key in gateway.engine.keys] == ["load-7-0", "load-7-1", "load-7-2"]
        assert push(gateway.url, "clicks", RECORDS).duplicates == 0


def test_values_keep_every_digit():
    moment = dt.datetime(2026, 1, 31, 12, 0, 0, 123456, dt.UTC)
    record = {"id": 2**62, "at": moment, "price": Decimal("1234567890123.45"), "note": "\u00e9\n"}
    with served() as gateway:
        push(gateway.url, "clicks", [record])
        (row,) = gateway.engine.rows("clicks")
    assert row == record


def test_every_kind_of_value_has_a_form():
    text = json_text(
        {
            "d": dt.date(2026, 1, 31),
            "b": b"hi",
            "u": uuid.UUID(int=1),
            "f": [float("nan"), float("-inf"), 1.5],
            "m": {"k": (True, None)},
            "n": [np.int64(7), np.float32(0.5), pd.Timestamp("2026-01-31"), pd.NaT],
        }
    )
    assert text == (
        '{"d":"2026-01-31","b":"aGk=","u":"00000000-0000-0000-0000-000000000001",'
        '"f":[NaN,-Infinity,1.5],"m":{"k":[true,null]},'
        '"n":[7,0.5,"2026-01-31T00:00:00",null]}'
    )
    with pytest.raises(ValueError, match="a object cannot be pushed"):
        json_text({"x": object()})


def test_a_nan_is_a_number_and_no_text():
    """pandas has it where a text is missing: it must not become the text 'NaN'."""
    with served() as gateway:
        with pytest.raises(PushRefusedError, match="column note: NaN is no STRING") as raised:
            push(gateway.url, "clicks", [{"id": 1, "note": "a"}, {"id": 2, "note": float("nan")}])
        assert raised.value.record == 1
        push(gateway.url, "clicks", [{"id": 1, "note": None}])
        assert [row["note"] for row in gateway.engine.rows("clicks")] == [None]


def test_what_the_gateway_asks_for_is_waited_and_the_batch_is_stored_once(waits):
    with served() as gateway:
        gateway.engine.refusals = [
            OverQuota(7, "too much"),
            Unavailable("disk", 300, "full"),
            Unavailable("memory", 1, "full"),
        ]
        with waits.client(gateway.url, give_up_s=1000.0, chance=lambda: 0.5) as client:
            done = client.push("clicks", RECORDS)
        assert done == Pushed(records=7, batches=1, retries=3, first=1, last=7)
        assert waits.slept_s == pytest.approx([7 * 1.05, 300 * 1.05, 1.05])
        assert len(gateway.engine.keys) == 1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_these_answers_are_tried_again_with_the_same_key(waits, status):
    with answering(plain(status), plain(status), STORED) as (url, requests):
        done = waits.client(url, chance=lambda: 1.0).push("clicks", [{"id": 1}], key="k")
    assert (done.retries, done.first) == (2, 5)
    assert [b"Idempotency-Key: k-0\r\n" in request for request in requests] == [True] * 3
    assert waits.slept_s == [0.5, 1.0]


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 408, 413, 415, 422, 500, 501])
def test_every_other_answer_is_final(waits, status):
    with (
        answering(plain(status, b"<html>")) as (url, _),
        pytest.raises(PushRefusedError, match=f"HTTP status {status}") as raised,
    ):
        waits.client(url).push("clicks", [{"id": 1}])
    assert (raised.value.status, raised.value.error, raised.value.record) == (
        status,
        "refused",
        None,
    )
    assert waits.slept_s == []


def test_a_broken_connection_is_tried_again(waits):
    """The answer may have been lost behind the commit: the key makes that harmless."""
    with answering(b"", b"HTTP/1.1 200 OK\r\ncontent-le", STORED) as (url, requests):
        done = waits.client(url).push("clicks", [{"id": 1}])
    assert (done.retries, len(requests)) == (2, 3)


def test_a_connection_that_was_kept_too_long_is_opened_again():
    with served() as gateway, Client(gateway.url, sleep=lambda _: None) as client:
        client.push("clicks", [{"id": 1}])
        assert client._connection is not None
        assert client._connection.sock is not None
        client._connection.sock.shutdown(socket.SHUT_RDWR)
        assert client.push("clicks", [{"id": 2}]).retries == 1
        assert [row["id"] for row in gateway.engine.rows("clicks")] == [1, 2]


def test_retry_after_may_be_a_date(waits):
    later = "retry-after: Fri, 31 Jan 2200 12:00:00 GMT"
    with answering(plain(503, b"", later), STORED) as (url, _):
        waits.client(url, give_up_s=1000.0, chance=lambda: 0.0).push("clicks", [{"id": 1}])
    assert waits.slept_s == [300.0]  # nobody is made to wait for centuries


def test_waits_grow_to_a_limit_and_end(waits):
    with served() as gateway:
        url = gateway.url
    client = waits.client(url, give_up_s=200.0, chance=lambda: 1.0)
    with pytest.raises(PushFailedError) as raised:
        client.push("clicks", RECORDS, key="k")
    assert waits.slept_s == [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30, 30]
    assert (raised.value.key, raised.value.pushed) == ("k", Pushed())
    assert "ConnectionRefusedError" in str(raised.value)


def test_a_bad_record_is_named_among_all_and_the_batches_before_it_are_stored():
    with served() as gateway:
        records: list[dict[str, object]] = [*RECORDS[:4], {"id": "five"}, *RECORDS]
        with pytest.raises(PushRefusedError) as raised:
            push(gateway.url, "clicks", records, batch_records=3)
        error = raised.value
        assert (error.status, error.error, error.record) == (422, "bad-record", 4)
        assert "record 4: column id: 'five' is no BIGINT" in str(error)
        assert error.pushed == Pushed(records=3, batches=1, first=1, last=3)
        assert [row["id"] for row in gateway.engine.rows("clicks")] == [0, 1, 2]


def test_nothing_to_push_is_nothing_done():
    assert push("http://127.0.0.1:1", "clicks", []) == Pushed()


@pytest.mark.parametrize("url", ["127.0.0.1:8787", "ftp://a", "http://"])
def test_an_address_that_is_none_is_said_at_once(url):
    with pytest.raises(ValueError, match="no address of a gateway"):
        push(url, "clicks", RECORDS)


def test_arguments_that_cannot_be_right_are_said_at_once():
    with pytest.raises(ValueError, match="batch_records"):
        push("http://a", "clicks", RECORDS, batch_records=0)
    with pytest.raises(ValueError, match="a key is"):
        push("http://a", "clicks", RECORDS, key="a b")


def test_the_token_is_not_in_what_is_shown_of_a_client():
    assert "secret" not in repr(Client("http://a", token="secret"))
