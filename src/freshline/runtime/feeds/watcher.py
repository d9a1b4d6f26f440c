"""Watching the feeds of files: a thread for each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from freshline.project.model import Feed
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.feeds.listing import FeedListing, Look

_PERIOD_S = 5.0
"""Of a feed that says none."""

_SHORTEST_S = 0.2
_LONGEST_S = 10.0
_REMOTE_S = 2.0
"""An object store charges for listings and answers slowly."""

_LOCAL_S = 0.05
_LOCAL_SHARE = 0.02
"""Looks at all local folders together take so much of one processor before they become rarer."""

_TOPIC_S = 0.5
"""Each look that finds records makes a range, which the journal and a commit remember."""


def listing_interval_s(feed: Feed) -> float:
    """How often to look at least: at each tenth of the period, within reason."""
    period_s = feed.period_s or _PERIOD_S
    shortest_s = _REMOTE_S if "://" in feed.path else _SHORTEST_S
    if feed.kind == "kafka":
        shortest_s = _TOPIC_S
    elif feed.kind == "delta":  # a name can stand for any place
        shortest_s = _TOPIC_S if feed.path and "://" not in feed.path else _REMOTE_S
    return min(_LONGEST_S, max(shortest_s, period_s / 10.0))


def local_interval_s(feed: Feed, took_s: float, folders: int) -> float:
    """How often to list where that is cheap: a folder of this machine, a twentieth of the period.

    Args:
        feed: Of files.
        took_s: What the last look took.
        folders: How many are listed.
    """
    usual_s = listing_interval_s(feed)
    if "://" in feed.path:
        return usual_s
    cheap_s = max(_LOCAL_S, took_s * folders / _LOCAL_SHARE)
    return min(usual_s, max(cheap_s, (feed.period_s or _PERIOD_S) / 20.0))


class FeedWatcher:
    """Lists one feed again and again, in a thread of its own.

    So one store that hangs holds up no other feed.

    Args:
        listing: Of the feed.
        tell: Called from the watcher's thread with what is new, and whether no more comes by
            itself. Also called with nothing after the first listing, so that "nothing there" is
            known too, and when the problems are over.
        once: List until it worked once and no file may still be written, or failed three times
            (``--until-idle``).
        folders: How many feeds are listed, this one among them.
        backoff: Of listings that failed.
    """

    def __init__(
        self,
        listing: FeedListing,
        tell: Callable[[str, Look, bool], None],
        *,
        once: bool,
        folders: int = 1,
        backoff: Backoff | None = None,
    ) -> None:
        self._listing = listing
        self._tell = tell
        self._once = once
        self._folders = folders
        self._backoff = backoff or Backoff(first_s=0.5, most_s=_LONGEST_S, attempts=3)
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._work, name=f"feed-{listing.feed.name}", daemon=True
        )

    def start(self) -> None:
        """Begin listing."""
        self._thread.start()

    def stop(self) -> None:
        """List no more."""
        self._stopped.set()

    def join(self, timeout_s: float) -> None:
        """Wait for the end of the listing that goes on."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def _work(self) -> None:
        try:
            self._watch()
        finally:
            self._listing.close()

    def _watch(self) -> None:
        failures = 0
        news_wanted = True
        while not self._stopped.is_set():
            began_s = time.monotonic()
            found = self._listing.look()
            took_s = time.monotonic() - began_s
            failures = failures + 1 if found.problems else 0
            done = not (failures or found.moving) or failures >= self._backoff.attempts
            if found.files or found.problems or found.changed or news_wanted:
                self._tell(self._listing.feed.name, found, done)
            news_wanted = bool(found.problems) or not done
            if self._once and done:
                return
            wait_s = local_interval_s(self._listing.feed, took_s, self._folders)
            if found.moving:
                wait_s = min(wait_s, self._listing.feed.settle_s or wait_s)
            if failures:
                wait_s = max(wait_s, self._backoff.delay_s(failures))
            self._stopped.wait(wait_s)
