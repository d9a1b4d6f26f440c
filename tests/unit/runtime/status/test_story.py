"""Why an update was made when it was: the journal's rows put together."""

from __future__ import annotations

import threading

import pytest

from freshline.core.assembly import SchedulerSettings
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.story import ConcurrentUpdate, PassedOver, story_of
from tests.support.shop import LiveRun, eventually, made_shop


@pytest.fixture
def stories():
    opened = []

    def story(shop, table, **options):
        journal = Journal(journal_path(shop.project), create=False)
        opened.append(journal)
        return story_of(journal, table, **options)

    yield story
    for journal in opened:
        journal.close()


def test_an_update_that_waited_names_what_ran_and_what_it_was_chosen_over(tmp_path, stories):
    shop = made_shop(tmp_path, {"a": (), "b": (), "c": ()}, SchedulerSettings(tracks=1))
    gate = shop.executor.gates["a"] = threading.Event()
    shop.file("a", 1, [1])
    with LiveRun(shop):
        shop.recorder.wait_for("start a")
        shop.file("b", 1, [1, 2])
        shop.file("c", 1, [1])
        eventually(lambda: len(shop.journal_rows("SELECT 1 FROM files")) == 3)
        gate.set()
        shop.recorder.wait_for("done b")
        shop.recorder.wait_for("done c")
    (a,) = stories(shop, "a", base=True)
    (b,) = stories(shop, "b", base=True)
    (c,) = stories(shop, "c", base=True)
    # c has priority 3, b has 2: c goes first once a is done.
    assert c.score.startswith("benefit 3 = priority 3 * gain 1.000 s / ")
    assert [other.table for other in c.over] == ["b"]
    assert isinstance(c.over[0], PassedOver)
    assert (b.state, b.files, b.rows, b.strategy, b.version) == ("done", 1, 2, "append", 0)
    assert (b.to_s - b.from_s, b.attempt, b.number, b.full) == (1.0, 1, 1, False)
    assert b.waited_s == b.started_s - b.released_s > 0.0
    assert [(item.table, item.number, item.track) for item in b.meanwhile] == [
        ("a", 1, 0),
        ("c", 1, 0),
    ]
    whole, part = b.meanwhile[1], b.meanwhile[0]
    assert whole.overlap_s == whole.finished_s - whole.started_s
    assert part == ConcurrentUpdate(
        "a", 1, 0, a.started_s, a.finished_s, a.finished_s - b.released_s
    )
    assert sum(item.overlap_s for item in b.meanwhile) <= b.waited_s


def test_failed_attempts_are_told_with_their_reason(tmp_path, stories):
    shop = made_shop(tmp_path, {"a": ()})
    shop.executor.failing["a"] = "no room"
    shop.file("a", 1, [1])
    shop.run_until_idle()
    shop.executor.failing.clear()
    shop.run_until_idle()
    told = [
        (chapter.state, chapter.number, chapter.attempt, chapter.error)
        for chapter in stories(shop, "a", base=True)
    ]
    assert told == [
        ("failed", 1, 1, "[made-to-fail] no room"),
        ("failed", 1, 2, "[made-to-fail] no room"),
        ("failed", 1, 3, "[made-to-fail] no room"),
        ("done", 1, 1, None),
    ]


def test_the_time_of_a_failed_attempt_is_no_waiting(tmp_path, stories):
    shop = made_shop(tmp_path, {"a": ()})
    shop.executor.failing["a"] = "no room"
    shop.file("a", 1, [1])
    shop.run_until_idle()
    first, second, third = stories(shop, "a", base=True)
    assert first.failed_s is None
    assert first.waited_s == first.started_s - first.released_s
    for earlier, later in ((first, second), (second, third)):
        assert later.failed_s == earlier.finished_s > later.released_s
        assert later.waited_s == later.started_s - earlier.finished_s
        assert later.meanwhile == ()


def test_a_view_tells_what_versions_it_read_and_has_no_files(tmp_path, stories):
    shop = made_shop(tmp_path, {"a": (), "view": ("a",)})
    for minute in (1, 2, 3):
        shop.file("a", minute, [minute])
        shop.run_until_idle()
    chapters = stories(shop, "view", base=False, last=2)
    assert [(item.number, item.files, item.parents) for item in chapters] == [
        (2, None, (("a", 1),)),
        (3, None, (("a", 2),)),
    ]


def test_a_table_without_updates_has_no_story(tmp_path, stories):
    shop = made_shop(tmp_path, {"a": ()})
    shop.run_until_idle()
    assert stories(shop, "a", base=True) == []
