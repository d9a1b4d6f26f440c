"""Tables registered by name in a catalog, so that other programs find them there.

A table stays where its storage is: what is registered is its path. A name is corrected where
the storage has moved, and is never dropped but by ``freshline drop``. Registering is no part of
an update: it happens beside them, and a catalog that is away holds none of them up.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from freshline.core.errors import FreshlineError, UserError
from freshline.delta.log import last_commit, version
from freshline.project.model import CatalogSettings, Project
from freshline.spark.engine import jvm
from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.engine.pins import id_at
from freshline.sql.text.reads import quoted, string_literal

CLOSE_PATIENCE_S = 50.0
_EXTERNAL = "EXTERNAL"
_SESSION_CATALOG = "spark_catalog"
_TO_TEXT = "org.apache.spark.sql.catalyst.catalog.CatalogUtils.URIToString"
_TO_URI = "org.apache.spark.sql.catalyst.catalog.CatalogUtils.stringToURI"


@dataclass(frozen=True, slots=True)
class _Registered:
    """What a catalog says of a name."""

    provider: str
    kind: str
    location: str


class CatalogNames:
    """The names of a project's tables in its catalog.

    Args:
        project: With a section ``catalog``.
        settings: That section.
        session: Any session; nothing in it is changed.
    """

    def __init__(self, project: Project, settings: CatalogSettings, session: SparkSession) -> None:
        self._project = project
        self._settings = settings
        self._session = session
        self._has_database = False

    def full_name(self, table: str) -> str:
        """A table's name as queries of other programs write it."""
        return f"{self._settings.name}.{self._settings.database}.{table}"

    def is_made(self, table: str) -> bool:
        """Whether the table has a commit of ours, so that there is something to name.

        Raises:
            PlatformError: Its log cannot be read.
        """
        return last_commit(self._project.table_path(table)) is not None

    def register(self, table: str) -> bool:
        """Have the catalog name the table's path; whether anything had to change.

        Raises:
            UserError: The name belongs to another table.
            PySparkException, Py4JError: The catalog did not answer, or refused.
        """
        if not self._has_database:
            self._session.sql(f"CREATE DATABASE IF NOT EXISTS {self._quoted()}")
            self._has_database = True
        name, path = self._quoted(table), self._project.table_path(table)
        found = self._registered(table)
        if found is None:
            self._session.sql(
                f"CREATE TABLE IF NOT EXISTS {name} USING delta LOCATION {string_literal(path)}"
            )
            return True
        if found.provider == "delta" and _same_place(found.location, path):
            return False
        self._check_ours(
            found,
            table,
            "choose another database in `catalog:`, or drop the name where it was made",
        )
        if self._settings.name == _SESSION_CATALOG:
            self._relocate(table, path)
        else:
            self._session.sql(f"ALTER TABLE {name} SET LOCATION {string_literal(path)}")
        return True

    def drop(self, table: str) -> bool:
        """Take the table's name out of the catalog; its data stay. Whether there was one.

        Raises:
            UserError: The name belongs to another table, or the table's files to the catalog.
            PySparkException, Py4JError: The catalog did not answer, or refused.
        """
        found = self._registered(table)
        if found is None:
            return False
        is_here = found.provider == "delta" and _same_place(
            found.location, self._project.table_path(table)
        )
        if is_here and found.kind != _EXTERNAL:
            raise UserError(
                "name-taken",
                f"{self.full_name(table)} is registered as a table of the kind"
                f" {found.kind or 'unknown'}: the catalog may delete its files with its name",
                rule="freshline drop takes names alone, and those only of the kind EXTERNAL",
                next_step="Leave the name, or have whoever registered it register it as EXTERNAL.",
            )
        if not is_here:
            self._check_ours(found, table, "drop it where it was made")
        self._session.sql(f"DROP TABLE {self._quoted(table)}")
        return True

    def _registered(self, table: str) -> _Registered | None:
        """What has the table's name.

        Spark's own catalog is asked itself: by SQL a name whose place is gone gives an error.
        """
        if self._settings.name == _SESSION_CATALOG:
            catalog, identifier = self._session_catalog(table)
            if not catalog.tableExists(identifier):
                return None
            known = catalog.getTableMetadata(identifier)
            provider = known.provider()
            uri = known.storage().locationUri()
            return _Registered(
                str(provider.get()).lower() if provider.isDefined() else "",
                str(known.tableType().name()),
                str(jvm.named(self._session, _TO_TEXT)(uri.get())) if uri.isDefined() else "",
            )
        if not self._session.catalog.tableExists(self._quoted(table)):
            return None
        rows = self._session.sql(f"DESCRIBE TABLE EXTENDED {self._quoted(table)}").collect()
        facts = {row["col_name"]: row["data_type"] for row in rows}
        return _Registered(
            facts.get("Provider", "").lower(), facts.get("Type", ""), facts.get("Location", "")
        )

    def _relocate(self, table: str, path: str) -> None:
        """Have Spark's own catalog name another path, in one step."""
        session = self._session
        catalog, identifier = self._session_catalog(table)
        known = catalog.getTableMetadata(identifier)
        there = known.storage()
        moved = known.withNewStorage(
            jvm.some(session, jvm.named(session, _TO_URI)(path)),
            there.inputFormat(),
            there.outputFormat(),
            there.compressed(),
            there.serde(),
            there.properties(),
            there.serdeName(),
        )
        catalog.alterTable(moved)
        catalog.refreshTable(identifier)

    def _session_catalog(self, table: str) -> tuple[Any, Any]:
        """Spark's own catalog, and the table's name as it knows it."""
        session = self._session
        name = jvm.named(session, "org.apache.spark.sql.catalyst.TableIdentifier")
        catalog = jvm.java_session(session).sessionState().catalog()
        return catalog, name(table, jvm.some(session, self._settings.database))

    def _check_ours(self, found: _Registered, table: str, otherwise: str) -> None:
        """Refuse to touch what somebody else registered under the name.

        Args:
            found: What has the name.
            table: Whose name it would be.
            otherwise: What to do where it was not this project, in an earlier storage.
        """
        next_step = f"{otherwise[0].upper()}{otherwise[1:]}."
        if found.provider == "delta" and found.kind == _EXTERNAL:
            if self._is_ours(found.location, table):
                return
            next_step = (
                "If it is this project's own in a storage that it had before, free the name with"
                f" DROP TABLE {self._quoted(table)} in Spark: of an external table as this one it"
                f" removes the name alone, and the files stay. Otherwise {otherwise}."
            )
        raise UserError(
            "name-taken",
            f"{self.full_name(table)} is another table, at {found.location or 'no path'}",
            rule="a name belongs to one table, and freshline takes none from others",
            next_step=next_step,
        )

    def _is_ours(self, location: str, table: str) -> bool:
        """Whether the table at a place is the project's own, which was moved or copied from there.

        Commits do not say whose table it is: two warehouses may have tables of one name. Delta's
        identity of a table does, and a copy keeps it.
        """
        there = _path_of(location)
        try:
            if version(there) is None:
                return True  # nothing is there any more: it has moved
            here = self._identity(self._project.table_path(table))
            return here is not None and here == self._identity(there)
        except (FreshlineError, *SparkError):
            return False

    def _identity(self, path: str) -> str | None:
        newest = version(path)
        return None if newest is None else id_at(self._session, path, newest)

    def _quoted(self, table: str | None = None) -> str:
        parts = (self._settings.name, *self._settings.database.split("."), table)
        return ".".join(quoted(part) for part in parts if part is not None)


