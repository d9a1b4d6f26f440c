"""How well targets were kept and at what cost: share of time within them, executor seconds.

Staleness grows with the clock and falls when an update ends, so between two ends a table is
beyond its target from F + target on: one subtraction an update tells the time beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass


def beyond_s(freshness_s: float, target_s: float, since_s: float, until_s: float) -> float:
    """Seconds of [since, until] in which a table of that freshness exceeds its target."""
    return max(0.0, until_s - max(since_s, freshness_s + target_s))


@dataclass(slots=True)
class Compliance:
    """One table's account; all times on one clock.

    Attributes:
        target_s: The lag asked for; None: none, and only seconds are counted.
        freshness_s: F.
        since_s: Up to when it was accounted; None: nothing is known of the table yet.
        begun_s: Since when.
        beyond_s: Time beyond the target.
        executor_s: Seconds of its updates, the whole of each when it ends.
        updates: How many ended.
    """

    target_s: float | None
    freshness_s: float = 0.0
    since_s: float | None = None
    begun_s: float = 0.0
    beyond_s: float = 0.0
    executor_s: float = 0.0
    updates: int = 0

    def begin(self, now_s: float, freshness_s: float) -> None:
        """The table's freshness is known from now on."""
        self.since_s = self.begun_s = now_s
        self.freshness_s = freshness_s

    def finished(self, now_s: float, seconds: float, to_s: float) -> None:
        """An update that took ``seconds`` ends and brings the freshness to ``to_s``."""
        self.executor_s += seconds
        self.updates += 1
        self._settle(now_s)
        self.freshness_s = max(self.freshness_s, to_s)

    def share(self, now_s: float) -> float | None:
        """Share of time within the target up to now; None without target or time."""
        if self.target_s is None or self.since_s is None:
            return None
        self._settle(now_s)
        past_s = now_s - self.begun_s
        return 1.0 - self.beyond_s / past_s if past_s > 0.0 else None

    def _settle(self, now_s: float) -> None:
        if self.since_s is None:
            return
        if self.target_s is not None:
            self.beyond_s += beyond_s(self.freshness_s, self.target_s, self.since_s, now_s)
        self.since_s = now_s
