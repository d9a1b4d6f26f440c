"""DuckDB as the judge of keys: views of a grammar over small tables full of NULLs.

The law is restriction: the query over the rows of one key alone, and every row of the static
tables, gives this key's rows exactly as the query over everything does. Touch follows: where two
states agree on a key's rows, the restriction of both is the same, and so are this key's rows.
"""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal

import duckdb
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from freshline.sql.buckets.keys import keys
from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Keys
from tests.support.key_grammar import view
from tests.support.key_values import SOURCES

pytestmark = pytest.mark.slow

_TYPES = {"string": "VARCHAR"}
_KEY_TYPES = ("VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DECIMAL")
_BIG = 2**53  # as a double it equals the integer after it
_EMPTY = {source.name: () for source in SOURCES}


def _value(name, kind, chance, size, big):
    if chance.random() < 0.25:
        return None
    at = chance.randrange(size)
    if kind == "string":
        return ("1", "01", "2")[at] if name in {"code", "page"} else "abA"[at]
    if kind == "boolean":
        return at > 0
    if kind == "double":
        return float(_BIG) if big and at else (1.0, 2.0, 1.5)[at]
    if kind == "bigint" and big:
        return (_BIG, _BIG + 1, 1)[at]
    if kind.startswith("decimal"):
        return Decimal(("1", "2", "1.5")[at])
    return (1, 2, 3)[at]


def a_state(chance):
    """Rows of every source: few values, many NULLs, some rows twice."""
    size, big = chance.choice((2, 2, 3)), chance.random() < 0.1
    rows = {}
    for source in SOURCES:
        made: list[tuple[object, ...]] = []
        for _ in range(chance.randrange(0, 6)):
            if made and chance.random() < 0.15:
                made.append(chance.choice(made))
                continue
            columns = source.columns.items()
            made.append(tuple(_value(name, kind, chance, size, big) for name, kind in columns))
        rows[source.name] = tuple(made)
    return rows


def _literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"'{value}'"
    return str(value)


def _same(one, other):
    """Whether two values are not distinct, whatever the widths of their types."""
    if isinstance(one, str) != isinstance(other, str) and None not in {one, other}:
        number, text = (other, one) if isinstance(one, str) else (one, other)
        return text in {"1", "01", "2"} and Decimal(text) == number
    return one == other


class Judge:
    """Runs DuckDB's text of a view over many states, loaded at once."""

    def __init__(self):
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute("PRAGMA disable_optimizer")  # planning would be most of the work
        self.connection.execute("SET default_null_order = 'nulls_first'")
        for source in SOURCES:
            columns = ", ".join(
                f"{name} {_TYPES.get(kind, kind)}" for name, kind in source.columns.items()
            )
            self.connection.execute(f"CREATE TABLE s_{source.name} (world INTEGER, {columns})")
            self.connection.execute(
                f"CREATE VIEW t_{source.name} AS SELECT {', '.join(source.columns)} FROM "
                f"s_{source.name} WHERE world = getvariable('world')::INTEGER"
            )
            self.connection.execute(f"CREATE VIEW {source.name} AS FROM t_{source.name}")

    def load(self, states):
        for source in SOURCES:
            self.connection.execute(f"DELETE FROM s_{source.name}")
            rows = [
                f"({at}, {', '.join(map(_literal, row))})"
                for at, state in enumerate(states)
                for row in state[source.name]
            ]
            if rows:
                self.connection.execute(f"INSERT INTO s_{source.name} VALUES {', '.join(rows)}")

    def run(self, text, at=0):
        """The output over the state at this place: rows as a list, and columns with types."""
        self.connection.execute(f"SET VARIABLE world = {at}")
        cursor = self.connection.execute(text)
        columns = [(column[0].lower(), str(column[1])) for column in cursor.description]
        return cursor.fetchall(), columns

    def outputs(self, text, states):
        self.load(states)
        return [self.run(text, at)[0] for at in range(len(states))]


