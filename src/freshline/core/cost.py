"""How long an update will take: E(delta) = alpha + beta * delta, given or learned.

Golab et al. 2011, 2.4: "We can estimate the values for alpha and beta from recently
observed execution times." Both stay >= 0, because an update that loads more never takes less
and a negative start-up time would make tiny updates look free.

The mean follows the newest updates, since a machine's speed changes; what more data costs is
a property of the table, so the slope about that mean is least squares over many more. It is held
back towards the first guess's as far as noise could have made it (ridge regression): of two
updates of about the same size the slower one would else say that all of the time is due to size,
one of ten times as much would look ten times as dear, and a policy that divides by seconds would
never start the update that could tell (docs/design/0007).
"""

from __future__ import annotations

from dataclasses import dataclass

_MEMORY = 0.9
"""What a sample's weight is multiplied by at each later one: half its weight after 7."""

_SLOPE_MEMORY = 0.98
"""The same for what it says of the slope: half after 34."""

_PRIOR_WEIGHT = 0.5
"""The first guess counts as half a sample, so that two updates outweigh it."""

_NOISE_SAMPLES = 4.0
"""Before anything was measured like updates may differ by their mean (in a cold JVM, beside other
updates); that guess counts as so many samples against the differences that are seen."""


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
        "_guessed_beta",
        "_slope_weight",
        "_weight",
        "_x",
        "_xx",
        "_xy",
        "_y",
        "_yy",
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
        self._guessed_beta = beta
        self._weight = self._x = self._y = 0.0  # x, y: means of amounts and of seconds
        self._slope_weight = self._xx = self._xy = self._yy = 0.0  # about the means

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
            self._guessed_beta = self.beta  # or what a former run learned
            self._weight, self._x, self._y = _PRIOR_WEIGHT, amount_s, predicted_s
        self.samples += 1
        self._weight = _MEMORY * self._weight + 1.0
        before_x, before_y = amount_s - self._x, seconds - self._y
        self._x += before_x / self._weight
        self._y += before_y / self._weight
        self._slope_weight = _SLOPE_MEMORY * self._slope_weight + 1.0
        self._xx = _SLOPE_MEMORY * self._xx + before_x * (amount_s - self._x)
        self._xy = _SLOPE_MEMORY * self._xy + before_x * (seconds - self._y)
        self._yy = _SLOPE_MEMORY * self._yy + before_y * (seconds - self._y)
        self._fit()

    def statistics(self) -> CostStatistics:
        """What is known now."""
        return CostStatistics(
            self.alpha_s, self.beta, self.samples, self.error_ratio, self.bias_ratio
        )

    def _fit(self) -> None:
        x, y, xx, xy = self._x, self._y, self._xx, self._xy
        left_yy = max(0.0, self._yy - xy * xy / xx) if xx > 0.0 else self._yy
        noise_yy = (_NOISE_SAMPLES * y * y + left_yy) / (_NOISE_SAMPLES + self._slope_weight)
        # Held as by one look at what noise is to a slope that explains all of the mean.
        held = noise_yy * x * x
        told = y * y * xx + held
        slope = (y * y * xy + held * self._guessed_beta) / told if told > 0.0 else 0.0
        slope = max(0.0, slope)
        start = y - slope * x
        if start < 0.0:  # a line through the origin
            start = 0.0
            slope = y / x if x > 0.0 else 0.0
        self.alpha_s, self.beta = start, slope
