"""Answers are cut to their limit, whatever they hold."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.ui.fitted import encoded, fitted

MOST_BYTES = 10_000

texts = st.builds(lambda text, times: text * times, st.text(max_size=8), st.integers(0, 2_000))
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, width=32) | texts
finite = leaves.filter(lambda each: not isinstance(each, float) or abs(each) < 1e30)
values = st.recursive(
    finite,
    lambda of: (
        st.lists(of, max_size=5).map(lambda each: each * 20)
        | st.dictionaries(st.text(max_size=5), of, max_size=8)
    ),
    max_leaves=6,
)


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(["a", "b", "tables", "next", "sql"]), values))
def test_whatever_an_answer_holds_it_is_no_larger_than_its_limit(record):
    before = json.dumps(record)
    content = fitted(record, MOST_BYTES)
    assert len(content) <= MOST_BYTES
    shown = json.loads(content)
    whole = encoded(record)
    assert (content == whole) == (len(whole) <= MOST_BYTES)
    assert set(shown) - set(record) <= {"cut"}
    assert ("cut" in shown) == (len(whole) > MOST_BYTES or "cut" in record)
    assert json.dumps(record) == before


def test_what_was_cut_is_named_and_the_rest_is_whole():
    record = {"name": "orders", "quarantined": [{"file": "f" * 100}] * 500, "sql": "SELECT 1"}
    shown = json.loads(fitted(record, MOST_BYTES))
    assert shown["cut"] == ["quarantined"]
    assert (shown["name"], shown["sql"]) == ("orders", "SELECT 1")
    assert 60 < len(shown["quarantined"]) < 500


def test_what_a_view_cut_itself_is_named_beside_what_did_not_fit():
    shown = json.loads(fitted({"cut": ["feeds"], "sql": "s" * 20_000}, MOST_BYTES))
    assert shown["cut"] == ["feeds", "sql"]
    shown = json.loads(fitted({"cut": True, "sql": "s" * 20_000}, MOST_BYTES))
    assert shown["cut"] == ["sql"]


def test_a_list_that_comes_in_pages_keeps_its_length():
    tables = [{"name": f"t{number}", "error": "ä" * 5_000} for number in range(5)]
    shown = json.loads(fitted({"tables": tables, "next": "/v1/status?after=t4"}, MOST_BYTES))
    assert [each["name"] for each in shown["tables"]] == ["t0", "t1", "t2", "t3", "t4"]
    assert shown["cut"] == ["tables.error"]


def test_a_text_named_next_is_no_page():
    record = {"error": "e" * 20_000, "next": "at the next run", "comment": "c" * 9}
    shown = json.loads(fitted(record, MOST_BYTES))
    assert (shown["cut"], shown["comment"], shown["next"]) == (
        ["error"],
        "c" * 9,
        "at the next run",
    )
