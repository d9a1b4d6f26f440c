"""Incremental models of dbt that keep what their queries do not give again."""

from __future__ import annotations

import pytest

from freshline.importing.dbt.project import read_dbt

KEPT, REVENUE, STG = "model.shop.orders_kept", "model.shop.revenue", "model.shop.stg_orders"


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


FACT = (
    "select o.o_id, o.price, c.segment, row_number() over (partition by o.o_id order by o.at) as n"
    " from shop.stg_orders o join shop.revenue c on o.c_id = c.c_id"
)
IMPORTED = (
    "with orders as (select * from shop.stg_orders), dim as (select * from `shop`.`revenue`),"
    " final as (select orders.*, dim.segment from orders left join dim using (c_id))"
    " select * from final"
)
DIM = "select c_id, segment, {} from shop.stg_orders where c_id > 0"
UNION = "select -1 as c_id, 'x' as segment, {} union all select c_id, segment, {} from raw.c"


@pytest.fixture
def star(kept):
    """A function that gives an incremental model over a table of another query, and a view."""

    def make(of_table, query=FACT, view="select 1", **config):
        def change(nodes):
            nodes[REVENUE]["compiled_code"] = of_table
            nodes[REVENUE]["depends_on"]["nodes"] = []
            nodes[STG]["compiled_code"] = view
            nodes[STG]["depends_on"]["nodes"] = [REVENUE] if REVENUE[11:] in view else []
            nodes[KEPT]["depends_on"]["nodes"] = [STG] + [REVENUE] * ("revenue" in query)

        return kept("x", query, change, unique_key="o_id", incremental_strategy="merge", **config)

    return make


@pytest.mark.parametrize("query", [FACT, IMPORTED])
@pytest.mark.parametrize(
    "of_table",
    [
        DIM.format("datediff(current_date(), birth) as age"),
        DIM.format("case when valid_to > current_date() then 1 else 0 end as is_current"),
        DIM.format("case when valid_to > current_date() then 1 else 0 end is_current"),
        DIM.format("coalesce(valid_to, current_timestamp()) as valid_to"),
        DIM.format("from_utc_timestamp(current_timestamp(), 'America/Chicago') as etl_at"),
        DIM.format("date_format(current_timestamp(), 'yyyyMMddHHmm') as batch"),
        DIM.format("cast(current_timestamp() as string) as batch"),
        DIM.format("monotonically_increasing_id() as sk"),
        DIM.format("uuid() as sk"),
        UNION.format("current_timestamp() as etl_at", "current_timestamp() as etl_at"),
        UNION.format("current_timestamp() as etl_at", "now()"),
        UNION.format("0 as age", "datediff(current_date(), birth) as age"),
        UNION.format("0 as age", "datediff(current_date(), birth)"),
        (
            "with a as (select c_id, segment, now() as made from raw.c),"
            " b as (select c_id, segment, made as etl_at from a) select * from b"
        ),
        (
            "with a as (select *, datediff(current_date(), birth) as age from raw.c)"
            " select c_id, segment, age from a"
        ),
    ],
)
def test_a_column_of_a_dimension_that_nobody_reads_keeps_no_fact(star, of_table, query):
    item = star(of_table, query)
    assert item.refusal is None
    assert "it reads" not in str(item.changed)


AGE = DIM.format("datediff(current_date(), birth) as age")


