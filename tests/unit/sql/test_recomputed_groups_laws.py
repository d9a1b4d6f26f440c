"""Group-recompute's law: groups of which no changed row is are as they were, whatever changed.

Rows are deleted, updated and inserted at once, in both streams. The first half of a query's
decomposition, over the rows that changed, must tell every group whose output differs; and the
state kept up for these groups alone must be that of all rows. DuckDB judges.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal

import pytest
import sqlglot
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from freshline.sql.query.normal import source_name
from freshline.sql.query.records import Decomposition
from tests.unit.sql.merging import Merging, first_difference, in_duckdb
from tests.unit.sql.test_decompose_laws import WITHOUT_KEYS, _group, _maybe, _rows, queries

KEPT, GONE, COME = range(3)
"""What the numbers of batches stand for: rows of both versions, of the old one, of the new one."""

OLD, NEW, CHANGED = (KEPT, GONE), (KEPT, COME), (GONE, COME)
STATIC_ROWS = [("a", 1), ("a", 2), ("b", None), ("c", 3), (None, 4)]


@pytest.fixture(scope="module")
def database():
    return Merging(WITHOUT_KEYS, 3)


def tells_groups(cut: object) -> bool:
    """Whether the strategy is group-recompute after a deletion."""
    return isinstance(cut, Decomposition) and bool(cut.group_columns) and len(cut.partials) == 1


def recomputed(database: Merging, query: str, changed: Iterable[int] = CHANGED) -> None:
    """That the groups which ``changed`` rows are of suffice to bring the view up to date."""
    cut, run = database.cut(query), database.database.execute
    assert isinstance(cut, Decomposition)
    assert cut.group_columns is not None
    (partial,) = cut.partials
    states, combine = in_duckdb(partial.query), in_duckdb(partial.combine)

    database.show(dict.fromkeys(database.streams, OLD))
    run(f"CREATE OR REPLACE TEMP TABLE before AS {in_duckdb(query)}")
    run(f"CREATE OR REPLACE TEMP TABLE state_before AS {states}")
    tables = sqlglot.parse_one(partial.query, dialect="spark").find_all(exp.Table)
    read = sorted({source_name(table) for table in tables} & set(database.streams))
    run("CREATE OR REPLACE TEMP TABLE touched AS FROM state_before LIMIT 0")
    for number, name in enumerate(read):
        shown: dict[str, Iterable[int]] = dict.fromkeys(database.streams, OLD)
        shown |= dict.fromkeys(read[:number], NEW)
        database.show({**shown, name: changed})
        run(f"INSERT INTO touched {states}")

    def among(columns: dict[str, str]) -> str:
        same = (f'r."{one}" IS NOT DISTINCT FROM t."{other}"' for one, other in columns.items())
        return f"EXISTS (FROM touched t WHERE {' AND '.join(same)})"

    keys = {key: key for key in cut.group_columns.values()}
    database.show(dict.fromkeys(database.streams, NEW))
    elsewhere = f"WHERE NOT {among(dict(cut.group_columns))}"
    was = run(f"SELECT * FROM before r {elsewhere}").fetchall()
    stays = run(f"SELECT * FROM ({in_duckdb(query)}) r {elsewhere}").fetchall()
    assert first_difference(stays, was) is None, f"groups not touched differ\n{query}"

    run(
        f"CREATE OR REPLACE TEMP TABLE kept_up AS"
        f" SELECT * FROM state_before r WHERE NOT {among(keys)}"
        f" UNION ALL SELECT * FROM ({states}) r WHERE {among(keys)}"
    )
    expected = run(in_duckdb(query)).fetchall()
    run(f"CREATE OR REPLACE TEMP VIEW {partial.name} AS FROM kept_up")
    run(f"CREATE OR REPLACE TEMP TABLE combined AS {combine}")
    run(f"CREATE OR REPLACE TEMP VIEW {partial.name} AS FROM combined")
    found = run(in_duckdb(cut.final)).fetchall()
    difference = first_difference(expected, found)
    assert difference is None, f"the state that was kept up: {difference}\n{query}"


def plainly_grouped(query: str) -> bool:
    """Without asking, which takes a tenth of a second, whether groups can be told at all."""
    return " GROUP BY " in query and not any(
        form in query for form in ("ROLLUP", "CUBE", " AS below", "(SELECT", "r LEFT JOIN")
    )


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    query=queries().filter(plainly_grouped),
    rows=st.lists(_rows, max_size=14),
    others=st.lists(st.tuples(st.integers(0, 13), _group, _maybe, st.integers(0, 2)), max_size=8),
)
def test_the_groups_of_changed_rows_are_all_that_differ(database, query, rows, others):
    # A third of a row's identities is there in both versions with other values: an update.
    numbered = [(at % 9, *row) for at, row in enumerate(rows)]
    database.load({"s": numbered, "t": others, "r": STATIC_ROWS})
    assume(tells_groups(database.cut(query)))
    recomputed(database, query)


ROWS = [
    (0, "a", 1, date(2026, 1, 1), 1, Decimal("1.10"), 1.5, KEPT),
    (1, "a", 2, date(2026, 1, 1), 5, Decimal("2.20"), 9.5, KEPT),
    (2, "b", 2, date(2026, 1, 2), 5, Decimal("3.30"), 2.5, GONE),
    (2, None, 2, date(2026, 1, 2), 5, Decimal("3.30"), 2.5, COME),
    (3, "b", 3, None, 1, Decimal("4.40"), -2.5, KEPT),
]
"""An update moves the row 2 out of its group, to those without a key."""


@pytest.mark.parametrize("forgotten", [GONE, COME])
def test_half_of_an_update_is_not_enough(database, forgotten):
    database.load({"s": ROWS, "t": [], "r": []})
    query = "SELECT g, count(*) AS n FROM s GROUP BY g"
    recomputed(database, query)
    with pytest.raises(AssertionError, match="groups not touched differ"):
        recomputed(database, query, [each for each in CHANGED if each != forgotten])


@pytest.mark.parametrize("keys", ["g, upper(g)", "upper(g), g", "upper(g), g, upper(g) || g"])
def test_a_key_inside_another_stays_in_it(database, keys):
    """In the final GROUP BY upper(g) was once upper() of g's key, and the query refused."""
    database.load({"s": ROWS, "t": [], "r": []})
    recomputed(database, f"SELECT {keys}, count(*) AS n FROM s GROUP BY {keys}")
