"""Write the newest tuple, and read the oldest, one at a time and only when it must be.

No algorithm writes fewer tuples; its number of accesses knows no bound.

Source: Motwani and Thomas 2004, section 3 (Theorem 3.1); rules M8 (T = 1).
"""

from __future__ import annotations

from typing import Self

from freshline.queues.algorithms.greedy_chunk import GreedyChunk
from freshline.queues.settings import SpillSettings


class Greedy(GreedyChunk):
    """GreedyChunk in blocks of one tuple, whatever an access costs."""

    @classmethod
    def build(cls, settings: SpillSettings) -> Self:
        """Refuses settings that the algorithm is not defined for."""
        settings.require_one_queue("greedy")
        settings.require_memory("greedy", 2, "it must hold two blocks of one tuple")
        return cls(1)


ALGORITHM = Greedy