@pytest.mark.parametrize(
    ("of_table", "query"),
    [
        (AGE, FACT.replace("c.segment", "c.age")),
        (AGE, FACT.replace("c.segment", "c.*")),
        (AGE, FACT + " where age > 18"),
        (AGE, IMPORTED.replace("dim.segment", "dim.*")),
        (AGE, IMPORTED.replace("select * from `", "select distinct * from `")),
        (AGE, IMPORTED.replace("select * from `shop`.`revenue`",
                               "select 1, 2, 3 union select * from shop.revenue")),
        (AGE, IMPORTED.replace("dim as (", "dim (c_id, segment, x) as (")),
        (AGE, FACT.replace("revenue c on o.c_id = c.c_id", "revenue as c (c_id, segment, x)")),
        (AGE, FACT.replace("join", "natural join")),
        (AGE, "select o_id from shop.stg_orders where c_id in (select hash(*) from shop.revenue)"),
        (AGE.replace("select", "select distinct"), FACT),
        (AGE + " group by 1, 2, 3", FACT),
        (AGE + " group by all", FACT),
        (AGE + " qualify age > 18", FACT),
        (("with a as (select c_id, 'x' as segment, uuid() as u from raw.c)"
         " select c_id, segment, u from a group by c_id, segment, u"), FACT),
        (AGE, IMPORTED.replace("select * from `", "from `")),
        (("with b as (select c_id, segment, datediff(current_date(), birth) as age from raw.c)"
         " select c_id, segment, xxhash64(*) as h from b"), FACT.replace("c.segment", "c.h")),
        (("with b as (select c_id, segment, uuid() as age from raw.c)"
         " select c_id, segment, sha2(to_json(struct(b.*)), 256) as h from b"),
         FACT.replace("c.segment", "c.h")),
        (AGE, ("with a as (with b as (select * from shop.revenue) select b.c_id, b.age as x from"
               " b) select o.o_id, a.x from shop.stg_orders o join a on o.c_id = a.c_id")),
        (AGE + " union select 1, 'x', 2", FACT),
        (AGE.replace("where", "where birth < current_date() and"), FACT),
        (AGE + " and c_id in (select unix_timestamp() as n from raw.c)", FACT),
        ("select c_id, segment from shop.stg_orders where c_id in (select now() as at from x)",
         FACT),
        ("select c_id, explode(array(current_date(), at)) as day from raw.c", FACT),
        (("select c_id, 1 as age, 2 as b from raw.c union all select c_id, b, age from"
         " (select c_id, uuid() as b, 3 as age from raw.c)"), FACT.replace("c.segment", "c.age")),
    ],
)  # fmt: skip
def test_a_column_of_a_dimension_that_decides_anything_keeps_facts(star, of_table, query):
    assert (star(of_table, query).refusal or "").startswith("it asks ")


@pytest.mark.parametrize(
    ("view", "taken"),
    [
        (("with source as (select * from shop.revenue), renamed as (select c_id, segment, o_id,"
         " price, at from source) select * from renamed"), True),
        ("select * from shop.revenue", False),
        ("select c_id, age as years from shop.revenue", False),
    ],
)  # fmt: skip
def test_a_view_between_may_hand_a_column_on(star, view, taken):
    refusal = star(AGE, "select o_id, price from shop.stg_orders", view).refusal or ""
    assert refusal.startswith("it asks the clock (current_date in") != taken


@pytest.mark.parametrize(
    ("days", "taken"),
    [
        ("sequence(date '2020-01-01', current_date())", True),
        ("sequence(to_date('2020-01-01'), current_date(), interval 1 day)", True),
        ("sequence(current_date() - 30, current_date())", False),
        ("sequence(date '2020-01-01', date '2020-02-01' + cast(rand() * 9 as int))", False),
    ],
)
def test_a_calendar_up_to_today_is_told(star, days, taken):
    item = star(f"select c_id, segment, explode({days}) as day from raw.c")
    assert (item.refusal is None) == taken
    assert (f"{REVENUE} has a row for each day up to" in str(item.changed)) == taken


LOADED = "select o_id, price, current_timestamp() as loaded_at from {}"
IN_ALL = LOADED.format("t") + " {% if is_incremental() %} where "


@pytest.mark.parametrize(
    "code",
    [
        IN_ALL + "at > (select max(cast(loaded_at as date)) from {{ this }}) {% endif %}",
        IN_ALL + "at > (select max(date(loaded_at)) from {{ this }}) {% endif %}",
        IN_ALL
        + "at > (select loaded_at from {{ this }} order by loaded_at desc limit 1){% endif %}",
        IN_ALL + "at > (select max(loaded_at) from {{ this }}) and at <= current_timestamp()"
        "{% endif %}",
        IN_ALL
        + "date(loaded_at) >= date_sub((select max(loaded_at) from {{ this }}), 1){% endif %}",
        IN_ALL + "at > (select max(loaded_at) from {{ this }}) - {{ var('days') }}{% endif %}",
    ],
)
@pytest.mark.parametrize("strategy", ["merge", "delete+insert"])
def test_which_rows_of_a_key_a_run_takes_decides_nothing(kept, code, strategy):
    item = kept(code, LOADED, unique_key="o_id", incremental_strategy=strategy)
    assert item.refusal is None
    assert "loaded_at is the time of the table's last update" in str(item.changed)


def test_a_window_by_the_name_of_a_time_is_by_the_tables_column(kept):
    query = (
        "select o_id, current_timestamp() as updated_at,"
        " row_number() over (partition by o_id order by updated_at desc) as n from {}"
    )
    assert kept("x", query, unique_key="o_id", incremental_strategy="merge").refusal is None


