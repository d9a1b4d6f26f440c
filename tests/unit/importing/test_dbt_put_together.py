"""Statements of hooks that Jinja puts together, and tables that it hands on to them."""

from __future__ import annotations

import pytest

from freshline.importing.dbt.hooks import THIS, changes
from freshline.importing.dbt.macros import Macros
from freshline.importing.dbt.project import read_dbt

KEPT, REVENUE = "model.shop.orders_kept", "model.shop.revenue"
START = "operation.shop.shop-on-run-start-0"
PURGE = "{% macro purge(r) %}delete from {{ r }} where price < 0{% endmacro %}"


@pytest.fixture
def refused(compiled):
    """A function that reads the project with a hook of a model or an operation: who is refused."""

    def make(hook, of=REVENUE, reads=(), **macros):
        def change(manifest):
            node = {"resource_type": "operation", "raw_code": hook, "depends_on": {"nodes": reads}}
            if of == START:
                manifest["nodes"][START] = node
            else:
                manifest["nodes"][of]["config"]["post-hook"] = [{"sql": hook}]
            manifest["macros"] |= {
                f"macro.{name.replace('__', '.')}": {"macro_sql": code}
                for name, code in macros.items()
            }

        found = read_dbt(compiled(change)).items
        return {item.key for item in found if item.key in {KEPT, REVENUE} and item.refusal}

    return make


def of_session(text):
    return [change.words for change in changes(text, Macros({})) if change.session]


def tables(text):
    return [change.table for change in changes(text, Macros({}))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{% do run_query('set ' ~ key ~ ' = ' ~ value) %}", "SET"),
        ("{% do run_query('set ' + key + '=' + value) %}", "SET"),
        ("{% do run_query('SET {} = {}'.format(key, value)) %}", "SET"),
        ("{% do run_query('set {0}={1}'.format(key, value)) %}", "SET"),
        ("{% do run_query('set %s = %s' % (key, value)) %}", "SET"),
        ("{{ 'set ' ~ key ~ '=' ~ value }}", "SET"),
        ("{{ ['set ', key, '=', value] | join }}", "SET"),
        ("{{ run('set spark.sql.session.timeZone', zone) }}", "SET"),
        ("{% set verb = 'set' %}{{ verb }} spark.sql.ansi.enabled = true", "SET"),
        ("set spark.{% if a %}x{% else %}y{% endif %} = 1", "SET"),
        ("delete from audit.runs; {{ 'set ' ~ key ~ '=' ~ value }}", "SET"),
        ("{{ log('zone') }} set time zone 'Europe/Berlin'", "SET"),
        ("{{ log('a') }} {{ print('b') }}\nuse other", "USE"),
        ("set catalog other", "SET"),
        ("{{ 'reset ' ~ key }}", "RESET"),
        ("{{ 'use ' ~ target.schema }}", "USE"),
        ("{{ 'create ' ~ 'function ' ~ name ~ ' as ' ~ code }}", "CREATE FUNCTION"),
        ("create {{ 'or replace' }} function f as 'x'", "CREATE {{ 'OR REPLACE' }} FUNCTION"),
    ],
)
def test_a_statement_of_the_session_is_seen_wherever_its_parts_come_from(text, words):
    assert words in of_session(text)


@pytest.mark.parametrize(
    "text",
    [
        "update {{ this }} set price = 0",
        "{% do run_query('alter table ' ~ this ~ ' set tblproperties (a = b)') %}",
        "{{ log('set ' ~ key ~ ' = 1') }}",
        "{% set what = 'set up' %}",
        "{% set names = 'select ' ~ columns ~ ' from ' ~ t %}",
        "{{ audit(this) }} {{ this }} set a = 1",
    ],
)
def test_the_same_words_elsewhere_are_no_statement_of_the_session(text):
    assert of_session(text) == []


@pytest.mark.parametrize(
    "text",
    [
        '{% do run_query("alter table {} drop if exists partition (d = 1)".format(this)) %}',
        "{% set start = 'alter table ' ~ this %}{% do run_query(start ~ ' add partition x') %}",
        "alter table {{ this }} {{ action }}",
        "alter table identifier('{{ this }}') drop partition (d = 1)",
    ],
)
def test_a_table_may_be_altered_by_parts(refused, text):
    assert REVENUE in refused(text)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("{{ var('post_sql') }}", True),
        ("{{- env_var('POST_SQL', '') -}};", True),
        ("{{ config.get('meta')['cleanup'] }}", True),
        ("{% do run_query(model.config.meta.cleanup) %}", True),
        ("{% do run_query(var('post_sql')) %}", True),
        ("{{ run_given() }}", True),
        ("optimize {{ var('table') }}", False),
        ("{{ audit(var('table')) }}", False),
        ("{{ log(var('note')) }}", False),
        ("{% do run_query('optimize ' ~ var('table')) %}", False),
    ],
)
def test_a_statement_that_is_a_value_may_be_any(refused, text, is_one):
    run = "{% macro run_given() %}{% do run_query( var('q') ) %}{% endmacro %}"
    assert refused(text, shop__run_given=run) == ({REVENUE} if is_one else set())


