"""A run's oversight, in virtual time: what its journal and ``status`` come to say."""

from __future__ import annotations

import dataclasses
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from freshline.core.assembly import SchedulerSettings
from freshline.core.errors import Place
from freshline.core.events import Event, FileArrived, PeriodLearned, TablePaused, UpdateFinished
from freshline.core.oversight.bounds import Reason
from freshline.project.model import FeedKind, IngestSettings, TableDef
from freshline.render.watched import feed_record, misfit_record, watched_record, watched_remarks
from freshline.runtime.assembly import scheduler_for, specs_for
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.oversight import Oversight
from freshline.runtime.status.run import RunStatus
from freshline.runtime.status.status import WarehouseStatus
from freshline.runtime.status.watched import read_feeds, read_gaps, read_misfit, read_watched
from tests.support.shop import made_project


class Run:
    """A project without a clock: a test says what time it is and what takes how long."""

    def __init__(
        self,
        root,
        policy: str,
        *,
        tracks: int = 1,
        partition: str = "none",
        more: int = 0,
        kind: FeedKind = "files",
        land_after_s: float = 5.0,
        period_s: float | None = 10.0,
    ) -> None:
        settings = SchedulerSettings(tracks=tracks, policy=policy, partition=partition)
        others = {f"c{number}": () for number in range(more)}
        project = made_project(root, {"a": (), "b": (), "v": ("a",), **others}, settings)
        feeds = {
            name: dataclasses.replace(feed, period_s=period_s, kind=kind)
            for name, feed in project.feeds.items()
        }
        ingest = IngestSettings(root, land_after_s=land_after_s) if kind == "push" else None
        self.project = dataclasses.replace(project, feeds=feeds, ingest=ingest)
        self.journal = Journal(journal_path(self.project), create=True)
        specs = specs_for(self.project, self.journal)
        self.core = scheduler_for(self.project, specs, 0.0)
        self.oversight = Oversight(self.project, self.journal, self.core, 0.0)
        self.oversight.listen(0.0)
        self.ends: list[tuple[float, str]] = []
        self.notices: list[str] = []
        self.told: list[tuple[float, Event]] = []
        self.now = 0.0
        self.versions: dict[str, int] = {}

    def play(self, files: dict[str, list[tuple[float, float]]], until: float, seconds=1.0) -> None:
        """Play arrivals (at, timestamp) by table until a moment."""
        due = sorted((at, name, stamp) for name, pairs in files.items() for at, stamp in pairs)
        while True:
            times = [item[0] for item in self.ends] + [item[0] for item in due[:1]]
            times += [at for at, _ in self.told[:1]]
            now = min([*times, self.core.next_wakeup_s(), self.now + 1.0])
            if now > until:
                return
            self.now = now
            events: list[Event] = []
            for end in sorted(end for end in self.ends if end[0] <= now):
                self.ends.remove(end)
                version = self.versions[end[1]] = self.versions.get(end[1], -1) + 1
                events.append(UpdateFinished(end[1], version))
            while due and due[0][0] <= now:
                _, name, stamp = due.pop(0)
                self.notices += self.oversight.files(f"{name}_feed", now, [stamp])
                events.append(FileArrived(name, stamp, f"{name}{stamp}"))
            while self.told and self.told[0][0] <= now:
                events.append(self.told.pop(0)[1])
            commands = self.core.handle(now, events)
            took = seconds if isinstance(seconds, dict) else {}
            for command in commands:
                self.ends.append((now + took.get(command.table, 1.0), command.table))
            self.notices += self.oversight.instant(now, events, commands)

    def watched(self):
        self.journal.flush()
        return read_watched(self.journal)

    def misfit(self):
        self.journal.flush()
        return read_misfit(self.journal)

    def remarks(self):
        self.journal.flush()
        run = RunStatus(True, 1, 0.0, 0.0, None, 1, self.project.scheduler.policy)
        tables: Any = tuple(
            SimpleNamespace(name=table.name, state="fresh") for table in self.project.tables
        )
        status = WarehouseStatus(
            self.now, "shop", "", run, tables, None, read_feeds(self.journal), self.watched(),
            misfit=self.misfit(),
        )  # fmt: skip
        return watched_remarks(status)


