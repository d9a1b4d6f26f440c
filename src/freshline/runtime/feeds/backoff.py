"""When something that failed is tried again: growing delays with jitter."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    """Delays ``first_s``, doubled at each further failure, up to ``most_s``.

    Each is multiplied by a draw from [0.5, 1.5), so that tables that failed together, for
    one reason, do not come back together.

    Attributes:
        attempts: After so many failures in a row a file is put in quarantine, and
            ``--until-idle`` no longer waits for a table.
    """

    first_s: float = 1.0
    most_s: float = 300.0
    attempts: int = 5
    draws: random.Random = field(default_factory=random.Random)

    def delay_s(self, failures: int) -> float:
        """Seconds until the next attempt after ``failures`` (1, 2, ...) in a row."""
        grown_s = self.first_s * 2.0 ** min(failures - 1, 30)
        return min(self.most_s, grown_s) * (0.5 + self.draws.random())
