"""What the runtime knows of a Delta table that a feed reads, and asks of it; needs no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from freshline.core.errors import Place, PlatformError

KEY = "source"
"""Of a commit's metadata: which version of its feed's table a base table shows."""


@dataclass(frozen=True, slots=True)
class SourceLook:
    """A feed's table at one moment.

    Attributes:
        path: Where it is, absolute or a URI.
        table_id: What Delta tells it from another table by that is made in its place.
        version: Its newest version.
    """

    path: str
    table_id: str
    version: int


@dataclass(frozen=True, slots=True)
class Held:
    """The version of its feed's table that a base table shows, as its last commit says it.

    Attributes:
        table_id: Of the feed's table.
        version: Of it.
        mark: Of the commit that made the version.
    """

    table_id: str
    version: int
    mark: str

    @classmethod
    def in_commit(cls, metadata: Mapping[str, Any]) -> Held | None:
        """What a commit's metadata says; None where it says nothing."""
        said = metadata.get(KEY)
        return None if said is None else cls(said["id"], int(said["version"]), said["mark"])

    def fields(self) -> dict[str, Any]:
        """What a commit says."""
        return {KEY: {"id": self.table_id, "version": self.version, "mark": self.mark}}


class Source(Protocol):
    """One feed's table."""

    def look(self) -> SourceLook:
        """How the table stands now; safe to call from several threads.

        Raises:
            SourceMissingError: There is no such table.
            PlatformError: It cannot be read, or not by us.
        """
        ...


@runtime_checkable
class HasSources(Protocol):
    """An executor that can look at the Delta tables that its project's feeds read."""

    def source(self, feed: str) -> Source:
        """The table of a feed of kind delta."""
        ...


class SourceMissingError(PlatformError):
    """The storage or the catalog answers, and there is no such Delta table."""

    def __init__(self, feed: str, what: str, *, where: Place | None = None) -> None:
        super().__init__(
            "source-missing",
            f"feed {feed}: there is no Delta table {what}",
            where=where,
            rule="what was loaded from it stays",
            next_step="Make the table, or correct its name; it is looked for again.",
        )


def source_replaced(feed: str, why: str, *, where: Place | None = None) -> PlatformError:
    """The error for a table that is not the one, or not the history, that was loaded from."""
    return PlatformError(
        "source-replaced",
        f"the Delta table of feed {feed} is not what was loaded from before: {why}",
        where=where,
        rule="a base table shows one version of its feed's table, and rows may be missing here",
        next_step="Put the old one back. Where this one is right, `freshline refresh --full` of the"
        " base table loads all of it in place of what was loaded, and `on_new_table: reload` of the"
        " feed does so each time.",
    )
