"""The artifacts of ``dbt compile``: the manifest, and whether it was compiled in full."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freshline.core.errors import Place, UserError

VERSION = "12"
ADAPTERS = ("spark", "databricks")
_COMPILE = "Run `dbt compile --full-refresh` in the dbt project, then import again."


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest of version 12.

    Attributes:
        adapter: One of ``ADAPTERS``.
        nodes: Models, seeds, snapshots, tests and hooks of runs by unique id.
        sources: By unique id.
        macros: By unique id.
        unit_tests: By unique id.
        disabled: Unique ids of what dbt does not run.
        full_refresh: Incremental models were compiled as if their table did not exist yet.
    """

    project: str
    adapter: str
    nodes: dict[str, dict[str, Any]]
    sources: dict[str, dict[str, Any]]
    macros: dict[str, dict[str, Any]]
    unit_tests: tuple[str, ...]
    disabled: tuple[str, ...]
    full_refresh: bool


def read_manifest(folder: Path) -> Manifest:
    """The manifest in ``folder``/target.

    Raises:
        UserError: There is none, it has another version or adapter, or it was compiled with
            options that change what the queries read.
    """
    path = folder / "target" / "manifest.json"
    data = _json(path)
    if data is None:
        raise UserError(
            "no-manifest",
            f"there is no {path}",
            rule="a dbt project is imported from what dbt compiled it to",
            next_step=_COMPILE,
        )
    about = data.get("metadata")
    about = about if isinstance(about, dict) else {}
    schema = str(about.get("dbt_schema_version", ""))
    if not schema.endswith(f"/manifest/v{VERSION}.json"):
        raise UserError(
            "manifest-version",
            f"the manifest's format is '{schema or 'not named'}'",
            where=Place(str(path)),
            rule=f"manifests of version {VERSION} are read, which dbt 1.8 and later write",
            next_step="Compile the project with such a dbt, then import again.",
        )
    adapter = str(about.get("adapter_type"))
    if adapter not in ADAPTERS:
        raise UserError(
            "dbt-adapter",
            f"the project was compiled for {adapter}",
            where=Place(str(path)),
            rule=f"the compiled SQL is run by Spark, so the adapter is {' or '.join(ADAPTERS)}",
            next_step="Add a target with dbt-spark to profiles.yml and compile with it.",
        )
    return Manifest(
        str(about.get("project_name") or "imported"),
        adapter,
        data.get("nodes", {}),
        data.get("sources", {}),
        data.get("macros", {}),
        tuple(data.get("unit_tests") or ()),
        tuple(data.get("disabled") or ()),
        _in_full(folder, about.get("invocation_id")),
    )


def _in_full(folder: Path, invocation: object) -> bool:
    """Whether the run that wrote the manifest had ``--full-refresh``, by its run_results.json.

    Raises:
        UserError: It had an option that makes every query read a part of its tables.
    """
    path = folder / "target" / "run_results.json"
    results = _json(path) or {}
    if invocation is None or results.get("metadata", {}).get("invocation_id") != invocation:
        return False  # written by another run: nothing is known of this one
    options = results.get("args", {})
    for option in ("empty", "sample", "event_time_start", "event_time_end", "defer"):
        if options.get(option):
            raise UserError(
                "dbt-options",
                f"the project was compiled with --{option.replace('_', '-')}",
                where=Place(str(path)),
                rule="each query has to read the whole tables of its own project",
                next_step=_COMPILE,
            )
    return bool(options.get("full_refresh"))


def _json(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(
            "unreadable-file",
            f"the file cannot be read: {error}",
            where=Place(str(path)),
            rule="it is JSON as dbt writes it",
            next_step=_COMPILE,
        ) from error
    if not isinstance(data, dict):
        raise UserError(
            "unreadable-file",
            "the file holds no JSON object",
            where=Place(str(path)),
            rule="it is JSON as dbt writes it",
            next_step=_COMPILE,
        )
    return data
