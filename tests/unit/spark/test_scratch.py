"""Temporary files of a process that was killed go with the next start."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile

import pytest

from freshline.spark.engine import scratch

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
