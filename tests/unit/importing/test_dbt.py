"""A dbt project, compiled by dbt 1.12.6 with dbt-spark 1.11, as a freshline project.

manifest.json and run_results.json are what dbt wrote, without what the importer does not read
and without the text of dbt's own macros.
"""

from __future__ import annotations

import json
import shutil

import pytest

from freshline.core.errors import UserError, UserErrors
from freshline.importing.dbt.macros import Macros
from freshline.importing.dbt.overrides import Overrides
from freshline.importing.dbt.project import read_dbt
from freshline.importing.dbt.tests import read_test
from freshline.importing.writing import write
from freshline.project.load import load_project

ORDERS = "source.shop.raw.orders"
STG_ORDERS = """\
with source as (select * from orders)
select o_id, c_id, at, price from source
"""


def imported(folder, into):
    written = write(read_dbt(folder), into)
    rows = {outcome.item.key: outcome for outcome in written.assembly.outcomes}
    return load_project(into, into), rows


def reasons(rows):
    """The first reason of each item that was not taken."""
    return {
        key: outcome.left_out[0] for key, outcome in rows.items() if outcome.became == "not taken"
    }


def test_views_and_ephemeral_models_are_in_the_queries_that_read_them(compiled, tmp_path):
    into = tmp_path / "new"
    project, _ = imported(compiled(), into)
    assert {table.name: table.parents for table in project.tables} == {
        "orders": (),
        "orders_kept": ("orders",),
        "revenue": ("orders", "orders_kept"),
    }
    assert (into / "tables" / "orders.sql").read_text() == (
        "CREATE STREAMING TABLE orders\n"
        "  COMMENT 'What the shop\\'s till says'\n"
        "  TBLPROPERTIES ('freshline.time' = 'at', 'freshline.priority' = '2', "
        "'freshline.target_lag' = '2 hours')\n"
        "AS\nSELECT * FROM STREAM orders_feed;\n"
    )
    assert (into / "tables" / "orders_kept.sql").read_text() == (
        f"CREATE MATERIALIZED VIEW orders_kept\nAS\nWITH stg_orders_view AS (\n{STG_ORDERS})\n"
        "select * from stg_orders_view AS stg_orders;\n"
    )
    # Its WITH has entries called orders_kept and stg_orders, which are not the tables so called.
    assert (into / "tables" / "revenue.sql").read_text() == (
        "CREATE MATERIALIZED VIEW revenue (\n    day COMMENT 'The day'\n  )\n"
        "  COMMENT 'Revenue by day; what finance reads.\\nNot final\\'s.'\n"
        "  PARTITIONED BY (day)\n"
        "  TBLPROPERTIES ('freshline.target_lag' = '10 minutes', 'freshline.priority' = '5', "
        "'dbt.tags' = 'finance, nightly')\n"
        f"AS\nwith stg_orders_view AS (\n{STG_ORDERS}),\n"
        "orders_kept_table AS (\nSELECT * FROM orders_kept\n),\n"
        "stg_customers_view AS (\nselect * from raw.customers\n),\n"
        "__dbt__cte__eph as (\n\n"
        "select o_id, c_id, at, price * 2 as price from stg_orders_view AS stg_orders\n"
        "), orders_kept as (select * from __dbt__cte__eph),\n"
        "stg_orders as (select * from orders_kept_table AS orders_kept)\n"
        "select cast(o.at as date) as day, sum(o.price) as revenue, count(*) as n\n"
        "from stg_orders o join stg_customers_view AS stg_customers"
        " on o.c_id = stg_customers.c_id\n"
        "join orders_kept k on k.o_id = o.o_id\n"
        "group by 1;\n"
    )


def test_the_settings_are_those_of_dbt(compiled, tmp_path):
    project, _ = imported(compiled(), tmp_path / "new")
    table = {each.name: each for each in project.tables}
    assert (table["orders"].target_lag_s, table["orders"].priority) == (7200.0, 2.0)
    assert table["orders"].time_column == "at"
    assert (table["revenue"].target_lag_s, table["revenue"].priority) == (600.0, 5.0)
    assert table["revenue"].comment == "Revenue by day; what finance reads.\nNot final's."
    assert table["revenue"].partitioned_by == ("day",)
    assert project.feeds["orders_feed"].format == "json"
    assert project.scheduler.policy == "whittle"


