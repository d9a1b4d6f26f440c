"""More than one value on a line of json: judged by decoding every line."""

from __future__ import annotations

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.spark.feeds.several_values import first_of_several

TEXTS = st.text(alphabet='ab{}[]" \\\t,:\u00e9\u2028', max_size=8)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.dictionaries(TEXTS, VALUES, max_size=3) | st.lists(
    st.dictionaries(TEXTS, VALUES, max_size=2), max_size=2
)
STYLES = st.sampled_from([(", ", ": "), (",", ":"), (" , ", " : ")])
BETWEEN = st.sampled_from(["", " ", "\t", "  ", " trailing ", "7"])
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def files(draw) -> str:
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        values = draw(st.lists(RECORDS, min_size=0, max_size=2))
        style = draw(STYLES)
        ascii_only = draw(st.booleans())
        written = [json.dumps(each, separators=style, ensure_ascii=ascii_only) for each in values]
        text = draw(BETWEEN).join(written)
        lines.append(
            draw(st.sampled_from(["", " "])) + text + draw(st.sampled_from(["", " ", "}"]))
        )
    end: str = draw(ENDS)
    last: str = draw(st.sampled_from(["", end]))
    return end.join(lines) + last


def judged(text: str) -> int | None:
    for number, line in enumerate(re.split("\r\n|\n|\r", text), start=1):
        found = line.strip(" \t")
        try:
            _, end = json.JSONDecoder().raw_decode(found)
        except ValueError:
            continue
        if found[end:].strip(" \t,]}"):
            return number
    return None


@given(text=files(), block_bytes=st.sampled_from([1, 7, 64, 2**24]))
def test_the_first_line_with_more_is_found(text, block_bytes):
    assert first_of_several(io.BytesIO(text.encode()), block_bytes) == judged(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"id":1}{"id":2}', 1),
        ('{"id":1}\n{"id":2} {"id":3}\n', 2),
        ('{"id":1}\n{"id":2} and so on\n', 2),
        ('{"id":1}\r\n{"id":2}\r\n', None),
        ('{"id":1}\r{"id":2}\r', None),
        ('{"id":1}  {"id":2}', 1),
        ('[\n{"id":1},\n{"id":2}]\n', None),
        ('[\n{"id":1} ,\n{"id":2} ]\n', None),
        ('{"id":1}{"id":', 1),
        ('{"note":"}{"}\n', None),
        ('[{"id":1},{"id":2}]\n', None),
        ('{"id":\n1}', None),
        ('\ufeff{"id":1}{"id":2}', 1),
        ('{"id":1},{"id":2}\n', 1),
        ('{"id":1} , {"id":2},\n', 1),
        ('{"id":0}\n{"id":1},{"id":2},{"id":3}', 2),
        ('{"note":"},{"}\n', None),
        ('{"a":[{"id":1},{"id":2}]}\n', None),
        # Spark takes single quotes and infinite numbers, too.
        ("{'id':1}{'id':2}\n", 1),
        ("{'id':1}\n{'note':\"it's\"} {'id':2}\n", 2),
        ("{'id':1},{'id':2}\n", 1),
        ("{'note':'}{'}\n{'note':'\\\\'}\n{'note':'\\'}{'},\n", None),
        ("{'note':'}{\n", None),
        ("don't {'id':1}\n", None),
        ('{"x":INF}{"x":-INF}\n', 1),
        ('{"x":[1, INF]} {"id":2}\n', 1),
        ('{"level":"INFO","ms":01} done\n', None),
        ('{"level":"INFO","v":tru} {"level":"INFO"}\n', None),
        ('{"note":"it\'s","v":None} x\n', None),
        ("", None),
    ],
)
def test_lines(text, line):
    assert first_of_several(io.BytesIO(text.encode())) == line


def test_names_without_quotes_where_the_feed_allows_them():
    text = b"{id:1}\n{id:2}{id:3}\n"
    assert first_of_several(io.BytesIO(text)) is None, "Spark rejects both lines"
    assert first_of_several(io.BytesIO(text), loose=True) == 2
