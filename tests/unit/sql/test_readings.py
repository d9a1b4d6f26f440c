"""The second reading: what Spark's plans say of queries, and what of ours it does not confirm."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

import pytest

from freshline.sql.query.records import Buckets, Reads, Reason, ViewPlan
from freshline.sql.readings import plans
from freshline.sql.readings.comparison import differences, grouped
from freshline.sql.readings.conditions import not_null
from freshline.sql.readings.ingredients import ingredients, same_origin
from freshline.sql.readings.linearity import NotLinear, products
from freshline.sql.readings.operators import Reader
from freshline.sql.readings.plans import output, simplified
from freshline.sql.readings.terms import Attribute, Links, Span
from freshline.sql.readings.trees import Tree, parsed
from tests.support.agreement import disagreements
from tests.support.recorded_plans import QUERIES, recorded
from tests.support.view_cases import SOURCES, H, M

NOT = Reason("NOT_THIS_WAY", "in a test")
NOTHING = ViewPlan(NOT, NOT, NOT)
APPENDS = dataclasses.replace(NOTHING, appends="joint")
APPENDS_EACH = dataclasses.replace(NOTHING, appends="each")
STREAMS = {source.name for source in SOURCES if not source.static}


def told(plan: ViewPlan, name: str) -> list[str]:
    return [str(each) for each in differences(plan, recorded(name), SOURCES)]


def by(column: str, **reads: tuple[int, int]) -> ViewPlan:
    """A plan with buckets."""
    spans = {name: Reads("ts", lo, hi) for name, (lo, hi) in reads.items()}
    return dataclasses.replace(NOTHING, buckets=Buckets(column, spans))


def read(name: str, column: str) -> dict[str, tuple[float, float]]:
    """By source: by how much its times lie from the column of a query."""
    plan = recorded(name)
    (at,) = (each.number for each in output(plan) if each.text("name") == column)
    relation = Reader(dict.fromkeys(("orders", "clicks"), "ts")).read(plan)
    spans = {name: relation.span(name, Attribute(at)) for name in ("orders", "clicks")}
    return {name: (span.lo, span.hi) for name, span in spans.items() if span is not None}


ANY = (-float("inf"), float("inf"))


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("rows", "ts", {"orders": (0, 0)}),
        ("frame", "ts", {"orders": (-10 * M, 0)}),
        ("frame downwards", "ts", {"orders": (0, 10 * M)}),
        ("frame of rows", "ts", {"orders": ANY}),
        ("hourly", "h", {"orders": (0, H - 1)}),
        ("tumbling", "w", {"orders": (0, H - 1)}),
        ("sessions", "s", {"orders": ANY}),
        ("band", "ts", {"orders": (0, 0), "clicks": (-90 * M, -30 * M)}),
        ("full using", "ts", {"orders": (0, 0), "clicks": (0, 0)}),
        ("exists", "ts", {"orders": (0, 0), "clicks": (-10 * M, 0)}),
        ("not in", "ts", {"orders": (0, 0), "clicks": ANY}),
        ("union by place", "a", {"orders": (0, 0), "clicks": (-H, -H)}),
        ("union with constants", "ts", {"orders": (0, 0)}),
        ("limited union", "ts", {"orders": ANY, "clicks": ANY}),
        ("both", "id", {"orders": ANY, "clicks": ANY}),
        ("lateral", "ts", {"orders": (0, 0), "clicks": (0, 0)}),
        ("lateral left", "ts", {"orders": (0, 0), "clicks": (0, H)}),
        ("lateral explode", "ts", {"orders": (0, 0)}),
        ("last day", "d", {"orders": (-30 * 24 * H, 24 * H - 1)}),
        ("static outer", "ts", {"orders": (0, 0)}),
        ("kept by a static table", "ts", {"orders": ANY}),
        ("hints", "ts", {"orders": (0, 0)}),
        ("pivot", "h", {"orders": (0, H - 1)}),
        ("unpivot", "ts", {"orders": (0, 0)}),
    ],
)
def test_the_rows_on_which_a_bucket_depends(name, column, expected):
    assert read(name, column) == expected


def test_columns_of_one_name_go_by_place():
    relation = Reader({"orders": "ts", "clicks": "ts"}).read(recorded("one column twice"))
    spans = [relation.span("clicks", each) for each in relation.columns]
    assert spans == [Span(0, 0), Span(-H, -H)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rows", [{"orders"}]),
        ("static outer", [{"orders"}]),
        ("hints", [{"orders"}]),
        ("lateral explode", [{"orders"}]),
        ("unpivot", [{"orders"}]),
        ("both", [{"orders", "clicks"}]),
        ("union by place", [{"orders"}, {"clicks"}]),
        ("union with constants", [{"orders"}, set()]),
        ("offset in a subquery", [{"orders"}]),
        ("itself", "Join joins rows of one table with others of the same table"),
        ("kept by a static table", "Join is a join of kind LeftOuter whose other side changes"),
        ("any", "Aggregate looks at several rows at once"),
        ("any three", "GlobalLimit looks at several rows at once"),
        ("frame", "Window looks at several rows at once"),
        ("exists", "SubqueryExpression has a subquery that reads rows that change"),
        ("exploded subquery", "SubqueryExpression has a subquery that reads rows that change"),
        ("lateral", "SubqueryExpression has a subquery that reads rows that change"),
    ],
)
def test_sums_of_products(name, expected):
    found = products(recorded(name), STREAMS)
    if isinstance(found, NotLinear):
        assert f"{found.kind} {found.what}" == expected
    else:
        assert [set(each) for each in found] == expected


def test_both_readings_say_the_same_of_rows_that_tie():
    assert list(disagreements()) == []


FRAME = "the rows of orders on which a bucket depends: by our reading"
WRONG: Mapping[str, tuple[str, ViewPlan, str]] = {
    "a frame read backwards": (
        "frame",
        by("ts", orders=(0, 10 * M)),
        f"{FRAME} rows from 0 s to +10 min of it, by Spark's rows from -10 min to 0 s of it",
    ),
    "a frame of rows taken for one of times": (
        "frame of rows",
        by("ts", orders=(-10 * M, 0)),
        f"{FRAME} rows from -10 min to 0 s of it, by Spark's rows of any time",
    ),
    "two times of one text": (
        "band",
        by("ts", orders=(0, 0), clicks=(-90 * M, -90 * M)),
        (
            "the rows of clicks on which a bucket depends: by our reading rows from -1 h 30 min to"
            " -1 h 30 min of it, by Spark's rows from -1 h 30 min to -30 min of it"
        ),
    ),
    "a source that was not seen": (
        "exists",
        by("ts", orders=(0, 0)),
        (
            "the rows of clicks on which a bucket depends: by our reading none, by Spark's rows of"
            " any time"
        ),
    ),
    "a limit in parentheses": (
        "limited union",
        by("ts", orders=(0, 0), clicks=(0, 0)),
        f"{FRAME} rows from 0 s to 0 s of it, by Spark's rows of any time",
    ),
    "a column of another place": (
        "union by place",
        by("b", orders=(0, 0), clicks=(-H, -H)),
        f"{FRAME} rows from 0 s to 0 s of it, by Spark's rows of any time",
    ),
    "an aggregate that is not known": (
        "any",
        APPENDS,
        (
            "appending: by our reading new rows' output can be added, by Spark's Aggregate looks at"
            " several rows at once"
        ),
    ),
    "rows that come every time": (
        "union with constants",
        APPENDS,
        (
            "appending: by our reading new rows' output can be added, by Spark's rows come from"
            " orders; static tables alone"
        ),
    ),
    "a join of two that change": (
        "both",
        APPENDS,
        (
            "appending: by our reading new rows' output can be added, by Spark's rows come from"
            " clicks, orders"
        ),
    ),
    "rows of one table alone": (
        "rows",
        APPENDS_EACH,
        "appending: by our reading new rows' output can be added, by Spark's rows come from orders",
    ),
    "an outer join of two that change": (
        "full using",
        APPENDS_EACH,
        (
            "appending: by our reading new rows' output can be added, by Spark's Join is a join of"
            " kind FullOuter whose other side changes"
        ),
    ),
    "chance": (
        "chance",
        APPENDS,
        "the result: by our reading follows from the rows, by Spark's does not: Rand is chance",
    ),
    "the clock": (
        "clock",
        APPENDS,
        (
            "the result: by our reading follows from the rows, by Spark's does not:"
            " CurrentTimestamp asks the clock"
        ),
    ),
    "a set made a text": (
        "joined set",
        APPENDS,
        (
            "the result: by our reading follows from the rows, by Spark's does not: CollectSet"
            " gives its elements in any order, and is not shown as it is"
        ),
    ),
    "rows in no order": (
        "any three",
        by("ts", orders=(0, 0)),
        (
            "the result: by our reading follows from the rows, by Spark's does not: LIMIT or OFFSET"
            " takes rows in no order"
        ),
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_spark_does_not_confirm_is_told(wrong):
    name, plan, expected = WRONG[wrong]
    assert expected in told(plan, name)


def test_what_spark_confirms():
    assert told(by("ts", orders=(-10 * M, 0)), "frame") == []
    assert told(by("ts", orders=(-H, H)), "frame") == []  # wider than need be
    assert told(APPENDS, "static outer") == []
    assert told(NOTHING, "chance") == []  # nothing rests on it
    assert "CollectSet" not in " ".join(told(APPENDS, "sorted set"))


@pytest.mark.parametrize("name", ["above the average", "top three"])
def test_rows_that_look_at_other_groups(name):
    """The final query over its groups: a subquery, or a limit, looks at all of them."""
    keyed = {"usr": "usr"}
    assert [str(each) for each in grouped(keyed, "orders", recorded(name))] == [
        (
            "the groups that a change touches, told by usr: by our reading a row looks at its own"
            " group, by Spark's at other groups as well"
        )
    ]


def test_a_join_appends_what_each_tables_new_rows_make():
    both = [source for source in SOURCES if source.name in ("orders", "clicks")]
    assert differences(APPENDS_EACH, recorded("both"), both) == []
    (found,) = differences(APPENDS, recorded("both"), both)
    assert found.sparks == "rows come from clicks, orders"
    (found,) = differences(APPENDS_EACH, recorded("both"), SOURCES)  # days have no part in it
    assert found.fact == "appending"


def test_a_table_that_we_do_not_know_of():
    known = [source for source in SOURCES if source.name != "clicks"]
    found = differences(by("ts", orders=(0, 0)), recorded("exists"), known)
    assert [each.fact for each in found] == ["the tables"]


def test_each_query_is_read_at_all():
    for name in QUERIES:
        Reader({"orders": "ts", "clicks": "ts"}).read(recorded(name))


def test_links_find_the_narrowest_way():
    a, b, c = (Attribute(number) for number in range(3))
    links = Links()
    links.add(a, b, Span(0, 10))
    links.add(b, c, Span(-1, 1))
    links.add(a, c, Span(5, 20))
    assert links.between(a, c) == Span(5, 11)
    assert links.between(c, a) == Span(-11, -5)
    assert links.only({a, c}).between(a, c) == Span(5, 11)
    assert links.between(a, Attribute(9)) == Span(*ANY)


def test_links_that_contradict_each_other_end():
    a, b = Attribute(1), Attribute(2)
    links = Links()
    links.add(a, b, Span(1, 2))
    links.add(b, a, Span(1, 2))
    assert b in links.around(a)


@pytest.mark.parametrize(
    "origin", ["1970-01-01 00:00:00", "1969-12-31 14:00:00", "2024-05-01 06:00:00"]
)
def test_a_time_bucket_is_as_long_whatever_its_origin(origin):
    length = Tree("Literal", (), {"value": str(H), "dataType": "interval hour"})
    began = Tree("Literal", (), {"value": origin, "dataType": "timestamp"})
    rows = Tree("View", (Tree("LogicalRDD", (), {"output": (column(1),)}),), {"desc": "orders"})
    bucket = Tree("TimeBucket", (length, column(1), began), {})
    shown = Tree("Alias", (bucket,), {"exprId": 2, "name": "b"})
    source = Tree("Project", (rows,), {"projectList": (shown,)})
    assert Reader({"orders": "c1"}).read(source).span("orders", Attribute(2)) == Span(0, H - 1)


def test_steps_narrow_a_span():
    a, b = Attribute(1), Attribute(2)
    links = Links()
    links.add(a, b, Span(-H + 1, H - 1))
    for each in (a, b):
        links.step(each, H)
    assert links.between(a, b) == Span(0, 0)


def column_nodes(number: int, name: str = "t") -> list[dict[str, object]]:
    return [{"class": "a.AttributeReference", "num-children": 0, "name": name,
             "exprId": {"product-class": "a.ExprId", "id": number}}]  # fmt: skip


def constant_nodes(value: str) -> list[dict[str, object]]:
    return [{"class": "a.Literal", "num-children": 0, "value": value}]


def test_between_reads_the_columns_of_the_comparisons_that_stand_for_it():
    """Of a relation that is read twice, Spark numbers the columns of one again, in them alone."""
    written = {
        "input": column_nodes(1),
        "lower": column_nodes(3, "u"),
        "upper": constant_nodes("9"),
    }
    nodes = [
        {"class": "a.Between", "num-children": 1, "replacement": 0, **written},
        {"class": "a.And", "num-children": 2},
        {"class": "a.GreaterThanOrEqual", "num-children": 2},
        *column_nodes(7), *column_nodes(3, "u"),
        {"class": "a.LessThanOrEqual", "num-children": 2}, *column_nodes(7), *constant_nodes("9"),
    ]  # fmt: skip
    between = parsed(json.dumps(nodes))
    kept = [between.tree(name) for name in ("input", "lower")]
    assert [each.number for each in kept if each is not None] == [7, 3]


def test_an_average_over_a_window_of_groups_is_not_taken_for_that_of_a_state():
    over = {"class": "a.WindowExpression", "num-children": 1}
    average = {"class": "a.AggregateExpression", "num-children": 1, "isDistinct": False}
    project = {"class": "a.Project", "num-children": 0}
    alias = {"class": "a.Alias", "num-children": 1, "name": "m",
             "exprId": {"product-class": "a.ExprId", "id": 5}}  # fmt: skip
    inside = [average, {"class": "a.Average", "num-children": 1}, *column_nodes(1)]
    windowed = parsed(json.dumps([{**project, "projectList": [[alias, over, *inside]]}]))
    grouped_ = parsed(json.dumps([{**project, "projectList": [[alias, *inside]]}]))
    assert ingredients(windowed).shown == [{"Average over a window", "function WindowExpression"}]
    assert ingredients(grouped_).shown == [{"aggregate Average"}]
    assert not same_origin(ingredients(windowed).shown[0], ingredients(grouped_).shown[0])
    assert same_origin(ingredients(windowed).shown[0], ingredients(windowed).shown[0])


@pytest.mark.parametrize("kind", ["BitXorAgg", "CountIf", "Count", "Sum", "Average"])
def test_distinct_values_come_from_states_of_distinct_values(kind):
    wanted = frozenset({f"aggregate {kind} of distinct", "t.x"})
    assert same_origin(wanted, wanted)
    assert not same_origin(wanted, frozenset({f"aggregate {kind}", "t.x"}))


def test_an_average_of_groups_stands_above_what_makes_these():
    groups = frozenset({"aggregate Max", "t.x"})
    wanted = groups | {"aggregate Average of groups"}
    assert same_origin(wanted, wanted)
    assert not same_origin(wanted, groups | {"aggregate Average"})
    assert not same_origin(wanted, groups | {"aggregate Min of groups"})
    assert not same_origin(wanted, frozenset({"t.x", "aggregate Average of groups"}))
    assert not same_origin(groups, groups | {"aggregate Average of groups"})
    # A state holds rows of groups. The user's query has no such groups.
    assert same_origin(groups, frozenset({"aggregate Max of groups", "t.x"}))


def test_distinct_of_an_aggregate_that_is_not_known_is_no_states():
    wanted = frozenset({"aggregate Skewness of distinct", "t.x"})
    assert not same_origin(wanted, wanted)


def average_over(*tables: str) -> Tree:
    """Spark's plan of avg() over tables that are joined, the second one by EXISTS."""
    views = []
    for number, name in enumerate(tables):
        rows = Tree("LogicalRDD", (), {"output": (column(number),)})
        view = Tree("View", (rows,), {"desc": name})
        views.append(Tree("Project", (view,), {"projectList": (column(number),)}))
    below = views[0] if len(views) == 1 else Tree("Join", tuple(views), {"joinType": "LeftSemi"})
    average = Tree("Average", (column(0),), {})
    aggregate = Tree("AggregateExpression", (average,), {"isDistinct": False})
    shown = Tree("Alias", (aggregate,), {"exprId": 9, "name": "a"})
    return Tree("Aggregate", (below,), {"aggregateExpressions": (shown,)})


