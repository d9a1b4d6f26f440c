"""What a start does with what the last run left behind, however that run ended.

Nothing found here stops the start: what cannot be read goes into quarantine with a message, and
everything else is served. Afterwards each segment is whole, so the same damage is met once.
"""

from __future__ import annotations

import sqlite3
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from freshline.ingest.engine.backlog import Hidden
from freshline.ingest.engine.context import EngineContext
from freshline.ingest.engine.landedfile import (
    LandedName,
    hidden_names,
    hidden_path,
    landed_names,
    remove_drafts,
    settle_hidden,
)
from freshline.ingest.log.commit_marker import CommitMarker
from freshline.ingest.log.rows import Waiting
from freshline.ingest.log.salvage import Contents, read_segment, rebuild
from freshline.ingest.log.segment import Landed, Segment, finish_rebuild, is_damage
from freshline.private import private_folder


@dataclass(frozen=True, slots=True)
class Recovery:
    """What the start found.

    Attributes:
        seconds: How long it took.
        requests: In the log and not landed.
        records: Theirs.
        read_bytes: Of the log, checked.
        corrupt_rows: Damaged or missing, put into quarantine by this start.
        messages: One for each thing that somebody should look at.
    """

    seconds: float
    requests: int
    records: int
    read_bytes: int
    corrupt_rows: int
    messages: tuple[str, ...]


