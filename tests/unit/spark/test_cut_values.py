"""Quoted csv values with line breaks: found in what Python's own writer makes of any rows."""

from __future__ import annotations

import csv
import io
import re
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.spark.feeds.cut_values import Dialect, cut_values, first_open, first_with_nul

TEXTS = st.text(alphabet='ab"\\,;\t \u00e9\r\n', max_size=6)
ROWS = st.lists(st.lists(TEXTS, min_size=2, max_size=4), max_size=6)
WRITERS = st.sampled_from(
    [
        (Dialect(separator=separator, escape=escape), quoting)
        for separator in ",;\t\u00a6"
        for escape in '"\\'
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    ]
)


def written(rows, dialect: Dialect, quoting: Literal[0, 1]) -> str:
    text = io.StringIO(newline="")
    doubled = dialect.escape == dialect.quote
    writer = csv.writer(
        text,
        delimiter=dialect.separator,
        doublequote=doubled,
        escapechar=None if doubled else dialect.escape,
        quoting=quoting,
        lineterminator="\r\n",  # with another one it leaves a lone one of the two unquoted
    )
    writer.writerows(rows)
    return text.getvalue()


@given(rows=ROWS, writer=WRITERS, block_bytes=st.sampled_from([1, 7, 64, 2**24]))
def test_a_file_is_told_where_a_value_has_a_line_break_and_nowhere_else(rows, writer, block_bytes):
    dialect, quoting = writer
    text = written(rows, dialect, quoting)
    has_breaks = any(re.search("[\r\n]", value) for row in rows for value in row)
    line = first_open(io.BytesIO(text.encode()), dialect, block_bytes)
    assert (line is not None) == has_breaks
    if line is not None:
        lines = re.split("\r\n|\n|\r", text)
        assert not any(dialect.is_open(each) for each in lines[: line - 1])


@given(row=st.lists(TEXTS, min_size=1, max_size=4), writer=WRITERS, end=st.sampled_from(["", "\n"]))
def test_one_record_is_one_and_two_are_two(row, writer, end):
    dialect, quoting = writer
    text = written([row], dialect, quoting).removesuffix("\r\n")
    assert re.search(dialect.record, text + end) is not None
    assert re.search(dialect.record, f"{text}\n{text}{end}x") is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('id,t\n1,"a\nb"\n', 2),
        ('1,"a\rb"\n', 1),
        ('1,5" pipe\n2,x\n', None),
        ('1,5" pipe\n2,3" pipe\n', None),
        ('1,"a" b\n', None),
        ('1,"a" b,"c\nd"\n', 1),
        ('1,"a\n', 1),
        ('1,"a', 1),
        ('1,""\n', None),
        ('1,"""\n"', 1),
        ('1, "a\n', None),
        ("", None),
    ],
)
def test_lines(text, line):
    assert first_open(io.BytesIO(text.encode()), Dialect()) == line


def test_a_mark_at_the_begin_of_a_file_is_no_part_of_its_first_value():
    assert first_open(io.BytesIO(b'\xef\xbb\xbf"a\nb",1\n'), Dialect()) == 1
    assert first_open(io.BytesIO(b'\xef\xbb\xbf"a",1\n'), Dialect()) is None


def test_lines_that_end_with_a_line_feed_alone():
    dialect = Dialect(feeds_alone=True)
    assert first_open(io.BytesIO(b'1,"a\rb"\n2,x\n'), dialect) is None
    assert first_open(io.BytesIO(b'1,"a\rb"\n2,"x\ny"\n'), dialect) == 2


def test_blanks_before_a_value_where_the_feed_leaves_them_out():
    dialect = Dialect(skips_blanks=True)
    assert first_open(io.BytesIO(b'1, "a\nb"\n'), dialect) == 1
    assert first_open(io.BytesIO(b'1, \t"a,b",  c\n'), dialect) is None
    assert first_open(io.BytesIO(b'1, 5" pipe\n2, 3" pipe\n'), dialect) is None
    assert first_with_nul(io.BytesIO(b'1, "a\0b"\n'), dialect) == 1
    tabs = Dialect(separator="\t", skips_blanks=True)
    assert first_open(io.BytesIO(b'1\t\t "a"\t\n2\t \t"a\n'), tabs) == 2


def test_a_comment_has_no_values():
    dialect = Dialect(comment="#")
    assert first_open(io.BytesIO(b'#,"\n1,2\n'), dialect) is None
    assert first_open(io.BytesIO(b'#,"\n1,"2\n'), dialect) == 2


def test_a_backslash_before_a_quote_is_told_by_row_where_the_feed_says_nothing():
    spark_writes = b'1,"\\""\n2,"say \\"hi\\""\n'
    assert first_open(io.BytesIO(spark_writes), Dialect(is_told=False)) is None
    assert first_open(io.BytesIO(spark_writes), Dialect()) == 1
    assert first_open(io.BytesIO(b'1,"\\\n2"\n'), Dialect(is_told=False)) == 1


