"""One spelling of every tree: what the parser keeps as it was typed makes no difference."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from freshline.sql.appends import appends
from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.normal import parsed
from freshline.sql.query.records import Buckets, Reads, Reason
from freshline.sql.query.scopes import makes_groups
from freshline.sql.text.canonical import canonical
from freshline.sql.text.functions import AGGREGATES
from freshline.sql.text.rowwise import row_wise
from tests.support.view_cases import CASES, SOURCES, H, M

FRAME = (
    "SELECT ts, sum(amount) OVER (PARTITION BY usr ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES "
    "PRECEDING AND CURRENT ROW) AS s FROM orders"
)


@pytest.mark.parametrize("spelt", [FRAME, FRAME.lower(), FRAME.swapcase()])
def test_a_frame_reaches_as_far_back_in_any_case(spelt):
    assert buckets(spelt, SOURCES) == Buckets("ts", {"orders": Reads("ts", -10 * M, 0)})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_view_has_the_same_bounds_in_lower_case(case):
    lower = case.query.lower()
    assert buckets(lower, SOURCES) == buckets(case.query, SOURCES)
    assert appends(lower, SOURCES) == appends(case.query, SOURCES) or "'" in case.query


def test_rows_of_a_lower_case_frame_depend_on_their_order():
    query = "SELECT ts, sum(amount) over (partition by ts rows unbounded preceding) s FROM orders"
    reason = buckets(query, SOURCES)
    assert isinstance(reason, Reason)
    assert reason.code == "ORDER_DEPENDENT"


@pytest.mark.parametrize(
    ("query", "spelt"),
    [
        (
            "(SELECT a FROM t) ORDER BY a LIMIT 3",
            "SELECT * FROM (SELECT a FROM t) AS in_parentheses_0 ORDER BY a LIMIT 3",
        ),
        (
            "SELECT a FROM ((SELECT a FROM t) OFFSET 2) AS x",
            "SELECT a FROM ((SELECT * FROM (SELECT a FROM t) AS in_parentheses_0 OFFSET 2)) AS x",
        ),
        (
            "SELECT a - INTERVAL 1 HOUR 30 MINUTES FROM t",
            "SELECT a - (INTERVAL '1' HOUR + INTERVAL '30' MINUTES) FROM t",
        ),
        ("SELECT -INTERVAL 1 DAY 2 HOURS", "SELECT -(INTERVAL '1' DAY + INTERVAL '2' HOURS)"),
        ("SELECT any(a > 1) FROM t", "SELECT BOOL_OR(a > 1) FROM t"),
        ("SELECT a LIKE ANY ('x', 'y') FROM t", "SELECT a LIKE ANY ('x', 'y') FROM t"),
        ("SELECT TRUE = any(a) FROM t", "SELECT TRUE = BOOL_OR(a) FROM t"),
    ],
)
def test_there_is_one_form(query, spelt):
    assert parsed(query).sql(dialect="spark") == spelt


def test_two_times_of_one_text_are_two():
    query = (
        "SELECT o.ts FROM orders o JOIN clicks c ON c.ts BETWEEN o.ts - INTERVAL 1 HOUR 30 MINUTES "
        "AND o.ts - INTERVAL 1 HOUR + INTERVAL 30 MINUTES"
    )
    assert buckets(query, SOURCES, column="ts") == Buckets(
        "ts", {"clicks": Reads("ts", -90 * M, -30 * M), "orders": Reads("ts", 0, 0)}
    )
    assert 90 * M == H + 30 * M


def _called(name: str) -> list[exp.Select]:
    found = []
    for arguments in ("amount > 5", "amount, id", "amount, 0.5, 3"):
        for written in (name, name.upper(), f"`{name}`", f"system.builtin.{name}"):
            for call in (f"{written}({arguments})", f"1 + {written}({arguments})"):
                try:
                    tree = sqlglot.parse_one(f"SELECT {call} AS x FROM orders", dialect="spark")
                except sqlglot.errors.SqlglotError:
                    continue
                canonical(tree)
                assert isinstance(tree, exp.Select)
                found.append(tree)
    return found


@pytest.mark.parametrize("name", sorted(AGGREGATES - {"any"}))  # of several arguments
def test_every_aggregate_of_spark_is_one_however_it_is_written(name):
    trees = _called(name)
    assert trees
    assert all(makes_groups(tree) for tree in trees)


@pytest.mark.parametrize("name", sorted(AGGREGATES))
@pytest.mark.parametrize("written", ["{}(amount > 5)", "{}(amount > 5) FILTER (WHERE id > 1)"])
def test_no_aggregate_is_appended_or_taken_for_row_by_row(name, written):
    call = written.format(name)
    assert isinstance(appends(f"SELECT {call} AS x FROM orders", SOURCES), Reason)
    assert row_wise(f"SELECT {call} AS x FROM STREAM orders").fault is not None


@pytest.mark.parametrize(
    "query",
    [
        "(SELECT ts FROM orders) ORDER BY ts LIMIT 3",
        "SELECT ts FROM ((SELECT ts FROM orders) LIMIT 3)",
        "SELECT ts FROM (((SELECT ts FROM orders) ORDER BY ts) OFFSET 3) x",
        "(SELECT ts FROM orders LIMIT 3)",
        "SELECT ts FROM (SELECT ts FROM orders UNION ALL SELECT ts FROM clicks LIMIT 2)",
        "SELECT ts FROM ((SELECT ts FROM orders UNION ALL SELECT ts FROM clicks) LIMIT 2)",
        "WITH c AS (SELECT ts FROM orders) (SELECT ts FROM c) LIMIT 3",
    ],
)
def test_a_limit_counts_rows_wherever_it_stands(query):
    for answer in (appends(query, SOURCES), buckets(query, SOURCES)):
        assert isinstance(answer, Reason)
        assert answer.code in {"LIMIT", "LIMIT_UNORDERED"}


def test_a_query_inside_a_lateral_view_is_seen():
    query = (
        "SELECT ts, x FROM orders LATERAL VIEW explode((SELECT sort_array(collect_set(id)) FROM "
        "orders)) e AS x"
    )
    for answer in (appends(query, SOURCES), buckets(query, SOURCES)):
        assert isinstance(answer, Reason)
        assert answer.code == "LATERAL_SUBQUERY"


def test_branches_of_a_union_meet_by_place():
    query = (
        "SELECT id, shipped AS ts, ts AS ts2 FROM orders UNION ALL SELECT c.id, c.ts, o.ts FROM "
        "clicks c JOIN orders o ON c.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR"
    )
    wanted = Buckets("ts2", {"clicks": Reads("ts", 0, H), "orders": Reads("ts", 0, 0)})
    assert buckets(query, SOURCES, column="ts2") == wanted
