"""Random queries of a small grammar over random batches: merged equals at once.

And a rule that is broken on purpose is noticed, so the comparison can fail.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.sql.query.records import Reason, Source
from freshline.sql.states import aggregates
from tests.unit.sql.merging import Merging

_COLUMNS = {
    "id": "bigint", "g": "string", "h": "int", "day": "date", "x": "int",
    "d": "decimal(9,2)", "f": "double",
}  # fmt: skip
SOURCES = [
    Source("s", _COLUMNS, batch_key=("id",)),
    Source("t", {"tid": "bigint", "k": "string", "y": "int"}, batch_key=("tid",)),
    Source("r", {"g": "string", "w": "int"}, static=True),
]
WITHOUT_KEYS = [replace(source, batch_key=()) for source in SOURCES]
BATCHES = 3

_MEASURES = [
    "count(*)", "count({})", "sum({})", "min({})", "max({})", "avg({})", "count(DISTINCT {})",
    "sum(DISTINCT {})", "var_pop({})", "stddev({})", "count({}) FILTER (WHERE h > 0)",
    "sum({}) FILTER (WHERE s.g = 'a')", "bit_xor(x)", "max_by(id, id)", "sum({} + 1)",
]  # fmt: skip
_JOINS = {
    "s": "", "s JOIN t ON s.id = t.tid": "y", "s LEFT JOIN t ON s.id = t.tid": "y",
    "s JOIN r ON s.g = r.g": "w", "s LEFT JOIN r ON s.g = r.g": "w",
    "r LEFT JOIN s ON s.g = r.g": "w", "s JOIN t ON s.g = t.k": "y",
    "r LEFT JOIN s ON s.g = r.g AND s.x > 0": "w",
    "s RIGHT JOIN t ON s.g = t.k": "y", "s FULL JOIN t ON s.g = t.k AND s.h >= t.y": "y",
    "s LEFT JOIN t ON s.g = t.k AND t.y > 0": "y",
    "s LEFT JOIN t ON s.g = t.k": "y", "s LEFT JOIN t ON s.g = t.k LEFT JOIN r ON r.w = t.y": "y",
}  # fmt: skip
_CONDITIONS = [
    "x > 0", "s.g IS NOT NULL", "d * 2 < f", "day = DATE '2026-01-02'",
    "x < (SELECT avg(x) FROM s)", "EXISTS (SELECT 1 FROM t WHERE t.tid = s.id)",
    "s.g IN (SELECT k FROM t)", "NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.g AND t.y > s.x)",
    "x = (SELECT max(x) FROM s AS o WHERE o.g = s.g)",
]  # fmt: skip
_OF_THE_OTHER_SIDE = [
    "t.y > 0", "t.k IN ('a', 'b')", "t.tid + t.y >= 0", "t.y IS NOT NULL", "NOT (t.y = 1)",
    "t.y IS NULL", "coalesce(t.y, 0) = 0", "t.y <=> NULL", "t.k NOT IN (SELECT g FROM r)",
    "(t.y > 0 OR s.x > 0)", "t.y BETWEEN 0 AND 2", "CAST(t.y AS STRING) LIKE '%1%'",
]  # fmt: skip
"""Some drop the rows that an outer join adds, others do not."""
_KEYS = ["s.g", "h", "day", "x % 2", "upper(s.g)", "coalesce(h, 9)"]


@st.composite
def queries(draw: st.DrawFn) -> str:
    """One aggregate, perhaps with an aggregate above."""
    source = draw(st.sampled_from(sorted(_JOINS)))
    numbers = ["x", "d", "h", *([_JOINS[source]] if _JOINS[source] else [])]
    if not source.startswith("r "):
        numbers.append("f")
    number = st.sampled_from(numbers)
    measures = [
        template.format(draw(number))
        for template in draw(st.lists(st.sampled_from(_MEASURES), min_size=1, max_size=3))
    ]
    if source.startswith("r "):  # a weighted variance is refused
        measures = [m for m in measures if not m.startswith(("var", "std", "bit"))] or ["count(*)"]
    keys = draw(st.lists(st.sampled_from(_KEYS), max_size=2, unique=True))
    outputs = [f"{key} AS k{at}" for at, key in enumerate(keys)]
    outputs += [f"{measure} AS m{at}" for at, measure in enumerate(measures)]
    conditions = draw(st.lists(st.sampled_from(_CONDITIONS), max_size=2, unique=True))
    if "JOIN t" in source:
        conditions += draw(st.lists(st.sampled_from(_OF_THE_OTHER_SIDE), max_size=2, unique=True))
    text = f"SELECT {', '.join(outputs)} FROM {source}"
    if conditions:
        text += f" WHERE {' AND '.join(conditions)}"
    if keys:
        form = draw(st.sampled_from(["{}", "{}", "ROLLUP({})", "CUBE({})"]))
        text += f" GROUP BY {form.format(', '.join(keys))}"
        if draw(st.booleans()):
            text += " HAVING count(*) > 1"
    if draw(st.integers(0, 3)) == 0:
        text = f"SELECT count(*) AS n, max(m0) AS m FROM ({text}) AS below"
    return text


_small = st.integers(-2, 3)
_maybe = st.none() | _small
_group = st.sampled_from([None, "a", "b", "A"])
_maybe_float = st.none() | st.floats(-4, 4).map(lambda number: round(number, 3))
_rows = st.tuples(
    _group, _maybe, st.none() | st.dates(date(2026, 1, 1), date(2026, 1, 3)), _maybe,
    st.none() | st.decimals(-9, 9, places=2), _maybe_float,
    st.integers(0, BATCHES - 1),
)  # fmt: skip


@pytest.fixture(scope="module")
def database():
    return Merging(SOURCES, BATCHES)


@pytest.mark.slow
@settings(max_examples=80)
@given(
    query=queries(),
    rows=st.lists(_rows, max_size=14),
    others=st.lists(st.tuples(st.integers(0, 13), _group, _maybe), max_size=8),
    seed=st.integers(0, 99),
    keyed=st.booleans(),
    keeps=st.booleans(),
)
def test_merged_equals_at_once(database, query, rows, others, seed, keyed, keeps):
    database.sources = SOURCES if keyed else WITHOUT_KEYS
    database.keeps_rows = keeps
    batch_of = {at: row[-1] for at, row in enumerate(rows)}
    database.load(
        {
            "s": [(at, *row) for at, row in enumerate(rows)],
            "t": [(*row, batch_of.get(row[0], row[0] % BATCHES)) for row in others],
            "r": [("a", 1), ("a", 2), ("b", None), ("c", 3), (None, 4)],
        }
    )
    if not keyed or "ON s.g = t.k" in query:
        cut = database.cut(query)
        if isinstance(cut, Reason):
            assert cut.code == "JOIN_ACROSS_BATCHES"
            return
    database.check(query, random.Random(seed))


ROWS = [
    (0, "a", 1, date(2026, 1, 1), 1, Decimal("1.10"), 1.5, 0),
    (1, "a", 2, date(2026, 1, 1), 5, Decimal("2.20"), 9.5, 0),
    (2, "a", 2, date(2026, 1, 2), 5, Decimal("3.30"), 2.5, 1),
    (3, None, None, None, 7, None, None, 1),
    (4, None, 3, None, 1, Decimal("4.40"), -2.5, 2),
]


@pytest.fixture
def small():
    merging = Merging(SOURCES, BATCHES)
    merging.load({"s": ROWS, "t": [], "r": []})
    return merging


def test_values_that_are_all_one_have_no_deviation(small):
    """A tenth three times is 0.30000000000000004, of which a third is not a tenth."""
    rows = [
        (at, g, None, None, None, None, value, batch)
        for at, (g, value, batch) in enumerate(
            (g, value, batch)
            for g, value in (("a", 0.1), ("b", 1.1), ("c", 19.99))
            for batch, times in enumerate((3, 1, 6))
            for _ in range(times)
        )
    ]
    small.load({"s": rows, "t": [], "r": []})
    cut = small.check("SELECT g, stddev(f), var_pop(f), count(*) FROM s GROUP BY g")
    assert sorted(small.merged(cut)) == [(g, 0.0, 0.0, 10) for g in "abc"]


def _breaking(monkeypatch, name, rule):
    original = aggregates.rule_of
    monkeypatch.setattr(
        "freshline.sql.states.merged_block.rule_of",
        lambda call, kind, sums=(): rule(call) if call.name == name else original(call, kind, sums),
    )


def _plain(state, merge):
    return aggregates.Rule((), (aggregates.State(state, merge),), lambda _, merged, __: merged[0])


@pytest.mark.parametrize(
    ("name", "query", "merge"),
    [
        ("count", "SELECT g, count(*) FROM s GROUP BY g", "max"),
        ("sum", "SELECT g, sum(x) FROM s GROUP BY g", "max"),
        ("min", "SELECT min(x) FROM s", "max"),
        ("avg", "SELECT g, avg(x) FROM s GROUP BY g", "avg"),  # averages of averages
        ("var_pop", "SELECT var_pop(f) FROM s", "avg"),
        ("bit_xor", "SELECT bit_xor(x) FROM s", "bit_and"),
    ],
)
def test_a_state_that_does_not_merge_is_noticed(small, monkeypatch, name, query, merge):
    small.check(query)
    build = aggregates._function
    _breaking(
        monkeypatch, name, lambda call: _plain(call.node, lambda column: build(merge, column))
    )
    with pytest.raises(AssertionError, match="merged"):
        small.check(query)


def test_a_distinct_count_added_over_batches_is_noticed(small, monkeypatch):
    query = "SELECT g, count(DISTINCT x) FROM s GROUP BY g"
    small.check(query)
    build = aggregates._function
    _breaking(monkeypatch, "count", lambda call: _plain(call.node, lambda c: build("sum", c)))
    with pytest.raises(AssertionError, match="merged"):
        small.check(query)


def test_a_batch_key_that_is_not_kept_is_noticed(small):
    """Rows of one key in two batches: the promise is the source's, and it matters."""
    small.load({"s": ROWS, "t": [(0, "a", 1, 1), (1, "b", 2, 0)], "r": []})
    with pytest.raises(AssertionError, match="merged"):
        small.check("SELECT count(*) FROM s JOIN t ON s.id = t.tid")