def test_build_after_is_a_target_lag_where_ours_says_none(compiled, tmp_path):
    def change(manifest):
        node = manifest["nodes"]["model.shop.revenue"]
        node["config"]["meta"] = node["meta"] = {}

    project, rows = imported(compiled(change), tmp_path / "new")
    assert project.table("revenue").target_lag_s == 4 * 3600
    assert rows["model.shop.revenue"].changed == ("its build_after became the target lag 4 hours",)


def test_what_cannot_be_taken_has_its_reason(compiled, tmp_path):
    _, rows = imported(compiled(), tmp_path / "new")
    assert reasons(rows) == {
        "model.shop.py": "it is written in python: only SQL can be maintained from changes",
        "model.shop.asked": "it can query the database while dbt compiles it "
        "(run_query in macro.shop.asked_names): its SQL holds answers",
        "model.shop.only_static": "it reads no table of the new project, so nothing would ever "
        "update it",
        "snapshot.shop.snap": "a snapshot keeps what rows were, by the time when dbt looked; no "
        "query says that",
    }


def test_without_full_refresh_incremental_models_are_not_taken(compiled, tmp_path):
    project, rows = imported(compiled(full_refresh=False), tmp_path / "new")
    assert reasons(rows)["model.shop.orders_kept"] == (
        "its SQL is that of an incremental run, or may be: compile with `dbt compile "
        "--full-refresh`"
    )
    assert rows["model.shop.revenue"].changed == (
        "reads shop.orders_kept by its name, as a table that something else fills",
    )
    assert [static.name for static in project.table("revenue").statics] == [
        "raw.customers", "shop.orders_kept",
    ]  # fmt: skip


def test_results_of_another_run_say_nothing_of_this_one(compiled, tmp_path):
    def change(manifest):
        manifest["metadata"]["invocation_id"] = "another"
        manifest["nodes"].pop("model.shop.asked")  # it was not compiled

    _, rows = imported(compiled(change), tmp_path / "new")
    assert reasons(rows)["model.shop.orders_kept"] == (
        "run_results.json is of another run of dbt than manifest.json, so its SQL may be that of an"
        " incremental run: run `dbt compile --full-refresh`, and no other command before the import"
    )


def test_a_compile_that_failed_is_told_once(compiled, tmp_path):
    """dbt writes the manifest before it compiles, and run_results.json only at a good end."""

    def change(manifest):
        manifest["metadata"]["invocation_id"] = "another"
        node = manifest["nodes"]["model.shop.revenue"]
        node["compiled"], node["compiled_code"] = False, None

    with pytest.raises(UserError) as raised:
        imported(compiled(change), tmp_path / "new")
    assert (raised.value.code, raised.value.what) == (
        "not-compiled",
        (
            "2 of 7 SQL models have no compiled SQL, and no run_results.json of the same run of "
            "dbt is beside the manifest"
        ),
    )
    assert "mend the error it ends with" in str(raised.value)
    assert not (tmp_path / "new").exists()


def test_a_model_that_never_refreshes_in_full_is_not_taken(compiled, tmp_path):
    def change(manifest):
        manifest["nodes"]["model.shop.orders_kept"]["config"]["full_refresh"] = False

    _, rows = imported(compiled(change), tmp_path / "new")
    assert reasons(rows)["model.shop.orders_kept"] == (
        "its full_refresh is false, so its SQL is that of an incremental run"
    )


def test_sessions_are_set_as_the_adapter_sets_them(compiled, tmp_path):
    """dbt-spark turns ANSI mode off, whatever the cluster says: a bad cast is NULL, no error."""
    project, _ = imported(compiled(), tmp_path / "new")
    assert project.configuration["spark.sql.ansi.enabled"] == "false"


def test_a_view_that_nothing_reads_is_told(compiled, tmp_path):
    def change(manifest):
        node = json.loads(json.dumps(manifest["nodes"]["model.shop.stg_orders"]))
        node |= {"name": "lonely", "alias": "lonely", "unique_id": "model.shop.lonely"}
        node["relation_name"] = "`shop`.`lonely`"
        manifest["nodes"]["model.shop.lonely"] = node

    _, rows = imported(compiled(change), tmp_path / "new")
    assert "none that was taken reads it" in reasons(rows)["model.shop.lonely"]


