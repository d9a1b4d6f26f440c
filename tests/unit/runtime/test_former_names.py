"""What was loaded under a former name of a pipeline's dataset is not left behind silently."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from freshline.core.errors import UserError
from freshline.delta.log import last_commit
from freshline.importing.pipelines.naming import former_names
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.options import RunOptions
from freshline.runtime.requests.handler import accept_offline
from tests.support.shop import Shop, made_project, made_shop
from tests.unit.runtime.test_other_kinds import loaded, removed, with_journal


def renamed(tmp_path: Path, tables: dict[str, tuple[str, ...]], **former: tuple[str, ...]) -> Shop:
    """A project of these tables, as a pipeline to which something was added has them."""
    made = made_project(tmp_path, tables)
    named = (dataclasses.replace(t, former=former.get(t.name, ())) for t in made.tables)
    return Shop(dataclasses.replace(made, tables=tuple(named)))


ADDED: list[tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]] = [
    ({"bronze_orders": ()}, {"bronze_orders": ("orders",)}),
    (
        {"orders__web": (), "orders": ("orders__web",)},
        {"orders__web": ("orders", "bronze_orders")},
    ),
]


@pytest.mark.parametrize(("tables", "former"), ADDED, ids=["a schema", "a flow"])
def test_what_was_loaded_is_not_left_behind_under_a_former_name(tmp_path, tables, former):
    loaded(tmp_path)
    shop = renamed(tmp_path, tables, **former)
    new = next(iter(tables))
    shop.file(new, 2, [2])
    for _ in range(2):
        with pytest.raises(UserError, match=f"table {new} is new .* in table orders") as refused:
            shop.run_until_idle()
        assert f"`freshline accept {new}` starts anew" in str(refused.value.next_step)
    assert shop.executor.numbers("orders") == [1]
    with_journal(shop, lambda journal: accept_offline(shop.project, journal, new))
    for number in (3, 4):
        assert shop.run_until_idle() == 0
        shop.file(new, number, [number])
    assert shop.executor.numbers(new) == [2, 3]


def test_what_was_loaded_may_be_loaded_again_under_the_new_name(tmp_path):
    loaded(tmp_path)
    tables, former = ADDED[0]
    shop = renamed(tmp_path, tables, **former)
    shop.file("bronze_orders", 2, [2])
    options = RunOptions(until_idle=True, refresh=("bronze_orders",), rebuilt=("bronze_orders",))
    assert shop.warehouse(options).run() == 0
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("bronze_orders") == [2]


def test_a_table_that_left_the_project_before_is_nobodys_former_one(tmp_path):
    loaded(tmp_path)
    assert Shop(made_project(tmp_path, {"parts": ()})).run_until_idle() == 0
    tables, former = ADDED[0]
    assert renamed(tmp_path, tables, **former).run_until_idle() == 0


LOADED = {"orders__web": ("orders", "bronze_orders"), "orders__app": ("orders", "bronze_orders")}


@pytest.mark.parametrize("has_new_journal", [False, True])
def test_a_flow_whose_feed_has_nothing_yet_stops_no_later_start(tmp_path, has_new_journal):
    loaded(tmp_path)
    tables = {"orders__web": (), "orders__app": (), "orders": ("orders__web", "orders__app")}
    # The second flow was added under a version that refused nothing, or its table was rebuilt.
    shop = renamed(tmp_path, tables)
    shop.file("orders__web", 1, [2])
    shop.run_until_idle()
    last = last_commit(shop.project.table_path("orders"))
    assert last is not None
    assert "files" in last.metadata
    if has_new_journal:
        for path in journal_path(shop.project).parent.glob("journal*"):
            path.unlink()
    shop = renamed(tmp_path, tables, **LOADED)
    shop.run_until_idle()
    shop.file("orders__app", 1, [3])
    assert shop.run_until_idle() == 0
    assert sorted(shop.executor.numbers("orders")) == [2, 3]


def test_what_came_from_a_delta_table_may_stay_behind_under_a_former_name(tmp_path):
    before = loaded(tmp_path)
    path = before.project.table_path("orders")
    last = last_commit(path)
    assert last is not None
    source = {"files": [], "source": {"id": "t", "version": 1, "mark": "m"}, "update": 2}
    removed(path, "n = 1", {**last.metadata, **source})
    tables, former = ADDED[0]
    shop = renamed(tmp_path, tables, **former)
    shop.file("bronze_orders", 2, [2])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("bronze_orders") == [2]


def test_a_rebuild_of_the_view_over_the_flows_is_refused_too(tmp_path):
    loaded(tmp_path)
    tables, former = ADDED[1]
    shop = renamed(tmp_path, tables, **former)
    shop.file("orders__web", 2, [2])
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    with pytest.raises(UserError, match=r"table orders__web is new .* in table orders"):
        shop.warehouse(options).run()
    assert shop.executor.numbers("orders") == [1]


def test_what_was_loaded_under_another_name_meanwhile_is_not_left_behind(tmp_path):
    loaded(tmp_path)
    tables, former = ADDED[0]
    shop = renamed(tmp_path, tables, **former)
    with_journal(shop, lambda journal: accept_offline(shop.project, journal, "bronze_orders"))
    shop.file("bronze_orders", 2, [2])
    assert shop.run_until_idle() == 0
    back = renamed(tmp_path, {"orders": ()}, orders=("bronze_orders",))
    for _ in range(2):
        with pytest.raises(UserError, match=r"table orders is back .* in table bronze_orders"):
            back.run_until_idle()
    with_journal(back, lambda journal: accept_offline(back.project, journal, "orders"))
    back.file("orders", 3, [3])
    for _ in range(2):
        assert back.run_until_idle() == 0
    assert back.executor.numbers("orders") == [1, 3]


def test_the_tables_of_several_flows_are_not_left_behind_by_a_namesake(tmp_path):
    tables = {"orders__one": (), "orders__two": (), "orders": ("orders__one", "orders__two")}
    before = made_shop(tmp_path, tables)
    before.file("orders__one", 1, [1])
    before.file("orders__two", 1, [2])
    assert before.run_until_idle() == 0
    names = former_names(("b", "shop", "orders"), "shop_orders__one", "one")
    shop = renamed(
        tmp_path,
        {"shop_orders__one": (), "shop_orders": ("shop_orders__one",), "b_orders": ()},
        shop_orders__one=names,
        b_orders=former_names(("b", "b", "orders"), "b_orders"),
    )
    with pytest.raises(UserError, match=r"shop_orders__one is new .* in table orders__one"):
        shop.run_until_idle()
