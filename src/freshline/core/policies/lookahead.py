"""Max benefit, unless a better update is expected before the best one would be done.

Source: Golab et al. 2011, 3.1 (Lookahead, algorithm and example with B = 101). Rules of
docs/papers.md: G10 (E_j in step 2a is E_i; which releases and gains are expected; the expected
update itself is not started; the search is exact), G11 (it can starve a table whose updates are
long).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import ClassVar

from freshline.core.lookahead.calendar import next_date_s
from freshline.core.lookahead.cover import Item, best_cover
from freshline.core.model import Table
from freshline.core.policies.max_benefit import benefit
from freshline.core.policy import Policy, View

_PASSES = 16
"""With the guard: how often the best update is passed over before it starts. Sixteen short
updates in front of one is what the rule is for; more is a table that never gets its turn."""


@dataclass(slots=True)
class Lookahead(Policy):
    """Largest priority * gain / seconds, or what fills the time until something better.

    Attributes:
        chop: At most this many periods in one update; limits the gains that are expected.
        guarded: Whether a table is started after it was passed over 16 times (G11). Off in
            simulations, which play the paper's rule; on in a warehouse.
    """

    name: ClassVar[str] = "lookahead"
    ranks_by_gain: ClassVar[bool] = True
    chooses: ClassVar[bool] = True
    reacts: ClassVar[bool] = True
    heeds_arrivals: ClassVar[bool] = True

    chop: float | None = None
    guarded: bool = False
    _dates: list[tuple[float, int]] = field(default_factory=list, init=False)
    _dated: list[bool] = field(default_factory=list, init=False)
    _passes: list[int] = field(default_factory=list, init=False)
    # Places of what was chosen last and of the best, which it is to pass.
    _passing: tuple[int, int] = field(default=(-1, -1), init=False)

    def prepare(self, view: View) -> None:
        self._dates = []
        self._dated = [False] * len(view.tables)
        self._passes = [0] * len(view.tables)
        for table in view.tables:
            if table.is_base:
                self._expect(table, view.now_s)
        heapify(self._dates)

    def key(self, table: Table) -> float:
        return -benefit(table)

    def score(self, table: Table) -> str:
        return (
            f"benefit {benefit(table):.4g} = priority {table.weight:g} * gain "
            f"{table.amount_s:.3f} s / {table.expected_s:.3f} s"
        )

    def react(self, view: View, finished: Sequence[Table], arrived: Sequence[Table]) -> None:
        for table in arrived:
            if not self._dated[table.order]:
                self._expect(table, view.now_s)

    def started(self, table: Table, now_s: float) -> None:
        self._passes[table.order] = 0
        instead, best = self._passing
        if table.order == instead:  # with a partition, what was chosen may have no track
            self._passes[best] += 1
        self._passing = -1, -1

    def choose(self, view: View) -> Table | None:
        self._passing = -1, -1
        best = view.first()
        if best is None:
            return None
        if self.guarded and self._passes[best.order] >= _PASSES:
            return best
        instead = self._instead(best, view)
        if instead is None:
            return best
        self._passing = instead.order, best.order
        return instead

    def _instead(self, best: Table, view: View) -> Table | None:
        """The member of the best set of updates to run before the expected one, if any."""
        expected_s = best.expected_s
        above = benefit_best = benefit(best)
        items: list[Item] | None = None
        instead = None
        for release_s, table in self._expected(view, expected_s):
            wait_s = release_s - view.now_s
            update = self._update(table, release_s)
            ratio = update.value / update.seconds if update.seconds > 0.0 else _limit(update)
            if wait_s >= expected_s or ratio <= benefit_best:
                continue
            if items is None:
                items = _items(best, view)
            cover = best_cover(
                items, expected=update, wait_s=wait_s, limit_s=expected_s, above=above
            )
            if cover is not None:
                above = cover.ratio
                instead = min(cover.members, key=_by_ratio)
        return None if instead is None else view.tables[instead.order]

    def _update(self, table: Table, date_s: float) -> Item:
        """The update that ``table`` will want at ``date_s`` (G10)."""
        gain_s = date_s - table.freshness_s
        if self.chop is not None:
            gain_s = min(gain_s, max(1.0, self.chop) * table.period_s)
        cost = table.cost
        return Item(table.weight * gain_s, cost.alpha_s + cost.beta * gain_s, table.order)

    # ---- expected releases ----

    def _expect(self, table: Table, now_s: float) -> None:
        date_s = next_date_s(table, now_s)
        self._dated[table.order] = date_s is not None
        if date_s is not None:
            heappush(self._dates, (date_s, table.order))

    def _expected(self, view: View, within_s: float) -> list[tuple[float, Table]]:
        """Idle base tables whose next date is about ``within_s`` away or less, in table order.

        The heap holds one date a table. A date that has passed, or that a later arrival has
        moved (only ever to later), is looked up anew when it comes to the front.
        """
        # A hair too far: the caller compares differences, which round differently.
        before_s = (view.now_s + within_s) * (1.0 + 1e-12)
        dates, tables = self._dates, view.tables
        found, checked = [], []
        while dates and dates[0][0] <= before_s:
            order = heappop(dates)[1]
            table = tables[order]
            now_date_s = next_date_s(table, view.now_s)
            if now_date_s is None:
                self._dated[order] = False
                continue
            checked.append((now_date_s, order))
            if now_date_s <= before_s and _idle(table):
                found.append((now_date_s, table))
        for entry in checked:
            heappush(dates, entry)
        found.sort(key=lambda item: item[1].order)
        return found


def _idle(table: Table) -> bool:
    return table.running is None and not table.has_news and not table.paused and table.known


def _by_ratio(item: Item) -> tuple[float, int]:
    return (-item.value / item.seconds, item.order)


def _limit(update: Item) -> float:
    """The ratio of an update without cost (G12)."""
    return float("inf") if update.value > 0.0 else 0.0


def _items(best: Table, view: View) -> list[Item]:
    """The other waiting updates, best ratio first; those without cost cannot fill time."""
    return [
        Item(table.weight * table.amount_s, table.expected_s, table.order)
        for table in view.waiting()
        if table is not best and table.expected_s > 0.0
    ]
