"""Producers that push requests one after the other, and how long each waited for its answer."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.pushing.records import RECORDS, SCHEMA, Sent
from freshline.ingest.engine.engine import Engine
from freshline.ingest.engine.settings import EngineSettings, FeedSpec
from freshline.ingest.receipts import Batch, Unavailable
from freshline.ingest.records.arrow_types import arrow_schema
from freshline.project.ddl import columns

Push = Callable[[int], bool]
"""Push the request of that number; whether it was taken in."""
_REFUSED_S = 0.01


@dataclass(slots=True)
class Round:
    """What one round came to.

    Attributes:
        seconds: From the first request to the last answer.
        waits_s: Of each acknowledged request, from sending it to its answer.
        refused: Requests that were refused for want of room.
    """

    seconds: float = 0.0
    waits_s: list[float] = field(default_factory=list)
    refused: int = 0

    @property
    def records_per_s(self) -> float:
        """Acknowledged, hence durable."""
        return len(self.waits_s) * RECORDS / self.seconds


def round_of(producers: Sequence[Push], seconds: float) -> Round:
    """Let all producers push for ``seconds``, each in a thread of its own; one alone in ours.

    Raises:
        RuntimeError: A producer failed.
    """
    found = [Round() for _ in producers]
    faults: list[BaseException] = []
    began_s = time.perf_counter()
    end_s = began_s + seconds

    def produce(push: Push, mine: Round) -> None:
        number = 0
        try:
            while (sent_s := time.perf_counter()) < end_s:
                if push(number):
                    mine.waits_s.append(time.perf_counter() - sent_s)
                    number += 1
                else:
                    mine.refused += 1
                    time.sleep(_REFUSED_S)
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread that waits
            faults.append(error)

    if len(producers) == 1:  # SQLite's connections belong to the thread that made them
        produce(producers[0], found[0])
        producers = ()
    threads = [
        threading.Thread(target=produce, args=each) for each in zip(producers, found, strict=False)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise RuntimeError("a producer failed") from faults[0]
    return Round(
        time.perf_counter() - began_s,
        [wait_s for each in found for wait_s in each.waits_s],
        sum(each.refused for each in found),
    )


def engine_in(folder: Path, feeds: Sequence[str], settings: EngineSettings | None = None) -> Engine:
    """An engine of these feeds, not started."""
    schema = arrow_schema(columns(SCHEMA))
    specs = {name: FeedSpec(name, schema, folder / "landed" / name) for name in feeds}
    return Engine(folder, specs, settings)


def into_engine(engine: Engine, feeds: Sequence[str], sent: Sequence[Sent]) -> Push:
    """A producer in the engine's own process, taking the feeds by turns."""

    def push(number: int) -> bool:
        feed = feeds[number % len(feeds)]
        try:
            engine.submit(Batch(feed, RECORDS, sent[number % len(sent)].arrow), None).result()
        except Unavailable:
            return False
        return True

    return push


class OverHttp:
    """A producer over one connection that is kept; bodies are made beforehand.

    Args:
        url: Of the gateway.
        feed: Its name.
        sent: Requests to send by turns.
        arrow: As Arrow streams, or as JSON lines.
    """

    def __init__(self, url: str, feed: str, sent: Sequence[Sent], *, arrow: bool) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port)
        self._path = f"/v1/feeds/{feed}"
        self._bodies = [each.arrow if arrow else each.lines for each in sent]
        kind = "application/vnd.apache.arrow.stream" if arrow else "application/x-ndjson"
        self._headers = {"Content-Type": kind}

    def __call__(self, number: int) -> bool:
        """Push and wait for the answer.

        Raises:
            RuntimeError: The gateway refuses for good.
        """
        body = self._bodies[number % len(self._bodies)]
        self._connection.request("POST", self._path, body, self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status in (http.client.TOO_MANY_REQUESTS, http.client.SERVICE_UNAVAILABLE):
            return False
        if response.status != http.client.OK:
            raise RuntimeError(f"the gateway answered {response.status}: {answer.decode()}")
        return True

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
