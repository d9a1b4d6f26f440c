"""How much of the tracks background work may take: a share, never more, never nothing.

Background work (a backfill, old files of a table that catches up newest first) runs

- on tracks that nobody else wants, for nothing, while nothing else is late;
- while others wait, out of an account that gets ``share`` of the tracks' time;
- while anything else is late, out of that and of a second account, which gets ``share`` of the
  tracks' time in which something was late.

An update is paid for before it starts, with what it is expected to take, so an account is never
overdrawn by a start; what it takes beyond that is a debt that later time pays off. Both
accounts only grow while background work is wanted and others compete, so sooner or later the
next update can be paid: nothing starves, however long the others are late.

Law 1: while something else is late, background updates that were started then take at most
share * tracks of the time in which something was late, as long as none takes longer than
expected. What was started before anything was late cannot be stopped; its time counts, and
nothing more starts until it is paid off. Law 2: a background update that waits while others
compete for longer than its expected seconds / (share * tracks), and owes nothing, may start.
"""

from __future__ import annotations

_INFINITY = float("inf")


class ShareAccount:
    """Time earned and spent, in track-seconds.

    Args:
        share: Part of the tracks' time, in (0, 1].
        tracks: How many tracks earn it.
    """

    __slots__ = ("_rate", "earned_s", "spent_s")

    def __init__(self, share: float, tracks: int) -> None:
        self._rate = share * tracks
        self.earned_s = 0.0
        self.spent_s = 0.0

    @property
    def balance_s(self) -> float:
        """What is left; below 0 a debt."""
        return self.earned_s - self.spent_s

    def earn(self, seconds: float) -> None:
        """So much time has passed."""
        self.earned_s += self._rate * seconds

    def wait_s(self, cost_s: float) -> float:
        """Seconds until ``cost_s`` can be paid; 0 where it can be now."""
        missing_s = cost_s - self.balance_s
        if missing_s <= 0.0:
            return 0.0
        return missing_s / self._rate if self._rate > 0.0 else _INFINITY

    def close(self) -> None:
        """Nothing is wanted any more: savings are lost, a debt stays."""
        self.spent_s = max(0.0, self.spent_s - self.earned_s)
        self.earned_s = 0.0


class BackgroundShare:
    """Says when background work may start.

    Told at every instant first that time has passed, then of the ends of background updates,
    then how things are, and then of the starts.

    Args:
        share: Of ``scheduler.backfill_share``.
        tracks: How many there are.
        now_s: The clock.
    """

    def __init__(self, share: float, tracks: int, now_s: float) -> None:
        self.competing = ShareAccount(share, tracks)
        self.late = ShareAccount(share, tracks)
        self._now_s = now_s
        self._wanted = False
        self._others_wait = False
        self._others_late = False
        self._running: dict[str, tuple[float, float, tuple[ShareAccount, ...]]] = {}
        """By table: start, seconds paid for, and from which accounts."""

    @property
    def now_s(self) -> float:
        """To which moment time has passed."""
        return self._now_s

    @property
    def others_late(self) -> bool:
        """Whether anything else is late, as ``see`` said last."""
        return self._others_late

    def advance(self, now_s: float) -> None:
        """Time has passed to ``now_s``, and until now all was as ``see`` said last."""
        passed_s = now_s - self._now_s
        self._now_s = now_s
        if not (self._wanted or self._running):
            return
        running = self._running.values()
        if self._others_late:
            self.late.earn(passed_s)
            # What started when nothing was late cannot be stopped, but it is counted.
            self.late.spent_s += passed_s * sum(self.late not in paying for _, _, paying in running)
        if self._others_late or self._others_wait:
            self.competing.earn(passed_s)
            self.competing.spent_s += passed_s * sum(not paying for _, _, paying in running)

    def see(self, *, wanted: bool, others_wait: bool, others_late: bool) -> None:
        """How things are from now on.

        Args:
            wanted: Whether background work waits.
            others_wait: Whether anything else could start, were a track free.
            others_late: Whether anything else is late, waiting or running.
        """
        self._wanted, self._others_wait, self._others_late = wanted, others_wait, others_late
        if not wanted and not self._running:
            self.competing.close()
            self.late.close()

    def _paying(self) -> tuple[ShareAccount, ...]:
        """Who pays for what starts now; nobody: it is for nothing."""
        if self._others_late:
            return self.late, self.competing
        return (self.competing,) if self._others_wait else ()

    def wait_s(self, expected_s: float) -> float:
        """Seconds until an update of ``expected_s`` may start, if all stays as it is."""
        return max([account.wait_s(expected_s) for account in self._paying()], default=0.0)

    def started(self, table: str, expected_s: float) -> None:
        """A background update starts now, as ``wait_s`` allowed."""
        paying = self._paying()
        for account in paying:
            account.spent_s += expected_s
        self._running[table] = (self._now_s, expected_s, paying)

    def ended(self, table: str, now_s: float) -> None:
        """It ended: what it took beyond or below what was paid for is settled."""
        start_s, paid_s, paying = self._running.pop(table)
        for account in paying:
            account.spent_s += (now_s - start_s) - paid_s
