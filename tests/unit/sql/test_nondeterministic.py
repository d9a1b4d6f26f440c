"""Clock, chance, order and functions of which nothing is known."""

from __future__ import annotations

import pytest

from freshline.sql.query.nondeterministic import cautions, clock_or_chance, nondeterminism
from freshline.sql.query.normal import normalise, parsed
from freshline.sql.query.records import Source


def finding(expression):
    tree = parsed(
        f"SELECT {expression} AS v FROM t WINDOW w AS (ORDER BY x), p AS (PARTITION BY x)"
    )
    reason = nondeterminism(tree)
    return reason and reason.code


@pytest.mark.parametrize(
    ("code", "expressions"),
    [
        (
            "CLOCK",
            ["now()", "current_timestamp", "current_date()", "curdate()", "localtimestamp()",
             "unix_timestamp()", "timestamp 'now'", "ts > ' Today UTC '", "date 'yesterday'",
             "timestamp '12:00'", "CAST('T7:05:00' AS TIMESTAMP)", "' 08:00'::TIMESTAMP_NTZ",
             "timestamp 'T08'", "timestamp 'today CET'", "timestamp 'yesterday+02:00'",
             "date 'tomorrow Japan'", "CAST(if(x > 1, y, '08:00') AS TIMESTAMP)",
             "CAST(CASE x WHEN 1 THEN '08:00' ELSE y END AS TIMESTAMP)",
             "CAST(nullif('08:00', y) AS TIMESTAMP)", "CAST(array(y, '08:00')[x] AS TIMESTAMP)",
             "CAST(CASE WHEN x = 1 THEN z ELSE '08:00' END AS TIMESTAMP)",
             "to_timestamp(map('a', '10:00')[x])", "coalesce(y, '08:00')::TIMESTAMP"],
        ),
        (
            "VOLATILE",
            ["rand()", "randn(1)", "uuid()", "shuffle(a)", "monotonically_increasing_id()",
             "input_file_name()", "spark_partition_id()", "current_user()", "reflect('a', 'b')"],
        ),
        (
            "ORDER_DEPENDENT",
            ["any_value(x)", "any_value(x, true)", "any_value(x) FILTER (WHERE y > 0)",
             "first(x)", "last(x, true)", "collect_list(x)", "array_agg(DISTINCT x)", "listagg(x)",
             "lag(x) OVER (PARTITION BY y)", "first_value(x) OVER p", "first_value(x) OVER w",
             "last(x, true) OVER (ORDER BY y)", "collect_list(x) OVER (ORDER BY y)",
             "max(x) OVER (PARTITION BY y ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING)",
             "array_sort(collect_list(x), (a, b) -> 0)"],
        ),
        ("UNKNOWN_FUNCTION", ["my_score(x)"]),
        (
            None,
            ["unix_timestamp(ts)", "'today sales'", "every(x)", "some(x)", "try_sum(x)",
             "hll_sketch_agg(x)", "sort_array(collect_list(x))", "size(collect_list(x))",
             "row_number() OVER (ORDER BY x)",
             "listagg(x) WITHIN GROUP (ORDER BY x)", "window(ts, '1 hour').start", "t.now",
             "max(x)", ("max(x) OVER (PARTITION BY y ROWS BETWEEN UNBOUNDED PRECEDING AND "
             "UNBOUNDED FOLLOWING)"), "'today CET'", "CAST('today sales' AS STRING)",
             "CAST(concat(y, ' 00:00:00') AS TIMESTAMP)", "date '2026-01-01'",
             "CAST(replace(y, '24:00', '00:00') AS TIMESTAMP)",
             "CAST(CASE WHEN y = '08:00' THEN z END AS TIMESTAMP)",
             "CAST(nullif(y, '00:00:00') AS TIMESTAMP)", "CAST(y['08:00'] AS TIMESTAMP)",
             "CAST(CASE y WHEN '08:00' THEN z ELSE x END AS TIMESTAMP)",
             "CAST(map('08:00', y)[x] AS TIMESTAMP)"],
        ),
    ],
)  # fmt: skip
def test_each_expression_has_this_code(code, expressions):
    assert {text: finding(text) for text in expressions} == dict.fromkeys(expressions, code)


def test_a_limit_without_order_keeps_whichever_rows():
    reason = nondeterminism(parsed("SELECT * FROM (SELECT * FROM t LIMIT 3)"))
    assert reason is not None
    assert reason.code == "LIMIT_UNORDERED"
    assert nondeterminism(parsed("SELECT * FROM t ORDER BY x LIMIT 3")) is None
    inner = "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u LIMIT 1)"
    assert nondeterminism(parsed(inner)) is None


@pytest.mark.parametrize(
    "query",
    [
        "select sum(x) from t limit 100",
        "select count(*) from t having count(*) > 3 limit 1 offset 1",
        "select * from (select max(x) m from t) a, (select min(x) n from t) b limit 5",
        "select n + 1 from (select count(*) as n from t) limit 2",
    ],
)
def test_a_limit_of_one_row_chooses_nothing(query):
    assert nondeterminism(parsed(query)) is None


