"""A generated project: views, what happens to their tables, and both as plain records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.spark.generated.grammar import Columns, Grammar
from tests.spark.generated.history import Step, history
from tests.spark.generated.queries import Query
from tests.spark.generated.tables import STATICS, TABLES, ZONE_STARTS
from tests.spark.spelling.laws import all_spellings, spelled
from tests.spark.spelling.words import cut, is_name

COLUMNS = {name: table.columns for name, table in TABLES.items()}
STEPS = 4


@dataclass(frozen=True)
class View:
    """A view.

    Attributes:
        name: Of the table.
        query: As the grammar made it.
        spellings: In which other words it is written.
        merges: Whether to recompute buckets is said to be slow, so that a state is merged.
    """

    name: str
    query: Query
    spellings: tuple[str, ...] = ()
    merges: bool = False

    @property
    def sql(self) -> str:
        if not self.spellings:
            return self.query.sql()
        return spelled(self.query.sql(), list(self.spellings), COLUMNS, seed=len(self.name))

    @property
    def names(self) -> set[str]:
        """Every name in the text, in small letters: those of tables are among them."""
        return {word.strip("`").lower() for word in cut(self.query.sql()) if is_name(word)}


@dataclass(frozen=True)
class Generated:
    """A project.

    Attributes:
        seed: It was made from.
        zone: Time zone of the session.
        views: Parents before children.
        steps: What happens; every view is updated after each.
    """

    seed: int
    zone: str
    views: tuple[View, ...]
    steps: tuple[Step, ...]

    def only(self, name: str) -> Generated:
        """The project of one view, with the views and events that it needs."""
        wanted, tables = {name}, set()
        for view in reversed(self.views):
            if view.name in wanted:
                wanted |= view.names & {each.name for each in self.views}
                tables |= view.names & set(TABLES)
        steps = [tuple(event for event in step if event.table in tables) for step in self.steps]
        return replace(
            self,
            views=tuple(view for view in self.views if view.name in wanted),
            steps=tuple(step for step in steps if step),
        )

    def record(self) -> dict[str, Any]:
        """All of it, to be read by people."""
        return {
            "seed": self.seed,
            "zone": self.zone,
            "views": {view.name: view.sql for view in self.views},
            "merging": [view.name for view in self.views if view.merges],
            "steps": [[event.record() for event in step] for step in self.steps],
        }


class Describer:
    """Spark's word on queries over the tables, of which none has a row."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session.newSession()
        for table in TABLES.values():
            self.add(table.name, table.ddl)

    def add(self, name: str, ddl: str) -> None:
        self._session.createDataFrame([], ddl).createOrReplaceTempView(name)

    def __call__(self, sql: str) -> Columns | None:
        """A query's columns by name; None where it cannot be a table."""
        try:
            fields = self._session.sql(sql).schema.fields
        except PySparkException:
            return None
        names = [field.name for field in fields]
        plain = all(name.isidentifier() for name in names)
        if not plain or len({name.lower() for name in names}) < len(names):
            return None
        kinds = [field.dataType.simpleString() for field in fields]
        if any("void" in kind or "interval" in kind or "map<" in kind for kind in kinds):
            return None
        return {_quoted(name): kind for name, kind in zip(names, kinds, strict=True)}


def _quoted(name: str) -> str:
    plain = name.isascii() and name not in {"order", "select", "group"}
    return name if plain else f"`{name}`"


def generated(seed: int, session: SparkSession, zone: str, *, views: int) -> Generated:
    """The project of a seed.

    Args:
        seed: The same seed makes the same project.
        session: In the time zone ``zone``.
        zone: One of :data:`ZONE_STARTS`.
        views: How many.
    """
    chance = random.Random(seed)
    describe = Describer(session)
    tables: dict[str, Columns] = {name: dict(columns) for name, columns in COLUMNS.items()}
    start = f"TIMESTAMP'{ZONE_STARTS[zone]:%Y-%m-%d %H:%M:%S}Z'"
    found: list[View] = []
    for number in range(views):
        grammar = Grammar(chance, tables, describe, start)
        query = grammar.view()
        columns = describe(query.sql())
        assert columns is not None
        name = f"v{number}"
        view = View(name, query, merges=chance.random() < 0.5)
        other = replace(view, spellings=_spellings(chance))
        again = describe(other.sql)
        same = again is not None and list(again.values()) == list(columns.values())
        if same and again is not None:
            view, columns = other, again
        found.append(view)
        if chance.random() < 0.2:
            tables[name] = columns
            describe.add(name, ", ".join(f"{each} {kind}" for each, kind in columns.items()))
    return Generated(seed, zone, tuple(found), tuple(history(chance, STEPS)))


def _spellings(chance: random.Random) -> tuple[str, ...]:
    if chance.random() < 0.4:
        return ()
    known = [name for name in all_spellings(COLUMNS) if name != "comment within GROUP BY"]
    return tuple(chance.sample(known, chance.choice((1, 2, 3))))


def static_names() -> Sequence[str]:
    return [table.name for table in STATICS]
