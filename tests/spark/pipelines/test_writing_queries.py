"""What begins like a query and writes: told from queries as Spark's own parser tells them."""

from __future__ import annotations

import pytest

from freshline.spark.engine import jvm
from freshline.sql.text.queries import is_query
from freshline.sql.text.tokens import tokens

pytestmark = pytest.mark.spark

COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"
TEXTS = (
    "SELECT 1", "select insert, x into_ from t", "SELECT x insert FROM t", "(SELECT 1)",
    "((select 1) union all (select 2)) order by 1", "VALUES (1), (2)", "TABLE t", "FROM t",
    "FROM t SELECT a", "FROM t |> WHERE a > 1 |> SELECT a", "FROM t INSERT INTO u SELECT a",
    "FROM t insert overwrite u select a", "FROM (SELECT * FROM t) s INSERT INTO u SELECT *",
    "FROM t INSERT INTO u SELECT a INSERT INTO w SELECT b WHERE b > 1", "FROM t insert",
    "WITH a AS (SELECT 1) SELECT * FROM a", "WITH a AS (SELECT 1) (SELECT * FROM a)",
    "WITH a AS (SELECT 1), b (x) AS (SELECT 2) SELECT * FROM a, b", "WITH a (SELECT 1) TABLE a",
    "WITH RECURSIVE n(i) MAX RECURSION LEVEL 9 AS (SELECT 1) SELECT * FROM n",
    "with a as (select 1) insert into u select * from a", "WITH a (SELECT 1) DELETE FROM u",
    "WITH a AS (SELECT 1) FROM a INSERT OVERWRITE u SELECT *", "WITH a AS (SELECT 1) FROM a",
    "WITH a AS (SELECT 1) INSERT OVERWRITE DIRECTORY 'x' USING json SELECT * FROM a",
    "WITH a AS (SELECT 1) DELETE FROM u", "WITH a AS (SELECT 1) UPDATE u SET x = 1",
    "WITH a AS (SELECT 1 x) MERGE INTO u USING a ON u.x = a.x WHEN MATCHED THEN DELETE",
    "WITH a AS (SELECT f(x) update FROM t) SELECT f(x) delete FROM a",
    "WITH a AS (SELECT 1) SELECT f(x) update, g(x) merge FROM a WHERE (x) IN (SELECT 1)",
    "WITH insert AS (SELECT 1) SELECT * FROM insert", "SELECT '(INSERT INTO' AS x",
    "/* first */ -- b\nWITH a AS (SELECT 1)\nINSERT INTO u TABLE a", "/* INSERT INTO */ SELECT 1",
    "MERGE INTO u USING t ON true WHEN MATCHED THEN DELETE", "DELETE FROM u",
    "INSERT INTO u SELECT 1",
    "SET x = 1", "DROP TABLE u", "CREATE TABLE u AS SELECT 1", "DESCRIBE u", "SHOW TABLES",
    "EXPLAIN SELECT 1", "CACHE TABLE u AS SELECT 1", "USE x", "REFRESH TABLE u",
    "SELECT TRANSFORM(a) USING 'cat' FROM t", "FROM t MAP a USING 'cat'", "MAP a USING 'x' FROM t",
    "REDUCE a USING 'cat' FROM t",
)  # fmt: skip


def is_carried_out(plan):
    """Whether Spark's plan of a text is, or holds, what changes something or tells of it."""
    commands = plan.getClass().getClassLoader().loadClass(COMMAND)
    return (
        bool(commands.isInstance(plan))
        or str(plan.nodeName()) in ("InsertIntoStatement", "InsertIntoDir")
        or any(is_carried_out(each) for each in jvm.elements(plan.children()))
    )


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_a_query_if_spark_carries_nothing_out(spark, text):
    parser = spark._jsparkSession.sessionState().sqlParser()
    assert is_query(tokens(text)) == (not is_carried_out(parser.parsePlan(text)))


@pytest.mark.parametrize("text", ["", "-- nothing", "WITH a AS (SELECT 1)", ")"])
def test_what_is_no_statement_is_no_query(text):
    assert not is_query(tokens(text))
