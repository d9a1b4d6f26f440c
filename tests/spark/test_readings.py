"""The second reading on Spark: every view's plan confirmed, and what is not is computed in full."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from freshline.delta.log import last_commit
from freshline.spark.engine.jvm import activate
from freshline.spark.views.asked import Remembered
from freshline.spark.views.readings import confirmed, spark_plan
from freshline.spark.views.verify import typer
from freshline.sql.buckets.timeline import buckets
from freshline.sql.explain import ways
from freshline.sql.plan import view_plan
from freshline.sql.query.nondeterministic import nondeterminism
from freshline.sql.query.normal import normalise
from freshline.sql.query.records import (
    Buckets,
    Decomposition,
    Partial,
    Reads,
    Reason,
    Source,
    ViewPlan,
)
from freshline.sql.readings.certainty import uncertain
from freshline.sql.readings.operators import Reader
from freshline.sql.readings.plans import output
from freshline.sql.readings.terms import HOUR_US, Attribute
from freshline.sql.states.decompose import decompose
from tests.support.recorded_plans import FILE, QUERIES
from tests.support.recorded_plans import plans as recorded_now
from tests.support.share import share
from tests.support.view_cases import CASES, SOURCES
from tests.unit.sql.test_ties import EVENTS, SPLIT, TOGETHER

pytestmark = pytest.mark.spark

NOT = Reason("NOT_THIS_WAY", "in a test")
NOTHING = ViewPlan(NOT, NOT, NOT)
ORDERS = [source for source in SOURCES if source.name == "orders"]
BY_DATE = {"days": "d", "cal": "day"}


def test_recorded_plans_are_what_spark_makes_of_the_queries(empty):
    kept = json.loads(FILE.read_text())
    found = recorded_now(empty, SOURCES)
    for name in QUERIES:
        assert found[name] == kept[name], f"record again: {name}"


@pytest.mark.parametrize("case", share(CASES, part=4), ids=lambda case: case.name)
def test_intervals_from_spark_are_those_that_were_worked_out_by_hand(empty, case):
    plan = spark_plan(empty, case.query)
    columns = {name: _column(case.name, name) for name in ("orders", "clicks", "days")}
    relation = Reader(columns).read(plan)
    (at,) = (each.number for each in output(plan) if each.text("name").lower() == case.column)
    spans = {name: relation.span(name, Attribute(at)) for name in columns}
    found = {name: (span.lo, span.hi) for name, span in spans.items() if span is not None}
    assert found == case.reads


def _column(case: str, source: str) -> str:
    if case == "bound through another column":
        return "ts"
    return BY_DATE.get(source, "ts")


COUNTED = Partial(
    "partial_1",
    ("k0",),
    "SELECT usr AS k0, count(*) AS s0 FROM orders GROUP BY usr",
    "SELECT k0, CAST(coalesce(sum(s0), 0) AS BIGINT) AS s0 FROM partial_1 GROUP BY k0",
)
COUNTS = "SELECT usr, count(*) AS n FROM orders GROUP BY usr"
GROUPS = "SELECT k0 AS usr, sum(s0) AS n FROM partial_1 GROUP BY k0"


def merging(
    final: str, *, partial: Partial = COUNTED, groups: dict[str, str] | None = None
) -> ViewPlan:
    return dataclasses.replace(
        NOTHING, merge=Decomposition((partial,), final, group_columns=groups)
    )


def told(empty, query: str, plan: ViewPlan) -> str:
    """Why the plan is not confirmed; empty: it is."""
    found = confirmed(empty, query, SOURCES, plan)
    if found == plan:
        return ""
    assert found.merge == found.buckets == found.appends
    assert isinstance(found.merge, Reason)
    assert found.merge.code == "readings-differ"
    return found.merge.message


def test_a_right_decomposition_is_confirmed(empty):
    assert told(empty, COUNTS, merging(GROUPS, groups={"usr": "k0"})) == ""


def test_what_is_computed_of_groups_is_as_the_user_has_it(empty):
    query = "SELECT avg(n) AS mean, stddev(n) AS apart FROM ({})"
    wanted = query.format(COUNTS)
    assert told(empty, wanted, merging(query.format(GROUPS))) == ""
    of_states = "SELECT avg(s0) AS mean, stddev(s0) AS apart FROM partial_1"
    for wrong in (of_states, query.replace("avg", "max").format(GROUPS)):
        assert "the column mean" in told(empty, wanted, merging(wrong))


def test_groups_that_a_subquery_compares_with_all_are_not_confirmed(empty):
    query = f"WITH c AS ({COUNTS}) SELECT usr, n FROM c WHERE n > (SELECT avg(n) FROM c)"
    final = query.replace(COUNTS, GROUPS)
    assert told(empty, query, merging(final, groups={"usr": "k0"})) == (
        "our reading of the query and Spark's are not the same: the groups that a change touches,"
        " told by usr: by our reading a row looks at its own group, by Spark's at other groups as"
        " well"
    )
    # All rows are written where groups cannot be told apart.
    assert told(empty, query, merging(final)) == ""


def test_states_that_do_not_add_up_are_not_confirmed(empty):
    distinct = dataclasses.replace(
        COUNTED, query="SELECT usr AS k0, count(DISTINCT id) AS s0 FROM orders GROUP BY usr"
    )
    greatest = dataclasses.replace(
        COUNTED, combine="SELECT k0, max(s0) AS s0 FROM partial_1 GROUP BY k0"
    )
    limited = dataclasses.replace(
        COUNTED,
        query="SELECT usr AS k0, count(*) AS s0 FROM (SELECT * FROM orders ORDER BY id LIMIT 5)"
        " GROUP BY usr",
    )
    itself = dataclasses.replace(
        COUNTED,
        query="SELECT a.usr AS k0, count(*) AS s0 FROM orders a JOIN orders b ON a.id = b.id"
        " GROUP BY a.usr",
    )
    both = dataclasses.replace(
        COUNTED,
        query="SELECT a.usr AS k0, count(*) AS s0 FROM orders a JOIN clicks b ON a.id = b.id"
        " GROUP BY a.usr",
    )
    wrong = [
        (distinct, "Count of distinct values does not add up"),
        (greatest, "Count merged by Max"),
        (limited, "below its groups, GlobalLimit looks at several rows at once"),
        (itself, "below its groups, Join joins rows of one table with others of the same table"),
        (both, "rows come from clicks, orders, which do not add up (joint)"),
    ]
    for partial, why in wrong:
        assert (
            "our reading of the query and Spark's are not the same: the state partial_1: by our"
            f" reading adds up, by Spark's {why}"
        ) in told(empty, COUNTS, merging(GROUPS, partial=partial))


@pytest.mark.parametrize(
    ("table", "why"),
    [("users", ""), ("clicks", "the state partial_1: by our reading adds up, by Spark's looks at")],
)
def test_a_state_may_look_at_tables_that_do_not_change(empty, table, why):
    summed = f"sum(id + (SELECT max(x.usr) FROM {table} x WHERE x.usr = orders.usr))"
    query = COUNTS.replace("count(*)", summed)
    partial = dataclasses.replace(
        COUNTED,
        query=COUNTED.query.replace("count(*)", summed),
        combine="SELECT k0, CAST(sum(s0) AS BIGINT) AS s0 FROM partial_1 GROUP BY k0",
    )
    said = told(empty, query, merging(GROUPS, partial=partial))
    assert why in said if why else said == ""


def test_an_outer_join_without_on_is_one_on_true(empty):
    joined = "orders o RIGHT JOIN users u {}WHERE o.id > 0 GROUP BY o.usr"
    query = f"SELECT o.usr, count(*) AS n FROM {joined.format('')}"
    state = f"SELECT o.usr AS k0, count(*) AS s0 FROM {joined.format('ON TRUE ')}"
    partial = dataclasses.replace(COUNTED, query=state)
    assert told(empty, query, merging(GROUPS, partial=partial)) == ""


TOTALS = Partial(
    "partial_1",
    ("k0",),
    "SELECT usr AS k0, sum(amount) AS s0, sum(id) AS s1, count(id) AS s2 FROM orders"
    " WHERE amount > 3 GROUP BY usr",
    "SELECT k0, CAST(sum(s0) AS BIGINT) AS s0, CAST(sum(s1) AS BIGINT) AS s1,"
    " CAST(coalesce(sum(s2), 0) AS BIGINT) AS s2 FROM partial_1 GROUP BY k0",
)
TOTAL = (
    "SELECT usr, sum(amount) AS a, sum(id) AS b, avg(id) AS c FROM orders WHERE amount > 3"
    " GROUP BY usr HAVING count(id) > 1 ORDER BY a LIMIT 5"
)
PUT_TOGETHER = (
    "SELECT k0 AS usr, sum(s0) AS a, sum(s1) AS b, sum(s1) / sum(s2) AS c FROM partial_1"
    " GROUP BY k0 HAVING sum(s2) > 1 ORDER BY a LIMIT 5"
)
QUERY = "the query put together from states: by our reading has "


def test_a_query_that_is_put_together_rightly_is_confirmed(empty):
    assert told(empty, TOTAL, merging(PUT_TOGETHER, partial=TOTALS)) == ""


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ("sum(s0) AS a", "max(s0) AS a", "the column a, put together from states"),
        ("sum(s0) AS a", "sum(s1) AS a", "the column a, put together from states"),
        ("sum(s1) / sum(s2) AS c", "max(s1) / sum(s2) AS c", "the column c"),
        (
            "ORDER BY a LIMIT 5",
            "ORDER BY a LIMIT 6",
            (
                f"{QUERY}GlobalLimit 6 of groups by orders.amount Ascending NullsFirst, by"
                " Spark's has GlobalLimit 5 of groups by orders.amount Ascending NullsFirst"
            ),
        ),
        (
            "ORDER BY a LIMIT 5",
            "ORDER BY a DESC LIMIT 5",
            f"{QUERY}GlobalLimit 5 of groups by orders.amount Descending",
        ),
        (
            "HAVING sum(s2) > 1",
            "",
            f"{QUERY}nothing of that kind, by Spark's has condition of orders.id with 1",
        ),
        (
            "HAVING sum(s2) > 1",
            "HAVING sum(s2) > 2",
            f"{QUERY}condition of orders.id with 2, by Spark's has condition of orders.id with 1",
        ),
    ],
)
def test_a_query_that_is_put_together_wrongly_is_not_confirmed(empty, right, wrong, why):
    final = PUT_TOGETHER.replace(right, wrong)
    assert final != PUT_TOGETHER
    assert why in told(empty, TOTAL, merging(final, partial=TOTALS))


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        (" WHERE amount > 3", "", "nothing of that kind, by Spark's has condition"),
        (
            "amount > 3",
            "amount > 2",
            "condition of orders.amount+function GreaterThan 2 with 2, by",
        ),
        (
            "amount > 3",
            "id > 3",
            "condition of orders.id+function GreaterThan 3 with 3, by Spark's",
        ),
        ("amount > 3", "amount < 3", "condition of orders.amount+function LessThan 3 with 3, by"),
        ("amount > 3", "abs(amount) > 3", "orders.amount+function Abs+function GreaterThan 3 with"),
        ("sum(amount) AS s0", "sum(shipped IS NULL AND amount > 0) AS s0", "cannot"),
        ("count(id) AS s2", "count(amount) AS s2", "the column c, put together from states"),
    ],
)
def test_states_of_other_rows_are_not_confirmed(empty, right, wrong, why):
    partial = dataclasses.replace(TOTALS, query=TOTALS.query.replace(right, wrong))
    assert partial != TOTALS
    assert why in told(empty, TOTAL, merging(PUT_TOGETHER, partial=partial))


def test_groups_of_another_length_are_not_confirmed(empty):
    query = "SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM orders GROUP BY 1"
    hourly = dataclasses.replace(
        COUNTED, query=query.replace("AS h", "AS k0").replace("n F", "s0 F")
    )
    final = "SELECT k0 AS h, sum(s0) AS n FROM partial_1 GROUP BY k0"
    assert told(empty, query, merging(final, partial=hourly)) == ""
    daily = dataclasses.replace(hourly, query=hourly.query.replace("hour", "day"))
    assert told(empty, query, merging(final, partial=daily)) == (
        "our reading of the query and Spark's are not the same: the column h, put together from"
        " states: by our reading comes from function TruncTimestamp DAY, orders.ts, by Spark's from"
        " function TruncTimestamp HOUR, orders.ts"
    )


def test_constants_that_are_written_otherwise_are_the_same(empty):
    query = (
        "SELECT usr, count(*) AS n FROM orders WHERE ts >= TIMESTAMP'2024-01-01'"
        " AND amount > 1.50D GROUP BY usr"
    )
    partial = dataclasses.replace(
        COUNTED,
        query="SELECT usr AS k0, count(*) AS s0 FROM orders WHERE ts >="
        " CAST('2024-01-01' AS TIMESTAMP) AND amount > CAST(1.5 AS DOUBLE) GROUP BY usr",
    )
    assert told(empty, query, merging(GROUPS, partial=partial)) == ""


@pytest.mark.parametrize("number", ["-1D", "-0D", "-1L", "-2.50BD", "- 1e0", "-(3S)"])
def test_a_negative_number_with_its_type_is_no_doubt(empty, number):
    query = f"SELECT usr * {number} AS turned, count(*) AS n FROM orders GROUP BY usr * {number}"
    cut = decompose(query, SOURCES, typer(empty))
    assert isinstance(cut, Decomposition)
    assert told(empty, query, dataclasses.replace(NOTHING, merge=cut)) == ""
    other = query.replace(number, f"(1 + {number})")
    assert told(empty, other, dataclasses.replace(NOTHING, merge=cut))


def test_a_plus_in_front_is_no_doubt(empty):
    """sqlglot leaves it out, and Spark's plan has it."""
    query = "SELECT + usr AS k, sum(+id) AS s FROM orders WHERE +id > +2 GROUP BY + usr"
    cut = decompose(query, SOURCES, typer(empty))
    assert isinstance(cut, Decomposition)
    assert told(empty, query, dataclasses.replace(NOTHING, merge=cut)) == ""
    other = query.replace("+2", "+3")
    assert told(empty, other, dataclasses.replace(NOTHING, merge=cut))


