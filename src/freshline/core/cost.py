"""How long an update will take: E(delta) = alpha + beta * delta, given or learned.

Golab et al. 2011, 2.4: "We can estimate the values for alpha and beta from recently
observed execution times." Learning is least squares over the updates seen, each older one
counting less, kept in five sums; both parameters stay >= 0, because an update that loads
more never takes less and a negative start-up time would make tiny updates look free.
"""

from __future__ import annotations

from dataclasses import dataclass

_MEMORY = 0.9
"""What a sample's weight is multiplied by at each later one: half its weight after 7."""

_PRIOR_WEIGHT = 0.5
"""The first guess counts as half a sample, so that two updates outweigh it."""


@dataclass(frozen=True, slots=True)
class CostStatistics:
    """What was learned of one table's costs.

    Attributes:
        alpha_s: Start-up seconds.
        beta: Seconds per second of feed time.
        samples: Updates learned from.
        error_ratio: Mean of |actual - predicted| / actual, newer updates counting more.
        bias_ratio: Mean of (actual - predicted) / actual: positive where updates take longer.
    """

    alpha_s: float
    beta: float
    samples: int
    error_ratio: float
    bias_ratio: float


class LearnedCost:
    """alpha and beta of one table; constant until ``learn`` is called."""

    __slots__ = (
        "_w",
        "_x",
        "_xx",
        "_xy",
        "_y",
        "alpha_s",
        "beta",
        "bias_ratio",
        "error_ratio",
        "samples",
    )

    def __init__(self, alpha_s: float, beta: float) -> None:
        self.alpha_s = alpha_s
        self.beta = beta
        self.samples = 0
        self.error_ratio = 0.0
        self.bias_ratio = 0.0
        self._w = self._x = self._y = self._xx = self._xy = 0.0

    def expected_s(self, amount_s: float) -> float:
        """Seconds that an update of ``amount_s`` seconds of feed time should take."""
        return self.alpha_s + self.beta * amount_s

    def learn(self, amount_s: float, seconds: float) -> None:
        """Take one finished update into account.

        Args:
            amount_s: Feed time loaded, seconds.
            seconds: What it took.
        """
        predicted_s = self.expected_s(amount_s)
        if seconds > 0.0 and self.samples > 0:
            miss = (seconds - predicted_s) / seconds
            share = 1.0 if self.samples == 1 else 1.0 - _MEMORY
            self.error_ratio += share * (abs(miss) - self.error_ratio)
            self.bias_ratio += share * (miss - self.bias_ratio)
        if self.samples == 0:
            self._add(_PRIOR_WEIGHT, amount_s, predicted_s)
        self.samples += 1
        self._w *= _MEMORY
        self._x *= _MEMORY
        self._y *= _MEMORY
        self._xx *= _MEMORY
        self._xy *= _MEMORY
        self._add(1.0, amount_s, seconds)
        self._fit()

    def statistics(self) -> CostStatistics:
        """What is known now."""
        return CostStatistics(
            self.alpha_s, self.beta, self.samples, self.error_ratio, self.bias_ratio
        )

    def _add(self, weight: float, amount_s: float, seconds: float) -> None:
        self._w += weight
        self._x += weight * amount_s
        self._y += weight * seconds
        self._xx += weight * amount_s * amount_s
        self._xy += weight * amount_s * seconds

    def _fit(self) -> None:
        mean_x, mean_y = self._x / self._w, self._y / self._w
        spread = self._xx / self._w - mean_x * mean_x
        # Amounts that hardly differ say nothing about the slope: noise would be taken for it.
        if spread <= 1e-3 * mean_x * mean_x or spread <= 0.0:
            slope = self.beta if mean_y - self.beta * mean_x >= 0.0 else 0.0
        else:
            slope = (self._xy / self._w - mean_x * mean_y) / spread
        slope = max(0.0, slope)
        start = mean_y - slope * mean_x
        if start < 0.0:  # the best line through the origin
            start = 0.0
            slope = self._xy / self._xx if self._xx > 0.0 else 0.0
        self.alpha_s, self.beta = start, slope
