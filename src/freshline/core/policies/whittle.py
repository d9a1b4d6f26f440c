"""Start what the wait has made most worth its seconds: an index after Whittle.

Key: p * d^2 / (alpha * (1 + d / patience) + beta * d * (0.7 + d / patience)), where d is the data
that an update would load (seconds), alpha and beta the start-up and slope of the table's bundle
(``core/bundles.py``), and p its priority, for each member times 1 + 2 beta. With unlimited patience
that is close to p * d^2 / alpha, Whittle's index for the least weighted age where start-up is
amortised by waiting (Hsu 2018, arXiv 1801.03422; Tripathi and Modiano 2019); with none it is
p * d / E, max benefit (Golab et al. 2011, 3.1), which is right where the machine cannot keep up
however long anybody waits. Patience follows from the load (``_patience``). Derivation, and where it
is not the best: docs/whittle-policy.md.

A key of one table does not know when the next files come. Where there are few tables, and updates
take what is expected of them, the near future is played once for each of the best by the key as
the first choice, and what comes out best starts (``core/lookahead/rollout.py``; section 7).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

from freshline.core.bundles import Bundle, Shares, bundles, shares
from freshline.core.extent import Extent
from freshline.core.graph import topological
from freshline.core.lookahead.rollout import Index, Rollout
from freshline.core.model import Table
from freshline.core.policy import Policy, View

_RECENT = 1.0 / 8.0
"""Weight of the newest update in the measured slowness."""

_ROUNDS_REMEMBERED = 30
"""Rounds (updates of as many tables as there are) in which a slow stretch is forgotten."""

_HELD_UP = 0.7
"""Share of the seconds for an update's data that counts while patience lasts. In the long run they
are paid whenever the data is loaded (0); at the moment they keep others waiting (1)."""

_ROUNDS_WAITED = 10.0
"""Patience at most, in rounds of everybody's turn, where the machine keeps up; found by playing
the grid (docs/whittle-policy.md, 3)."""

_TIMES_TO_REST = 4.0
"""Times that the machine needs to come to rest. A table that waits longer does not wait for that:
the others are served too often for it to have its turn."""

_REKEY_FACTOR = 1.5
"""Patience has to change by this before every waiting table gets a new key."""

_GUESSES = 3
"""Updates of a table whose costs are learned say nothing of the machine before this many."""

_EARLY = 1.0 / 8.0
"""Of a round: so often all is summed up while there are such tables, else once a round."""

_SLOWER = 1.0 + 1e-6
"""Updates that take longer by less than this took what was expected: instants in seconds since
1970 are not told any finer."""

_FEW_TABLES = 8
"""On so many the near future is played before a choice: there it matters most, and costs least."""

_TRIED = 3
"""First choices that are played, the best by the key."""

_ROUNDS_AHEAD = 30.0
"""How far is played: so many times everybody's update of one period's data."""

_MOST_AHEAD = 250.0
"""Updates, about, in what is played at most: with files that come often it is not so far."""

_STEADY = 0.15
"""How far updates may be from what was expected of them, as a share of it in the mean of recent
ones, for the future to be known well enough to be played."""

_SURELY = 0.03
"""Of that share: by so much staleness has to be less for another than the best by the key."""


def _floats(values: Iterable[float] = ()) -> array[float]:
    return array("d", values)


@dataclass(slots=True)
class Whittle(Policy):
    """Largest priority * gain^2 / seconds first, or gain where patience ends."""

    name: ClassVar[str] = "whittle"
    ranks_by_gain: ClassVar[bool] = True
    also_called: ClassVar[tuple[str, ...]] = ("index",)
    reacts: ClassVar[bool] = True
    chooses: ClassVar[bool] = True
    inherits: ClassVar[bool] = False

    _shares: list[Shares] = field(default_factory=list, init=False)
    _bundles: list[Bundle] = field(default_factory=list, init=False)
    # The same by table, and below what was started: packed, since with 10,000 tables a float of
    # its own is one more line that is not in the processor's cache.
    _worth: array[float] = field(default_factory=_floats, init=False)
    _alpha_s: array[float] = field(default_factory=_floats, init=False)
    _beta: array[float] = field(default_factory=_floats, init=False)
    _loaded_s: array[float] = field(default_factory=_floats, init=False)
    _own_alpha_s: array[float] = field(default_factory=_floats, init=False)
    _started_s: array[float] = field(default_factory=_floats, init=False)
    _expected_s: array[float] = field(default_factory=_floats, init=False)
    _facts: int = field(default=-1, init=False)
    _of: tuple[object, ...] = field(default=(), init=False)
    _finished: int = field(default=0, init=False)
    _is_new: bool = field(default=True, init=False)
    _is_summed_up: bool = field(default=True, init=False)
    _start_up_s: float = field(default=0.0, init=False)
    _start_ups: float = field(default=0.0, init=False)
    _longest_s: float = field(default=0.0, init=False)
    _slope: float = field(default=0.0, init=False)
    _all_took_s: float = field(default=0.0, init=False)
    _all_expected_s: float = field(default=0.0, init=False)
    _load: float = field(default=0.0, init=False)
    _patience_s: float = field(default=inf, init=False)
    _span_s: float = field(default=0.0, init=False)
    _merges: bool = field(default=True, init=False)
    _unsteady: float = field(default=0.0, init=False)
    _instead: tuple[int, str] = field(default=(-1, ""), init=False)

    def extent(self, given: Extent) -> Extent:
        self._merges = given.merges_pending
        return given

    def prepare(self, view: View) -> None:
        self._started_s = _floats([0.0] * len(view.tables))
        self._expected_s = _floats([0.0] * len(view.tables))
        self._loaded_s = _floats([table.period_s for table in view.tables])
        self._shares = shares(view.tables)
        self._finished = 0
        self._is_new = True  # what former runs learned comes with the first instant
        self._facts = -1
        self._unsteady = 2.0 * _STEADY  # not known yet: a few updates have to show it
        self._sum_up(view)
        # Begin as if a few updates of a mean table had taken what was expected of them.
        tables = view.tables
        seconds = sum(t.cost.expected_s(t.period_s) for t in tables) / max(1, len(tables))
        self._all_took_s = self._all_expected_s = seconds / _RECENT
        self._load = self._slope
        self._patience_s = self._patience()

    def key(self, table: Table) -> float:
        order = table.order
        worth = self._worth[order]
        amount_s = table.next_to_s - table.freshness_s + table.late_s
        patient = amount_s / self._patience_s
        seconds = self._alpha_s[order] * (1.0 + patient) + self._beta[order] * amount_s * (
            _HELD_UP + patient
        )
        if seconds > 0.0:
            return -(worth * amount_s * amount_s / seconds)
        return -inf if worth > 0.0 else 0.0

    def picks(self, tables: Sequence[Table], *, held_back: bool = False) -> bool:
        return self._merges and not held_back and 1 < len(tables) <= _FEW_TABLES

    def choose(self, view: View) -> Table | None:
        self._instead = -1, ""  # what was chosen before may have had no track
        best = view.first()
        span_s = self._span_s
        if best is None or span_s <= 0.0 or self._unsteady > _STEADY:
            return best
        tables, tracks = view.tables, view.track_count
        waiting = view.waiting()
        if len(waiting) <= tracks - sum([table.running is not None for table in tables]):
            return best  # all of them start now
        if not all(table.known for table in tables):
            return best
        if any(table.next_to_s < table.trailing_edge_s for table in waiting):
            return best  # a backlog of more files than an update loads is not played
        index = Index(self._worth, self._alpha_s, self._beta, self._patience_s, _HELD_UP)
        future = Rollout(tables, tracks=tracks, now_s=view.now_s, span_s=span_s, index=index)
        least = by_key = future.staleness(best)
        found = best
        for table in waiting[1:_TRIED]:
            staleness = future.staleness(table)
            if staleness < min(least, (1.0 - 1e-6 - _SURELY * self._unsteady) * by_key):
                least, found = staleness, table
        if found is not best:
            less = f"{100.0 * (1.0 - least / by_key):.1f} % less staleness expected"
            self._instead = found.order, f"; {less} over {span_s:.3g} s than with {best.name} first"
        return found

    def score(self, table: Table) -> str:
        instead = self._instead[1] if table.order == self._instead[0] else ""
        bundle = self._bundles[table.order]
        amount_s = table.amount_s
        lifted = len(bundle.members) - 1
        with_others = f" with {lifted} derived from it" if lifted else ""
        patience = "unlimited" if self._patience_s == inf else f"{self._patience_s:.3g} s"
        return (
            f"index {-self.key(table):.4g}: priority {bundle.priority:g}{with_others}, "
            f"{amount_s:.3f} s of new data, {bundle.seconds(amount_s):.3f} s of work, "
            f"patience {patience}{instead}"
        )

    # ---- how patient to be ----

    def started(self, table: Table, now_s: float) -> None:
        running, order = table.running, table.order
        self._instead = -1, ""
        if running is not None:
            self._started_s[order] = now_s
            self._expected_s[order] = running.command.expected_s
            self._loaded_s[order] = running.amount_s

    def prioritised(self, view: View) -> None:
        # A round of updates can take an hour: who asked for it looks at the next choice.
        if self._sum_up(view):
            self._rekey(view)

    def react(self, view: View, finished: Sequence[Table], arrived: Sequence[Table]) -> None:
        if self._is_new:
            self._is_new = False
            if self._sum_up(view):
                self._rekey(view)
        if not finished:
            return
        self._finished += len(finished)
        now_s = view.now_s
        share = 1.0
        for table in finished:
            if 0 < table.cost.samples <= _GUESSES:
                share = _EARLY
                continue
            order = table.order
            took_s, expected_s = now_s - self._started_s[order], self._expected_s[order]
            self._all_took_s += took_s - _RECENT * self._all_took_s
            self._all_expected_s += expected_s - _RECENT * self._all_expected_s
            if self._span_s > 0.0 and expected_s > 0.0:
                off = abs(took_s / expected_s - 1.0)
                self._unsteady += _RECENT * (min(1.0, off) - self._unsteady)
        if self._finished >= share * len(view.tables):
            self._finished = 0
            if self._sum_up(view):
                self._rekey(view)
        expected_s = self._all_expected_s
        slowness = self._all_took_s / expected_s if expected_s > 0.0 else 1.0
        load = self._slope * slowness if slowness > _SLOWER else self._slope
        if load == self._load and not self._is_summed_up:
            return  # nothing that patience follows from has changed
        self._is_summed_up = False
        if load > self._load:
            self._load = load
        else:
            self._load += (load - self._load) / (_ROUNDS_REMEMBERED * len(view.tables))
        patience_s, before_s = self._patience(), self._patience_s
        if patience_s > _REKEY_FACTOR * before_s or before_s > _REKEY_FACTOR * patience_s:
            self._patience_s = patience_s
            self._rekey(view)

    def _patience(self) -> float:
        """How long a wait is still one for start-up seconds to be saved.

        While backlogs grow: as long as waiting saves more of them than the machine lacks now.
        Where it keeps up: a few rounds in which everybody has a turn; what waits longer waits
        because of an outage or a slow stretch, and its seconds per second of data are all that
        counts. The same once a table has waited far longer than such a machine needs to come to
        rest: what it lacks now says only that the others are served too often.
        """
        if self._slope <= 0.0:
            return inf  # taking up a backlog keeps nobody waiting
        load = self._load
        slowness = load / self._slope if load > self._slope else 1.0
        start_up_s = self._start_up_s * slowness
        missing = load + self._start_ups * slowness - 1.0
        patience_s = start_up_s / missing if missing > 0.0 else inf
        if load < 1.0:
            rounds_s = _ROUNDS_WAITED * start_up_s / (1.0 - load)
            if rounds_s < patience_s:
                patience_s = rounds_s
            elif self._longest_s > 0.0:
                # From nothing, while all tables are still on their way to rest, to all rounds.
                rest_s = _TIMES_TO_REST * 0.5 * start_up_s / (1.0 - load) ** 2
                late = self._longest_s / (self._longest_s + rest_s * rest_s / self._longest_s)
                patience_s = max(patience_s, rounds_s * late)
        return max(1e-9, patience_s)

    def _sum_up(self, view: View) -> bool:
        """Costs, priorities and what belongs together, anew; whether anything changed."""
        tables = view.tables
        self._is_summed_up = True
        has_news = view.facts_changed != self._facts
        if has_news:
            self._facts = view.facts_changed
            self._own_alpha_s = _floats([0.0 if t.paused else t.cost.alpha_s for t in tables])
        self._start_ups = self._wanted_start_ups(tables) / view.track_count
        if not has_news:
            return False
        known = tuple(
            (t.priority, t.period_s, t.cost.alpha_s, t.cost.beta, t.paused) for t in tables
        )
        if known == self._of:
            return False
        self._of = known
        at_work = [table for table in tables if not table.paused]
        self._start_up_s = sum(table.cost.alpha_s for table in at_work) / view.track_count
        self._slope = sum(table.cost.beta for table in at_work) / view.track_count
        if self.picks(tables):
            self._span_s = _span_s(tables, view.track_count)
        self._bundles = bundles(tables, self._shares)
        self._worth = _floats([bundle.priority + 2.0 * bundle.late for bundle in self._bundles])
        self._alpha_s = _floats([bundle.alpha_s for bundle in self._bundles])
        self._beta = _floats([bundle.beta for bundle in self._bundles])
        return True

    def _wanted_start_ups(self, tables: Sequence[Table]) -> float:
        """Start-up seconds per second, at the intervals at which tables are updated now.

        An interval is what the last update loaded, or what waits where that is more: a table
        that is never chosen would else seem to want updates as often as when it last had one.
        Also finds the longest interval of a table that is worth anything.
        """
        wanted = longest_s = 0.0
        each = zip(tables, self._loaded_s, self._own_alpha_s, strict=True)
        for table, loaded_s, alpha_s in each:
            waiting_s = table.trailing_edge_s - table.freshness_s
            # Not a number, and so not more, where nothing is known of the table yet.
            interval_s = waiting_s if waiting_s > loaded_s else loaded_s  # noqa: FURB136
            if interval_s > 0.0:
                wanted += alpha_s / interval_s
                if interval_s > longest_s and alpha_s > 0.0 and (table.priority or table.children):
                    longest_s = interval_s
        self._longest_s = longest_s
        return wanted

    def _rekey(self, view: View) -> None:
        for table in view.tables:
            view.rekey(table)


def _span_s(tables: Sequence[Table], tracks: int) -> float:
    """How far the future of a few tables is played; 0 where a period is not known yet."""
    if any(table.period_s <= 0.0 for table in tables):
        return 0.0
    round_s = sum([table.cost.expected_s(table.period_s) for table in tables]) / tracks
    span_s = _ROUNDS_AHEAD * max(round_s, *[table.period_s for table in tables])
    rates: dict[int, float] = {}
    for table in topological(tables):  # updates a second at most
        news = sum([rates[source.order] for source in table.sources]) or 1.0 / table.period_s
        alpha_s = table.cost.alpha_s
        rates[table.order] = min(news, 1.0 / alpha_s) if alpha_s > 0.0 else news
    return min(span_s, _MOST_AHEAD / sum(rates.values()))