HIDING = {
    "macro.shop.once_a_day": {"macro_sql": "{% macro once_a_day(c) %}{% if is_incremental() %}"
        " where current_date() > (select max({{ c }}) from {{ this }}){% endif %}{% endmacro %}",
        "depends_on": {"macros": ["macro.dbt.is_incremental"]}},
    "macro.dbt.is_incremental": {"macro_sql": ""},
    "macro.dbt.dateadd": {"macro_sql": ""},
    "macro.shop.only": {"macro_sql": "{% macro only(c) %}{{ c }} = current_date(){% endmacro %}"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "taken"),
    [
        ("{{ once_a_day('day') }}", False),
        (("{{ 'where current_date() not in (select day from ' ~ this ~ ')'"
         " if is_incremental() else '' }}"), False),
        ("{% if is_incremental() %}{% set w = 'where day = current_date()' %}{% endif %}{{ w }}",
         False),
        (("{% if is_incremental() %}{% set w %}where day = current_date(){% endset %}{% endif %}"
         "{{ w }}"), False),
        ("{% set inc = is_incremental() %}{% if inc %} where day > at {% endif %}", False),
        (("{% if is_incremental() %} where at > (select 1 from {{ this }}) and {{ only('day') }}"
         "{% endif %}"), False),
        (("{% set snap = 'day' %}{% if is_incremental() %} where not exists (select 1 from"
         " {{ this }} where {{ snap }} = current_date()) {% endif %}"), False),
        (("{% if is_incremental() %} where date '{{ var('ds') }}' > (select max(day) from"
         " {{ this }}) {% endif %}"), False),
        ("{% if is_incremental() %} where status = 'open' {% endif %}", False),
        (("{% set ds = var('ds') %}{% if is_incremental() %} where date '{{ ds }}' > (select"
         " max(day) from {{ this }}) {% endif %}"), False),
        (("{% set d = var('days', 3) %}{% if is_incremental() %} where at > (select max(at) -"
         " {{ d }} from {{ this }}) {% endif %}"), True),
        ((" where '{{ this.name }}' <> '{{ this }}' {% if is_incremental() %} and at > (select"
         " max(at) from {{ this }}) {% endif %}"), True),
        ("{% if is_incremental() %} where at > (select max(at) from {{ this }}) {% endif %}", True),
        (("{% set by = 'at' %}{% if is_incremental() %} where {{ by }} >= (select"
         " {{ dbt.dateadd('hour', -3, 'max(' ~ by ~ ')') }} from {{ this }}) {% endif %}"), True),
        (("{% if is_incremental() %} where at > (select max(at) - {{ var('days', 3) }} from"
         " {{ this }} join {{ ref('stg_orders') }} using (o_id)) {% endif %}"), True),
    ],
)  # fmt: skip
def test_what_limits_added_rows_has_to_be_read(kept, compiled, code, taken):
    """A row of each day may be wanted, and nothing shows it."""

    def change(manifest):
        manifest["macros"] |= HIDING
        node = manifest["nodes"][KEPT]
        node["config"] |= {"unique_key": None, "incremental_strategy": "append"}
        node["raw_code"] = NO_BRANCH + code
        node["compiled_code"] = DAILY.format("shop.stg_orders")

    (item,) = (each for each in read_dbt(compiled(change)).items if each.key == KEPT)
    assert (item.refusal or "").startswith("it asks the clock (current_date)") != taken


def test_a_text_of_the_day_is_a_day(kept):
    query = "select date_format(current_timestamp(), 'yyyyMMdd') as day, o_id, price from {}"
    code = "{% if is_incremental() %} where status = 'open' {% endif %}"
    refusal = kept(code, query, unique_key=None, incremental_strategy="append").refusal or ""
    assert refusal.startswith("it asks the clock (current_timestamp)")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select max(Loaded_at) as at from shop.orders_kept", True),
        ("select at from shop.orders_kept", False),
        ("select at, now() as loaded_at from shop.orders_kept", False),
        ("select * from shop.orders_kept", True),
        ("with k as (select * from shop.orders_kept) select k.loaded_at from k", True),
        ("with k as (select * from shop.orders_kept) select k.o_id from k", False),
        ("select f.o_id, c.loaded_at from shop.orders_kept f join raw.c as c using (o_id)", False),
        ("select c.modified loaded_at from shop.orders_kept c", False),
        ("select max(c.at) loaded_at from shop.orders_kept c", False),
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
