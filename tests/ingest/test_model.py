"""The engine against a model of it: lists of what was acknowledged.

Hypothesis pushes, commits, lands, repeats keys, lets disks fail, restarts, and pulls the plug (a
copy of the folder, taken while the engine runs, is what a death leaves). After every step the
counts agree; at the end what is landed is exactly what was acknowledged, in its order.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import Future
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from freshline.failpoints import armed
from freshline.ingest.engine.landedfile import landed_names
from freshline.ingest.receipts import Batch, KeyConflict, OverQuota, Receipt, Unavailable
from tests.support.pushing import Record, batch, engine, landed

FEEDS = ("clicks", "visits", "orders")
MEMORY_BYTES = 60_000
COMMIT_POINTS = ("ingest.commit.begin", "ingest.commit.before-sync", "ingest.commit.after-sync")
LAND_POINTS = (
    "ingest.land.open",
    "ingest.land.before-sync",
    "ingest.land.after-rename",
    "ingest.land.after-sync",
    "ingest.ledger.before",
    "ingest.ledger.after",
    "ingest.land.before-publish",
    "ingest.land.after-publish",
    "ingest.seal.before-sync",
    "ingest.seal.after-keys",
    "ingest.seal.after-checkpoint",
    "ingest.unlink.before",
    "ingest.unlink.noted",
)
QUOTA_BYTES = 40_000


class GatewayMachine(RuleBasedStateMachine):
    """``stored`` by feed: what was acknowledged, in order; ``keys``: with what answer."""

    @initialize()
    def begin(self):
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.home = Path(tempfile.mkdtemp(dir=shm))
        self.folder = self.home / "0"
        self.lives = 0
        self.requests = 0
        self.stored: dict[str, list[Record]] = {feed: [] for feed in FEEDS}
        self.keys: dict[tuple[str, str], tuple[int, Receipt]] = {}
        self.bodies: dict[int, Batch] = {}
        self.waiting: list[tuple[str, str | None, int, int, Future[Receipt]]] = []
        self.start()

    def start(self):
        self.gateway = engine(
            self.folder,
            *FEEDS,
            memory_bytes=MEMORY_BYTES,
            segment_bytes=20_000,
            quota_bytes=QUOTA_BYTES,
            file_bytes=8_000,
            landing_period_s=1e9,
        )
        recovery = self.gateway.start(threads=False)
        assert recovery.messages == ()
        assert recovery.corrupt_rows == 0

    @rule(
        feed=st.sampled_from(FEEDS),
        records=st.integers(1, 4),
        keyed=st.booleans(),
        padding=st.integers(0, 1500),
    )
    def push(self, feed, records, keyed, padding):
        request = self.requests
        self.requests += 1
        key = f"k{request}" if keyed else None
        # Random: anything else would be compressed away.
        pushed = batch(feed, "a", request, records, Random(request).randbytes(padding).hex())
        self.bodies[request] = pushed
        try:
            future = self.gateway.submit(pushed, key)
        except OverQuota:
            assert self.gateway.metrics().feeds[feed].backlog_bytes + 5_000 > QUOTA_BYTES / 2
        except Unavailable as refused:
            assert (refused.code, bool(self.waiting)) == ("memory", True)  # noqa: PT017 - or not
        else:
            self.waiting.append((feed, key, request, records, future))

    @precondition(lambda self: self.keys)
    @rule(data=st.data(), same=st.booleans())
    def push_again(self, data, same):
        feed, key = data.draw(st.sampled_from(sorted(self.keys)))
        request, receipt = self.keys[feed, key]
        other = batch(feed, "b", request, receipt.accepted)
        try:
            future = self.gateway.submit(self.bodies[request] if same else other, key)
        except (OverQuota, Unavailable):
            return
        while not future.done():
            self.gateway.commit_waiting()
        self.commit()
        if same:
            assert future.result(timeout=0) == Receipt(
                receipt.accepted, receipt.first, receipt.last, duplicate=True
            )
        else:
            assert isinstance(future.exception(timeout=0), KeyConflict)

    @rule()
    def commit(self):
        while any(not future.done() for *_, future in self.waiting):
            self.gateway.commit_waiting()
        for feed, key, request, records, future in self.waiting:
            receipt = future.result(timeout=0)
            at = len(self.stored[feed])
            assert receipt == Receipt(records, at + 1, at + records, duplicate=False)
            self.stored[feed] += [("a", request, place) for place in range(records)]
            if key is not None:
                self.keys[feed, key] = (request, receipt)
        self.waiting = []

    @rule(point=st.sampled_from(COMMIT_POINTS), error=st.sampled_from(["eio", "enospc"]))
    def commit_on_a_failing_disk(self, point, error):
        if not self.waiting:
            return
        with armed(f"{point}={error}"):
            self.gateway.commit_waiting()
        left = []
        for item in self.waiting:
            if item[-1].done():
                assert isinstance(item[-1].exception(timeout=0), Unavailable)
            else:
                left.append(item)
        assert len(left) < len(self.waiting)
        self.waiting = left

    @rule()
    def land(self):
        self.gateway.roll()
        self.commit()
        self.gateway.commit_waiting()
        self.gateway.land_once()

    @rule(point=st.sampled_from(LAND_POINTS), error=st.sampled_from(["eio", "enospc"]))
    def land_on_a_failing_disk(self, point, error):
        with armed(f"{point}={error}"):
            self.land()

    @rule()
    def restart(self):
        self.commit()
        self.gateway.close()
        self.start()

    @rule()
    def pull_the_plug(self):
        self.lives += 1
        left = self.home / str(self.lives)
        shutil.copytree(self.folder, left)
        self.gateway.close()
        shutil.rmtree(self.folder)
        self.folder = left
        self.waiting = []  # nobody was told that these are safe
        self.start()

    @invariant()
    def counts_agree(self):
        metrics = self.gateway.metrics()
        for feed, stored in self.stored.items():
            files = landed_names(feed, self.folder / "landed" / feed)
            there = sum(file.last - file.first + 1 for file in files)
            assert metrics.feeds[feed].last == len(stored)
            # A file may be there without being in the ledger yet, never the other way round.
            assert len(stored) - there <= metrics.feeds[feed].backlog_records <= len(stored)
        assert metrics.memory_bytes <= MEMORY_BYTES
        assert metrics.rewritten_bytes == 0
        assert metrics.corrupt_rows == 0
        self.gateway._backlog.check_invariants()

    def teardown(self):
        if not hasattr(self, "gateway"):
            return
        self.land()
        while self.gateway.land_once():
            pass
        metrics = self.gateway.metrics()
        assert metrics.segments == 1
        self.gateway.close()
        for feed, stored in self.stored.items():
            there = landed(self.folder, feed)
            assert [there[number][1:] for number in sorted(there)] == [item[1:] for item in stored]
        shutil.rmtree(self.home)


@pytest.mark.slow
class TestGateway(GatewayMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=50, stateful_step_count=25)
