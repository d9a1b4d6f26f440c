"""A view's plan in words and as data."""

from __future__ import annotations

import json
from dataclasses import replace

from freshline.sql.explain import duration, explanation, explanation_text, touched
from freshline.sql.plan import view_plan
from freshline.sql.query.records import Buckets, Decomposition, Partial, Reads, Reason, ViewPlan
from tests.support.view_cases import SOURCES, D, H, M

MERGE = Decomposition(
    (Partial("p0", ("k0",), "SELECT 1 AS k0", "SELECT k0 FROM p0"),),
    "SELECT k0 FROM p0",
    group_columns={"h": "k0"},
)
NO_MERGE = Reason("HOLISTIC", "median has no merge rule", "MEDIAN(amount)")


def test_an_hourly_view_in_words():
    query = "SELECT date_trunc('hour', ts) AS h, max_by(id, amount) AS i FROM orders GROUP BY 1"
    plan = view_plan(query, SOURCES, decompose=lambda *_: MERGE)
    assert explanation_text("hourly", plan, SOURCES[:1]) == (
        "hourly: bucket-merge, bucket-recompute, full\n"
        "reads orders (time ts)\n"
        "append: no, AGGREGATE: new rows change existing groups\n"
        "buckets: by h\n"
        "  a row of orders with ts = t touches rows with h in [t - 59 min 59.999999 s, t]\n"
        "merge: 1 state(s), joint\n"
        "  p0, keys k0\n"
        "    partial: SELECT 1 AS k0\n"
        "    combine: SELECT k0 FROM p0\n"
        "  final: SELECT k0 FROM p0\n"
        "note: max_by chooses freely among rows that tie\n"
    )


def test_a_view_that_is_computed_again_says_why():
    plan = view_plan(
        "SELECT median(amount) AS m FROM orders", SOURCES, decompose=lambda *_: NO_MERGE
    )
    data = explanation("m", plan)
    assert json.loads(json.dumps(data)) == data
    assert data["ways"] == ["full"]
    assert data["merge"] == {
        "code": "HOLISTIC",
        "message": "median has no merge rule",
        "sql": "MEDIAN(amount)",
    }
    assert "merge: no, HOLISTIC: median has no merge rule [MEDIAN(amount)]" in explanation_text(
        "m", plan
    )


def test_a_query_that_cannot_be_read_has_one_reason_for_all():
    plan = view_plan("SELECT (", SOURCES, decompose=lambda *_: MERGE)
    assert isinstance(plan.merge, Reason)
    assert plan.merge == plan.buckets == plan.appends
    assert plan.merge.code == "PARSE"


def test_the_data_holds_bounds_and_words():
    query = "SELECT ts + INTERVAL 1 HOUR AS due, id FROM orders"
    data = explanation("v", view_plan(query, SOURCES, decompose=lambda *_: NO_MERGE), SOURCES[:1])
    assert data["append"] is True
    assert data["ways"] == ["append", "bucket-recompute", "full"]
    assert data["buckets"] == {
        "column": "due",
        "reads": {
            "orders": {
                "column": "ts",
                "lo_us": -H,
                "hi_us": -H,
                "touches": "a row of orders with ts = t touches rows with due = t + 1 h",
            }
        },
    }


def test_what_a_row_touches_where_there_are_groups_and_no_buckets():
    no_buckets = Reason("NO_TIME_BUCKET", "no output column is a time")
    partial = Partial("p0", ("k0",), "SELECT 1 AS k0", "SELECT k0 FROM p0")

    def told(merge: Decomposition) -> str:
        lines = explanation_text("v", ViewPlan(NO_MERGE, no_buckets, merge)).splitlines()
        (line,) = [line for line in lines if line.startswith("  a row ")]
        data = explanation("v", ViewPlan(NO_MERGE, no_buckets, merge))
        assert isinstance(data["merge"], dict)
        assert line.strip() == data["merge"]["touches"]
        return line.strip()

    assert told(Decomposition((partial,), "f", group_columns={"usr": "k0", "day": "k1"})) == (
        "a row touches the rows of the groups that it falls into, by usr, day"
    )
    assert told(Decomposition((partial,), "f")) == (
        "a row can touch any row: rows do not show which groups they are of"
    )
    assert told(Decomposition((replace(partial, keys=()),), "f")) == (
        "a row touches the one row that there is"
    )


def test_a_view_that_is_its_own_state_says_so():
    plan = ViewPlan(NO_MERGE, NO_MERGE, replace(MERGE, own_state={"k0": "h"}))
    line = "  the view's own rows are the state: no table is kept beside it"
    assert line in explanation_text("v", plan).splitlines()
    data = explanation("v", plan)["merge"]
    assert isinstance(data, dict)
    assert data["own_state"] == {"k0": "h"}


def test_both_ends_are_said_with_their_signs():
    buckets = Buckets("b", {"s": Reads("ts", -2 * D - 3 * H, 5 * M)})
    assert touched(buckets, "s") == (
        "a row of s with ts = t touches rows with b in [t - 5 min, t + 2 d 3 h]"
    )


def test_durations():
    assert [duration(n) for n in (0, 1, 1_500_000, H + 1, 25 * H)] == [
        "0 s", "0.000001 s", "1.5 s", "1 h 0.000001 s", "1 d 1 h",
    ]  # fmt: skip


def test_keys_in_words():
    query = (
        "SELECT o.usr AS who, o.id FROM orders o LEFT ANTI JOIN clicks c ON c.usr = o.usr AND"
        " c.id = o.id"
    )
    told = explanation_text("unclicked", view_plan(query, SOURCES, decompose=lambda *_: NO_MERGE))
    assert told.startswith("unclicked: key-recompute, full\n")
    assert (
        "keys: by who, id\n"
        "  a row of orders touches the rows whose who is its usr and whose id is its id\n"
        "  a row of clicks touches the rows whose who is its usr and whose id is its id\n"
    ) in told
