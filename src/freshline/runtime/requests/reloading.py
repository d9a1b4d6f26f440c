"""Whether a base table can be loaded again from its feed without losing rows."""

from __future__ import annotations

from freshline.core.errors import UserError
from freshline.delta.loaded import is_of_feed
from freshline.project.model import Project
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.journal.store import Journal


def check_reload(project: Project, journal: Journal, name: str) -> None:
    """Refuse to load a base table anew when files that are in it are gone from its feed.

    Feeds may delete what was loaded; the table is then the only place that has those rows.

    Raises:
        UserError: Some are gone (``files-gone``).
        PlatformError: The feed cannot be listed.
    """
    table = project.table(name)
    if table.feed is None:
        return
    if project.feeds[table.feed].kind == "delta":
        return  # all rows of its newest version are loaded
    if project.feeds[table.feed].kind == "kafka":
        raise UserError(
            "topic-reload",
            f"table {table.name} reads the topic of feed {table.feed} and cannot be loaded again",
            where=table.place,
            rule="a topic's retention may have removed what was loaded",
            next_step="Give a new table another name: it reads the topic from `starting:` on.",
        )
    loaded = {
        row["name"]
        for row in journal.each(
            "SELECT name FROM files WHERE table_name=? AND state='loaded'", (table.name,)
        )
        if is_of_feed(project.feeds[table.feed].kind, row["name"])
    }
    if not loaded:
        return
    gone = loaded - {file.name for file in FeedListing(project.feeds[table.feed]).new_files()}
    if gone:
        example = min(gone)
        raise UserError(
            "files-gone",
            f"{len(gone)} of the {len(loaded)} files in table {table.name} are no longer in feed"
            f" {table.feed} ({example}{', ...' if len(gone) > 1 else ''})",
            rule="loading the table again would lose their rows",
            next_step="Put the files back, or refresh without --full.",
        )
