"""What a view's updates cost by each strategy: estimated from sizes, learned from its updates.

Seconds by the clock, from the request to the end of the commit: what is scarce is a track's
time, and a strategy with less work for the processors in more Spark jobs holds it longer. Each is
alpha + beta * MB: of what changed for incremental strategies, of all that the parents hold for a
computation in full. The guesses are those of small views on two cores (docs/design/0132); what is
not measured yet is guessed from them and from how much longer than guessed this view's own updates
took. The first update of a strategy is not learned from if it cut a large file in two, which later
ones need not do again (docs/design/0014). What an update took beyond its guess is laid to start-up
and to size by what either can be out: start-up is the machine's and about the same for all queries,
a megabyte of one query can cost many times one of another. So a slow machine does not make the
strategy look good that was never tried, and a full update that is slow by its size does not make
merging look dear.

What was learned goes into every commit of the view, and from there into the next process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from freshline.core.cost import LearnedCost

BUILD = "build"
"""Under this name the update is learned that builds the state for merging from all rows."""

_GUESSES: Mapping[str, tuple[float, float]] = {
    "append": (0.06, 0.003),
    "bucket-recompute": (0.18, 0.003),
    "bucket-merge": (0.3, 0.003),
    "group-merge": (0.3, 0.003),
    "group-recompute": (0.18, 0.003),
    "key-recompute": (0.18, 0.003),
    BUILD: (0.3, 0.0045),
    "full": (0.09, 0.003),
}
"""Seconds, and seconds a MB."""

_INTO_VIEW: Mapping[str, tuple[float, float]] = {
    "bucket-merge": (0.12, 0.003),
    "group-merge": (0.13, 0.003),
}
"""The same where the view is its own state."""

_JOINING: Mapping[str, tuple[float, float]] = {"append": (0.12, 0.003)}
"""The same where new rows are joined with the rows of other parents."""

_BYTES_PER_MB = 1e6
_OF_ALL = ("full", BUILD)
_NEWS = 0.3
"""Weight of an update in the scale."""

_SCALES = (0.1, 30.0)
_START_OUT, _SIZE_OUT = 0.4, 1.0
"""Of the guesses: by so much of themselves start-up and what size costs are out."""

_FOR_TRIALS = 0.05
"""Of the seconds that updates take so many may go into trying what seems dearer."""

_COULD_WIN = 3.0
"""Times as dear as the best, and a strategy is not tried: no estimate here is so far out."""

_FIRST_GAP, _LONGEST_GAP = 8, 256
"""Updates between two trials of a strategy; twice as many after each."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What one update would read: bytes of files, a row counted as a few at least.

    Attributes:
        changed_bytes: What changed in the parents.
        whole_bytes: All that they hold; None: not known, so taken for large.
    """

    changed_bytes: int = 0
    whole_bytes: int | None = None

    def of(self, strategy: str) -> int | None:
        """Bytes that this strategy's cost grows with."""
        return self.whole_bytes if strategy in _OF_ALL else self.changed_bytes


