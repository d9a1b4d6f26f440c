"""Answers are shared, and none that is older than the last event passes for the newest."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.strategies import UPKEEP
from freshline.runtime.status import status
from freshline.ui.events import Events, _Seen, _updates
from freshline.ui.reads import reading
from freshline.ui.reads.reading import Reader
from tests.support.shop import PATIENCE_S, LiveRun, Shop, eventually, made_project


@pytest.fixture
def shop(tmp_path):
    return Shop(made_project(tmp_path, {"orders": (), "big": ("orders",)}))


@pytest.fixture
def reader(shop):
    reader = Reader(shop.project)
    yield reader
    reader.close()


@pytest.fixture
def unpaced(monkeypatch):
    """Reading costs nothing, so nothing is kept by its cost."""
    monkeypatch.setattr(reading, "kept_s", lambda *_: 0.0)


def told(answer):
    return json.loads(answer.body.content)["number"]


@pytest.mark.usefixtures("unpaced")
def test_an_answer_that_is_computed_while_something_happens_is_not_kept(reader):
    """It says what was before, and the next who asks gets what is now."""
    begun, happened, numbers = threading.Event(), threading.Event(), iter((1, 2))

    def compute():
        number = next(numbers)
        begun.set()
        assert happened.wait(PATIENCE_S)
        return {"number": number}

    async def ask():
        first = asyncio.create_task(reader.body("key", compute))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        reader.forget()
        happened.set()
        was = await first
        return was, await reader.body("key", compute)

    was, now = asyncio.run(ask())
    assert (told(was), was.outdated) == (1, True)
    assert (told(now), now.outdated) == (2, False)


@pytest.mark.usefixtures("unpaced")
def test_a_status_that_is_read_while_something_happens_is_not_kept(reader, monkeypatch):
    read = status.read_status
    looks = []

    def looked(*given, **named):
        looks.append(given)
        found = read(*given, **named)
        if len(looks) == 1:
            reader.forget()
        return found

    monkeypatch.setattr(reading, "read_status", looked)
    for _ in range(3):
        reader.status()
    assert len(looks) == 2


@pytest.mark.usefixtures("unhurried")
def test_an_answer_made_of_an_older_status_says_that_it_is_outdated(reader):
    def compute():
        return {"number": len(reader.status().tables)}

    async def ask():
        fresh = await reader.body("one", compute)
        reader.forget()
        return fresh, await reader.body("one", compute), await reader.body("two", compute)

    fresh, kept, of_kept = asyncio.run(ask())
    assert not fresh.outdated
    assert kept.outdated
    assert of_kept.outdated
    assert kept.newest_for_s > 60.0


@pytest.mark.usefixtures("unhurried")
def test_whether_a_run_goes_on_is_never_an_old_answer(shop, serve):
    with serve(shop.project) as ask:
        assert ask("/v1/ui/tables").json["run"]["running"] is False
        assert ask("/v1/ui/session").json["now"]["running"] is False
        with LiveRun(shop):
            eventually(lambda: ask("/v1/ui/session").json["now"]["ready"])
            assert ask("/v1/ui/tables").json["run"]["running"] is False  # that one is kept
        assert ask("/v1/ui/session").json["now"]["running"] is False


def events_until(reader, wanted):
    """What a listener is sent, until ``wanted`` is among it."""
    events = Events(reader)

    async def listen():
        sent = ""
        async for each in events.stream():
            sent += each.decode()
            if wanted in sent:
                break
        events.end()
        return sent

    return asyncio.run(asyncio.wait_for(listen(), 60))


def test_the_first_look_says_whether_a_run_goes_on(shop, reader):
    """Who listens asked for it before, and nobody else tells what happened in between."""
    assert 'event: run\ndata: {"running":false,"ready":false}' in events_until(reader, "event: run")
    with LiveRun(shop):
        eventually(lambda: reader.run_now().ready_s)
        assert '{"running":true,"ready":true}' in events_until(reader, "event: run")


def test_upkeep_that_runs_when_the_first_listener_comes_is_no_update(tmp_path):
    journal = Journal(tmp_path / "journal.db", create=True)
    for strategy in (*UPKEEP, None):
        values = ("big", strategy)
        journal.write(
            "INSERT INTO updates (table_name, strategy, state) VALUES (?,?,'running')", values
        )
    journal.flush()
    seen = _Seen()
    assert _updates(journal, seen) == []
    journal.write("UPDATE updates SET state='failed'")
    journal.flush()
    events = _updates(journal, seen)
    assert [(kind, data["id"]) for kind, data in events] == [("update-failed", len(UPKEEP) + 1)]
    journal.close()


def test_a_look_that_fails_loses_nothing(shop, reader, monkeypatch):
    """The journal of a run that begins cannot be read for a moment."""
    shop.file("orders", 1, [1])
    failures = iter([True])
    journal = Reader.journal

    class Unreadable:
        def __init__(self, found):
            self.found = found

        def __getattr__(self, name):
            return getattr(self.found, name)

        def rows(self, *_):
            raise OSError("not now")

    class Opened:
        def __init__(self, opened):
            self.opened = opened

        def __enter__(self):
            found = self.opened.__enter__()
            return Unreadable(found) if next(failures, False) else found

        def __exit__(self, *error):
            return self.opened.__exit__(*error)

    monkeypatch.setattr(Reader, "journal", lambda self: Opened(journal(self)))
    with LiveRun(shop):
        shop.recorder.wait_for("done big")
        assert '"running":true' in events_until(reader, "event: run")
    assert next(failures, None) is None
