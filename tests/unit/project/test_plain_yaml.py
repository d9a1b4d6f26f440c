"""Documents read from their events mean what PyYAML's own loader says they mean."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from freshline import texts
from freshline.core.errors import UserError
from freshline.project.yaml.file import YamlFile, _Loader, written
from freshline.project.yaml.plain import NotPlain, plain

NUMBERS = "1 -7 0x1F 0o17 017 1_000 1:30 1e6 1.5e3 -2E-3 .5e1 .inf -.INF .nan 1. .5 2026-11-25 '1'"
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


@pytest.mark.parametrize("name", ["x.yml", "x.json"])
def test_json_means_the_same_under_any_name(name):
    text = '{"a": 1.5e3, "b": [1e-7, 2E+2], "c": "\\ud83d\\ude42", "d": "1e3"}'
    data = YamlFile(Path(name), text=text).data
    assert data == {"a": 1500.0, "b": [1e-7, 200.0], "c": "🙂", "d": "1e3"}


def test_the_line_of_json_with_characters_beyond_16_bits():
    file = YamlFile(Path("x.json"), text='{"a":\n"\\ud83d\\ude42",\n"b": 1}')
    assert file.place(("b",)).line == 3


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"c": "\\ud83d\\ude42"}', encoding="utf-8-sig")
    assert YamlFile(path).data == {"c": "🙂"}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("x.yml", "[" * 5000, "nested more than 100 deep"),
        ("x.json", "[" * 100_000, "nested more than 100 deep"),
        ("x.yml", "a: &x [*x]", "an alias in x.yml holds itself"),
        ("x.json", '{"name": "\\ud800"}', "this is not YAML"),
    ],
)
def test_a_document_without_end_is_an_error_of_the_user(name, text, says):
    with pytest.raises(UserError, match=says) as raised:
        YamlFile(Path(name), text=text)
    assert raised.value.code == "bad-yaml"


def test_a_file_that_never_ends_is_an_error_of_the_user(monkeypatch):
    monkeypatch.setattr(texts, "MOST_CHARACTERS", 1000)
    with pytest.raises(UserError, match="1,000 characters, or never ends") as raised:
        YamlFile(Path("/dev/zero"))
    assert raised.value.code == "unreadable-file"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_in_another_encoding_says_how_to_save_it(tmp_path, encoding):
    (tmp_path / "x.yml").write_bytes("name: café".encode(encoding))
    with pytest.raises(UserError, match="it is not UTF-8") as raised:
        YamlFile(tmp_path / "x.yml")
    assert raised.value.next_step.startswith("Save it as UTF-8")


def test_words_as_they_are_written():
    text = "a: {b: 010, c: [x], d: yes}\n"
    file = YamlFile(Path("x.yml"), text=text)
    words = [file.word(("a", key)) for key in "bcde"]
    assert words == ["010", None, "yes", None]


def test_the_word_of_a_key_that_overrides_a_merged_one_is_its_own():
    text = "a: &x {b: 0, c: 1}\nd: {<<: *x, b: -1}\ne:\n  b: 010\n  <<: [{b: 3}, *x]\n"
    file = YamlFile(Path("x.yml"), text=text)
    words = {path: file.word(tuple(path)) for path in ("ab", "db", "dc", "eb", "ec")}
    assert words == {"ab": "0", "db": "-1", "dc": "1", "eb": "010", "ec": "1"}
    assert (file.place(("d", "b")).line, file.place(("e", "b")).line) == (2, 4)


@given(st.lists(WORDS))
def test_texts_that_we_write_are_read_back_as_texts(words):
    assert YamlFile(Path("x.yml"), text=written({"a": words})).data == {"a": words}
