"""A project's directory read into a :class:`Project`, every error in it found in one go.

``collect`` returns what is wrong as a list, for ``freshline validate``; ``load_project``
raises it. Reading goes on behind each fault as long as what follows can be judged without
what was wrong, and a fault is reported once: who reads a table whose statement is broken is
not told that the table does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from freshline.core.errors import UserError, UserErrors
from freshline.project.asked import arrival_faults
from freshline.project.graph import circles, parents_first
from freshline.project.model import CatalogSettings, Feed, Project, TableDef
from freshline.project.names import Scope
from freshline.project.references import References
from freshline.project.sections import feeds as feeds_
from freshline.project.sections.alerts import read_alerts
from freshline.project.sections.checks import read_checks
from freshline.project.sections.feed_places import (
    feeds_in_tables,
    own_sources,
    storage_in_feeds,
)
from freshline.project.sections.ingest import landed_feed, read_ingest
from freshline.project.sections.libraries import Library, read_libraries, shown_files
from freshline.project.sections.server import read_server
from freshline.project.sections.settings import (
    read_catalog,
    read_lineage,
    read_maintenance,
    read_scheduler,
    read_spark,
)
from freshline.project.tables import read_tables
from freshline.project.windows import SESSION_ZONE, is_of_days, session_zone, zone_name
from freshline.project.yaml.file import YamlFile
from freshline.project.yaml.section import Section
from freshline.sql.text.functions import volatile_call
from freshline.sql.text.tokens import name_parts, tokens

PROJECT_FILE = "freshline.yml"
PIPELINE_FILES = ("spark-pipeline.yml", "spark-pipeline.yaml")
KEYS = (
    "name", "storage", "libraries", "configuration", "spark", "scheduler", "feeds", "server",
    "ingest", "maintenance", "alerts", "lineage", "catalog", "checks",
)  # fmt: skip
_SPECIFICATIONS = (".yml", ".yaml")
_PROJECT_RULE = (
    f"a project is a directory with a {PROJECT_FILE} or a {PIPELINE_FILES[0]}, or a pipeline's"
    " specification itself"
)
PROJECT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
Key = tuple[str, ...]
PROJECT_NAME_RULE = "a project's name is letters from A to Z, digits, _, . and -"


def find_project(start: Path, project_dir: Path | None = None) -> Path:
    """The directory of the project: that of a freshline.yml or of a pipeline's specification.

    Args:
        start: Where the search upwards begins.
        project_dir: The directory itself, or a pipeline's specification in it, when the user
            named it.

    Raises:
        UserError: There is neither (``no-project``).
    """
    if project_dir is not None:
        can_specify = project_dir.suffix.lower() in _SPECIFICATIONS
        if project_dir.is_file() and not can_specify:
            raise UserError(
                "no-project",
                f"{project_dir} is neither {PROJECT_FILE} nor a pipeline's specification",
                rule=_PROJECT_RULE,
                next_step=f"Name the directory of {PROJECT_FILE}.",
            )
        if project_dir.is_file():
            return project_dir.absolute().parent
        if can_specify and not project_dir.is_dir():
            raise UserError(
                "no-project",
                f"there is no file {project_dir}",
                rule=_PROJECT_RULE,
                next_step="Correct the path.",
            )
        if _is_project(project_dir):
            return project_dir.absolute()
        where = f"{project_dir}"
    else:
        for directory in (start.absolute(), *start.absolute().parents):
            if _is_project(directory):
                return directory
        where = f"{start} or above it"
    raise UserError(
        "no-project",
        f"there is no {PROJECT_FILE} in {where}",
        rule=f"a project is a directory with a {PROJECT_FILE} or a {PIPELINE_FILES[0]}",
        next_step="Go there, name it with --project DIR, or make one with freshline init NAME.",
    )


def _is_project(directory: Path) -> bool:
    return any((directory / name).is_file() for name in (PROJECT_FILE, *PIPELINE_FILES))


def specification(project_dir: Path | None) -> Path | None:
    """The pipeline's specification that the user named instead of its directory, or None."""
    if project_dir is None or project_dir.name == PROJECT_FILE:
        return None
    return project_dir.absolute() if project_dir.is_file() else None


