"""A pause or resume that was answered holds, whatever the run that answered comes to."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest

from freshline.core.errors import PlatformError
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.requests.handler import carry_out_offline
from tests.support.shop import PATIENCE_S, LiveRun, made_shop


@pytest.fixture
def shop(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    return shop


def journal_of(shop):
    return closing(Journal(journal_path(shop.project), create=False))


class Starting(LiveRun):
    """A run whose Spark is not there before ``go_on`` is set, and then does not start."""

    def __init__(self, shop):
        super().__init__(shop)
        self.go_on = threading.Event()
        self.warehouse._make_executor = self._refused

    def _refused(self):
        assert self.go_on.wait(PATIENCE_S)
        raise PlatformError("spark-start", "Spark did not start: no Java")


def is_paused(shop):
    (row,) = shop.journal_rows("SELECT paused FROM tables WHERE name='orders'")
    return bool(row["paused"])


@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize("kind", ["pause", "resume"])
def test_what_is_answered_while_spark_starts_outlives_a_run_that_ends_before_it_is_there(
    shop, kind, stopped
):
    with journal_of(shop) as journal:
        carry_out_offline(journal, "pause" if kind == "resume" else "resume", "orders", time.time())
    run = Starting(shop)
    run.__enter__()
    assert shop.ask(kind, "orders") == {"ok": True, "message": f"orders is {kind}d"}
    if stopped:
        run.stop()
        run.go_on.set()
    else:
        run.go_on.set()
        run._thread.join(PATIENCE_S)
        with pytest.raises(PlatformError, match="no Java"):
            run.stop()
    assert is_paused(shop) == (kind == "pause")
    shop.file("orders", 2, [2])
    shop.run_until_idle()
    assert (2 in shop.executor.numbers("orders")) == (kind == "resume")


@pytest.mark.parametrize(("early", "late"), [("pause", "resume"), ("resume", "pause")])
def test_what_a_run_that_was_stopping_did_not_answer_does_not_undo_what_was_answered_later(
    shop, early, late
):
    with journal_of(shop) as journal:
        unanswered = journal.ask(time.time(), early, "orders")
        assert carry_out_offline(journal, late, "orders", time.time())["ok"]
        shop.file("orders", 2, [2])
        shop.run_until_idle()
        assert journal.answer_to(unanswered) == {
            "ok": False, "message": f"orders was {late}d by a later request, which holds",
        }  # fmt: skip
    assert is_paused(shop) == (late == "pause")
    assert (2 in shop.executor.numbers("orders")) == (late == "resume")


def test_a_pause_that_nobody_answered_holds_where_nothing_later_was_answered(shop):
    with journal_of(shop) as journal:
        assert carry_out_offline(journal, "resume", "orders", time.time())["ok"]
        journal.ask(time.time(), "pause", "orders")
        refused = journal.ask(time.time(), "resume", "orders")
        journal.write(
            "UPDATE requests SET answered_s=1.0, answer=? WHERE id=?",
            ('{"ok": false, "message": "no"}', refused),
        )
        journal.flush()
    shop.run_until_idle()
    assert is_paused(shop)
