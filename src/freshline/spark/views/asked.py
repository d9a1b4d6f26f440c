"""Spark's analysis of a query's text over tables without rows, cached where several checks need it.

A view's plan takes some thirty analyses: the user's query, each partial, the final query, and
parts of them whose types are wanted; most are asked for by two or three of the checks. One
session serves many views, one after the other: making a session and making a table each take as
long as an analysis. A query sees the tables that were shown for it and no others.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.types import StructField, StructType

from freshline.spark.engine import jvm
from freshline.spark.engine.result_settings import read_otherwise


class Asks(Protocol):
    """Analyses queries: a session, or :class:`Remembered`."""

    def sql(self, query: str, /) -> DataFrame:
        """The query as Spark analyses it."""

    @property
    def catalog(self) -> Catalog:
        """Of the session."""


class Remembered:
    """A session that analyses each text once, over tables without rows.

    What a text's names stand for stays what it is until :meth:`forget`.

    Args:
        session: Nobody else makes or drops views in it.
    """

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self._texts: dict[str, DataFrame] = {}
        self._seen: dict[str, tuple[str, DataFrame | str]] = {}
        self._kept: dict[tuple[str, str], Any] = {}
        self._java: Any = None

    def sql(self, query: str, /) -> DataFrame:
        """The query as Spark analyses it."""
        if query not in self._texts:
            self._texts[query] = jvm.query(self.session, query)
        return self._texts[query]

    @property
    def catalog(self) -> Catalog:
        """Of the session."""
        return self.session.catalog

    @cached_property
    def read_otherwise(self) -> str | None:
        """See :func:`.read_otherwise`; the session's settings are not changed any more."""
        return read_otherwise(self.session)

    def empty(self, schema: StructType) -> DataFrame:
        """A table without rows, whose columns may be NULL whatever the schema says.

        Spark's optimiser does not know that there are no rows: it would make all queries equal. Two
        tables of the same columns are two.
        """
        return jvm.empty_frame(self.session, _nullable(schema))

    def show(self, name: str, schema: StructType) -> None:
        """Have queries see a table without rows under this name, as :meth:`empty` makes it."""
        columns = _nullable(schema)
        if self._sees(name, columns):
            return
        key = name.lower(), columns
        if key in self._kept:
            self._views().createTempView(name, self._kept[key], True)
        else:
            empty = jvm.empty_frame(self.session, columns)
            jvm.show(empty, name)
            self._kept[key] = self._views().getRawTempView(name).get()
        self._note(name, columns)

    def view(self, name: str, frame: DataFrame) -> None:
        """Have queries see a frame of this session under this name."""
        if not self._sees(name, frame):
            jvm.show(frame, name)
            self._note(name, frame)

    def forget(self) -> None:
        """The next query sees none of the tables and views that were shown."""
        for name, _ in self._seen.values():
            self._views().dropTempView(name)
        self._seen.clear()
        self._texts.clear()

    def _sees(self, name: str, what: DataFrame | str) -> bool:
        _, seen = self._seen.get(name.lower(), ("", ""))
        return seen is what or seen == what

    def _note(self, name: str, what: DataFrame | str) -> None:
        if name.lower() in self._seen:  # it stood for something else
            self._texts.clear()
        self._seen[name.lower()] = name, what

    def _views(self) -> Any:
        """Spark's own catalog of the session's views."""
        if self._java is None:
            self._java = jvm.java_session(self.session).sessionState().catalog()
        return self._java


def _nullable(schema: StructType) -> str:
    return StructType([StructField(each.name, each.dataType) for each in schema]).json()
