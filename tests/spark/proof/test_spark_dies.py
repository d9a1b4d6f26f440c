"""Spark's process is killed, and hangs, under a run: the run starts it again, nothing is lost.

Three starts of Spark in one run, which `make proof` tries; what follows from a death is tried
without Spark by tests/unit/runtime/health/test_supervision.py.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.spark.proof.equality import DUCKDB, Checker
from tests.spark.proof.shop import Shop, one_of_each
from tests.spark.proof.support import Child, eventually
from tests.support.share import WHOLE

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not WHOLE, reason="`make proof` tries it"),
]

KILLED = "Spark's process ended (SIGKILL"
IMPATIENT = (
    "import freshline.runtime.health.heartbeat as h;"
    " h.Heartbeat.__init__.__defaults__ = (0.5, 20.0, h.time.monotonic)"
)


def java_of(process: int) -> int:
    """The JVM that a process started."""
    (found,) = (
        int(child)
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()
        if Path(f"/proc/{child}/comm").read_text().strip() == "java"
    )
    return found


def test_spark_is_killed_and_then_hangs(tmp_path, spark):
    shop = Shop(tmp_path, ("hourly",))
    one_of_each(shop, 0)
    with Child(shop, prelude=IMPATIENT) as child:

        def starts() -> int:
            return child.output().count("Spark ready")

        def kill() -> None:
            before = starts()
            os.kill(java_of(child.process.pid), signal.SIGKILL)
            eventually(lambda: starts() > before)

        child.wait_for_commits(3)
        # On a busy machine Spark may be too late without our help, and be killed as hung just then.
        for _ in range(3):
            kill()
            if KILLED in child.output():
                break
        one_of_each(shop, 1)
        child.wait_for_commits(3)
        before = starts()
        java = java_of(child.process.pid)
        os.kill(java, signal.SIGSTOP)
        one_of_each(shop, 2)
        eventually(lambda: starts() > before)
        child.wait_for_commits(1)
        eventually(lambda: "hourly" in child.output().split("Spark ready")[-1])
        os.kill(child.process.pid, signal.SIGTERM)
        assert child.wait() == 0, child.output()
    told = child.output()
    assert KILLED in told
    assert "Spark has not answered for" in told
    assert "Traceback" not in told
    assert not Path(f"/proc/{java}").exists()
    Checker(shop, spark).check(by=(DUCKDB,))
