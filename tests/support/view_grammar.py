"""A small grammar of views over orders and clicks, for Hypothesis.

Rows of one stream, with a static table, of both streams in a band, of one where the other has
or has no row, or of both in turn; shown as they are, in buckets, in trailing frames, or in
buckets of buckets. The time column is always called ``t``.
"""

from __future__ import annotations

from hypothesis import strategies as st

_MINUTES = st.sampled_from((0, 5, 10, 30, 60, 90, 1440))
_BUCKETS = (
    "date_trunc('hour', {0})",
    "date_trunc('MINUTE', {0})",
    "date_trunc('DAY', {0})",
    "CAST({0} AS DATE)",
    "date_trunc('hour', {0} + INTERVAL 30 MINUTES)",
    "{0} - INTERVAL 10 MINUTES",
)
_AGGREGATES = (
    "count(*)", "sum(o.amount)", "count(o.usr)", "min(o.id)", "max(o.amount)", "avg(o.amount)",
    "count(DISTINCT o.usr)", "sum(o.amount) FILTER (WHERE o.usr > 1)",
    "max(o.ts)", "sum(o.amount) + count(*)",
)  # fmt: skip
_CONDITIONS = ("o.amount > 1", "o.usr IS NOT NULL", "o.ts IS NOT NULL", "o.usr + o.amount < 6")
_HAVINGS = ("count(*) > 1", "max(o.amount) IS NOT NULL", "sum(o.usr) < 5")


@st.composite
def _bands(draw: st.DrawFn) -> str:
    lower, upper = draw(_MINUTES), draw(_MINUTES)
    band = f"c.ts BETWEEN o.ts - INTERVAL {lower} MINUTES AND o.ts + INTERVAL {upper} MINUTES"
    strict = draw(st.booleans())
    if strict:
        band = f"c.ts > o.ts - INTERVAL {lower + 5} MINUTES AND c.ts <= o.ts"
    return band + draw(st.sampled_from(("", " AND c.usr = o.usr")))


@st.composite
def _rows(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A FROM clause in which ``o`` has ts, id, usr and amount, and what WHERE must say."""
    kind = draw(st.sampled_from(("stream", "static", "band", "left", "exists", "not", "union")))
    if kind == "stream":
        return "orders o", []
    if kind == "static":
        side = draw(st.sampled_from(("JOIN", "LEFT JOIN")))
        return f"orders o {side} users u ON o.usr = u.usr", []
    if kind == "union":
        shift = draw(_MINUTES)
        both = (
            "SELECT ts, id, usr, amount FROM orders UNION ALL"
            f" SELECT ts + INTERVAL {shift} MINUTES, id, usr, n FROM clicks"
        )
        return f"({both}) o", []
    band = draw(_bands())
    if kind in ("band", "left"):
        return f"orders o {'LEFT ' * (kind == 'left')}JOIN clicks c ON {band}", []
    word = "NOT EXISTS" if kind == "not" else "EXISTS"
    return "orders o", [f"{word} (SELECT 1 FROM clicks c WHERE {band})"]


@st.composite
def views(draw: st.DrawFn) -> str:
    """A view's query."""
    rows, conditions = draw(_rows())
    conditions += draw(st.lists(st.sampled_from(_CONDITIONS), max_size=1))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    shape = draw(st.sampled_from(("rows", "buckets", "buckets", "frame", "twice")))
    if shape == "rows":
        shift = draw(_MINUTES)
        return f"SELECT o.ts + INTERVAL {shift} MINUTES AS t, o.id, o.usr FROM {rows}{where}"
    if shape == "frame":
        by = draw(st.sampled_from(("", "PARTITION BY o.usr ")))
        length = draw(_MINUTES)
        return (
            f"SELECT o.ts AS t, o.id, count(o.amount) OVER ({by}ORDER BY o.ts RANGE BETWEEN"
            f" INTERVAL {length} MINUTES PRECEDING AND CURRENT ROW) AS n FROM {rows}{where}"
        )
    keys = [draw(st.sampled_from(_BUCKETS)).format("o.ts")]
    keys += draw(st.lists(st.sampled_from(("o.usr", "o.amount % 2")), max_size=1))
    outputs = [f"{key} AS {'t' if not at else f'k{at}'}" for at, key in enumerate(keys)]
    chosen = draw(st.lists(st.sampled_from(_AGGREGATES), min_size=1, max_size=3, unique=True))
    outputs += [f"{aggregate} AS m{at}" for at, aggregate in enumerate(chosen)]
    query = f"SELECT {', '.join(outputs)} FROM {rows}{where} GROUP BY {', '.join(keys)}"
    if draw(st.booleans()):
        query += f" HAVING {draw(st.sampled_from(_HAVINGS))}"
    if shape == "twice":
        query = (
            "SELECT date_trunc('DAY', t) AS t, count(*) AS n, max(m0) AS m FROM"
            f" ({query}) GROUP BY date_trunc('DAY', t)"
        )
    return query
