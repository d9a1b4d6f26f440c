"""Settings that every test runs under: Hypothesis' profile and Spark's environment.

``HYPOTHESIS_PROFILE=thorough`` (``make laws``) looks further, and elsewhere each time.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support import costs, java, resuming, share

PROOF = os.environ.get("FRESHLINE_PROOF", "")

# Derandomized: a change fails on its own account, not by the luck of the draw. No deadline:
# how long an example takes says more about the machine's other work than about the code.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile(
    "thorough",
    max_examples=2_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Before anything imports pyspark: the JVM reads both once, when it starts.
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_SUBMIT_OPTS", java.options())


def pytest_configure(config: pytest.Config) -> None:
    """Measure files, where that is asked for, and keep what the proof has proved."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    starts_workers = bool(config.getoption("numprocesses", 0)) and not worker
    if os.environ.get("FRESHLINE_COSTS"):
        if not worker:
            costs.forget()
        if not starts_workers:
            config.pluginmanager.register(costs.Costs(worker))
    if PROOF:
        code = resuming.state_of_the_code()
        plugin = resuming.Resuming(resuming.KEPT, code, PROOF, worker=bool(worker))
        config.pluginmanager.register(plugin)


@pytest.hookimpl(optionalhook=True)  # without xdist there are no workers
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Two workers with Spark, however many there are."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.support.spreading import FewSessions

    return FewSessions(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The dearest files first; the proof runs what ``make test`` leaves to it, and nothing else."""
    costs.dearest_first(items, costs.table() | (costs.PROVED if PROOF else {}))
    chosen = [item for item in items if share.is_run(item, in_proof=PROOF != "")]
    left = set(items) - set(chosen)
    if left:
        items[:] = chosen
        config.hook.pytest_deselected(items=list(left))
