"""Keeping a failed trial so that it can be sent to somebody: a project that runs, and the case.

The folder holds freshline.yml, the parents as base tables over feeds of Parquet files (one file
for each insertion, in order), the view, and ``case.json``: the strategy, the rows that differ, and
everything that was done, deletions included, which no feed can bring.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from freshline.executor.trials import Difference
from freshline.project.model import Project, TableDef
from freshline.spark.trials.tables import Tables

_VIEW = """\
CREATE MATERIALIZED VIEW {name}
  TBLPROPERTIES ('freshline.refresh' = 'incremental')
  AS {query};
"""


def keep(
    project: Project, table: TableDef, tables: Tables, difference: Difference, zone: str, seed: int
) -> str:
    """Write the case into the project's own folder, in place of an earlier one of the view.

    Args:
        project: Of the view.
        table: The view.
        tables: What the trial did to its tables.
        difference: What went wrong.
        zone: The session's time zone.
        seed: Of the inputs.

    Returns:
        The folder.
    """
    folder = project.own_folder / "evidence" / f"trial-{table.name}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tables").mkdir(parents=True)
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
        "history": tables.history,
    }
    _write(folder / "case.json", json.dumps(case, indent=1, default=_plain) + "\n")
    _write(folder / "freshline.yml", yaml.safe_dump(_settings(table.parents, zone)))
    statements = [
        f"CREATE STREAMING TABLE {name} AS SELECT * FROM STREAM {name}_feed;\n"
        for name in table.parents
    ]
    _write(folder / "tables" / "parents.sql", "\n".join(statements))
    _write(folder / "tables" / "view.sql", _VIEW.format(name=table.name, query=table.query))
    for number, done in enumerate(tables.history):
        if "insert" in done and done["table"] in table.parents:
            feed = folder / "feed" / done["table"]
            feed.mkdir(parents=True, exist_ok=True)
            rows = tables.arrow_rows(done["table"], done["insert"])
            pq.write_table(rows, feed / f"{number:04}.parquet")
    return str(folder)


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


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _plain(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
