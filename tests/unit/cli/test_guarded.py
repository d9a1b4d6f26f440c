"""What is told goes on, or is lost; it never ends or holds up the run."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest

from freshline.render.guarded import guarded_stderr
from freshline.render.json_lines import JsonObserver
from tests.support.shop import PATIENCE_S, eventually, made_project


def say(what):
    print(what, file=sys.stderr, flush=True)  # noqa: T201 - this is what is tested


def told_into(monkeypatch, descriptor, encoding=None):
    """Let standard error be a descriptor."""
    monkeypatch.setattr(sys, "stderr", os.fdopen(os.dup(descriptor), "w", encoding=encoding))


def test_lines_come_through_in_order(capsys):
    with guarded_stderr():
        for number in range(1000):
            say(number)
        assert not sys.stderr.isatty()
    assert capsys.readouterr().err == "".join(f"{number}\n" for number in range(1000))


def test_a_full_disk_loses_lines_and_nothing_else(monkeypatch):
    with Path("/dev/full").open("w") as full:
        told_into(monkeypatch, full.fileno())
    with guarded_stderr():
        for number in range(100):
            say(number)
    sys.stderr.close()  # nothing is left in its buffer


def test_lines_that_were_lost_are_counted_once_there_is_room(monkeypatch, capsys):
    real = os.write
    room = threading.Event()
    read, write = os.pipe()

    def written(target, data):
        if not room.is_set():
            raise OSError(28, "No space left on device")
        return real(target, data)

    told_into(monkeypatch, write)
    monkeypatch.setattr(os, "write", written)
    with guarded_stderr() as stream:
        say("one")
        say("two")
        eventually(lambda: stream.lost_lines == 2)
        room.set()
        say("three")
        say("four")
    os.close(write)
    sys.stderr.close()
    with os.fdopen(read) as lines:
        assert lines.read() == ("freshline: 2 lines could not be written here\nthree\nfour\n")


def test_a_reader_that_hangs_holds_up_nothing(monkeypatch):
    read, write = os.pipe()
    told_into(monkeypatch, write)
    done = []

    def tell():
        for _ in range(30_000):
            say("x" * 100)
        done.append(True)

    with guarded_stderr():
        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        teller.join(PATIENCE_S)
        assert done == [True]
        os.close(read)  # and then it goes: the writer ends
    os.close(write)
    sys.stderr.close()


def test_a_reader_that_went_away_ends_nothing(monkeypatch):
    read, write = os.pipe()
    os.close(read)
    told_into(monkeypatch, write)
    os.close(write)
    with guarded_stderr():
        say("nobody")
    sys.stderr.close()


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("message", ["größe", "\udcff of größe 😀"])  # a path may be no UTF-8
def test_a_log_of_json_is_json_under_every_locale(monkeypatch, tmp_path, encoding, message):
    read, write = os.pipe()
    told_into(monkeypatch, write, encoding)
    with guarded_stderr():
        JsonObserver(made_project(tmp_path, {"orders": ()})).notice(message)
    sys.stderr.close()
    os.close(write)
    with os.fdopen(read, "rb") as lines:
        assert json.loads(lines.read())["message"] == message
