"""Which folders of an object store are listed at a look, where they are named by dates.

A store has no times of folders, and a request lists a thousand names. So after a year each look
at a feed would list a year. Where the folders beside each other are named by dates
(``day=2026-01-05``, ``2026/01/05``), new files come to the newest ones: those are listed at each
look, those that were not there before, and of the older ones one at a time, in turns, for what
comes late.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

NEWEST = 2
"""Folders at each level that every look lists: at midnight files come to both."""

_FEWEST = NEWEST + 2
"""Of fewer folders all are listed."""

_DIGITS = re.compile(r"\d")
_YEAR = r"(?:\w+=)?(?:19|20|21)\d\d"
_MORE = r"[-_T.]?[0-6]\d"
_DATE = re.compile(rf"{_YEAR}(?:{_MORE}){{0,5}}Z?\Z")
_PART = re.compile(r"(?:\w+=)?[0-6]\d\Z")
_AFTER_YEAR = re.compile(rf"(?:\A|.*/){_YEAR}(?:{_MORE})*Z?/(?:(?:\w+=)?[0-6]\d/)*\Z")


def are_dates(prefix: str, folders: Collection[str]) -> bool:
    """Whether folders sort by the time that their names tell.

    All are written alike, and begin with a year, or are parts of a year that they are in. Other
    numbers are not dates: to ``shard=07`` files may come at any time.

    Args:
        prefix: What they are in, from the feed on.
        folders: Their names.
    """
    if len({_DIGITS.sub("0", name) for name in folders}) != 1:
        return False
    form = _PART if _AFTER_YEAR.match(prefix) else _DATE
    return all(form.match(name) for name in folders)


class DatedFolders:
    """Chooses folders, and remembers whose turn it is among the older ones."""

    def __init__(self) -> None:
        self._turns: dict[str, str] = {}
        self._seen: dict[str, set[str]] = {}

    def chosen(
        self, prefix: str, folders: Sequence[str], wanted: Collection[str], *, everything: bool
    ) -> list[str]:
        """Those of the folders beside each other that are listed now.

        Args:
            prefix: What they are in.
            folders: Their names.
            wanted: Names of files, from the feed on, that are asked for.
            everything: List all of them.
        """
        new = set(folders) - self._seen.get(prefix, set())
        self._seen[prefix] = set(folders)
        if everything or len(folders) < _FEWEST or not are_dates(prefix, folders):
            return list(folders)
        ordered = sorted(folders)
        newest, older = ordered[-NEWEST:], ordered[:-NEWEST]
        last = self._turns.get(prefix, "")
        turn = max((name for name in older if not last or name < last), default=older[-1])
        self._turns[prefix] = turn
        asked = {name for name in older if any(w.startswith(f"{prefix}{name}/") for w in wanted)}
        return sorted({*newest, turn, *asked, *new})
