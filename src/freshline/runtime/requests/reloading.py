"""Whether a base table can be loaded again from its feed without losing rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial

from freshline.core.errors import UserError
from freshline.delta.loaded import is_of_feed
from freshline.project.model import Feed, Project
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.journal.store import Journal

Look = Callable[[], None]
"""Looks at a feed, and raises what is wrong; for any thread, since a store may hang."""


def check_reload(project: Project, journal: Journal, name: str) -> None:
    """Refuse to load a base table again when its feed no longer has all files that are in it.

    Raises:
        UserError: Some are gone (``files-gone``), or it reads a topic.
        PlatformError: The feed cannot be listed.
    """
    look = reload_look(project, journal, name)
    if look is not None:
        look()


def reload_look(project: Project, journal: Journal, name: str) -> Look | None:
    """As :func:`check_reload`, with the listing of the feed left to do.

    Feeds may delete what was loaded; the table is then the only place that has those rows.

    Returns:
        What is left to do: to list its feed, which raises as :func:`check_reload`; None: nothing.

    Raises:
        UserError: It reads a topic.
    """
    table = project.table(name)
    if table.feed is None:
        return None
    if project.feeds[table.feed].kind == "delta":
        return None  # all rows of its newest version are loaded
    if project.feeds[table.feed].kind == "kafka":
        raise UserError(
            "topic-reload",
            f"table {table.name} reads the topic of feed {table.feed} and cannot be loaded again",
            where=table.place,
            rule="a topic's retention may have removed what was loaded",
            next_step="Give a new table another name: it reads the topic from `starting:` on.",
        )
    kind = project.feeds[table.feed].kind
    loaded = {each for each in loaded_names(journal, table.name) if is_of_feed(kind, each)}
    return partial(_look, table.name, project.feeds[table.feed], loaded) if loaded else None


def loaded_names(journal: Journal, table: str) -> Iterator[str]:
    """What the journal says is in a table, of a feed of another kind that it read before, too."""
    query = "SELECT name FROM files WHERE table_name=? AND state='loaded'"
    return (row["name"] for row in journal.each(query, (table,)))


def _look(table: str, feed: Feed, loaded: Collection[str]) -> None:
    listing = FeedListing(feed)
    gone = set(loaded) - {file.name for file in listing.new_files()}
    if listing.sinks:  # a log that came later may not name files that were loaded: see `sinks.py`
        gone = {name for name in gone if not listing.exists(name)}
    if gone:
        example = min(gone)
        raise UserError(
            "files-gone",
            f"{len(gone)} of the {len(loaded)} files in table {table} are no longer in feed"
            f" {feed.name} ({example}{', ...' if len(gone) > 1 else ''})",
            rule="loading the table again would lose their rows",
            next_step="Put the files back, or refresh without --full.",
        )
