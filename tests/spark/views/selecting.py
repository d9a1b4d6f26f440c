"""A law: the rows of some keys are the same rows, however many the keys are.

Few keys are compared in a condition, more of them are named column by column or by their span and
joined. Whichever it is, rows are taken whose keys are not distinct from one of them, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from pyspark.sql import SparkSession

from freshline.spark.engine.in_driver import Held
from freshline.spark.views.groups import MOST_COMPARED, MOST_NAMED, of_keys

_KEYS = MOST_NAMED + 100
_TYPES = {
    "string": f"if(id % {_KEYS} = 3, NULL, concat('k', id % {_KEYS}))",
    "int": f"if(id % {_KEYS} = 4, NULL, CAST(id % {_KEYS} AS INT))",
    "decimal(9,2)": f"if(id % {_KEYS} = 5, NULL, CAST((id % {_KEYS}) / 4 AS DECIMAL(9,2)))",
}
"""A value by type, of a row's number: so many keys, the first ones twice, and NULL among them."""

_BROKEN = "if(id % 4 = 0, CAST(X'80' AS STRING), if(id % 4 = 2, CAST(X'FF' AS STRING), 'a'))"
_COUNTS = (0, MOST_COMPARED + 1, MOST_NAMED + 1)
_ROWS = _KEYS + 100


def wrongly_selected(session: SparkSession) -> Iterator[str]:
    """What keys select other rows than theirs, and how many of them there were."""
    for kinds in (("string",), ("int", "string"), ("decimal(9,2)", "int")):
        values = [_TYPES[kind] for kind in kinds]
        yield from _wrong(session, values, kinds, _COUNTS)
    yield from _wrong(session, [_BROKEN], ("string",), (1,))


def _wrong(
    session: SparkSession, values: Sequence[str], kinds: Sequence[str], counts: Sequence[int]
) -> Iterator[str]:
    names = [f"c{at}" for at in range(len(kinds))]
    shown = [f"{value} AS {name}" for value, name in zip(values, names, strict=True)]
    rows = session.range(0, _ROWS, 1, 1).selectExpr("id", *shown).localCheckpoint()
    texts = [
        f"CAST({name} AS BINARY)" if kind == "string" else name
        for name, kind in zip(names, kinds, strict=True)
    ]
    told = {row[0]: tuple(row[1:]) for row in rows.selectExpr("id", *texts).collect()}
    for count, in_driver in product(counts, (False, True)):
        keys = rows.filter(f"id < {count}").drop("id").toDF(*(f"freshline_{n}" for n in names))
        selections = of_keys(Held(keys, in_driver), kinds, [names], may_join=True)
        assert selections is not None
        (found,) = selections
        wanted = {told[number] for number in range(count)}
        right = {number for number, key in told.items() if key in wanted}
        taken = [number for (number,) in found.of(rows).select("id").collect()]
        others = [number for (number,) in found.others(rows).select("id").collect()]
        if sorted(taken) != sorted(right) or sorted(others) != sorted(told.keys() - right):
            said = f"{count} keys of {', '.join(kinds)}" + (" in the driver" if in_driver else "")
            yield f"{said}: {len(taken)} rows and not {len(right)}, {len(others)} others"
