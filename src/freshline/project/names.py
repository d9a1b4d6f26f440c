"""Names: which ones a table or feed may have, and the one that was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from freshline.sql.text.reads import quoted

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
RULE = "a name is letters from A to Z, digits and _, and does not start with a digit"
REJECTED_SUFFIX = "__rejected"
OWN_PREFIX = "_freshline"
_LISTED = 15
FILE_FORMATS = frozenset(
    {"avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text", "xml"}
)
"""With one of these in front a name is the path of files, for Spark, too: ``delta.`data` ``."""
_LONGEST = 200
"""With what is put behind a name it still is a folder's, of 255 bytes at most."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a table's name without catalog or schema belongs to."""

    catalog: str = "spark_catalog"
    database: str = "default"

    def full(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Catalog, schema and name."""
        if len(parts) == 1:
            return (self.catalog, self.database, *parts)
        return (self.catalog, *parts) if len(parts) == 2 else parts  # noqa: PLR2004 - schema, name

    def whole(self, parts: tuple[str, ...]) -> str | None:
        """The whole name of a table outside the pipeline; None: a session of Spark's knows it."""
        is_path = len(parts) > 1 and parts[-2].lower() in FILE_FORMATS
        if is_path or "/" in parts[-1] or len(parts) > 2:  # noqa: PLR2004 - a whole name
            return None
        in_other = len(parts) == 1 and self.database.lower() != Scope().database
        if not in_other and self.catalog.lower() == Scope().catalog:
            return None
        return dotted(self.full(parts))


def dotted(parts: Iterable[str]) -> str:
    """A name of several parts as one writes it: backquotes only where they are needed."""
    return ".".join(map(quoted, parts))


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