def test_rows_that_a_static_table_repeats_are_weighted(empty):
    """A sum over its rows is a sum of products; what is repeated is counted in another state."""
    query = "SELECT sum(u.usr) AS s FROM users u LEFT JOIN orders o ON o.usr = u.usr"
    final = (
        "SELECT sum(u.usr * coalesce(p.s0, 1)) AS s FROM users u LEFT JOIN partial_1 p"
        " ON p.k0 = u.usr"
    )
    assert told(empty, query, merging(final)) == ""


@pytest.mark.parametrize(
    ("expressions", "certain"),
    [
        (
            (
                "sort_array(collect_list(id)); size(collect_list(id)); size(collect_set(id));"
                " sort_array(collect_list(id), false); array_max(collect_set(id));"
                " array_size(collect_set(id)); array_size(collect_list(id));"
                " array_sort(collect_list(id)); array_sort(collect_set(struct(id, amount)))"
            ),
            True,
        ),
        (
            (
                "max(id) OVER (PARTITION BY usr ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED"
                " FOLLOWING); row_number() OVER (ORDER BY id)"
            ),
            True,
        ),
        (
            (
                "first_value(id) OVER (PARTITION BY usr ORDER BY ts, id);"
                " last(amount, true) OVER (ORDER BY ts ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING);"
                " any_value(id) OVER (ORDER BY id); collect_list(id) OVER (ORDER BY ts, id);"
                " first_value(id) OVER (PARTITION BY usr); last(id); any_value(id);"
                " collect_list(id); sort_array(array(first(id))); reverse(collect_list(id));"
                " concat_ws(',', collect_set(id)); array_sort(collect_list(id), (a, b) -> 0);"
                " array_sort(collect_set(id), (left, right) -> if(left > right, 0, 1))"
            ),
            False,
        ),
        (
            "EXISTS (SELECT 1 FROM orders LIMIT 1); EXISTS (SELECT 1 FROM orders LIMIT 2 OFFSET 3)",
            True,
        ),
        (
            (
                "(SELECT id FROM orders LIMIT 1); id IN (SELECT id FROM orders LIMIT 1);"
                " EXISTS (SELECT id FROM (SELECT id FROM orders LIMIT 1) WHERE id > 1)"
            ),
            False,
        ),
    ],
)
def test_both_readings_say_whether_the_order_of_rows_matters(empty, expressions, certain):
    for each in expressions.split("; "):
        query = f"SELECT {each} AS v FROM orders"
        assert (uncertain(spark_plan(empty, query)) is None) == certain, each
        assert (nondeterminism(normalise(query, ORDERS)) is None) == certain, each


