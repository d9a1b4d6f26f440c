"""What a compile says of dbt's tables, and what it does not."""

from __future__ import annotations

import json
import shutil

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


DAILY = "select current_date() as day, o_id, price from {}"
NO_BRANCH = DAILY.format("{{ ref('stg_orders') }}")
BRANCH = NO_BRANCH + " {% if is_incremental() %} where "
END = " from {{ this }} t) {% endif %}"
OF_TODAY = (
    BRANCH + "o_id not in (select o_id from {{ this }} where day = current_date()) {% endif %}"
)
OF_TABLE = BRANCH + "not exists (select 1 from {{ this }} t where t.day = at) {% endif %}"
ONE_A_DAY = BRANCH + "{{ dbt.current_timestamp() }} > (select max(t.day)" + END
NEWER = BRANCH + "at > (select coalesce(max(day), '1900-01-01')" + END
SAME_NAME = BRANCH + "day >= (select max(day)" + END


@pytest.fixture
def kept(compiled):
    """A function that gives the item of an incremental model with another text and options."""

    def make(code, query=DAILY, change=None, **config):
        def change_all(manifest):
            manifest["macros"]["macro.dbt.current_timestamp"] = {"macro_sql": ""}
            node = manifest["nodes"][KEPT]
            node["config"] |= {"unique_key": None} | config
            node["raw_code"] = code
            node["compiled_code"] = query.format("shop.stg_orders")
            if "is_incremental" not in code:
                node["depends_on"]["macros"] = []
            if change is not None:
                change(manifest["nodes"])

        (item,) = (each for each in read_dbt(compiled(change_all)).items if each.key == KEPT)
        return item

    return make


@pytest.mark.parametrize(
    ("code", "config", "taken"),
    [
        # One row for each day and order: dbt merges by both, or replaces today's partition.
        (NO_BRANCH, {"unique_key": ["Day", "o_id"], "incremental_strategy": "merge"}, False),
        (NO_BRANCH, {"unique_key": "day || o_id", "incremental_strategy": "merge"}, False),
        (NO_BRANCH, {"partition_by": ["day"], "incremental_strategy": "insert_overwrite"}, False),
        (NO_BRANCH, {"incremental_predicates": ["day = current_date()"],
                     "incremental_strategy": "replace_where"}, False),
        # All rows are added once more by each run.
        (NO_BRANCH, {"incremental_strategy": "append"}, False),
        (NO_BRANCH, {"incremental_strategy": None}, False),
        (OF_TODAY, {"incremental_strategy": "append"}, False),
        (OF_TABLE, {"incremental_strategy": "append"}, False),
        (ONE_A_DAY, {"incremental_strategy": "append"}, False),
        # The time tells no rows apart.
        (NO_BRANCH, {"unique_key": "o_id", "incremental_strategy": "merge"}, True),
        (NO_BRANCH, {"unique_key": "o_id", "incremental_strategy": "merge",
                     "partition_by": ["day"]}, True),
        (NO_BRANCH, {"incremental_strategy": "insert_overwrite", "partition_by": "o_id"}, True),
        (NEWER, {"incremental_strategy": "append"}, True),
        (SAME_NAME, {"incremental_strategy": "append"}, True),
    ],
)  # fmt: skip
def test_a_time_by_which_rows_are_told_apart_is_no_time_of_loading(kept, code, config, taken):
    item = kept(code, **config)
    refusal = item.refusal or ""
    assert refusal.startswith("it asks the clock (current_date)") != taken
    assert ("day is the time of the table's last update" in str(item.changed)) == taken


@pytest.mark.parametrize(
    "query",
    [
        "select o_id, current_date() as today, datediff(today, at) as age from {}",
        "select o_id, current_date() as today from {} qualify today > at",
        "select o_id, date 'today' as day, price from {} where at > timestamp 'yesterday'",
    ],
)
def test_a_column_that_is_made_of_the_clocks_is_the_clocks(kept, query):
    assert "it asks the clock" in (kept(NEWER, query, incremental_strategy="append").refusal or "")


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_rows_that_each_run_adds_once_more_are_told(kept, strategy):
    query = "select o_id, price from {}"
    config = {"incremental_strategy": strategy, "unique_key": strategy == "merge" and "o_id"}
    item = kept(query, query, **config)
    assert item.refusal is None
    told = "it does not ask is_incremental, so each run of dbt adds all rows of its query once more"
    assert (told in str(item.changed)) == (strategy == "append")


def test_rows_that_no_full_refresh_drops_are_not_those_of_a_query(kept):
    query = "select o_id, price from {}"
    item = kept(query, query, full_refresh=False, unique_key="o_id")
    assert (item.refusal or "").startswith("its full_refresh is false: no run of dbt makes its")


RECENT = "select o_id, c_id, at, price from {} where at >= current_date() - 3"


def test_the_clock_is_found_behind_an_ephemeral_model(kept):
    def change(nodes):
        nodes[STG]["compiled_code"] = RECENT.format("raw.orders")
        nodes[KEPT]["depends_on"]["nodes"] = ["model.shop.eph"]

    item = kept("x", "select * from {}", change, unique_key="o_id")
    assert (item.refusal or "").startswith(f"it asks the clock (current_date in {STG})")


STAMPED = (
    "with final as (select o_id, price, current_timestamp() as loaded_at from shop.stg_orders)"
    " select *{} from final{}"
)


