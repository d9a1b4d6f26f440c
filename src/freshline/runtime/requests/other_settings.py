"""Views that were made under other settings of Spark than those of the run that starts.

Their rows are those of the former settings, and stay it where nothing new arrives. Which settings
hold is known once Spark is there; so they are marked then, before the first update.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from freshline.core.events import Event, TableRestored
from freshline.executor.named import HasSettings
from freshline.project.names import listed
from freshline.runtime.notices import Hears


def with_rebuilt(
    first: Sequence[Event], made: Mapping[str, Mapping[str, Any]], executor: object, hears: Hears
) -> list[Event]:
    """The first events of a run, among them that these views are to be computed in full.

    Args:
        first: The events so far.
        made: What the last commits of the run's views say, by view.
        executor: Where Spark is; one that knows of no settings changes nothing.
        hears: Told of the views.
    """
    if not (made and isinstance(executor, HasSettings)):
        return [*first]
    others = set(executor.made_otherwise(made))
    if others:
        views = "1 view is" if len(others) == 1 else f"{len(others):,} views are"
        hears.notice(
            f"{views} rebuilt, since settings of Spark that decide rows have changed:"
            f" {listed(sorted(others))}"
        )
    return [
        dataclasses.replace(event, stale=True)
        if isinstance(event, TableRestored) and event.table in others
        else event
        for event in first
    ]
