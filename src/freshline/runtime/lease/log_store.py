"""The lease at a URI: a Delta table without rows, a commit for each renewal.

Delta stands on one thing that every object store has by now: a file is written only where none is
yet. delta-rs asks for it with a conditional request, on each store in its way, with the
credentials that it has anyway. So the commit of version n + 1 is a compare-and-swap of the
record that stands in the commit of version n. Old commits go with delta-rs' own upkeep.
"""

from __future__ import annotations

import json
from typing import Any

from freshline.core.lease import Record
from freshline.delta.stores import arrow_store, arrow_uri, delta_table, storage_options
from freshline.runtime.lease.store import SwapRefusedError
from freshline.runtime.lease.text import decoded, encoded

_CONFIGURATION = {
    "delta.checkpointInterval": "20",
    "delta.logRetentionDuration": "interval 1 hours",
}


class LogStore:
    """The Delta log of the table ``lease`` at a URI."""

    cheap = False

    def __init__(self, uri: str) -> None:
        self.place = f"{uri}/lease"
        self._newest: int | None = None
        self._store: tuple[Any, str] | None = None
        self._table: Any = None

    def read(self) -> tuple[Record | None, str | None]:
        """The record and its tag, which is the log's version."""
        from deltalake.exceptions import DeltaError, TableNotFoundError

        newest = self._newest  # several threads may ask at once
        text = None if newest is None else self._commit(newest)
        if newest is None or text is None:
            self._table = None
            try:
                newest = int(delta_table(self.place).version())
            except TableNotFoundError:
                return None, None
            except DeltaError as error:
                raise OSError(str(error)) from error
            text = self._commit(newest)
        while (later := self._commit(newest + 1)) is not None:
            newest, text = newest + 1, later
        self._newest = newest
        return decoded(_record_in(text or "")), str(newest)

    def swap(self, record: Record, tag: str | None) -> str:
        """Commit the version after ``tag``; the new tag."""
        import deltalake
        from deltalake.exceptions import CommitFailedError, DeltaError

        named = deltalake.CommitProperties(
            custom_metadata={"userMetadata": encoded(record)}, max_commit_retries=0
        )
        try:
            if tag is None:
                self._made(named)
                return "0"
            table = self._at(int(tag))
            table.create_write_transaction([], "append", table.schema(), commit_properties=named)
        except CommitFailedError as error:
            raise SwapRefusedError from error
        except DeltaError as error:
            raise OSError(str(error)) from error
        return str(int(tag) + 1)

    def _made(self, named: Any) -> None:
        """Make the table, if there is none."""
        import deltalake
        from deltalake.exceptions import DeltaError
        from deltalake.schema import PrimitiveType

        columns = deltalake.Schema([deltalake.Field("nothing", PrimitiveType("string"))])
        try:
            deltalake.DeltaTable.create(
                arrow_uri(self.place),
                columns,
                mode="error",
                configuration=_CONFIGURATION,
                commit_properties=named,
                storage_options=storage_options(self.place),
            )
        except DeltaError as error:
            if deltalake.DeltaTable.is_deltatable(
                arrow_uri(self.place), storage_options(self.place)
            ):
                raise SwapRefusedError from error
            raise

    def _at(self, version: int) -> Any:
        """The table at a version that was its newest.

        Raises:
            SwapRefusedError: There is a newer one.
        """
        if self._table is None:
            self._table = delta_table(self.place)
        elif self._table.version() < version:
            self._table.update_incremental()
        if self._table.version() != version:
            self._table = None
            raise SwapRefusedError
        return self._table

    def _commit(self, version: int) -> str | None:
        """The text of a commit; None where there is none."""
        if self._store is None:
            self._store = arrow_store(self.place)
        system, base = self._store
        try:
            with system.open_input_file(f"{base}/_delta_log/{version:020d}.json") as file:
                return bytes(file.read()).decode()
        except FileNotFoundError:
            return None


def _record_in(text: str) -> str:
    """The record in the text of a commit; empty where there is none."""
    for line in text.split("\n"):
        if '"commitInfo"' in line:
            return str(json.loads(line)["commitInfo"].get("userMetadata", ""))
    return ""