def test_both_readings_say_which_rows_a_choice_among_ties_decides(empty, monkeypatch):
    """As if the first reading knew nothing of rows that tie."""
    columns = ", ".join(f"{name} {kind}" for name, kind in EVENTS.columns.items())
    empty.createDataFrame([], columns).createOrReplaceTempView("e")
    for query in (*TOGETHER.values(), *SPLIT.values()):
        first = buckets(query, [EVENTS])
        with monkeypatch.context() as patched:
            patched.setattr("freshline.sql.buckets.timeline.split_choice", lambda *_: None)
            without = buckets(query, [EVENTS])
        empty.createDataFrame([], "id BIGINT, ts TIMESTAMP, kind STRING").createOrReplaceTempView(
            "e"
        )
        found = confirmed(empty, query, [EVENTS], dataclasses.replace(NOTHING, buckets=without))
        if isinstance(first, Buckets):
            assert found.buckets == without == first, query
        else:
            assert isinstance(found.buckets, Reason), query
            assert "the rows that tie among which" in found.buckets.message


def test_an_origin_is_written_by_the_clock_of_the_query_s_own_session(spark):
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Australia/Lord_Howe")
    session.createDataFrame([], "ts TIMESTAMP").createOrReplaceTempView("orders")
    asked = Remembered(session)
    query = "SELECT time_bucket(INTERVAL 1 DAY, ts) AS b FROM orders"
    for active in (session, spark):
        activate(active)
        literals = [each for each in spark_plan(asked, query).walk() if each.kind == "Literal"]
        assert "1970-01-01 00:00:00" in {each.text("value") for each in literals}


