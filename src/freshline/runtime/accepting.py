"""What a base table depends on besides its updates: its own log, and the folder of its feed.

Others may drop the table, restore it or change its rows; the project may name another folder
for its feed. Files are known by their names, so either could hide rows for good. Then nothing
more is loaded until somebody chooses: ``freshline accept`` or ``freshline refresh --full``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from freshline.core.errors import PlatformError, UserError
from freshline.delta.log import CommitRecord, last_commit, last_update, table_id, version
from freshline.delta.standing import departure, of_others
from freshline.executor.source import Held
from freshline.project.model import Project, TableDef
from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.journal.writer import accept_changes


def feed_path(project: Project, table: TableDef) -> str:
    """Where a base table's files are, relative to the project where they are within it.

    A project that moves as a whole has the same feeds. Empty where there is no folder.
    """
    feed = project.feeds.get(table.feed or "")
    if table.kind != "base" or feed is None or feed.kind in ("kafka", "delta"):
        return ""
    inside = (
        os.path.commonpath([project.root, feed.path]) == str(project.root)
        if (
            "://" not in feed.path and os.path.isabs(feed.path)  # noqa: PTH117 - a text of the project
        )
        else False
    )
    return os.path.relpath(feed.path, project.root) if inside else feed.path.rstrip("/")


def moved_feed(
    project: Project, table: TableDef, row: Row | None, commit: CommitRecord | None
) -> UserError | None:
    """The error to refuse a start with whose feed is in another folder than before."""
    if commit is None:
        return None
    now, said = feed_path(project, table), commit.metadata.get("feed_path")
    before = (row["feed_path"] if row else None) or said
    if not now or not before or now in (before, said):
        return None  # the journal may lack a reload, and has what was accepted since the commit
    feed = project.feeds[table.feed or ""]
    return UserError(
        "feed-moved",
        f"feed {feed.name} of table {table.name} is at {now}, and what was loaded came from"
        f" {before}",
        where=feed.place,
        rule="files are known by their names: one that has the name of a loaded file is not loaded",
        next_step=f"`freshline accept {table.name}` says that the same files have moved;"
        f" `freshline refresh {table.name} --full` loads all that is there now in place of what"
        " was loaded. For other files beside the old ones declare another feed and table.",
    )


def left_behind(
    project: Project, rows: Mapping[str, Row], reloaded: Collection[str]
) -> UserError | None:
    """The error to refuse a start with that would load base tables anew under other names.

    A pipeline's dataset that shares its last name with one of another schema, or has several
    flows, is kept under another name than alone: what was loaded would stay behind, or be
    overwritten, while files that are gone, and records of before, are not loaded again.

    Args:
        project: The tables.
        rows: Of the journal, by table.
        reloaded: Tables that this run loads or computes again in full.

    Raises:
        PlatformError: A log cannot be read.
    """
    for former in dict.fromkeys(name for table in project.tables for name in table.former):
        row = rows.get(former)
        if row is not None and row["dropped"]:
            continue
        if project.has_table(former) and project.table(former).kind == "base":
            continue
        heirs = [table for table in project.tables if former in table.former]
        left = [table for table in heirs if _is_new(project, table, row, rows, reloaded)]
        if any(_is_loaded(project, table, rows) for table in heirs if table not in left):
            continue  # so the dataset goes on under the other names already
        if left and _was_loaded(project, former):
            names = " ".join(table.name for table in left)
            own = rows.get(left[0].name)
            is_new = "back" if own is not None and own["dropped"] else "new"
            return UserError(
                "loaded-elsewhere",
                f"table {left[0].name} is {is_new} and what was loaded is in table {former}:"
                " they are one dataset of the pipeline, as far as names tell",
                where=left[0].place,
                rule="a dataset has its schema in its name (bronze_orders) where another one has"
                " its last name, and one of several flows is a view over a table for each",
                next_step="Give what was added, or removed, another name or a table of its own."
                f" `freshline accept {names}` starts anew: from what the feeds have now.",
            )
    return None


def _is_new(
    project: Project,
    table: TableDef,
    former: Row | None,
    rows: Mapping[str, Row],
    reloaded: Collection[str],
) -> bool:
    """Whether nothing was loaded into a table so far, and nobody has said that this is meant.

    Likewise one that comes back: others have loaded under the former name since it left.
    """
    row = rows.get(table.name)
    if table.name in reloaded or (row is not None and row["accepted_version"] is not None):
        return False
    is_back = former is not None and row is not None and row["dropped"]
    return is_back or not _is_loaded(project, table, rows)


def _is_loaded(project: Project, table: TableDef, rows: Mapping[str, Row]) -> bool:
    row = rows.get(table.name)
    return (
        bool(row is not None and row["number"])
        or last_commit(project.table_path(table.name)) is not None
    )


def _was_loaded(project: Project, name: str) -> bool:
    """Whether a table, of the project or not, was last made as a base table from files or topics.

    What came from a Delta table is there still: whoever reads it begins with all of its rows.
    """
    commit = last_update(project.table_path(name))
    return (
        commit is not None
        and bool({"files", "offsets"} & commit.metadata.keys())
        and Held.in_commit(commit.metadata) is None
    )


def lost_standing(
    project: Project, table: TableDef, row: Row | None, commit: CommitRecord | None
) -> PlatformError | None:
    """Why no update should go into a table, as far as its log tells.

    Raises:
        PlatformError: The log cannot be read.
    """
    path = project.table_path(table.name)
    accepted = row["accepted_version"] if row else None
    if table.kind != "base":
        return None if commit is not None else of_others(table, path, accepted)
    filled = commit is not None or bool(row and row["number"])
    newest = version(path)
    found = None if newest is None else (newest, table_id(path, newest))
    kind = project.feeds[table.feed or ""].kind
    return departure(table, path, found, None, accepted, kind, filled=filled)


def version_to_read(
    project: Project, table: TableDef, row: Row | None, commit: CommitRecord | None
) -> int | None:
    """The version of a table that views read: of our newest commit, or what others made of it.

    That was accepted, and nothing may be loaded behind it for long: views would not show it. What
    they did later, and nobody accepted, does not undo it.

    Args:
        project: Of the table.
        table: Any of it.
        row: Of the journal.
        commit: Our newest.

    Raises:
        PlatformError: The table's log cannot be read.
    """
    ours = None if commit is None else commit.version
    accepted = row["accepted_version"] if row else None
    if table.kind != "base" or accepted is None or accepted < 0:
        return ours
    newest = version(project.table_path(table.name))
    is_there = newest is not None and accepted <= newest
    return max(-1 if ours is None else ours, accepted) if is_there else ours


def accept(project: Project, journal: Journal, table: TableDef) -> int:
    """Go on from what a base table has now, and from the folder and files its feed has now.

    Of a view: compute it over the rows of others that are in its place. The caller flushes the
    journal.

    Returns:
        The version that was accepted; -1: there is no table.

    Raises:
        UserError: It is a view in whose place are no rows of others (``not-a-base-table``).
        PlatformError: The table's log cannot be read.
    """
    path = project.table_path(table.name)
    if table.kind != "base" and of_others(table, path, None) is None:
        raise UserError(
            "not-a-base-table",
            f"{table.name} is a view",
            where=table.place,
            rule="a view is computed from its parents, whatever others did to it",
            next_step=f"To compute it again: `freshline refresh {table.name} --full`.",
        )
    newest = version(path)
    accepted = -1 if newest is None else newest
    journal.put(
        "tables",
        {"name": table.name},
        accepted_version=accepted,
        feed_path=feed_path(project, table) or None,
        failures=0,
        error=None,
    )
    accept_changes(journal, table.name)
    return accepted
