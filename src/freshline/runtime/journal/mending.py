"""Before a run starts: tables that a power cut has torn are put back to their newest whole version.

What is missing then is made again as after any crash (:mod:`.recovery`): files are loaded again,
views are computed again. Where that could lose rows, the table is left as it is, and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from freshline.core.errors import PlatformError
from freshline.delta.stores import arrow_store
from freshline.delta.torn import (
    Torn,
    find_torn,
    mend_checkpoint,
    own_tables,
    put_aside,
    tables_of_reports,
)
from freshline.project.model import Project, TableDef
from freshline.runtime.journal.paths import own_folder
from freshline.runtime.journal.store import Journal


def mend(
    project: Project,
    asked: Iterable[str] = (),
    reopen: Callable[[str, int], None] = lambda *_: None,
) -> list[str]:
    """Check the newest commits of every table on this machine, and put back what is torn.

    Only for the one process that runs the warehouse, while no update runs.

    Args:
        project: Its tables and reports.
        asked: Reports that the project does not have, since somebody asked for them once.
        reopen: Told of a report, and from which version on it is put back, before it is: what was
            told to be done is to do again.

    Returns:
        What people should hear, a sentence each.

    Raises:
        PlatformError: A log cannot be read, or the disk failed.
    """
    places: list[tuple[TableDef | None, str]] = []
    for table in project.tables:
        places.append((table, project.table_path(table.name)))
        places += ((None, place) for place in own_tables(project, table.name))
    reports = {each.name for each in project.reports}
    reports |= {name for name in asked if not project.has_table(name)}
    places += ((None, place) for place in tables_of_reports(project, sorted(reports)))
    results = {project.table_path(name): name for name in reports}
    notes = []
    for owner, place in places:
        try:
            torn = find_torn(place)
            if torn is not None and place in results:
                reopen(results[place], torn.since)
            note = _mended(project, owner, place, torn)
        except OSError as error:
            raise PlatformError(
                "torn-kept",
                f"a power cut has torn {place}, and it cannot be put back: {error}",
                next_step="Check the disk.",
            ) from error
        if note is not None:
            notes.append(note)
    return notes


def _mended(project: Project, table: TableDef | None, path: str, torn: Torn | None) -> str | None:
    """What was done to a table of the project, or (None) to one of freshline's own."""
    if torn is None:
        if mend_checkpoint(path, _aside(project, path, "checkpoint")):
            return f"the newest checkpoint at {path} was not whole; it was moved aside"
        return None
    kept = None if table is None else _why_kept(project, table, torn)
    if table is not None and kept is not None:
        return PlatformError(
            "table-torn",
            f"version {torn.since} of table {table.name} cannot be read: {torn.why}; it stays,"
            f" because {kept}",
            where=table.place,
            rule="a torn version is taken back where all of it can be made again",
            next_step="Put the table's files back from a copy, or load all of its feed again:"
            f" `freshline refresh {table.name} --full`.",
        ).render()
    aside = _aside(project, path, f"{torn.since}")
    put_aside(torn, aside)
    return (
        f"{path} went back to version {torn.since - 1}: {torn.why}; what came after is made again,"
        f" and its commits are kept in {aside}"
    )


def _why_kept(project: Project, table: TableDef, torn: Torn) -> str | None:
    """Why torn versions are not taken back; None: nothing would be lost."""
    if torn.foreign:
        return "others made it, or a later one"
    if table.kind != "base" or not torn.loaded:
        return None
    feed = project.feeds[table.feed or ""]
    if feed.kind in ("kafka", "delta"):
        return None  # what is gone from its topic or its table is reported when it is read
    try:
        gone = [name for name in torn.loaded if not _is_there(feed.path, name)]
    except OSError as error:
        return f"its feed cannot be looked at: {error}"
    return f"{gone[0]} is no longer in its feed" if gone else None


def _is_there(path: str, name: str) -> bool:
    """Whether a feed has a file of that name."""
    if "://" not in path:
        return Path(path, name).exists()
    from pyarrow import fs

    system, base = arrow_store(path)
    return bool(system.get_file_info(f"{base}/{name}").type == fs.FileType.File)


def _aside(project: Project, path: str, which: str) -> Path:
    """A folder for what is moved out of a log."""
    folder = own_folder(project) / "torn"
    name = "-".join(path.removeprefix("file://").strip("/").split("/")[-2:])
    return next(
        each for n in range(1, 10_000) if not (each := folder / f"{name}-{which}-{n}").exists()
    )


def reopen_report(journal: Journal, name: str, since: int) -> None:
    """A report's table goes back to before a version: its results since then are made again."""
    journal.write(
        "UPDATE reports SET state='asked', batches=0, cost_s=0, arrived_rows=0, taken_rows=0,"
        " slack_s=NULL, finish_s=NULL, version=NULL, rows=NULL, late=NULL, complete=NULL"
        " WHERE view=? AND state='done' AND version>=?",
        (name, since),
    )
    journal.flush()
