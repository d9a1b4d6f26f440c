"""``freshline explain`` as far as it needs no Spark (tests/spark has the rest)."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

from freshline.cli.commands import explain
from freshline.cli.commands.explain import record, sources_of, text
from freshline.core.errors import Place
from freshline.delta.log import CommitRecord
from freshline.executor.distrust import distrust
from freshline.executor.verified import WRONG, VersionCheck
from freshline.executor.verified import Difference as Differing
from freshline.project.definition import definition_of
from freshline.project.load import load_project
from freshline.project.model import StaticRead
from freshline.render.explained import costs_told
from freshline.sql.query.records import Buckets, Reads, Reason, ViewPlan
from freshline.sql.strategy import strategy

PLAN = ViewPlan(
    Reason("AGGREGATE", "new rows change existing groups"),
    Buckets("h", {"orders": Reads("at", 0, 3_599_999_999)}),
    Reason("HOLISTIC", "median has no merge rule", "MEDIAN(n)"),
)


def test_a_base_table_is_told_without_spark(freshline, answer):
    done = freshline("explain", "ORDERS")
    assert done.exit_code == 0
    assert done.stdout == (
        "tables/shop.sql:1: append, row-wise: new rows of its feed are added as they come\n"
        "reads feed orders_feed\n"
    )
    assert answer("explain", "orders") == {
        "view": "orders",
        "kind": "base",
        "file": "tables/shop.sql",
        "line": 1,
        "refresh": "auto",
        "emit": "early",
        "strategy": "append",
        "code": "row-wise",
        "reason": "new rows of its feed are added as they come",
    }


def test_what_updates_take_is_told_as_the_last_commit_has_it(shop):
    assert costs_told(None) is None
    assert costs_told(CommitRecord(1, 0.0, {"strategy": "full", "costs": {"learned": {}}})) is None
    facts = {
        "strategy": "full",
        "costs": {"learned": {"full": [0.51, 0.02, 3]}},
        "expected_s": {"bucket-recompute": 0.75, "full": 0.531},
    }
    learned = costs_told(CommitRecord(4, 0.0, facts))
    table = load_project(shop.root, shop.root).table("big")
    told = text(table, PLAN, [], strategy(table, PLAN), learned)
    assert told.endswith(
        "cost: full 0.51 s plus 0.020 s per MB, learned from 3 updates\n"
        "last update: full; estimates: bucket-recompute 0.75 s, full 0.53 s\n"
    )
    assert "in full where that is quicker" in told.splitlines()[0]
    assert record(table, PLAN, [], strategy(table, PLAN), learned)["costs"] == {
        "learned": {"full": {"start_s": 0.51, "s_per_mb": 0.02, "updates": 3}},
        "last_strategy": "full",
        "last_expected_s": {"bucket-recompute": 0.75, "full": 0.531},
    }


def test_an_unknown_view_is_the_users_error(freshline):
    done = freshline("explain", "bgi")
    assert done.exit_code == 2
    assert "project shop has no table 'bgi'" in done.stderr
    assert "Did you mean big?" in done.stderr


def test_what_is_done_comes_first_then_what_a_change_touches_and_why_not_better(shop):
    project = load_project(shop.root, shop.root)
    table = dataclasses.replace(
        project.table("big"),
        refresh="incremental",
        statics=(StaticRead("delta.`/d/zones`", "delta", "/d/zones", ()),),
    )
    sources = sources_of(project, table, {"orders": (("At", "timestamp"), ("n", "bigint"))})
    chosen = strategy(table, PLAN)
    assert text(table, PLAN, sources, chosen) == (
        "tables/shop.sql:4: bucket-recompute, buckets: only the buckets that the parents' changes"
        " touch are computed\n"
        "freshline.refresh = incremental, freshline.emit = early\n"
        "big: bucket-recompute, full\n"
        "reads orders (time undeclared)\n"
        "reads delta.`/d/zones` (static)\n"
        "append: no, AGGREGATE: new rows change existing groups\n"
        "buckets: by h\n"
        "  a row of orders with at = t touches rows with h in [t - 59 min 59.999999 s, t]\n"
        "merge: no, HOLISTIC: median has no merge rule [MEDIAN(n)]\n"
    )
    told = record(table, PLAN, sources, chosen)
    assert (told["strategy"], told["code"], told["ways"]) == (
        "bucket-recompute", "buckets", ["bucket-recompute", "full"],
    )  # fmt: skip
    assert told["merge"]["code"] == "HOLISTIC"
    assert [each["name"] for each in told["reads"]] == ["orders", "delta.`/d/zones`"]
    assert table.place == Place("tables/shop.sql", 4)


def test_a_view_that_was_found_wrong_says_what_was_wrong_and_where_it_is_kept(
    shop, freshline, answer, monkeypatch
):
    project = load_project(shop.root, shop.root)
    table = project.table("big")
    columns = {"orders": (("at", "timestamp"), ("n", "bigint"))}
    analysis = SimpleNamespace(plans={"big": PLAN}, columns=columns)
    monkeypatch.setattr(explain, "_analysed", lambda _project: analysis)
    assert answer("explain", "big")["wrong"] is None
    kept = str(shop.root / "kept")
    check = VersionCheck("big", 7, WRONG, strategy="bucket-recompute", difference=Differing(1, 2))
    distrust(project, check, definition_of(table), 100.0, kept)
    told = answer("explain", "big")
    assert (told["strategy"], told["code"]) == ("full", "found-wrong")
    assert told["wrong"] == {
        "table": "big",
        "version": 7,
        "strategy": "bucket-recompute",
        "missing": 1,
        "extra": 2,
        "found_s": 100.0,
        "definition": definition_of(table),
        "evidence": kept,
    }
    first, second, *_ = freshline("explain", "big").stdout.splitlines()
    assert first == (
        "tables/shop.sql:4: full, found-wrong: computed in full: a version made from changes was"
        " wrong; `freshline retry` trusts it again"
    )
    assert second == (
        f"version 7, made by bucket-recompute, lacked 1 row and had 2 rows too many; kept in {kept}"
    )
    distrust(project, check, "another query", 100.0, kept)
    assert answer("explain", "big")["wrong"] is None
