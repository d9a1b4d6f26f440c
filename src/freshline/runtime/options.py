"""How long a run goes on, and for what."""

from __future__ import annotations

from dataclasses import dataclass

from freshline.core.events import RefreshRequested


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How long to run, and for what.

    Attributes:
        until_idle: End when every file that was there at the start is in every table that
            can be brought up to date.
        grace_s: How long running updates may take to finish after a stop.
        refresh: Only bring these tables (and their ancestors) up to date.
        rebuilt: Those of them that are computed in full.
        standby: Wait while another process runs the warehouse, and take over when it ends.
    """

    until_idle: bool = False
    grace_s: float = 30.0
    refresh: tuple[str, ...] = ()
    rebuilt: tuple[str, ...] = ()
    standby: bool = False

    def requests(self) -> list[RefreshRequested]:
        """What the core is told of the tables to refresh."""
        return [RefreshRequested(name, name in self.rebuilt) for name in self.refresh]
