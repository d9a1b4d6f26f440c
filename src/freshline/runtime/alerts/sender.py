"""Delivery of one URL's events, in their order, in a thread of its own.

An event is posted again until it is accepted, with growing delays; the ones behind it wait, so
that no recovery overtakes its alert. An answer that says the request itself is wrong (most 4xx)
ends its event: posting it again cannot help. So does a redirection.
"""

from __future__ import annotations

import http.client
import sqlite3
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from freshline.runtime.alerts.store import AlertStore, Posting
from freshline.runtime.feeds.backoff import Backoff

CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"
_TIMEOUT_S = 10.0
_AGAIN = (408, 425, 429)
"""Client errors that pass by themselves."""


class RefusedError(Exception):
    """The receiver says that the request is wrong."""


class Sender:
    """Posts what the store holds for one URL.

    Args:
        url: http or https.
        store: Opens the store, in the sender's thread.
        notice: Told when a URL does not answer, or refuses an event.
        backoff: Delays between attempts.
    """

    def __init__(
        self,
        url: str,
        store: Callable[[], AlertStore],
        notice: Callable[[str], None],
        backoff: Backoff,
    ) -> None:
        self._url = url
        self._open = store
        self._notice = notice
        self._backoff = backoff
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._failures = 0
        self._done: set[int] = set()
        self._thread = threading.Thread(target=self._work, name="alerts-send", daemon=True)

    def start(self) -> None:
        """Begin to post."""
        self._thread.start()

    def wake(self) -> None:
        """Look at the store: there is something new."""
        self._wake.set()

    def stop(self, grace_s: float) -> None:
        """Post what is left, one attempt each, for at most so long; the rest waits for a run."""
        self._stopped.set()
        self._wake.set()
        self._thread.join(grace_s)

    def _work(self) -> None:
        store = self._open()
        try:
            while True:
                self._wake.clear()
                is_done = self._post_all(store)
                if self._stopped.is_set():
                    return
                if is_done:
                    self._wake.wait()
                else:
                    self._stopped.wait(self._backoff.delay_s(max(1, self._failures)))
        finally:
            store.close()

    def _post_all(self, store: AlertStore) -> bool:
        """Post one after the other; whether nothing is left to post."""
        try:
            while (posting := store.next_posting(self._url)) is not None:
                if not self._post(posting, store):
                    return False
        except sqlite3.Error as error:
            self._failures += 1
            self._notice(f"alerts: the journal cannot be read: {error}")
            return False
        return True

    def _post(self, posting: Posting, store: AlertStore) -> bool:
        """One attempt; whether to go on with the next event."""
        if posting.number not in self._done:
            try:
                post(posting.url, posting.body.encode())
            except RefusedError as error:
                self._notice(f"alert refused by {_host(self._url)}, not posted again: {error}")
            except OSError as error:
                self._failures += 1
                if self._failures == 1:
                    self._notice(f"alert not delivered to {_host(self._url)}, retrying: {error}")
                return False
            self._done.add(posting.number)
        if self._failures:
            self._failures = 0
            self._notice(f"alerts are delivered to {_host(self._url)} again")
        # Where the journal cannot be written the event stays there, and is skipped until it can.
        return store.delivered(posting)


def post(url: str, body: bytes) -> None:
    """Post one event.

    Raises:
        RefusedError: The receiver says that the request is wrong.
        OSError: It did not answer, or could not take it now.
    """
    headers = {"Content-Type": CONTENT_TYPE, "User-Agent": "freshline"}
    request = urllib.request.Request(  # noqa: S310 - the project's reader allows http and https
        url, body, headers, method="POST"
    )
    try:
        with _OPENER.open(request, timeout=_TIMEOUT_S):
            pass
    except urllib.error.HTTPError as error:
        error.close()
        if 300 <= error.code < 500 and error.code not in _AGAIN:  # noqa: PLR2004 - of HTTP
            raise RefusedError(f"status {error.code}") from error
        raise OSError(f"status {error.code}") from error
    except urllib.error.URLError as error:
        raise OSError(str(error.reason)) from error
    except http.client.HTTPException as error:
        raise OSError(f"no HTTP answer: {type(error).__name__}") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET without its event."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _host(url: str) -> str:
    """Without the path, which may hold a secret."""
    return urlsplit(url).netloc.rpartition("@")[2]
