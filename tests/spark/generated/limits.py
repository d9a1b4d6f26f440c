"""Sizes by which an update chooses its way, put to their extremes: rows must not depend on them.

Tests' tables are small. Of two ways that a size decides between, one would hardly ever be tried.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

_HUGE = 10**12

LIMITS: Mapping[str, tuple[float, ...]] = {
    "freshline.spark.views.whole.WHOLE_BYTES": (-1, _HUGE),
    "freshline.spark.views.groups.MOST_NAMED": (-1, 0, 1, 3, _HUGE),
    "freshline.spark.views.groups.MOST_COMPARED": (0, 1, 3, _HUGE),
    "freshline.spark.views.state._MOST_APPENDS": (0, 1),
    "freshline.spark.views.state._SPARE_ROWS": (0, 3),
    "freshline.spark.views.changes._MOST_PARTITIONS": (0, 1),
    "freshline.spark.views.bucket._BIN_US": (1, 10**6, 10**15),
    "freshline.spark.commits.transaction._TAKEN_WHOLE_BYTES": (-1, _HUGE),
    "freshline.spark.commits.replacement._CUT_FROM_BYTES": (0, _HUGE),
    "freshline.spark.commits.replacement._OBSERVED_WITHIN_S": (0.0,),
    "freshline.spark.engine.in_driver.MOST_ROWS": (0, 1, 3, 10**6),
    "freshline.spark.engine.listed.SMALL_BYTES": (-1,),
    "freshline.spark.engine.listed.MOST_FILES": (0, 1, 10**4),
    "freshline.spark.engine.pins._HELD_BYTES": (-1,),
    "freshline.spark.engine.pins._MOST_HELD": (0, 1),
    "freshline.spark.engine.sizing.IN_ONE_TASK_BYTES": (-1, _HUGE),
    "freshline.spark.engine.sizing.BYTES_PER_TASK": (300, 2000),
    "freshline.spark.engine.sizing.FILES_PER_TASK": (1,),
    "freshline.sql.strategy._LARGE_BYTES": (-1, _HUGE),
}
"""Extremes of each constant; the first is that of a large table."""

_MOST_TASKS = "freshline.spark.engine.sizing._MOST_TASKS", 3
"""A thousand tasks of three rows take minutes."""

SETTINGS: Mapping[str, str] = {
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
"""What a project may set of Spark that rows do not depend on either."""


def drawn(seed: int) -> tuple[dict[str, float], dict[str, str]]:
    """Constants and settings of a seed; every fourth has all constants of large tables."""
    chance = random.Random(f"limits {seed}")
    settings = {name: value for name, value in SETTINGS.items() if chance.random() < 0.3}
    if seed % 4 == 0:
        return {name: values[0] for name, values in LIMITS.items()}, settings
    share = chance.choice((0.4, 0.7, 0.95))
    found = {
        name: chance.choice(values) for name, values in LIMITS.items() if chance.random() < share
    }
    return found, settings


@contextmanager
def moved(values: Mapping[str, float]) -> Iterator[None]:
    """The constants are these for a while, in every module that has them by their name."""
    with pytest.MonkeyPatch.context() as patch:
        for where, value in dict([_MOST_TASKS, *values.items()]).items():
            module, _, name = where.rpartition(".")
            home = importlib.import_module(module)
            before = getattr(home, name)
            patch.setattr(home, name, value)
            for each in () if name.startswith("_") else list(sys.modules.values()):
                if each.__name__.startswith("freshline.") and vars(each).get(name) is before:
                    patch.setattr(each, name, value)
        yield