def test_a_partition_by_a_window_of_time_is_of_its_rows(empty):
    query = (
        "SELECT ts, rank() OVER (PARTITION BY window(ts, '1 hour') ORDER BY amount) AS r"
        " FROM orders"
    )
    plan = spark_plan(empty, query)
    (at,) = (each.number for each in output(plan) if each.text("name") == "ts")
    span = Reader({"orders": "ts"}).read(plan).span("orders", Attribute(at))
    assert span is not None
    assert (span.lo, span.hi) == (-HOUR_US + 1, HOUR_US - 1)


def test_a_side_lost_from_using_behind_a_full_join_is_not_confirmed(empty):
    both = (
        "SELECT {key} AS usr, a.n, t.name FROM ({left}) a FULL JOIN (SELECT usr, count(*) AS m"
        " FROM clicks GROUP BY usr) b {on} LEFT JOIN users t {by}"
    )
    query = both.format(key="usr", left=COUNTS, on="USING (usr)", by="USING (usr)")
    one_sided = both.format(
        key="coalesce(a.usr, b.usr)", left=GROUPS, on="ON a.usr = b.usr", by="ON a.usr = t.usr"
    )
    right = one_sided.replace("ON a.usr = t.usr", "ON coalesce(a.usr, b.usr) = t.usr")
    assert told(empty, query, merging(right)) == ""
    assert told(empty, query, merging(one_sided)) == (
        "our reading of the query and Spark's are not the same: the query put together from states:"
        " by our reading has LeftOuter join on of orders.usr+users.usr+function EqualTo with"
        " nothing, by Spark's has LeftOuter join on of clicks.usr+orders.usr+users.usr+function"
        " EqualTo with nothing"
    )