def test_an_average_of_rows_that_never_change_is_no_states():
    """TPC-DS 35: customers, where sales exist."""
    asked = average_over("customers", "sales")
    (static,) = ingredients(asked, (), {"sales"}).shown
    assert static == {"Average over static rows", "customers.c0"}
    assert same_origin(static, static)
    (changing,) = ingredients(average_over("sales"), (), {"sales"}).shown
    assert changing == {"aggregate Average", "sales.c0"}
    assert not same_origin(changing, changing)
    assert not same_origin(changing, static)


def test_a_tree_that_ends_early_is_refused():
    with pytest.raises(ValueError, match="the tree ends too early"):
        parsed('[{"class": "a.Project", "num-children": 1}]')


def test_with_queries_that_grow_beyond_measure_are_refused(monkeypatch):
    monkeypatch.setattr(plans, "_MOST_NODES", 2_000)
    plan = Tree("OneRowRelation", (), {})
    definitions = [Tree("CTERelationDef", (plan,), {"id": 0})]
    for number in range(1, 40):
        twice = tuple(
            Tree("CTERelationRef", (), {"cteId": number - 1, "output": ()}) for _ in range(2)
        )
        definitions.append(Tree("CTERelationDef", (Tree("Union", twice, {}),), {"id": number}))
    last = Tree("CTERelationRef", (), {"cteId": 39, "output": ()})
    with pytest.raises(ValueError, match="WITH queries that are read many times over"):
        simplified(Tree("WithCTE", (last, *definitions), {"plan": 0}))


