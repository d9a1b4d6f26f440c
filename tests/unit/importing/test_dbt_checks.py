"""Tests of a dbt project become checks of its tables, or say why they do not."""

from __future__ import annotations

from typing import Any

import pytest

from freshline.importing.dbt.macros import Macros
from freshline.importing.dbt.overrides import Overrides
from freshline.importing.dbt.project import read_dbt
from freshline.importing.dbt.tests import read_test
from freshline.importing.writing import write
from freshline.project.load import load_project

ORDERS = "source.shop.raw.orders"


def checks_of(compiled, into, change):
    """The checks of the new project, and why tests are none, by the start of their names."""
    written = write(read_dbt(compiled(change)), into)
    project = load_project(into, into)
    refused = {each.check.kind: each.reason for each in written.checks if each.table is None}
    return project.checks, refused


def a_test(manifest, name, of, *nodes, config=None, **arguments):
    manifest["nodes"][f"test.shop.{name}_{len(manifest['nodes'])}"] = {
        "resource_type": "test",
        "test_metadata": {"name": name, "namespace": None, "kwargs": arguments},
        "attached_node": of,
        "depends_on": {"nodes": [*nodes, *([of] if of else [])], "macros": []},
        "config": config or {},
    }


@pytest.mark.parametrize(
    ("to", "nodes", "found"),
    [
        ("ref('c')", ["model.s.c.v2"], "model.s.c.v2"),
        ("ref('c')", ["model.s.c.v1", "model.s.c.v2"], ""),
        ("ref('c', v=1)", ["model.s.c.v1", "model.s.c.v2"], "model.s.c.v1"),
        ("ref('s', 'c', version='1')", ["model.s.c.v1", "model.s.c.v10"], "model.s.c.v1"),
        ("ref('c', v=1)", ["model.s.c"], ""),
        ("ref('c')", ["model.s.bc", "model.s.c"], "model.s.c"),
    ],
)
def test_a_reference_to_a_version_of_a_model(to, nodes, found):
    manifest: dict[str, Any] = {"nodes": {}}
    a_test(manifest, "relationships", None, *nodes, column_name="id", to=to, field="id")
    ((key, node),) = manifest["nodes"].items()
    assert (read_test(key, node, Overrides(Macros({}), "s")).to or "") == found


def test_the_four_tests_of_dbt_become_checks(compiled, tmp_path):
    revenue, kept = "model.shop.revenue", "model.shop.orders_kept"

    def change(manifest):
        a_test(manifest, "unique", ORDERS, column_name="o_id", config={"severity": "warn"})
        a_test(
            manifest, "accepted_values", revenue, column_name="n", values=[1, 2],
            config={"where": "n > 0", "severity": "ERROR", "error_if": "!= 0", "limit": None},
        )  # fmt: skip
        a_test(manifest, "accepted_values", revenue, column_name="n", values=[1, 2.5], quote=False)
        a_test(manifest, "accepted_values", revenue, column_name="n", values=["it\\'s", 'a"b'])
        a_test(
            manifest, "relationships", kept, ORDERS,
            column_name="o_id", to="source('raw', 'orders')", field="o_id",
        )  # fmt: skip
        a_test(
            manifest, "relationships", kept, "source.shop.raw.customers",
            column_name="c_id", to="source('raw', \"customers\")", field="c_id",
        )  # fmt: skip
        a_test(
            manifest, "not_null", None, ORDERS,
            column_name="at", model="{{ get_where_subquery(source('raw', 'orders')) }}",
        )  # fmt: skip

    checks, _ = checks_of(compiled, tmp_path / "new", change)
    told = {
        table: [(e.kind, e.columns, e.values, e.to, e.field, e.where, e.warns) for e in each]
        for table, each in checks.items()
    }
    assert told == {
        "revenue": [
            ("unique", ("day",), (), None, None, None, False),
            ("not_null", ("day",), (), None, None, None, False),
            ("accepted_values", ("n",), ("1", "2"), None, None, "n > 0", False),
            ("accepted_values", ("n",), (1, 2.5), None, None, None, False),
            ("accepted_values", ("n",), ("it's", 'a"b'), None, None, None, False),
        ],
        "orders": [
            ("unique", ("o_id",), (), None, None, None, True),
            ("not_null", ("at",), (), None, None, None, False),
        ],
        "orders_kept": [
            ("relationships", ("o_id",), (), "orders", "o_id", None, False),
            ("relationships", ("c_id",), (), "raw.customers", "c_id", None, False),
        ],
    }


