"""Projects as a user would have them: files on disk, read by the product's own loader."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from freshline.executor.records import FeedFile
from freshline.project.load import load_project
from freshline.project.model import Project
from freshline.runtime.feeds.listing import FeedListing

FORMATS = ("csv", "json", "parquet")
SCHEMA = "id BIGINT, due_s DOUBLE, key INT, amount DOUBLE, note STRING"
COLUMNS = ("id", "due_s", "key", "amount", "note")


@dataclass(frozen=True, slots=True)
class FeedSpec:
    """One feed: its name, the format of its files, how often one is due, their columns."""

    name: str
    format: str
    period_s: float = 1.0
    schema: str = SCHEMA


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table: base when it reads ``STREAM feed``; ``properties`` without freshline's prefix."""

    name: str
    priority: float
    query: str
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def statement(self) -> str:
        """As it stands in the project."""
        kind = "STREAMING TABLE" if "STREAM " in self.query else "MATERIALIZED VIEW"
        properties = {"priority": f"{self.priority:g}", **self.properties}
        given = ", ".join(f"'freshline.{key}' = '{value}'" for key, value in properties.items())
        return f"CREATE {kind} {self.name}\n  TBLPROPERTIES ({given})\n  AS {self.query};\n"


def write_project(
    root: Path,
    feeds: Sequence[FeedSpec],
    tables: Sequence[TableSpec],
    scheduler: Mapping[str, Any] | None = None,
    configuration: Mapping[str, str] | None = None,
) -> Project:
    """Write freshline.yml and the SQL into ``root``, and load them.

    The feeds' folders are made, empty. Spark is local[2] with 1 GB, whatever the machine.
    """
    (root / "tables").mkdir(parents=True)
    settings = {
        "name": "bench",
        "storage": "warehouse",
        "libraries": [{"glob": {"include": "tables/**/*.sql"}}],
        "configuration": {"spark.driver.memory": "1g", **(configuration or {})},
        "spark": {"master": "local[2]"},
        "scheduler": {"tracks": 2, **(scheduler or {})},
        "maintenance": {"trials": False},  # strategies are measured from the first update on
        "feeds": {feed.name: _declared(feed) for feed in feeds},
    }
    (root / "freshline.yml").write_text(json.dumps(settings, indent=1))  # JSON is YAML
    (root / "tables" / "all.sql").write_text("\n".join(table.statement for table in tables))
    for feed in feeds:
        (root / "feed" / feed.name).mkdir(parents=True)
    return load_project(root, root)


def _declared(feed: FeedSpec) -> dict[str, Any]:
    return {
        "kind": "files",
        "path": f"feed/{feed.name}",
        "format": feed.format,
        "schema": feed.schema,
        "timestamp": {"pattern": r"-(\d{8}T\d{6}\.\d{3})", "format": "%Y%m%dT%H%M%S.%f"},
        "period": f"{feed.period_s:g} seconds",
    }


def file_name(feed: FeedSpec, moment_s: float) -> str:
    """The name of a file of ``feed`` whose data stands for ``moment_s``, to the millisecond."""
    whole = time.strftime("%Y%m%dT%H%M%S", time.gmtime(round(moment_s * 1000) // 1000))
    return f"{feed.name}-{whole}.{round(moment_s * 1000) % 1000:03d}.{feed.format}"


def write_file(path: Path, rows: int, due_s: float, first_id: int = 0) -> None:
    """A feed file in the format that the path's suffix says; always the same content."""
    ids = range(first_id, first_id + rows)
    keys = [number * 7919 % 101 for number in ids]
    amounts = [number * 31 % 9973 / 10 for number in ids]
    notes = [f"note {number % 17}" for number in ids]
    records = zip(ids, [due_s] * rows, keys, amounts, notes, strict=True)
    unfinished = path.with_name(path.name + ".tmp")
    match path.suffix:
        case ".csv":
            lines = (",".join(map(str, record)) for record in records)
            unfinished.write_text("\n".join(lines) + "\n")
        case ".json":
            dicts = (dict(zip(COLUMNS, record, strict=True)) for record in records)
            unfinished.write_text("".join(json.dumps(each) + "\n" for each in dicts))
        case _:
            types = (pa.int64(), pa.float64(), pa.int32(), pa.float64(), pa.string())
            columns = (ids, [due_s] * rows, keys, amounts, notes)
            arrays = [pa.array(values, kind) for values, kind in zip(columns, types, strict=True)]
            pq.write_table(pa.table(arrays, names=list(COLUMNS)), unfinished)
    unfinished.rename(path)


def add_file(project: Project, feed: FeedSpec, rows: int, moment_s: float) -> FeedFile:
    """Put one file into a feed's folder; the record of it that the runtime would make."""
    path = Path(project.feeds[feed.name].path) / file_name(feed, moment_s)
    write_file(path, rows, moment_s, first_id=round(moment_s * 1000) % 1_000_000_000)
    return listed(project, feed, path.name)


def listed(project: Project, feed: FeedSpec, name: str) -> FeedFile:
    """The record that the runtime would make of a feed's file."""
    listing = FeedListing(project.feeds[feed.name])
    (found,) = (file for file in listing.new_files() if file.name == name)
    return found
