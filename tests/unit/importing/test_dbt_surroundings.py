"""What a dbt project runs around its models, and macros of its own in the place of dbt's."""

from __future__ import annotations

from typing import Any

import pytest

from freshline.importing.dbt.around import Around
from freshline.importing.dbt.hooks import Change, changes
from freshline.importing.dbt.macros import Macros
from freshline.importing.dbt.overrides import Overrides
from freshline.importing.dbt.project import read_dbt

KEPT, REVENUE = "model.shop.orders_kept", "model.shop.revenue"
START, END = "operation.shop.shop-on-run-start-0", "operation.shop.shop-on-run-end-0"


def refusals(found):
    """Why each model and source is refused by what is in the manifest."""
    return {item.key: item.refusal for item in found.items if item.refusal}


@pytest.fixture
def read(compiled):
    """A function that reads the project with an operation, with hooks of a model, with macros."""

    def make(operation=None, hook=None, macros=None, tests=(), start=None):
        def change(manifest):
            for key, code, tag in ((START, start, "on-run-start"), (END, operation, "on-run-end")):
                if code is not None:
                    manifest["nodes"][key] = {
                        "resource_type": "operation", "raw_code": code, "tags": [tag],
                    }  # fmt: skip
            if hook is not None:
                manifest["nodes"][REVENUE]["config"]["post-hook"] = [{"sql": hook}]
            manifest["macros"] |= macros or {}
            manifest["nodes"] |= tests

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


def test_a_setting_of_sparks_before_the_models_is_kept(read):
    found = read(start="SET spark.sql.session.timeZone = 'Asia/Tokyo';")
    assert KEPT not in refusals(found)
    assert found.configuration == {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    assert f"`{START}` sets spark.sql.session.timeZone: freshline.yml has it" in str(found.notes)


@pytest.mark.parametrize("start", [None, "SET spark.sql.session.timeZone = 'UTC'"])
def test_a_setting_after_the_models_is_none_of_theirs(read, start):
    found = read("SET spark.sql.session.timeZone = 'Asia/Tokyo'", start=start)
    assert found.configuration.get("spark.sql.session.timeZone") == (start and "UTC")
    assert not {KEPT, REVENUE} & set(refusals(found))
    assert (
        f"`{END}` sets spark.sql.session.timeZone when dbt's models have run: no query here has it."
    ) in found.notes


def test_a_setting_of_which_dbt_does_not_say_when_it_is_made_refuses_every_model(read):
    code = "SET spark.sql.session.timeZone = 'Asia/Tokyo'"
    found = read(tests={END: {"resource_type": "operation", "raw_code": code}})
    assert {KEPT, REVENUE} <= set(refusals(found))


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


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ("{% set verb = 'delete' %}{{ verb }} from {{ this }} where o_id = 1", "{{ VERB }} FROM"),
        ("{{ 'delete' ~ ' from ' ~ this }}", "DELETE"),
        ("{% set verb = 'update' %}{{ verb }} {{ this }} set o_id = 1", "UPDATE"),
        ("grant insert on {{ this }} to shop; {{ 'delete' ~ ' from ' ~ this }}", "DELETE"),
        ("grant insert on {{ this }} to shop", ""),
        ("optimize {{ this }}", ""),
        ("{{ log('will delete old rows', info=true) }}", ""),
        ("comment on table {{ this }} is 'one row per merge request'", ""),
        ('comment on table {{ this }} is "delete nothing"', ""),
        ("alter table {{ this }} drop constraint if exists pk", ""),
        ("alter table {{ this }} drop row filter", ""),
        ("{{ 'drop table ' ~ this }}", "DROP"),
        ("select 1; {{ 'update' }} {{ this }} set o_id = 1", "UPDATE"),
        ("alter table {{ this }} set tblproperties ('a' = 'b') -- no delete", ""),
        ("alter table {{ this }} alter c_id set mask shop.hide", "ALTER"),
        ("alter table {{ this }} alter column c_id set mask shop.hide", "ALTER"),
        ("alter table {{ this }} change c_id c_id string", "ALTER"),
        ("alter table {{ this }} change c_id c_id string comment 'x'", "ALTER"),
        ("alter table {{ this }} change c_id comment 'x'", ""),
        ("alter table {{ this }} alter column `c d` comment 'x'", ""),
        ("alter table {{ this }} alter  column c_id  type string", "ALTER"),
        ("alter materialized view {{ this }} alter schedule every 1 hour", ""),
        ("alter materialized view {{ this }} set row filter shop.own on (c_id)", "ALTER"),
        ("{{ 'alter view ' ~ this ~ ' set row filter f on (c_id)' }}", "ALTER"),
        ("create policy own on table {{ this }} row filter f to everyone", "CREATE POLICY OWN ON"),
        ("create or replace policy p on schema shop column mask f", "CREATE OR REPLACE POLICY"),
        ("replace table {{ this }} as select distinct * from {{ this }}", "REPLACE TABLE"),
        ("alter view {{ this }} set tblproperties ('a' = 'alter c')", ""),
        ("create policy own on table audit.runs row filter f to everyone", ""),
        ("comment on table {{ this }} is 'to replace table x, and no policy on it'", ""),
    ],
)
def test_a_hook_that_is_put_together_is_read_by_its_verb(read, hook, words):
    refusal = refusals(read(hook=hook)).get(REVENUE, "")
    assert words in refusal
    assert bool(words) == bool(refusal)