@pytest.mark.parametrize(
    ("macro", "is_own"),
    [
        ("macro.dbt.test_unique", False),
        ("macro.dbt.default__test_unique", False),
        ("macro.shop.test_unique", True),
        ("macro.shop.spark__test_unique", True),
    ],
)
def test_a_test_of_the_projects_own_is_not_taken_for_dbts(macro, is_own):
    node = {
        "test_metadata": {"name": "unique", "kwargs": {"column_name": "o_id"}},
        "column_name": "o_id",
        "attached_node": "model.shop.orders_kept",
        "config": {},
        "depends_on": {"macros": [macro], "nodes": ["model.shop.orders_kept"]},
    }
    overrides = Overrides(Macros({macro: {}, "macro.dbt.test_unique": {}}), "shop")
    refusal = read_test("test.shop.t", node, overrides).refusal
    assert (refusal is not None and "in the place of dbt's own test" in refusal) == is_own


def test_a_hook_of_runs_is_told(compiled):
    def change(manifest):
        manifest["nodes"]["operation.shop.shop-on-run-end-0"] = {"resource_type": "operation"}

    notes = read_dbt(compiled(change)).notes
    assert "`operation.shop.shop-on-run-end-0`, a hook of dbt's runs, is not run." in notes


def test_a_view_that_was_not_taken_takes_its_readers_with_it(compiled, tmp_path):
    def change(manifest):
        manifest["nodes"]["model.shop.stg_customers"]["config"]["sql_header"] = "SET x = 1"

    project, rows = imported(compiled(change), tmp_path / "new")
    assert [table.name for table in project.tables] == ["orders", "orders_kept"]
    assert reasons(rows)["model.shop.revenue"] == (
        "it reads model.shop.stg_customers, which was not taken"
    )


@pytest.mark.parametrize(
    ("config", "column", "rule"),
    [
        ({"row_filter": {"function": "f", "columns": ["o_id"]}}, {}, "row_filter"),
        ({}, {"column_mask": {"function": "f"}}, "column_mask of o_id"),
        ({}, {"config": {"column_mask": {"function": "f"}}}, "column_mask of o_id"),
        ({"row_filter": None}, {"column_mask": None, "config": {}}, None),
    ],
)
def test_a_table_that_hides_rows_or_values_from_readers_is_not_taken(
    compiled, tmp_path, config, column, rule
):
    def change(manifest):
        node = manifest["nodes"]["model.shop.orders_kept"]
        node["config"] |= config
        node["columns"] = {"o_id": {"name": "o_id", **column}}

    project, rows = imported(compiled(change), tmp_path / "new")
    told = f"its readers see only a part of it ({rule}): tables here have no such rules"
    assert reasons(rows).get("model.shop.orders_kept") == (told if rule else None)
    assert ("orders_kept" in {table.name for table in project.tables}) == (rule is None)


def test_a_model_that_breaks_a_rule_of_ours_is_not_taken(compiled, tmp_path):
    def change(manifest):
        meta = {"freshline": {"lag": "1 hour"}}
        manifest["nodes"]["model.shop.orders_kept"]["config"]["meta"] = meta

    _, rows = imported(compiled(change), tmp_path / "new")
    reason = reasons(rows)["model.shop.orders_kept"]
    assert reason.startswith("table orders_kept has the unknown property 'freshline.lag'; the ")
    assert "model.shop.revenue" not in reasons(rows)


def test_two_models_of_one_name_get_that_of_their_schema(compiled, tmp_path):
    def change(manifest):
        node = manifest["nodes"]["model.shop.orders_kept"]
        twin = node | {"unique_id": "model.lib.orders_kept", "relation_name": "lib.Orders_Kept"}
        manifest["nodes"]["model.lib.orders_kept"] = twin

    project, rows = imported(compiled(change), tmp_path / "new")
    assert {table.name for table in project.tables} == {
        "orders", "shop_orders_kept", "lib_Orders_Kept", "revenue",
    }  # fmt: skip
    assert "renamed from shop.orders_kept" in rows["model.shop.orders_kept"].changed
    assert project.table("revenue").parents == ("orders", "shop_orders_kept")


