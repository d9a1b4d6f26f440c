"""Audits in the wall-clock driver: what is verified, what follows, and what people see of it."""

from __future__ import annotations

import dataclasses
import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from freshline.core.background.audits import Audits as Account
from freshline.executor.distrust import WrongView, distrusted, is_rebuilt, trust_again
from freshline.project.model import MaintenanceSettings
from freshline.render.status import remarks, table_record
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.replay import replay
from freshline.runtime.status.status import read_status
from freshline.runtime.upkeep import audits
from tests.support.shop import LiveRun, eventually, made_shop

TABLES = {"orders": (), "parts": (), "joined": ("orders", "parts"), "total": ("joined",)}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    # As after a million seconds of the run, so that no test waits until an audit can be paid.
    monkeypatch.setattr(
        audits, "Account", lambda share, tracks, start_s: Account(share, tracks, start_s - 1e6)
    )
    found = made_shop(tmp_path, TABLES)
    only_audits = MaintenanceSettings(compact=False, vacuum=False, trials=False, audit=1.0)
    found.project = dataclasses.replace(found.project, maintenance=only_audits)
    return found


def fill(shop, minute):
    shop.file("orders", minute, [minute])
    shop.file("parts", minute, [10 * minute])
    shop.run_until_idle()


def asked(shop, kind):
    return [each.table for each in shop.executor.requests if each.upkeep == kind]


def use(shop, table, code):
    """How many audits of a table came out so."""
    rows = shop.journal_rows(
        "SELECT updates FROM strategies WHERE strategy='verify'"
        f" AND table_name='{table}' AND code='{code}'"
    )
    return sum(row["updates"] for row in rows)


def test_each_views_newest_version_is_verified_once_and_no_table_has_news_by_it(shop):
    fill(shop, 1)
    assert asked(shop, "verify") == ["joined", "total"]
    shop.run_until_idle()
    assert asked(shop, "verify") == ["joined", "total"]
    fill(shop, 2)
    assert sorted(asked(shop, "verify")) == ["joined", "joined", "total", "total"]
    assert (use(shop, "joined", "right"), use(shop, "total", "right")) == (2, 2)
    status = read_status(shop.project, time.time())
    last = [table.last_update for table in status.tables[2:]]
    assert [each.strategy for each in last if each is not None] == ["full", "full"]
    shop.check_views()


def test_a_share_of_none_turns_them_off(shop):
    off = MaintenanceSettings(compact=False, vacuum=False, trials=False, audit=0.0)
    shop.project = dataclasses.replace(shop.project, maintenance=off)
    fill(shop, 1)
    assert asked(shop, "verify") == []


def test_a_wrong_view_is_rebuilt_at_once_and_what_was_found_is_kept(shop):
    shop.executor.audits = {"joined": ["wrong"]}
    fill(shop, 1)
    updates = [(e.table, e.full) for e in shop.executor.requests if e.table == "joined"]
    # built, verified, rebuilt, verified
    assert updates == [("joined", False), ("joined", False), ("joined", True), ("joined", False)]
    assert (use(shop, "joined", "wrong"), use(shop, "joined", "right")) == (1, 1)
    wrong = distrusted(shop.project, "joined")
    assert wrong is not None
    assert (wrong.version, wrong.strategy, wrong.missing, wrong.extra) == (0, "append", 1, 2)
    folder = shop.project.own_folder / "evidence" / "joined" / "0"
    assert wrong.evidence == str(folder)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert rows == [{"times": 2, "row": {"n": 7}}, {"times": -1, "row": {"n": 8}}]
    (notice,) = [line for line in shop.recorder.lines if "wrong" in line]
    assert notice == (
        "notice joined version 0 is wrong: 1 row missing, 2 rows extra (strategy append);"
        " it is rebuilt, and computed in full until `freshline retry joined`;"
        f" evidence is in {folder.parent}"
    )
    status = read_status(shop.project, time.time())
    (remark,) = [line for line in remarks(status) if "found wrong" in line]
    assert remark.startswith("joined: version 0 (append) was found wrong at ")
    assert "1 row missing, 2 rows extra; rebuilt, and computed in full until" in remark
    joined = next(table for table in status.tables if table.name == "joined")
    record = table_record(joined, ())
    assert (record["state"], record["wrong"]["rebuilt"]) == ("fresh", True)
    assert trust_again(shop.project, "joined")
    assert read_status(shop.project, time.time()).tables[2].wrong is None


