"""The result of a view's trial: the record that Spark's side returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["passed", "failed", "undecided", "not-needed"]


UNTRIED = "untried"
TRIAL_FAILED = "trial-failed"
"""Codes of full updates of views whose strategies are not trusted."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What is known of a view's trial when an update of it starts.

    Attributes:
        key: Of what was tried: query, parents' columns, settings, our version; "": nothing was.
        outcome: Of that trial.
    """

    key: str = ""
    outcome: Outcome = "undecided"

    def objection(self, key: str) -> str | None:
        """Why a view must be computed in full; None: its strategies are trusted.

        Args:
            key: Of the view as it is now.
        """
        if self.key != key:
            return UNTRIED
        return TRIAL_FAILED if self.outcome == "failed" else None


@dataclass(frozen=True, slots=True)
class Difference:
    """One step after which a view did not hold what its query gives.

    Attributes:
        strategy: That made the view's version.
        code: Its code.
        step: From 0.
        missing: Rows of the query that the view lacks, at most ten.
        extra: Rows of the view that the query does not give, at most ten.
        error: What the update raised instead of making a version; "": it made one.
    """

    strategy: str
    code: str
    step: int
    missing: tuple[tuple[Any, ...], ...] = ()
    extra: tuple[tuple[Any, ...], ...] = ()
    error: str = ""

    @property
    def message(self) -> str:
        """In words."""
        if self.error:
            return f"{self.strategy} failed at step {self.step}: {self.error}"
        return (
            f"after step {self.step} {self.strategy} gave another result than the query:"
            f" missing {list(self.missing[:1])}, extra {list(self.extra[:1])}"
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one trial.

    Attributes:
        outcome: passed; failed: a strategy gave another result than the query; undecided: the
            query itself fails on every kind of generated input, or depends on the order of rows;
            not-needed: the view is computed in full whatever its trial says.
        compared: Versions compared with the query, by strategy.
        steps: How many were made.
        seconds: What it took.
        reason: In words, for every outcome but passed.
        difference: Where it failed.
        evidence: Folder that holds the case; "": none was written.
        key: Of what was tried, see :class:`Trust`; "" where nobody keeps the verdict.
    """

    outcome: Outcome
    compared: Mapping[str, int] = field(default_factory=dict)
    steps: int = 0
    seconds: float = 0.0
    reason: str = ""
    difference: Difference | None = None
    evidence: str = ""
    key: str = ""

    def record(self) -> dict[str, Any]:
        """As JSON."""
        record: dict[str, Any] = {
            "outcome": self.outcome,
            "compared": dict(self.compared),
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "reason": self.reason or None,
            "evidence": self.evidence or None,
        }
        if self.difference is not None:
            record["strategy"] = self.difference.strategy
            record["missing"] = [list(map(str, row)) for row in self.difference.missing]
            record["extra"] = [list(map(str, row)) for row in self.difference.extra]
        return record
