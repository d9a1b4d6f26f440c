"""Patterns, quoted texts, and texts that meet numbers."""

from __future__ import annotations

import pytest

from tests.support.snowflake import on_one_line, one_query


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("select $$x;y$$ as v, $$do$llar's$$ as w from t", "'x;y' AS v, 'do$llar\\'s' AS w"),
        ("select s like f as v from u", "s LIKE REPLACE(f, '\\\\', '\\\\\\\\')"),
        ("select s like 'a\\\\_' as v from u", "s LIKE 'a\\\\\\\\_'"),
        ("select '9007199254740993' = q as v from t", "9007199254740993 = q AS v"),
        ("select q in ('1', '-2') as v from t", "q IN (1, -2) AS v"),
        ("select case q when '1' then 2 end as v from t", "CASE q WHEN 1 THEN 2 END AS v"),
        ("select s = '1' as v, d > '2020-01-01' as w from t", "s = '1' AS v, d > '2020-01-01'"),
    ],
)
def test_texts_mean_what_they_mean_in_snowflake(tmp_path, query, text):
    item = one_query(tmp_path, query)
    assert text in on_one_line(item)


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("select q = s as v from t", "`q = s`"),
        ("select q > '1.5' as v from t", "`q > '1.5'`"),
        ("select coalesce(s, q) as v from t", "`COALESCE(s, q)`"),
        ("select s + q as v from t", "`s + q`"),
        ("select q from t union select s from t", "`SELECT q FROM t UNION SELECT s FROM t`"),
        ("select q from t where q in (select s from t)", "`q IN (SELECT s FROM t)`"),
        ("select 1 as v from t where (d, q) in (select d, s from t)",
         "`(d, q) IN (SELECT d, s FROM t)`"),
        ("select 1 as v from t join (select s q from t) b using (q)",
         "`JOIN (SELECT s AS q FROM t) AS b USING (q)`"),
    ],
)  # fmt: skip
def test_a_text_that_meets_a_number_is_refused(tmp_path, query, fault):
    assert one_query(tmp_path, query).refusal == (
        f"{fault} lets a text meet a NUMBER: Spark makes a DOUBLE of both; cast one of them"
    )


@pytest.mark.parametrize(
    "fault", ["-s", "ABS(s)", "ROUND(s)", "CEIL(s)", "s + s", "s * '2'", "s / s", "s - z"]
)
def test_a_text_that_becomes_a_number_is_refused(tmp_path, fault):
    assert one_query(tmp_path, f"select {fault} as v from t, u").refusal == (
        f"`{fault}` makes a number of a text: a NUMBER in Snowflake, a DOUBLE in Spark; cast it"
    )


def test_a_text_beside_a_float_is_a_float_in_both(tmp_path):
    assert "s + f AS v" in on_one_line(one_query(tmp_path, "select s + f as v from u"))


def test_a_text_that_looks_like_a_number_beside_what_is_not_declared_is_noted(tmp_path):
    assert one_query(tmp_path, "select 1 as v from u where z = 'open'").changed == ()
    (note,) = one_query(tmp_path, "select 1 as v from u where z = '17'").changed
    assert note.startswith("a text that looks like a number stands beside a value")


@pytest.mark.parametrize(
    "variable",
    ["&site", "&{site}", "&{ site }", "&{ ctx.env.site }", "eu-&{ctx.env.site}", "<% site %>"],
)
@pytest.mark.parametrize(
    "query", ["select q from t where s = '{}'", "select $${}$$ as v from t", 'select q from "{}".t']
)
def test_a_variable_in_a_text_is_not_taken_as_it_stands(tmp_path, query, variable):
    """Before, of SnowSQL's and the CLI's only those without blanks and dots were known."""
    item = one_query(tmp_path, query.format(variable))
    assert item.refusal == f"it has the variable {variable.removeprefix('eu-')}: write its value"


def test_a_text_in_which_snowsql_may_find_a_variable_is_told(tmp_path):
    item = one_query(tmp_path, "select s in ('AT&T', 'R & D', 'a&&b', 'c&') as v from t")
    ends = "in it is taken as it stands: with variable_substitution, SnowSQL replaces"
    assert item.changed == (f"'AT&T' {ends} &T in it", f"'a&&b' {ends} &b in it")


@pytest.mark.parametrize("value", ["cast(s as varchar collate 'en-ci')", "s collate 'en-ci'"])
def test_a_collation_within_a_query_is_refused(tmp_path, value):
    """Before, that of a CAST was left out, and texts were compared by their bytes."""
    assert "COLLATE" in str(one_query(tmp_path, f"select {value} as v from t").refusal)
