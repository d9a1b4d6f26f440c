"""Why a record does not fit its feed's schema, and on which line of its file it stands."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import zlib
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from pyspark.sql.types import DataType, DecimalType, IntegralType, StructType, TimestampType

from freshline.project.model import Feed
from freshline.project.sections.reader_options import csv_signs, option
from freshline.spark.feeds.exact import LONG_NUMBER, NO_TEXT, TEXT_TYPES, HugeNumbers
from freshline.spark.feeds.search import opened

_SHOWN_CHARACTERS = 60
_SEARCHED_BYTES = 2**26
"""Of a larger file not every line is taken apart."""
IS_HEADER = 'it has the names of the columns: set the feed\'s `options: {header: "true"}`'
_NO_OBJECT = "it is no JSON object"
_OF_ARRAY = "it is in an array in which a record does not fit the schema: none of it is loaded"


def reason(
    text: str | None,
    schema: StructType,
    nulls: Sequence[str],
    backslashed: Sequence[str],
    feed: Feed,
    within: Sequence[str] = (),
) -> str:
    """Why the record was rejected, in one line.

    Args:
        text: The record, or None where it parsed: it has a null that the schema forbids, or
            quotes that its writer escaped by a backslash, or the columns' names.
        schema: The feed's.
        nulls: Columns that are null in what Spark made of the record.
        backslashed: Columns whose quotes were escaped by a backslash.
        feed: Where the record comes from.
        within: Fields within columns that are null and must not be.
    """
    if text is None:
        forbidden = [f.name for f in schema if not f.nullable and f.name in nulls] + [*within]
        if forbidden:
            return f"column {', '.join(forbidden)} is null where the schema says NOT NULL"
        if not backslashed:
            return IS_HEADER
        return (
            f"column {', '.join(backslashed)}: its quotes have a backslash before them, where the"
            " feed expects them doubled: set the feed's `options: {escape: '\\'}`"
        )
    if not text.strip():
        return "it has no value"
    if feed.format == "json":
        return _json_reason(text, schema, nulls, feed)
    return _csv_reason(text, schema, nulls, feed)


def _object_of(text: str, feed: Feed) -> dict[str, Any] | str:
    """The record, or why it is none."""
    # A topic's value is one record; in a file an array is loaded where all of it fits.
    of_array = _NO_OBJECT if feed.kind == "kafka" else _OF_ARRAY
    try:
        record = json.loads(text)
    except RecursionError:
        return "its values are nested too deeply"
    except ValueError as error:
        if text.lstrip("\ufeff \t\r\n").startswith("["):  # of a long array its begin is kept
            return of_array
        if "Extra data" in str(error):
            return "it has more than one JSON value, and Spark reads only the first"
        return f"it is no JSON: {error}"
    if isinstance(record, list) and record and all(isinstance(each, dict) for each in record):
        return of_array
    return record if isinstance(record, dict) else _NO_OBJECT


def _json_reason(text: str, schema: StructType, nulls: Sequence[str], feed: Feed) -> str:
    record = _object_of(text, feed)
    if isinstance(record, str):
        return record
    huge = HugeNumbers.of(schema) if feed.kind == "kafka" else None
    if huge is not None and huge.are_in(text):
        return "it has a number of thousands of digits, beside a DECIMAL"
    wrong = [
        f"column {field.name}: {_shown(json.dumps(record[field.name]))}"
        f" is no {field.dataType.simpleString().upper()}"
        f"{_hint(field.dataType, record[field.name])}"
        for field in schema
        if record.get(field.name) is not None
        and (field.name in nulls or _has_comma(field.dataType, record[field.name]))
    ]
    if not wrong and NO_TEXT in text:
        return "it has bytes that are no text in UTF-8"
    if not wrong and re.search(LONG_NUMBER, text):
        return "a number within a STRING has more digits than Spark keeps: declare a type for it"
    return "; ".join(wrong) or "it does not fit the schema"


def _has_comma(kind: DataType, value: object) -> bool:
    return isinstance(kind, DecimalType) and isinstance(value, str) and "," in value


def _hint(kind: DataType, value: object) -> str:
    """What a writer may have meant."""
    if _has_comma(kind, value):
        return (
            ": a comma can be the decimal point or stand between thousands; set the feed's"
            " `options: {locale: de-DE}` or `{locale: en-US}`"
        )
    far = re.match(r"[+-]?\d{5,}-|[+-]?\d+$", str(value)) is not None
    if isinstance(kind, TimestampType) and far:
        return (
            ": a json number counts the seconds since 1970; for others declare a BIGINT and use"
            " timestamp_millis() or timestamp_micros() in the query"
        )
    return ""


def _csv_reason(text: str, schema: StructType, nulls: Sequence[str], feed: Feed) -> str:
    separator, quote, _ = csv_signs(feed.options)
    nothing = ("", option(feed.options, "nullValue") or "")
    if len(separator) != 1 or len(quote) != 1:
        return "it does not fit the schema"
    if NO_TEXT in text:
        return "it has bytes that are no text in UTF-8: set the feed's `options: {encoding: ...}`"
    if feed.kind == "kafka" and "\0" in text and quote in text:
        return "it has quotes and a NUL, which Spark leaves out of quoted values"
    try:
        lines = io.StringIO(text, newline="")
        records = list(csv.reader(lines, delimiter=separator, quotechar=quote))
    except csv.Error as error:
        return f"it is no CSV: {error}"
    if len(records) > 1:
        return f"it has {len(records)} records, and Spark reads only the first"
    values = records[0] if records else []
    if len(values) != len(schema):
        meant = separator_meant(text, len(schema), separator)
        return (
            f"it has {_counted(len(values))} where the schema has {_counted(len(schema))}"
            f"{': ' + meant if meant else ''}"
        )
    names = [each.strip().lower() for each in values]
    if feed.kind == "files" and names == [name.lower() for name in schema.names]:
        return IS_HEADER
    wrong = [
        f"column {field.name}: {_shown(repr(value))} is no {field.dataType.simpleString().upper()}"
        f"{_hint(field.dataType, value)}"
        for field, value in zip(schema, values, strict=True)
        if field.name in nulls and value not in nothing
    ]
    return "; ".join(wrong) or "it does not fit the schema"


def separator_meant(line: str, columns: int, separator: str) -> str | None:
    """What to set where another sign parts a line into so many columns; None: none does."""
    for sign, written in ((";", ";"), ("\t", "\\t"), ("|", "|"), (",", ",")):
        if sign != separator and columns > 1 and line.count(sign) == columns - 1:
            return (
                f"""if its values are parted by '{written}', set `options: {{sep: "{written}"}}`"""
            )
    return None


def _counted(count: int) -> str:
    return f"{count} value{'' if count == 1 else 's'}"


def _shown(value: str) -> str:
    return value if len(value) <= _SHOWN_CHARACTERS else value[: _SHOWN_CHARACTERS - 1] + "\u2026"


def lines_of(
    path: Path, records: Sequence[tuple[str | None, str]], schema: StructType, feed: Feed
) -> list[tuple[int, str] | None]:
    """The line of each record in a text file, counted from 1, and what stands there.

    Equal texts get the lines on which they stand, one after the other: equal text is rejected
    everywhere or nowhere. Of some records Spark gives no text, or one that it made of their values.
    These are found by their values, and only where as many lines as records have them. So a line
    that was loaded is never named.

    Args:
        path: A file on this machine, plain, .gz or .bz2.
        records: The text of each, and its values as json; without a text Spark parsed all of it.
        schema: The feed's.
        feed: Where the file is from.

    Returns:
        None for a record that was not found.
    """
    taken: dict[int, tuple[int, str]] = {}
    try:
        texts: defaultdict[str, deque[int]] = defaultdict(deque)
        for at, (text, _) in enumerate(records):
            if text is not None:
                texts[text].append(at)
        used = set()
        for number, line in _numbered(path, feed):
            if texts.get(line):
                taken[texts[line].popleft()] = number, line
                used.add(number)
        if len(taken) < len(records) and path.stat().st_size <= _SEARCHED_BYTES:
            taken |= _by_values(path, records, schema, feed, taken.keys(), used)
    except (OSError, EOFError, LookupError, zlib.error):
        return [None] * len(records)
    return [taken.get(at) for at in range(len(records))]


def _numbered(path: Path, feed: Feed) -> Iterator[tuple[int, str]]:
    encoding = option(feed.options, "encoding", "charset") or "utf-8"
    plain = encoding.lower() in ("utf-8", "utf8")  # a mark at its beginning is no text
    with io.TextIOWrapper(opened(path), "utf-8-sig" if plain else encoding, "replace") as lines:
        for number, line in enumerate(lines, start=1):
            yield number, line.rstrip("\n")


def _by_values(
    path: Path,
    records: Sequence[tuple[str | None, str]],
    schema: StructType,
    feed: Feed,
    known: Collection[int],
    used: Collection[int],
) -> dict[int, tuple[int, str]]:
    """The lines of records that are not known yet, by their values in texts and numbers."""
    of_json = feed.format == "json"
    wanted: defaultdict[_Values | None, list[int]] = defaultdict(list)
    for at, (text, parsed) in enumerate(records):
        if at not in known:
            is_json = of_json or text is None
            values = _values(parsed if text is None else text, schema, feed, of_json=is_json)
            wanted[values].append(at)
    wanted.pop(None, None)
    found: defaultdict[_Values, list[tuple[int, str]]] = defaultdict(list)
    for number, line in _numbered(path, feed) if wanted else ():
        values = None if number in used else _values(line, schema, feed, of_json=of_json)
        if values is not None and values in wanted:
            found[values].append((number, line))
    return {
        at: line
        for values, lines in found.items()
        if len(lines) == len(wanted[values])
        for at, line in zip(wanted[values], lines, strict=True)
    }


_Values = tuple[str | None, ...]


def _values(text: str, schema: StructType, feed: Feed, *, of_json: bool) -> _Values | None:
    """What a record has in its texts and numbers, as far as two ways to write it are alike."""
    values: Sequence[Any]
    try:
        if of_json:
            record = json.loads(text, parse_int=str, parse_float=str)
            values = [record.get(name) for name in schema.names]
        else:
            separator, quote, escape = csv_signs(feed.options)
            dialect: dict[str, Any] = {"delimiter": separator, "quotechar": quote}
            if escape != quote:
                dialect |= {"escapechar": escape, "doublequote": False}
            values = next(csv.reader([text], **dialect), [])
    except (ValueError, AttributeError, TypeError, RecursionError, csv.Error):
        return None
    if len(values) != len(schema):
        return None
    nothing = option(feed.options, "nullValue")
    return tuple(
        None if value is None or value == nothing else _value(value, field.dataType)
        for value, field in zip(values, schema, strict=True)
        if isinstance(field.dataType, (*TEXT_TYPES, DecimalType, IntegralType))
    )


def _value(value: Any, kind: DataType) -> str | None:
    text = json.dumps(value) if isinstance(value, bool) else str(value)
    if NO_TEXT in text:  # of one character that is no text, readers make one of these or more
        text = re.sub(f"{NO_TEXT}+", NO_TEXT, text)
    text = text.strip()
    if not isinstance(kind, TEXT_TYPES):
        with contextlib.suppress(InvalidOperation):
            text = str(Decimal(text).normalize())
    return text or None
