"""How much of a long list is tried: a part in every run of the tests, all when asked for.

An update of a view takes a second or two, a death of a warehouse a third of a minute, and there
are hundreds. What analysis and Spark say of a view is checked for each of them every time.
``FRESHLINE_PROOF=all`` (``make proof``) tries all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

WHOLE = os.environ.get("FRESHLINE_PROOF") == "all"


def share(items: Sequence[T], *, part: int, always: Iterable[T] = (), first: int = 0) -> list[T]:
    """All of ``items``, or one of ``part`` and those that are needed in any case; in their order.

    Args:
        items: No two of them alike.
        part: How many stand for one that is tried.
        always: Those that others depend on.
        first: Where to begin counting.
    """
    if WHOLE:
        return list(items)
    wanted = [*items[first::part], *always]
    return [item for item in items if item in wanted]