@pytest.mark.parametrize("materialized", ["table", "materialized_view"])
@pytest.mark.parametrize(
    ("query", "of_table", "refused", "told"),
    [
        ("select * from shop.revenue", RECENT.format("shop.stg_orders"), True, False),
        ("select * from shop.revenue", "select uuid() as id from shop.stg_orders", True, False),
        ("select o_id from shop.revenue", STAMPED.format("", ""), False, False),
        ("select o_id, loaded_at from shop.revenue", STAMPED.format("", ""), False, True),
        ("select o_id from shop.revenue", STAMPED.format("", " where loaded_at > at"), True, False),
        ("select o_id from shop.revenue", STAMPED.format(", loaded_at - at as age", ""), True,
         False),
        ("select o_id from shop.revenue", STAMPED.format(", f(at, loaded_at, 1)", ""), True, False),
    ],
)  # fmt: skip
def test_an_incremental_model_keeps_what_a_table_that_asks_the_clock_no_longer_has(
    kept, materialized, query, of_table, refused, told
):
    def change(nodes):
        nodes[REVENUE]["config"]["materialized"] = materialized
        nodes[REVENUE]["compiled_code"] = of_table
        nodes[REVENUE]["depends_on"]["nodes"] = [STG]
        nodes[KEPT]["depends_on"]["nodes"] = [REVENUE]

    item = kept("x", query, change, unique_key="o_id", incremental_strategy="merge")
    assert ((item.refusal or "").startswith("it asks ")) == refused
    assert (f"it reads loaded_at of {REVENUE}" in str(item.changed)) == told


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select max(Loaded_at) as at from shop.orders_kept", True),
        ("select at from shop.orders_kept", False),
        ("select at, now() as loaded_at from shop.orders_kept", False),
    ],
)
def test_a_reader_of_the_time_of_loading_is_told(compiled, query, told):
    def change(manifest):
        nodes = manifest["nodes"]
        query_of = "select o_id, current_timestamp() as loaded_at from shop.stg_orders"
        nodes[KEPT]["compiled_code"] = query_of
        nodes[REVENUE]["compiled_code"] = query
        nodes[REVENUE]["depends_on"]["nodes"] = [KEPT]

    (item,) = (each for each in read_dbt(compiled(change)).items if each.key == REVENUE)
    assert (f"it reads loaded_at of {KEPT}, which is the time" in str(item.changed)) == told


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


CENTS = "{% macro cents(c) %}({{ c }} / 100){% endmacro %}"


@pytest.fixture
def whole(compiled):
    """A function that writes the project with its files and a macro, but for some of them."""

    def make(change=None, without=()):
        def with_macro(manifest):
            manifest["macros"]["macro.shop.cents"] = {
                "name": "cents", "package_name": "shop", "original_file_path": "macros/cents.sql",
                "macro_sql": CENTS,
            }  # fmt: skip
            manifest["disabled"] = {"model.shop.off": [{"original_file_path": "models/off.sql"}]}
            if change is not None:
                change(manifest)

        folder = compiled(with_macro)
        nodes = json.loads((folder / "target" / "manifest.json").read_text())["nodes"].values()
        files = {each["original_file_path"]: each.get("raw_code") or "" for each in nodes}
        files |= {"macros/cents.sql": f"-- of money\r\n{CENTS}\r\n", "models/off.sql": "select 1"}
        for path in files.keys() - set(without):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(files[path])
        return folder

    return make


def stale(folder):
    return [each for each in read_dbt(folder).notes if "import again" in each]


def test_a_project_as_it_was_compiled_has_no_note_of_its_files(whole):
    folder = whole()
    (folder / "models" / "orders.md").write_text("{% docs o %}x{% enddocs %}")
    (folder / "models" / "later.sql").write_text("\n")
    assert stale(folder) == []


def test_a_macro_that_changed_after_the_compile_is_told(whole):
    folder = whole()
    (folder / "macros" / "cents.sql").write_text(CENTS.replace("100", "1000"))
    (note,) = stale(folder)
    assert note.startswith("`macros/cents.sql` changed after the compile: ")


def test_files_that_came_or_went_after_the_compile_are_told(whole):
    folder = whole(without=["models/revenue.sql", "macros/cents.sql"])
    (folder / "macros").mkdir()
    (folder / "models" / "more").mkdir()
    (folder / "models" / "more" / "later.sql").write_text("select 1")
    gone, new = stale(folder)
    assert gone.startswith(
        "These files are not there any more: `models/revenue.sql`, `macros/cents.sql`. "
    )
    told = "These files came after the compile, or dbt did not read them: `models/more/later.sql`. "
    assert new.startswith(told)
    (folder / ".dbtignore").write_text("more/")
    assert stale(folder) == [gone]


@pytest.mark.parametrize("line", ["target-path: build # x", "target-path: 'build'"])
def test_an_old_target_beside_another_target_path_is_not_read(compiled, line):
    folder = compiled()
    shutil.copytree(folder / "target", folder / "build")
    compiled(lambda manifest: manifest["nodes"].pop(REVENUE))
    (folder / "dbt_project.yml").write_text(f"name: shop\n{line}\n")
    assert REVENUE in {each.key for each in read_dbt(folder).items}


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
        "skip_matched_step": True,
        "skip_not_matched_step": True,
        "matched_condition": "s.at > t.at",
        "not_matched_condition": "s.price > 0",
        "not_matched_by_source_action": "delete",
        "not_matched_by_source_condition": "t.at > '2024-01-01'",
        "on_schema_change": "append_new_columns",
    }

    def change(manifest):
        manifest["nodes"][KEPT]["config"] |= options

    (item,) = (each for each in read_dbt(compiled(change)).items if each.key == KEPT)
    assert {each.partition(":")[0] for each in item.left_out} == options.keys()
