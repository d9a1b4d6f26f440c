"""Push records to a freshline gateway: in batches, each stored once however often it is sent.

    from freshline.client import push

    push("http://127.0.0.1:8787", "clicks", [{"id": 1, "at": "2026-01-31T12:00:00Z"}])

Needs the standard library alone. A batch is repeated after 429, 502, 503, 504 and a broken
connection, with the same Idempotency-Key, after the Retry-After of the answer or growing
waits; any other answer is final and raised.
"""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import http.client
import json
import numbers
import random
import re
import ssl
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any, Self

from freshline.core.errors import PlatformError, UserError

RETRIED = frozenset({429, 502, 503, 504})
"""Answers after which the same batch is sent again; as OTLP's exporters do."""

_FIRST_WAIT_S = 0.5
_MOST_WAIT_S = 30.0
_MOST_RETRY_AFTER_S = 300.0
_COMPRESS_FROM_BYTES = 4096
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class Pushed:
    """What was stored.

    Attributes:
        records: All that were pushed, now on the gateway's disk.
        duplicates: Of them, how many had been stored before under the same key.
        batches: Requests that they went in.
        retries: Requests that were repeated.
        first: Number of the first record in the feed; None without records.
        last: Number of the last one. Others may have pushed records in between.
    """

    records: int = 0
    duplicates: int = 0
    batches: int = 0
    retries: int = 0
    first: int | None = None
    last: int | None = None


class PushRefusedError(UserError):
    """The gateway will never take a batch; the batches before it are stored.

    Attributes:
        status: Of HTTP.
        error: The gateway's code, such as ``bad-record``.
        record: Index of the record at fault among all that were pushed, if it is one.
        pushed: What was stored before.
    """

    def __init__(
        self, status: int, error: str, message: str, record: int | None, pushed: Pushed
    ) -> None:
        self.status = status
        self.error = error
        self.record = record
        self.pushed = pushed
        which = "" if record is None else f"record {record}: "
        super().__init__(error, f"{which}{message}", rule=f"the gateway answered {status}")


class PushFailedError(PlatformError):
    """The gateway could not be reached, or took in nothing for too long.

    Pushing the same records again with the same ``key`` stores none of them twice.

    Attributes:
        key: Of this push.
        pushed: What was stored before.
    """

    def __init__(self, why: str, key: str, pushed: Pushed) -> None:
        self.key = key
        self.pushed = pushed
        super().__init__(
            "push-failed",
            f"the gateway is not accepting records: {why}",
            next_step="Push the same records again with the same key.",
        )


def push(
    url: str,
    feed: str,
    records: Iterable[Mapping[str, Any]],
    *,
    token: str | None = None,
    key: str | None = None,
    batch_records: int = 500,
    give_up_s: float = 300.0,
    tls: ssl.SSLContext | None = None,
) -> Pushed:
    """Push records to a feed; returns when all of them are on the gateway's disk.

    Args:
        url: Of the gateway, ``http://127.0.0.1:8787``.
        feed: Its name.
        records: By column. Decimal, datetime, date and bytes become what the gateway reads;
            a missing column is null.
        token: The feed's bearer token.
        key: Names this push: pushing the same records again with the same key, in batches of
            the same size and within a day, stores nothing twice, even from another process.
            Without it one is made, so that repeated requests are safe.
        batch_records: Records in a request.
        give_up_s: How long a batch is tried.
        tls: To trust a certificate of your own.

    Raises:
        PushRefusedError: A batch is wrong; repeating it is no use.
        PushFailedError: A batch was not stored within ``give_up_s``.
        ValueError: An argument is wrong.
    """
    with Client(url, token=token, give_up_s=give_up_s, tls=tls) as client:
        return client.push(feed, records, key=key, batch_records=batch_records)


