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

Drawn from `freshline.core.aus.modes.TRANSITIONS` by `scripts/draw_modes.py`; do not edit.

Under `policy: aus` a table does not update whenever there is something new: its updates are
*released* at distances, one file each, and run in the order of their deadlines. In *normal* and
*waiting* mode the distance is p, the table's period. A table that is late, after an outage say,
has a backlog; released at once it would keep everybody else from the tracks. So it waits until the
tracks have that much to spare (rule 6), and then goes into *recovery*, where the distance is p^r,
shorter than p: it catches up, and nobody else's bound on staleness breaks. Then it is *caught up*,
and soon normal again. Only the two distances exist (Leontyev et al. 2009, section III; the paper
calls the ways there and back rules RN and NR).

`scheduler.recovery` says how p^r is chosen: `average` (the default; every late table alone, by
mean costs), `worst` (by the costs at worst), `simultaneous` (for all tables late at once).

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
