"""One URL's events when the journal cannot be written."""

from __future__ import annotations

from freshline.runtime.alerts.sender import Sender
from freshline.runtime.alerts.store import AlertStore, Posting
from freshline.runtime.feeds.backoff import Backoff
from tests.support.shop import eventually
from tests.unit.runtime.alerts.sink import Sink


class FullDisk(AlertStore):
    """A store of some events of which the first delivery cannot be written."""

    def __init__(self, url):
        self.left = [Posting(number, url, f'{{"number": {number}}}') for number in (1, 2)]
        self.failures = 1

    def next_posting(self, url):
        return self.left[0] if self.left else None

    def delivered(self, posting):
        if self.failures:
            self.failures -= 1
            return False
        self.left.remove(posting)
        return True

    def close(self):
        pass


def test_what_is_delivered_and_cannot_be_written_holds_up_the_next_events_for_a_moment():
    with Sink() as sink:
        store = FullDisk(sink.url)
        notices: list[str] = []
        sender = Sender(sink.url, lambda: store, notices.append, Backoff(0.01, 0.02))
        sender.start()
        try:
            eventually(lambda: not store.left)
        finally:
            sender.stop(10.0)
    assert sink.bodies == [{"number": 1}, {"number": 2}]  # each of them once
    assert notices == []