@dataclass(slots=True)
class Client:
    """Pushes over one connection that is kept; for one thread.

    Attributes:
        url: Of the gateway.
        token: The feed's bearer token.
        give_up_s: How long a batch is tried.
        timeout_s: For an answer.
        tls: To trust a certificate of your own.
        sleep: Waits; for tests.
        clock: Seconds that only grow; for tests.
        chance: Numbers in [0, 1): clients that were refused together come back apart.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    give_up_s: float = 300.0
    timeout_s: float = 30.0
    tls: ssl.SSLContext | None = None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    _connection: http.client.HTTPConnection | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"'{self.url}' is no address of a gateway, like http://127.0.0.1:8787")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def push(
        self,
        feed: str,
        records: Iterable[Mapping[str, Any]],
        *,
        key: str | None = None,
        batch_records: int = 500,
    ) -> Pushed:
        """Like :func:`push`."""
        if batch_records < 1:
            raise ValueError("batch_records is at least 1")
        if key is not None and not _KEY.fullmatch(key):
            raise ValueError("a key is 1 to 200 visible ASCII characters")
        key = key or uuid.uuid4().hex
        pushed = Pushed()
        for number, batch in enumerate(_batches(records, batch_records)):
            pushed = self._push_batch(feed, batch, f"{key}-{number}", key, pushed)
        return pushed

    def _push_batch(
        self,
        feed: str,
        batch: list[Mapping[str, Any]],
        batch_key: str,
        key: str,
        pushed: Pushed,
    ) -> Pushed:
        """Send one batch until it is answered for good."""
        body = "\n".join(map(json_text, batch)).encode()
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": batch_key}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if len(body) >= _COMPRESS_FROM_BYTES:
            body = gzip.compress(body, 1, mtime=0)
            headers["Content-Encoding"] = "gzip"
        started_s = self.clock()
        attempt = 0
        while True:
            retry_after_s = None
            try:
                status, answer, retry_after = self._request(feed, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise PushFailedError(str(error), key, pushed) from error
                why = f"{type(error).__name__}: {error}"
            else:
                found = _object(answer)
                if status == http.HTTPStatus.OK and "accepted" in found:
                    return _with(pushed, found, attempt)
                # A connection that broke within the headers leaves an answer without a body.
                if status not in RETRIED and not (status == http.HTTPStatus.OK and not answer):
                    index = found.get("record")
                    record = None if index is None else pushed.records + int(index)
                    error_code = str(found.get("error", "refused"))
                    message = str(found.get("message", f"HTTP status {status}"))
                    raise PushRefusedError(status, error_code, message, record, pushed)
                why = f"{status} {found.get('error', '')}: {found.get('message', '')}"
                retry_after_s = _seconds(retry_after)
            attempt += 1
            wait_s = self._wait_s(attempt, retry_after_s)
            if self.clock() - started_s + wait_s > self.give_up_s:
                raise PushFailedError(why, key, pushed)
            self.sleep(wait_s)

    def _wait_s(self, attempt: int, retry_after_s: float | None) -> float:
        """What the gateway asked for and up to a tenth more; else growing, with full jitter."""
        if retry_after_s is not None:
            return min(retry_after_s, _MOST_RETRY_AFTER_S) * (1.0 + 0.1 * self.chance())
        most_s = min(_MOST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(attempt - 1, 10))
        return most_s * self.chance()

    def _request(
        self, feed: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, bytes, str | None]:
        """One request: status, body, Retry-After."""
        parts = urllib.parse.urlsplit(self.url)
        if self._connection is None:
            assert parts.hostname is not None
            if parts.scheme == "https":
                self._connection = http.client.HTTPSConnection(
                    parts.hostname, parts.port, timeout=self.timeout_s, context=self.tls
                )
            else:
                self._connection = http.client.HTTPConnection(
                    parts.hostname, parts.port, timeout=self.timeout_s
                )
        path = f"{parts.path.rstrip('/')}/v1/feeds/{urllib.parse.quote(feed, safe='')}"
        self._connection.request("POST", path, body, dict(headers))
        response = self._connection.getresponse()
        answer = response.read()
        return response.status, answer, response.getheader("Retry-After")


def json_text(record: Mapping[str, Any]) -> str:
    """A record as the gateway reads it, on one line.

    NaN and infinities stand there without quotes: a text would do for a STRING, where NaN is a
    missing value of pandas.

    Raises:
        ValueError: A value has no form in JSON.
    """
    return json.dumps(
        {name: _value(value) for name, value in record.items()},
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _value(value: Any) -> Any:
    """A value in JSON's terms; what a DECIMAL or a time loses in a float it keeps as a text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Decimal | uuid.UUID):
        return str(value)
    if isinstance(value, numbers.Integral):  # of numpy
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, dt.date | dt.datetime):
        # NaT of pandas, a missing time, is a datetime that is unlike itself.
        return value.isoformat() if value == value else None  # noqa: PLR0124
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, Mapping):
        return {str(name): _value(each) for name, each in value.items()}
    if isinstance(value, Iterable):
        return [_value(each) for each in value]
    raise ValueError(f"a {type(value).__name__} cannot be pushed")


def _batches(records: Iterable[Mapping[str, Any]], most: int) -> Iterator[list[Mapping[str, Any]]]:
    batch: list[Mapping[str, Any]] = []
    for record in records:
        batch.append(record)
        if len(batch) == most:
            yield batch
            batch = []
    if batch:
        yield batch


def _with(pushed: Pushed, receipt: Mapping[str, Any], retries: int) -> Pushed:
    return Pushed(
        records=pushed.records + receipt["accepted"],
        duplicates=pushed.duplicates + (receipt["accepted"] if receipt["duplicate"] else 0),
        batches=pushed.batches + 1,
        retries=pushed.retries + retries,
        first=receipt["first"] if pushed.first is None else pushed.first,
        last=receipt["last"],
    )


def _object(answer: bytes) -> dict[str, Any]:
    """An answer's object; something in between may answer with anything."""
    try:
        found = json.loads(answer)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After: seconds, or a date (RFC 9110, 10.2.3)."""
    if retry_after is None:
        return None
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())