TYPED = "{% macro clean(t: relation, n: list[string] = []) %}{{ adapter.dispatch('purge')(t) }}"


@pytest.mark.parametrize(
    ("macro", "words"),
    [
        ("{% macro clean(t) %}{{ 'delete' ~ ' from ' ~ t }}{% endmacro %}", "DELETE"),
        (TYPED + "{% endmacro %}", "DELETE FROM"),
        (
            "{% macro clean(t) %}{% if t %}{% endmacro %}",
            "Jinja that cannot be parsed here, line 1",
        ),
        ("{% materialization clean, default", "Jinja that cannot be parsed here, line 1"),
        ("{% macro clean(t) %}{{ log('delete old rows of ' ~ t) }}{% endmacro %}", ""),
        ("{% macro clean(t) %}{{ note(t, 'do not update by hand') }}{% endmacro %}", ""),
    ],
)
def test_a_macro_of_a_hook_is_read_as_the_hook(read, macro, words):
    macros = {
        "macro.shop.clean": {"macro_sql": macro},
        "macro.shop.default__purge": {
            "macro_sql": "{% macro default__purge(t) %}delete from {{ t }}{% endmacro %}"
        },
    }
    refusal = refusals(read(hook="{{ clean(this) }}", macros=macros)).get(REVENUE, "")
    assert words in refusal
    assert bool(words) == bool(refusal)


def test_what_a_statement_changes_is_named():
    code = "update a.b set x = 1; insert into {{ ref('c', v=2) }} select 1; delete from {{ d }}.e"
    assert [(each.words, each.table) for each in changes(code, Macros({}))] == [
        ("UPDATE", "b"), ("INSERT INTO", "c"), ("DELETE FROM", "e"),
    ]  # fmt: skip
    assert Change("X").may_be({"a"})
    assert not Change("X", "source a").may_be({"a"})


OF_DBT: dict[str, dict[str, Any]] = {
    "macro.dbt.materialization_table_default": {
        "macro_sql": "{% materialization table, default %}"
        "{{ get_create_table_as_sql() }}{{ persist_docs() }}{% endmaterialization %}"
    },
    "macro.dbt.get_create_table_as_sql": {
        "macro_sql": "{{ adapter.dispatch('get_create_table_as_sql', 'dbt')() }}"
    },
    "macro.dbt.default__get_create_table_as_sql": {
        "macro_sql": "{{ create_table_as() }}",
        "depends_on": {"macros": ["macro.dbt.create_table_as"]},
    },
    "macro.dbt.create_table_as": {"macro_sql": "{{ adapter.dispatch('create_table_as')() }}"},
    "macro.dbt.persist_docs": {"macro_sql": ""},
    "macro.dbt.test_unique": {"macro_sql": "{{ adapter.dispatch('test_unique', 'dbt')() }}"},
    "macro.dbt.get_where_subquery": {"macro_sql": ""},
}


