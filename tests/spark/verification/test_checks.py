"""The checks of rows, on tables whose rows break each of them, and with NULLs that break none."""

from __future__ import annotations

import dataclasses

import pytest

from freshline.core.errors import Place
from freshline.executor.verified import RowCheck
from freshline.project.model import DataCheck
from freshline.spark.verification.checks import checked

pytestmark = pytest.mark.spark
PLACE = Place("freshline.yml", 9)


def check(kind, *columns, name="c", **more):
    return DataCheck(name, kind, PLACE, columns, **more)


def outcomes(shop, **checks) -> list[RowCheck]:
    project = dataclasses.replace(
        shop.project, checks={table: tuple(each) for table, each in checks.items()}
    )
    return list(checked(shop.session, project, project.tables))


def told(shop, *checks):
    """Outcome, count and sample of checks of table t."""
    return [(each.outcome, each.failing, list(each.sample)) for each in outcomes(shop, t=checks)]


@pytest.fixture
def shop_of_rows(shop):
    """Table t with duplicates and NULLs, and `select`, whose name is a word of SQL's."""
    path = shop.project.table_path
    shop.feed("f", "csv", "id INT, s STRING")
    shop.table("t", "SELECT * FROM STREAM f")
    shop.table("select", "SELECT * FROM STREAM f")
    shop.table("later", "SELECT * FROM STREAM f")
    rows = [(1, "a"), (1, "a"), (2, "b"), (2, "c"), (None, "it's"), (None, None), (None, None)]
    frame = shop.session.createDataFrame(rows, "id INT, s STRING")
    frame.coalesce(1).write.format("delta").save(path("t"))
    frame.where("id = 1").coalesce(1).write.format("delta").save(path("select"))
    return shop


def test_each_kind_finds_what_breaks_it_and_no_null_but_not_null(shop_of_rows):
    assert told(shop_of_rows, check("unique", "id")) == [
        ("wrong", 2, [{"value_1": 1, "times": 2}, {"value_1": 2, "times": 2}])
    ]
    assert told(
        shop_of_rows,
        check("unique", "id", "s"),
        check("unique", "id * 10", where="s = 'a' -- a comment"),
        check("unique", "id", where="s IN ('a', 'b') AND id > 1"),
        check("not_null", "id"),
        check("not_null", "s", where="id IS NOT NULL"),
        check("accepted_values", "s", values=("a", "b", "c", "it's")),
        check("accepted_values", "s", values=("a", "b")),
        check("accepted_values", "id", values=(1, 2)),
        check("relationships", "id", to="select", field="id"),
        check("relationships", "id", to="select", field="id", where="id = 1"),
        check("relationships", "s", to="t", field="s"),
    ) == [
        ("wrong", 1, [{"value_1": 1, "value_2": "a", "times": 2}]),
        ("wrong", 1, [{"value_1": 10, "times": 2}]),
        ("right", 0, []),
        ("wrong", 3, [{"id": None, "s": each} for each in ("it's", None, None)]),
        ("right", 0, []),
        ("right", 0, []),
        ("wrong", 2, [{"value_1": "c", "times": 1}, {"value_1": "it's", "times": 1}]),
        ("right", 0, []),
        ("wrong", 2, [{"value_1": 2}, {"value_1": 2}]),
        ("right", 0, []),
        ("right", 0, []),
    ]


def test_a_check_that_cannot_run_is_wrong_and_one_without_rows_to_read_is_skipped(shop_of_rows):
    gone, other, new, parent = outcomes(
        shop_of_rows,
        t=[
            check("not_null", "nowhere", name="gone"),
            check("relationships", "id", to="no.such_table", field="id", warns=True),
        ],
        later=[check("not_null", "id")],
        select=[check("relationships", "id", to="later", field="id")],
    )[:4]
    assert (gone.outcome, gone.failing, gone.fails) == ("wrong", 0, True)
    assert gone.reason.startswith("it cannot be run: A column, variable, or function parameter")
    assert (other.outcome, other.fails) == ("wrong", False)
    for each in (new, parent):
        assert (each.outcome, each.reason, each.fails) == (
            "skipped", "later has no version yet", False
        )  # fmt: skip


def test_the_newest_versions_are_read_and_named(shop_of_rows):
    shop = shop_of_rows
    shop.session.createDataFrame([(2, "b")], "id INT, s STRING").write.format("delta").mode(
        "append"
    ).save(shop.project.table_path("select"))
    (found,) = outcomes(shop, t=[check("relationships", "id", to="select", field="id")])
    assert (found.outcome, found.versions) == ("right", {"t": 0, "select": 1})


def test_many_wrong_rows_are_counted_and_five_are_shown(shop_of_rows):
    shop = shop_of_rows
    shop.session.range(100).selectExpr("cast(NULL AS INT) AS id", "'x' AS s").write.format(
        "delta"
    ).mode("append").save(shop.project.table_path("t"))
    (found,) = outcomes(shop, t=[check("not_null", "id")])
    assert (found.failing, len(found.sample)) == (103, 5)
