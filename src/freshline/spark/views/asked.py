"""Spark's analysis of a query's text, cached where several checks need it.

A view's plan takes some thirty analyses: the user's query, each partial, the final query, and
parts of them whose types are wanted; most are asked for by two or three of the checks.
"""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.catalog import Catalog


class Asks(Protocol):
    """Analyses queries: a session, or :class:`Remembered`."""

    def sql(self, query: str, /) -> DataFrame:
        """The query as Spark analyses it."""

    @property
    def catalog(self) -> Catalog:
        """Of the session."""


class Remembered:
    """A session that analyses each text once.

    For one view's analysis alone: what a text's names stand for must stay what it is.

    Args:
        session: In which every source is a table or a view.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._known: dict[str, DataFrame] = {}

    def sql(self, query: str, /) -> DataFrame:
        """The query as Spark analyses it."""
        if query not in self._known:
            self._known[query] = self._session.sql(query)
        return self._known[query]

    @property
    def catalog(self) -> Catalog:
        """Of the session."""
        return self._session.catalog