@pytest.mark.parametrize(
    "query",
    [
        "select sum(x) from t group by y limit 100",
        "select sum(x) from t group by () limit 1",
        "select explode(collect_set(x)) from t limit 2",
        "select * from (select max(x) m from t) a, t limit 5",
        "select n, e from (select max(x) n, max(a) a from t) lateral view explode(a) as e limit 2",
        "select count(*) over () from t limit 1",
        "(select max(x) from t union all select min(x) from t) limit 1",
    ],
)
def test_a_limit_of_more_rows_chooses(query):
    reason = nondeterminism(parsed(query))
    assert reason is not None
    assert reason.code in {"LIMIT_UNORDERED", "ORDER_DEPENDENT"}


SETS = Source("t", {"g": "int", "x": "int", "y": "string", "a": "array<int>"})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT g, collect_set(y) FILTER (WHERE x > 1) AS s FROM t GROUP BY g",
        "SELECT g, collect_set(y) OVER (PARTITION BY g) AS s FROM t",
        "SELECT sort_array(collect_set(y)), cardinality(collect_set(y)) FROM t",
        "SELECT array_contains(collect_set(y), 'a'), array_max(collect_set(x)) FROM t",
        "SELECT sort_array(v) FROM (SELECT s AS v FROM (SELECT collect_set(y) AS s FROM t))",
        "SELECT e FROM (SELECT collect_set(y) AS s FROM t) LATERAL VIEW explode(s) l AS e",
        "SELECT collect_set(x) AS s FROM t UNION ALL SELECT a FROM t",
        "SELECT g FROM t WHERE EXISTS (SELECT collect_set(x) FROM t)",
    ],
)
def test_elements_of_a_set_may_stand_in_any_order(query):
    assert nondeterminism(normalise(query, [SETS])) is None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT g, concat_ws(',', collect_set(y)) AS v FROM t GROUP BY g",
        "SELECT array_join(collect_set(y) FILTER (WHERE x > 1), ',') AS v FROM t",
        "SELECT to_json(collect_set(y)) AS v FROM t",
        "SELECT concat_ws(',', collect_set(y) OVER (PARTITION BY g)) AS v FROM t",
        "SELECT v[0] FROM (SELECT s AS v FROM (SELECT collect_set(y) AS s FROM t))",
        "SELECT s[1] FROM (SELECT a AS s FROM t UNION ALL SELECT collect_set(x) FROM t) u",
        "SELECT p FROM (SELECT collect_set(y) AS s FROM t) LATERAL VIEW posexplode(s) l AS p, e",
        "SELECT DISTINCT s FROM (SELECT g, collect_set(y) AS s FROM t GROUP BY g)",
        "SELECT count(*) FROM (SELECT g, collect_set(y) AS s FROM t GROUP BY g) GROUP BY s",
        "SELECT max(s) FROM (SELECT g, collect_set(y) AS s FROM t GROUP BY g)",
        "SELECT collect_set(x) AS s FROM t UNION SELECT a FROM t",
        "SELECT s FROM (SELECT collect_set(x) AS s FROM t GROUP BY g) ORDER BY s LIMIT 3",
        "SELECT g FROM t WHERE a = (SELECT collect_set(x) FROM t)",
    ],
)
def test_what_shows_the_order_of_a_set_depends_on_it(query):
    reason = nondeterminism(normalise(query, [SETS]))
    assert reason is not None
    assert reason.code == "ORDER_DEPENDENT"


def test_a_declared_function_is_known():
    tree = parsed("SELECT My_Score(x) FROM t")
    assert nondeterminism(tree, functions={"my_score"}) is None


def test_free_choices_are_told():
    assert cautions(parsed("SELECT max_by(a, b), mode(c) FROM t")) == (
        "max_by chooses freely among rows that tie",
        "mode chooses freely among values that are equally frequent",
    )
    assert cautions(parsed("SELECT max(a) FROM t")) == ()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT first(id), current_date() FROM t", "CLOCK"),
        ("SELECT id FROM t ORDER BY rand() LIMIT 3", "VOLATILE"),
        ("SELECT id, collect_list(id), row_number() OVER (ORDER BY id) FROM t LIMIT 1", None),
    ],
)
def test_what_no_second_run_repeats_is_found_behind_what_one_may_choose(query, code):
    found = clock_or_chance(parsed(query))
    assert (found and found.code) == code


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("system.builtin.collect_list(x)", "ORDER_DEPENDENT"),
        ("builtin.lag(x) OVER (PARTITION BY y)", "ORDER_DEPENDENT"),
        ("builtin.rand()", "VOLATILE"),
        ("system.builtin.sum(x)", None),
        ("mine.sum(x)", "UNKNOWN_FUNCTION"),
        ("mine.upper(x)", "UNKNOWN_FUNCTION"),
        ("a.b.upper(x)", "UNKNOWN_FUNCTION"),
        ("mine.sum(x) FILTER (WHERE y)", "UNKNOWN_FUNCTION"),
    ],
)
def test_a_function_of_the_same_name_elsewhere_is_another_one(expression, code):
    assert finding(expression) == code


def test_a_time_of_day_that_stays_a_text_does_not_ask_the_clock():
    query = "SELECT a FROM t WHERE slot = '12:00' AND x = CAST('2026-01-31 12:00' AS TIMESTAMP)"
    assert nondeterminism(parsed(query)) is None