def test_the_page_has_a_row_for_each_model_and_each_test(compiled, tmp_path):
    imported(compiled(), tmp_path / "new")
    page = (tmp_path / "new" / "IMPORTED.md").read_text()
    assert "\n`raw.customers`: read by name, so Spark has to find them. `configuration:`" in page
    assert page.startswith(
        "# Imported from the dbt project shop\n\n"
        "3 tables, 5 put into queries or read by name, 4 not taken.\n\n"
    )
    for line in (
        (
            "| `source.shop.raw.orders` | source | streaming table `orders` over feed "
            "`orders_feed` | its freshness became the target lag 2 hours | - |"
        ),
        (
            "| `model.shop.orders_kept` | incremental model | materialized view `orders_kept` "
            "| its incremental logic fell away; no rows are merged by o_id: it holds what a full "
            "refresh makes | - |"
        ),
        "| `model.shop.eph` | ephemeral model | put into the queries that read it | - | - |",
        "| `seed.shop.countries` | seed | read by its name, `shop.countries` | - | - |",
        (
            "| `test.shop.unique_revenue_day.24595eb865` | unique | `model.shop.revenue` "
            "| check of `revenue` | - |"
        ),
    ):
        assert f"\n{line}\n" in page


def with_code(manifest, code, macros=()):
    node = manifest["nodes"]["model.shop.orders_kept"]
    node["raw_code"] = code
    node["depends_on"]["macros"] = list(macros)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("select * from t where at < '{{ run_started_at }}'",
         "its SQL holds what was true of one run of dbt (run_started_at)"),
        ("select '{{ modules.datetime.datetime.now() }}'",
         "its SQL holds what was true of one run of dbt (modules.datetime)"),
        ("{% call statement('n', fetch_result=True) %} select 1 {% endcall %} select 1",
         "it can query the database while dbt compiles it (statement): its SQL holds answers"),
        ("select {{ (adapter.get_columns_in_relation(ref('a')))[0] }}",
         ("it can query the database while dbt compiles it (adapter.get_columns_in_relation): "
         "its SQL holds answers")),
        ("select {{ columns_of() }}",
         ("it can query the database while dbt compiles it (run_query in "
         "macro.lib.default__columns_of): its SQL holds answers")),
        ("select * {% if flags.FULL_REFRESH %} , 1 {% endif %}", None),
        ("select run_started_at from t -- {# run_query() #}", None),
    ],
)  # fmt: skip
def test_what_dbt_knew_when_it_compiled_is_not_frozen_in_a_view(compiled, tmp_path, code, reason):
    def change(manifest):
        with_code(manifest, code, ["macro.lib.columns_of"] if "columns_of" in code else [])
        manifest["macros"] |= {
            "macro.lib.columns_of": {"macro_sql": "{{ adapter.dispatch(name)() }}"},
            "macro.lib.default__columns_of": {"macro_sql": "{% set r = run_query('x') %}"},
        }

    _, rows = imported(compiled(change), tmp_path / "new")
    assert reasons(rows).get("model.shop.orders_kept") == reason


@pytest.mark.parametrize(
    ("variables", "words"), [({}, "target.name"), ({"n": 1}, "var, target.name")]
)
def test_what_the_compile_was_given_is_told(compiled, tmp_path, variables, words):
    def change(manifest):
        with_code(manifest, "{{ var('n', 2) }}{% if target.name == 'dev' %} limit 9{% endif %}")

    _, rows = imported(compiled(change, vars=variables), tmp_path / "new")
    told = f"its SQL holds what the compile was given ({words})"
    assert told in rows["model.shop.orders_kept"].changed


