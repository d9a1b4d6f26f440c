"""What the runtime asks of static tables that queries name by a catalog; needs no Spark."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class HasNamed(Protocol):
    """An executor that can look up tables in the session's catalog."""

    def named_version(self, table: str, name: str) -> tuple[int, str, str | None] | None:
        """The newest version of a static table, and what Delta tells it from others by.

        Third: the mark of that version's commit, None where the log does not tell.

        Args:
            table: The table of the project whose query reads it.
            name: As the query names it.

        Returns:
            None: It is no Delta table, so it has no versions.

        Raises:
            PlatformError: It cannot be looked up.
        """
        ...
