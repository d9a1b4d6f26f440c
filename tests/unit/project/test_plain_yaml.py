"""Documents read from their events mean what PyYAML's own loader says they mean."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from freshline.core.errors import UserError
from freshline.project.yaml.file import YamlFile, _Loader
from freshline.project.yaml.plain import NotPlain, plain

NUMBERS = "1 -7 0x1F 0o17 017 1_000 1:30 1e6 1.5e+3 .inf -.INF .nan 1. .5 2026-11-25 '1'"
OTHERS = "on Yes no TRUE ~ null Null 2026-11-25T03:00:00Z 'on' text !x & a:b = 日"
WORDS = st.sampled_from((NUMBERS + " " + OTHERS).split())
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.dates()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def meant(text):
    """What the loader itself says, and of which types it is."""
    return repr(yaml.load(text, Loader=_Loader))


@given(VALUES, st.booleans(), st.booleans())
def test_what_pyyaml_writes_is_read_back(value, flow, canonical):
    text = yaml.safe_dump(value, default_flow_style=flow, canonical=canonical, allow_unicode=True)
    try:
        found = plain(text, _Loader)
    except NotPlain:
        # Dates, numbers and the like have a tag of their own in canonical form.
        assert canonical or "&" in text or "!!" in text
    else:
        assert repr(found) == meant(text)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_words_as_keys_and_values(pairs):
    text = "".join(f"{key} : {value}\n" for key, value in pairs)
    try:
        found = plain(text, _Loader)
    except NotPlain:
        return
    assert repr(found) == meant(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x",
        "a: !!str 1",
        "<<: {a: 1}",
        "a: 1\na: 2",
        "1: a\n'1': b",
        "[a]: 1",
        "? {a: 1}\n: 2",
        "--- 1\n--- 2",
        "",
        "a: [",
        "a: =",
        "a: 2026-13-45",
    ],
)
def test_what_is_not_plain_is_left_to_the_loader(text):
    with pytest.raises(NotPlain):
        plain(text, _Loader)


def test_words_in_a_document_of_ours():
    text = "on: off\n1: 0x10\nnothing:\nat: 2026-11-25\n? on\n"
    with pytest.raises(NotPlain):
        plain(text, _Loader)
    text = text.replace("? on\n", "")
    assert repr(plain(text, _Loader)) == meant(text)
    assert list(plain(text, _Loader)) == ["on", 1, "nothing", "at"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: 2026-13-45\n", 2, "'2026-13-45' has the form of a date"),
        ("a: 1\n[b]: 2\n", 2, "unhashable key"),
        ("a: 1\nb: !secret 2\n", 2, "!secret"),
        ("a: 1\nb: *x\n", 2, "undefined alias"),
    ],
)
def test_what_no_loader_reads_is_an_error_with_a_line(text, line, says):
    with pytest.raises(UserError, match=says) as raised:
        YamlFile(Path("x.yml"), text=text)
    assert raised.value.code == "bad-yaml"
    assert raised.value.where is not None
    assert raised.value.where.line == line