def column(number: int) -> Tree:
    return Tree("AttributeReference", (), {"exprId": number, "name": f"c{number}"})


def test_grouping_sets_that_spark_leaves_out_bound_nothing_and_come_from_their_columns_below():
    """Spark writes null for the projections of some plans (TPC-DS 77)."""
    rows = Tree("LogicalRDD", (), {"output": (column(1), column(2))})
    source = Tree("View", (rows,), {"desc": "orders"})
    source = Tree("Project", (source,), {"projectList": (column(1), column(2))})
    sets = Tree("Expand", (source,), {"projections": None, "output": (column(1), column(3))})
    relation = Reader({"orders": "c1"}).read(sets)
    assert relation.columns == (Attribute(1), Attribute(3))
    assert relation.span("orders", Attribute(1)) == Span(*ANY)
    assert ingredients(sets).shown == [frozenset({"orders.c1"}), frozenset()]


def test_an_order_by_what_is_not_shown_is_told_by_its_columns():
    """Spark sorts below the projection that leaves the columns out (TPC-DS 4)."""
    rows = Tree("LogicalRDD", (), {"output": (column(1), column(2))})
    source = Tree("View", (rows,), {"desc": "orders"})
    source = Tree("Project", (source,), {"projectList": (column(1), column(2))})
    key = Tree("SortOrder", (column(2),), {"direction": "Ascending"})
    ordered = Tree("Sort", (source,), {"order": (key,)})
    shown = Tree("Project", (ordered,), {"projectList": (column(1),)})
    limit = Tree("GlobalLimit", (shown,), {"limitExpr": Tree("Literal", (), {"value": "100"})})
    assert ingredients(limit).parts == {"GlobalLimit 100 of rows by orders.c2 Ascending"}


