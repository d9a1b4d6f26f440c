"""A view that an audit found wrong: where the page's answers say so, and what of it."""

from __future__ import annotations

import dataclasses

import pytest

from freshline.executor.distrust import distrusted_views, trust_again, trust_when_rebuilt
from freshline.executor.explained import keep_explanation
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.requests.handler import carry_out_offline
from tests.support.shop import Shop, made_project
from tests.unit.ui.wrong import found_wrong


@pytest.fixture
def shop(tmp_path):
    shop = Shop(made_project(tmp_path, {"orders": (), "big": ("orders",), "small": ("orders",)}))
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    return shop


def test_until_it_is_rebuilt_it_is_wrong_and_comes_first(shop, serve):
    version, evidence = found_wrong(shop.project, "big")
    with serve(shop.project) as ask:
        overview = ask("/v1/ui/tables").json
        assert overview["counts"]["wrong"] == 1
        first = overview["tables"][0]
        assert (first["name"], first["state"]) == ("big", "wrong")
        assert first["wrong"] == (
            f"version {version} did not equal its query: 1 row missing, 2 rows extra; to be rebuilt"
        )
        only = ask("/v1/ui/tables?state=wrong").json["tables"]
        assert [each["name"] for each in only] == ["big"]
        found = ask("/v1/tables/big").json
        assert found["wrong"] == {
            "version": version,
            "strategy": "group-merge",
            "missing": 1,
            "extra": 2,
            "found": "2001-09-09T01:46:40.000000Z",
            "rebuilt": False,
            "trusted": False,
            "evidence": evidence,
            "rows": [
                {"times": -1, "row": {"n": 2}, "text": '{"n": 2}'},
                {"times": 1, "row": {"n": 3}, "text": '{"n": 3}'},
                {"times": 1, "row": {"n": 4}, "text": '{"n": 4}'},
            ],
        }
        assert ask("/v1/tables/small").json["wrong"] is None
        told = {each["name"]: each for each in ask("/v1/ui/guarantees").json["tables"]}
        assert told["big"]["wrong"]["version"] == version
        assert told["small"]["wrong"] is None


def test_rebuilt_it_is_as_others_are_and_what_was_wrong_stays_until_it_is_trusted(shop, serve):
    found_wrong(shop.project, "big")
    shop.file("orders", 2, [3])
    shop.run_until_idle()
    with serve(shop.project) as ask:
        overview = ask("/v1/ui/tables").json
        assert overview["counts"]["wrong"] == 0
        line = next(each for each in overview["tables"] if each["name"] == "big")
        assert line["state"] != "wrong"
        assert line["wrong"].endswith("rebuilt since")
        assert ask("/v1/tables/big").json["wrong"]["rebuilt"] is True
    trust_again(shop.project, "big")
    with serve(shop.project) as ask:
        assert ask("/v1/tables/big").json["wrong"] is None


def test_one_that_is_trusted_before_it_is_rebuilt_says_so(shop, serve):
    found_wrong(shop.project, "big")
    trust_when_rebuilt(shop.project, distrusted_views(shop.project)["big"])
    with serve(shop.project) as ask:
        found = ask("/v1/tables/big").json["wrong"]
    assert (found["rebuilt"], found["trusted"]) == (False, True)


def test_evidence_that_was_taken_away_leaves_the_rest(shop, serve):
    found_wrong(shop.project, "big")
    for file in (shop.project.own_folder / "evidence" / "big").rglob("rows.jsonl"):
        file.unlink()
    with serve(shop.project) as ask:
        assert ask("/v1/tables/big").json["wrong"]["rows"] == []


def test_what_explain_says_is_shown_of_the_present_query_alone(shop, serve):
    table = shop.project.table("big")
    with serve(shop.project) as ask:
        assert ask("/v1/tables/big").json["explained"]["text"] is None
    keep_explanation(shop.project, table, "big: merge, full\n")
    with serve(shop.project) as ask:
        assert ask("/v1/tables/big").json["explained"]["text"] == "big: merge, full\n"
    other = dataclasses.replace(table, query=f"{table.query} WHERE n > 0")
    tables = tuple(other if each is table else each for each in shop.project.tables)
    with serve(dataclasses.replace(shop.project, tables=tables)) as ask:
        assert ask("/v1/tables/big").json["explained"]["text"] is None


def test_tables_that_the_project_no_longer_has_count_for_nothing_but_their_rows(shop, serve):
    fewer = made_project(shop.root, {"orders": (), "big": ("orders",)})
    with serve(fewer) as ask:
        overview = ask("/v1/ui/tables").json
    assert (overview["own"], overview["total"], len(overview["tables"])) == (2, 3, 3)


def test_one_that_is_paused_says_so_beside_that_it_is_wrong(shop, serve):
    """The page offers to resume it: pausing it again would do nothing."""
    found_wrong(shop.project, "big")
    journal = Journal(journal_path(shop.project), create=False)
    carry_out_offline(journal, "pause", "big", 1e9)
    journal.close()
    with serve(shop.project) as ask:
        found = ask("/v1/tables/big").json
        assert (found["state"], found["paused"]) == ("wrong", True)
        assert ask("/v1/tables/small").json["paused"] is False
