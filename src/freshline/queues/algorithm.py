"""What a spilling algorithm is, and how its file is found.

An algorithm is one file in ``algorithms/``: half_lazy.py holds ``half-lazy`` and names its class
``ALGORITHM``. It sees counts and positions, never payloads, and answers with moves. Each move it
yields has been carried out before it is asked for the next, so it always looks at the present.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cache
from typing import ClassVar, Protocol

from freshline.core.errors import UserError
from freshline.queues import algorithms
from freshline.queues.memory import QueueMemory
from freshline.queues.moves import Move
from freshline.queues.settings import SpillSettings


class SpillAlgorithm(ABC):
    """Decides what leaves memory and what comes back.

    Two questions every algorithm answers; the others have an answer that suits most.
    """

    moves_whole_items: ClassVar[bool] = False
    """Whether its moves never cut an item of several units in two."""

    @abstractmethod
    def make_room(self, memory: QueueMemory, units: int) -> Iterable[Move]:
        """Writes until ``units`` units are free (M3: before anything enters)."""

    @abstractmethod
    def bring_front(self, memory: QueueMemory, queue: int) -> Iterable[Move]:
        """Moves after which the queue's oldest unit, now on disk and due, is in memory."""

    def unwatched_units(self, memory: QueueMemory, queue: int) -> int:
        """At least 1: so many may enter in one step before ``after_arrival`` must be asked."""
        return memory.capacity

    def after_arrival(
        self, memory: QueueMemory, queue: int, start: int, stop: int
    ) -> Iterable[Move]:
        """Moves that units ``[start, stop)`` call for, which have just entered memory."""
        return ()

    def after_consumption(self, memory: QueueMemory, queue: int) -> Iterable[Move]:
        """Moves called for when units have just left the queue's front."""
        return ()

    def largest_item(self, memory: QueueMemory) -> int:
        """The largest item the algorithm can always find room for."""
        return 1


class AlgorithmFactory(Protocol):
    """What an algorithm's file names ``ALGORITHM``: the class itself, or a choice of classes."""

    def build(self, settings: SpillSettings) -> SpillAlgorithm:
        """The algorithm for these settings.

        Raises:
            RefusedSettingError: It is not defined for them.
        """


@cache
def algorithm_names() -> tuple[str, ...]:
    """Every algorithm in the folder, sorted."""
    found = pkgutil.iter_modules(algorithms.__path__)
    return tuple(sorted(module.name.replace("_", "-") for module in found))


def build_algorithm(name: str, settings: SpillSettings) -> SpillAlgorithm:
    """The algorithm of that name.

    Raises:
        UserError: No file has that name (``unknown-queue-algorithm``), or the algorithm is not
            defined for the settings (RefusedSettingError).
    """
    if name not in algorithm_names():
        raise UserError(
            "unknown-queue-algorithm",
            f"there is no queue algorithm '{name}'",
            rule=f"known: {', '.join(algorithm_names())}",
            next_step="Correct the name.",
        )
    module = importlib.import_module(f"{algorithms.__name__}.{name.replace('-', '_')}")
    factory: AlgorithmFactory = module.ALGORITHM
    return factory.build(settings)