def test_rows_of_a_union_that_its_states_keep_are_no_doubt(empty):
    """How often each came is counted of groups, in a subquery under the query's own groups."""
    query = (
        "SELECT usr, count(*) AS n FROM (SELECT usr FROM orders UNION ALL SELECT o.usr"
        " FROM clicks c LEFT JOIN orders o ON o.id = c.id) GROUP BY usr"
    )
    cut = decompose(query, SOURCES, typer(empty), keeps_rows=True)
    assert isinstance(cut, Decomposition)
    assert "freshline_copy" in cut.final
    assert told(empty, query, dataclasses.replace(NOTHING, merge=cut)) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("id + usr", "usr + id"),
        ("if(id = usr, 1, 2)", "if(usr = id, 1, 2)"),
        ("if(id < usr, 1, 2)", "if(usr > id, 1, 2)"),
        ("if(id + usr IN (1, 2), 1, 2)", "if(id + usr IN (2, 1), 1, 2)"),
        ("greatest(id, usr)", "greatest(usr, id)"),
    ],
)
def test_what_is_one_key_to_spark_however_it_is_written_is_not_made_two(empty, one, other):
    """Told apart, the rows of one of the sets would miss their key."""
    for shown, sets in (
        (one, f"GROUPING SETS (({one}), ({other}), (usr))"),
        (other, f"CUBE ({one}, id, usr)"),
        (f"{other} IS NULL", f"ROLLUP (usr, {one}, id)"),
    ):
        query = f"SELECT {shown} AS shown, usr, count(*) AS n FROM orders GROUP BY {sets}"
        cut = decompose(query, SOURCES, typer(empty))
        assert isinstance(cut, Decomposition)
        why = told(empty, query, dataclasses.replace(NOTHING, merge=cut))
        assert "subtotals by" in why, shown
        right = query.replace(shown, one).replace(other, "amount")
        cut = decompose(right, SOURCES, typer(empty))
        assert isinstance(cut, Decomposition)
        assert told(empty, right, dataclasses.replace(NOTHING, merge=cut)) == ""