def regular(until: int, begin: int = 10):
    """A file every 10 s, stamped when it comes."""
    return [(float(at), float(at)) for at in range(begin, until, 10)]


@pytest.mark.parametrize("policy", ["max-benefit", "aus"])
def test_a_feed_in_an_outage_is_shown_with_since_when_whatever_the_policy(tmp_path, policy):
    run = Run(tmp_path, policy)
    run.play({"a": regular(101), "b": regular(300)}, 150.0)
    assert run.notices == ["feed a_feed is silent: nothing for 43 s, expected every 10 s"]
    assert run.remarks()[0] == "feed a_feed: silent, nothing since 00:01:40, expected every 10 s"
    a, b = read_feeds(run.journal)
    assert (a.silent_since_s, b.silent_since_s) == (100.0, None)
    assert feed_record(a, running=True)["out_since"] == "1970-01-01T00:01:40.000000Z"
    assert feed_record(a, running=False)["out_since"] is None


def test_a_feed_of_pushed_records_falls_silent_too(tmp_path):
    run = Run(tmp_path, "max-benefit", kind="push")
    run.play({"a": regular(101), "b": regular(300)}, 150.0)
    assert run.notices == ["feed a_feed is silent: nothing for 48 s, expected every 10 s"]
    run.journal.flush()
    a, b = read_feeds(run.journal)
    assert (a.silent_since_s, b.silent_since_s) == (100.0, None)


def test_of_pushed_records_a_period_that_was_learned_says_nothing(tmp_path):
    """It is of the files in which records are landed; who pushes may do so when it likes."""
    run = Run(tmp_path, "max-benefit", kind="push", period_s=None)
    run.told = [(100.0, PeriodLearned("a", 5.5)), (100.0, PeriodLearned("b", 5.5))]
    run.play({"a": regular(101), "b": regular(300)}, 400.0)
    assert run.notices == []


def test_a_feed_that_nobody_watches_any_more_is_not_silent_any_more(tmp_path):
    run = Run(tmp_path, "max-benefit", kind="push")
    run.play({"a": regular(101), "b": regular(300)}, 150.0)
    run.journal.flush()
    feeds = {
        name: dataclasses.replace(feed, period_s=None) for name, feed in run.project.feeds.items()
    }
    Oversight(dataclasses.replace(run.project, feeds=feeds), run.journal, run.core, 150.0)
    run.journal.flush()
    assert [feed.silent_since_s for feed in read_feeds(run.journal)] == [None, None]


def test_pushed_records_that_are_landed_rarely_are_no_outage_of_their_feed(tmp_path):
    """They came in time; ``land_after`` says when a run can see them."""
    run = Run(tmp_path, "aus", kind="push", land_after_s=60.0)
    rarely = [(float(at), float(at)) for at in range(60, 601, 60)]
    run.play({"a": rarely, "b": rarely}, 600.0)
    run.journal.flush()
    assert run.notices == []
    assert [feed.came_back_s for feed in read_feeds(run.journal)] == [None, None]


def test_back_with_a_backlog_the_date_of_the_end_is_shown_and_it_comes(tmp_path):
    run = Run(tmp_path, "max-benefit")
    backlog = [(400.0, float(stamp)) for stamp in range(110, 401, 10)]
    files = {"a": [*regular(101), *backlog, *regular(600, 410)], "b": regular(600)}
    run.play(files, 400.0)
    assert run.notices[-1] == "feed a_feed is back"
    run.journal.flush()
    assert read_gaps(run.journal, 1e9, 5) == {"a_feed": [(100.0, 400.0)]}
    item = run.watched()["a"]
    assert item.mode is None
    assert item.violations is None  # no bound is proven of this policy
    assert (item.recovery.since_s, item.recovery.backlog_s) == (400.0, 300.0)
    assert 400.0 < item.recovery.fresh_s < 410.0
    assert run.watched()["v"].recovery.fresh_s > item.recovery.fresh_s
    run.play({}, 405.0)
    assert run.watched()["a"].recovery is None
    assert run.watched()["v"].recovery is None