def pipeline_files(root: Path, named: Path | None = None) -> list[Path]:
    """The specifications of a Spark pipeline in a directory; more than one is the user's error.

    Args:
        root: The directory.
        named: That which the user named, by :func:`specification`; it is the only one then.
    """
    if named is not None:
        return [named]
    return [root / name for name in PIPELINE_FILES if (root / name).is_file()]


def load_project(start: Path, project_dir: Path | None = None, *, analyse: bool = True) -> Project:
    """The project in or above ``start``, or in ``project_dir``.

    Args:
        analyse: Also judge the queries' syntax trees, and refuse references to variables and
            files that are missing. Without it loading is a third of a second faster, and needs
            no secrets; for commands that only look at a project that was run before.

    Raises:
        UserErrors: Something in it is wrong; all errors, in the order of the files.
    """
    project, errors = collect(start, project_dir, analyse=analyse)
    if project is None:
        raise UserErrors(errors)
    return project


def collect(
    start: Path, project_dir: Path | None = None, *, analyse: bool = True
) -> tuple[Project | None, list[UserError]]:
    """Like :func:`load_project`, with the errors as a list; no project when there are any."""
    try:
        root = find_project(start, project_dir)
        file = YamlFile(root / PROJECT_FILE, shown_as=PROJECT_FILE)
    except UserError as error:
        return None, [error]
    errors: list[UserError] = []
    top = Section(file, (), PROJECT_FILE, errors)
    if errors:
        return None, errors  # no mapping at all
    top.only(*KEYS)
    top.require("name", "storage", "libraries")
    name = _name(top)
    feeds, feed_names = feeds_.read_feeds(top.sub("feeds", "feeds"), root)
    storage = feeds_.storage_place(top.text("storage") or "", root)
    library = read_libraries(top, root, storage)
    parts = Parts(name, root, storage, feeds, feed_names, library)
    return assembled(top, parts, analyse=analyse)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a project is made of beside its settings.

    Attributes:
        name: The project's.
        root: Its directory.
        storage: An absolute path or a URI, without / at its end.
        feeds: Those that are right.
        feed_names: The names of all, right or not.
        library: The statements.
        configuration: Spark settings from elsewhere than ``configuration:``, which wins.
    """

    name: str
    root: Path
    storage: str
    feeds: Mapping[str, Feed]
    feed_names: tuple[str, ...]
    library: Library
    configuration: Mapping[str, str] = field(default_factory=dict)


def assembled(
    top: Section, parts: Parts, *, analyse: bool
) -> tuple[Project | None, list[UserError]]:
    """The project of these parts with the settings of ``top``, or the errors in all of it.

    Args:
        top: freshline.yml; what was wrong so far is in its errors.
        parts: The rest.
        analyse: As in :func:`load_project`.
    """
    root, storage, library, errors = parts.root, parts.storage, parts.library, top.errors
    feeds = dict(parts.feeds)
    tables = read_tables(library, parts.feed_names, root, errors)
    _check_circles(tables, errors)
    _check_reports(tables, errors)
    if analyse:
        tables = _analysed(tables, library, errors)
    errors += own_sources(feeds, storage) + storage_in_feeds(feeds, storage)
    scheduler = read_scheduler(top.sub("scheduler", "scheduler"))
    maintenance = read_maintenance(top.sub("maintenance", "maintenance"))
    alerts = read_alerts(top)
    checks = read_checks(top, tables)
    lineage = read_lineage(top.sub("lineage", "lineage"))
    catalog = read_catalog(top.sub("catalog", "catalog"))
    spark = read_spark(top.sub("spark", "spark"), root)
    pushed = [name for name, feed in feeds.items() if feed.kind == "push"]
    ingest = read_ingest(top, pushed, root, storage)
    server = read_server(top, pushed, ingest, root)
    if ingest is not None:
        feeds |= {name: landed_feed(feeds[name], ingest) for name in pushed}
    errors += feeds_in_tables(feeds, tables, storage)
    references = References(top, root, required=analyse)
    configuration = references.configuration(top.configuration())
    feeds = references.feeds(feeds)
    _check_zones(tables, {**parts.configuration, **configuration}, top)
    if errors:
        return None, _in_order_of_files(errors, library, root)
    order = parents_first({table.name: table.parents for table in tables})
    by_name = {table.name: table for table in tables}
    warnings = [
        *library.warnings,
        *references.warnings,
        *feeds_.unread_feeds(feeds, {table.feed for table in tables if table.feed}),
        *_volatile(tables),
        *_roundabout(tables, storage, catalog),
        *_unneeded([by_name[each] for each in order], scheduler.objective),
    ]
    project = Project(
        name=parts.name,
        root=root,
        storage=storage,
        tables=tuple(by_name[each] for each in order if by_name[each].report is None),
        reports=tuple(by_name[each] for each in order if by_name[each].report is not None),
        feeds=feeds,
        configuration={**parts.configuration, **configuration},
        spark_master=spark.master,
        spark_packages=spark.packages,
        spark_jars=spark.jars,
        update_timeout_s=spark.update_timeout_s,
        scheduler=scheduler,
        ingest=ingest,
        server=server,
        maintenance=maintenance,
        alerts=alerts,
        lineage=lineage,
        catalog=catalog,
        checks=checks,
        sql_files=tuple(library.files),
        warnings=tuple(warnings),
    )
    return project, []


def _name(top: Section) -> str:
    """The project's name; empty where it has none."""
    name = top.text("name")
    if name is not None and not PROJECT_NAME.match(name):
        top.fault(
            "bad-name",
            f"'{name}' cannot name a project",
            key="name",
            rule=PROJECT_NAME_RULE,
            next_step="Rename the project.",
        )
    return name or ""


