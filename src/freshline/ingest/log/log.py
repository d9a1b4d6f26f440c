"""The log as a whole: its segments in order, and the next numbers to give out."""

from __future__ import annotations

import threading
from bisect import bisect_right
from pathlib import Path

from freshline.durable import sync_folder
from freshline.failpoints import failpoint
from freshline.ingest.log.catalogue import Catalogue
from freshline.ingest.log.segment import KnownKey, Segment


class Log:
    """Segments, oldest first; the last is written to.

    Args:
        folder: Of the segments.
        catalogue: Keys and ends of sealed segments.
        checkpoint_bytes: Of a segment's SQLite log.

    Attributes:
        next_id: Of the next request.
        lasts: Each feed's last record number given out.
        next_number: Of the next segment.
    """

    def __init__(self, folder: Path, catalogue: Catalogue, checkpoint_bytes: int) -> None:
        self.folder = folder
        self.catalogue = catalogue
        self.next_id = 1
        self.next_number = 1
        self.lasts: dict[str, int] = {}
        self._checkpoint_bytes = checkpoint_bytes
        self._segments: list[Segment] = []
        self._lock = threading.RLock()

    def restore(self, segments: list[Segment]) -> None:
        """What recovery found."""
        self._segments = segments

    @property
    def active(self) -> Segment:
        """The segment that is written to."""
        return self._segments[-1]

    def segments(self) -> list[Segment]:
        """All, oldest first."""
        with self._lock:
            return list(self._segments)

    def roll(self) -> None:
        """Go on in a new segment.

        Raises:
            OSError: From the disk; the old one stays the active one.
            sqlite3.Error: As before.
        """
        lasts = {feed: last for feed, last in self.lasts.items() if last}
        # A number is used once even when making the file failed half-way.
        number, self.next_number = self.next_number, self.next_number + 1
        new = Segment.create(self.folder, number, self.next_id, lasts, self._checkpoint_bytes)
        with self._lock:
            if self._segments:
                self._segments[-1].next_id = self.next_id
            self._segments.append(new)

    def segment_of(self, row_id: int) -> Segment:
        """Where a request is."""
        with self._lock:
            # Of segments with the same first id all but the last are empty.
            at = bisect_right(self._segments, row_id, key=lambda segment: segment.first_id)
            return self._segments[at - 1]

    def find_key(self, feed: str, key: str) -> KnownKey | None:
        """The first use of a key, as far back as keys are remembered."""
        with self._lock:  # so that no segment is removed meanwhile
            for segment in reversed(self._segments):
                if not segment.sealed:
                    known = segment.find_key(feed, key)
                    if known is not None:
                        return known
        return self.catalogue.find_key(feed, key)

    def unsealed(self) -> list[Segment]:
        """Full ones whose keys are not in the catalogue yet."""
        return [segment for segment in self.segments()[:-1] if not segment.sealed]

    def finished(self) -> list[Segment]:
        """Sealed ones of which everything is landed."""
        return [s for s in self.segments()[:-1] if s.sealed and not s.remaining]

    def seal(self, segment: Segment) -> None:
        """Copy its keys, and bring all of it into the database file.

        Raises:
            OSError: From the disk.
            sqlite3.Error: From SQLite.
        """
        self.catalogue.seal(segment)
        segment.checkpoint()
        failpoint("ingest.seal.after-checkpoint")
        with self._lock:
            segment.sealed = True
        segment.close()
        segment.size_bytes = sum(path.stat().st_size for path in segment.files() if path.exists())

    def remove(self, segment: Segment) -> None:
        """Unlink a finished one."""
        failpoint("ingest.unlink.before")
        self.catalogue.finish(segment)
        failpoint("ingest.unlink.noted")
        with self._lock:
            self._segments.remove(segment)
        segment.unlink()
        sync_folder(self.folder)
        failpoint("ingest.unlink.after")

    @property
    def size_bytes(self) -> int:
        """About what all of it takes on the disk."""
        return sum(segment.size_bytes for segment in self.segments())

    def close(self) -> None:
        """Close every file."""
        for segment in self.segments():
            segment.close()
        self.catalogue.close()
