"""Watching the feeds: one thread that lists each of them again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from freshline.core.errors import PlatformError
from freshline.executor.records import FeedFile
from freshline.project.model import Feed
from freshline.runtime.feeds.listing import FeedListing

_SHORTEST_S = 0.2
_LONGEST_S = 10.0
_REMOTE_S = 2.0
"""An object store charges for listings and answers slowly."""

_TOPIC_S = 0.5
"""Each look that finds records makes a range, which the journal and a commit remember."""


def interval_s(listing: FeedListing) -> float:
    """How often to list a feed."""
    return listing_interval_s(listing.feed)


def listing_interval_s(feed: Feed) -> float:
    """How often to list: a tenth of the period, within reason."""
    period_s = feed.period_s or 5.0
    shortest_s = _REMOTE_S if "://" in feed.path else _SHORTEST_S
    if feed.kind == "kafka":
        shortest_s = _TOPIC_S
    return min(_LONGEST_S, max(shortest_s, period_s / 10.0))


class FeedWatcher:
    """Lists feeds and tells what is new.

    Args:
        listings: One per feed of kind files.
        tell: Called with (feed name, new files), from the watcher's thread; also with no
            files after a feed's first listing, so that "nothing there" is known too.
        fault: Called with (feed name, error) when a listing fails; it is tried again.
        once: List each feed once and stop (``--until-idle``).
    """

    def __init__(
        self,
        listings: Sequence[FeedListing],
        tell: Callable[[str, list[FeedFile]], None],
        fault: Callable[[str, PlatformError], None],
        *,
        once: bool,
    ) -> None:
        self._listings = listings
        self._tell = tell
        self._fault = fault
        self._once = once
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="feeds", daemon=True)

    def start(self) -> None:
        """Begin listing."""
        self._thread.start()

    def stop(self) -> None:
        """List no more."""
        self._stopped.set()

    def _watch(self) -> None:
        due_s = dict.fromkeys(range(len(self._listings)), 0.0)
        first = set(due_s)
        while due_s and not self._stopped.is_set():
            index = min(due_s, key=due_s.__getitem__)
            wait_s = due_s[index] - time.monotonic()
            if wait_s > 0.0 and self._stopped.wait(wait_s):
                return
            listing = self._listings[index]
            try:
                files = listing.new_files()
            except PlatformError as error:
                self._fault(listing.feed.name, error)
                files = []
            if files or index in first:
                first.discard(index)
                self._tell(listing.feed.name, files)
            if self._once:
                del due_s[index]
            else:
                due_s[index] = time.monotonic() + interval_s(listing)