def restricted(found, state, key):
    """The rows of one key, and all static rows."""
    kept = {}
    for source in SOURCES:
        if source.static:
            kept[source.name] = state[source.name]
            continue
        columns = list(source.columns)
        places = [columns.index(column) for column in found.reads.get(source.name, ())]
        kept[source.name] = tuple(
            row
            for row in state[source.name]
            if places and all(_same(row[p], v) for p, v in zip(places, key, strict=True))
        )
    return kept


def _of(rows, places, key):
    return Counter(
        repr(row) for row in rows if all(_same(row[p], v) for p, v in zip(places, key, strict=True))
    )


def violation(judge, query, found, chance, count):
    """The state, key and rows with which a claim is broken, or None."""
    judge.load([_EMPTY])
    empty, columns = judge.run(query)
    names = [name for name, _ in columns]
    if not found.columns or not set(found.columns) <= set(names):
        return f"no such columns: {found.columns}"
    places = [names.index(column) for column in found.columns]
    for place in places:
        if not columns[place][1].startswith(_KEY_TYPES):
            return f"{columns[place]} is no type of a key"
    states = [a_state(chance) for _ in range(count)]
    whole = judge.outputs(query, states)
    asked = []
    for state, rows in zip(states, whole, strict=True):
        there = {tuple(row[p] for p in places) for row in (*rows, *empty)}
        for name, read in found.reads.items():
            source = next(source for source in SOURCES if source.name == name)
            at = [list(source.columns).index(column) for column in read]
            there |= {tuple(row[p] for p in at) for row in state[name]}
        asked += [(state, rows, key) for key in sorted(there, key=repr)]
    parts = [restricted(found, state, key) for state, _, key in asked]
    distinct = list({repr(part): part for part in parts}.values())
    outputs = dict(zip(map(repr, distinct), judge.outputs(query, distinct), strict=True))
    for (state, rows, key), part in zip(asked, parts, strict=True):
        wanted, got = _of(rows, places, key), _of(outputs[repr(part)], places, key)
        if wanted != got:
            return state, key, wanted, got
    return None


@pytest.fixture(scope="module")
def judge():
    return Judge()


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_a_key_that_is_claimed_holds_its_rows_together(judge, seed):
    chance = random.Random(seed)
    for _ in range(3):  # of which one or so has a key
        written = view(chance)
        found = keys(written.spark, SOURCES)
        event("claimed" if isinstance(found, Keys) else found.code)
        if isinstance(found, Keys):
            assert violation(judge, written.duck, found, chance, 6) is None, (written, found)