def test_a_long_value_is_looked_at_at_once():
    text = '1,"' + 'a""' * 500_000
    assert Dialect().is_open(text)
    assert not Dialect().is_open(text + '"')
    assert re.search(Dialect().record, text + '"') is not None


@pytest.mark.parametrize(
    ("options", "dialect"),
    [
        ({}, Dialect(is_told=False)),
        ({"SEP": ";", "Quote": "'", "escape": "\\"}, Dialect(";", "'", "\\")),
        (
            {"delimiter": "\\t", "comment": "#"},
            Dialect(separator="\t", comment="#", is_told=False),
        ),
        ({"multiLine": "true"}, None),
        ({"lineSep": "|"}, None),
        ({"lineSep": "\n"}, Dialect(is_told=False, feeds_alone=True)),
        ({"lineSep": "\n", "multiLine": "true"}, None),
        ({"ignoreLeadingWhiteSpace": "true"}, Dialect(is_told=False, skips_blanks=True)),
        ({"encoding": "UTF-16"}, None),
        ({"quote": ""}, None),
        ({"sep": "\u00a6"}, Dialect("\u00a6", is_told=False)),
        ({"quote": "\u00ab"}, Dialect(quote="\u00ab")),
        ({"escape": ""}, Dialect(escape="\0")),
        (
            {"sep": "\u00a6", "encoding": "ISO-8859-1"},
            Dialect("\u00a6", is_told=False, encoding="ISO-8859-1"),
        ),
        ({"sep": "\u20ac", "encoding": "ISO-8859-1"}, None),
        ({"charset": "x-only-javas"}, Dialect(is_told=False, encoding="latin-1")),
        ({"sep": "\u00a6", "charset": "x-only-javas"}, None),
    ],
)
def test_the_dialect_of_a_feed(options, dialect):
    assert Dialect.of(options) == dialect


NULS = st.lists(
    st.lists(st.text(alphabet='a"\\,\0', max_size=5), min_size=2, max_size=3), max_size=5
)


@given(rows=NULS, writer=WRITERS, block_bytes=st.sampled_from([1, 7, 2**24]))
def test_a_nul_in_quotes_is_told_and_no_other(rows, writer, block_bytes):
    dialect, quoting = writer
    text = written(rows, dialect, quoting)
    # A quote that is escaped by a backslash does not have its value quoted.
    signs = {dialect.separator, *([dialect.quote] if dialect.escape == dialect.quote else [])}
    is_quoted = [[quoting == csv.QUOTE_ALL or bool(signs & set(v)) for v in row] for row in rows]
    wanted = [
        number
        for number, (row, quotes) in enumerate(zip(rows, is_quoted, strict=True), start=1)
        if any("\0" in value and quote for value, quote in zip(row, quotes, strict=True))
    ]
    found = first_with_nul(io.BytesIO(text.encode()), dialect, block_bytes)
    assert found == (wanted[0] if wanted else None)


@pytest.mark.parametrize("value", ['"a\nb"', '"a\0b"'])
@pytest.mark.parametrize(
    "options",
    [
        {"sep": "\u00a6"},
        {"sep": "\u20ac", "encoding": "windows-1252"},
        {"quote": "\u00ab"},
        {"quote": "\u00ab", "escape": "\u00a4"},
        {"escape": ""},
    ],
)
def test_a_value_is_told_whatever_signs_part_and_quote_it(options, value, tmp_path):
    separator, quote = options.get("sep", ","), options.get("quote", '"')
    text = f"1,\u00e9,{value}\n2,c,d\n".replace(",", separator).replace('"', quote)
    (tmp_path / "a.csv").write_bytes(text.encode(options.get("encoding", "utf-8")))
    (tmp_path / "b.csv").write_bytes(b"1,2\n")
    feed = SimpleNamespace(path=str(tmp_path), kind="files", format="csv", options=options)
    reader: Any = SimpleNamespace(feed=feed)
    nobody: Any = None
    assert [name for name, _ in cut_values(nobody, reader, ["a.csv", "b.csv"])] == ["a.csv"]


def test_where_nothing_escapes_quotes_two_of_them_end_a_value_and_go_on():
    """As Spark takes such a value: to the next separator, or to the end of the line."""
    dialect = Dialect(escape="\0")
    assert first_open(io.BytesIO(b'1,"a""b\n2,c\n'), dialect) is None
    assert first_open(io.BytesIO(b'1,"a""b","c\nd"\n'), dialect) == 1
    assert re.search(dialect.record, '1,"a""b","c\nd"\n') is not None
    assert re.search(dialect.record, "1,a\n2,b") is None
