"""Tables that are to be computed anew: ahead of the others, within half of the tracks' time.

A policy that ranks by gain would put them last for ever, since they bring no new data. After a
change of a setting every view is to be computed anew, and feeds have to be loaded meanwhile: so
they go one at a time, and after each of them the others get as much time as it took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from freshline.core.model import Running, Table
from freshline.core.policy import Policy


class Rebuilds:
    """When what is to be computed anew goes first.

    Attributes:
        go_first: Under this policy they go ahead of its order.
        owed_s: Seconds of a track that the others have yet to get.

    Args:
        policy: Of the scheduler.
    """

    __slots__ = ("go_first", "owed_s")

    def __init__(self, policy: Policy) -> None:
        self.go_first = policy.ranks_by_gain
        self.owed_s = 0.0

    def ended(self, running: Running, now_s: float) -> None:
        """An update ended, or failed."""
        took_s = now_s - running.start_s
        if running.command.full:
            self.owed_s += took_s
        elif not running.background:
            self.owed_s = max(0.0, self.owed_s - took_s)

    def let_others_pass(self, busy: Callable[[], Iterable[Table]]) -> bool:
        """Whether they wait, if others do.

        Args:
            busy: Gives the tables with a running update.
        """
        return self.go_first and (self.owed_s > 0.0 or any(_is_rebuild(each) for each in busy()))


def _is_rebuild(table: Table) -> bool:
    return table.running is not None and table.running.command.full
