"""What the runtime asks of Spark's session, of its catalog and its settings; needs no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


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


@runtime_checkable
class HasSettings(Protocol):
    """An executor whose session has settings on which rows depend."""

    def made_otherwise(self, made: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """The views that were made under other settings than those of now.

        Args:
            made: The metadata of their last commits, by view.
        """
        ...
