"""Ranges of a topic in the journal: as few as a year needs, and the same offsets as ever."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from freshline.delta.loaded import fold
from freshline.executor.offsets import Coverage, OffsetRange, commit_fields, parsed
from freshline.executor.records import FeedFile
from freshline.executor.topic import PartitionLook, TopicLook
from freshline.project.model import Feed, KafkaSource
from freshline.runtime.feeds.topics import TopicListing
from freshline.runtime.journal.folding import FOLDED, RangeFolding
from freshline.runtime.journal.recovery import recover
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from tests.support.shop import made_project


@pytest.fixture
def project(tmp_path):
    """One table that reads a topic."""
    made = made_project(tmp_path, {"orders": ()})
    place = made.feeds["orders_feed"].place
    source = KafkaSource("h:1", "orders", "earliest", None, "refuse")
    feed = Feed("orders_feed", "kafka", "", "json", {}, "n INT", None, None, place, source)
    return dataclasses.replace(made, feeds={"orders_feed": feed})


@pytest.fixture
def journal(tmp_path):
    made = Journal(tmp_path / "own" / "journal.db", create=True)
    yield made
    made.close()


def covered(names) -> dict[str, dict]:
    """What ranges cover, by topic."""
    found: dict[str, Coverage] = {}
    for each in map(parsed, names):
        found.setdefault(each.topic_id, Coverage()).add(each)
    return {topic: each.spans for topic, each in found.items()}


def names_in(journal, but="state='loaded'"):
    return [row["name"] for row in journal.rows(f"SELECT name FROM files WHERE {but}")]


def test_a_year_of_looks_leaves_as_few_rows_as_a_day(project, journal):
    chance = random.Random(7)
    ledger, now_s = Ledger(journal), 0.0
    folding = RangeFolding(project, journal, kept=300, clock=lambda: now_s)
    ends, told, most, late = [0, 0, 0], [], 0, []
    for number in range(1, 12_001):
        spans = {}
        for partition in range(3):
            if chance.random() < 0.7:
                start = ends[partition]
                ends[partition] += chance.randrange(1, 50)
                spans[partition] = (start, ends[partition])
        if not spans:
            continue
        topic = "first" if number < 4_000 else "second"  # it was deleted and made again
        name = OffsetRange(topic, spans).name
        if chance.random() < 0.001:  # one that cannot be read for a while
            late.append(name)
            continue
        names = [name]
        if late and chance.random() < 0.002:
            names.append(late.pop())
        told += names
        ledger.files_loaded("orders", names, number)
        if number % 100 == 0:
            journal.flush()
            now_s += 600.0
            folding.step()
            most = max(most, len(names_in(journal)))
    journal.flush()
    for _ in range(30):
        now_s += 600.0
        folding.step()
    assert covered(names_in(journal)) == covered(told)
    assert most < 1_200
    assert len(names_in(journal)) < 700
    folded = names_in(journal, f"reason='{FOLDED}'")
    assert max(map(len, folded)) < 200
    assert len(told) > 10_000


def test_rows_that_wait_and_tables_without_topics_are_left_alone(project, journal, tmp_path):
    Ledger(journal).files_loaded("orders", [f"t/0:{n}-{n + 1}" for n in range(50)], 1)
    for n in range(50, 60):
        journal.put("files", {"table_name": "orders", "name": f"t/0:{n}-{n + 1}"}, state="pending")
    Ledger(journal).files_loaded("others", [f"f{n}.csv" for n in range(500)], 1)
    journal.flush()
    RangeFolding(project, journal, kept=5).step()
    assert len(names_in(journal, "state='pending'")) == 10
    assert len(names_in(journal, "table_name='others'")) == 500
    assert names_in(journal, "table_name='orders' AND state='loaded'") == ["t/0:0-50"]


def test_ranges_that_lie_apart_do_not_keep_later_ones_from_being_joined(project, journal):
    ledger = Ledger(journal)
    apart = [f"t/0:{10 * n}-{10 * n + 3}" for n in range(12_000)]
    later = [f"t/1:{n}-{n + 1}" for n in range(3_000)]
    for number, name in enumerate(apart + later, start=1):
        ledger.files_loaded("orders", [name], number)
    journal.flush()
    now_s = 0.0
    folding = RangeFolding(project, journal, kept=5, clock=lambda: now_s)
    for _ in range(10):
        folding.step()
        now_s += 600.0
    names = names_in(journal)
    assert len(names) < len(apart) + 20
    assert covered(names) == covered(apart + later)


def test_ranges_that_were_lost_are_joined_like_loaded_ones(project, journal):
    ledger = Ledger(journal)
    lost = [f"t/0:{n}-{n + 1}" for n in range(50)]
    for name in lost:
        ledger.file_lost("orders", name, 7.0)
    journal.flush()
    RangeFolding(project, journal, kept=5).step()
    assert names_in(journal, "state='lost'") == ["t/0:0-50"]


class Log:
    """Commits of a table that reads a topic, by hand; update n has 10n to 10n+9, or others."""

    def __init__(self, project) -> None:
        self._folder = Path(project.table_path("orders")) / "_delta_log"
        self._folder.mkdir(parents=True)

    def commit(self, number, first=None) -> str:
        first = 10 * number if first is None else first
        name = f"t/0:{first}-{first + 10}"
        info = {
            "freshline": 1, "table": "orders", "update": number, "strategy": "append", "rows": 1,
            "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z", "parents": {},
            "definition": "", "id": "this one", **commit_fields([name]),
        }  # fmt: skip
        told = {"commitInfo": {"timestamp": number, "userMetadata": json.dumps(info)}}
        self.file(number).write_text(json.dumps(told))
        return name

    def file(self, number) -> Path:
        return self._folder / f"{number - 1:020d}.json"


@pytest.mark.parametrize("cleaned", [False, True])
def test_a_log_that_went_back_behind_joined_ranges_says_what_was_loaded(project, journal, cleaned):
    log, ledger = Log(project), Ledger(journal)
    recover(project, journal, ledger)
    for number in range(1, 21):
        ledger.files_loaded("orders", [log.commit(number)], number)
        if number == 10:
            fold(project, "orders")
    journal.put("tables", {"name": "orders"}, number=20, version=19)
    journal.put("files", {"table_name": "orders", "name": "t/0:210-220"}, state="pending")
    journal.flush()
    RangeFolding(project, journal, kept=2).step()
    assert names_in(journal, f"reason='{FOLDED}'") == ["t/0:10-190"]
    for number in range(15, 21):  # a copy of the table is put back
        log.file(number).unlink()
    for number in range(1, 10) if cleaned else ():
        log.file(number).unlink()
    recover(project, journal, ledger)
    journal.flush()
    assert covered(names_in(journal, "true")) == {"t": {0: [(10, 150)]}}


def test_a_log_that_went_back_and_on_again_says_what_was_loaded(project, journal):
    """The journal has more updates, of a history in which others loaded other ranges."""
    log, ledger = Log(project), Ledger(journal)
    for number in range(1, 6):
        ledger.files_loaded("orders", [log.commit(number)], number)
    journal.put("tables", {"name": "orders"}, number=5, version=4, marked_version=4, mark="5")
    journal.flush()
    for number in range(2, 6):
        log.file(number).unlink()
    log.commit(2, 40)
    log.commit(3, 60)
    recover(project, journal, ledger)
    journal.flush()
    assert covered(names_in(journal)) == {"t": {0: [(10, 20), (40, 50), (60, 70)]}}
    assert names_in(journal, "state<>'loaded'") == []


def test_what_is_folded_of_a_topics_table_is_as_small(project, journal):
    log = Log(project)
    for number in range(1, 31):
        log.commit(number)
    assert fold(project, "orders") == 29
    for number in range(1, 30):
        log.file(number).unlink()
    log.commit(31)
    recover(project, journal, Ledger(journal))
    journal.flush()
    assert sorted(names_in(journal)) == ["t/0:10-310", "t/0:310-320"]
    assert names_in(journal, f"reason='{FOLDED}'") == ["t/0:10-310"]


class Standing:
    """A topic that stands so; nobody asks when its records were made."""

    def __init__(self, *ends):
        self._look = TopicLook("t", {p: PartitionLook(0, end) for p, end in enumerate(ends)})

    def look(self):
        return self._look

    def oldest_s(self, _look):
        return 1.0

    def last_record_s(self, _partition, _start, _to):
        return 5.0

    def offsets_since(self, _at_s, _look):
        raise AssertionError


@pytest.mark.parametrize("waits", ["t/0:20-25", "t/0:25-35", "t/0:30-35", "t/0:28-31,1:0-2"])
@pytest.mark.parametrize("state", ["pending", "retrying", "quarantined"])
def test_what_waits_and_another_host_has_loaded_is_loaded_once(project, journal, waits, state):
    """That host looked at another moment, and found the same offsets under another name."""
    log, ledger = Log(project), Ledger(journal)
    ledger.files_loaded("orders", [log.commit(1)], 1)
    journal.put("tables", {"name": "orders"}, number=1, version=0)
    ledger.file_arrived("orders", FeedFile(waits, 0, 5.0, 5.0), 5.0)
    if state != "pending":
        ledger.file_unreadable("orders", waits, state, 5, "the brokers", None)
    journal.flush()
    log.commit(2)
    recover(project, journal, ledger)
    journal.flush()
    names = names_in(journal, "true")
    news = TopicListing(project.feeds["orders_feed"], "orders", Standing(40, 4), names).news(9.0)
    times = Counter(
        (partition, offset)
        for each in map(parsed, [*names, *(file.name for file in news.files)])
        for partition, span in each.spans.items()
        for offset in range(*span)
    )
    once = {(0, offset) for offset in range(10, 40)} | {(1, offset) for offset in range(4)}
    assert times == dict.fromkeys(once, 1)
    assert (waits in names) == (waits == "t/0:30-35")  # of that one nobody has loaded a part


@pytest.mark.parametrize("state", ["retrying", "quarantined"])
def test_what_waits_is_forgotten_where_another_history_has_loaded_it(project, journal, state):
    log, ledger = Log(project), Ledger(journal)
    for number in (1, 2):
        ledger.files_loaded("orders", [log.commit(number)], number)
    for name in ("t/0:45-55", "t/0:70-80"):
        ledger.file_arrived("orders", FeedFile(name, 0, 5.0, 5.0), 5.0)
        ledger.file_unreadable("orders", name, state, 5, "the brokers", None)
    journal.put("tables", {"name": "orders"}, number=2, version=1, marked_version=1, mark="other")
    journal.flush()
    log.file(2).unlink()
    log.commit(2, 40)
    log.commit(3, 50)
    recover(project, journal, ledger)
    journal.flush()
    assert names_in(journal, f"state='{state}'") == ["t/0:70-80"]
    assert covered(names_in(journal)) == {"t": {0: [(10, 20), (40, 60)]}}


def test_where_a_table_begins_is_what_its_commits_say(project, journal):
    """Another host began later, `starting: latest`, than this one would have."""
    log, ledger = Log(project), Ledger(journal)
    ledger.file_arrived("orders", FeedFile("t/0:7-7", 0, 5.0, 5.0), 5.0)
    journal.put("tables", {"name": "orders"}, number=0)
    journal.flush()
    log.commit(1)
    recover(project, journal, ledger)
    journal.flush()
    assert names_in(journal, "true") == ["t/0:10-20"]
