"""Temporary files of a process that was killed go with the next start."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from freshline.spark.engine import scratch, submission

_CHILD = """
import sys, time
from freshline.spark.engine.scratch import scratch
folder = scratch()
(folder / "blockmgr-1").mkdir()
(folder / "blockmgr-1" / "data").write_text("x")
print(folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(scratch, "_own", None)
    yield tmp_path / f"freshline-{os.geteuid()}"
    tempfile.tempdir = None


def child():
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_what_a_killed_process_left_goes_with_the_next_start(place):
    killed, left = child()
    alive, kept = child()
    killed.send_signal(signal.SIGKILL)
    with contextlib.suppress(BrokenPipeError):
        killed.communicate("")
    assert sorted(map(str, place.iterdir())) == sorted([left, kept])
    own = scratch.scratch()
    assert sorted(map(str, place.iterdir())) == sorted([kept, str(own)])
    assert os.path.exists(f"{kept}/blockmgr-1/data")  # noqa: PTH110 - a text of the child
    alive.communicate("")
    assert [str(each) for each in place.iterdir()] == [str(own)]


def test_an_end_without_a_farewell_removes_its_own(place):
    alive, kept = child()
    own = scratch.scratch()
    assert own is not None
    (own / "blockmgr-1").mkdir()
    scratch.remove_own()
    assert [str(each) for each in place.iterdir()] == [kept]
    alive.communicate("")


_STARTING = """
import threading, time
from freshline.cli.running import _stopped_by_signals
from freshline.spark.engine.scratch import scratch
from freshline.spark.engine.submission import start_jvm
with _stopped_by_signals(lambda: None):
    assert scratch() is not None
    threading.Thread(target=start_jvm, args=({"spark.a": "secret"},), daemon=True).start()
    time.sleep(60)
"""


def test_the_second_signal_ends_a_spark_that_is_still_being_started(place, tmp_path):
    """PySpark tells of the process only once it has answered."""
    home = tmp_path / "spark"
    (home / "bin").mkdir(parents=True)
    submit = home / "bin" / "spark-submit"
    submit.write_text(f"#!/bin/sh\necho $$ > {home}/new\nmv {home}/new {home}/pid\nexec sleep 60\n")
    submit.chmod(0o755)
    run = subprocess.Popen(
        [sys.executable, "-c", _STARTING], env={**os.environ, "SPARK_HOME": str(home)}
    )
    java = None
    try:
        while java is None:
            assert run.poll() is None
            with contextlib.suppress(OSError):
                java = int((home / "pid").read_text())
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert run.poll() is None
        run.send_signal(signal.SIGINT)
        assert run.wait(20.0) == 128 + signal.SIGINT
        with pytest.raises(ProcessLookupError):
            os.kill(java, 0)
    finally:
        run.kill()
        if java is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(java, signal.SIGKILL)
    assert list(place.iterdir()) == []
    assert {each.name for each in tmp_path.iterdir()} == {"spark", place.name}


_LEFT = """
import sys, threading, time
from pathlib import Path
from freshline.cli import main
from freshline.spark.engine.scratch import scratch
from freshline.spark.engine.submission import start_jvm
def command():
    assert scratch() is not None
    threading.Thread(target=start_jvm, args=({"spark.a": "secret"},), daemon=True).start()
    while not Path(sys.argv[1]).is_file():
        time.sleep(0.05)
main.app_for = lambda _: command
main.main()
"""


def test_a_program_that_ends_while_spark_starts_leaves_no_settings_behind(place, tmp_path):
    home = tmp_path / "spark"
    (home / "bin").mkdir(parents=True)
    submit = home / "bin" / "spark-submit"
    submit.write_text(f"#!/bin/sh\necho $$ > {home}/new\nmv {home}/new {home}/pid\nexec sleep 60\n")
    submit.chmod(0o755)
    env = {**os.environ, "SPARK_HOME": str(home)}
    subprocess.run([sys.executable, "-c", _LEFT, home / "pid"], env=env, check=True, timeout=40)
    with pytest.raises(ProcessLookupError):
        os.kill(int((home / "pid").read_text()), 0)
    assert list(place.iterdir()) == []
    assert {each.name for each in tmp_path.iterdir()} == {"spark", place.name}


def test_files_of_a_spark_that_may_go_on_are_left_for_the_next_start(place, monkeypatch):
    own = scratch.scratch()
    assert own is not None
    submission.end_at_once()  # none was found
    monkeypatch.setattr(submission, "_AT_ONCE_S", 0.1)
    monkeypatch.setattr(submission, "_starting", lambda: -1)
    monkeypatch.setattr(os, "kill", lambda *_: None)
    monkeypatch.setattr(os, "waitid", lambda *_: None)
    submission.end_at_once()  # it does not end
    assert [each.name for each in own.iterdir()] == [".lock"]


@pytest.mark.parametrize("found", [None, -1])
def test_the_settings_of_a_spark_that_may_go_on_are_left_for_nobody(place, monkeypatch, found):
    """Whether its process is not found, as before PySpark has made it, or does not end."""
    own = scratch.scratch()
    assert own is not None
    monkeypatch.setattr(submission, "_starting", lambda: found)
    monkeypatch.setattr(submission, "_ends", lambda _: False)
    with submission.submitted({"spark.a": "secret"}):
        assert list(place.parent.glob("*.properties"))
        submission.end_start()
        assert not list(place.parent.glob("*.properties"))
    assert [each.name for each in own.iterdir()] == [".lock"]


def test_a_start_that_ends_meanwhile_hinders_no_end(place, monkeypatch):
    """Its thread may take the settings away before any line of the end."""
    monkeypatch.setattr(submission, "_starting", lambda: -1)
    monkeypatch.setattr(submission, "_ends", lambda _: True)
    lines = 0
    for at in range(1, 30):
        own = scratch.scratch()
        assert own is not None
        lines = 0

        def traced(frame, event, _, at=at):
            nonlocal lines
            if frame.f_code is not submission.end_at_once.__code__:
                return None
            if event == "line":
                lines += 1
                if lines == at:
                    submission._given = None
            return traced

        submission._given = place / "taken.properties"
        before = sys.gettrace()
        sys.settrace(traced)
        try:
            submission.end_at_once()
        finally:
            sys.settrace(before)
            submission._given = None
        assert not own.exists()
    assert 5 < lines < 29


def test_a_jvm_that_is_started_again_finds_nothing_of_the_one_before(place):
    own = scratch.scratch()
    assert own is not None
    (own / "blockmgr-2").mkdir()
    (own / "liblz4-1.so").write_text("x")
    assert scratch.scratch() == own
    assert [each.name for each in own.iterdir()] == [".lock"]


def test_without_a_place_for_it_spark_chooses(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(scratch, "_own", None)
    (tmp_path / f"freshline-{os.geteuid()}").write_text("a file")
    assert scratch.scratch() is None
    tempfile.tempdir = None