@pytest.mark.parametrize(
    ("macro", "counts"),
    [
        ("macro.shop.materialization_table_default", True),
        ("macro.lib.materialization_table_spark", True),
        ("macro.shop.create_table_as", True),
        ("macro.shop.spark__create_table_as", True),
        ("macro.shop.default__get_create_table_as_sql", True),
        ("macro.dbt_spark.spark__create_table_as", False),
        ("macro.lib.create_table_as", False),
        ("macro.shop.persist_docs", False),
        ("macro.shop.spark__persist_docs", False),
        ("macro.shop.materialization_mine_default", False),
    ],
)
def test_a_macro_in_the_place_of_dbts_refuses_its_models(read, macro, counts):
    why = refusals(read(macros=OF_DBT | {macro: {"macro_sql": ""}}))
    told = f"{macro} is in the place of dbt's own macro, and may fill its table with other rows"
    assert (why.get(REVENUE) == told) == counts
    assert KEPT not in why  # an incremental model


def test_a_package_that_dispatch_names_counts():
    """``depends_on`` of dbt's macro has what ``dispatch:`` of dbt_project.yml chose."""
    listed: dict[str, Any] = {
        "macro_sql": "",
        "depends_on": {"macros": ["macro.lib.spark__create_table_as"]},
    }
    macros: dict[str, dict[str, Any]] = OF_DBT | {
        "macro.lib.spark__create_table_as": {"macro_sql": ""},
        "macro.dbt.create_table_as": listed,
    }
    overrides = Overrides(Macros(macros), "shop")
    assert overrides.of_materialization("table") == "macro.lib.spark__create_table_as"


BY_NAME: dict[str, dict[str, Any]] = {
    "macro.dbt_databricks.materialization_incremental_databricks": {
        "macro_sql": "{% materialization incremental, adapter='databricks' %}"
        "{{ adapter.get_incremental_strategy_macro(context, strategy)(arguments) }}"
        "{% endmaterialization %}"
    },
    "macro.dbt.get_incremental_merge_sql": {
        "macro_sql": "{{ return(adapter.dispatch('get_incremental_merge_sql', 'dbt')(a)) }}"
    },
    "macro.dbt_databricks.databricks__get_incremental_merge_sql": {
        "macro_sql": "{{ databricks__get_merge_sql(a) }}"
    },
    "macro.dbt_databricks.databricks__get_merge_sql": {"macro_sql": ""},
}


@pytest.mark.parametrize(
    ("strategy", "macro", "adapter", "counts"),
    [
        (None, "macro.shop.databricks__get_incremental_merge_sql", "databricks", True),
        ("merge", "macro.shop.get_incremental_merge_sql", "databricks", True),
        ("merge", "macro.shop.databricks__get_merge_sql", "databricks", True),
        ("keep_deleted", "macro.shop.get_incremental_keep_deleted_sql", "databricks", True),
        ("keep+all", "macro.shop.get_incremental_keep_all_sql", "databricks", True),
        ("append", "macro.shop.get_incremental_merge_sql", "databricks", False),
        ("merge", "macro.lib.get_incremental_merge_sql", "databricks", False),
        # dbt-spark has its strategies in macros of its own.
        ("merge", "macro.shop.get_incremental_merge_sql", "spark", False),
    ],
)
def test_a_strategy_that_dbt_finds_by_its_name_may_be_the_projects(
    compiled, strategy, macro, adapter, counts
):
    def change(manifest):
        manifest["metadata"]["adapter_type"] = adapter
        manifest["macros"] |= BY_NAME | {macro: {"macro_sql": ""}}
        manifest["nodes"][KEPT]["config"]["incremental_strategy"] = strategy

    why = refusals(read_dbt(compiled(change)))
    assert why.get(KEPT, "").startswith(f"{macro} is in the place of dbt's own macro") == counts
    assert (KEPT in why) == counts
    assert REVENUE not in why


