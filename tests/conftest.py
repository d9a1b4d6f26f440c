"""Settings that every test runs under: Hypothesis' profile and Spark's environment.

``HYPOTHESIS_PROFILE=thorough`` (``make laws``) looks further, and elsewhere each time.
"""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

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
# Two JVMs share two cores: a collector of one thread and Java's quick compiler alone leave them to
# the tests. Hundreds of queries are compiled in one session; where their code has no room, all of
# it is interpreted from then on.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=400m",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests first: two workers then end at about the same time."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