class Registering:
    """Registers tables in a thread of its own, each once, and again after a failure.

    Args:
        names: What registers.
        notice: Is told of names that could not be registered, once for each reason.
    """

    def __init__(self, names: CatalogNames, notice: Callable[[str], None]) -> None:
        self._names = names
        self._notice = notice
        self._wanted: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._done: set[str] = set()
        self._told: set[str] = set()
        self._thread = threading.Thread(target=self._work, name="catalog-names", daemon=True)
        self._thread.start()

    def add(self, tables: Iterable[str]) -> None:
        """These tables may have a version that the catalog does not name."""
        for table in tables:
            if table not in self._done:
                self._wanted.put(table)

    def close(self) -> None:
        """Finish what waits; a catalog that does not answer is not waited for long."""
        self._wanted.put(None)
        self._thread.join(CLOSE_PATIENCE_S)
        if self._thread.is_alive():
            self._notice("the catalog does not answer; the next run registers the tables")

    def _work(self) -> None:
        while (table := self._wanted.get()) is not None:
            if table in self._done:
                continue
            try:
                if self._names.is_made(table):
                    self._names.register(table)
                    self._done.add(table)
            except FreshlineError as error:
                self._tell(
                    f"table {table} has no name in the catalog: {error.what}; {error.next_step}"
                )
            except (*SparkError, OSError) as error:
                self._tell(
                    f"table {table} has no name in the catalog yet: {one_line(error)};"
                    " it is tried again after the table's next update"
                )

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._notice(text)


def _path_of(location: str) -> str:
    """A catalog's location as the log is read by."""
    if location.startswith("file:"):
        return "/" + location.removeprefix("file:").lstrip("/")
    return location


def _same_place(location: str, path: str) -> bool:
    return _path_of(location).rstrip("/") == _path_of(path).rstrip("/")
