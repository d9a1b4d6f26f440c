"""What a view's updates cost, as freshline explain shows it."""

from __future__ import annotations

from typing import Any

from freshline.delta.log import CommitRecord
from freshline.render.output import counted


def costs_told(commit: CommitRecord | None) -> dict[str, Any] | None:
    """What the view's updates took by its last commit, and what was expected of that one.

    None: nothing was measured yet. Seconds, and seconds a megabyte.
    """
    facts = {} if commit is None else commit.metadata
    learned = facts.get("costs", {}).get("learned", {})
    if not learned and "expected_s" not in facts:
        return None
    return {
        "learned": {
            name: {"start_s": start_s, "s_per_mb": per_mb_s, "updates": updates}
            for name, (start_s, per_mb_s, updates) in learned.items()
        },
        "last_strategy": facts.get("strategy"),
        "last_expected_s": facts.get("expected_s", {}),
    }


def cost_lines(learned: dict[str, Any] | None) -> list[str]:
    """The same in lines; none where nothing was measured."""
    if learned is None:
        return []
    lines = [
        f"cost: {name} {cost['start_s']:.2f} s plus {cost['s_per_mb']:.3f} s per MB, learned from"
        f" {counted(cost['updates'], 'update')}"
        for name, cost in learned["learned"].items()
    ]
    if learned["last_expected_s"]:
        expected: dict[str, float] = learned["last_expected_s"]
        seconds = ", ".join(f"{name} {each:.2f} s" for name, each in expected.items())
        lines.append(f"last update: {learned['last_strategy']}; estimates: {seconds}")
    return lines
