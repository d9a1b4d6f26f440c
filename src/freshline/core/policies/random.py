"""Start any waiting table, each with the same chance.

Source: Golab et al. 2011, 4.3 (the baseline "Random": any released job).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from typing import ClassVar

from freshline.core.chance import stream, uniform
from freshline.core.model import Table
from freshline.core.policy import Policy, View


@dataclass(slots=True)
class Random(Policy):
    """A uniform choice among the waiting tables, seeded.

    A race instead of a draw from a list: a table that begins to wait gets a key, the
    policy's clock plus an exponential time, and the smallest key wins; the clock then stands
    at the winner's key. An exponential time has no memory: whoever has not won by then has
    the same chance from there on as one that just came. So every choice is uniform, at
    O(log n), and a new key for a table that already waits changes nothing.

    Attributes:
        seed: With a table's name and the number of its draw it decides each time, so the
            listing order of tables has no influence.
    """

    name: ClassVar[str] = "random"
    reacts: ClassVar[bool] = True

    seed: int = 1
    _clock: float = field(default=0.0, init=False)
    _keys: list[float] = field(default_factory=list, init=False)
    _starts: list[int] = field(default_factory=list, init=False)
    _draws: list[int] = field(default_factory=list, init=False)

    def prepare(self, view: View) -> None:
        self._starts = [stream(self.seed, "random", table.name) for table in view.tables]
        self._keys = [0.0] * len(self._starts)
        self._draws = [0] * len(self._starts)

    def key(self, table: Table) -> float:
        order = table.order
        draw = self._draws[order] = self._draws[order] + 1
        key = self._clock - log(1.0 - uniform(self._starts[order], draw))
        self._keys[order] = key
        return key

    def score(self, table: Table) -> str:
        return f"drew {self._keys[table.order]:.6f}"

    def react(self, view: View, finished: Sequence[Table], arrived: Sequence[Table]) -> None:
        """Nothing: keys change with their table alone."""

    def started(self, table: Table, now_s: float) -> None:
        # Under a partition, or when somebody asked for it, a later key can go first.
        self._clock = max(self._clock, self._keys[table.order])
