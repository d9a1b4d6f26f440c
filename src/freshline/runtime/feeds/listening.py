"""Watching every feed: folders are listed, topics and Delta tables polled.

Folders are listed from the start of a run, each by a thread of its own. Topics are looked at
once Spark is ready, whose JVM has Kafka's client: each table's by a thread of its own, since two
tables of one topic may have lost different parts of it. So are Delta tables that others write.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from freshline.core.errors import FreshlineError, InternalError
from freshline.executor.offsets import is_range
from freshline.executor.records import Executor, FeedFile, UnreadableFilesError
from freshline.executor.source import HasSources
from freshline.executor.topic import HasTopics
from freshline.project.model import Feed, Project
from freshline.runtime.accepting import feed_path
from freshline.runtime.feeds.changed import ChangedFile, LoadedFiles, note_changes
from freshline.runtime.feeds.known import KnownNames
from freshline.runtime.feeds.listing import FeedListing, Look
from freshline.runtime.feeds.sources import SourceListing, SourceNews
from freshline.runtime.feeds.topic_watcher import Looks, TopicWatcher
from freshline.runtime.feeds.topics import TopicListing, TopicNews
from freshline.runtime.feeds.watcher import FeedWatcher
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.writer import Ledger

_REPEAT_S = 60.0
"""A problem that stays is said again so often."""

_STOP_S = 1.0

_STATES = {
    "source-missing": "missing", "source-replaced": "refused", "source-catalog-managed": "refused",
    "topic-missing": "missing", "topic-replaced": "refused", "topic-cut-back": "refused",
    "topic-without-id": "refused",
}  # fmt: skip
"""Of a topic or a table, by the code of what is wrong with it."""

_SHOWN = 3
"""So many problems of a feed are said one by one."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a listing found, or why it failed.

    Attributes:
        key: Of the listing: the feed's name for a folder, the table's for what is looked at.
        readers: Tables to be told.
        files: New ones, ranges of a topic among them.
        topic: Of a topic or a Delta table all that was found.
        error: Why nothing of it was found; None: it went well.
        problems: What of a folder could not be listed or cannot be loaded.
        changed: Loaded files that are no longer as they were.
        undated: Names without a timestamp, of the first look that found such.
        sinks: Folders that a stream of Spark writes, when they were found first.
        last: No more comes of itself: the first listing of a run is done, or given up.
        generation: Of what is looked at through Spark, which start of the looking found it.
    """

    key: str
    feed: Feed
    readers: tuple[str, ...]
    files: list[FeedFile]
    topic: TopicNews | SourceNews | None = None
    error: FreshlineError | None = None
    last: bool = True
    problems: tuple[FreshlineError, ...] = ()
    changed: tuple[ChangedFile, ...] = ()
    undated: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    generation: int | None = None

    @property
    def faulty(self) -> bool:
        """Whether somebody should look at it."""
        return bool(self.problems or self.error or self.changed or self.undated or self.sinks)


@dataclass(slots=True)
class _Complaint:
    """What is wrong with a folder, and when that was said last."""

    texts: tuple[str, ...]
    told_s: float


class Listening:
    """All feeds of a run.

    Args:
        project: Whose feeds.
        ledger: What was known before, and what is heard of topics; the caller flushes.
        put: Takes ("heard", Heard) from any thread.
        once: Hear of each feed once, and again only where something vanished.

    Attributes:
        unheard: Keys of listings of which nothing was heard yet.
        deaf: Tables whose feed could not be listed, or not all of it.
    """

    def __init__(
        self,
        project: Project,
        ledger: Ledger,
        put: Callable[[tuple[str, Any]], None],
        *,
        once: bool,
    ) -> None:
        self._project = project
        self._ledger = ledger
        self._put = put
        self._once = once
        self._readers: dict[str, tuple[str, ...]] = {}
        for feed in project.feeds.values():
            readers = tuple(table.name for table in project.tables if table.feed == feed.name)
            if readers:
                self._readers[feed.name] = readers
        self._folders: dict[str, FeedListing] = {}
        self._topics: dict[str, TopicWatcher] = {}
        self._generation = 0
        self._watchers: list[FeedWatcher] = []
        self._complaints: dict[str, _Complaint] = {}
        self._faulty_before: set[str] = set()
        self._states: dict[str, tuple[str, str]] = {}
        self._lately: dict[str, dict[str, bool]] = {}
        """Of each table whether a name was told, or has vanished (False), since the journal was
        written last: a restart of Spark begins with these, too."""
        self._undated: set[str] = set()
        self._sinks: set[tuple[str, str]] = set()
        self.deaf: set[str] = set()
        self.unheard: set[str] = set()
        for name, readers in self._readers.items():
            self.unheard |= set(readers) if self._is_topic(name) else {name}

    # ---- start and end ----

    def start_folders(self) -> None:
        """List folders from now on."""
        folders = {name for name in self._readers if not self._is_topic(name)}
        self._former_faults(folders)
        # Those that were pushed are ours.
        compared = {name for name in folders if self._project.feeds[name].kind == "files"}
        for name, readers in self._readers.items():
            if name not in folders:
                continue
            listing = FeedListing(self._project.feeds[name])
            path = journal_path(self._project)
            listing.know(KnownNames(path, readers))
            if name in compared:
                loaded = LoadedFiles(path, readers, everything=self._once, feeds=len(compared))
                listing.compare_with(loaded)
            self._folders[name] = listing
            watcher = FeedWatcher(listing, self._tell, once=self._once, folders=len(folders))
            self._watchers.append(watcher)
        for watcher in self._watchers:
            watcher.start()

    def _former_faults(self, folders: set[str]) -> None:
        """What a former run could not list holds until the first look; then that look decides."""
        journal = self._ledger.journal
        for (name,) in journal.rows("SELECT name FROM feeds WHERE error IS NOT NULL"):
            if name in folders:
                self._faulty_before.add(name)
            else:
                journal.put("feeds", {"name": name}, error=None)

    def start_topics(self, executor: Executor) -> None:
        """Look at topics from now on.

        Raises:
            InternalError: There are some, and the executor cannot look at them.
        """
        tell = partial(self._tell_topic, generation=self._generation)
        for name, readers in self._readers.items():
            if not self._is_topic(name):
                continue
            for table in readers:
                listing = self._looks(executor, name, table)
                self._topics[table] = TopicWatcher(listing, tell, once=self._once)
        for watcher in self._topics.values():
            watcher.start()

    def stop(self) -> None:
        """Listen no more; a store that hangs is waited for a moment only."""
        for watcher in self._watchers:
            watcher.stop()
        end_s = time.monotonic() + _STOP_S
        for watcher in self._watchers:
            watcher.join(max(0.0, end_s - time.monotonic()))
        for topic in self._topics.values():
            topic.stop()

    def stop_topics(self) -> None:
        """Look at no topic until they are started again.

        What was told and not taken in yet is outdated then: a new look begins at what the journal
        knows, and tells the same records under another name.
        """
        self._generation += 1
        for topic in self._topics.values():
            topic.stop()
        self._topics.clear()

    # ---- in any thread ----

    def gone(self, table: str, error: UnreadableFilesError) -> frozenset[str]:
        """Which of the files that could not be read are gone; waits for a store that hangs."""
        watcher = self._topics.get(table)
        listing = (
            self._folders.get(self._project.table(table).feed or "")
            if watcher is None
            else watcher.listing
        )
        if listing is None:
            return frozenset()
        return frozenset(name for name, _ in error.files if not listing.exists(name))

    # ---- in the warehouse's thread ----

    def is_outdated(self, heard: Heard) -> bool:
        """Whether a look of an earlier Spark found it: those of this one find it again."""
        return heard.generation not in (None, self._generation)

    def heard(self, heard: Heard, now_s: float) -> list[str]:
        """Take in what was heard; what people should hear of it, a sentence each."""
        self._look_whether_written()
        if heard.last:
            self.unheard.discard(heard.key)
        if not self._is_topic(heard.feed.name):
            told = note_changes(self._ledger, heard.changed, now_s)
            return self._folder(heard, now_s) + told + _of_undated(heard) + _of_sinks(heard)
        notices = self._state(heard, now_s)
        if heard.topic is not None:
            notices += heard.topic.notices
            for lost in heard.topic.lost_names:
                self._ledger.file_lost(heard.key, lost, now_s)
            names = [file.name for file in heard.files] + heard.topic.lost_names
            self._lately.setdefault(heard.key, {}).update(dict.fromkeys(names, True))
        return notices

    def forget(self, table: str, name: str) -> None:
        """A file is gone: report a later file of its name, or the rest of a range of records."""
        watcher = self._topics.get(table)
        if watcher is not None:
            watcher.listing.forget(name)
            self._lately.setdefault(table, {})[name] = False
            self.unheard.add(table)
            watcher.look_again()
            return
        listing = self._folders.get(self._project.table(table).feed or "")
        if listing is not None:
            listing.forget(name)

    def loaded(self, table: str) -> None:
        """A table was loaded in full: what was refused before may be what it shows now."""
        path = feed_path(self._project, self._project.table(table)) or None
        self._ledger.journal.put("tables", {"name": table}, feed_path=path)
        watcher = self._topics.get(table)
        if table in self.deaf and watcher is not None:
            self.unheard.add(table)
            watcher.look_again()

    # ---- inside ----

    def _folder(self, heard: Heard, now_s: float) -> list[str]:
        """Write down what is wrong with a folder; say it when it changes, and once a minute."""
        name, before = heard.feed.name, self._complaints.get(heard.feed.name)
        if not heard.problems:
            self.deaf -= set(heard.readers)
            if before is not None or name in self._faulty_before:
                self._ledger.journal.put("feeds", {"name": name}, error=None)
            self._faulty_before.discard(name)
            if before is None:
                return []
            del self._complaints[name]
            return [f"feed {name} is listed in full again"]
        self.deaf |= set(heard.readers)
        texts = tuple(sorted(problem.render() for problem in heard.problems))
        if before is not None and before.texts == texts and now_s - before.told_s < _REPEAT_S:
            return []
        self._complaints[name] = _Complaint(texts, now_s)
        more = f" (and {len(texts) - 1} more)" if len(texts) > 1 else ""
        self._ledger.journal.put("feeds", {"name": name}, error=texts[0] + more)
        told = list(texts[:_SHOWN])
        if len(texts) > _SHOWN:
            told.append(f"feed {name}: {len(texts) - _SHOWN} more such problems")
        return told

    def _state(self, heard: Heard, now_s: float) -> list[str]:
        """Write down how a topic stands where that changed; what is to be said of it."""
        error, news, table = heard.error, heard.topic, heard.key
        state = "read"
        if error is not None:
            state = _STATES.get(error.code, "unreachable")
            self.deaf.add(table)
        else:
            self.deaf.discard(table)
        before = self._states.get(table, ("", ""))
        values: dict[str, Any] = {"feed": heard.feed.name}
        ends = before[1]
        if news is not None:
            ends = json.dumps([news.id, news.ends])
            values |= {"topic_id": news.id, "newest_s": news.newest_s}
            values["ends"] = json.dumps(news.ends)
        if (state, ends) == before:
            return []
        self._states[table] = (state, ends)
        if state != before[0]:
            values |= {"state": state, "since_s": now_s, "error": _shown(state, error)}
        self._ledger.journal.put("topics", {"table_name": table}, **values)
        if state == before[0]:
            return []
        if error is not None:
            return [error.render()]
        what = "topic" if heard.feed.kind == "kafka" else "Delta table"
        return [f"{what} of feed {heard.feed.name} is read again"] if before[0] else []

    def _is_topic(self, feed: str) -> bool:
        """Whether it is looked at through Spark, for each of its readers."""
        return self._project.feeds[feed].kind in ("kafka", "delta")

    def _looks(self, executor: Executor, name: str, table: str) -> TopicListing | SourceListing:
        feed, newest_s = self._project.feeds[name], self._newest_s(table)
        known, vanished = self._known(table)
        if feed.kind == "delta" and isinstance(executor, HasSources):
            path = self._project.table_path(table)
            return SourceListing(feed, table, executor.source(name), path, known, newest_s)
        if feed.kind == "kafka" and isinstance(executor, HasTopics):
            ranges, gone = filter(is_range, known), filter(is_range, vanished)
            return TopicListing(feed, table, executor.topic(name), ranges, newest_s, gone)
        raise InternalError("no-topics", f"this executor cannot read feed {name}")

    def _known(self, table: str) -> tuple[set[str], set[str]]:
        """The names that a table was told of, and those of them that had vanished."""
        known: set[str] = set()
        vanished: set[str] = set()
        for row in self._ledger.journal.each(
            "SELECT name, state FROM files WHERE table_name=?", (table,)
        ):
            (vanished if row["state"] == "vanished" else known).add(row["name"])
        self._look_whether_written()
        for name, is_known in self._lately.get(table, {}).items():
            (known if is_known else vanished).add(name)
            (vanished if is_known else known).discard(name)
        return known, vanished

    def _look_whether_written(self) -> None:
        if self._ledger.journal.is_written:
            self._lately.clear()

    def _newest_s(self, table: str) -> float | None:
        """The greatest timestamp that a table was told of, as far as that is known."""
        row = self._ledger.journal.row(
            "SELECT max(timestamp_s) AS newest_s FROM files WHERE table_name=? UNION ALL"
            " SELECT max(freshness_s) FROM tables WHERE name=? ORDER BY 1 DESC",
            (table, table),
        )
        return None if row is None else row["newest_s"]

    def _tell(self, feed: str, found: Look, last: bool) -> None:  # noqa: FBT001 - a callback
        problems = tuple(found.problems)
        readers = self._readers[feed]
        undated = () if feed in self._undated else tuple(found.undated)
        if undated:
            self._undated.add(feed)
        sinks = tuple(each for each in found.sinks if (feed, each) not in self._sinks)
        self._sinks |= {(feed, each) for each in sinks}
        heard = Heard(
            feed, self._project.feeds[feed], readers, found.files, last=last, problems=problems,
            changed=tuple(found.changed), undated=undated, sinks=sinks,
        )  # fmt: skip
        self._put(("heard", heard))

    def _tell_topic(
        self,
        listing: Looks,
        news: TopicNews | SourceNews | None,
        error: FreshlineError | None,
        *,
        last: bool,
        generation: int,
    ) -> None:
        files = [] if news is None else news.files
        heard = Heard(
            listing.table, listing.feed, (listing.table,), files, news, error, last,
            generation=generation,
        )  # fmt: skip
        self._put(("heard", heard))


def _of_undated(heard: Heard) -> list[str]:
    """That files have other timestamps than the feed says: how fresh tables are follows from it."""
    if not heard.undated:
        return []
    others = len(heard.undated) - 1
    more = f" and {others:,} more" if others else ""
    told = "the name has no timestamp as `timestamp:` reads it; the modification time is taken"
    return [f"feed {heard.feed.name}: {min(heard.undated)}{more}: {told}"]


def _of_sinks(heard: Heard) -> list[str]:
    """That a log says which files are loaded: those of others are not in it."""
    return [
        f"feed {heard.feed.name}: a stream of Spark writes {folder}; files that its log"
        " `_spark_metadata` does not name, as those of batches that failed, are left out, as Spark"
        " leaves them out. If others write files into the folder as well, have them write into"
        " another one"
        for folder in heard.sinks
    ]


def _shown(state: str, error: FreshlineError | None) -> str | None:
    """What status says of a topic; of one that is refused, what to choose, too."""
    if error is None:
        return None
    return error.render() if state == "refused" else error.what
