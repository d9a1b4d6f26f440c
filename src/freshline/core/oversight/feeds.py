"""Whether a feed is healthy: silent for too long, or bringing more than its period promises.

Leontyev et al. 2009, Definitions 2 and 3: files come every p, give or take the jitter J; longer
than p + J without one is an outage. J is learned where nobody declared it: what nine of ten
gaps between arrivals did not exceed p by.
"""

from __future__ import annotations

from collections import deque

_GAPS = 21
"""As many gaps as the learned period looks at."""

_FEW_GAPS = 5
"""Below, nothing is known of the jitter and a whole period is allowed."""

_LEAST_JITTER = 0.1
"""Of a period: a clock, a listing, a slow disk."""

_SILENT_PERIODS = 2.0
_LEAST_SILENCE_S = 30.0
"""People are told of a silence once it is certain: so much beyond when a file was due."""

_BURST = 2.0
"""So many files more than the period promises count as timing, not as more data."""


class FeedHealth:
    """One feed.

    Args:
        period_s: p; None: not learned yet, and then nothing can be said.
        since_s: From when on silence counts: nobody listened before. Infinite: not yet.
        slack_s: How late a file may be noticed (the interval of listings).

    Attributes:
        last_s: When the last file came that brought something new; None before the first.
        out_since_s: Since when nothing has come, while the feed is out; else None.
        silent_since_s: The same once the silence is certain, for people; never of a feed that
            has not brought anything yet.
        went_out_s, came_back_s: When its last outage began and ended; None: not known.
    """

    def __init__(self, period_s: float | None, since_s: float, slack_s: float = 0.0) -> None:
        self.period_s = period_s
        self.slack_s = slack_s
        self.last_s: float | None = None
        self.out_since_s: float | None = None
        self.silent_since_s: float | None = None
        self.went_out_s: float | None = None
        self.came_back_s: float | None = None
        self._listening_s = since_s
        self._late_s: deque[float] = deque(maxlen=_GAPS)
        self._newest_s: float | None = None
        self._level = 0.0

    def listened_from(self, now_s: float) -> None:
        """Silence counts from now on."""
        self._listening_s = now_s
        if self.last_s is not None:  # a later one came by a clock that was ahead
            self.last_s = min(self.last_s, now_s)

    def restored(self, last_s: float | None, silent_since_s: float | None) -> None:
        """What a former run saw; a silence that it was sure of goes on."""
        self.last_s = last_s
        self.out_since_s = self.silent_since_s = silent_since_s

    @property
    def jitter_s(self) -> float:
        """J: how much later than p after the one before a file may come."""
        period_s = self.period_s or 0.0
        if len(self._late_s) < _FEW_GAPS:
            return period_s
        ascending = sorted(self._late_s)
        usual_s = ascending[(9 * len(ascending) - 1) // 10]
        return min(period_s, max(_LEAST_JITTER * period_s, usual_s))

    @property
    def due_s(self) -> float | None:
        """When silence becomes an outage; None while the period is not known."""
        if self.period_s is None:
            return None
        heard_s = self._listening_s if self.last_s is None else max(self.last_s, self._listening_s)
        return heard_s + self.period_s + self.jitter_s + self.slack_s

    @property
    def next_s(self) -> float:
        """Until then ``look`` and ``fell_silent`` have nothing to tell, unless a file comes."""
        due_s = self.due_s
        if due_s is None:
            return float("inf")
        if self.out_since_s is None:
            return due_s
        if self.silent_since_s is None and self.last_s is not None:
            return due_s + self._certain_s
        return float("inf")

    @property
    def _certain_s(self) -> float:
        """How long after a file was due the feed is reported as silent."""
        return max(_SILENT_PERIODS * (self.period_s or 0.0), _LEAST_SILENCE_S)

    def look(self, now_s: float) -> bool:
        """Whether the feed has just been found to be out."""
        due_s = self.due_s
        if self.out_since_s is not None or due_s is None or now_s <= due_s:
            return False
        self.out_since_s = self._listening_s if self.last_s is None else self.last_s
        return True

    def fell_silent(self, now_s: float) -> bool:
        """Whether it has just become certain that the feed is silent.

        A file that is a little late ends an outage for the bounds, but is no news for people.
        """
        due_s = self.due_s
        if self.silent_since_s is not None or self.last_s is None or due_s is None:
            return False
        if now_s <= due_s + self._certain_s:
            return False
        self.silent_since_s = self.last_s
        return True

    def arrived(self, now_s: float, timestamp_s: float) -> tuple[bool, str]:
        """A file came.

        Returns:
            Whether an outage ended with it; and what it broke of the promise of one file a
            period, one phrase, empty if nothing.
        """
        self.look(now_s)  # nobody may have looked since it was due
        ended = self.out_since_s is not None
        if ended:
            self.went_out_s, self.came_back_s = self.out_since_s, now_s
            self.out_since_s = self.silent_since_s = None
        elif self.last_s is not None and self.period_s is not None and now_s > self.last_s:
            self._late_s.append(max(0.0, now_s - self.last_s - self.period_s))
        self.last_s = now_s
        return ended, self._excess(timestamp_s)

    def _excess(self, timestamp_s: float) -> str:
        """More files, or more data in one, than the period promises, by the files' timestamps.

        A backlog's files come at once, but are stamped a period apart: no excess.
        """
        before_s, period_s = self._newest_s, self.period_s
        if before_s is None or period_s is None or period_s <= 0.0:
            self._newest_s = timestamp_s
            return ""
        gap_s = timestamp_s - before_s
        self._newest_s = max(before_s, timestamp_s)
        self._level = max(0.0, self._level - max(0.0, gap_s) / period_s) + 1.0
        jitter_s = self.jitter_s
        if self._level > _BURST + jitter_s / period_s:
            return "more files than its period promises"
        if gap_s > period_s + jitter_s + self.slack_s:
            return "a file of more than a period's data"
        return ""
