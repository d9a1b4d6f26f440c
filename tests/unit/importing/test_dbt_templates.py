"""What the SQL of a dbt model depends on, by its template and the macros that it can call."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from freshline.importing.dbt.context import Kind, kind_of, kind_of_filter
from freshline.importing.dbt.introspection import dependences
from freshline.importing.dbt.jinja import Read, read_template
from freshline.importing.dbt.macros import Macros

HERE = Path(__file__).parent
DBT = HERE.parents[2] / ".cache" / "dbt" / "bin" / "python"
MACROS = {
    "macro.dbt.run_query": {"macro_sql": "{% macro run_query(sql) %}{% endmacro %}"},
    "macro.lib.asks": {"macro_sql": "{% macro asks(q) %}{% do run_query(q) %}{% endmacro %}"},
    "macro.lib.spark__one": {
        "macro_sql": "{% macro spark__one() %}{{ invocation_id }}{% endmacro %}"
    },
    "macro.shop.cents": {"macro_sql": "{% macro cents(model, sql) %}{{ model }}{% endmacro %}"},
}
HARMLESS = {Kind.PROJECT, Kind.GIVEN}


def kinds(code: str, **listed: object) -> dict[Kind, str]:
    """What the model's SQL depends on besides the project and what the compile was given."""
    words = dependences({"raw_code": code} | listed, Macros(MACROS)).words
    return {kind: word for kind, word in words.items() if kind not in HARMLESS}


@pytest.mark.parametrize(
    ("code", "kind", "word"),
    [
        ("{% set f = run_query %}{{ f('select 1') }}", Kind.DATABASE, "run_query"),
        ("{{ context['run_query']('select 1') }}", Kind.DATABASE, "run_query"),
        ("{{ context.get('run' '_query')('select 1') }}", Kind.DATABASE, "run_query"),
        ("{{ context['run\\x5fquery']('q') }}", Kind.DATABASE, "run_query"),
        ("{{ context | attr('run_query') }}", Kind.DATABASE, "run_query"),
        ("{{ '%}}' ~ run_query('q') }}", Kind.DATABASE, "run_query"),
        ("{{ {'a': {'b': 1}}[run_query('q')] }}", Kind.DATABASE, "run_query"),
        ("{{ (adapter).execute('q') }}", Kind.DATABASE, "adapter.execute"),
        ("{% set a = adapter %}{{ a.execute('q') }}", Kind.DATABASE, "adapter"),
        ("{{ adapter['get_relation'](1) }}", Kind.DATABASE, "adapter.get_relation"),
        ("{{ lib.asks('q') }}", Kind.DATABASE, "run_query in macro.lib.asks"),
        ("{{ context['lib']['asks']('q') }}", Kind.DATABASE, "run_query in macro.lib.asks"),
        ("{% set f = asks %}{{ f('q') }}", Kind.DATABASE, "run_query in macro.lib.asks"),
        ("{{ ref.db_wrapper.execute('q') }}", Kind.DATABASE, "ref.db_wrapper"),
        ("{% set s = source %}{{ s.db_wrapper.execute('q') }}", Kind.DATABASE, "source"),
        ("{{ config.model.created_at }}", Kind.DATABASE, "config.model"),
        ("{% call statement('s') %}select 1{% endcall %}", Kind.DATABASE, "statement"),
        ("{% macro f(run_query) %}{% endmacro %}{{ run_query('q') }}", Kind.DATABASE, "run_query"),
        ("{% if a %}{% set run_query = 1 %}{% endif %}{{ run_query('q') }}", Kind.DATABASE,
         "run_query"),
        ("{% for run_query in [] %}{% endfor %}{{ run_query('q') }}", Kind.DATABASE, "run_query"),
        ("{% raw %}{{ x }}{% endraw %}{{ load_agate_table() }}", Kind.DATABASE, "load_agate_table"),
        ("{{ flags.WHICH }}", Kind.RUN, "flags.WHICH"),
        ("{% if flags['WHICH'] == 'compile' %} limit 0 {% endif %}", Kind.RUN, "flags.WHICH"),
        ("{% set f = flags %}{{ f.WHICH }}", Kind.RUN, "flags"),
        ("{{ invocation_args_dict.which }}", Kind.RUN, "invocation_args_dict"),
        ("{{ range(1, 1000) | random }}", Kind.RUN, "random"),
        ("{{ [[1, 2]] | map('random') | list }}", Kind.RUN, "random"),
        ("{% filter random %}abc{% endfilter %}", Kind.RUN, "random"),
        ("{{ lipsum() }}", Kind.RUN, "lipsum"),
        ("{{ thread_id }}{{ selected_resources }}", Kind.RUN, "thread_id"),
        ("{{ graph.nodes | length }}", Kind.RUN, "graph"),
        ("{{ model.created_at }}", Kind.RUN, "model.created_at"),
        ("{% set m = modules %}{{ m.datetime.date.today() }}", Kind.RUN, "modules"),
        ("{% for x in set(['a', 'b']) %}{{ x }}{% endfor %}", Kind.RUN, "set"),
        ("{{ adapter.dispatch('one')() }}", Kind.RUN, "invocation_id in macro.lib.spark__one"),
        ("{{ adapter.dispatch(macro_name='one')() }}", Kind.RUN,
         "invocation_id in macro.lib.spark__one"),
        ("{% if flags.FULL_REFRESH %} 1 {% endif %}", Kind.FULL_REFRESH, "flags.FULL_REFRESH"),
        ("{% if is_incremental() %} 1 {% endif %}", Kind.FULL_REFRESH, "is_incremental"),
        ("{{ context['run_' ~ 'query']('q') }}", Kind.COMPUTED, "context"),
        ("{{ builtins[name]('q') }}", Kind.COMPUTED, "builtins"),
        ("{{ render('{{ run_' ~ 'query(1) }}') }}", Kind.COMPUTED, "render"),
        ("{{ lib[name]('q') }}", Kind.COMPUTED, "lib"),
        ("{{ adapter.dispatch(name)() }}", Kind.COMPUTED, "adapter.dispatch"),
        ("{{ [1] | map(name) | list }}", Kind.COMPUTED, "map"),
        ("{{ something_new }}", Kind.UNKNOWN, "something_new"),
        ("{{ lib.gone() }}", Kind.UNKNOWN, "lib.gone"),
        ("{{ a b }}", Kind.UNREADABLE, "line 1: expected token 'end of print statement', got 'b'"),
    ],
)  # fmt: skip
def test_sql_that_depends_on_the_compile(code, kind, word):
    assert kinds(code).get(kind) == word


