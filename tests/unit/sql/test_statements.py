from hypothesis import given
from hypothesis import strategies as st

from freshline.sql.text.statements import Property, read_statement, split
from freshline.sql.text.tokens import tokens

COMMENTS = st.sampled_from(
    ["", " ", "\n", "\n\n", "-- a; b\n", "/* ; */", "/* x /* ; */\n y */", "-- it's\n", "\r\n"]
)
PIECES = st.sampled_from(
    ["SELECT", "';'", "'it''s; \\'x'", '"a;\nb"', "`;`", "/* ; */", "-- ;\n", "a", ",", "\n", "1"]
)
QUERIES = st.lists(PIECES, min_size=1, max_size=8).map(lambda pieces: "SELECT " + " ".join(pieces))
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}x", fullmatch=True)


def _read(sql):
    return [read_statement(sql, statement) for statement in split(tokens(sql))]


def _trimmed(query):
    """The query up to its last token, as the reader keeps it."""
    found = tokens(query)
    return query[found[0].start : found[-1].end]


@given(st.lists(st.tuples(COMMENTS, NAMES, COMMENTS, QUERIES, COMMENTS), max_size=5))
def test_statements_joined_by_semicolons_keep_their_texts_and_lines(parts):
    text, expected = "", []
    for before, name, between, query, behind in parts:
        text += before
        line = text.count("\n") + 1
        text += f"CREATE MATERIALIZED VIEW {name} {between} AS {between}"
        query_line = text.count("\n") + 1
        expected.append((name, line, query_line, _trimmed(query)))
        text += f"{query}\n{behind};"
    assert [(s.name, s.line, s.query_line, s.query) for s in _read(text)] == expected


def test_a_head_is_read_with_all_its_clauses():
    sql = """
create or refresh streaming table if not exists `Orders`
  using delta
  comment 'what''s sold'
  partitioned by (day, `re gion`)
  tblproperties (
    'freshline.priority' = '2', freshline.target_lag = '10 minutes', -- unquoted keys too
    "team" = 'blue; green', delta.appendOnly = true, x -1.5)
  as -- the query:
  SELECT  *
  FROM STREAM f -- its end
;
"""
    (statement,) = _read(sql)
    assert (statement.kind, statement.name, statement.line, statement.name_line) == (
        "base",
        "Orders",
        2,
        2,
    )
    assert statement.comment == "what's sold"
    assert (statement.partitioned_by, statement.partitioned_line) == (("day", "re gion"), 5)
    assert statement.properties == (
        Property("freshline.priority", "2", 7),
        Property("freshline.target_lag", "10 minutes", 7),
        Property("team", "blue; green", 8),
        Property("delta.appendOnly", "true", 8),
        Property("x", "-1.5", 8),
    )
    assert (statement.query, statement.query_line) == ("SELECT  *\n  FROM STREAM f", 10)


def test_views_are_derived_in_each_spelling():
    for words in ("", "OR REPLACE ", "OR REFRESH "):
        (statement,) = _read(f"CREATE {words}MATERIALIZED VIEW v AS SELECT 1")
        assert (statement.kind, statement.name) == ("derived", "v")


def test_empty_statements_are_none():
    assert _read("; ;-- nothing\n;/* */;") == []
