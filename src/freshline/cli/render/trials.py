"""How trials of views ended, as ``freshline validate --try`` prints it."""

from __future__ import annotations

from collections.abc import Mapping

from freshline.cli.render.output import counted
from freshline.executor.trials import Verdict


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