@pytest.mark.parametrize(
    "code",
    [
        "select {{ cents('a') }} from {{ ref('a') }} join {{ source('b', 'c') }}",
        "{{ config(materialized='table', post_hook='{{ asks(1) }}') }} select 1",
        "select run_started_at from t -- {# run_query() #}",
        "{{ dict(random=1)['random'] }}{{ 'run_query' }}",
        "{% set model = ref('a') %}{% set sql %}select 1{% endset %}{{ model }} {{ sql }}",
        "{% for graph in [1] if graph.x is defined and graph is not none %}{{ graph }}{% endfor %}",
        "{% if execute and not x is defined %}{% set x = 1 %}{% endif %}{{ x }}",
        "{% for n in set([1, 2]) | sort %}{{ n }}{{ ',' if not loop.last }}{% endfor %}",
        "{% do log('x') %}{{ exceptions.raise_compiler_error('x') if var('a', 1) == 2 }}",
        "{{ modules.re.sub('a', 'b', this.schema) }}{{ local_md5('a') }}{{ model.name }}",
        "{{ adapter.quote('a') }}{{ api.Column.translate_type('string') }}{{ tojson([]) }}",
        "{{ ['a'] | map('upper') | join(', ') }}{{ [] | map(attribute='x') | list }}",
        "{% macro f(a, b=var('c')) %}{{ a }}{{ b }}{{ varargs }}{% endmacro %}{{ f(1, b=2) }}",
        "{% call(row) f() %}{{ row }}{% endcall %}{% macro f() %}{{ caller(1) }}{% endmacro %}",
        "{{ builtins.ref('a').include(database=false) }}{{ config.get('x') or var.has_var('y') }}",
        "{{ env_var('X') }}{{ target.name }}{{ dbt_version }}",
        "{{ modules.datetime.datetime.strptime('2026', '%Y') - modules.datetime.timedelta(1) }}",
        "{%- set ns = namespace(n=0) -%}{% set ns.n = ns.n + 1 %}{{- ns.n -}}",
    ],
)
def test_sql_that_follows_from_the_project(code):
    assert kinds(code) == {}


def test_what_the_compile_was_given_is_named():
    code = "{{ target.name }}{{ target.type }}{{ env_var('X') }}{{ cents('a') }}"
    assert dependences({"raw_code": code}, Macros(MACROS)).given == ("target.name", "env_var")


@pytest.mark.parametrize(
    "name", ["schema", "database", "this.schema", "this.database", "model.schema"]
)
def test_the_schema_is_the_targets_where_the_project_says_none(name):
    code = "select 1 {% if " + name + " != 'prod' %}limit 1000{% endif %} from {{ this.name }}"
    assert dependences({"raw_code": code}, Macros(MACROS)).given == (name,)


def test_a_macro_that_dbt_saw_called_counts_and_a_hooks_does_not():
    listed = {"depends_on": {"macros": ["macro.lib.asks"]}}
    assert kinds("select 1", **listed) == {
        Kind.DATABASE: "run_query in macro.lib.asks",
    }
    hook = {"config": {"post-hook": [{"sql": "{{ lib.asks(this) }}"}]}}
    assert kinds("select 1", **listed, **hook) == {}


@pytest.fixture(scope="module")
def told_by_dbt():
    """What the installed dbt says of its names."""
    if not DBT.is_file():
        pytest.skip("dbt is not installed: make tools")
    done = subprocess.run(
        [str(DBT), str(HERE / "dbt_names.py")], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_every_name_of_dbts_context_has_a_kind(told_by_dbt):
    names = [*told_by_dbt["context"], *told_by_dbt["globals"]]
    assert [name for name in names if kind_of(Read((name,))) is Kind.UNKNOWN] == []
    filters = told_by_dbt["filters"]
    assert [name for name in filters if kind_of_filter(name) is Kind.UNKNOWN] == []


def test_no_name_that_jinja_finds_is_missed(told_by_dbt):
    """In dbt's own macros. Jinja counts names set in one branch; they are ``bound`` here."""
    missed = {}
    for path, (text, names) in told_by_dbt["templates"].items():
        template = read_template(text)
        left = set(names) - {str(read.path[0]) for read in template.reads} - template.bound
        if left:
            missed[path] = left
    assert len(told_by_dbt["templates"]) > 100
    assert missed == {}
