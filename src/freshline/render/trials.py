"""How trials of views ended, for ``freshline validate --try``, ``status`` and ``explain``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from freshline.executor.trials import Verdict
from freshline.render.output import counted, moment
from freshline.runtime.journal.trials import Tried


def trial_lines(trials: Mapping[str, Verdict]) -> list[str]:
    """One line for each view, and one more where the case of a failure was kept."""
    lines = []
    for name, verdict in trials.items():
        lines.append(f"trial of {name}: {_ending(verdict)}")
        if verdict.evidence:
            lines.append(f"  the case is kept in {verdict.evidence}")
    return lines


def _ending(verdict: Verdict) -> str:
    if verdict.outcome == "passed":
        strategies = ", ".join(f"{name} {count}" for name, count in verdict.compared.items())
        return f"passed {counted(verdict.steps, 'step')} in {verdict.seconds:.1f} s ({strategies})"
    return f"{verdict.outcome}: {verdict.reason}"


def trial_record(tried: Tried) -> dict[str, Any]:
    """The last trial of a view as JSON."""
    return {
        "outcome": tried.trust.outcome,
        "at": moment(tried.at_s),
        "seconds": round(tried.seconds, 3),
        "compared": dict(tried.compared),
        "reason": tried.reason or None,
        "evidence": tried.evidence or None,
    }


def trial_remarks(name: str, tried: Tried | None) -> Iterator[str]:
    """What people should know of a view's trial: that it failed, or could not be judged."""
    if tried is None or tried.trust.outcome in ("passed", "not-needed"):
        return
    if tried.failed:
        kept = f"; the case is kept in {tried.evidence}" if tried.evidence else ""
        yield f"{name}: computed in full, since its trial failed: {tried.reason}{kept}"
    else:
        yield f"{name}: its strategies could not be tried: {tried.reason}"
