"""In which mode a table is, and what brings it into another: the state machine of aus.

Leontyev et al. 2009, section III, rules RN and NR and figure 6, with two states made
visible that the paper has in its words: a table far behind may have to wait for capacity,
and one that has caught up keeps its recovery period until its update's deadline. The paper has no
pauses and no failures: a table that cannot run gives back what recovery gave it (L8). The table
below is all there is; ``scripts/draw_modes.py`` draws the documentation's picture from it.
"""

from __future__ import annotations

from enum import Enum

from freshline.core.errors import InternalError


class Mode(Enum):
    """A state of the machine."""

    NORMAL = "normal"
    """Released every p while there is work."""
    WAITING = "waiting"
    """The same, but TE - F exceeds the threshold; rule (6) refuses the switch, or it cannot run."""
    RECOVERY = "recovery"
    """Released every p^r while there is work."""
    CAUGHT_UP = "caught up"
    """Fresh when an update finished; p^r holds until that update's deadline (RN)."""

    @property
    def two(self) -> str:
        """The paper's name: normal or recovery."""
        return "recovery" if self in (Mode.RECOVERY, Mode.CAUGHT_UP) else "normal"


class Signal(Enum):
    """What happens to a table, as far as modes are concerned."""

    FELL_BEHIND = "TE - F exceeds the threshold"
    EASED = "TE - F is within the threshold"
    ADMITTED = "rule (6) holds"
    STOPPED = "paused, or its update failed"
    FRESH = "fresh when an update finished"
    DEADLINE = "that update's deadline"


TRANSITIONS: dict[tuple[Mode, Signal], Mode] = {
    (Mode.NORMAL, Signal.FELL_BEHIND): Mode.WAITING,
    (Mode.WAITING, Signal.EASED): Mode.NORMAL,
    (Mode.WAITING, Signal.ADMITTED): Mode.RECOVERY,
    (Mode.RECOVERY, Signal.STOPPED): Mode.WAITING,
    (Mode.RECOVERY, Signal.FRESH): Mode.CAUGHT_UP,
    (Mode.CAUGHT_UP, Signal.DEADLINE): Mode.NORMAL,
}


def after(mode: Mode, signal: Signal) -> Mode:
    """The mode after ``signal``.

    Raises:
        InternalError: The machine has no such transition.
    """
    try:
        return TRANSITIONS[mode, signal]
    except KeyError:
        raise InternalError(
            "no-transition", f"a table that is '{mode.value}' cannot meet '{signal.value}'"
        ) from None
