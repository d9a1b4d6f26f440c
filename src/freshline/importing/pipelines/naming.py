"""Names of a pipeline's tables and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from freshline.importing.pipelines.definitions import Key, Output
from freshline.sql.text.reads import Read


def is_star(text: str, read: Read) -> bool:
    """Whether a query is ``SELECT * FROM name``, perhaps with a WHERE."""
    before = text[: read.start].split()
    after = text[read.end :].split()
    return [each.upper() for each in before] == ["SELECT", "*", "FROM"] and (
        not after or after[0].upper() == "WHERE"
    )


def distinct(names: Iterable[str]) -> list[str]:
    """Names that differ without regard to case, each as it was written first."""
    return list({name.lower(): name for name in reversed(list(names))}.values())[::-1]


def names_of(outputs: Iterable[Output]) -> dict[Key, str]:
    """The name of each table in the project: its last part, with its schema where two share it."""
    stored = [output for output in outputs if output.kind != "temporary"]
    last = Counter(output.key[-1] for output in stored)
    return {
        output.key: output.name[-1] if last[output.key[-1]] == 1 else "_".join(output.name[-2:])
        for output in stored
    }


def part_name(table: str, flow: str) -> str:
    """What the rows of one of several flows into a table are called."""
    return f"{table}__{flow}"


def former_names(dataset: tuple[str, ...], name: str, flow: str = "") -> tuple[str, ...]:
    """What a table may have been called before something was added to its pipeline, or removed.

    Args:
        dataset: The name of the dataset that it has rows of.
        name: What it is called now.
        flow: The one of several into the dataset that fills it; empty: there is one.
    """
    whole = (dataset[-1], "_".join(dataset[-2:]))
    parts = tuple(part_name(each, flow) for each in whole) if flow else ()
    return tuple(each for each in (*whole, *parts) if each != name)
