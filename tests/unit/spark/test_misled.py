"""Which conditions Delta's statistics mislead: those with texts that are not ASCII."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.core.errors import Place
from freshline.project.model import Program, TableDef
from freshline.spark.engine.listed import is_misled
from freshline.spark.engine.pins import asked_of
from freshline.spark.views.groups import _among, _spanned
from freshline.sql.text.reads import string_literal


@given(st.binary(max_size=6), st.text(st.characters(max_codepoint=127), max_size=6))
def test_a_text_of_ascii_stands_to_bytes_as_to_what_statistics_have_for_them(stored, asked):
    told, text = stored.decode(errors="replace").encode(), asked.encode()
    assert (told < text, told > text) == (stored < text, stored > text)


@pytest.mark.parametrize("text", ["", "Oslo", "O'Brien", "a\\b", "${x}", "\x7f'"])
def test_a_condition_with_texts_of_ascii_is_not_misled(text):
    assert not is_misled(_among(["k"], ["string"], [(text,), ("b",), (None,)]))
    assert not is_misled(_spanned(["k"], ["string"], {0: (text, text + "'", 1)}))


@pytest.mark.parametrize("text", ["Łódź", "Côte d'Ivoire", "a\\ж", "$é", "\x80'"])
def test_a_condition_with_another_text_is_misled(text):
    assert is_misled(_among(["k"], ["string"], [("a'b",), (text,)]))
    assert is_misled(_among(["k", "n"], ["string", "int"], [("a'b", 1), (text, 2)]))
    assert is_misled(_spanned(["k"], ["string"], {0: ("A'", text, 0)}))


@pytest.mark.parametrize(
    "text",
    [
        *("k = 'tax'", "k = x'61'", 'k = X"61"', "k = 'x1'", r"k RLIKE '\\d'"),
        *("k = 'x'", "k IN ('x', 'y')", "k = 'Model X' OR k = 'zzz'", 'k = "x"', "x = 'a'"),
        *("`größe` > 3", "k = 'a' -- für Umsatz", "k = 'a' /* don't: 'é' */", "`x` = 'x'"),
    ],
)
def test_a_query_with_texts_of_ascii_is_not_misled(text):
    assert not is_misled(f"SELECT k FROM t WHERE {text}")


@given(st.lists(st.text("aAxXuU3 '", max_size=4), min_size=1))
def test_no_texts_of_ascii_mislead(texts):
    assert not is_misled(f"k IN ({', '.join(map(string_literal, texts))})")


@pytest.mark.parametrize(
    "text",
    [
        *("k = 'Caf\\u00e9'", "k = CAST(x'C3A9' AS STRING)", "k = 'é'", 'k = "é"'),
        *('k = CAST(X"C3A9" AS STRING)', "k = CAST(x/**/'C3A9' AS STRING)", "k = x'6'"),
        *("k = CAST(X'61' 'C3A9' AS STRING)", "k = 'x' OR k = x 'E9'", "k = r'é'"),
        *("k = '${spark.shop.city}'", "${spark.shop.which}", "k = 'not closed, é"),
        *("k = 'it''s é'", "k = 'a' -- no, don't\n OR k = 'é'", "`'` = 'é'"),
    ],
)
def test_a_query_with_another_text_is_misled(text):
    assert is_misled(f"SELECT k FROM t WHERE {text}")


def test_texts_in_functions_are_any_texts():
    here = Place("pipeline.sql", 1)
    table = TableDef("shown", "derived", "SELECT k FROM a", here, here, parents=("orders",))
    assert not is_misled(asked_of(table, "k = 'a'"))
    assert is_misled(asked_of(table, "k = 'é'"))
    for program in (Program("a", "SELECT * FROM orders WHERE k = 'é'"), Program("a", key="f")):
        assert is_misled(asked_of(dataclasses.replace(table, programs=(program,))))
    assert is_misled(asked_of(dataclasses.replace(table, query="SELECT k FROM a -- \\"), "k = 'é'"))
