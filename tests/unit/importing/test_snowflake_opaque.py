"""Columns of types that Spark writes as a text, or compares, in another way."""

from __future__ import annotations

import pytest

from freshline.importing.snowflake.script import read_snowflake
from tests.support.snowflake import one_query

TYPES = (
    "variant", "array", "object", "binary", "binary(20)", "varbinary", "time", "time(3)",
    "geography", "vector(float, 3)", "map(varchar, number)",
)  # fmt: skip
HANDED_ON = (
    "o", "(o)", "o is null", "o is not null", "count(o)", "coalesce(o, p)", "iff(b, o, p)",
    "case when b then o end", "lag(o) over (order by i)", "lag(o, 1, null) over (order by i)",
    "(select o from t x)",
)  # fmt: skip
OF_A_BINARY = (
    "o = p", "o <> p", "o < p", "o in (p)", "o between p and o", "min(o)", "max(o)",
    "count(distinct o)", "row_number() over (partition by o order by i)",
    "row_number() over (partition by i order by o desc)", "nullif(o, p)", "nullif(o, null)",
)  # fmt: skip
NEVER = (
    "o::varchar", "cast(o as int)", "o::boolean", "o::date", "o || 'x'", "'x' || o", "o = '1'",
    "1 < o", "o like '1%'", "o + 1", "-o", "abs(o)", "round(o)", "sum(o)", "avg(o)", "upper(o)",
    "length(o)", "coalesce(o, 'x')", "coalesce(s, o)", "iff(o, 1, 2)", "iff(b, o, s)",
    "case when b then o else s end", "case o when p then 1 end", "case when o then 1 end",
    "o = s", "o in ('a')", "s in (o)", "o between 'a' and p", "nullif(o, s)", "o is true",
    "not o", "o and b", "year(o)", "date_trunc('day', o)", "lag(o, 1, s) over (order by i)",
    "count_if(o)",
)  # fmt: skip
QUERIES_OF_ANY = (
    "select o from t union all select p from t",
    "select o from t union all select null as o from t",
    "select null as o from t union all select null as o from t union all select o from t",
    "select * exclude (o) from t", "select * exclude (s, o) from t",
    "select t.o from t join t2 using (i) join t4 on t2.s = t4.s",
)  # fmt: skip
QUERIES_OF_A_BINARY = (
    "select o from t union select null as o from t",
    "select t.i from t join t2 using (o) join t3 on t2.i = t3.i",
    "select distinct o from t", "select o from t group by o", "select o from t group by 1",
    "select o from t union select p from t", "select o from t except select p from t",
    "select i from t where o in (select p from t)",
    "select i from t where (o, i) in (select p, i from t2)",
    "select i from t where (i, o) in (select i, p from t2)",
    "select count(*) as c from t group by (o, i)",
    "select t.i from t join t2 using (o)",
    "select t.i from t join t2 on t.o = t2.o",
    "select i from t qualify rank() over (order by o) = 1",
)  # fmt: skip
QUERIES_OF_NONE = (
    "select i from t where (o, i) in (select s, i from t2)",
    "select i from t where (i, s) in (select i, o from t2)",
    "select i from t where (i, o) in (select * from unknown)",
    "select o from t union all select s from t", "select s from t union select o from t",
    "select i from t where o in (select s from t)", "select i from t where s in (select o from t)",
    "select t.i from t join t3 using (o)", "select i from t where o",
    "select x.v || 'a' as v from (select o as v from t) x",
    "with c as (select coalesce(o, p) as v from t) select v::varchar as w from c",
)  # fmt: skip


def translated(tmp_path, query, type_):
    columns = f"(o {type_}, p {type_}, i int, s varchar, b boolean)"
    declared = f"create table t {columns}; create table t2 {columns};"
    declared += f"create table t3 (o varchar, i int); create table t4 (i {type_}, s varchar);"
    return one_query(tmp_path, query, declared=declared)


@pytest.mark.parametrize("type_", TYPES)
def test_such_values_are_handed_on_and_nothing_else(tmp_path, type_):
    is_binary = "binary" in type_
    right = [*HANDED_ON, *(OF_A_BINARY if is_binary else ())]
    wrong = [*NEVER, *(() if is_binary else OF_A_BINARY)]
    for expression, is_right in [
        *((each, True) for each in right),
        *((each, False) for each in wrong),
    ]:
        item = translated(tmp_path, f"select {expression} as v from t", type_)
        assert (item.query is not None) is is_right, (type_, expression, item.refusal)
    queries = [(query, True) for query in QUERIES_OF_ANY]
    queries += [(query, is_binary) for query in QUERIES_OF_A_BINARY]
    queries += [(query, False) for query in QUERIES_OF_NONE]
    for query, is_right in queries:
        item = translated(tmp_path, query, type_)
        assert (item.query is not None) is is_right, (type_, query, item.refusal)


def test_a_table_with_such_columns_has_types_that_spark_can_analyse(tmp_path):
    declared = """create table t (a variant, b binary(20), c array, d time(9), e char(3), f number,
        g timestamp_ltz(3), h timestamp_tz, i string(10), j double precision, k byteint,
        l geography, m object, n nvarchar2(5), o datetime, p real, q decimal(5,1));"""
    path = tmp_path / "one.sql"
    path.write_text(declared)
    (item,) = read_snowflake(path).items
    types = [each.split("` ")[1] for each in str(item.schema).split(", `")]
    assert types == [
        "VARIANT", "BINARY", "VARIANT", "VARIANT", "STRING", "DECIMAL(38, 0)", "TIMESTAMP",
        "TIMESTAMP", "STRING", "DOUBLE", "DECIMAL(38, 0)", "VARIANT", "VARIANT", "STRING",
        "TIMESTAMP_NTZ", "DOUBLE", "DECIMAL(5, 1)",
    ]  # fmt: skip
