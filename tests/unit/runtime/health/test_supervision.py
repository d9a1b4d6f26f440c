"""Spark that dies or hangs, and updates that do: ended, told, started again, tried again."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from freshline.core.commands import StartUpdate
from freshline.core.errors import PlatformError
from freshline.executor.fence import before_commit, fenced
from freshline.runtime.health.deadlines import Deadlines
from freshline.runtime.health.heartbeat import Heartbeat
from freshline.runtime.health.supervision import Supervision
from freshline.runtime.metrics.counts import RunCounts
from freshline.runtime.observer import Observers
from freshline.runtime.options import RunOptions
from freshline.runtime.report_jobs import Job, JobEnded
from freshline.runtime.reports.track import ReportTrack
from freshline.runtime.tracks import Outcome, Running, Tracks
from freshline.runtime.warehouse import Warehouse
from tests.support.shop import (
    PATIENCE_S,
    DeltaExecutor,
    LiveRun,
    Shop,
    eventually,
    made_shop,
)

TABLES = {"orders": (), "parts": ()}
KILLED = PlatformError("spark-gone", "Spark's process ended (SIGKILL)")


@pytest.fixture
def shop(tmp_path):
    return made_shop(tmp_path, TABLES)


class Restarted(Shop):
    """A shop whose executors are made one after the other, as Spark is started again."""

    def __init__(self, shop, *executors, supervision=None):
        super().__init__(shop.project)
        self.shop = shop
        self.made: list[DeltaExecutor] = []
        self._left = list(executors)
        self._supervision = supervision
        self.registry = CollectorRegistry()
        self.counts = RunCounts(self.registry)

    def warehouse(self, options=None):
        return Warehouse(
            self.shop.project, self._make, Observers((self.shop.recorder, self.counts)), options,
            backoff=self.shop.backoff, supervision=self._supervision,
        )  # fmt: skip

    def losses(self, reason):
        return self.registry.get_sample_value("freshline_spark_losses_total", {"reason": reason})

    def _make(self):
        self.made.append(self._left.pop(0))
        return self.made[-1]


def executors(shop, count):
    return [DeltaExecutor(shop.project) for _ in range(count)]


# ---- Spark is gone ----


def test_spark_that_dies_under_an_update_is_started_again_and_the_update_is_made(shop):
    first, second = executors(shop, 2)
    first.gates["orders"] = threading.Event()  # as a call that waits for its answer
    runs = Restarted(shop, first, second)
    shop.file("orders", 1, [1, 2])
    with LiveRun(runs):
        shop.recorder.wait_for("start orders")
        first.gone = KILLED
        shop.recorder.wait_for("done orders")
        shop.file("parts", 1, [7])
        shop.recorder.wait_for("done parts")
    assert second.numbers("orders") == [1, 2]
    assert second.numbers("parts") == [7]
    assert first.killed
    assert [line for line in shop.recorder.lines if line != "failed orders"] == [
        "ready",
        "start orders",
        "notice Spark's process ended (SIGKILL); Spark is started again",
        "ready",
        "start orders",
        "done orders",
        "start parts",
        "done parts",
    ]
    first.gates["orders"].set()  # its thread ends; nobody listens to it any more
    (row,) = shop.journal_rows("SELECT count(*) AS n FROM updates WHERE state='failed'")
    assert row["n"] == 1


def test_spark_that_dies_while_nothing_happens_is_started_again_at_once(shop):
    first, second = executors(shop, 2)
    runs = Restarted(shop, first, second)
    with LiveRun(runs):
        shop.recorder.wait_for("ready")
        first.gone = KILLED
        shop.recorder.wait_for("ready", 2)
        shop.file("orders", 1, [1])
        shop.recorder.wait_for("done orders")
    assert [len(each.requests) for each in (first, second)] == [0, 1]
    assert second.closed
    assert not first.closed  # nobody asks the dead


def test_spark_that_ran_out_of_memory_ends_the_run(shop):
    (only,) = executors(shop, 1)
    runs = Restarted(shop, only)
    full = PlatformError("spark-out-of-memory", "Spark ran out of memory: its heap of 1g is full")
    live = LiveRun(runs)
    live.__enter__()
    shop.recorder.wait_for("ready")
    only.gone = full
    eventually(lambda: live.failure)
    with pytest.raises(PlatformError, match="heap of 1g is full") as caught:
        live.stop()
    assert caught.value.code == "spark-out-of-memory"


def test_spark_that_never_lives_until_a_commit_ends_the_run(shop):
    every = executors(shop, 5)
    for each in every:
        each.gone = KILLED
    live = LiveRun(Restarted(shop, *every))
    live.__enter__()
    eventually(lambda: live.failure)
    with pytest.raises(PlatformError, match="lost 4 times without a commit") as caught:
        live.stop()
    assert caught.value.code == "spark-gone"
    assert shop.recorder.lines.count("ready") == 4


def test_a_run_can_be_stopped_while_spark_is_started_again(shop):
    (first,) = executors(shop, 1)
    starting = threading.Event()

    class Slow(Restarted):
        def _make(self):
            if self.made:
                starting.wait()
            return super()._make()

    runs = Slow(shop, first)
    with LiveRun(runs):
        shop.recorder.wait_for("ready")
        first.gone = KILLED
        shop.recorder.wait_for("notice Spark's process ended (SIGKILL); Spark is started again")
    starting.set()


# ---- Spark hangs ----


def test_spark_that_does_not_answer_is_ended_and_started_again(shop):
    first, second = executors(shop, 2)
    never = threading.Event()
    first.healthy = lambda: never.wait(PATIENCE_S)
    times = SimpleNamespace(now_s=0.0)

    def clock():
        times.now_s += 1.0
        return times.now_s

    def heartbeat(ask):
        return Heartbeat(ask, every_s=0.01, silent_s=10.0, clock=clock)

    runs = Restarted(shop, first, second, supervision=Supervision(heartbeat=heartbeat))
    with LiveRun(runs):
        shop.recorder.wait_for("notice Spark has not answered for 10 s; Spark is started again")
        shop.recorder.wait_for("ready", 2)
    assert first.killed
    never.set()


def test_time_in_which_both_processes_stood_still_is_no_silence():
    times = iter([0.0, 1.0, 5000.0, 5001.0])
    heart = Heartbeat(lambda: True, silent_s=10.0, clock=lambda: next(times))
    assert [heart.look() for _ in range(3)] == [None, None, None]


def test_an_answer_ends_the_silence_and_a_stopped_context_is_told():
    times = SimpleNamespace(now_s=0.0)
    healthy = [True]
    heart = Heartbeat(lambda: healthy[0], silent_s=10.0, clock=lambda: times.now_s)
    for _ in range(30):
        times.now_s += 1.0
        heart.beat()
        assert heart.look() is None
    healthy[0] = False
    heart.beat()
    lost = heart.look()
    assert lost is not None
    assert lost.render() == "[spark-stopped] Spark's context was stopped"


def test_an_ask_that_raises_is_an_answer():
    def ask():
        raise ConnectionResetError

    heart = Heartbeat(ask, clock=lambda: 0.0)
    heart.beat()
    assert heart.look() is not None


# ---- updates that hang ----


def command(**changes: Any) -> StartUpdate:
    values: dict[str, Any] = {
        "table": "orders", "number": 3, "track": 0, "release_s": 0.0, "from_s": 0.0, "to_s": 1.0,
        "expected_s": 1.0,
    }  # fmt: skip
    return StartUpdate(**{**values, **changes})


def running(started_s: float = 0.0, **changes: Any) -> Any:
    asked: Any = SimpleNamespace()
    return Running(command(**changes), asked, started_s)


def scheduler(version: int = 3) -> Any:
    return SimpleNamespace(table=lambda _: SimpleNamespace(version=version))


def test_limits():
    plain = Deadlines(None)
    assert plain.limit_s(command(), first=True) is None
    assert plain.limit_s(command(), first=False) == 600.0
    assert plain.limit_s(command(expected_s=40.0), first=False) == 800.0
    assert plain.limit_s(command(upkeep="vacuum"), first=False) == 3600.0
    given = Deadlines(1800.0)
    assert given.limit_s(command(expected_s=400.0), first=True) == 1800.0
    assert given.limit_s(command(upkeep="vacuum"), first=False) == 3600.0


def test_an_update_over_its_limit_is_cancelled_until_it_ends_and_then_given_up():
    deadlines = Deadlines(100.0)
    each = running()
    told = []
    for now_s in (99.0, 100.0, 101.0, 105.0, 159.0, 160.0):
        found = deadlines.look([each], scheduler(), now_s)
        stuck = found.stuck.code if found.stuck else None
        told.append((now_s, found.cancel, [text for _, text in found.notices], stuck))
    key = ("orders", 3)
    assert told == [
        (99.0, [], [], None),
        (100.0, [key], ["orders: update 3 runs for more than 100 s and is cancelled"], None),
        (101.0, [], [], None),
        (105.0, [key], [], None),
        (159.0, [key], [], None),
        (160.0, [], [], "update-stuck"),
    ]


def test_the_end_of_a_cancelled_update_says_why_and_one_that_commits_has_ended_well():
    deadlines = Deadlines(100.0)
    each = running()
    deadlines.look([each], scheduler(), 100.0)
    failed = Outcome(each.command, each.request, 101.0, None, RuntimeError("job cancelled"))
    assert str(deadlines.ended(failed).error) == (
        "[update-timeout] the update was cancelled after 101 s; its limit was 100 s. It is tried"
        " again; `spark: {update_timeout: ...}` sets another limit."
    )
    assert deadlines.ended(failed) is failed  # the next one's failure has its own reason
    deadlines.look([each], scheduler(), 200.0)
    result: Any = SimpleNamespace()
    done = Outcome(each.command, each.request, 101.0, result, None)
    assert deadlines.ended(done) is done


@given(st.floats(0.0, 1e5), st.floats(1.0, 1e7))
def test_an_update_that_really_takes_long_is_made_in_the_end(expected_s, needs_s):
    """By the estimates, with no more than four times its seconds spent on attempts before."""
    deadlines = Deadlines(None)
    spent_s, attempts = 0.0, 0
    while True:
        limit_s = deadlines.limit_s(command(expected_s=expected_s), first=False)
        assert limit_s is not None
        if limit_s >= needs_s:
            break
        deadlines.look([running(expected_s=expected_s)], scheduler(), limit_s)
        failed = Outcome(command(), running().request, limit_s, None, RuntimeError("cancelled"))
        deadlines.ended(failed)
        spent_s += limit_s
        attempts += 1
        assert attempts < 30
    assert spent_s <= 4.0 * needs_s


def test_a_hung_update_is_cancelled_and_its_track_goes_on(shop):
    (only,) = executors(shop, 1)
    hung = threading.Event()

    class Once(Deadlines):
        def limit_s(self, command, *, first):
            return None if hung.is_set() else 0.05

    runs = Restarted(shop, only, supervision=Supervision(deadlines=Once(None)))
    only.gates["orders"] = hung

    def give_up(table, number):
        only.given_up.add((table, number))
        only.failing["orders"] = "its jobs were cancelled"
        hung.set()

    only.give_up = give_up
    shop.file("orders", 1, [1])
    with LiveRun(runs):
        shop.recorder.wait_for("failed orders")
        errors = "SELECT error FROM updates WHERE state='failed' ORDER BY id LIMIT 1"
        eventually(lambda: shop.journal_rows(errors))
        (row,) = shop.journal_rows(errors)
        assert row["error"].startswith("[update-timeout] the update was cancelled after ")
        shop.file("parts", 1, [5])
        shop.recorder.wait_for("done parts")  # the only track
        only.failing.clear()
        shop.recorder.wait_for("done orders")
    assert only.given_up == {("orders", 1)}


def test_updates_that_are_cancelled_one_after_the_other_cost_spark_its_process(shop):
    first, second = executors(shop, 2)

    class Short(Deadlines):
        def limit_s(self, command, *, first):
            return None if second.requests else 0.01

    def give_up(table, number):
        first.gates[table].set()

    hanging = first.run

    def run(request):
        gate = first.gates[request.table] = threading.Event()
        hanging(request)
        assert gate.is_set()
        raise PlatformError("cancelled", "its jobs were cancelled")

    first.give_up = give_up
    first.failing = {"orders": "its jobs were cancelled", "parts": "its jobs were cancelled"}
    first.run = run
    runs = Restarted(shop, first, second, supervision=Supervision(deadlines=Short(None)))
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [2])
    with LiveRun(runs):
        shop.recorder.wait_for(
            "notice 3 updates in a row were cancelled, and none was committed;"
            " Spark is started again"
        )
        shop.recorder.wait_for("done orders")
        shop.recorder.wait_for("done parts")
    assert first.killed
    assert (second.numbers("orders"), second.numbers("parts")) == ([1], [2])
    assert runs.losses("slots-held") == 1


def test_an_update_that_hangs_outside_of_spark_costs_spark_its_process(shop):
    first, second = executors(shop, 2)

    class Once(Deadlines):
        def limit_s(self, command, *, first):
            return None if second.requests else 0.05

    deadlines = Once(None, patience_s=0.1)
    runs = Restarted(shop, first, second, supervision=Supervision(deadlines=deadlines))
    first.gates["orders"] = threading.Event()
    shop.file("orders", 1, [1])
    with LiveRun(runs):
        shop.recorder.wait_for(
            "notice an update of orders did not end for 0.1 s after it was cancelled;"
            " Spark is started again"
        )
        shop.recorder.wait_for("done orders")
    first.gates["orders"].set()
    assert second.numbers("orders") == [1]


def test_what_an_abandoned_thread_says_is_not_heard(tmp_path):
    gate, heard = threading.Event(), list[Outcome]()

    class Slow(DeltaExecutor):
        def run(self, request):
            gate.wait()
            raise RuntimeError("too late")

    tracks = Tracks(Slow(made_shop(tmp_path, TABLES).project), 1, heard.append)
    tracks.start(command(), running().request)
    (outcome,) = tracks.abandon(KILLED)
    assert outcome.error is KILLED
    assert tracks.running() == []
    assert tracks.abandon(KILLED) == []
    gate.set()
    eventually(lambda: not any(t.name == "track-0" and t.is_alive() for t in threading.enumerate()))
    assert heard == []


def test_an_update_that_ends_its_thread_has_failed_and_its_track_goes_on(tmp_path):
    """As where the user's code calls sys.exit."""
    ends, heard = [SystemExit(3), KILLED], list[Outcome]()

    class Exits(DeltaExecutor):
        def run(self, request):
            raise ends.pop(0)

    tracks = Tracks(Exits(made_shop(tmp_path, TABLES).project), 1, heard.append)
    tracks.start(command(), running().request)
    eventually(lambda: len(heard) == 1)
    tracks.start(command(), running().request)
    eventually(lambda: len(heard) == 2)
    assert [str(each.error) for each in heard] == ["SystemExit(3)", str(KILLED)]
    tracks.close()


