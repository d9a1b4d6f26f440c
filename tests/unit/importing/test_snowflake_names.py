"""QUALIFY, names of WITH, rows that are compared, whole parts of FLOATs, and collations."""

from __future__ import annotations

import pytest

from freshline.importing.snowflake.script import read_snowflake
from freshline.sql.text.reads import reads_of
from tests.support.snowflake import on_one_line, one_query

QUALIFIED = "SELECT {} FROM (SELECT {} FROM shop.raw.t AS t) AS _t WHERE {}"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        # A column goes before an alias.
        (
            "select abs(q) as q, s from t qualify rank() over (partition by s order by q) = 1",
            QUALIFIED.format(
                "q, s",
                "ABS(q) AS q, s, RANK() OVER (PARTITION BY s ORDER BY t.q NULLS LAST) AS _w",
                "_w = 1",
            ),
        ),
        (
            "select abs(o.q) as q, o.s from other o qualify rank() over (order by q) = 1",
            "RANK() OVER (ORDER BY o.q NULLS LAST) AS _w",
        ),
        # What is no column is the alias.
        (
            "select s, rank() over (order by q) as place from t qualify place = 1",
            QUALIFIED.format(
                "s, place", "s, RANK() OVER (ORDER BY q NULLS LAST) AS place", "place = 1"
            ),
        ),
        (
            "select s, q + 1 as more from t qualify rank() over (order by more) = 1",
            "RANK() OVER (ORDER BY (q + 1) NULLS LAST) AS _w",
        ),
        # A column that is only in QUALIFY, and a sum.
        (
            "select s from t qualify f > 1 and rank() over (order by q) = 1",
            QUALIFIED.format(
                "s", "s, RANK() OVER (ORDER BY q NULLS LAST) AS _w, f AS _c", "_c > 1 AND _w = 1"
            ),
        ),
        (
            "select s from t group by s qualify sum(q) > 1 and rank() over (order by s) = 1",
            "WHERE _w > 1 AND _w_2 = 1",
        ),
        # DISTINCT comes after QUALIFY.
        (
            "select distinct s from t qualify row_number() over (partition by s order by q) <= 2",
            "SELECT DISTINCT s FROM (SELECT s, ROW_NUMBER()",
        ),
        # Rows are equal where each of their values is.
        (
            "select s from t where (q, s) not in ((1, 'a'), (2, 'b'))",
            "NOT ((q = 1 AND s = 'a') OR (q = 2 AND s = 'b'))",
        ),
        (
            "select floor(case when q = '17' then f end) as v from t",
            "CASE WHEN q = 17 THEN f END",
        ),
        (
            "select floor(f) as v from t",
            "CASE WHEN ABS(f) < 9007199254740992 THEN CAST(FLOOR(f) AS DOUBLE) ELSE f END AS v",
        ),
    ],
)
def test_a_query_means_what_it_means_in_snowflake(tmp_path, query, text):
    item = one_query(tmp_path, query)
    assert item.refusal is None
    assert text in on_one_line(item)


def test_a_with_stays_where_it_is_so_that_it_hides_no_table_further_out(tmp_path):
    inner = "(with t as (select x as q from w) select q from t)"
    for query in (
        f"select z.q from {inner} z join t on t.q = z.q",
        f"with z as {inner}, b as (select q from t) select z.q from z join b on b.q = z.q",
    ):
        item = one_query(tmp_path, query)
        assert sorted(read.name for read in reads_of(str(item.query))) == ["shop.raw.t", "w"]
        assert "(WITH t AS (SELECT x AS q FROM w" in on_one_line(item)


@pytest.mark.parametrize(
    "query",
    [
        "with t as (select q, s from t) select q from t where s = q",
        "with b as (select q, s from t), t as (select 'a' as q) select b.q from b where s = q",
        (
            "with b as (select q, s from t) select z.q from (with t as (select 1 as one)"
            " select q from b where s = q) z"
        ),
    ],
)
def test_an_entry_of_a_with_sees_itself_and_later_ones_as_tables(tmp_path, query):
    fault = "`s = q` lets a text meet a NUMBER: Spark makes a DOUBLE of both; cast one of them"
    assert one_query(tmp_path, query).refusal == fault


def test_a_dollar_in_a_name_stands_in_backquotes(tmp_path):
    item = one_query(tmp_path, "select o.sys$id as i$d from shop.raw.o$1 o qualify sum(a) > i$d")
    assert {read.name for read in reads_of(str(item.query))} == {"shop.raw.`o$1`"}
    assert "SELECT o.`sys$id` AS `i$d`" in on_one_line(item)


def test_an_entry_that_reads_itself_is_recursive_without_the_word(tmp_path):
    start = "select q, s from t where a is null"
    step = "select t.q, t.s from t join r on t.a = r.q"
    for query, said in (
        (f"with r as ({start} union all {step}) select q from r", True),
        (f"with o as (select 1 as one), r (q, s) as (({start}) union all {step}) select q from r",
         True),
        (f"select z.q from (with r as ({start} union all {step}) select q from r) z", True),
        (f"with t as ({start} union all select x, 'k' from w) select q from t", False),
    ):  # fmt: skip
        item = one_query(tmp_path, query)
        assert item.refusal is None
        assert ("WITH RECURSIVE" in str(item.query)) == said
        assert {read.name for read in reads_of(str(item.query))} <= {"shop.raw.t", "w"}


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            "select abs(a.q) as q from o a join p b using (k) qualify rank() over (order by q) = 1",
            None,
        ),
        (
            "select abs(z) as z from o a join p b using (k) qualify rank() over (order by z) = 1",
            (
                "`z` can be a column and the alias of one: give it another alias, or put its table"
                " in front"
            ),
        ),
        ("select s from t where (q, s) = (1, 'a')", "`(q, s) = (1, 'a')` compares rows"),
        (
            "select s || 'x' as s, count(*) as n from t group by s having s = 'a'",
            "`s` in HAVING is a column and the alias of another value: give it another alias",
        ),
        ("select s || 'x' as s, count(*) as n from t group by s having max(s) = 'a'", None),
        ("select s || 'x' as s, count(*) as n from t group by s having t.s = 'a'", None),
        ("select t.s as s, sum(q) as q from t group by s having s = 'a' and q > 1", None),
        ("select s || 'x' as k, count(*) as n from t group by k having k = 'a'", None),
    ],
)
def test_a_name_that_can_be_either_is_refused(tmp_path, query, reason):
    assert one_query(tmp_path, query).refusal == reason


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ("create table n (id int, name varchar collate 'en-ci')",
         "its column name has COLLATE 'en-ci': Spark would compare its texts by their bytes"),
        ("create table n (id int, name varchar) default_ddl_collation = 'de'",
         "it has DEFAULT_DDL_COLLATION 'de': Spark would compare its texts by their bytes"),
        ("create table n (id int, name varchar collate '')", None),
    ],
)  # fmt: skip
def test_texts_that_are_not_compared_by_their_bytes_are_refused(tmp_path, made, reason):
    path = tmp_path / "one.sql"
    path.write_text(
        f"{made};\ncreate dynamic table x target_lag='1 hour' warehouse=w as select id from n;"
    )
    items = {item.key: item for item in read_snowflake(path).items}
    assert items["n"].refusal == reason