@pytest.mark.parametrize(
    ("macro", "counts"),
    [
        ("macro.shop.test_unique", True),
        ("macro.shop.default__test_unique", True),
        ("macro.shop.get_where_subquery", True),
        ("macro.shop.default__get_where_subquery", True),
        ("macro.shop.materialization_test_default", True),
        ("macro.shop.test_mine", False),
        ("macro.lib.test_unique", False),
    ],
)
def test_a_macro_in_the_place_of_dbts_test_refuses_the_test(read, macro, counts):
    test = {
        "resource_type": "test",
        "test_metadata": {"name": "unique", "kwargs": {"column_name": "day"}},
        "attached_node": REVENUE,
        "config": {},
    }
    found = read(macros=OF_DBT | {macro: {"macro_sql": ""}}, tests={"test.shop.u": test})
    (why,) = (check.refusal for check in found.checks if check.key == "test.shop.u")
    assert why == (f"{macro} is in the place of dbt's own test" if counts else None)


@pytest.mark.parametrize(
    "text",
    [
        "{{ log('Set up of the run', info=true) }}", '{{ log("Use dbt with care") }}',
        'comment on table {{ this }} is "set by dbt"', "{{ log('update orders next') }}",
        "alter table {{ this }} set tblproperties ('a'='update x')", "{{ log('reset is next') }}",
    ],
)  # fmt: skip
def test_words_in_texts_change_nothing(text):
    assert list(changes(text, Macros({}))) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("set spark.sql.ansi.enabled = false", "SET"),
        ("{{ run_query('use schema x') }}", "USE"),
        ("SET TIME ZONE 'UTC'", "SET"),
        ("use x;", "USE"),
        ("reset", "RESET"),
        ("set {{ var('s') }} = 1", "SET"),
        ("update {{ ref('x') }} as t set a = 1", "UPDATE"),
        ("UPDATE shop.orders SET a = 1", "UPDATE"),
    ],
)
def test_statements_in_the_same_words_do(text, words):
    assert [change.words.split()[0] for change in changes(text, Macros({}))] == [words]


def test_a_package_may_keep_its_log_and_the_project_may_not_change_what_it_does_not_name():
    def around(package):
        key = f"macro.{package}.kept"
        code = "{% macro kept() %}insert into {{ relation }} select 1{% endmacro %}"
        macros = Macros({key: {"macro_sql": code, "depends_on": {"macros": []}}})
        operation = {"resource_type": "operation", "raw_code": f"{{{{ {package}.kept() }}}}"}
        return Around({"operation.shop.end": operation}, macros, "shop")

    model = {"name": "orders"}
    assert around("artifacts").of_model("model.shop.orders", model) is None
    assert around("shop").of_model("model.shop.orders", model) is not None


COPY = "{% macro databricks_copy_into(target_table) %}copy into {{ target_table }}{% endmacro %}"


@pytest.mark.parametrize(
    ("operation", "refused"),
    [
        ("{{ databricks_copy_into(target_table=var('t')) }}", {KEPT, REVENUE}),
        ("{{ load_all() }}", {KEPT, REVENUE}),
        ("{{ databricks_copy_into('shop.orders_kept') }}", {KEPT}),
        ("{{ databricks_copy_into('raw.orders') }}", set()),
        ("{{ document() }}", set()),
        # A package's table of its own, by a macro of the adapter's.
        ("{{ lib.keep() }}", set()),
    ],
)
def test_a_macro_of_an_adapter_may_change_any_table_that_it_is_not_told(read, operation, refused):
    macros = {
        "macro.dbt_databricks.databricks_copy_into": {"macro_sql": COPY},
        "macro.shop.load_all": {
            "macro_sql": "{% macro load_all() %}{{ databricks_copy_into(x) }}{% endmacro %}"
        },
        "macro.shop.document": {
            "macro_sql": "{% macro document() %}{{ persist_docs(r, model) }}{% endmacro %}"
        },
        "macro.dbt.persist_docs": {"macro_sql": "{{ adapter.dispatch('persist_docs')(r, model) }}"},
        "macro.dbt_spark.spark__persist_docs": {
            "macro_sql": "{% macro spark__persist_docs(relation, model) %}"
            "alter table {{ relation }} change column {{ c }} comment {{ x }}{% endmacro %}"
        },
        "macro.lib.keep": {
            "macro_sql": "{% macro keep() %}{{ databricks_copy_into(x) }}{% endmacro %}"
        },
    }
    assert {KEPT, REVENUE} & set(refusals(read(operation, macros=macros))) == refused