def test_under_aus_recovery_is_shown_with_mode_backlog_and_dates_and_nobody_breaks_a_bound(
    tmp_path,
):
    run = Run(tmp_path, "aus", tracks=2)
    backlog = [(400.0, float(stamp)) for stamp in range(110, 401, 10)]
    files = {"a": [*regular(101), *backlog, *regular(900, 410)], "b": regular(900)}
    run.play(files, 420.0)
    a = run.watched()["a"]
    assert a.mode == "recovery"
    assert a.recovery.since_s == 400.0
    assert 100.0 < a.recovery.backlog_s < 300.0
    assert 420.0 < a.recovery.fresh_s <= a.recovery.bound_s
    record = watched_record(a, running=True)
    assert record["mode"] == "recovery"
    assert record["catching_up"]["waits_for_capacity"] is False
    assert record["violations"] == {"count": 0, "reasons": {}}
    assert any("recovery, catching up" in line for line in run.remarks())
    first_s = a.recovery.first_s
    rest = {"a": regular(900, 430), "b": regular(900, 430)}
    run.play(rest, 800.0)
    found = run.watched()
    assert found["a"].recovery is None
    assert {name: dict(item.violations or {}) for name, item in found.items()} == {
        "a": {}, "b": {}, "v": {},
    }  # fmt: skip
    assert first_s is not None


def test_an_update_that_takes_far_too_long_is_counted_with_that_reason(tmp_path):
    run = Run(tmp_path, "aus")
    run.play({"a": regular(101), "b": regular(101)}, 100.0)
    run.play({"a": regular(201, 110), "b": regular(201, 110)}, 200.0, {"b": 60.0})
    counts = run.watched()["a"].violations
    assert counts is not None
    assert set(counts) == {"execution took longer than assumed"}
    assert any(line.startswith("a: past its bounds") for line in run.remarks())


@pytest.mark.parametrize("policy", ["max-benefit", "whittle"])
def test_an_instant_costs_what_happened_at_it_however_many_tables_there_are(tmp_path, policy):
    runs = [Run(tmp_path / str(more), policy, more=more) for more in (0, 40)]
    few, many = map(calls_of_instants, runs)
    assert few > 100
    assert many < 1.2 * few


def calls_of_instants(run: Run) -> int:
    """How many functions of Python are called while two tables get ten files and their updates."""
    run.play({"a": regular(51), "b": regular(51)}, 50.0)  # by then the others are known to be out
    calls = 0

    def count(_, event: str, __) -> None:
        nonlocal calls
        calls += event == "call"

    whole = run.oversight.instant

    def counted(*given) -> list[str]:
        sys.setprofile(count)
        try:
            return whole(*given)
        finally:
            sys.setprofile(None)

    run.oversight.instant = counted  # type: ignore[method-assign,assignment]
    run.play({"a": regular(151, 60), "b": regular(151, 60)}, 150.0)
    assert run.versions.keys() == {"a", "b", "v"}
    return calls


def test_an_outage_goes_on_over_a_restart(tmp_path):
    run = Run(tmp_path, "max-benefit")
    run.play({"a": regular(101), "b": regular(150)}, 150.0)
    run.journal.close()
    again = Run(tmp_path, "max-benefit")
    again.oversight.listen(1000.0)
    again.oversight.instant(1000.0, [], [])
    again.journal.flush()
    assert [feed.silent_since_s for feed in read_feeds(again.journal)] == [100.0, None]


def test_a_run_of_other_tables_ends_no_silence(tmp_path):
    run = Run(tmp_path, "max-benefit")
    run.play({"a": regular(101), "b": regular(300)}, 150.0)
    run.journal.flush()
    tables = tuple(table for table in run.project.tables if table.name == "b")
    some = dataclasses.replace(run.project, tables=tables)
    core = scheduler_for(some, specs_for(some, run.journal), 150.0)
    Oversight(some, run.journal, core, 150.0)
    run.journal.flush()
    assert read_feeds(run.journal)[0].silent_since_s == 100.0


def test_a_file_that_came_by_a_clock_that_was_ahead_puts_off_no_silence(tmp_path):
    run = Run(tmp_path, "max-benefit")
    run.play({"a": regular(101), "b": regular(1001)}, 1000.0)
    run.journal.write("UPDATE feeds SET last_s=1e9, silent_since_s=NULL")
    run.journal.close()
    again = Run(tmp_path, "max-benefit")
    again.play({"b": regular(301)}, 300.0)
    assert again.notices == ["feed a_feed is silent: nothing for 52 s, expected every 10 s"]


