"""What a pipeline's files define: datasets, and the flows that write into them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from freshline.core.errors import Place, UserError
from freshline.project.model import Feed
from freshline.project.names import Scope
from freshline.project.programs import PythonFlow
from freshline.sql.text.statements import Property

OutputKind = Literal["streaming", "view", "temporary"]
Key = tuple[str, ...]
"""A dataset's full name in lower case: catalog, schema and name, or only a name where it is a
temporary view."""


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column: its name, its type as it is written, and its comment."""

    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """A dataset.

    Attributes:
        kind: A streaming table, a materialized view, or a view that is only read by others.
        name: Catalog, schema and name, as written; of a temporary view its name alone.
        place: Of its statement or decorator.
        name_line: Line of the name.
        columns: As declared; empty: those of its query.
        notes: What is different here, a sentence each.
    """

    kind: OutputKind
    name: tuple[str, ...]
    place: Place
    name_line: int
    properties: tuple[Property, ...] = ()
    columns: tuple[Column, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    partitioned_line: int = 1
    comment: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """Its name, for comparisons."""
        return tuple(part.lower() for part in self.name)


@dataclass(frozen=True, slots=True)
class Flow:
    """A query whose rows a dataset has.

    Attributes:
        name: Its own name, or that of its dataset.
        target: Full name of the dataset, in lower case.
        query: The SELECT.
        query_place: Where its text starts.
        scope: What short names in it belong to.
        settings: Spark settings that hold for it alone.
        function: The Python function that makes the rows; ``query`` is empty then.
    """

    name: str
    target: Key
    query: str
    query_place: Place
    scope: Scope
    settings: Mapping[str, str] = field(default_factory=dict)
    function: PythonFlow | None = None


@dataclass(slots=True)
class Definitions:
    """All that files define, in their order, and what is wrong with them."""

    outputs: list[Output] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    errors: list[UserError] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    """Names, in lower case, in statements that could not be read."""
    feeds: dict[str, Feed] = field(default_factory=dict)
    """Delta tables outside the pipeline that queries stream, by the names of their feeds."""
    configuration: Mapping[str, str] = field(default_factory=dict)
    """Spark settings of the specification, and those of freshline.yml, which go before."""
    lost_flow: bool = False
    """A flow could not be read, so a table may have one more than is known."""
