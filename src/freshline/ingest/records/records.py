"""A request's body to records that fit the feed's schema, all of them or none.

JSON records are decoded one by one, so that the first bad one is named by its index and a
record can be held to its own size, and turned into Arrow a few thousand at a time: Python's
objects of a large request never stand in memory all at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from freshline.ingest.records.arrow_records import arrow_batches
from freshline.ingest.records.arrow_types import arrow_schema
from freshline.ingest.records.limits import Limits
from freshline.ingest.records.values import (
    MisfitError,
    RoundedError,
    column_array,
    exact_number,
    not_a_number,
)
from freshline.ingest.refusals import Refusal, shown
from freshline.project.ddl import Column, Type
from freshline.project.names import nearest

NDJSON = "application/x-ndjson"
JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
CONTENT_TYPES = (NDJSON, JSON, ARROW)

_CHUNK_RECORDS = 4096
_SPACE = re.compile(r"[ \t\r\n]*")
_Scan = Callable[[str, int], tuple[Any, int]]


@dataclass(frozen=True, slots=True)
class Checked:
    """Records that fit: how many, as an uncompressed Arrow IPC stream."""

    records: int
    body: bytes


class RecordChecker:
    """Checks the records of one feed.

    Args:
        columns: Of the feed's schema.
        limits: Of a request.
    """

    def __init__(self, columns: tuple[Column, ...], limits: Limits) -> None:
        self.columns = columns
        self.schema = arrow_schema(columns)
        self._limits = limits
        self._names = frozenset(column.name for column in columns)
        # A number with a fraction becomes a Decimal only where its last digit matters.
        exact = any(_has_decimal(column.type) for column in columns)
        self._exactly = _scanner(exact_number)
        self._scan = self._exactly if exact else _scanner(None)

    def check(self, content_type: str, body: bytes) -> Checked:
        """The records of ``body``, which is decompressed already.

        Raises:
            Refusal: The first thing that is wrong, with the record's index where there is one.
        """
        try:
            return self._checked(content_type, body, self._scan)
        except RoundedError:  # 1.0 for an INT is rare: most requests are read as floats, once
            return self._checked(content_type, body, self._exactly)

    def _checked(self, content_type: str, body: bytes, scan: _Scan) -> Checked:
        sink = pa.BufferOutputStream()
        count = 0
        with pa.ipc.new_stream(sink, self.schema) as writer:
            if content_type == ARROW:
                batches = arrow_batches(body, self.columns, self.schema, self._limits)
            else:
                batches = self._json_batches(content_type, body, scan)
            for batch in batches:
                count += batch.num_rows
                if count > self._limits.records:
                    raise _too_many(self._limits)
                writer.write_batch(batch)
        if not count:
            raise Refusal("no-records", "the request holds no record")
        return Checked(count, sink.getvalue().to_pybytes())

    def _json_batches(
        self, content_type: str, body: bytes, scan: _Scan
    ) -> Iterator[pa.RecordBatch]:
        try:
            # A mark of the byte order may be passed over (RFC 8259, 8.1); some tools write one.
            text = body.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            raise Refusal("bad-json", f"byte {error.start} of the body is not UTF-8") from error
        found = _Text(text, scan, self._limits.record_bytes)
        records = found.lines() if content_type == NDJSON else found.elements()
        chunk: list[dict[str, Any]] = []
        start = 0
        for record in records:
            chunk.append(record)
            if len(chunk) == _CHUNK_RECORDS:
                yield self._batch(chunk, start)
                start += len(chunk)
                chunk = []
                if start >= self._limits.records:
                    raise _too_many(self._limits)
        if chunk:
            yield self._batch(chunk, start)

    def _batch(self, chunk: list[dict[str, Any]], start: int) -> pa.RecordBatch:
        """Records as Arrow; of several that are wrong the first one is named."""
        misfits = []
        names = self._names
        for index, record in enumerate(chunk):
            if not (record.keys() <= names):
                misfits.append(MisfitError(index, self._unknown(record)))
                break
        arrays = []
        for column in self.columns:
            name = column.name
            try:
                arrays.append(column_array(column, [record.get(name) for record in chunk]))
            except MisfitError as misfit:
                misfits.append(misfit)
        if misfits:
            first = min(misfits, key=lambda misfit: misfit.index)
            raise Refusal("bad-record", first.reason, start + first.index)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _unknown(self, record: dict[str, Any]) -> str:
        name = next(name for name in record if name not in self._names)
        close = nearest(name, self._names)
        meant = f" (did you mean {close}?)" if close else ""
        return f"the unknown column {shown(name)}{meant}"


class _Text:
    """A body's text, decoded record by record.

    A record is decoded only once it is known to end within the limit or soon after: a few
    bytes of JSON make Python objects of many times their size.
    """

    def __init__(self, text: str, scan: _Scan, most_bytes: int) -> None:
        self._text = text
        self._scan = scan
        self._most_bytes = most_bytes
        self._window = text if len(text) <= 2 * most_bytes else ""
        self._start = 0

    def lines(self) -> Iterator[dict[str, Any]]:
        """One record a line; lines with nothing on them do not count."""
        text = self._text
        at, index = 0, 0
        while at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            line = text[at:end].strip(" \t\r")
            if line:
                self._check_size(line, index)
                value, behind = self._decoded(line, 0, index)
                if behind != len(line):
                    raise Refusal("bad-record", "its line is not one JSON object", index)
                yield _record(value, index)
                index += 1
            at = end + 1

    def elements(self) -> Iterator[dict[str, Any]]:
        """The elements of one array."""
        text = self._text
        at = _space_end(text, 0)
        if not text.startswith("[", at):
            raise Refusal(
                "bad-json",
                f"the body is no JSON array; records on lines of their own are {NDJSON}",
            )
        at = _space_end(text, at + 1)
        index = 0
        more = not text.startswith("]", at)
        while more:
            value, behind = self._element(at, index)
            if behind - at > self._most_bytes // 4:  # a character has at most four bytes
                self._check_size(text[at:behind], index)
            yield _record(value, index)
            index += 1
            at = _space_end(text, behind)
            more = text.startswith(",", at)
            if more:
                at = _space_end(text, at + 1)
            elif not text.startswith("]", at):
                raise Refusal("bad-json", f"a comma or ] is missing behind record {index - 1}")
        if _space_end(text, at + 1) != len(text):
            raise Refusal("bad-json", "something stands behind the JSON array")

    def _element(self, at: int, index: int) -> tuple[Any, int]:
        """The value at ``at`` and where it ends, looking at most two records' size ahead."""
        stop = self._start + len(self._window)
        if stop < len(self._text) and at + self._most_bytes > stop:
            self._start = at
            self._window = self._text[at : at + 2 * self._most_bytes]
            stop = at + len(self._window)
        try:
            value, behind = self._decoded(self._window, at - self._start, index)
        except Refusal as refusal:
            cause = refusal.__cause__
            cut = isinstance(cause, json.JSONDecodeError) and (
                cause.msg.startswith("Unterminated") or cause.pos >= len(self._window) - 8
            )
            if cut and stop < len(self._text):
                raise self._too_large(index) from cause
            raise
        return value, behind + self._start

    def _decoded(self, text: str, at: int, index: int) -> tuple[Any, int]:
        try:
            return self._scan(text, at)
        except ArithmeticError as error:
            raise Refusal("bad-record", "a number's exponent is too large", index) from error
        except ValueError as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise Refusal("bad-record", f"it is no JSON: {why}", index) from error
        except RecursionError as error:
            raise Refusal("bad-record", "it is nested too deep", index) from error

    def _check_size(self, record: str, index: int) -> None:
        most = self._most_bytes
        if len(record) > most or (len(record) * 4 > most and len(record.encode()) > most):
            raise self._too_large(index)

    def _too_large(self, index: int) -> Refusal:
        return Refusal("too-large", f"the record has more than {self._most_bytes:,} bytes", index)


def _scanner(number: Callable[[str], Any] | None) -> _Scan:
    """Reads one JSON value of a text; numbers with a fraction as ``number`` has them."""
    return json.JSONDecoder(parse_float=number, parse_constant=not_a_number).raw_decode


def _record(value: Any, index: int) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise Refusal("bad-record", f"{shown(value)} is no JSON object", index)


def _too_many(limits: Limits) -> Refusal:
    return Refusal("too-large", f"the request holds more than {limits.records:,} records")


def _has_decimal(type_: Type) -> bool:
    inside = [field.type for field in type_.fields]
    if type_.element is not None:
        inside.append(type_.element)
    return type_.kind == "decimal" or any(_has_decimal(each) for each in inside)


def _space_end(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
