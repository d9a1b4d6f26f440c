"""What the ways of merging a block ask of the cutter that found the block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sqlglot import exp

from freshline.sql.query.records import Partial
from freshline.sql.states.linear import LinearAnalysis
from freshline.sql.states.states import Typer


class Cutter(Protocol):
    """A query while it is cut; :class:`freshline.sql.states.cuts.Cutter` is the one there is.

    Attributes:
        analysis: Which rows are linear.
        typer: Columns and types of a query over the sources.
        partials: The partials found so far.
        groups: State key by output column, by identity of the SELECT whose rows are each a
            function of one group of a partial.
    """

    analysis: LinearAnalysis
    typer: Typer
    partials: list[Partial]
    groups: dict[int, Mapping[str, str]]

    def next_name(self) -> str:
        """A name for a partial that no other one has."""
        ...

    def subqueries(self, tree: exp.Expr) -> None:
        """Cut the queries inside an expression that reads streams, in place."""
        ...
