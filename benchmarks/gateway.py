"""Durable records a second through the push gateway, in process and over HTTP.

Beside it, in alternating rounds of one run: a file with one write and one ``fdatasync`` a
request, which is the limit for anybody who answers a request alone; a row a record in SQLite;
and two queues for Python. Requests have 500 records of 200 bytes. Landing goes on as always.
Then one feed against 20, and how fast a log that was left by a sudden death is recovered.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median, quantiles

from benchmarks.common.children import answer, child, environment, program
from benchmarks.common.report import Goal, Report, asked_quick
from benchmarks.pushing.fill import UNLANDED
from benchmarks.pushing.producers import (
    OverHttp,
    Push,
    Round,
    engine_in,
    into_engine,
    round_of,
)
from benchmarks.pushing.records import RECORD_BYTES, RECORDS, SCHEMA, Sent, requests
from benchmarks.pushing.stores import DiskCache, File, PersistQueue, Rows, Store

_REQUESTS = 64
"""Different ones, sent again and again."""
_PRODUCERS = 8
_FEEDS = tuple(f"feed_{number}" for number in range(20))
_GOAL_FILE, _GOAL_FEEDS = 0.5, 0.8
_STORES: Mapping[str, Callable[[Path], Store]] = {
    "file, fdatasync a request": File,
    "SQLite, a row a record": Rows,
    "persist-queue": PersistQueue,
    "diskcache": DiskCache,
}
_FILE, *_ = _STORES
_IN_PROCESS = f"gateway in process, {_PRODUCERS} producers"
_MANY = f"the same, {len(_FEEDS)} feeds"
_MIB = 1 << 20


def store_round(
    make: Callable[[Path], Store], folder: Path, sent: list[Sent], seconds: float
) -> Round:
    """One producer into a new store."""
    store = make(folder)

    def push(number: int) -> bool:
        store.put(sent[number % len(sent)])
        return True

    try:
        return round_of([push], seconds)
    finally:
        store.close()


def engine_round(
    folder: Path, feeds: Sequence[str], producers: int, sent: list[Sent], seconds: float
) -> Round:
    """Producers into a new engine in this process."""
    engine = engine_in(folder, feeds)
    engine.start()
    try:
        # Each begins at another feed, so that they do not go round together.
        pushing: list[Push] = []
        for number in range(producers):
            at = number * len(feeds) // producers
            pushing.append(into_engine(engine, (*feeds[at:], *feeds[:at]), sent))
            pushing[-1](0)
        return round_of(pushing, seconds)
    finally:
        engine.close()


@contextmanager
def gateway_in(folder: Path) -> Iterator[str]:
    """``freshline ingest`` in a process of its own; its URL."""
    (folder / "tables").mkdir(parents=True)
    settings = {
        "name": "bench",
        "storage": "warehouse",
        "libraries": [{"glob": {"include": "tables/*.sql"}}],
        "ingest": {"port": 0},
        "feeds": {"feed_0": {"kind": "push", "schema": SCHEMA}},
    }
    (folder / "freshline.yml").write_text(json.dumps(settings))  # JSON is YAML
    query = "CREATE STREAMING TABLE pushed AS SELECT * FROM STREAM feed_0;\n"
    (folder / "tables" / "all.sql").write_text(query)
    command = [program("freshline"), "ingest", "--project", str(folder), "--grace", "0s", "--json"]
    log = folder / "child.log"
    with child(command, log=log) as process:
        yield str(json.loads(answer(process, log))["url"])
        process.terminate()


def http_round(
    folder: Path, producers: int, sent: list[Sent], seconds: float, *, arrow: bool
) -> Round:
    """Producers in this process, a new gateway in another."""
    with gateway_in(folder) as url:
        clients = [OverHttp(url, "feed_0", sent, arrow=arrow) for _ in range(producers)]
        try:
            for client in clients:
                client(0)  # imports, and a thread of the gateway's, before the clock runs
            return round_of(clients, seconds)
        finally:
            for client in clients:
                client.close()


def recovery_mb_per_s(folder: Path, size_bytes: int) -> tuple[float, float]:
    """Megabytes that a start read and checked, and how many a second.

    Raises:
        RuntimeError: Something was lost.
    """
    command = [sys.executable, "-m", "benchmarks.pushing.fill", str(folder), str(size_bytes)]
    subprocess.run(command, env=environment(), check=True)
    engine = engine_in(folder, ("feed_0",), UNLANDED)
    found = engine.start()
    engine.close()
    if found.messages or found.records % RECORDS:
        raise RuntimeError(f"the recovery found {found}")
    return found.read_bytes / 1e6, found.read_bytes / 1e6 / found.seconds


def measure(*, quick: bool) -> Report:
    """All stores by turns, then recoveries."""
    rounds, seconds, recoveries = (2, 0.5, 2) if quick else (7, 2.0, 5)
    sent = requests(_REQUESTS)
    ways: dict[str, Callable[[Path], Round]] = {
        name: partial(store_round, make, sent=sent, seconds=seconds)
        for name, make in _STORES.items()
    }
    in_process = partial(engine_round, sent=sent, seconds=seconds)
    over_http = partial(http_round, producers=_PRODUCERS, sent=sent, seconds=seconds)
    ways |= {
        "gateway in process, 1 producer": partial(in_process, feeds=_FEEDS[:1], producers=1),
        _IN_PROCESS: partial(in_process, feeds=_FEEDS[:1], producers=_PRODUCERS),
        _MANY: partial(in_process, feeds=_FEEDS, producers=_PRODUCERS),
        "gateway, HTTP, JSON lines": partial(over_http, arrow=False),
        "gateway, HTTP, Arrow": partial(over_http, arrow=True),
    }
    found: dict[str, list[Round]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as name:
        folder = Path(name)
        for index in range(rounds):
            # Every other time in the opposite order, so that no neighbour is always the same.
            for way in list(ways)[:: -1 if index % 2 else 1]:
                where = folder / "round"
                where.mkdir()
                found[way].append(ways[way](where))
                shutil.rmtree(where)
        recovered = []
        for _ in range(recoveries):
            recovered.append(recovery_mb_per_s(folder / "log", (32 if quick else 256) * _MIB))
            shutil.rmtree(folder / "log")
    return _report(found, recovered, quick=quick)


def _report(
    found: Mapping[str, list[Round]], recovered: list[tuple[float, float]], *, quick: bool
) -> Report:
    rates = {name: median(each.records_per_s for each in made) for name, made in found.items()}
    report = Report(
        "gateway",
        f"Durable records: {RECORDS} a request, {RECORD_BYTES} bytes each",
        ("store", "records/s", "to file", "p50, ms", "p99, ms", "refused"),
        [],
        quick=quick,
    )
    for name, made in found.items():
        waits_s = [wait_s for each in made for wait_s in each.waits_s]
        cuts_s = quantiles(waits_s, n=100, method="inclusive")
        refused = sum(each.refused for each in made)
        report.rows.append(
            (
                name,
                f"{rates[name]:,.0f}",
                f"{rates[name] / rates[_FILE]:.2f}",
                f"{cuts_s[49] * 1000:.1f}",
                f"{cuts_s[98] * 1000:.1f}",
                str(refused),
            )
        )
        report.data[name] = {
            "records_per_s": [each.records_per_s for each in made],
            "p50_s": cuts_s[49],
            "p99_s": cuts_s[98],
            "refused": refused,
        }
    size_mb, speed = median(mb for mb, _ in recovered), median(rate for _, rate in recovered)
    report.data["recovery_mb_per_s"] = [rate for _, rate in recovered]
    report.goals = [
        Goal(
            f"{_IN_PROCESS}, to a file", rates[_IN_PROCESS] / rates[_FILE], _GOAL_FILE,
            at_most=False,
        ),
        Goal(
            f"{len(_FEEDS)} feeds to one", rates[_MANY] / rates[_IN_PROCESS], _GOAL_FEEDS,
            at_most=False,
        ),
    ]  # fmt: skip
    report.notes = [
        f"Recovery: a log of {size_mb:,.0f} MB, compressed, at {speed:,.0f} MB/s.",
        (
            f"Medians of {len(found[_FILE])} alternating rounds, each on a new store. Waits are"
            " for acknowledgements; over HTTP the clients share the processors with the gateway."
        ),
        f"HTTP: {_PRODUCERS} connections, bodies made beforehand.",
    ]
    return report


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