def test_a_view_that_is_wrong_in_full_too_is_not_rebuilt_for_ever(shop):
    shop.executor.audits = {"joined": ["wrong"] * 9}
    fill(shop, 1)
    assert [(e.full, e.upkeep) for e in shop.executor.requests if e.table == "joined"] == [
        (False, ""), (False, "verify"), (True, ""), (False, "verify"),
    ]  # fmt: skip
    notices = [line for line in shop.recorder.lines if "is wrong" in line]
    assert len(notices) == 2
    assert "; it was just rebuilt, so its query may give other rows each time; " in notices[1]


def test_a_run_that_died_between_finding_and_rebuilding_is_made_up_for(shop):
    fill(shop, 1)
    shop.executor.audits = {"joined": ["wrong"]}
    shop.executor.run(next(e for e in shop.executor.requests if e.upkeep and e.table == "joined"))
    joined = read_status(shop.project, time.time()).tables[2]
    assert (joined.state, joined.rebuilt) == ("wrong", False)
    before = len(shop.executor.requests)
    shop.run_until_idle()
    after = shop.executor.requests[before:]
    assert next((e.table, e.full) for e in after if not e.upkeep) == ("joined", True)
    assert read_status(shop.project, time.time()).tables[2].state == "fresh"


def test_another_query_is_another_view(shop):
    shop.executor.audits = {"joined": ["wrong"]}
    fill(shop, 1)
    tables = tuple(
        dataclasses.replace(each, query=f"{each.query} WHERE n > 0")
        if each.name == "joined" else each
        for each in shop.project.tables
    )  # fmt: skip
    shop.project = dataclasses.replace(shop.project, tables=tables)
    assert read_status(shop.project, time.time()).tables[2].wrong is None


def test_an_audit_gives_way_to_an_update_and_comes_again(shop):
    scheduler = dataclasses.replace(shop.project.scheduler, tracks=1)
    shop.project = dataclasses.replace(shop.project, scheduler=scheduler)
    shop.executor.slow = {("joined", 2)}
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [10])
    with LiveRun(shop):
        shop.recorder.wait_for("start joined", 2)  # the audit
        assert not shop.executor.given_up
        shop.file("orders", 2, [2])
        shop.recorder.wait_for("done orders", 2)
        assert shop.executor.given_up == {("joined", 2)}
        eventually(lambda: asked(shop, "verify").count("joined") > 1)
        eventually(lambda: asked(shop, "verify").count("total") > 0)
    assert "notice joined: verify gave way to an update" in shop.recorder.lines
    assert "failed joined" not in shop.recorder.lines
    (row,) = shop.journal_rows("SELECT failures, error FROM tables WHERE name='joined'")
    assert row == {"failures": 0, "error": None}
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        assert replay(journal).mismatches == ()


def test_an_audit_that_fails_is_said_and_tried_again_by_the_next_run_not_by_this_one(shop):
    shop.executor.failing_upkeep = "no memory"
    fill(shop, 1)
    assert asked(shop, "verify") == ["joined", "total"]
    assert [line for line in shop.recorder.lines if "joined: verify failed" in line] == [
        "notice joined: verify failed: [made-to-fail] no memory"
    ]
    shop.executor.failing_upkeep = ""
    shop.run_until_idle()
    assert asked(shop, "verify") == ["joined", "total"] * 2
    assert use(shop, "joined", "right") == 1


@pytest.mark.parametrize(
    ("strategies", "rebuilt"),
    [
        ([], False),
        (["compact", "group-merge"], False),
        (["backfill"], False),
        (["key-recompute", "full"], True),
        (["full", "backfill"], True),
    ],
)
def test_a_wrong_view_is_rebuilt_by_an_update_that_computes_all_of_it(shop, strategies, rebuilt):
    log = Path(shop.project.table_path("total")) / "_delta_log"
    log.mkdir(parents=True)
    for version, strategy in enumerate(["full", "group-merge", *strategies]):
        told = {"freshline": 1, "update": version + 1, "strategy": strategy}
        info = {"commitInfo": {"timestamp": version, "userMetadata": json.dumps(told)}}
        (log / f"{version:020d}.json").write_text(json.dumps(info))
    wrong = WrongView("total", 1, "group-merge", 1, 1, 0.0, "", "")
    assert is_rebuilt(shop.project, wrong) == rebuilt
