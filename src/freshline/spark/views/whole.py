"""Which views are so small that merging writes them as a whole.

Which groups the changes touch takes a job to find out; to write a few thousand rows more takes
less. The change feed tells only the rows that differ either way.
"""

from __future__ import annotations

from freshline.spark.commits.selection import ALL, Selection
from freshline.spark.engine.sizing import known_bytes
from freshline.spark.views.groups import Scope
from freshline.spark.views.incremental import Increment

WHOLE_BYTES = 256 * 1024
"""Of the view's files, and its state's where one stands beside it (docs/design/0130)."""

EVERYTHING = Scope(Selection(ALL), Selection(ALL))
"""All groups."""


def is_small(increment: Increment, *beside: tuple[str, int]) -> bool:
    """Whether the view, with the tables beside it, is written as a whole.

    Of a trial's views, all of them small, every other update writes groups alone.

    Args:
        increment: The update.
        beside: Path and version of each state.
    """
    if increment.is_trial and increment.request.number % 2:
        return False
    view = (increment.project.table_path(increment.table.name), increment.transaction.version)
    size_bytes = known_bytes((view, *beside))
    return size_bytes is not None and size_bytes <= WHOLE_BYTES
