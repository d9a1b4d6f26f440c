"""Half where starting an access is dear (T >= M/2, or c1 = 0), else greedy-chunk.

Together they cost at most four times the optimum, whatever c0 and c1 are.

Source: Motwani and Thomas 2004, section 3 (Theorem 3.3, Corollary 3.1); rules M7.
"""

from __future__ import annotations

from freshline.queues.algorithm import SpillAlgorithm
from freshline.queues.algorithms.greedy_chunk import GreedyChunk
from freshline.queues.algorithms.half import Half
from freshline.queues.settings import SpillSettings


class Hybrid:
    """Builds one of the two; there is nothing left to decide afterwards."""

    @staticmethod
    def build(settings: SpillSettings) -> SpillAlgorithm:
        """Half or GreedyChunk, by the cost of an access."""
        settings.require_one_queue("hybrid")
        settings.require_memory("hybrid", 2, "half of the memory is the least it moves")
        if settings.worthwhile >= settings.half:  # c1 = 0 makes T larger than any memory
            return Half.build(settings)
        return GreedyChunk.build(settings)


ALGORITHM = Hybrid