ORDINARY = {
    "rows": "SELECT usr, id, amount + 1 AS more FROM orders WHERE amount > 1",
    "newest row of each": "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY usr ORDER BY "
    "id DESC, shop, amount, name) AS rn FROM orders) WHERE rn = 1",
    "newest by QUALIFY": "SELECT usr, id, name FROM orders QUALIFY row_number() OVER (PARTITION BY "
    "usr ORDER BY id DESC, name) = 1",
    "newest by a subquery": "SELECT usr, name FROM orders o WHERE id = (SELECT max(id) FROM orders "
    "p WHERE p.usr = o.usr)",
    "rank in a partition": "SELECT usr, shop, rank() OVER (PARTITION BY usr ORDER BY amount) AS r "
    "FROM orders",
    "share of the sum": "SELECT usr, shop, amount / sum(amount) OVER (PARTITION BY usr) AS part "
    "FROM orders",
    "semi join": "SELECT o.usr, o.id FROM orders o LEFT SEMI JOIN clicks c ON o.usr = c.usr",
    "anti join": "SELECT o.usr, o.id FROM orders o LEFT ANTI JOIN clicks c ON o.usr = c.usr",
    "IN": "SELECT usr, id FROM orders WHERE usr IN (SELECT usr FROM clicks WHERE n > 1)",
    "NOT EXISTS": "SELECT usr, id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM clicks c WHERE "
    "c.usr = o.usr AND c.n > o.amount)",
    "NOT IN of the key's rows": "SELECT usr, id FROM orders o WHERE id NOT IN (SELECT id FROM "
    "clicks c WHERE c.usr = o.usr)",
    "join": "SELECT o.usr, o.id, c.n FROM orders o JOIN clicks c ON c.usr = o.usr AND c.n < o.id",
    "comma join": "SELECT o.usr, o.id, c.n FROM orders o, clicks c WHERE c.usr = o.usr",
    "left join": "SELECT o.usr, o.id, c.n FROM orders o LEFT JOIN clicks c ON c.usr = o.usr",
    "left join without partner": "SELECT o.usr, o.id FROM orders o LEFT JOIN clicks c ON c.usr = "
    "o.usr WHERE c.usr IS NULL",
    "right join": "SELECT c.usr, o.id, c.n FROM orders o RIGHT JOIN clicks c ON c.usr = o.usr",
    "full join": "SELECT usr, o.id, c.n FROM orders o FULL JOIN clicks c USING (usr)",
    "full join, coalesced": "SELECT coalesce(o.usr, c.usr) AS usr, o.id, c.n FROM orders o FULL "
    "JOIN clicks c ON o.usr = c.usr",
    "self join": "SELECT a.usr, a.id, b.id AS later FROM orders a LEFT JOIN orders b ON a.usr = "
    "b.usr AND a.id < b.id",
    "through a static table": "SELECT o.usr, u.name, c.n FROM orders o JOIN users u ON o.usr = "
    "u.usr JOIN clicks c ON c.usr = u.usr",
    "static table keeps its rows": "SELECT u.usr, count(o.id) AS n FROM users u LEFT JOIN orders o "
    "ON u.usr = o.usr GROUP BY u.usr",
    "percentile": "SELECT usr, percentile(amount, 0.5) AS p FROM orders GROUP BY usr",
    "groups of the key and more": "SELECT usr, shop, count(DISTINCT name) AS n FROM orders GROUP "
    "BY 1, 2",
    "having": "SELECT usr, percentile(amount, 0.5) AS p FROM orders GROUP BY usr HAVING count(*) > "
    "1",
    "groups of two tables": "SELECT o.usr, o.n, c.n AS m FROM (SELECT usr, count(*) AS n FROM "
    "orders GROUP BY usr) o JOIN (SELECT usr, max(n) AS n FROM clicks GROUP BY usr) c ON o.usr = "
    "c.usr",
    "distinct": "SELECT DISTINCT usr, name FROM clicks",
    "union": "SELECT usr, id FROM orders UNION SELECT usr, id FROM clicks",
    "union all, grouped": "SELECT usr, percentile(v, 0.5) AS p FROM (SELECT usr, amount AS v FROM "
    "orders UNION ALL SELECT usr, n FROM clicks) GROUP BY usr",
    "except": "SELECT usr, id FROM orders EXCEPT SELECT usr, id FROM clicks",
    "intersect": "SELECT usr FROM orders INTERSECT SELECT usr FROM clicks",
    "scalar subquery": "SELECT usr, id, (SELECT count(*) FROM clicks c WHERE c.usr = o.usr) AS n "
    "FROM orders o",
    "with queries": "WITH last AS (SELECT usr, max(id) AS id FROM orders GROUP BY usr), seen AS "
    "(SELECT DISTINCT usr FROM clicks) SELECT l.usr, l.id FROM last l JOIN seen s ON s.usr = l.usr",
}  # fmt: skip


def _in_duckdb(query):
    return normalise(query, SOURCES).sql(dialect="duckdb")


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_views_have_a_key_and_it_holds(judge, name):
    query = ORDINARY[name]
    found = keys(query, SOURCES)
    assert isinstance(found, Keys), found
    assert "usr" in found.columns
    assert violation(judge, _in_duckdb(query), found, random.Random(name), 4) is None