HIDDEN = (
    ("SELECT max(amount) AS m FROM orders GROUP BY usr % 3", "% 3 -> % 1; usr % -> id %"),
    ("SELECT usr, sum(amount) AS s FROM orders GROUP BY usr, abs(id)", "ABS( -> SIGN("),
    ("SELECT count(*) AS n FROM orders GROUP BY date_trunc('hour', ts)", "HOUR -> DAY"),
    ("SELECT min(id) AS i FROM orders GROUP BY ROLLUP (usr % 3, id)", "% 3 -> % 1; usr % -> id %"),
    ("SELECT max(n) AS m FROM (SELECT count(*) AS n FROM orders GROUP BY usr % 3)", "% 3 -> % 1"),
    ("SELECT count(*) AS n FROM (SELECT DISTINCT usr % 3 AS k FROM orders)", "% 3 -> % 1"),
    (
        (
            "SELECT usr, rank() OVER (PARTITION BY id % 4 ORDER BY usr % 3) AS r FROM orders"
            " GROUP BY usr, id"
        ),
        "% 3 -> % 1; % 4 -> % 2",
    ),
    (
        "SELECT usr FROM orders GROUP BY usr ORDER BY usr % 3 LIMIT 2",
        "% 3 -> % 1; % 3 -> % 3 NULLS LAST",
    ),
)