def test_a_constant_that_is_cast_is_that_constant():
    """DATE '2026-01-01' is written as a cast, so that a calendar by SEQUENCE was another one."""
    date, text = (
        Tree("Literal", (), {"value": "2026-01-01", "dataType": kind})
        for kind in ("date", "string")
    )
    made = []
    for each in (date, Tree("Cast", (text,), {"dataType": "date"})):
        days = Tree("Sequence", (each, column(1)), {})
        shown = Tree("Alias", (days,), {"exprId": 2, "name": "days"})
        rows = Tree("LogicalRDD", (), {"output": (column(1),)})
        view = Tree("View", (rows,), {"desc": "orders"})
        made.append(ingredients(Tree("Project", (view,), {"projectList": (shown,)})))
    assert made[0] == made[1]
    assert "function Sequence a time" in made[0].shown[0]


def test_a_comma_before_lateral_is_a_cross_join():
    """To Spark `FROM t, LATERAL inline(x)` is an inner join; it is written as CROSS JOIN."""
    rows = Tree("View", (Tree("LogicalRDD", (), {"output": ()}),), {"desc": "orders"})
    kinds = ("Inner", "Cross", "LeftOuter")
    parts = [ingredients(Tree("LateralJoin", (rows,), {"joinType": each})).parts for each in kinds]
    assert parts[0] == parts[1] == {"Inner lateral join"}
    assert parts[2] == {"LeftOuter lateral join"}


