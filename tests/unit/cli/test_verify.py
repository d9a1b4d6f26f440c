"""``freshline verify`` without Spark: what is asked, what is told, and what is rebuilt."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from freshline.cli import running
from freshline.cli.commands.verify import _reloadable, _repair, _wanted
from freshline.core.errors import UserError
from freshline.executor.verified import (
    RIGHT,
    SKIPPED,
    WRONG,
    Difference,
    DifferingRow,
    RowCheck,
    VersionCheck,
)
from freshline.render.verified import (
    row_lines,
    unverified_lines,
    verified_lines,
    verified_record,
)
from tests.support.shop import LiveRun, made_shop

GONE = "what it was made of is gone: VACUUM"
FOUND = Difference(
    2, 1, (DifferingRow({"n": 1, "s": None}, -2), DifferingRow({"n": 3, "s": "x"}, 1))
)
CHECKS = {
    "orders": [VersionCheck("orders", 7, RIGHT, "append")],
    "sales": [
        VersionCheck("sales", 0, SKIPPED, reason=GONE),
        VersionCheck("sales", 1, SKIPPED, reason=GONE),
        VersionCheck("sales", 2, RIGHT, "full"),
        VersionCheck("sales", 3, WRONG, "bucket-recompute", difference=FOUND),
    ],
    "others": [
        VersionCheck("others", 4, WRONG, "full", difference=Difference(1, 2, (), "it has other"))
    ],
    "new": [],
}


def test_people_get_a_line_a_table_and_what_is_wrong():
    assert verified_lines(CHECKS) == [
        "orders: 1 version right",
        "sales: 1 version right, 1 version wrong, 2 versions not verified",
        "  versions 0 to 1 (2) not verified: what it was made of is gone: VACUUM",
        "  sales version 3 is wrong: 2 rows missing, 1 row extra (strategy bucket-recompute)",
        "    missing {'n': 1, 's': None}",
        "    extra {'n': 3, 's': 'x'}",
        "others: 1 version wrong",
        "  others version 4 is wrong: it has other",
        "new: it has no version yet",
    ]


def test_the_next_step_where_a_newest_version_was_not_verified():
    assert unverified_lines(["orders", "sales", "new"], CHECKS) == []
    skipped = {**CHECKS, "sales": CHECKS["sales"][:2], "report": CHECKS["sales"][:1]}
    (line,) = unverified_lines(["orders", "sales", "new"], skipped)
    assert line.startswith("next: `freshline refresh sales --full` makes versions that can be")


def test_it_is_none_for_a_table_loaded_from_a_topic(tmp_path):
    project = made_shop(tmp_path, {"orders": (), "sales": ("orders",)}).project
    assert _reloadable(project) == ["orders", "sales"]
    (name,) = project.feeds
    topic = replace(project.feeds[name], kind="kafka")
    assert _reloadable(replace(project, feeds={name: topic})) == ["sales"]


OF_ROWS = [
    RowCheck("orders", "unique of id", RIGHT, warns=False, versions={"orders": 7}),
    RowCheck("orders", "kinds", WRONG, warns=True, failing=1, sample=({"value_1": "x"},)),
    RowCheck("new", "not_null of id", SKIPPED, warns=False, reason="new has no version yet"),
    RowCheck("sales", "refs", WRONG, warns=False, reason="it cannot be run: no column"),
]


def test_checks_of_rows_stand_beside_what_is_wrong():
    assert row_lines(OF_ROWS) == [
        "1 check of rows held",
        "orders: kinds (warning): 1 row or value fail it",
        "    {'value_1': 'x'}",
        "new: not_null of id: not checked: new has no version yet",
        "sales: refs: it cannot be run: no column",
    ]
    record = verified_record(CHECKS, OF_ROWS)["tables"]
    assert record["orders"]["checks"] == [
        {
            "name": "unique of id", "outcome": "right", "severity": "error", "failing": 0,
            "reason": "", "versions": {"orders": 7}, "sample": [],
        },
        {
            "name": "kinds", "outcome": "wrong", "severity": "warn", "failing": 1,
            "reason": "", "versions": {}, "sample": [{"value_1": "x"}],
        },
    ]  # fmt: skip
    assert "checks" not in record["others"]
    assert [each.fails for each in OF_ROWS] == [False, False, False, True]


def test_programs_get_every_version_under_one_of_three_keys():
    found = verified_record(CHECKS)
    assert json.loads(json.dumps(found)) == {
        "tables": {
            "orders": {"checked": [7], "skipped": {}, "wrong": []},
            "sales": {
                "checked": [2, 3],
                "skipped": {"0": GONE, "1": GONE},
                "wrong": [
                    {
                        "version": 3,
                        "strategy": "bucket-recompute",
                        "missing": 2,
                        "extra": 1,
                        "sample": {
                            "missing": [{"n": 1, "s": None}],
                            "extra": [{"n": 3, "s": "x"}],
                        },
                    }
                ],
            },
            "others": {
                "checked": [4],
                "skipped": {},
                "wrong": [
                    {
                        "version": 4,
                        "strategy": "full",
                        "missing": 1,
                        "extra": 2,
                        "sample": {"missing": [], "extra": []},
                        "columns": "it has other",
                    }
                ],
            },
            "new": {"checked": [], "skipped": {}, "wrong": []},
        }
    }


@pytest.mark.parametrize(("text", "wanted"), [("newest", "newest"), ("all", "all"), ("12", 12)])
def test_versions_are_newest_all_or_a_number(text, wanted):
    assert _wanted(text) == wanted


@pytest.mark.parametrize("text", ["", "0", "-1", "some", "1.5", "\u0663", "9" * 5000])
def test_anything_else_is_refused(text):
    with pytest.raises(UserError) as raised:
        _wanted(text)
    assert raised.value.exit_status == 2
    assert raised.value.rule == (
        "it is newest, all, or how many of each table's newest versions, 1 to 999,999,999"
    )


def test_a_running_warehouse_rebuilds_what_is_wrong_and_what_is_made_of_it(tmp_path):
    tables = {"orders": (), "parts": (), "joined": ("orders", "parts"), "total": ("joined",)}
    tables["other"] = ("orders",)
    shop = made_shop(tmp_path, tables)
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [10])
    with LiveRun(shop):
        for name in tables:
            shop.recorder.wait_for(f"done {name}")
        newest = [
            VersionCheck("orders", 0, RIGHT),
            VersionCheck("joined", 0, WRONG, "append", difference=FOUND),
        ]
        answers = _repair(shop.project, newest)
        assert list(answers) == ["joined", "total"]
        assert all(answer["ok"] for answer in answers.values())
        shop.recorder.wait_for("done total", 2)
    done = [(e.table, e.full) for e in shop.executor.requests]
    assert [each for each in done if each[1]] == [("joined", True), ("total", True)]
    assert len(done) == len(tables) + 2  # one commit each
    assert (shop.project.own_folder / "evidence" / "joined" / "0" / "rows.jsonl").exists()


def test_a_table_that_the_run_could_not_rebuild_is_told_with_its_error(tmp_path, monkeypatch):
    shop = made_shop(tmp_path, {"orders": (), "big": ("orders",), "small": ("orders",)})
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    shop.executor.failing["big"] = "no room"
    monkeypatch.setattr(
        running, "run_warehouse", lambda _, options, **__: 3 if shop.warehouse(options).run() else 0
    )
    newest = [
        VersionCheck("big", 0, WRONG, "append", difference=FOUND),
        VersionCheck("small", 0, WRONG, "append", difference=FOUND),
    ]
    assert _repair(shop.project, newest) == {
        "big": {"ok": False, "message": "not rebuilt: [made-to-fail] no room"},
        "small": {"ok": True, "message": "rebuilt"},
    }


def test_where_nothing_is_wrong_nothing_is_rebuilt(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    assert _repair(shop.project, [VersionCheck("orders", 0, SKIPPED, reason=GONE)]) == {}