def _analysed(tables: list[TableDef], library: Library, errors: list[UserError]) -> list[TableDef]:
    from freshline.project.analysis import analyse  # brings sqlglot: 0.3 s

    found = {(each.place, each.statement.name): each.statement for each in library.statements}
    return [analyse(table, found[table.place, table.name], errors) for table in tables]


def _check_zones(tables: list[TableDef], configuration: Mapping[str, str], top: Section) -> None:
    """Errors where nobody can tell when the windows of reports begin."""
    places = {}
    for table in tables:
        if table.report and is_of_days(table.report.window_s):
            name = zone_name(configuration, table.settings)
            if SESSION_ZONE in table.settings:
                places[name] = table.place
            else:
                places[name] = top.file.place(("configuration", SESSION_ZONE))
    for name, where in places.items():
        if "${" in name:  # commands without Spark do not resolve it
            continue
        try:
            session_zone(name)
        except ValueError as error:
            top.errors.append(
                UserError(
                    "bad-value",
                    f"the session's time zone, {SESSION_ZONE}: {error}",
                    where=where,
                    rule="it is a name like Europe/Berlin, or an offset like +02:00; windows of"
                    " whole days begin at its midnight",
                    next_step="Correct the value.",
                )
            )


def _check_circles(tables: list[TableDef], errors: list[UserError]) -> None:
    derived = {table.name: table for table in tables if table.kind == "derived"}
    parents = {
        name: [parent for parent in table.parents if parent in derived]
        for name, table in derived.items()
    }
    for circle in circles(parents):
        way = " reads ".join(f"{name} ({derived[name].place})" for name in circle)
        errors.append(
            UserError(
                "circle",
                f"views read each other in a circle: {way} reads {circle[0]}",
                where=derived[circle[0]].place,
                rule="a view is computed from tables that do not need it",
                next_step="Remove one of these names from the query that reads it.",
            )
        )


