"""A recorded run, told again to a fresh scheduler, gives the same commands."""

from __future__ import annotations

import dataclasses
import json

import pytest

from freshline.core.assembly import SchedulerSettings
from freshline.core.errors import UserError
from freshline.core.registry import found_policies
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.pruning import Kept, Pruning
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.recorded_run import recorded_run
from freshline.runtime.status.replay import replay
from freshline.sim.whatif.history import history_of
from freshline.sim.whatif.recorded import conforming
from freshline.sim.whatif.what_if import Variations, compared
from tests.support.shop import LiveRun, made_shop

TABLES = {"a": (), "b": (), "c": (), "ab": ("a", "b"), "all": ("ab", "c"), "b2": ("b",)}


@pytest.fixture
def journal_of():
    opened = []

    def journal(shop):
        opened.append(Journal(journal_path(shop.project), create=False))
        return opened[-1]

    yield journal
    for each in opened:
        each.close()


def pruned(journal, kept):
    pruning = Pruning(journal, (kept,))
    pruning.step()


def eventful(shop):
    """A run with two rounds of files, a failure, an unreadable file, a pause, a new priority."""
    shop.executor.failing["ab"] = "for now"
    for table in ("a", "b", "c"):
        shop.file(table, 1, [1])
    shop.file("c", 2, "no number")
    with LiveRun(shop):
        shop.recorder.wait_for("failed ab")
        shop.ask("pause", "b2")
        shop.ask("prioritise", "a", "7.5")
        shop.ask("refresh", "c")
        shop.ask("resume", "b2")
        shop.executor.failing.clear()
        for minute in (2, 3):
            for table in ("a", "b", "c"):
                shop.file(table, 3 * minute, [minute])
        shop.recorder.wait_for("done all", 1)


@pytest.mark.parametrize("policy", sorted(found_policies()))
def test_every_policy_replays_to_the_same_commands(tmp_path, journal_of, policy):
    shop = made_shop(tmp_path, TABLES, SchedulerSettings(policy=policy))
    eventful(shop)
    journal = journal_of(shop)
    found = replay(journal)
    assert found.mismatches == ()
    assert found.commands == journal.row("SELECT count(*) AS n FROM updates")["n"]
    assert found.instants == journal.row("SELECT count(*) AS n FROM instants")["n"]
    assert found.commands > len(TABLES)
    # The simulator, fed with the run's events and durations, decides as the run did.
    assert conforming(history_of(recorded_run(journal), {})) is None


@pytest.mark.parametrize("policy", sorted(set(found_policies()) - {"aus"}))
def test_a_run_without_failures_played_as_it_was_is_what_happened(tmp_path, journal_of, policy):
    # aus has dates of its own, at which a real loop comes a moment late; its law is in tests/laws.
    shop = made_shop(tmp_path, TABLES, SchedulerSettings(policy=policy))
    for minute in (1, 2):
        for table in ("a", "b", "c"):
            shop.file(table, minute, [minute])
        assert shop.run_until_idle() == 0
    journal = journal_of(shop)
    found = compared(recorded_run(journal), Variations())
    (again,) = found.played
    assert again.tables == found.happened.tables
    # A slow machine may see the files one by one, and update a view for each.
    started = journal.row("SELECT count(*) AS n FROM updates WHERE run=2")["n"]
    assert started >= len(TABLES)
    assert (again.recorded, again.modelled) == (started, 0)


def test_a_run_is_replayed_while_all_its_instants_are_kept(tmp_path, journal_of):
    shop = made_shop(tmp_path, TABLES)
    for minute in (1, 2, 3):
        shop.file("a", minute, [minute])
        shop.run_until_idle()
    journal = journal_of(shop)
    (newest,) = journal.rows("SELECT count(*) AS n FROM instants WHERE run=3")
    pruned(journal, Kept("instants", newest["n"], "0"))
    kept = {row["run"] for row in journal.rows("SELECT run FROM instants WHERE commands<>'[]'")}
    assert kept == {3}
    assert replay(journal, 3).mismatches == ()
    assert conforming(history_of(recorded_run(journal, 3), {})) is None
    for run in (1, 2):
        with pytest.raises(UserError, match=f"the first instants of run {run} are no longer"):
            replay(journal, run)
    pruned(journal, Kept("instants", newest["n"] - 1, "0"))
    with pytest.raises(UserError, match="the first instants of run 3 are no longer"):
        replay(journal, 3)


def test_a_restarted_run_replays_too(tmp_path, journal_of):
    shop = made_shop(tmp_path, TABLES, SchedulerSettings(chop=1.0, tracks=1))
    for minute in range(1, 8):
        shop.file("a", minute, [minute])
    shop.run_until_idle()
    shop.file("a", 9, [9])
    shop.run_until_idle()
    journal = journal_of(shop)
    first, second = replay(journal, 1), replay(journal, 2)
    assert (first.mismatches, second.mismatches) == ((), ())
    assert second.commands == 1


def test_a_command_that_was_another_one_is_a_mismatch(tmp_path, journal_of):
    shop = made_shop(tmp_path, TABLES)
    shop.file("a", 1, [1])
    shop.run_until_idle()
    journal = journal_of(shop)
    row = journal.row("SELECT * FROM instants WHERE commands<>'[]'")
    (command,) = json.loads(row["commands"])
    command["track"] = 1
    journal.write("UPDATE instants SET commands=? WHERE id=?", (json.dumps([command]), row["id"]))
    journal.flush()
    (mismatch,) = replay(journal).mismatches
    (recorded,), (replayed,) = mismatch.recorded, mismatch.replayed
    assert dataclasses.replace(recorded, track=0) == replayed
    assert mismatch.now_s == row["now_s"]
    ids = [each["id"] for each in journal.rows("SELECT id FROM instants ORDER BY id")]
    assert ids[mismatch.instant - 1] == row["id"]


def test_a_run_whose_first_instants_were_forgotten_is_refused(tmp_path, journal_of):
    shop = made_shop(tmp_path, TABLES)
    shop.file("a", 1, [1])
    shop.run_until_idle()
    journal = journal_of(shop)
    journal.write("DELETE FROM instants WHERE id=1")
    journal.flush()
    with pytest.raises(UserError) as error:
        replay(journal)
    assert str(error.value) == (
        "[forgotten-run] the first instants of run 1 are no longer in the journal; a journal"
        " keeps a bounded number of instants. Replay a later run."
    )


def test_a_run_that_never_was_is_refused(tmp_path, journal_of):
    shop = made_shop(tmp_path, TABLES)
    shop.run_until_idle()
    with pytest.raises(UserError, match="the journal has no run 7"):
        replay(journal_of(shop), 7)
