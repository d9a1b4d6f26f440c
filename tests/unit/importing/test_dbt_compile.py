"""What a compile says of dbt's tables, and what it does not."""

from __future__ import annotations

import json

import pytest

from freshline.importing.dbt.project import read_dbt

KEPT, REVENUE, STG = "model.shop.orders_kept", "model.shop.revenue", "model.shop.stg_orders"


@pytest.mark.parametrize("is_there", [True, False])
def test_options_of_the_compile_that_are_not_known_are_told(compiled, is_there):
    def change(manifest):
        manifest["nodes"].pop("model.shop.asked")  # it was not compiled
        manifest["nodes"][REVENUE]["raw_code"] += "{{ var('limit', '') }}"

    folder = compiled(change)
    if not is_there:
        (folder / "target" / "run_results.json").unlink()
    found = read_dbt(folder)
    (item,) = (each for each in found.items if each.key == REVENUE)
    assert ("its SQL holds what the compile was given (var)" in item.changed) != is_there
    told = "not known whether the compile had `--empty`, `--sample`, `--defer` or `--vars`"
    assert (told in str(found.notes)) != is_there


@pytest.mark.parametrize(
    ("query", "of", "reason"),
    [
        ("select current_date() as day, count(*) as n from {}", KEPT,
         "it asks the clock (current_date)"),
        ("select o_id, price from {} where o_day > current_timestamp", KEPT,
         "it asks the clock (current_timestamp)"),
        ("select distinct o_id, current_timestamp as loaded_at from {}", KEPT,
         "it asks the clock (current_timestamp)"),
        ("select o_id, date_trunc('day', now()) as day, price from {}", KEPT,
         "it asks the clock (now)"),
        ("select 1 as o_id, now() as at from {0} union all select 2, now() from {0}", KEPT,
         "it asks the clock (now)"),
        ("select uuid() as id, o_id, price from {}", KEPT, "it asks chance (uuid)"),
        ("select o_id, price, now() as at from {}", STG,
         f"it asks the clock (now in {STG})"),
        ("select o_id, price, 'now()' as at from {} -- now()", KEPT, None),
    ],
)  # fmt: skip
def test_an_incremental_model_that_asks_clock_or_chance_keeps_what_no_query_gives(
    compiled, query, of, reason
):
    def change(manifest):
        manifest["nodes"][of]["compiled_code"] = query.format("shop.stg_orders")

    (item,) = (each for each in read_dbt(compiled(change)).items if each.key == KEPT)
    assert (item.refusal or "").partition(":")[0] == (reason or "")


@pytest.mark.parametrize(
    "column",
    [
        "current_timestamp as loaded_at", "current_timestamp() loaded_at", "now() AS `loaded_at`",
        "cast(current_timestamp() as date) as loaded_at", "to_date(now()) as loaded_at",
    ],
)  # fmt: skip
def test_a_column_with_the_time_of_loading_is_told(compiled, column):
    """Such columns are in many models; the rows are the query's all the same."""

    def change(manifest):
        query = f"with s as (select * from shop.stg_orders) select o_id, {column}, price from s"
        manifest["nodes"][KEPT]["compiled_code"] = query

    (item,) = (each for each in read_dbt(compiled(change)).items if each.key == KEPT)
    assert item.refusal is None
    told = "loaded_at is the time of the table's last update, in all its rows"
    assert any(each.startswith(told) for each in item.changed)


def test_a_table_that_asks_the_clock_is_its_query(compiled):
    def change(manifest):
        manifest["nodes"][REVENUE]["compiled_code"] = "select now() as at from shop.stg_orders"

    (item,) = (each for each in read_dbt(compiled(change)).items if each.key == REVENUE)
    assert item.refusal is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace("o_id", "c_id"), True),
        (lambda text: f"\ufeff{text}\n\n".replace("\n", "\r\n"), False),
        (None, False),
    ],
)
def test_a_file_that_changed_after_the_compile_is_told(compiled, change, told):
    """Not refused: what dbt compiled was right when it was compiled."""
    folder = compiled()
    nodes = json.loads((folder / "target" / "manifest.json").read_text())["nodes"]
    path = folder / nodes[REVENUE]["original_file_path"]
    if change is not None:
        path.parent.mkdir()
        path.write_bytes(change(nodes[REVENUE]["raw_code"]).encode())
    found = read_dbt(folder)
    assert ("`models/revenue.sql` changed after the compile: " in str(found.notes)) == told
    assert not [each for each in found.items if each.key == REVENUE and each.refusal]


def test_a_file_of_a_package_is_not_looked_for_in_the_project(compiled):
    def change(manifest):
        manifest["nodes"][REVENUE]["package_name"] = "lib"

    folder = compiled(change)
    (folder / "models").mkdir()
    (folder / "models" / "revenue.sql").write_text("select 1")
    assert "changed after the compile" not in str(read_dbt(folder).notes)


def test_options_of_merges_that_fall_away_are_named(compiled):
    options = {
        "incremental_predicates": ["DBT_INTERNAL_DEST.at > '2024-01-01'"],
        "merge_update_columns": ["price"],
        "merge_exclude_columns": ["at"],
        "on_schema_change": "append_new_columns",
    }

    def change(manifest):
        manifest["nodes"][KEPT]["config"] |= options

    (item,) = (each for each in read_dbt(compiled(change)).items if each.key == KEPT)
    assert {each.partition(":")[0] for each in item.left_out} == options.keys()
