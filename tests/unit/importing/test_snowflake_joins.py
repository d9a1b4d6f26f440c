"""What is known of tables that are joined in parentheses."""

from __future__ import annotations

import pytest

from tests.support.snowflake import DECLARED, on_one_line
from tests.support.snowflake import one_query as query_over

TABLES = "create table u (q number, n number(10,4), k varchar);\ncreate table c (q varchar);\n"


def one_query(folder, query):
    return query_over(folder, query, declared=DECLARED + TABLES)


@pytest.mark.parametrize(
    ("tables", "fault"),
    [
        ("(t join u on t.q = u.k)", "`t.q = u.k`"),
        ("t join u join c on u.q = c.q on t.q = u.q", "`u.q = c.q`"),
        ("t join (u join c on u.q = c.q) on t.q = u.q", "`u.q = c.q`"),
        ("(u join c using (q))", "`JOIN c USING (q)`"),
        ("t join (u cross join c) using (q)", "`JOIN (u CROSS JOIN c) USING (q)`"),
        ("((select k as z from u) t join u on t.z = u.q)", "`t.z = u.q`"),
    ],
)
def test_types_are_known_in_joins_in_parentheses(tmp_path, tables, fault):
    """Before, nothing was known of tables there, and nothing refused."""
    assert one_query(tmp_path, f"select 1 as v from {tables}").refusal == (
        f"{fault} lets a text meet a NUMBER: Spark makes a DOUBLE of both; cast one of them"
    )


@pytest.mark.parametrize(
    "tables",
    [
        "(t join u using (q))",
        "(((t cross join u)))",
        "c join (t join u using (q)) on c.q = s",
        "(select n from (t cross join u)) z",
        "(select * from (t cross join u)) z",
    ],
)
def test_digits_are_known_in_joins_in_parentheses(tmp_path, tables):
    text = "CAST(CAST(n AS DECIMAL(38, 4)) / CAST(3 AS DECIMAL(38, 0)) AS DECIMAL(38, 10)) AS v"
    item = one_query(tmp_path, f"select n / 3 as v from {tables}")
    assert text in on_one_line(item)
    assert item.changed == ()


def test_a_star_over_a_join_by_names_in_parentheses_has_columns_that_are_not_known(tmp_path):
    """USING leaves one column out, as without parentheses."""
    query = "select z.y / 3 as v from (select * from ({})) z (a, b, c, d, e, f, x, y{})"
    for join, more in (("t join u using (q)", ""), ("t cross join u", ", z")):
        item = one_query(tmp_path, query.format(join, more))
        assert any("does not say" in each for each in item.changed) == ("using" in join)
