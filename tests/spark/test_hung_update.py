"""An update whose tasks hang in Spark is cancelled, its slots are free again, its track goes on."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from freshline.runtime.health.deadlines import Deadlines
from freshline.runtime.health.supervision import Supervision
from freshline.runtime.warehouse import Warehouse
from freshline.spark.feeds.base import BaseUpdates
from tests.spark.proof.equality import DUCKDB, Checker
from tests.spark.proof.shop import Shop, one_of_each
from tests.spark.proof.support import PATIENCE_S, QUICK, Kept, Seen, eventually

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_a_hung_update_is_cancelled_and_tried_again_and_leaves_no_slot_behind(
    tmp_path, spark, monkeypatch
):
    shop = Shop(tmp_path, (), settings="scheduler: {tracks: 1}")
    limited = dataclasses.replace(shop.project, update_timeout_s=1.0)
    hung, usual = threading.Event(), BaseUpdates.run

    def hangs_once(self, session, request):
        if request.table == "orders" and not hung.is_set():
            hung.set()
            slots = session.sparkContext.defaultParallelism
            sleep = "reflect('java.lang.Thread', 'sleep', id + 900000)"
            session.range(0, slots, 1, slots).selectExpr(sleep).collect()
        return usual(self, session, request)

    class OnceHung(Deadlines):
        def limit_s(self, command, *, first):
            # A busy machine may take longer than a second for an update that does not hang.
            tries = supervision.timeouts
            return super().limit_s(command, first=first) if hung.is_set() and not tries else None

    class Counting(Supervision):
        timeouts = 0

        def ended(self, outcome):
            found = super().ended(outcome)
            self.timeouts += getattr(found.error, "code", "") == "update-timeout"
            return found

    monkeypatch.setattr(BaseUpdates, "run", hangs_once)
    supervision = Counting(deadlines=OnceHung(limited.update_timeout_s))
    seen = Seen()
    warehouse = Warehouse(
        limited, lambda: Kept(shop, spark), seen, backoff=QUICK, supervision=supervision
    )
    thread = threading.Thread(target=warehouse.run, name="warehouse")
    one_of_each(shop, 0)
    thread.start()
    try:
        eventually(lambda: {"orders", "visits"} <= set(seen.done))
    finally:
        warehouse.stop()
        thread.join(PATIENCE_S)
    assert supervision.timeouts == 1
    ((table, error),) = seen.failed
    assert table == "orders"
    assert "the update was cancelled after" in error
    assert any(
        "update 1 runs for more than" in each and "is cancelled" in each for each in seen.notices
    )
    Checker(shop, spark).check(by=(DUCKDB,))
