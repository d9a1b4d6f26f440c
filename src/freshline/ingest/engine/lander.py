"""The other thread: seals full segments, lands what they hold, removes what is landed.

A file is written under a temporary name, flushed, renamed to a hidden name that its records
decide, its folder flushed, and noted in the ledger beside the records. Then readers see it, and
then the segment may go. So what a reader sees is never written again: a death before the note
leaves a hidden file, which goes, and one after it a file, which is shown (``recovery``).
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial

import pyarrow as pa

from freshline.durable import make_folder
from freshline.ingest.engine.committer import Committer
from freshline.ingest.engine.context import EngineContext
from freshline.ingest.engine.landedfile import (
    LandedFile,
    OtherColumnsError,
    UncastableError,
    file_name,
    publish,
)
from freshline.ingest.log.disk import is_full
from freshline.ingest.log.rows import DamagedError, Row, Waiting
from freshline.ingest.log.salvage import read_segment, rebuild
from freshline.ingest.log.segment import Landed, Segment, is_damage
from freshline.private import private_folder

_LOOK_S = 0.1
_SHORTEST_BACKOFF_S = 0.5
_LONGEST_BACKOFF_S = 30.0
_PRUNE_S = 600.0
_JUMP_S = 60.0
"""A clock that is put right by less has not jumped."""
_NEVER_US = 1 << 62
_OPEN_SEGMENTS = 4
_FAULTS = (OSError, sqlite3.Error, pa.ArrowException, DamagedError)


class Lander:
    """One file at a time, the feeds in turn."""

    def __init__(self, context: EngineContext, committer: Committer) -> None:
        self._log = context.log
        self._backlog = context.backlog
        self._committer = committer
        self._feeds = context.feeds
        self._gate = context.gate
        self._ballast = context.ballast
        self._witness = context.witness
        self._quarantine = context.quarantine
        self._stores = context.stores
        self._counters = context.counters
        self._settings = context.settings
        self._clock = context.clock
        self._steady_since_s = time.monotonic()
        """Since when the clock has not jumped, on the monotonic clock."""
        self._ahead_s = self._clock() - self._steady_since_s
        """How far the clock is ahead of the monotonic one."""
        self._believed_ahead_s = self._ahead_s
        """The same of the clock by which keys are forgotten."""
        self._turn = list(context.feeds)
        self._backoff_s: dict[str, float] = {}
        self._not_before_s: dict[str, float] = {}
        self._housekept_s = self._pruned_s = float("-inf")
        self._in_use: deque[Segment] = deque()
        self._noted: dict[str, tuple[Landed, int, int]] = {}
        self._wake = threading.Event()
        self._stopping = False
        self._waits: Segment | None = None
        """The active segment, once it holds something,"""
        self._waits_since_s = 0.0
        """and when that was seen, by a clock that nobody sets."""
        self.draining = False

    def wake(self) -> None:
        """There may be something to do."""
        self._wake.set()

    def stop(self) -> None:
        """End ``run`` after the file at hand."""
        self._stopping = True
        self._wake.set()

    def run(self) -> None:
        """Land until ``stop``."""
        while not self._stopping:
            try:
                done = self.step()
            except Exception as error:  # noqa: BLE001 - a fault of ours must not end landing
                self._quarantine.tell(f"landing met a fault of its own: {error!r}")
                done = False
            if not done:
                self._wake.wait(_LOOK_S)
            self._wake.clear()

    def step(self) -> bool:
        """One round over the feeds; returns whether anything was done."""
        self._roll_when_due()
        done = False
        for segment in self._log.unsealed():
            done |= self._attempt("sealing", partial(self._seal, segment))
        for feed in list(self._turn):
            done |= self._attempt(feed, partial(self._land, feed))
            if self._stopping:
                return done
        for feed in self._with_hidden():
            done |= self._attempt(feed, partial(self._show_hidden, feed))
        # The ledger of a segment says which files that wait on the disk may be shown.
        for segment in () if self._with_hidden() else self._log.finished():
            done |= self._attempt("removing", partial(self._remove, segment))
        self.housekeep()
        return done

    def forgive(self) -> None:
        """Try again now whatever failed, however lately."""
        for what in self._not_before_s:
            self._not_before_s[what] = 0.0

    def housekeep(self) -> None:
        """Look at the disk; once a second flush the witness; now and then forget old keys."""
        now_s = time.monotonic()
        self._gate.look(self._log.size_bytes)
        if now_s - self._housekept_s >= 1.0:
            self._housekept_s = now_s
            self._look_at_clock(now_s)
            self._attempt("witness", self._flush_witness)
            if not self._gate.closed:
                self._attempt("ballast", self._take_ballast)
        if now_s - self._pruned_s >= _PRUNE_S:
            self._pruned_s = now_s
            self._attempt("keys", partial(self._prune, *self._forgotten(now_s)))

    def _look_at_clock(self, now_s: float) -> None:
        """Often: one that jumps and is put right between two looks would seem to have stood."""
        ahead_s = self._clock() - now_s
        if abs(ahead_s - self._ahead_s) > _JUMP_S:
            self._ahead_s, self._steady_since_s = ahead_s, now_s

    def _forgotten(self, now_s: float) -> tuple[int, int]:
        """Before which moment keys are forgotten, and from which one on, in microseconds.

        A clock that jumps ahead by days would have every key forgotten at once. So it is believed
        when it has stood for as long as keys are kept: whatever was kept by another one is old by
        then, also what seems to come from the future. So is one that was set late.
        """
        self._look_at_clock(now_s)
        kept_s, clock_s = self._settings.keys_kept_s, self._clock()
        if now_s - self._steady_since_s >= kept_s:
            self._believed_ahead_s = self._ahead_s
            return int((clock_s - kept_s) * 1e6), int((clock_s + _JUMP_S) * 1e6)
        believed_s = min(clock_s, self._believed_ahead_s + now_s)
        return int((believed_s - kept_s) * 1e6), _NEVER_US

    def _roll_when_due(self) -> None:
        active = self._log.active
        if active.oldest_us is None:
            return
        now_s = time.monotonic()
        if active is not self._waits:
            self._waits, self._waits_since_s = active, now_s
        # By both clocks: one that was put back by an hour must not keep records for an hour.
        waited_s = max(self._clock() - active.oldest_us / 1e6, now_s - self._waits_since_s)
        old = waited_s >= self._settings.landing_period_s
        large = active.size_bytes >= self._settings.landing_bytes
        if old or large or self.draining or self._gate.closed:
            self._committer.want_roll()

    def _attempt(self, what: str, action: Callable[[], bool]) -> bool:
        """Do something; when the disk fails, try again later, and later still."""
        if time.monotonic() < self._not_before_s.get(what, 0.0):
            return False
        try:
            done = action()
        except _FAULTS as error:
            delay_s = self._backoff_s.get(what, _SHORTEST_BACKOFF_S)
            self._backoff_s[what] = min(_LONGEST_BACKOFF_S, 2 * delay_s)
            self._not_before_s[what] = time.monotonic() + delay_s
            subject = f"feed {what} cannot be landed" if what in self._feeds else f"{what} failed"
            self._quarantine.tell(f"{subject}: {error}")
            if what in self._feeds:
                self._backlog.set_idle(what, idle=True)
            if is_full(error):
                self._ballast.give()
                # Room may come at any moment, and until then nothing is taken in.
                self._backoff_s[what] = _SHORTEST_BACKOFF_S
            return False
        if what in self._backoff_s:
            del self._backoff_s[what]
            del self._not_before_s[what]
            if what in self._feeds:
                self._backlog.set_idle(what, idle=False)
        return done

    def _seal(self, segment: Segment) -> bool:
        try:
            self._log.seal(segment)
        except (sqlite3.Error, DamagedError) as error:
            if not is_damage(error):
                raise
            self._repair(segment)
            self._log.seal(segment)
        return True

    def _repair(self, segment: Segment) -> None:
        """The catalogue or the segment is damaged: make both whole, with what can be read."""
        catalogue = self._log.catalogue
        try:
            problems = catalogue.problems()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            problems = [str(error)]
        if problems:
            self._quarantine.tell(f"{catalogue.path}: {'; '.join(problems)}")
            self._quarantine.keep(catalogue.files())
            catalogue.rebuild()
            return
        assert segment.next_id is not None
        contents = read_segment(segment, segment.next_id, self._quarantine)
        if contents.damage:
            self._quarantine.tell(f"{segment.path}: {'; '.join(contents.damage)}")
            rebuild(segment, contents, contents.lasts or {}, self._quarantine)

    def _remove(self, segment: Segment) -> bool:
        if segment in self._in_use:
            self._in_use.remove(segment)
        self._log.remove(segment)
        return True

    def _flush_witness(self) -> bool:
        self._witness.flush()
        return False

    def _take_ballast(self) -> bool:
        self._ballast.take()
        return False

    def _prune(self, before_us: int, behind_us: int) -> bool:
        oldest = self._log.segments()[0].number
        self._log.catalogue.prune(before_us, behind_us, oldest)
        return False

    def _land(self, feed: str) -> bool:
        """One file of a feed, from one segment."""
        # The segment that is still written to is left alone.
        oldest = self._backlog.waiting(feed, self._log.active.first_id, 0)
        if not oldest:
            return False
        segment = self._log.segment_of(oldest[0].id)
        assert segment.next_id is not None
        items = self._backlog.waiting(feed, segment.next_id, self._settings.file_bytes)
        done = self._noted.get(feed)
        if done is None:
            done = self._noted[feed] = self._written(feed, segment, items)
        landed, records, count = done
        if landed.name:
            self._show(feed, landed.name)
        del self._noted[feed]
        self._backlog.landed(feed, count)
        segment.remaining -= count
        with self._counters.lock:
            counts = self._counters.feeds[feed]
            counts.landed_files += bool(landed.name)
            counts.landed_records += records
            self._counters.landed.add(sum(item.size_bytes for item in items[:count]))
        self._turn.remove(feed)
        self._turn.append(feed)
        return True

    def _show(self, feed: str, name: str) -> None:
        """Let readers see a file that is in the ledger."""
        store = self._stores.get(feed)
        if store is None:
            publish(self._feeds[feed].landing, name)
        else:
            store.put(name)

    def _with_hidden(self) -> list[str]:
        """The feeds of which a death left files between the ledger and the store."""
        return [feed for feed in self._stores if self._backlog.hidden(feed)]

    def _show_hidden(self, feed: str) -> bool:
        for file in self._backlog.hidden(feed):
            self._show(feed, file.name)
            self._backlog.shown(feed, file)
        return True

    def _written(
        self, feed: str, segment: Segment, items: list[Waiting]
    ) -> tuple[Landed, int, int]:
        """The file of these requests, hidden and in the ledger; see ``_write``."""
        try:
            done = self._write(feed, segment, items)
        except UncastableError as error:
            self._quarantine.tell(
                f"feed {feed}: records that were accepted before its schema changed do not fit it"
                f" ({error}); they are landed with the types that they were accepted with"
            )
            done = self._write(feed, segment, items, cast=False)
        try:
            self._use(segment).note_landed(done[0])
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            self._repair(segment)
            segment.note_landed(done[0])
        return done

    def _write(
        self, feed: str, segment: Segment, items: list[Waiting], *, cast: bool = True
    ) -> tuple[Landed, int, int]:
        """The file of these requests, less what is damaged.

        Returns:
            What was landed, the records in it, and how many of ``items`` that covers: those
            behind a change of the schema go into a file of their own.
        """
        spec = self._feeds[feed]
        make_folder(spec.landing)
        private_folder(spec.landing, shared=True)
        file = LandedFile(spec.landing, spec.schema, spec.time_column, zones=spec.zones, cast=cast)
        try:
            count = 0
            for item in items:
                try:
                    row = self._row(feed, item.id)
                    file.add(row.body, row.records)
                except DamagedError as error:
                    self._quarantine.add([item.id], str(error))
                    self._quarantine.keep(self._log.segment_of(item.id).files())
                except OtherColumnsError:
                    break
                count += 1
            first, last = items[0].first, items[count - 1].last
            if not file.records:
                return Landed(feed, first, last, ""), 0, count
            file.write_waiting()
            received_us = max(item.received_us for item in items[:count])
            time_us = min(received_us, file.newest_us or received_us)
            store = self._stores.get(feed)
            stem = feed if store is None else store.stem(segment.tag)
            name = file_name(stem, max(0, time_us), first, last)
            file.finish(name)
            if store is not None:
                name = store.named(name, self._clock())
            return Landed(feed, first, last, name), file.records, count
        finally:
            file.abandon()

    def _row(self, feed: str, row_id: int) -> Row:
        """A request's row, from memory if it is there.

        Raises:
            DamagedError: It cannot be read any more.
        """
        if not self._backlog.is_taken(feed, row_id):
            for wanted in self._backlog.bring(feed):
                try:
                    brought: Row | None = self._read(wanted)
                except DamagedError:
                    brought = None
                self._backlog.arrive(feed, wanted, brought)
            taken = self._backlog.take(feed)
            if taken is not None:
                return taken
        return self._read(row_id)

    def _use(self, segment: Segment) -> Segment:
        """Keep few databases open: each has a page cache of its own."""
        if segment in self._in_use:
            self._in_use.remove(segment)
        self._in_use.append(segment)
        if len(self._in_use) > _OPEN_SEGMENTS:
            unused = self._in_use.popleft()
            if unused is not self._log.active:
                unused.close()
        return segment

    def _read(self, row_id: int) -> Row:
        segment = self._log.segment_of(row_id)
        row = self._use(segment).read(row_id)
        if row is None:
            raise DamagedError("it is not in its segment any more")
        return row
