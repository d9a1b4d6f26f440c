"""Names: which ones a table or feed may have, and the one that was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
RULE = "a name is letters from A to Z, digits and _, and does not start with a digit"
REJECTED_SUFFIX = "__rejected"
OWN_PREFIX = "_freshline"
_LISTED = 15
_LONGEST = 200
"""With what is put behind a name it still is a folder's, of 255 bytes at most."""


def name_fault(name: str) -> str | None:
    """The rule that ``name`` breaks as a name of a table or feed, or None."""
    if not _IDENTIFIER.match(name):
        return RULE
    if len(name) > _LONGEST:
        return f"a name has at most {_LONGEST} characters, since it names a folder"
    if name.lower().endswith(REJECTED_SUFFIX):
        return f"names ending in {REJECTED_SUFFIX} are kept for rows that do not fit a schema"
    if name.lower().startswith(OWN_PREFIX):
        return f"names starting with {OWN_PREFIX} are kept for freshline's own files"
    return None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like ``name``, or None when none does.

    The only one that starts with it wins: shortened names are the commonest slip.
    """
    by_lower = {each.lower(): each for each in known}
    longer = [each for lower, each in by_lower.items() if name and lower.startswith(name.lower())]
    if len(longer) == 1:
        return longer[0]
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def listed(names: Iterable[str]) -> str:
    """``a, b, c``, or ``none``; of a long list the first dozen and how many more."""
    every = list(names)
    if len(every) > _LISTED:
        return f"{', '.join(every[:_LISTED])} and {len(every) - _LISTED} more"
    return ", ".join(every) or "none"


def correction(name: str, known: Iterable[str], otherwise: str) -> str:
    """The next step for an unknown name: the nearest known one, or ``otherwise``."""
    close = nearest(name, known)
    return f"Did you mean {close}?" if close else otherwise


def rejected_name(table: str) -> str:
    """The name of a table's table of rejected rows."""
    return f"{table}__rejected"