@pytest.mark.parametrize(
    "text",
    [
        "alter table {{ this }} cluster by (day)",
        "{% do run_query('alter table ' ~ this ~ ' set tblproperties (a = b)') %}",
        '{{ "optimize {}".format(this) }}',
        "{{ 'vacuum ' ~ this ~ ' retain 5 hours' }}",
    ],
)
def test_what_leaves_rows_alone_may_be_put_together(refused, text):
    assert refused(text) == set()


@pytest.mark.parametrize(
    "hook",
    [
        "delete from {{ target.schema }}.orders_{{ var('which', 'kept') }} where price < 0",
        "delete from shop.orders{% if true %}_kept{% endif %} where price < 0",
        "{% do run_query('delete from shop.' ~ this.identifier ~ ' where price < 0') %}",
        "{% do run_query('delete from shop.orders_' ~ 'kept') %}",
        "{% do run_query('delete from shop.%s where price < 0' % this.identifier) %}",
        "{% do run_query('update shop.' ~ this.identifier ~ ' set price = 0') %}",
        "delete from {{ ref('orders') }}_kept",
        "delete from shop . orders_kept",
        "delete from identifier('{{ this }}') where price < 0",
        "update identifier('shop.orders_kept') set price = 0",
        "delete from delta.`/lake/shop/orders_kept` where price < 0",
        "merge with schema evolution into shop.orders_kept using s on false",
    ],
)
def test_a_name_that_is_cut_short_is_no_other_table(refused, hook):
    assert refused(hook, of=KEPT) == {KEPT}


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("delete from `prod-lake`.`shop`.`orders_kept` where price < 0", "orders_kept"),
        ("update `prod-lake`.shop.orders_kept as t set price = 0", "orders_kept"),
        ("insert into shop.runs(a, b) values (1, 2)", "runs"),
        ("delete from {{ ref('runs').include(database=false) }};", "runs"),
        ("{% if a %}truncate table {{ ref('runs') }}{% endif %}", "runs"),
        ("{{ run_query('truncate table shop.runs') }}", "runs"),
        ("delete from {{ source('raw', 'runs') }}", "source runs"),
        ("delete from {{ ref('lib', 'runs', version='2') }}", "runs"),
        ('delete from {{ ref("runs", v="2") }}', "runs"),
    ],
)
def test_a_name_that_stands_there_whole_is_that_table(text, table):
    assert tables(text) == [table]


@pytest.mark.parametrize(
    "hook",
    [
        "{{ purge(ref('orders_kept')) }}",
        "{{ purge(ref('orders_kept', v=2)) }}",
        "{{ purge('shop.orders_kept') }}",
        "{{ purge_all() }}",
        "{% set t = ref('orders_kept') %}delete from {{ t }} where price < 0",
        "delete from {{ target.schema }}.{{ ref('orders_kept').identifier }} where price < 0",
        "{{ purge(ref(var('name'))) }}",
    ],
)
def test_a_hook_refuses_the_table_that_it_hands_on(refused, hook):
    every = "{% macro purge_all() %}{{ purge(ref('orders_kept')) }}{% endmacro %}"
    assert KEPT in refused(hook, shop__purge=PURGE, shop__purge_all=every)


def test_a_table_that_a_hook_only_reads_is_not_refused(refused):
    assert KEPT not in refused("insert into audit.runs select 1 from {{ ref('orders_kept') }}")


@pytest.mark.parametrize(
    ("operation", "reads"),
    [
        ("{{ helpers.purge(ref('orders_kept')) }}", []),
        ("{{ helpers.purge(ref(var('name'))) }}", [KEPT, "source.shop.raw.orders"]),
        ("{{ helpers.purge(ref(var('name'))) }}", ["model.shop.Orders_Kept.v2"]),
    ],
)
def test_an_operation_refuses_the_table_that_it_hands_to_a_package(refused, operation, reads):
    assert refused(operation, of=START, reads=reads, helpers__purge=PURGE) == {KEPT}


NOTE = "{% macro note(m) %}{{ log(m) }}{% endmacro %}"


