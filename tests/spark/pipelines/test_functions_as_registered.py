"""Spark calls a function while its decorator runs; here it is called later, with the same names."""

from __future__ import annotations

import pytest

from freshline.spark.pipelines.programs import register_programs

pytestmark = pytest.mark.spark

HEAD = """\
import functools
from pyspark import pipelines as dp
from pyspark.sql import functions as F


@dp.materialized_view
def src():
    return spark.range(10)


"""
LOOPS = """\
for n in (1, 2):
    @dp.materialized_view(name=f"plain_{n}")
    def f():
        return spark.read.table("src").where(F.col("id") == n)


def within():
    for n in (1, 2):
        @dp.materialized_view(name=f"within_{n}")
        def f():
            return spark.read.table("src").where(F.col("id") == n)


within()


def helper():
    return spark.read.table("src").where(f"id = {n}")


for n in (1, 2):
    @dp.materialized_view(name=f"helper_{n}")
    def f():
        return helper()


for n in (1, 2):
    @F.udf("boolean")
    def is_it(value):
        return value == n

    @dp.materialized_view(name=f"udf_{n}")
    def f():
        return spark.read.table("src").where(is_it("id"))


def wrapped(function):
    @functools.wraps(function)
    def inner():
        return function().where("id > 0")
    return inner


for n in (1, 2):
    @dp.materialized_view(name=f"wrapped_{n}")
    @wrapped
    def f():
        return spark.read.table("src").where(F.col("id") == n)


def rows(n):
    return spark.read.table("src").where(f"id = {n}")


for n in (1, 2):
    dp.materialized_view(name=f"partial_{n}")(functools.partial(rows, n))


chosen = {"ids": []}
for n in (1, 2):
    chosen["ids"] += [n]

    @dp.materialized_view(name=f"listed_{n}")
    def f():
        return spark.read.table("src").where(F.col("id") == chosen["ids"][-1])


for n in (1, 2):
    @dp.materialized_view(name=f"later_{n}")
    def f():
        return by_a_helper_below(n)


def by_a_helper_below(n):
    return rows(n)


n = 7
"""


def test_each_function_has_the_values_of_its_turn(pipeline, spark):
    found = pipeline(HEAD + LOOPS)
    assert found.errors == []
    project = found.project
    names = [table.name for table in project.tables if table.name != "src"]
    assert len(names) == 16
    for name in names:
        own = spark.newSession()
        own.range(10).createOrReplaceTempView("src")
        register_programs(own, project, project.table(name))
        assert (name, [row.id for row in own.table(name).collect()]) == (name, [int(name[-1])])