@pytest.mark.parametrize(
    ("kind", "hook", "word"),
    [
        ("post-hook", {"sql": "DELETE FROM {{ this }} WHERE price < 0"}, "DELETE FROM"),
        ("post-hook", "delete\n  from shop.orders_kept where 1 = 1", "DELETE FROM"),
        ("post-hook", "update `shop`.`orders_kept` set price = 0", "UPDATE"),
        ("post-hook", {"sql": "{{ tidy(this) }}"}, "MERGE INTO"),
        ("post-hook", {"sql": "{{ lib.tidy(this) }}"}, "MERGE INTO"),
        ("post-hook", "{{ run_query('delete from ' ~ this) }}", "DELETE FROM"),
        ("post-hook", "{{ log('-- tidy') }}; delete from {{ this }}", "DELETE FROM"),
        ("post-hook", "insert into {{ ref('orders_kept') }} select 1", "INSERT INTO"),
        ("post_hook", [{"sql": "analyze table {{ this }}"}, "TRUNCATE TABLE {{this}}"],
         "TRUNCATE TABLE"),
        ("post-hook", "ALTER TABLE {{ this }} ADD COLUMNS (x INT)", "ALTER"),
        ("post-hook", "ALTER TABLE {{ this }} SET ROW FILTER only_own ON (o_id)", "ALTER"),
        ("post-hook", "alter table {{ this }} drop if exists partition (d = 1)", "ALTER"),
        ("post-hook", "load data inpath 'x' overwrite into table shop.orders_kept",
         "LOAD DATA INPATH 'X' OVERWRITE INTO TABLE"),
        ("post-hook", "execute immediate text", "EXECUTE IMMEDIATE"),
        ("post-hook", "{% do adapter.clear(this) %}", "TRUNCATE TABLE"),
        ("post-hook", "{% set f = tidy %}{{ f(this) }}", "MERGE INTO"),
        ("post-hook", "{{ context['tidy'](this) }}", "MERGE INTO"),
        ("post-hook", "{{ context[name](this) }}", "a call by a computed name, context"),
        ("pre-hook", "SET spark.sql.session.timeZone = 'Europe/Vienna'", "SET"),
        ("pre-hook", "set `spark.sql.ansi.enabled`=true", "SET"),
        ("pre-hook", "{% if true %} set TIME ZONE 'UTC' {% endif %}", "SET"),
        ("pre-hook", "use other", "USE"),
        ("pre-hook", "create temporary view x as select 1", "CREATE TEMPORARY VIEW"),
        ("post-hook", "optimize {{ this }} zorder by (at)", None),
        ("post-hook", "GRANT SELECT, UPDATE ON {{ this }} TO `analysts`", None),
        ("post-hook", "ALTER TABLE {{ this }}\n  SET\n  TBLPROPERTIES ('a' = 'b')", None),
        ("post-hook", "ALTER TABLE {{ this }} SET TAGS ('a' = 'b')", None),
        ("post-hook", "{% set name = this.name %} vacuum {{ name }} -- never delete from it", None),
        ("post-hook", "insert into audit.runs select current_timestamp()", None),
        ("post-hook", "insert into {{ target.schema }}.audit values ('{{ this }}', now())", None),
        ("post-hook", "delete from {{ ref('audit') }} where name = '{{ this.name }}'", None),
        ("post-hook", "create or replace view v as select replace(a, 'x', 'y') from {{ this }}",
         None),
    ],
)  # fmt: skip
def test_a_hook_that_changes_rows_or_the_session_is_not_passed_over(
    compiled, tmp_path, kind, hook, word
):
    def change(manifest):
        node = manifest["nodes"]["model.shop.orders_kept"]
        node["config"][kind] = hook if isinstance(hook, list) else [hook]
        manifest["macros"] |= {
            "macro.lib.tidy": {"macro_sql": "{{ return(adapter.dispatch('t', 'lib')(r)) }} t(r)"},
            "macro.dbt.default__clear": {"macro_sql": "truncate table {{ relation }}"},
            "macro.lib.spark__t": {"macro_sql": "merge into {{ relation }} using ..."},
        }

    _, rows = imported(compiled(change), tmp_path / "new")
    told = kind.replace("_", "-")
    why = f"its {told} may change its rows or its session ({word}), and is not run here"
    assert reasons(rows).get("model.shop.orders_kept") == (why if word else None)


def described(**texts):
    return {name: {"name": name, "description": text} for name, text in texts.items()}


def test_comments_of_columns_stand_in_the_order_of_the_query(compiled, tmp_path):
    def change(manifest):
        node = manifest["nodes"]["model.shop.orders_kept"]
        node["columns"] = described(GONE="no more", N="It's\nmany", o_id="Of the order", at="")
        node["compiled_code"] = (
            "with a as (select o_id, at from shop.stg_orders),"
            " final as (select a.*, 1 as n from a) select * from final"
        )
        node = manifest["nodes"]["model.shop.revenue"]
        node["columns"] = described(day="The day")
        node["compiled_code"] = "select * from shop.orders_kept join x.y using (o_id)"

    project, rows = imported(compiled(change), tmp_path / "new")
    assert project.table("orders_kept").columns == (("o_id", "Of the order"), ("n", "It's\nmany"))
    assert project.table("revenue").columns == ()
    assert [rows[f"model.shop.{name}"].left_out[-1] for name in ("orders_kept", "revenue")] == [
        "comments of GONE: its query has no such column",
        "comments of columns (day): the text of its query does not tell its columns",
    ]


