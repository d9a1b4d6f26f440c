"""How many of the views are updated: a part in every run of the tests, all when asked for.

An update takes a second or two, and all of them are some five hundred. What analysis and Spark
say of a view is checked for each of them every time; so is, by DuckDB, what follows from it.
``FRESHLINE_VIEWS=all`` updates all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
_PART = 3


def share(items: Sequence[T], *, always: Iterable[T] = (), first: int = 0) -> list[T]:
    """All of ``items``, or every third and those that are needed in any case; in their order.

    Args:
        items: No two of them alike.
        always: Those that others depend on.
        first: Where to begin counting.
    """
    if os.environ.get("FRESHLINE_VIEWS") == "all":
        return list(items)
    wanted = [*items[first::_PART], *always]
    return [item for item in items if item in wanted]
