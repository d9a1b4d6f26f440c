"""A storage that does not answer: what the journal knows is told all the same."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path

import pytest

from freshline.delta.log_files import unreadable
from freshline.executor import distrust
from freshline.executor.distrust import distrusted_views, trust_again, trust_when_rebuilt
from freshline.render.status import faults, remarks, status_record
from freshline.runtime.metrics.standing import Standing
from freshline.runtime.status import trusted
from freshline.runtime.status.status import read_status
from freshline.runtime.status.trusted import wrong_views
from freshline.runtime.status.waiting import Goal, look
from freshline.runtime.subset import subset
from tests.support.shop import eventually, made_shop
from tests.unit.ui.wrong import found_wrong, storage_away


@pytest.fixture
def shop(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",), "other": ("orders",)})
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    return shop


@pytest.fixture
def away(monkeypatch):
    """An event that takes the storage away while it is set."""
    return storage_away(monkeypatch)


def told(shop):
    """What is said of the storage in each place."""
    found = read_status(shop.project, time.time())
    lines = [
        [line for line in each if "unreachable" in line] for each in (remarks(found), faults(found))
    ]
    return [*lines, status_record(found)["wrong_unknown"]]


def test_all_that_the_journal_knows_is_told_and_that_the_storage_does_not_answer(shop, away):
    now_s = time.time()
    before = read_status(shop.project, now_s)
    assert told(shop) == [[], [], None]
    away.set()
    found = read_status(shop.project, now_s)
    why = "[storage-unreachable] it cannot be reached"
    assert found == dataclasses.replace(before, wrong_unknown=why)
    line = f"whether views were found wrong is not known now: {why}"
    assert told(shop) == [[line], [line], why]
    (awaited,) = look(shop.project, ["total"], Goal(fresh_to_s=0.0), now_s)
    assert awaited.fresh
    assert any(
        family.name == "freshline_table_state" for family in Standing(shop.project).collect()
    )


def test_meanwhile_views_count_as_what_the_storage_told_last(shop, away):
    found_wrong(shop.project, "total")
    found_wrong(shop.project, "other")
    before = wrong_views(shop.project)
    assert set(before.found) == {"total", "other"}
    assert trust_again(shop.project, "other")
    wrong_views(subset(shop.project, ["other"]))  # tells of these tables alone
    away.set()
    assert set(wrong_views(shop.project).found) == {"total"}
    assert read_status(shop.project, time.time()).tables[1].state == "wrong"
    assert trust_again(shop.project, "total")
    away.clear()
    assert wrong_views(shop.project).found == {}


def test_a_storage_at_a_uri_that_hangs_holds_nobody_up_for_longer_than_its_patience(
    shop, monkeypatch
):
    answers, looks = threading.Event(), []

    def views(project):
        looks.append(project)
        answers.wait(30.0)
        return distrusted_views(project)

    monkeypatch.setattr(trusted, "local_log", lambda _: None)  # as of a URI
    monkeypatch.setattr(trusted, "PATIENCE_S", 0.2)
    monkeypatch.setattr(trusted, "_FIRST_PATIENCE_S", 0.2)
    monkeypatch.setattr(trusted, "distrusted_views", views)
    found_wrong(shop.project, "total")
    began_s = time.monotonic()
    found = [wrong_views(shop.project) for _ in range(3)]
    assert time.monotonic() - began_s < 5.0
    assert all("has not answered" in (each.unknown or "") for each in found)
    assert len(looks) == 1
    answers.set()
    monkeypatch.setattr(trusted, "PATIENCE_S", 30.0)
    eventually(lambda: set(wrong_views(shop.project).found) == {"total"})
    assert wrong_views(shop.project).unknown is None


@pytest.fixture
def looks(shop, monkeypatch):
    """For how long the storage, as at a URI, hangs at each look; the last one for ever after."""
    looks, hangs = [], [0.5]

    def views(project):
        looks.append(project)
        time.sleep(hangs.pop(0) if len(hangs) > 1 else hangs[0])
        return distrusted_views(project)

    monkeypatch.setattr(trusted, "local_log", lambda _: None)
    monkeypatch.setattr(trusted, "PATIENCE_S", 0.1)
    monkeypatch.setattr(trusted, "_FIRST_PATIENCE_S", 0.1)
    monkeypatch.setattr(trusted, "distrusted_views", views)
    found_wrong(shop.project, "total")
    return looks, hangs


def test_what_a_slow_storage_told_is_used_though_nobody_waited_for_it(shop, looks):
    assert "has not answered" in (wrong_views(shop.project).unknown or "")
    eventually(lambda: wrong_views(shop.project).unknown is None)
    assert len(looks[0]) == 1
    assert set(wrong_views(shop.project).found) == {"total"}
    with pytest.MonkeyPatch.context() as later:
        later.setattr(trusted, "_LASTS_S", 0.0)  # what was found then counts as told last
        found = wrong_views(shop.project)
    assert (set(found.found), len(looks[0])) == ({"total"}, 2)
    assert "has not answered" in (found.unknown or "")


def test_a_look_that_hangs_is_given_up_and_another_one_made(shop, looks, monkeypatch):
    looks[1][:] = [20.0, 0.0]
    assert "has not answered" in (wrong_views(shop.project).unknown or "")
    assert "has not answered" in (wrong_views(shop.project).unknown or "")
    monkeypatch.setattr(trusted, "_GIVEN_UP_S", 0.0)
    monkeypatch.setattr(trusted, "PATIENCE_S", 30.0)
    assert wrong_views(shop.project).unknown is None
    assert len(looks[0]) == 2


def test_a_storage_that_answers_at_once_is_not_asked_by_each_who_looks(shop, looks, monkeypatch):
    looks[1][:] = [0.0]
    monkeypatch.setattr(trusted, "PATIENCE_S", 30.0)
    monkeypatch.setattr(trusted, "_FIRST_PATIENCE_S", 30.0)
    found = [set(wrong_views(shop.project).found) for _ in range(3)]
    assert (found, len(looks[0])) == ([{"total"}] * 3, 1)
    monkeypatch.setattr(trusted, "_LASTS_S", 0.0)
    wrong_views(shop.project)
    assert len(looks[0]) == 2


def test_who_asks_once_waits_for_longer(shop, looks, monkeypatch):
    monkeypatch.setattr(trusted, "_FIRST_PATIENCE_S", 30.0)
    assert wrong_views(shop.project).unknown is None
    assert len(looks[0]) == 1


def test_what_nobody_foresaw_is_raised_as_from_a_disk(shop, monkeypatch):
    def views(_):
        raise KeyError("evidence")

    monkeypatch.setattr(trusted, "local_log", lambda _: None)
    monkeypatch.setattr(trusted, "distrusted_views", views)
    with pytest.raises(KeyError, match="evidence"):
        wrong_views(shop.project)


@pytest.mark.parametrize("trusted_when_rebuilt", [False, True])
def test_a_view_whose_log_cannot_be_read_keeps_no_other_one_from_being_told(
    shop, trusted_when_rebuilt
):
    found_wrong(shop.project, "total")
    found_wrong(shop.project, "other")
    if trusted_when_rebuilt:
        trust_when_rebuilt(shop.project, distrusted_views(shop.project)["other"])
    log = Path(shop.project.table_path("other")) / "_delta_log"
    (log / f"{len(list(log.glob('*.json'))):020d}.json").write_text('{"commitInfo":')
    found = wrong_views(shop.project)
    assert found.unknown is None
    assert {name: rebuilt for name, (_, rebuilt) in found.found.items()} == {
        "total": False, "other": False,
    }  # fmt: skip


def test_a_view_that_is_trusted_and_rebuilt_is_not_told_while_the_storage_of_its_log_is_away(
    shop, monkeypatch
):
    found_wrong(shop.project, "total")
    trust_when_rebuilt(shop.project, distrusted_views(shop.project)["total"])
    monkeypatch.setattr(distrust, "is_rebuilt", lambda *_: True)
    assert wrong_views(shop.project).found == {}

    def away(*_):
        why = OSError("it does not answer")
        raise unreadable("s3://shop/total", why) from why

    monkeypatch.setattr(distrust, "is_rebuilt", away)
    found = wrong_views(shop.project)
    assert found.found == {}
    assert "it does not answer" in (found.unknown or "")