@pytest.mark.parametrize(("query", "changes"), HIDDEN)
def test_a_key_that_no_column_shows_is_the_query_s(empty, query, changes):
    """Of groups, of distinct rows, and of an order."""
    cut = decompose(query, SOURCES, typer(empty))
    assert isinstance(cut, Decomposition)
    assert told(empty, query, dataclasses.replace(NOTHING, merge=cut)) == ""
    for change in changes.split("; "):
        right, wrong = change.split(" -> ")
        partials = tuple(
            dataclasses.replace(each, query=each.query.replace(right, wrong))
            for each in cut.partials
        )
        final = cut.final.replace(right, wrong)
        other = dataclasses.replace(cut, partials=partials, final=final)
        assert other != cut, (change, cut)
        assert told(empty, query, dataclasses.replace(NOTHING, merge=other)) != "", change


def test_rows_made_distinct_before_an_offset_are_not_confirmed(empty):
    query = (
        "SELECT count(*) AS n FROM users"
        " WHERE usr IN (SELECT usr FROM orders ORDER BY usr OFFSET 9)"
    )
    final = query.replace("SELECT usr FROM orders", "SELECT k0 FROM partial_1").replace(
        "BY usr", "BY k0"
    )
    assert "Offset 9 of groups" in told(empty, query, merging(final))


def test_the_plan_of_a_frame_that_was_read_backwards_is_given_up(shop, monkeypatch):
    """As if the analysis still took PRECEDING in small letters for FOLLOWING."""
    frame = "RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW"
    query = f"SELECT id, at, count(*) OVER (ORDER BY at {frame}) AS n FROM events"
    folder = shop.feed("events_feed", "csv", "id BIGINT, at TIMESTAMP")
    shop.table("events", "SELECT * FROM STREAM events_feed", time_column="at")
    shop.table("near", query, refresh="incremental")
    assert ways(shop.executor.analyse().plans["near"])[0] == "bucket-recompute"

    def wrong(query: str, sources: list[Source], **more: Any) -> ViewPlan:
        plan = view_plan(query, sources, **more)
        assert isinstance(plan.buckets, Buckets)
        (reads,) = plan.buckets.reads.values()
        backwards = Reads(reads.column, -reads.hi_us, -reads.lo_us)
        return dataclasses.replace(plan, buckets=Buckets("at", {"events": backwards}))

    monkeypatch.setattr("freshline.spark.views.plans.view_plan", wrong)
    found = shop.plan()
    why = (
        "our reading of the query and Spark's are not the same: the rows of events on which a"
        " bucket depends: by our reading rows from 0 s to +10 min of it, by Spark's rows from"
        " -10 min to 0 s of it"
    )
    assert found.plans["near"].buckets == Reason("readings-differ", why)
    results = []
    for number in (1, 2):
        (folder / f"{number}.csv").write_text(f"{number},2026-01-01 00:0{number}:00\n")
        loaded = shop.load("events", f"{number}.csv")
        results.append(shop.derive("near", events=loaded.version))
    result = results[-1]
    assert (result.strategy, result.code) == ("full", "readings-differ")
    assert result.reason == f"computed in full: {why}"
    commit = last_commit(shop.path("near"))
    assert commit is not None
    assert commit.metadata["reason"] == "readings-differ"


def test_a_binary_literal_is_no_doubt(shop):
    """Spark's plan shows it as the name of a Java object, which no two plans share."""
    shop.feed("f", "parquet", "id BIGINT, bin BINARY")
    shop.table("t", "SELECT * FROM STREAM f")
    query = "SELECT X'FF' = bin AS a, count(*) AS n FROM t GROUP BY 1"
    shop.table("v", query, refresh="incremental")
    found = shop.plan()
    assert found.errors == []
    assert isinstance(found.plans["v"].merge, Decomposition)
