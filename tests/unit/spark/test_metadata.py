"""A commit's metadata, written and read."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from freshline.delta.metadata import decode, encode
from freshline.executor.records import UpdateRequest
from freshline.times import rfc3339, seconds


@given(st.integers(min_value=0, max_value=4_000_000_000_000_000))
def test_a_moment_is_read_back_as_it_was(microseconds):
    moment_s = microseconds / 1_000_000
    assert seconds(rfc3339(moment_s)) == moment_s


def test_a_moment_is_in_utc_with_microseconds():
    assert rfc3339(1_700_000_000.25) == "2023-11-14T22:13:20.250000Z"


def test_texts_of_others_are_not_ours():
    foreign = (None, "", "hello", "{", "[1]", '{"freshline": 2}', '{"app": 1}', "{not json}")
    assert [decode(text) for text in foreign] == [None] * len(foreign)


def test_extra_keys_are_there_only_when_they_say_something():
    plain = UpdateRequest(3, "t", 0.0, 1.0)
    named = UpdateRequest(3, "t", 0.0, 1.0, full=True, definition="d1")
    more: dict[str, Any] = {"table": "t", "parents": {}, "strategy": "append", "rows": 2}
    assert list(json.loads(encode(plain, files=["ü"], **more))) == [
        "freshline", "table", "update", "from", "to", "files", "parents", "strategy", "rows",
    ]  # fmt: skip
    ours = decode(encode(named, files=[], **more))
    assert ours is not None
    assert (ours["definition"], ours["full"], ours["files"]) == ("d1", True, [])
    view = decode(encode(named, files=None, **more))
    assert view is not None
    assert "full" not in view
    assert "files" not in view
