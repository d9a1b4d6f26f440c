"""How a table is brought up to date: the strategy, its code and the reason in words.

The one place that decides it. In this version a base table appends its files' rows and a view
is computed again in full from its pinned parents; maintaining views from their parents'
changes belongs here, as further strategies chosen from an analysis of the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to carry out an update.

    Attributes:
        name: append or full.
        code: Why this one, as a short name that stays the same over versions.
        reason: The same in words.
    """

    name: str
    code: str
    reason: str


class _Table(Protocol):
    @property
    def kind(self) -> str: ...


APPEND = Strategy("append", "row-wise", "each file's rows are added as they come")
FULL = Strategy(
    "full", "always-full", "every view is recomputed in full in this version of freshline"
)


def strategy(table: _Table) -> Strategy:
    """The strategy for ``table`` (a :class:`freshline.project.model.TableDef`)."""
    return APPEND if table.kind == "base" else FULL
