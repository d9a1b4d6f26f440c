"""What is heard of feeds around a restart of Spark, or of a run."""

from __future__ import annotations

import dataclasses
import queue
from typing import Any

import pytest

from freshline.executor.records import FeedFile
from freshline.executor.topic import PartitionLook, TopicLook
from freshline.project.model import KafkaSource
from freshline.runtime.feeds.listening import Listening
from freshline.runtime.feeds.pending import PendingFiles
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from tests.support.shop import PATIENCE_S, Shop, made_project


class Growing:
    """An executor, and its one topic of so many records."""

    def __init__(self, end, earliest=0):
        self.end = end
        self.earliest = earliest

    def topic(self, _):
        return self

    def look(self):
        return TopicLook("A", {0: PartitionLook(self.earliest, self.end)})

    def last_record_s(self, _partition, _start, to):
        return float(to - 1)


def growing(end: int, earliest: int = 0) -> Any:
    """Of an executor only topics are asked here."""
    return Growing(end, earliest)


@pytest.fixture
def project(tmp_path):
    made = made_project(tmp_path, {"orders": ()})
    source = KafkaSource("h:1", "orders", "earliest", None, "refuse")
    feed = dataclasses.replace(made.feeds["orders_feed"], kind="kafka", path="", settings=source)
    return dataclasses.replace(made, feeds={feed.name: feed})


def test_what_was_told_before_a_restart_of_spark_is_told_once(project, tmp_path):
    journal = Journal(tmp_path / "journal.db", create=True)
    inbox: queue.Queue = queue.Queue()
    listening = Listening(project, Ledger(journal), inbox.put, once=True)
    warehouse = Shop(project).warehouse(None)
    warehouse._listening = listening
    listening.start_topics(growing(100))
    before = inbox.get(timeout=PATIENCE_S)  # it stays in the inbox while Spark starts again
    listening.stop_topics()
    listening.start_topics(growing(150))
    after = inbox.get(timeout=PATIENCE_S)
    listening.stop()
    assert [each.files[0].name.count("150") for _, each in (before, after)] == [0, 1]
    assert listening.is_outdated(before[1])
    assert not listening.is_outdated(after[1])
    assert warehouse._on_message(*before) == []
    assert listening.unheard == {"orders"}
    journal.close()


def test_what_is_left_of_a_range_that_vanished_is_told_after_a_restart(project, tmp_path):
    """Retention took a part of it, and the run ended before it looked again."""
    journal = Journal(tmp_path / "journal.db", create=True)
    ledger = Ledger(journal)
    for name in ("A/0:0-1000", "A/0:1000-1500"):
        ledger.file_arrived("orders", FeedFile(name, 0, 900.0, 900.0), 1000.0)
    ledger.file_unreadable("orders", "A/0:0-1000", "vanished", 0, "some offsets are gone", None)
    journal.flush()
    inbox: queue.Queue = queue.Queue()
    listening = Listening(project, ledger, inbox.put, once=True)
    listening.start_topics(growing(1500, earliest=100))
    _, heard = inbox.get(timeout=PATIENCE_S)
    listening.stop()
    assert [file.name for file in heard.files] == ["A/0:100-1000"]
    assert heard.topic.lost_names == ["A/0:0-100"]
    journal.close()


def test_what_was_taken_in_while_the_journal_cannot_be_written_is_told_once(
    project, tmp_path, monkeypatch
):
    """Its disk is full, and Spark is started again."""
    journal = Journal(tmp_path / "journal.db", create=True)
    ledger, pending = Ledger(journal), PendingFiles(journal)
    inbox: queue.Queue = queue.Queue()
    listening = Listening(project, ledger, inbox.put, once=True)

    def taken_in():
        """As the warehouse takes in what it hears."""
        while listening.is_outdated(heard := inbox.get(timeout=PATIENCE_S)[1]):
            pass
        listening.heard(heard, 1000.0)
        for file in heard.files:
            assert pending.add("orders", file)
            ledger.file_arrived("orders", file, 1000.0)
        journal.flush()
        return [file.name for file in heard.files] + heard.topic.lost_names

    def full():
        journal.behind = True
        return False

    with monkeypatch.context() as disk:
        disk.setattr(journal, "flush", full)
        listening.start_topics(growing(100))
        assert taken_in() == ["A/0:0-100"]
        listening.stop_topics()
        listening.start_topics(growing(150, earliest=120))
        assert taken_in() == ["A/0:120-150", "A/0:100-120"]
        listening.forget("orders", "A/0:120-150")  # its topic was cut back meanwhile
        ledger.file_unreadable("orders", "A/0:120-150", "vanished", 0, "it is gone", None)
        listening.stop_topics()
        listening.start_topics(growing(160, earliest=120))
        assert taken_in() == ["A/0:120-160"]
    assert journal.flush()
    listening.stop_topics()
    listening.start_topics(growing(170, earliest=120))
    assert taken_in() == ["A/0:160-170"]
    assert listening._lately == {"orders": {"A/0:160-170": True}}
    listening.stop()
    journal.close()


@pytest.mark.parametrize("mended", [True, False])
def test_what_a_former_run_could_not_list_holds_until_the_first_look(tmp_path, mended):
    made = made_project(tmp_path, {"orders": ()})
    journal = Journal(journal_path(made), create=True)
    journal.put("feeds", {"name": "orders_feed"}, error="denied")
    journal.put("feeds", {"name": "gone_feed"}, error="denied")
    journal.flush()
    if not mended:
        (tmp_path / "feed" / "orders" / "_delta_log").mkdir(parents=True)
    inbox: queue.Queue = queue.Queue()
    listening = Listening(made, Ledger(journal), inbox.put, once=False)
    listening.start_folders()

    def errors():
        journal.flush()
        rows = journal.rows("SELECT name, error FROM feeds")
        return {name: error and error.partition("]")[0] for name, error in rows}

    assert errors() == {"orders_feed": "denied", "gone_feed": None}
    _, heard = inbox.get(timeout=PATIENCE_S)
    listening.stop()
    told = listening.heard(heard, 5.0)
    if mended:
        assert (errors()["orders_feed"], told) == (None, [])
    else:
        assert errors()["orders_feed"] == "[feed-of-a-table"
    journal.close()
