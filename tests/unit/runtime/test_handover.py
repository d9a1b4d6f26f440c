"""What a run leaves for a successor on another host when it ends by itself."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from freshline.runtime import handover
from freshline.runtime.handover import Handover
from freshline.runtime.journal.store import Journal
from tests.support.shop import LiveRun, eventually, made_shop


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A shop whose storage counts as one that is elsewhere."""
    shop = made_shop(tmp_path, {"orders": ()})
    monkeypatch.setattr(handover, "_is_remote", lambda _: True)
    monkeypatch.setattr(handover, "arrow_store", lambda path: (LocalFileSystem(), path))
    return shop


def test_what_was_asked_just_before_a_stop_is_left_to_the_successor(shop):
    document = Path(shop.project.own_path) / "handover.json"
    with LiveRun(shop):
        shop.recorder.wait_for("ready")
        eventually(document.exists)
        assert shop.ask("pause", "orders")["ok"]
    assert json.loads(document.read_text())["tables"]["orders"]["paused"] == 1


def test_a_store_that_does_not_answer_holds_up_no_end(shop, tmp_path, monkeypatch):
    journal = Journal(tmp_path / "journal.db", create=True)
    monkeypatch.setattr(handover, "_LAST_S", 0.1)
    hangs = Handover(shop.project, journal, 1, lambda: time.sleep(3.0))
    began_s = time.monotonic()
    hangs.step()
    hangs.finish()
    assert time.monotonic() - began_s < 2.0
    journal.close()
