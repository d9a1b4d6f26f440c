"""Views that a session needs before a table's query: Python functions, mostly.

A pipeline may define a dataset by a Python function that returns a DataFrame. What the function
reads and where its feed is can only be known by calling it once; that is done when a command that
uses Spark begins, and written down for the commands that do not.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from freshline.core.errors import Place, UserError
from freshline.project.model import DeltaSource, Feed, KafkaSource

RECORD = "pipeline.json"
"""The file in freshline's own folder that says what Python definitions came to."""


@dataclass(frozen=True, slots=True)
class PythonOutput:
    """A dataset that Python defines.

    Attributes:
        kind: A streaming table, a materialized view, or a temporary view.
        name: As written, with its schema where it has one.
        columns: Name and type of each declared column.
        comments: Name and comment of the declared columns that have one.
        notes: What is different here, a sentence each.
    """

    kind: Literal["streaming", "view", "temporary"]
    name: str
    file: str
    line: int
    comment: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    comments: tuple[tuple[str, str], ...] = ()
    partitioned_by: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonFlow:
    """A function whose rows a dataset has.

    Attributes:
        name: Its own, or that of its dataset.
        target: The dataset, as written.
        settings: Spark settings that hold for it alone.
        fingerprint: Of its file's text.
        reads: Datasets that it reads, by their names as views of a session.
        feed: The feed that it streams, or None.
        columns: Of its rows.
        names: What each name that it reads stands for: a view of the session.
        streams: Its readStream's options, as one text, to the feed's name.
        appends: It passes on rows of a table that it streams.
        watermark: It gives them a watermark.
        difference: How its rows differ from what Spark's stream would append, or None.
        outside: Tables outside the pipeline that it reads, by their names in a query, and whether
            each time at a version that it chooses itself.
    """

    name: str
    target: str
    file: str
    line: int
    settings: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    reads: tuple[str, ...] = ()
    feed: str | None = None
    columns: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, str] = field(default_factory=dict)
    appends: bool = False
    watermark: bool = False
    difference: str | None = None
    outside: Mapping[str, bool] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What it is found by when the file was imported again."""
        return f"{self.target}|{self.name}"


@dataclass(slots=True)
class PythonDefinitions:
    """All that the Python files of a pipeline define.

    Attributes:
        feeds: What functions stream from outside.
        errors: What is wrong; not written down.
    """

    outputs: list[PythonOutput] = field(default_factory=list)
    flows: list[PythonFlow] = field(default_factory=list)
    feeds: list[Feed] = field(default_factory=list)
    errors: list[UserError] = field(default_factory=list)

    def record(self) -> str:
        """As a text to be written down."""
        told = {
            "outputs": [dataclasses.asdict(each) for each in self.outputs],
            "flows": [dataclasses.asdict(each) for each in self.flows],
            "feeds": [dataclasses.asdict(each) for each in self.feeds],
        }
        return json.dumps(told, indent=1)


def recorded(path: Path) -> PythonDefinitions | None:
    """What was written down; None where nothing was, or by another version."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return PythonDefinitions(
            [_output(each) for each in told["outputs"]],
            [_flow(each) for each in told["flows"]],
            [_feed(each) for each in told["feeds"]],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _output(told: dict[str, Any]) -> PythonOutput:
    names = ("properties", "columns", "comments")
    pairs = {name: tuple(map(tuple, told.get(name, ()))) for name in names}
    lists = {name: tuple(told[name]) for name in ("partitioned_by", "notes")}
    return PythonOutput(**told | pairs | lists)


def _flow(told: dict[str, Any]) -> PythonFlow:
    return PythonFlow(**told | {name: tuple(told[name]) for name in ("reads", "columns")})


def _feed(told: dict[str, Any]) -> Feed:
    place, settings = Place(**told.pop("place")), told.pop("settings")
    kind = DeltaSource if told["kind"] == "delta" else KafkaSource
    return Feed(**told, place=place, settings=None if settings is None else kind(**settings))
