"""Polling a topic, or a Delta table, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from freshline.core.errors import FreshlineError, InternalError
from freshline.project.model import Feed
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.feeds.sources import SourceNews
from freshline.runtime.feeds.topics import TopicNews
from freshline.runtime.feeds.watcher import listing_interval_s

_MOST_S = 30.0
"""Between two looks while the brokers do not answer."""


class Looks(Protocol):
    """What is looked at, for one table."""

    feed: Feed
    table: str

    def news(self, now_s: float) -> TopicNews | SourceNews:
        """Look at it.

        Raises:
            FreshlineError: It cannot be looked at, or is refused.
        """
        ...

    def exists(self, name: str) -> bool:
        """Whether all that was told under a name can still be read."""
        ...

    def forget(self, name: str) -> None:
        """What was told under a name is told again, as far as it is still there."""
        ...


class Tells(Protocol):
    """Takes what a look found, or why it failed."""

    def __call__(
        self,
        listing: Looks,
        news: TopicNews | SourceNews | None,
        error: FreshlineError | None,
        *,
        last: bool,
    ) -> None:
        """Called from the watcher's thread; ``last``: it does not look again by itself."""


class TopicWatcher:
    """Looks at one topic, or Delta table, for one table.

    Args:
        listing: What the table was told.
        tell: Takes what is found.
        once: Look until it worked once, or failed three times (``--until-idle``), and again
            when asked.
        clock: Wall-clock seconds since the epoch.
        backoff: Of looks that failed.
    """

    def __init__(
        self,
        listing: Looks,
        tell: Tells,
        *,
        once: bool,
        clock: Callable[[], float] = time.time,
        backoff: Backoff | None = None,
    ) -> None:
        self.listing = listing
        self._tell = tell
        self._once = once
        self._clock = clock
        self._backoff = backoff or Backoff(first_s=1.0, most_s=_MOST_S, attempts=3)
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name=f"topic-{listing.table}", daemon=True
        )

    def start(self) -> None:
        """Begin looking."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()
        self._wanted.set()

    def look_again(self) -> None:
        """Look at once, and until it works."""
        self._wanted.set()

    def _watch(self) -> None:
        failures = 0
        while not self._stopped.is_set():
            self._wanted.clear()
            try:
                news = self.listing.news(self._clock())
                error: FreshlineError | None = None
                failures = 0
            except FreshlineError as fault:
                news, error = None, fault
                failures += 1
            except Exception as fault:  # noqa: BLE001 - a silent thread would lose the feed
                what = f"looking at the source of feed {self.listing.feed.name} failed: {fault!r}"
                news, error = None, InternalError("topic-look", what)
                failures += 1
            if self._stopped.is_set():
                return
            done = not failures or failures >= self._backoff.attempts
            self._tell(self.listing, news, error, last=done)
            if self._once and done:
                failures = 0
                self._wanted.wait()
            elif failures:
                self._wanted.wait(self._backoff.delay_s(failures))
            else:
                self._wanted.wait(listing_interval_s(self.listing.feed))