def test_a_batch_that_ends_its_thread_has_failed_and_its_track_goes_on():
    ends, heard = [SystemExit(3), KILLED], list[JobEnded]()

    class Exits:
        def run_batch(self, request):
            raise ends.pop(0)

    track, job = ReportTrack(Exits(), heard.append), cast("Job", SimpleNamespace(request=None))
    track.start(job)
    eventually(lambda: len(heard) == 1)
    track.start(job)
    eventually(lambda: len(heard) == 2)
    assert [str(each.error) for each in heard] == ["SystemExit(3)", str(KILLED)]
    track.close()


def test_an_update_that_outlives_its_run_passes_the_fence_of_that_run(tmp_path):
    """By then another process may lead; the fence itself is gone."""
    gate, ended = threading.Event(), list[Outcome]()

    class Lost:
        epoch = 1

        def check_commit(self):
            raise KILLED

    class Late(DeltaExecutor):
        def run(self, request):
            gate.wait()
            return before_commit("{}")

    with fenced(Lost()):
        tracks = Tracks(Late(made_shop(tmp_path, TABLES).project), 1, ended.append)
        tracks.start(command(), running().request)
    gate.set()
    eventually(lambda: ended)
    assert [each.error for each in ended] == [KILLED]
    assert before_commit("{}") == "{}"
    tracks.close()


def test_a_stop_that_leaves_an_update_behind_says_so(shop):
    (only,) = executors(shop, 1)
    only.gates["orders"] = threading.Event()
    shop.file("orders", 1, [1])
    runs = Restarted(shop, only)
    warehouse = runs.warehouse(RunOptions(grace_s=0.0))
    left = []
    thread = threading.Thread(target=lambda: left.append(warehouse.run()))
    thread.start()
    shop.recorder.wait_for("start orders")
    warehouse.stop()
    thread.join(PATIENCE_S)
    assert left == [1]
    only.gates["orders"].set()