def test_a_case_within_a_case_is_read_once():
    """Spark writes the parts of CASE twice, as children and as branches (TPC-DS 9)."""

    def literal(value: str) -> dict[str, object]:
        return {"class": "x.Literal", "num-children": 0, "value": value}

    def case(depth: int) -> list[dict[str, object]]:
        if not depth:
            return [literal("1")]
        inner = case(depth - 1)
        pair = {"product-class": "scala.Tuple2", "_1": [literal("true")], "_2": inner}
        node = {"class": "x.CaseWhen", "num-children": 3, "branches": [pair]}
        return [{**node, "elseValue": inner}, literal("true"), *inner, *inner]

    plan = parsed(json.dumps(case(6)))
    assert sum(1 for _ in plan.walk()) == 2**7 - 1 + 2**6 - 1


def test_a_row_without_a_value_passes_neither_not_in_nor_not_between():
    def without(kind: str, *children: Tree, **fields: Tree) -> set[int]:
        return not_null(Tree("Not", (Tree(kind, children, fields),), {}))

    value, other = column(1), column(2)
    assert without("In", value, other) == {1}
    assert without("Between", input=value, lower=other, upper=other) == {1}
    assert without("InSubquery", value) == set()  # where it has no rows it is true
    assert without("EqualNullSafe", value, other) == set()


@pytest.mark.parametrize("kind", ["And", "Or"])
def test_and_and_or_have_a_value_though_one_side_has_none(kind):
    """NULL AND FALSE is FALSE, and NULL OR TRUE is TRUE."""
    both = Tree(kind, (column(1), column(2)), {})
    assert not_null(Tree("IsNotNull", (both,), {})) == set()
    assert not_null(Tree("EqualTo", (both, column(3)), {})) == {3}


def test_a_column_of_the_query_around_that_a_subquery_shows_is_one_of_its_own():
    """Spark gives it no name within the subquery; its number is that of the query around."""
    held = {"class": "x.AttributeReference", "num-children": 0, "name": "c", "exprId": {"id": 7}}
    shown = [{"class": "x.OuterReference", "num-children": 0, "e": [held]}]
    project = {"class": "x.Project", "num-children": 1, "projectList": [shown]}
    plan = parsed(json.dumps([project, {"class": "x.OneRowRelation", "num-children": 0}]))
    (own,) = output(plan)
    assert (own.kind, own.number, own.children[0].kind) == ("Alias", 7, "OuterReference")
