"""A failed trial kept so that a user can send it: a project in which it fails again.

The folder holds freshline.yml, the parents as base tables over feeds of Parquet files (one file
for each insertion), copies of the static tables, the view over these, and ``case.json``: what
went wrong, and everything that was done to the tables step by step, deletions and updates too.
``freshline validate --try`` in the folder does the same again instead of what it would generate.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.parquet as pq
import yaml

from freshline.delta.own_files import OwnFiles
from freshline.executor.trials import Difference
from freshline.project.model import Project, TableDef
from freshline.spark.trials.tables import Done, Tables
from freshline.sql.text.reads import backquoted, rewritten

CASE = "case.json"
_VIEW = """\
CREATE MATERIALIZED VIEW {name}
  TBLPROPERTIES ('freshline.refresh' = 'incremental')
  AS {query};
"""
_READ_ME = """\
A trial of the view {view} gave another result than its query: {what}

    freshline validate --try --project .

does the same to the same rows again, step by step, and ends with exit status 3 where it still
goes wrong. case.json has the rows that differ and everything that was done.
"""


@dataclass(frozen=True, slots=True)
class Case:
    """What is done again.

    Attributes:
        done: In order.
        statics: Name in a trial of each static table, by the name that the view's query uses.
    """

    done: Sequence[Done]
    statics: Mapping[str, str]


def keep(
    project: Project,
    table: TableDef,
    tables: Tables,
    difference: Difference,
    zone: str,
    seed: int,
    statics: Mapping[str, str],
) -> str:
    """Write the case beside the project's tables, in place of an earlier one of the view.

    Args:
        project: Of the view.
        table: The view.
        tables: What the trial did to its tables.
        difference: What went wrong.
        zone: The session's time zone.
        seed: Of the inputs.
        statics: Name of the copy of each static table, by the name that the query uses.

    Returns:
        The folder, a path or a URI.

    Raises:
        PlatformError: The storage does not answer.
    """
    own = OwnFiles(project.own_path)
    with tempfile.TemporaryDirectory(prefix="freshline-evidence-") as name:
        made = Path(name)
        _write(made, table, tables, difference, zone, seed, statics)
        return own.put(made, f"evidence/trial-{table.name}")


def _write(
    folder: Path,
    table: TableDef,
    tables: Tables,
    difference: Difference,
    zone: str,
    seed: int,
    statics: Mapping[str, str],
) -> None:
    copies = {name: f"delta.{backquoted(f'static/{copy}')}" for name, copy in statics.items()}
    query = rewritten(table.query, copies) if copies else table.query
    history = []
    for number, done in enumerate(tables.history):
        entry: dict[str, Any] = {"step": done.step, "table": done.table}
        if done.rows is None:
            kind = "update" if done.values else "delete"
            entry |= {kind: done.where, "by": "Spark" if done.by_spark else "delta-rs"}
            entry |= {"set": done.values} if done.values else {}
        else:
            is_static = done.table in statics.values()
            file = f"{'rows' if is_static else 'feed'}/{done.table}/{number:04}.parquet"
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(done.rows, folder / file)
            entry |= {"insert": file, "rows": done.rows.num_rows}
            if is_static:
                where = str(folder / "static" / done.table)
                deltalake.write_deltalake(where, done.rows, mode="append")
        history.append(entry)
    case = {
        "view": table.name,
        "query": table.query,
        "strategy": difference.strategy,
        "code": difference.code,
        "step": difference.step,
        "error": difference.error,
        "missing": [list(row) for row in difference.missing],
        "extra": [list(row) for row in difference.extra],
        "zone": zone,
        "seed": seed,
        "tables": {name: schema.simpleString() for name, schema in tables.schemas.items()},
        "statics": {copies[name]: copy for name, copy in statics.items()},
        "history": history,
    }
    (folder / "tables").mkdir()
    statements = [
        f"CREATE STREAMING TABLE {name} AS SELECT * FROM STREAM {name}_feed;\n"
        for name in table.parents
    ]
    texts = {
        CASE: json.dumps(case, indent=1, default=_plain) + "\n",
        "README.md": _READ_ME.format(view=table.name, what=difference.message),
        "freshline.yml": yaml.safe_dump(_settings(table.parents, zone)),
        "tables/parents.sql": "\n".join(statements),
        "tables/view.sql": _VIEW.format(name=table.name, query=query),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def kept_case(project: Project, table: TableDef) -> Case | None:
    """The case of a view whose project is one that was kept; None: it is any other project."""
    try:
        case = json.loads((project.root / CASE).read_text("utf-8"))
    except FileNotFoundError:
        return None
    if case.get("view") != table.name:
        return None
    done = [
        Done(
            entry["step"],
            entry["table"],
            pq.read_table(project.root / entry["insert"]) if "insert" in entry else None,
            entry.get("delete") or entry.get("update", ""),
            entry.get("by") == "Spark",
            entry.get("set", {}),
        )
        for entry in case["history"]
    ]
    return Case(done, case["statics"])


def _settings(parents: Sequence[str], zone: str) -> dict[str, Any]:
    """What freshline.yml says."""
    return {
        "name": "trial",
        "storage": "warehouse",
        "libraries": [{"glob": {"include": "tables/**/*.sql"}}],
        "configuration": {"spark.sql.session.timeZone": zone},
        "feeds": {
            f"{name}_feed": {"kind": "files", "path": f"feed/{name}", "format": "parquet"}
            for name in parents
        },
    }


def _plain(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