class Costs:
    """What one view's updates took, and what they should take.

    Args:
        facts: What :attr:`facts` were at the view's last commit; None: nothing is known.
    """

    def __init__(self, facts: Mapping[str, Any] | None = None) -> None:
        facts = facts or {}
        self._scale = float(facts.get("scale", 1.0))
        self._size_scale = float(facts.get("size_scale", self._scale))
        self._allowance_s = float(facts.get("allowance_s", 0.0))
        self._rent_s = float(facts.get("rent_s", 0.0))
        self._learned: dict[str, LearnedCost] = {}
        self._samples: dict[str, int] = {}
        for name, (alpha_s, beta, samples) in facts.get("learned", {}).items():
            self._learned[name] = LearnedCost(alpha_s, beta)
            self._samples[name] = samples
        self._left_out = set(facts.get("left_out", ()))
        self._updates = int(facts.get("updates", 0))
        self._gaps: dict[str, int] = dict(facts.get("gaps", {}))
        self._tried: dict[str, int] = dict(facts.get("tried", {}))
        self._guesses = _GUESSES

    def guess_for(self, *, own_state: bool, joins: bool = False) -> None:
        """Guess by what an update does.

        Args:
            own_state: Merging is into the view itself, not into a state beside it.
            joins: Appending joins the new rows with all rows of other parents.
        """
        self._guesses = {
            **_GUESSES,
            **(_INTO_VIEW if own_state else {}),
            **(_JOINING if joins else {}),
        }

    @property
    def facts(self) -> dict[str, Any]:
        """All of it for the commit's metadata."""
        return {
            "learned": {
                name: [round(cost.alpha_s, 4), round(cost.beta, 5), self._samples[name]]
                for name, cost in self._learned.items()
            },
            "scale": round(self._scale, 3),
            "size_scale": round(self._size_scale, 3),
            "allowance_s": round(self._allowance_s, 4),
            "rent_s": round(self._rent_s, 4),
            "left_out": sorted(self._left_out),
            "updates": self._updates,
            "gaps": dict(self._gaps),
            "tried": dict(self._tried),
        }

    def note(self, strategy: str, sizes: Sizes, seconds: float, *, cuts: bool = False) -> None:
        """Take one finished update into account.

        Args:
            strategy: Which it was made by.
            sizes: What it read.
            seconds: By the clock.
            cuts: It divided a large file in two; later updates rewrite only one of the parts.
        """
        self._updates += 1
        self._allowance_s += _FOR_TRIALS * seconds
        if cuts and strategy not in self._learned and strategy not in self._left_out:
            self._left_out.add(strategy)
            return
        self._tried[strategy] = self._updates
        size_bytes = sizes.of(strategy)
        if size_bytes is None:
            return
        amount = size_bytes / _BYTES_PER_MB
        alpha_s, beta = self._guesses[strategy]
        start, size = _scales(alpha_s, beta * amount, seconds)
        news = _NEWS if self._learned else 1.0
        self._scale += news * (start - self._scale)
        self._size_scale += news * (size - self._size_scale)
        if strategy not in self._learned:
            self._learned[strategy] = LearnedCost(start * alpha_s, size * beta)
        self._learned[strategy].learn(amount, seconds)
        self._samples[strategy] = self.samples(strategy) + 1

    def samples(self, strategy: str) -> int:
        """How many updates were noted."""
        return self._samples.get(strategy, 0)

    def measured_s(self, strategy: str, sizes: Sizes) -> float | None:
        """Seconds that an update should take; None where none was noted yet."""
        return self.expected_s(strategy, sizes) if strategy in self._learned else None

    def expected_s(self, strategy: str, sizes: Sizes) -> float | None:
        """Seconds that an update should take, measured or guessed; None: of unknown size."""
        size_bytes = sizes.of(strategy)
        if size_bytes is None:
            return None
        amount = size_bytes / _BYTES_PER_MB
        learned = self._learned.get(strategy)
        if learned is not None:
            return learned.expected_s(amount)
        alpha_s, beta = self._guesses[strategy]
        return self._scale * alpha_s + self._size_scale * beta * amount

    def told_s(self, strategies: Iterable[str], sizes: Sizes) -> dict[str, float]:
        """The same for each of these strategies of which it is known, as commits tell it."""
        expected = {name: self.expected_s(name, sizes) for name in strategies}
        return {name: round(each, 3) for name, each in expected.items() if each is not None}

    def state_is_worth_building(self, merging: str, sizes: Sizes, without_s: float) -> bool:
        """Whether to build a state now, where updates do without one.

        It is worth it once the seconds that merging would have saved add up to the extra seconds
        that building takes. Waiting until then costs at most about twice the best choice in
        hindsight (the break-even rule of renting or buying).

        Args:
            merging: The strategy that wants the state.
            sizes: Of the next update.
            without_s: What it should take without a state.
        """
        merge_s, build_s = self.expected_s(merging, sizes), self.expected_s(BUILD, sizes)
        if merge_s is None or build_s is None:
            return True
        self._rent_s = max(0.0, self._rent_s + without_s - merge_s)
        # As dear as an update that merges at the least: it ends like one.
        if without_s <= merge_s or self._rent_s < max(build_s - without_s, merge_s / 2):
            return False
        self._rent_s = 0.0
        return True

    def should_try(self, strategy: str, seconds: float, best_s: float) -> bool:
        """Whether to try a strategy that is expected to be dearer than the best.

        Now and then, rarer each time that it was in vain, and never for more than a twentieth
        of what all updates took: what was measured long ago, or never, can be wrong.

        Args:
            strategy: The dearer one.
            seconds: What it should take.
            best_s: What the best should take.
        """
        gap = self._gaps.get(strategy, _FIRST_GAP)
        extra_s = max(0.0, seconds - best_s)
        if (
            self._updates - self._tried.get(strategy, 0) < gap
            or seconds > _COULD_WIN * best_s
            or extra_s > self._allowance_s
        ):
            return False
        self._allowance_s = max(0.0, self._allowance_s - extra_s)
        self._gaps[strategy] = min(_LONGEST_GAP, 2 * gap)
        return True

    def is_best(self, strategy: str) -> None:
        """A strategy is the best now: should it lose again, it is tried again soon."""
        self._gaps.pop(strategy, None)


def _scales(start_s: float, size_s: float, seconds: float) -> tuple[float, float]:
    """Of an update of so many seconds: start-up and what its size cost, as times of their guesses.

    Args:
        start_s: Guessed for start-up.
        size_s: Guessed for size.
        seconds: What it took.
    """
    out_start, out_size = (_START_OUT * start_s) ** 2, (_SIZE_OUT * size_s) ** 2
    beyond_s = seconds - start_s - size_s
    share = out_start / (out_start + out_size)
    start = 1.0 + beyond_s * share / start_s
    size = 1.0 + beyond_s * (1.0 - share) / size_s if size_s > 0.0 else start
    # Where size is next to nothing the machine's speed is what is seen: it is that of both.
    size = max(size, start) if beyond_s > 0.0 else min(size, start)
    least, most = _SCALES
    return min(max(start, least), most), min(max(size, least), most)