def test_a_partition_that_costs_have_outgrown_is_told_and_so_is_its_end(tmp_path):
    run = Run(tmp_path, "edf", partition="edf-partitioned")
    files = {"a": regular(2000), "b": regular(2000)}
    run.play(files, 100.0)
    assert (run.notices, run.remarks(), run.misfit()) == ([], [], None)
    run.play({name: pairs[10:] for name, pairs in files.items()}, 600.0, {"a": 8.0})
    what = "edf-partitioned needs 2 tracks for these tables, there are 1"
    notice = (
        f"partition edf-partitioned no longer fits what updates cost: {what}; the present one "
        "stays, and the next start will be refused unless it fits again"
    )
    assert run.notices == [notice]
    misfit = run.misfit()
    assert misfit is not None
    assert 100.0 < misfit.since_s < 600.0
    since = f"1970-01-01T00:0{int(misfit.since_s) // 60}:{int(misfit.since_s) % 60:02d}.000000Z"
    assert misfit_record(misfit) == {"partition": "edf-partitioned", "since": since, "what": what}
    assert any(line.startswith("partition edf-partitioned: no longer") for line in run.remarks())
    run.play({name: pairs[60:] for name, pairs in files.items()}, 2000.0)
    fits = "partition edf-partitioned fits what updates cost again"
    assert run.notices[1:] == [f"{fits}; tables were assigned to tracks again"]
    assert (run.remarks(), run.misfit()) == ([], None)


def changed(run: Run, **changes: Any) -> Run:
    """The same run of a changed project, from its begin."""
    run.project = dataclasses.replace(run.project, **changes)
    run.core = scheduler_for(run.project, specs_for(run.project, run.journal), 0.0)
    run.oversight = Oversight(run.project, run.journal, run.core, 0.0)
    run.oversight.listen(0.0)
    return run


def broken(run: Run) -> dict[str, Any]:
    return {name: item.violations for name, item in run.watched().items() if item.violations}


@pytest.mark.parametrize("kind", ["files", "kafka", "push", "delta"])
def test_a_feed_that_is_silent_breaks_no_bound_whatever_its_kind(tmp_path, kind):
    run = Run(tmp_path, "aus")
    feeds = {name: dataclasses.replace(feed, kind=kind) for name, feed in run.project.feeds.items()}
    run = changed(run, feeds=feeds)
    run.play({"a": regular(101), "b": regular(300)}, 290.0)
    assert broken(run) == {}


def test_a_view_over_no_table_of_the_project_is_computed_once_and_breaks_no_bound(tmp_path):
    run = Run(tmp_path, "aus")
    here = Place("tables.sql", 1)
    lone = TableDef("lone", "derived", "SELECT 1 AS n", here, here)
    run = changed(run, tables=(*run.project.tables, lone))
    # As it is told of: when the run starts, and never again.
    run.play({"lone": [(10.0, 10.0)], "a": regular(400), "b": regular(400)}, 390.0)
    assert broken(run) == {}


def test_a_table_whose_feeds_period_nobody_knows_breaks_no_bound_until_it_is_learned(tmp_path):
    run = Run(tmp_path, "aus")
    feed = run.project.feeds["a_feed"]
    feeds = {**run.project.feeds, "a_feed": dataclasses.replace(feed, period_s=None)}
    run = changed(run, feeds=feeds)  # the core takes 60 s for it
    run.play({"a": [(10.0, 10.0)], "b": regular(400)}, 390.0)
    assert broken(run) == {}
    run.told = [(400.0, PeriodLearned("a", 10.0)), (450.5, TablePaused("a"))]
    run.play({"a": regular(451, 400)}, 450.0)
    assert broken(run) == {}
    # From then on it is watched: paused while its feed goes on, it becomes too stale.
    run.play({"a": regular(701, 460)}, 700.0)
    assert broken(run) == {"a": {Reason.FAULT.value: 1}, "v": {Reason.FAULT.value: 1}}


def test_whoever_looks_at_once_sees_nothing_of_a_former_run(tmp_path):
    journal = Journal(tmp_path / "journal.db", create=True)
    journal.put("watched", {"name": "a"}, violations='{"backlog": 3}', bounds='{"staleness": 1.0}')
    Ledger(journal).begin_run(1, 5.0, {})
    journal.flush()
    assert read_watched(journal) == {}
    journal.close()
