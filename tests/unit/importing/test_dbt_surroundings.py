"""What a dbt project runs around its models."""

from __future__ import annotations

import pytest

from freshline.importing.dbt.hooks import Change, changes
from freshline.importing.dbt.macros import Macros
from freshline.importing.dbt.project import read_dbt

KEPT, REVENUE = "model.shop.orders_kept", "model.shop.revenue"
END = "operation.shop.shop-on-run-end-0"


def refusals(found):
    """Why each model and source is refused by what is in the manifest."""
    return {item.key: item.refusal for item in found.items if item.refusal}


@pytest.fixture
def read(compiled):
    """A function that reads the project with an operation, with hooks of a model, with macros."""

    def make(operation=None, hook=None, macros=None):
        def change(manifest):
            if operation is not None:
                manifest["nodes"][END] = {"resource_type": "operation", "raw_code": operation}
            if hook is not None:
                manifest["nodes"][REVENUE]["config"]["post-hook"] = [{"sql": hook}]
            manifest["macros"] |= macros or {}

        return read_dbt(compiled(change))

    return make


def changed_by_operation(words, of="its rows"):
    return f"the operation `{END}` may change {of} ({words}), and is not run here"


@pytest.mark.parametrize(
    ("operation", "words", "refused"),
    [
        ("insert overwrite table shop.orders_kept select 1", "INSERT OVERWRITE TABLE", {KEPT}),
        ("delete from {{ ref('orders_kept') }}", "DELETE FROM", {KEPT}),
        ("{{ clean_up() }}", "INSERT INTO", {KEPT}),
        ("merge into {{ target.schema }}.revenue using x", "MERGE INTO", {REVENUE}),
        ("truncate table {{ source('raw', 'orders') }}", "TRUNCATE TABLE",
         {"source.shop.raw.orders"}),
        ("delete from {{ name }}", "DELETE FROM, of a table that is not told",
         {KEPT, REVENUE, "source.shop.raw.orders"}),
        ("insert into audit.runs select 1", "INSERT INTO", set()),
        ("vacuum {{ ref('orders_kept') }}", "", set()),
    ],
)  # fmt: skip
def test_an_operation_refuses_what_it_may_change(read, operation, words, refused):
    macros = {"macro.shop.clean_up": {"macro_sql": "insert into orders_kept select 1"}}
    found = read(operation, macros=macros)
    told = {key for key, why in refusals(found).items() if why == changed_by_operation(words)}
    assert told & {KEPT, REVENUE, "source.shop.raw.orders"} == refused
    assert f"`{END}`, a hook of dbt's runs, is not run." in found.notes


def test_an_operation_that_changes_the_session_refuses_every_model(read):
    why = refusals(read("use other"))
    assert why[KEPT] == why[REVENUE] == changed_by_operation("USE", "its session")


def test_a_setting_of_sparks_in_an_operation_is_kept(read):
    found = read("SET spark.sql.session.timeZone = 'Asia/Tokyo';")
    assert KEPT not in refusals(found)
    assert found.configuration == {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    assert f"`{END}` sets spark.sql.session.timeZone: freshline.yml has it" in str(found.notes)


def test_a_hook_refuses_the_other_model_that_it_changes(read):
    why = refusals(read(hook="delete from {{ ref('orders_kept') }} where o_id = 1"))
    assert why[KEPT] == (
        f"the post-hook of `{REVENUE}` may change its rows (DELETE FROM), and is not run here"
    )
    assert REVENUE not in why


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