def _wrong(found):
    """The same claim, but that one source is read by the rows of another column."""
    for name, read in found.reads.items():
        source = next(source for source in SOURCES if source.name == name)
        for column, kind in source.columns.items():
            if kind == "int" and column not in read:
                yield Keys(found.columns, {**found.reads, name: (column, *read[1:])})
    yield Keys(found.columns, dict(list(found.reads.items())[1:]))


@pytest.mark.parametrize("name", ORDINARY)
def test_a_false_claim_is_noticed(judge, name):
    query = ORDINARY[name]
    found = keys(query, SOURCES)
    assert isinstance(found, Keys)
    for wrong in _wrong(found):
        chance = random.Random(name)
        text = _in_duckdb(query)
        assert any(violation(judge, text, wrong, chance, 3) for _ in range(30)), wrong


NO_KEY = {
    "share of everything": "SELECT usr, amount / sum(amount) OVER () AS part FROM orders",
    "rank of everything": "SELECT usr, rank() OVER (ORDER BY amount) AS r FROM orders",
    "another partition": "SELECT usr, count(*) OVER (PARTITION BY shop) AS n FROM orders",
    "alias of the partition": "SELECT shop AS usr, count(*) OVER (PARTITION BY o.usr) AS n FROM "
    "orders o",
    "greatest of another group": "SELECT max(usr) AS usr, count(*) AS n FROM orders GROUP BY shop",
    "the side that may be missing": "SELECT c.usr, o.id FROM orders o LEFT JOIN clicks c ON o.usr "
    "= c.usr",
    "NOT IN": "SELECT usr, id FROM orders WHERE usr NOT IN (SELECT usr FROM clicks)",
    "average of all": "SELECT usr, id FROM orders WHERE amount > (SELECT avg(p.amount) FROM orders "
    "p)",
    "self join by another column": "SELECT a.usr, b.id FROM orders a JOIN orders b ON a.usr = "
    "b.shop",
    "join of an OR": "SELECT a.usr, b.id FROM orders a JOIN clicks b ON a.usr = b.usr OR b.id = 1",
    "coalesced, but missing before": "SELECT coalesce(c.usr, p.usr) AS usr, o.id FROM orders o "
    "LEFT JOIN clicks c ON o.usr = c.usr FULL JOIN orders p ON c.usr = p.usr",
    "three in a chain of full joins": "SELECT coalesce(c.usr, p.usr) AS usr, o.id FROM orders o "
    "FULL JOIN clicks c ON o.usr = c.usr FULL JOIN orders p ON c.usr = p.usr",
    "coalesced, but missing beside a static table": "SELECT coalesce(c.usr, o.usr) AS usr, p.a "
    "FROM pairs p LEFT JOIN clicks c ON p.b = c.id FULL JOIN orders o ON c.usr = o.usr",
    "a full join that may be missing": "SELECT coalesce(o.usr, c.usr) AS usr, p.a FROM orders o "
    "FULL JOIN clicks c ON o.usr = c.usr RIGHT JOIN pairs p ON o.id = p.a",
    "a full join in brackets that may be missing": "SELECT coalesce(o.usr, c.usr) AS usr, p.a FROM "
    "pairs p LEFT JOIN (orders o FULL JOIN clicks c ON o.usr = c.usr) ON o.usr = p.a",
    "rollup": "SELECT usr, count(*) AS n FROM orders GROUP BY ROLLUP (usr)",
    "columns exchanged": "SELECT usr FROM orders EXCEPT SELECT id AS usr FROM orders",
    "limit": "SELECT usr, id FROM (SELECT usr, id FROM orders ORDER BY usr, id LIMIT 2) t",
}


@pytest.mark.parametrize("name", NO_KEY)
def test_a_view_without_the_key_has_none_and_the_judge_says_so(judge, name):
    query = NO_KEY[name]
    found = keys(query, SOURCES)
    assert not isinstance(found, Keys) or "usr" not in found.columns
    claim = Keys(("usr",), {s.name: ("usr",) for s in SOURCES if not s.static})
    text = _in_duckdb(query)
    chance = random.Random(name)
    assert any(violation(judge, text, claim, chance, 3) for _ in range(60))
