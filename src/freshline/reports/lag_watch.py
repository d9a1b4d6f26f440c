"""How far a report's input may still fall behind: by as much as it did before.

Goes beyond the paper, whose section 4.4 expects what is to come at its predicted times, and
beyond rule C13, which expects it with the lag last observed. Under a lag that grows both are
always a little too early; what a plan needs is the lag at the end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class LagWatch:
    """The lags of one report so far, and how fast they rose.

    Args:
        step_s: Observations closer than this are one; a rise is never told from fewer seconds.
    """

    step_s: float
    _seen: list[tuple[float, float]] = field(default_factory=list)

    def observe(self, now_s: float, lag_s: float) -> None:
        """Note the lag; times must not fall."""
        if not self._seen or now_s >= self._seen[-1][0] + self.step_s:
            self._seen.append((now_s, lag_s))

    def may_rise_s(self, now_s: float, lag_s: float, ahead_s: float) -> float:
        """How many seconds the lag may grow within ``ahead_s``: the most it ever did.

        As far as one looks ahead one looks back: the largest rise within any stretch of that
        length. What was watched for less is prolonged in proportion.
        """
        if not self._seen:
            return 0.0
        watched_s = now_s - self._seen[0][0]
        if watched_s < self.step_s:
            return 0.0
        stretch_s = min(max(ahead_s, self.step_s), watched_s)
        most_s = 0.0
        lowest: deque[tuple[float, float]] = deque()  # lags only rise from its front on
        for at_s, seen_s in (*self._seen, (now_s, lag_s)):
            while lowest and lowest[-1][1] >= seen_s:
                lowest.pop()
            lowest.append((at_s, seen_s))
            while lowest[0][0] < at_s - stretch_s - 0.5 * self.step_s:
                lowest.popleft()
            most_s = max(most_s, seen_s - lowest[0][1])
        return most_s * max(1.0, ahead_s / watched_s)
