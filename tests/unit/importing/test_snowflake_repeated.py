"""Two statements of a script that make a table of one name."""

from __future__ import annotations

import pytest

from freshline.importing.snowflake.script import read_snowflake

MADE = "create or replace dynamic table {} target_lag = '1 hour' warehouse = w as select {};\n"
TABLE = "create or replace table t (p number({}));\n"


@pytest.fixture
def read(tmp_path):
    def make(script):
        (tmp_path / "one.sql").write_text(script)
        found = read_snowflake(tmp_path / "one.sql")
        return found, {item.key: item for item in found.items}

    return make


def test_a_later_statement_replaces_an_earlier_one(read):
    script = TABLE.format("10,2") + MADE.format("x", "p * 2 as v from t") + TABLE.format("10,8")
    found, items = read(script + MADE.format("x", "p * p as v from t"))
    assert items["t"].schema == "`p` DECIMAL(10, 8)"
    assert " ".join(items["x"].query.split()) == "SELECT CAST(p * p AS DECIMAL(38, 12)) AS v FROM t"
    reason = "a later statement replaces what it makes"
    assert found.notes == tuple(f"The statement on line {line}: {reason}." for line in (1, 2))


def test_a_statement_that_replaces_nothing_leaves_the_earlier_one(read):
    script = TABLE.format("10,2") + "create table if not exists t (p number(10,8));\n"
    found, items = read(script + MADE.format("x", "p from t"))
    assert items["t"].schema == "`p` DECIMAL(10, 2)"
    assert found.notes == ("The statement on line 2: t is made by an earlier statement.",)


def test_a_short_name_in_another_schema_is_another_table(read):
    _, items = read(
        f"use schema a.b;\n{TABLE.format('10,2')}use schema a.c;\n{TABLE.format('10,8')}"
    )
    assert sorted(item.schema for item in items.values()) == [
        "`p` DECIMAL(10, 2)", "`p` DECIMAL(10, 8)",
    ]  # fmt: skip


def test_names_that_differ_by_case_alone_are_refused(read):
    script = (
        TABLE.format("10,2") + MADE.format("X", "p from t") + MADE.format('"x"', "p + 1 p from t")
    )
    _, items = read(script + MADE.format("y", 'p from "x"'))
    assert items["x"].refusal == "its name and x differ by case alone: rename one of them"
    assert items["t"].refusal is None