def test_a_table_that_dbt_does_not_know_is_told(compiled, tmp_path):
    def change(manifest):
        code = "select o_id from shop.stg_orders join other.t using (o_id)"
        manifest["nodes"]["model.shop.orders_kept"]["compiled_code"] = code

    _, rows = imported(compiled(change), tmp_path / "new")
    assert rows["model.shop.orders_kept"].changed[-1] == (
        "reads other.t by its name: the incremental model names a table that is not imported"
    )


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select o_id from table_changes('shop.orders_kept', 0) join shop.stg_orders using (o_id)",
         "its SQL cannot be read: table_changes reads a table that only a text"),
        ("select o_id from shop.stg_orders where f('`shop`.`Orders_Kept`')",
         "it names model.shop.orders_kept in a text alone: what reads it so reads dbt's own table"),
        ("select o_id, 'shop.orders_kept' as origin from shop.orders_kept", None),
        ("select 'shop.orders_kept' as x from shop.stg_orders where x in ('shop.orders_kept')",
         None),
        ("select o_id, 'shop.orders_kept_too' as x, 'shop' as y from shop.stg_orders", None),
    ],
)  # fmt: skip
def test_a_table_that_a_text_names_would_be_dbts_own(compiled, tmp_path, query, reason):
    def change(manifest):
        node = manifest["nodes"]["model.shop.revenue"]
        node["config"]["partition_by"], node["columns"] = None, {}
        node["compiled_code"], node["extra_ctes"] = query, []
        node["depends_on"]["nodes"] = ["model.shop.stg_orders", "model.shop.orders_kept"]

    _, rows = imported(compiled(change), tmp_path / "new")
    why = reasons(rows).get("model.shop.revenue")
    assert (why or "").startswith(reason or "")
    assert (why is None) == (reason is None)


def version_11(manifest):
    manifest["metadata"]["dbt_schema_version"] = "https://schemas.getdbt.com/dbt/manifest/v11.json"


def on_postgres(manifest):
    manifest["metadata"]["adapter_type"] = "postgres"


@pytest.mark.parametrize(
    ("change", "options", "code", "what"),
    [
        (version_11, {}, "manifest-version",
         "the manifest's format is 'https://schemas.getdbt.com/dbt/manifest/v11.json'"),
        (on_postgres, {}, "dbt-adapter", "the project was compiled for postgres"),
        (None, {"empty": True}, "dbt-options", "the project was compiled with --empty"),
        (None, {"defer": True}, "dbt-options", "the project was compiled with --defer"),
    ],
)  # fmt: skip
def test_manifests_that_are_not_read(compiled, change, options, code, what):
    with pytest.raises(UserError) as raised:
        read_dbt(compiled(change, **options))
    assert (raised.value.code, raised.value.what) == (code, what)


def test_a_project_that_was_not_compiled(compiled):
    folder = compiled()
    shutil.rmtree(folder / "target")
    with pytest.raises(UserError, match="no-manifest"):
        read_dbt(folder)


def test_without_a_feed_nothing_is_taken_and_nothing_written(compiled, tmp_path):
    def change(manifest):
        manifest["sources"][ORDERS]["config"]["meta"] = manifest["sources"][ORDERS]["meta"] = {}

    with pytest.raises(UserErrors) as raised:
        imported(compiled(change), tmp_path / "new")
    assert raised.value.errors[0].render() == (
        "[nothing-taken] no table of the dbt project shop can be imported; a table is kept fresh "
        "where it is computed from a feed. No source has `meta.freshline.feed`, which says where "
        "its rows come from: without a feed nothing has news. docs/import.md shows how to give "
        "one."
    )
    assert "[not-taken] model.shop.revenue: it reads no table of the new project" in str(
        raised.value
    )
    assert not (tmp_path / "new").exists()


def test_a_wrong_feed_is_the_users_to_correct(compiled, tmp_path):
    def change(manifest):
        for place in (manifest["sources"][ORDERS], manifest["sources"][ORDERS]["config"]):
            place["meta"]["freshline"]["feed"]["format"] = "xml"

    with pytest.raises(UserErrors) as raised:
        imported(compiled(change), tmp_path / "new")
    assert "feed orders_feed" in str(raised.value)
    assert not (tmp_path / "new").exists()


def test_a_folder_in_use_is_left_alone(compiled, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="not-empty"):
        imported(compiled(), tmp_path / "new")
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["mine.txt"]