def _check_reports(tables: list[TableDef], errors: list[UserError]) -> None:
    reports = {table.name: table for table in tables if table.report is not None}
    errors += [
        UserError(
            "reads-report",
            f"view {table.name} reads the report {name} ({reports[name].place})",
            where=table.place,
            rule="a report's table changes when its deadline wants it, so nothing is kept fresh "
            "from it",
            next_step=f"Read what {name} reads, or make {name} a view without window.",
        )
        for table in tables
        for name in table.parents
        if name in reports
    ]
    by_name = {table.name: table for table in tables}
    for report in reports.values():
        parents = [by_name[name] for name in report.parents if name in by_name]
        errors += arrival_faults(report.name, parents, report.place)


def _volatile(tables: list[TableDef]) -> list[str]:
    warnings = []
    for table in tables:
        call = volatile_call(tokens(table.query)) if table.kind == "derived" else None
        if call is not None:
            token, what = call
            warnings.append(
                f"{table.query_place.file}:{(table.query_place.line or 1) + token.line - 1}: view "
                f"{table.name} calls {token.text}, which asks {_ASKED[what]}: no version of it "
                "can be checked against its query"
            )
    return warnings


_ASKED = {"clock": "the clock", "chance": "chance or the place where it runs"}


def _roundabout(tables: list[TableDef], storage: str, catalog: CatalogSettings | None) -> list[str]:
    """Tables of the project that are read by their path or by a catalog, behind its back."""
    by_path = [
        f"{table.place}: table {table.name} reads {static.name}, which is in this project's own "
        "storage: by its path it counts as static, by its name it would be kept fresh"
        for table in tables
        for static in table.statics
        if static.path is not None and f"{static.path}/".startswith(f"{storage}/")
    ]
    own = {} if catalog is None else _catalog_names(tables, catalog)
    by_catalog = [
        f"{table.place}: table {table.name} reads {static.name}, which is this project's own"
        f" {own[parts]}: by its name in the catalog it counts as static, as {own[parts]} it would"
        " be kept fresh"
        for table in tables
        for static in table.statics
        if static.path is None and (parts := Scope().full(_parts(static.name))) in own
    ]
    return by_path + by_catalog


def _catalog_names(tables: list[TableDef], catalog: CatalogSettings) -> dict[Key, str]:
    """The project's tables by the whole names that they are registered by, in lower case."""
    schema = (catalog.name, *catalog.database.split("."))
    return {tuple(map(str.lower, (*schema, each.name))): each.name for each in tables}


def _parts(name: str) -> Key:
    return tuple(part.lower() for part in name_parts(name))


def _unneeded(tables: list[TableDef], objective: str) -> list[str]:
    """DOWNSTREAM tables from which nothing wanted is derived; ``tables``: parents first."""
    wanted: set[str] = set()
    warnings = []
    for table in reversed(tables):
        if table.name in wanted or not table.target_downstream:
            wanted |= {table.name, *table.parents}
        elif objective == "cost":
            warnings.append(
                f"{table.place}: table {table.name} has the target_lag DOWNSTREAM, and nothing "
                "that is wanted is derived from it: under the objective cost only `freshline "
                "refresh` updates it"
            )
    return warnings[::-1]


def _in_order_of_files(errors: list[UserError], library: Library, root: Path) -> list[UserError]:
    """freshline.yml first, then the SQL files as they were read, each by its lines."""
    files = [PROJECT_FILE, *shown_files(library, root)]
    rank = {file: index for index, file in enumerate(files)}

    def key(error: UserError) -> tuple[int, int]:
        if error.where is None:
            return -1, 0
        return rank.get(error.where.file, len(files)), error.where.line or 0

    return sorted(errors, key=key)
