"""``freshline validate`` as far as it needs no Spark (tests/spark has the rest)."""

from __future__ import annotations

import json


def test_text_lists_tables_in_order_with_strategy_and_reason(freshline):
    done = freshline("validate", "--no-spark")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "shop: 3 tables, 1 feed"
    assert lines[1] == "   1 orders  base     priority 1, reads orders_feed"
    assert lines[2] == "             append: each file's rows are added as they come"
    assert lines[3] == "   2 big     derived  priority 5, reads orders"
    assert lines[5] == "   3 small   derived  priority 1, reads big"
    assert lines[7:] == ["utilisation: not measured yet, of 2 tracks; runs measure it"]


def test_json_has_exactly_the_contracts_keys(answer):
    found = answer("validate", "--no-spark")
    assert set(found) == {"tables", "errors"}
    assert found["errors"] == []
    orders, big, _ = found["tables"]
    assert orders == {
        "name": "orders",
        "kind": "base",
        "file": "tables/shop.sql",
        "line": 1,
        "priority": 1.0,
        "sources": ["orders_feed"],
        "strategy": "append",
        "reason": "each file's rows are added as they come",
    }
    assert (big["line"], big["priority"], big["sources"]) == (4, 5.0, ["orders"])


def test_utilisation_is_what_the_runs_measured(freshline, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    last = freshline("validate", "--no-spark").stdout.splitlines()[-1]
    assert last.startswith("utilisation: ")
    assert last.endswith(" of 2 tracks")
    assert float(last.split()[1]) > 0.0


def test_every_error_is_told_at_once_and_exits_with_2(freshline, shop):
    (shop.root / "tables" / "shop.sql").write_text(
        "CREATE STREAMING TABLE orders AS SELECT n FROM STREAM order_feed;\n"
        "CREATE MATERIALIZED VIEW v\n"
        "  TBLPROPERTIES ('freshline.prioritee' = '1') AS SELECT n FROM nowhere;\n"
    )
    done = freshline("validate", "--no-spark", "--json")
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert found["tables"] == []
    assert [(each["file"], each["line"]) for each in found["errors"]] == [
        ("tables/shop.sql", 1),
        ("tables/shop.sql", 3),
        ("tables/shop.sql", 3),
    ]
    assert all(set(each) == {"code", "file", "line", "message", "next"} for each in found["errors"])
    assert len(done.stderr.splitlines()) == 3