@pytest.mark.parametrize(
    "text",
    [
        "{% set line = node.name ~ ' into ' ~ node.schema %}{{ log(line) }}",
        '{% set line = "{} table {}".format(a, b) %}{{ log(line) }}',
        "{% set line %}{{ node.name ~ ' from ' ~ day }}{% endset %}{{ log(line) }}",
        "{% set all = [] %}{% do all.append(a ~ ' into ' ~ b) %}{{ log(all | join(', ')) }}",
        "{% set line = 'no delete of ' ~ a %}{% do print(line) %}",
        "{{ note(a ~ ' into ' ~ b) }}",
        "{% set action = 'set' %}{{ note(action) }}",
        "{{ note('use') }}",
        "{% if action == 'use' or action is in ['set', a] %}{{ note(a) }}{% endif %}",
    ],
)
def test_texts_that_are_no_statements_refuse_no_model(refused, text):
    own = "{% macro at_end() %}" + text + "{% endmacro %}"
    for hook in (text, "{{ at_end() }}", "{{ helpers.at_end() }}"):
        macros = {"shop__note": NOTE, "helpers__at_end": own}
        macros |= {} if "helpers" in hook else {"shop__at_end": own}
        assert refused(hook, of=START, **macros) == set()


RUN = "{% macro run(verb) %}{% do run_query(verb ~ ' ' ~ var('k') ~ ' = 1') %}{% endmacro %}"


@pytest.mark.parametrize(
    "text",
    [
        "{% set q = verb ~ ' from ' ~ t %}{% do run_query(q) %}",
        "{% set q = '{} into {}'.format(verb, t) %}{{ q }}",
        "{% set q %}{{ verb ~ ' from ' ~ t }}{% endset %}{{ q }}",
        "{% set ns = namespace() %}{% set ns.q = verb ~ ' from ' ~ t %}{{ ns.q }}",
        "{% set l = [] %}{% do l.append(v ~ ' from ' ~ t) %}{% for q in l %}{{ q }}{% endfor %}",
        "{% set l = [] %}{% set m = l %}{% do m.append('set ' ~ k ~ '=' ~ v) %}{{ each_of(l) }}",
        "{% macro add(to) %}{% do to.append('set ' ~ k ~ '=' ~ v) %}{% endmacro %}",
        "{% set q = 'set ' ~ k ~ '=' ~ v %}{{ log(run_query(q)) }}",
        "{{ run('set') }}",
        "{{ ['set', k, '=', v] | join(' ') }}",
        "{% set parts = ['use', name] %}{{ parts | join(' ') }}",
        "delete from audit.runs; {{ run_all('delete', verb ~ ' from ' ~ t) }}",
    ],
)
def test_a_statement_is_followed_to_where_it_is_run(refused, text):
    assert refused(text, of=START, shop__run=RUN) == {KEPT, REVENUE}


@pytest.mark.parametrize(
    "hook",
    [
        "delete from {{ this }} where id in (select id from {{ ref('orders_kept') }})",
        "merge into {{this}} t using {{ ref('orders_kept') }} s on t.id = s.id",
        "delete from {{ this.schema }}.{{ this.name }} where a in (table {{ ref('orders_kept') }})",
        "{{ trim_to(ref('orders_kept')) }}",
    ],
)
def test_a_hook_that_changes_its_own_table_refuses_no_table_that_it_reads(refused, hook):
    trim = "{% macro trim_to(o) %}delete from {{ this }} where a in (table {{ o }}){% endmacro %}"
    assert refused(hook, shop__trim_to=trim) == {REVENUE}


def test_a_hook_that_changes_its_own_table_refuses_no_source_that_it_reads():
    hook = "delete from {{ this }} where id in (select id from {{ source('raw', 'deletes') }})"
    assert tables(hook) == [THIS]


@pytest.mark.parametrize(
    "hook",
    [
        "{% if target.name == 'orders_kept' %}delete from {{ t }}{% endif %}",
        "{% if var('orders_kept') in ['a', 'orders_kept'] %}delete from {{ t }}{% endif %}",
        "{{ purge(source('orders_kept', 'orders_kept')) }}",
        "{{ purge(names['orders_kept']) }}",
    ],
)
def test_texts_that_are_only_compared_or_looked_up_name_no_table(refused, hook):
    assert refused(hook, shop__purge=PURGE) == {REVENUE}


@pytest.mark.parametrize(
    "hook",
    [
        "{% for t in ['shop.runs', 'orders_kept'] %}{{ purge(t) }}{% endfor %}",
        "{% set t = 'orders_kept' %}{{ purge(t) }}",
        "{{ purge(var('t', 'orders_kept')) }}",
        "{{ purge_this(ref('orders_kept')) }}",
        "{% set this = ref('orders_kept') %}delete from {{ this }}",
    ],
)
def test_a_table_that_takes_a_variables_way_is_refused(refused, hook):
    shadow = "{% macro purge_this(this) %}delete from {{ this }}{% endmacro %}"
    assert refused(hook, shop__purge=PURGE, shop__purge_this=shadow) == {KEPT, REVENUE}


def test_an_operation_has_no_table_of_its_own(refused):
    assert refused("delete from {{ this }}", of=START) == {KEPT, REVENUE}
