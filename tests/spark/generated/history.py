"""What happens to a generated project: files come, people change rows, tables are set back."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Any

from tests.spark.generated.tables import STREAMS, Table

DEEDS = {
    "trips": (
        "DELETE FROM {t} WHERE id % 5 = 1",
        "DELETE FROM {t} WHERE began IS NULL OR rider = 'ann'",
        "UPDATE {t} SET began = began + INTERVAL 1 HOUR, bike = bike % 2 WHERE id % 4 = 2",
        "UPDATE {t} SET rider = nullif(rider, 'bob'), fare = -fare WHERE bike = 1",
        "UPDATE {t} SET began = NULL WHERE id % 6 = 3",
        (
            "MERGE INTO {t} t USING (SELECT DISTINCT id FROM {t} WHERE id % 3 = 0) s "
            "ON t.id = s.id WHEN MATCHED AND t.member THEN DELETE WHEN MATCHED THEN UPDATE SET "
            "km = coalesce(t.km, 0) + 1, ended = t.began WHEN NOT MATCHED BY SOURCE AND t.id = 7 "
            "THEN DELETE"
        ),
        "INSERT INTO {t} REPLACE WHERE bike = 2 SELECT * FROM {t} WHERE bike = 2 AND fare > 0",
        "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE id <> 11",
    ),
    "pings": (
        "DELETE FROM {t} WHERE level > 1",
        "DELETE FROM {t} WHERE seen < TIMESTAMP'2024-02-28 12:00:00'",
        "UPDATE {t} SET seen = seen - INTERVAL 30 MINUTES, day = date_add(day, 1) WHERE id % 3 = 1",
        "UPDATE {t} SET bike = if(bike = 1, 2, NULL) WHERE id % 5 < 2",
        (
            "MERGE INTO {t} t USING (SELECT seen, bike, id + 100 AS id, level, temp, day, rider "
            "FROM {t} WHERE id % 7 = 2) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
        ),
        "INSERT OVERWRITE {t} SELECT * FROM {t}",
    ),
    "repairs": (
        "DELETE FROM {t} WHERE cost < 0",
        "UPDATE {t} SET day = date_sub(day, 1), bike = bike + 1 WHERE cost > 2",
        "UPDATE {t} SET at = day WHERE note = 'a'",
        "DELETE FROM {t}",
    ),
    "offers": (
        "DELETE FROM {t} WHERE id % 2 = 0",
        "UPDATE {t} SET valid = valid + INTERVAL 1 MICROSECOND, rider = trim(rider)",
        "UPDATE {t} SET rider = 'bob' WHERE rider = 'ann'",
    ),
}
"""What people do to each table by hand; ``{t}`` stands for it."""


@dataclass(frozen=True)
class Event:
    """One thing that happens to one table.

    Attributes:
        kind: ``file``, ``deed`` or ``restore``.
        table: Whose.
        seed: Of the file's rows.
        count: How many they are.
        hours: How far they lie behind the project's first time.
        deed: The statement, with ``{t}`` for the table.
        back: How many versions to go back.
    """

    kind: str
    table: str
    seed: int = 0
    count: int = 0
    hours: int = 0
    deed: str = ""
    back: int = 0

    def record(self) -> dict[str, Any]:
        return asdict(self)


Step = tuple[Event, ...]


def history(chance: random.Random, steps: int, tables: tuple[Table, ...] = STREAMS) -> list[Step]:
    """Steps after each of which every view is updated; the first brings a file to every table."""
    # Some feeds come with every step, others seldom.
    pace = {table.name: chance.choice((1.0, 0.8, 0.5, 0.3)) for table in tables}
    found: list[Step] = [tuple(_file(table, chance, 0) for table in tables)]
    for step in range(1, steps):
        events: list[Event] = []
        quiet = chance.random() < 0.4  # nothing but files: what appends and merges is for
        for table in tables:
            if chance.random() < pace[table.name]:
                events += [_file(table, chance, step) for _ in range(chance.choice((1, 1, 2)))]
            if not quiet and chance.random() < 0.35:
                deed = chance.choice(DEEDS[table.name])
                events.append(Event("deed", table.name, deed=deed))
            if not quiet and chance.random() < 0.08:
                events.append(Event("restore", table.name, back=chance.choice((1, 1, 2))))
        if not quiet:
            chance.shuffle(events)
        found.append(tuple(events) or (_file(tables[0], chance, step),))
    return found


def _file(table: Table, chance: random.Random, step: int) -> Event:
    count = chance.choice((0, 1, 3, 8, 20) if step else (5, 20, 40))
    hours = step * chance.choice((0, 1, 1, 6))
    return Event("file", table.name, chance.randrange(2**30), count, hours)