@pytest.mark.parametrize(
    ("name", "arguments", "config", "reason"),
    [
        ("expression_is_true", {"expression": "n > 0"}, {}, "only unique, not_null, "),
        ("unique", {"column_name": "n"}, {"error_if": ">10"}, "its error_if is >10: "),
        ("unique", {"column_name": "n"}, {"limit": 3}, "its limit is 3: "),
        ("unique", {}, {}, "it names no column"),
        ("unique", {"column_name": "n"}, {"where": "n in (select 1)"}, "its where reads "),
        ("unique", {"column_name": "n"}, {"where": "n > {{ var('n') }}"}, "its where reads "),
        ("accepted_values", {"column_name": "n", "values": []}, {}, "it lists no values"),
        ("accepted_values", {"column_name": "n", "values": ["current_date"], "quote": False}, {},
         "its values are SQL expressions: current_date"),
        ("accepted_values", {"column_name": "n", "values": ["a", "{{ var('b') }}"]}, {},
         "its {{ var('b') }} is filled in when dbt runs"),
        ("accepted_values", {"column_name": "n", "values": ["a", "env_var('B')"]}, {},
         "its env_var('B') is filled in when dbt runs"),
        ("accepted_values", {"column_name": "n", "values": ["a", "it''s"]}, {},
         "which text its value it''s is depends on settings of Spark"),
        ("accepted_values", {"column_name": "n", "values": ["a\\tb"]}, {},
         "which text its value a\\tb is depends on settings of Spark"),
        ("not_null", {"column_name": "{{ var('c') }}"}, {}, "its {{ var('c') }} is filled in"),
        ("relationships", {"column_name": "n", "to": "ref('orders_kept')", "field": "var('f')"},
         {}, "its var('f') is filled in when dbt runs"),
        ("relationships", {"column_name": "n", "to": "ref('gone')", "field": "x"}, {},
         "the manifest does not say which table it refers to"),
        ("relationships", {"column_name": "n", "to": "ref('stg_orders')", "field": "o_id"}, {},
         "it refers to model.shop.stg_orders, which is no table here"),
    ],
)  # fmt: skip
def test_a_test_that_is_no_check_says_why(compiled, tmp_path, name, arguments, config, reason):
    def change(manifest):
        for key in [key for key in manifest["nodes"] if key.startswith("test.")]:
            del manifest["nodes"][key]
        stg = "model.shop.stg_orders"
        a_test(manifest, name, "model.shop.revenue", stg, config=config, **arguments)

    checks, refused = checks_of(compiled, tmp_path / "new", change)
    assert checks == {}
    assert refused[name].startswith(reason)


def test_a_test_of_a_view_and_one_that_is_a_query_are_told(compiled, tmp_path):
    def change(manifest):
        manifest["nodes"]["test.shop.mine"] = {
            "resource_type": "test",
            "depends_on": {"nodes": ["model.shop.revenue"]},
        }

    _, refused = checks_of(compiled, tmp_path / "new", change)
    assert refused == {
        "not_null": "model.shop.stg_orders is no table of the new project",
        "relationships": "model.shop.stg_orders is no table of the new project",
        "accepted_values": "model.shop.stg_orders is no table of the new project",
        "query": "it is a query of its own",
    }
