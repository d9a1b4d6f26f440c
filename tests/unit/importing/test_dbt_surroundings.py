"""What a dbt project runs around its models."""

from __future__ import annotations

import pytest

from freshline.importing.dbt.hooks import Change, changes
from freshline.importing.dbt.macros import Macros
from freshline.importing.dbt.project import read_dbt

REVENUE = "model.shop.revenue"


def refusals(found):
    """Why each model is refused by what is in the manifest."""
    return {item.key: item.refusal for item in found.items if item.refusal}


@pytest.fixture
def read(compiled):
    """A function that reads the project with a hook of a model and with macros."""

    def make(hook=None, macros=None):
        def change(manifest):
            if hook is not None:
                manifest["nodes"][REVENUE]["config"]["post-hook"] = [{"sql": hook}]
            manifest["macros"] |= macros or {}

        return read_dbt(compiled(change))

    return make


def test_a_hook_that_asks_by_a_macro_is_told_as_a_hook(read):
    """dbt lists the macros of a model's hooks with those of its query."""
    code = "{% macro purge(r) %}{% do run_query('delete from ' ~ r) %}{% endmacro %}"
    found = read(hook="{{ purge(this) }}", macros={"macro.shop.purge": {"macro_sql": code}})
    assert refusals(found)[REVENUE] == (
        "its post-hook may change its rows or its session (DELETE FROM), and is not run here"
    )


def test_what_a_statement_changes_is_named():
    code = "update a.b set x = 1; insert into {{ ref('c', v=2) }} select 1; delete from {{ d }}.e"
    assert [(each.words, each.table) for each in changes(code, Macros({}))] == [
        ("UPDATE", "b"), ("INSERT INTO", "c"), ("DELETE FROM", "e"),
    ]  # fmt: skip
    assert Change("X").may_be({"a"})
    assert not Change("X", "source a").may_be({"a"})
