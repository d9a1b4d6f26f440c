"""What updates leave in the JVM: a warehouse runs for weeks in a heap of one gigabyte."""

from __future__ import annotations

import gc
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from freshline.spark.engine import jvm
from freshline.spark.updates import _COLLECTED_EVERY, SparkExecutor
from freshline.sql.query.records import ViewPlan
from tests.spark.test_incremental_updates import BY_DAY, BY_HOUR, DAILY, HOURLY, NO, arrivals, view

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof]

__all__ = ["arrivals", "view"]

ROUNDS = _COLLECTED_EVERY + 1


class Watched:
    """A session whose new sessions are seen go."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._seen: list[Any] = []

    def newSession(self) -> SparkSession:  # noqa: N802 - PySpark's name
        session = self._session.newSession()
        reference = jvm.named(session, "java.lang.ref.WeakReference")
        self._seen.append(reference(jvm.java_session(session)))
        return session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def alive(self) -> tuple[int, int]:
        """How many are still there, of how many."""
        jvm.named(self._session, "java.lang.System").gc()
        return sum(each.get() is not None for each in self._seen), len(self._seen)


def test_sessions_and_what_they_read_are_forgotten(arrivals, view, spark):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO))
    view("daily", DAILY, ViewPlan(NO, BY_DAY, NO))
    shop, watched = arrivals.shop, Watched(spark)
    shop._executor = SparkExecutor(shop.project, cast("SparkSession", watched), shop.plans)

    def update(name: str, parent: str) -> None:
        request = shop.request(name, parents={parent: arrivals.version(parent)})
        shop.executor.run(request)

    gc.collect()
    gc.disable()  # what Python does by itself depends on what else there is in the process
    try:
        for hour in range(ROUNDS):
            arrivals.come("events", arrivals.rows(hour, 10))
            update("hourly", "events")
            if hour == 0:
                update("daily", "hourly")
        alive, seen = watched.alive()
        assert seen == ROUNDS + 1
        # Those since the last look for cycles, the one that looked, and daily's: Delta keeps the
        # newest version of a table with its session, but not what that session read.
        assert alive <= seen - _COLLECTED_EVERY + 2
    finally:
        gc.enable()