class Recoverer:
    """One start's recovery.

    Args:
        context: Of the engine; the log and the backlog are empty, and filled.
    """

    def __init__(self, context: EngineContext) -> None:
        self._folder = context.folder
        self._feeds = context.feeds
        self._log = context.log
        self._backlog = context.backlog
        self._catalogue = context.log.catalogue
        self._witness = context.witness
        self._quarantine = context.quarantine
        self._checkpoint_bytes = context.settings.checkpoint_bytes
        self._stores = context.stores
        self._landed: dict[str, list[LandedName]] = {}
        self._listed_since_us: dict[str, int] = {}
        """Of feeds whose files are in a store: how far back it was listed."""
        self._noted: dict[str, dict[str, Hidden]] = {}
        self._lasts: dict[str, int] = {}
        self._requests = self._records = self._read_bytes = self._corrupt_rows = 0

    def run(self) -> Recovery:
        """Fill the log and the backlog.

        Raises:
            OSError: The disk does not answer, or is full.
            sqlite3.OperationalError: As before.
        """
        started_s = time.monotonic()
        self._tidy()
        testimony, damaged = self._witness.read()
        if damaged:
            self._quarantine.tell("one of the witness files is damaged; the log is believed")
        self._check_catalogue()
        known = self._catalogue.segments()
        for feed, spec in self._feeds.items():
            if feed not in self._stores:
                self._landed[feed] = landed_names(feed, spec.landing)
        segments = self._segments()
        self._miss_segments(segments, known)
        least_next_id = 1 + (testimony.last_id if testimony else 0)
        for number, (_, next_id, _) in known.items():
            if not segments or number > segments[-1].number:
                least_next_id = max(least_next_id, next_id)
        next_id = least_next_id
        for at, segment in enumerate(segments):
            after = segments[at + 1] if at + 1 < len(segments) else None
            next_id = max(next_id, self._recover(segment, after, testimony, least_next_id))
            segment.sealed = segment.number in known and not _has_log(segment)
            segment.close()
        for feed, spec in self._feeds.items():
            noted = self._noted.get(feed, {})
            if feed in self._stores:
                self._settle_for_store(feed, noted)
            else:
                settle_hidden(spec.landing, noted)
        self._count_up(testimony)
        if not segments and testimony and testimony.last_id and not known:
            self._quarantine.tell("the log is gone; its numbers continue from the commit marker")
        self._log.restore(segments)
        self._log.next_id = max(next_id, segments[-1].first_id if segments else 1)
        self._log.lasts = self._lasts
        numbers = [segment.number for segment in segments] + list(known)
        self._log.next_number = max(numbers, default=0) + 1
        self._log.roll()
        return Recovery(
            seconds=time.monotonic() - started_s,
            requests=self._requests,
            records=self._records,
            read_bytes=self._read_bytes,
            corrupt_rows=self._corrupt_rows,
            messages=tuple(self._quarantine.messages),
        )

    def _tidy(self) -> None:
        """Finish or remove what a death left half-way."""
        for path in self._folder.glob("segment-*.rebuilt"):
            finish_rebuild(path)
        for path in self._folder.glob("segment-*.tmp*"):
            path.unlink(missing_ok=True)
        for end in ("-wal", "-shm"):
            for path in self._folder.glob(f"segment-*.db{end}"):
                if not path.with_name(path.name.removesuffix(end)).exists():
                    path.unlink(missing_ok=True)
        for spec in self._feeds.values():
            private_folder(spec.landing, shared=True)  # of a version that left it to the umask
            remove_drafts(spec.landing)

    def _check_catalogue(self) -> None:
        try:
            problems = self._catalogue.problems()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if not is_damage(error):
                raise
            problems = [str(error)]
        if problems:
            self._quarantine.tell(
                f"{self._catalogue.path}: {'; '.join(problems)}; a request that is sent again "
                "with one of those keys will be stored again"
            )
            self._quarantine.keep(self._catalogue.files())
            self._catalogue.rebuild()

    def _segments(self) -> list[Segment]:
        names = sorted(
            entry.name for entry in self._folder.iterdir() if Segment.is_segment(entry.name)
        )
        segments = [Segment(self._folder / name, self._checkpoint_bytes) for name in names]
        for segment, after in pairwise(segments):
            segment.next_id = after.first_id
        return segments

    def _miss_segments(
        self, segments: list[Segment], known: Mapping[int, tuple[int, int, bool]]
    ) -> None:
        """Segments that are gone without having been landed."""
        there = {segment.number for segment in segments}
        for number, (first_id, next_id, done) in known.items():
            if not done and number not in there and first_id < next_id:
                self._lose(list(range(first_id, next_id)), f"segment {number} is gone")
        for before, after in pairwise(segments):
            between = set(range(before.number + 1, after.number))
            ends = [known[number][0] for number in sorted(between) if number in known]
            # Requests up to the next segment that was ever there belong to ``before``.
            before.next_id = min([after.first_id, *ends])

    def _recover(
        self,
        segment: Segment,
        after: Segment | None,
        testimony: CommitMarker | None,
        least_next_id: int,
    ) -> int:
        """One segment; returns the id behind its last request."""
        contents = read_segment(segment, least_next_id, self._quarantine)
        self._read_bytes += contents.read_bytes
        stop = segment.next_id
        if stop is None:
            stop = max(least_next_id, segment.first_id, max(contents.rows, default=0) + 1)
        missing = [i for i in range(segment.first_id, stop) if i not in contents.rows]
        lasts = contents.lasts
        if lasts is None:
            lasts = {
                feed: min(item.first for name, item in contents.rows.values() if name == feed) - 1
                for feed in {name for name, _ in contents.rows.values()}
            } | self._lasts
        for feed, last in lasts.items():
            self._lasts[feed] = max(last, self._lasts.get(feed, 0))
        if missing:
            self._explain(segment, contents, missing, after, testimony)
        damaged = bool(contents.damage) and self._is_new_damage(contents, missing)
        if damaged:
            self._quarantine.tell(f"{segment.path.name}: {'; '.join(contents.damage)}")
        self._adopt(segment, contents)
        if damaged:
            rebuild(segment, contents, lasts, self._quarantine)
        self._restore(segment, contents)
        return stop

    def _is_new_damage(self, contents: Contents, missing: list[int]) -> bool:
        """Anything but the gap that an earlier rebuild has left."""
        return contents.damage != [f"{len(missing)} requests are missing"]

    def _explain(
        self,
        segment: Segment,
        contents: Contents,
        missing: list[int],
        after: Segment | None,
        testimony: CommitMarker | None,
    ) -> None:
        """Which records are lost with the requests that are missing; none if all were landed."""
        ends: dict[str, int] = {}
        if after is None:
            ends = dict(testimony.lasts) if testimony else {}
        else:
            try:
                ends = after.counters()
            except Exception as error:
                if not is_damage(error):
                    raise
        lost = []
        self._list_stores(contents)
        for feed in sorted({*ends, *(name for name, _ in contents.rows.values())}):
            ranges = [
                (item.first, item.last) for name, item in contents.rows.values() if name == feed
            ]
            ranges += [(item.first, item.last) for item in contents.ledger if item.feed == feed]
            ranges += [(name.first, name.last) for name in self._landed_of(segment, feed)]
            start = (contents.lasts or {}).get(feed, self._lasts.get(feed, 0)) + 1
            for first, last in _gaps(ranges, start, ends.get(feed, 0)):
                lost.append(f"records {first} to {last} of feed {feed}")
        if ends and not lost:
            self._quarantine.tell(
                f"{segment.path.name}: {len(missing)} requests cannot be read; they were landed"
            )
            return
        what = ", ".join(lost) or "which records they held is not known"
        self._lose(missing, f"{segment.path.name}: {what}")

    def _lose(self, ids: list[int], why: str) -> None:
        self._corrupt_rows += self._quarantine.add(ids, why)

    def _adopt(self, segment: Segment, contents: Contents) -> None:
        """Files that are there but not in the ledger: a death came between the two."""
        noted = {(item.feed, item.first) for item in contents.ledger}
        self._list_stores(contents)
        feeds = {name for name, _ in contents.rows.values()}
        there = {feed: self._landed_of(segment, feed) for feed in feeds}
        wanted = {
            (name, file.first): Landed(name, file.first, file.last, file.name)
            for name, item in contents.rows.values()
            if (file := _file_with(there[name], item)) is not None
        }
        for key, landed in wanted.items():
            if key not in noted:
                contents.ledger.append(landed)
                # In a damaged segment it is written with the rest.
                if not contents.damage:
                    segment.note_landed(landed)

    def _list_stores(self, contents: Contents) -> None:
        """Look for files of requests that wait, as far back as the oldest was received.

        Raises:
            OSError: The store does not answer.
        """
        oldest: dict[str, int] = {}
        ranges: dict[str, list[Landed]] = {}
        for entry in sorted(contents.ledger, key=lambda entry: entry.first):
            ranges.setdefault(entry.feed, []).append(entry)
        for feed, item in contents.rows.values():
            if feed in self._stores and _covering(ranges.get(feed, []), item) is None:
                oldest[feed] = min(item.received_us, oldest.get(feed, item.received_us))
        for feed, since_us in oldest.items():
            if since_us < self._listed_since_us.get(feed, since_us + 1):
                self._listed_since_us[feed] = since_us
                self._landed[feed] = self._stores[feed].names_since(since_us / 1e6)

    def _settle_for_store(self, feed: str, noted: Mapping[str, Hidden]) -> None:
        """What waits on the disk goes into the store if the ledger has it, else away."""
        known = {name.rpartition("/")[2]: file for name, file in noted.items()}
        landing = self._feeds[feed].landing
        for waiting in hidden_names(landing):
            path, file = hidden_path(landing, waiting), known.get(waiting)
            if file is None:
                path.unlink(missing_ok=True)
                continue
            if not file.requests:  # none of them can be read in the log any more
                file.requests, file.oldest_us = 1, int(path.stat().st_mtime * 1e6)
            self._backlog.hide(feed, file)

    def _landed_of(self, segment: Segment, feed: str) -> list[LandedName]:
        """The landed files that are there and can hold requests of a segment.

        In a store others may have the same numbers: of records that were taken in after the copy
        was made from which this disk was put back.
        """
        files, store = self._landed.get(feed, []), self._stores.get(feed)
        if store is None:
            return files
        stem = store.stem(segment.tag)
        return [file for file in files if file.stem == stem]

    def _restore(self, segment: Segment, contents: Contents) -> None:
        """Into the backlog what is not landed."""
        landed: dict[str, list[Landed]] = {}
        for entry in sorted(contents.ledger, key=lambda entry: entry.first):
            landed.setdefault(entry.feed, []).append(entry)
            file = Hidden(entry.name, 0, entry.last - entry.first + 1, 0, 0)
            self._noted.setdefault(entry.feed, {})[entry.name] = file
        strange: dict[str, int] = {}
        for row_id in sorted(contents.rows):
            feed, item = contents.rows[row_id]
            self._lasts[feed] = max(item.last, self._lasts.get(feed, 0))
            holding = _covering(landed.get(feed, []), item)
            if holding is not None:
                file = self._noted[feed][holding.name]
                file.oldest_us = min(item.received_us, file.oldest_us or item.received_us)
                file.requests += 1
                file.size_bytes += item.size_bytes
                continue
            segment.remaining += 1
            if segment.oldest_us is None:
                segment.oldest_us = item.received_us
            if feed not in self._feeds:
                strange[feed] = strange.get(feed, 0) + 1
                continue
            self._backlog.restore(feed, item)
            self._requests += 1
            self._records += item.last - item.first + 1
        for entry in contents.ledger:
            if self._waits_for_its_feed(entry):
                segment.remaining += 1
                self._quarantine.tell(
                    f"{entry.name} waits to be shown; it is of feed {entry.feed}, which the project"
                    f" does not have; {segment.path.name} stays until the feed is back"
                )
        segment.size_bytes = sum(path.stat().st_size for path in segment.files() if path.exists())
        for feed, number in strange.items():
            self._quarantine.tell(
                f"{number} requests in {segment.path.name} are of feed {feed}, which the project "
                "does not have; they stay in the log"
            )

    def _waits_for_its_feed(self, entry: Landed) -> bool:
        """Whether a file that is in the ledger, and not shown yet, is of a feed that is left out.

        Without the ledger, the start that has the feed again would take it for an unfinished one,
        and remove it. Feeds have their folders beside each other.
        """
        if entry.feed in self._feeds or not entry.name:
            return False
        name = entry.name.rpartition("/")[2]
        beside = {spec.landing.parent for spec in self._feeds.values()}
        return any(hidden_path(folder / entry.feed, name).exists() for folder in beside)

    def _count_up(self, testimony: CommitMarker | None) -> None:
        """Numbers that were given out are not given out again, whatever was lost."""
        for feed, last in (testimony.lasts if testimony else {}).items():
            self._lasts[feed] = max(last, self._lasts.get(feed, 0))
        for feed, files in self._landed.items():
            if files:
                newest = max(file.last for file in files)
                self._lasts[feed] = max(newest, self._lasts.get(feed, 0))


def _file_with(files: Sequence[LandedName], item: Waiting) -> LandedName | None:
    """The file, of some in the order of their records, that holds a request."""
    at = bisect_right(files, item.first, key=lambda file: file.first) - 1
    return files[at] if at >= 0 and files[at].last >= item.last else None


def _covering(ranges: Sequence[Landed], item: Waiting) -> Landed | None:
    """The one of the ranges, which are in order, that a request is in."""
    at = bisect_right(ranges, item.first, key=lambda entry: entry.first) - 1
    return ranges[at] if at >= 0 and ranges[at].last >= item.last else None


def _has_log(segment: Segment) -> bool:
    wal = segment.files()[1]
    return wal.exists() and wal.stat().st_size > 0


def _gaps(ranges: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """What of ``[start, ...]`` up to the greatest end is in no range."""
    gaps = []
    for first, last in sorted(ranges):
        if first > start:
            gaps.append((start, first - 1))
        start = max(start, last + 1)
    if end >= start:
        gaps.append((start, end))
    return gaps
