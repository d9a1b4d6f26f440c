"""When updates are released and due: equations (3), (4) and the reweighting rules (i)-(vii).

Leontyev et al. 2009, II and III. Rules of docs/papers.md: L6 (what (iv) means after the update has
finished and (ii) before it has started; an update that is fresh at its end follows RN
whatever the reweighting said), L11 (a release may lie before the predecessor's end).

``Releases`` is the record of one table. It knows the last released update (r, d, whether it
started and finished) and, between its end and the next release, when that is.
"""

from __future__ import annotations

from enum import Enum

from freshline.core.aus.modes import Mode
from freshline.core.instant import TIME_EPSILON_S
from freshline.core.model import Table


class Phase(Enum):
    """Where the last released update of a table is."""

    NONE = "never released"
    RELEASED = "released"
    RUNNING = "running"
    FINISHED = "finished"


class Rule(Enum):
    """The reweighting rules, for a switch to recovery at t."""

    I = "i"  # noqa: E741 - the paper's numeral
    II = "ii"
    III = "iii"
    IV = "iv"
    V = "v"
    VI_VII = "vi or vii, once it finishes"


def rule_for(phase: Phase, deadline_s: float, now_s: float, recovery_period_s: float) -> Rule:
    """Which reweighting rule applies to a table that switches at ``now_s``.

    An update that finished at ``now_s`` does not execute at ``now_s``.
    """
    if phase is Phase.NONE:
        return Rule.I
    is_late = deadline_s <= now_s + TIME_EPSILON_S
    if phase is Phase.RUNNING:
        return Rule.V if is_late else Rule.VI_VII
    if is_late:
        return Rule.II
    return Rule.III if deadline_s - now_s <= recovery_period_s + TIME_EPSILON_S else Rule.IV


class Releases:
    """The releases of one table.

    Attributes:
        table: Whose.
        mode: The table's mode.
        release_s, deadline_s: r and d of its last released update; 0 before the first.
        released_in: Mode at that release (rule (iv): recovery), as the trace shows it.
        number: That update's number once it started, else 0.
        finish_s: When its last finished update ended.
        fixed_s: Next release as (i), (ii), (v)-(vii) fix it; None: equation (4).
        prorated: (vi) or (vii) will fix the next release when the running update ends.
        due_s: The next release, once it is known and while it lies ahead; else None.
        return_s: While caught up: when it returns to normal mode.
        returned_s: When it last did.
    """

    __slots__ = (
        "deadline_s",
        "due_s",
        "finish_s",
        "fixed_s",
        "mode",
        "number",
        "prorated",
        "release_s",
        "released",
        "released_in",
        "return_s",
        "returned_s",
        "table",
    )

    def __init__(self, table: Table) -> None:
        self.table = table
        self.mode = Mode.NORMAL
        self.release_s = self.deadline_s = self.finish_s = 0.0
        self.released_in = Mode.NORMAL
        self.released = False
        self.number = 0
        self.fixed_s: float | None = None
        self.prorated = False
        self.due_s: float | None = None
        self.return_s = float("inf")
        self.returned_s = float("-inf")

    @property
    def is_open(self) -> bool:
        """Whether an update is released that has not ended; a failed one has not."""
        return self.released and (self.number == 0 or self.table.number < self.number)

    @property
    def phase(self) -> Phase:
        """Where the last released update is; one that failed is released again."""
        if self.table.running is not None:
            return Phase.RUNNING
        if self.is_open:
            return Phase.RELEASED
        return Phase.FINISHED if self.released else Phase.NONE

    def release(self, release_s: float, period_s: float) -> None:
        """Release the next update: r as given, d = r + period (3)."""
        self.release_s = release_s
        self.deadline_s = release_s + period_s
        self.released_in = self.mode
        self.released = True
        self.number = 0
        self.fixed_s = None
        self.prorated = False
        self.due_s = None

    def next_release_s(self, now_s: float) -> float:
        """When the next update is released, seen at ``now_s``, when the table is not fresh.

        Equation (4): at d if the table is not fresh at max(d, f), else at the first moment
        after at which it is not. It is asked at the first moment since f at which the table
        is not fresh, so ``now_s`` > max(d, f) means that it was fresh until now.
        """
        if self.fixed_s is not None:
            return self.fixed_s
        if not self.released or now_s > max(self.deadline_s, self.finish_s):
            return now_s
        return self.deadline_s

    def finished(self, now_s: float, *, fresh: bool, recovery_period_s: float) -> None:
        """The running update ended at ``now_s``."""
        self.finish_s = now_s
        self.due_s = None
        if fresh:  # RN overrides the reweighting (L6)
            self.fixed_s = None
        elif self.prorated:
            self.fixed_s = self._prorated_s(now_s, recovery_period_s)
        self.prorated = False

    def _prorated_s(self, finish_s: float, recovery_period_s: float) -> float:
        """The release after an update that was running at the switch and not yet late."""
        if finish_s >= self.deadline_s:  # (vi)
            return self.deadline_s
        share = recovery_period_s / self.table.period_s  # (vii)
        return finish_s * (1.0 - share) + self.release_s * share + recovery_period_s

    def reweight(self, now_s: float, recovery_period_s: float) -> Rule:
        """The table switched to recovery at ``now_s``: rules (i) to (vii).

        Returns:
            The rule that applied.
        """
        phase = self.phase
        rule = rule_for(phase, self.deadline_s, now_s, recovery_period_s)
        self.due_s = None
        if rule in (Rule.I, Rule.II, Rule.V):
            self.fixed_s = now_s
        elif rule is Rule.IV:
            self.deadline_s = now_s + recovery_period_s
            if phase is Phase.RELEASED:
                self.release_s = now_s
                self.released_in = self.mode
        elif rule is Rule.VI_VII:
            self.prorated = True
        # (iii): the next release is at d, as (4) says anyhow.
        return rule
