"""A star in a call does not say which columns it reads: such queries are not cut into states."""

from __future__ import annotations

import pytest

from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Source
from freshline.sql.query.unsupported import Unsupported
from freshline.sql.states.starred_calls import refuse_starred_calls

SOURCES = (
    Source("t", {"ts": "timestamp", "x": "int", "id": "int", "arr": "array<int>"}),
    Source("u", {"ts": "timestamp", "id": "int", "y": "int"}),
)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(to_json(struct(s.*))) FROM (SELECT id AS OrderId FROM t) s",
        "WITH s AS (SELECT ID FROM t) SELECT max(to_json(struct(*))) FROM s",
        "SELECT max(struct(*)) FROM (SELECT * FROM t) s",
        "SELECT max(struct(*)) FROM t LATERAL VIEW explode(arr) e AS Item",
        "SELECT max(hash(*)) FROM t JOIN u USING (id)",
        "SELECT count(DISTINCT *) FROM t NATURAL FULL JOIN u",
        "SELECT count(DISTINCT x, struct(u.*)) FROM t, u GROUP BY y",
        "SELECT x FROM t WHERE hash(*) IN (SELECT hash(y) FROM u) GROUP BY x",
        "SELECT struct(*) AS s, count(*) FROM t GROUP BY struct(*)",
    ],
)
def test_what_would_stand_over_other_columns_is_refused(query):
    with pytest.raises(Unsupported) as refused:
        refuse_starred_calls(normalise(query, SOURCES))
    assert refused.value.reason.code == "SYNTAX"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x, max_by(struct(*), ts) FROM t GROUP BY x",
        "SELECT collect_list(struct(a.* EXCEPT (x))) FILTER (WHERE x > 1) FROM t a",
        "SELECT count(*), count(t.*) FROM t JOIN u ON t.id = u.id",
        "SELECT * FROM t WHERE EXISTS (SELECT * FROM u WHERE u.id = t.id)",
    ],
)
def test_others_are_not(query):
    refuse_starred_calls(normalise(query, SOURCES))
