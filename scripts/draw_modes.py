"""Draw the state machine of the adaptive scheduler from its transition table.

``.venv/bin/python scripts/draw_modes.py`` writes docs/aus-modes.md; with ``--check`` it only
compares. The picture is a Mermaid diagram: text, so a change of the machine shows in the diff.
"""

from __future__ import annotations

import sys
from pathlib import Path

from freshline.core.aus.modes import TRANSITIONS, Mode

PAGE = Path(__file__).parents[1] / "docs" / "aus-modes.md"

_HEAD = """\
# Modes of the adaptive update scheduler

Drawn from `freshline.core.aus.modes.TRANSITIONS` by `scripts/draw_modes.py`; do not edit. Only two
periods exist: in *normal* and *waiting* a table's updates are released every p, in *recovery* and
*caught up* every p^r (Leontyev et al. 2009, section III, rules RN and NR).

"""


def page() -> str:
    """The whole page."""
    names = {mode: mode.name.lower() for mode in Mode}
    lines = ["stateDiagram-v2", f"    [*] --> {names[Mode.NORMAL]}"]
    periods = {"normal": "p", "recovery": "p^r"}
    lines += [
        f'    state "{mode.value}: every {periods[mode.two]}" as {name}'
        for mode, name in names.items()
    ]
    lines += [
        f"    {names[before]} --> {names[after]}: {signal.value}"
        for (before, signal), after in TRANSITIONS.items()
    ]
    return _HEAD + "\n".join(["```mermaid", *lines, "```", ""])


def main() -> int:
    """Write the page, or compare it with the one that is there."""
    if "--check" in sys.argv:
        return 0 if PAGE.read_text(encoding="utf-8") == page() else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
