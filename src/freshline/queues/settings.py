"""What a spilling algorithm is built from, and how it says that it cannot work with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from freshline.core.errors import UserError


@dataclass(frozen=True, slots=True)
class SpillSettings:
    """Sizes in units, the same for memory, block and cost.

    Attributes:
        memory: M, what all queues together may hold in memory.
        queues: n.
        c0: Cost of one access, whatever it moves.
        c1: Cost of moving one unit.
        block: B of buffered-head; None for M/2n.
    """

    memory: int
    queues: int = 1
    c0: float = 1
    c1: float = 0
    block: int | None = None

    @property
    def half(self) -> int:
        """M/2, rounded down, at least 1 (M11)."""
        return max(1, self.memory // 2)

    @property
    def share(self) -> int:
        """M/2n, rounded down, at least 1 (M11)."""
        return max(1, self.memory // (2 * self.queues))

    @property
    def worthwhile(self) -> int:
        """T = floor(c0/c1), at least 1: a block this large costs at most twice its start.

        Capped just above M, where the exact value no longer matters; c1 = 0 gives the cap.
        """
        if self.c1 == 0 or self.c0 / self.c1 > self.memory:
            return self.memory + 1
        return max(1, math.floor(self.c0 / self.c1))

    def require_memory(self, algorithm: str, least: int, because: str) -> None:
        """Refuse a memory of less than ``least`` units."""
        if self.memory < least:
            raise RefusedSettingError(
                "memory",
                f"{algorithm} needs a memory of at least {least}, not {self.memory}",
                rule=because,
                next_step=f"Set memory to {least} or more.",
            )

    def require_one_queue(self, algorithm: str) -> None:
        """Refuse more than one queue (M11)."""
        if self.queues > 1:
            raise RefusedSettingError(
                "queues",
                f"{algorithm} is defined for one queue only",
                rule=f"{self.queues} queues are given",
                next_step="Set queues to 1, or use buffered-head, buffered-head-lazy or lru.",
            )


class RefusedSettingError(UserError):
    """The algorithm cannot work with one of its settings: ``key`` names which."""

    def __init__(self, key: str, what: str, *, rule: str, next_step: str) -> None:
        self.key = key
        super().__init__("unsuitable-queue-setting", what, rule=rule, next_step=next_step)
