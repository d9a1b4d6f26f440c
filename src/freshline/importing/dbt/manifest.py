"""The artifacts of ``dbt compile``: the manifest, and whether it was compiled in full."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freshline.core.errors import Place, UserError

VERSION = "12"
ADAPTERS = ("spark", "databricks")
_TARGET_PATH = re.compile(r"""^target-path:\s*["']?([^"'#{}\n]*[^"'#{}\s])""", re.MULTILINE)
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
        full_refresh: Incremental models were compiled as if their table did not exist yet;
            None: run_results.json is of another run, so it is not known.
        files: The files of all of them, from the folder of the project, disabled ones too.
        variables: Names that ``--vars`` of the compile gave a value; None: it is not known.
    """

    project: str
    adapter: str
    nodes: dict[str, dict[str, Any]]
    sources: dict[str, dict[str, Any]]
    macros: dict[str, dict[str, Any]]
    unit_tests: tuple[str, ...]
    disabled: tuple[str, ...]
    full_refresh: bool | None
    variables: tuple[str, ...] | None
    files: frozenset[str] = frozenset()


def read_manifest(folder: Path) -> Manifest:
    """The manifest in ``folder``/target, or where dbt_project.yml has dbt write it.

    Raises:
        UserError: There is none, it has another version or adapter, the compile did not end, or
            it had options that change what the queries read.
    """
    path = _target(folder) / "manifest.json"
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
    nodes = data.get("nodes", {})
    options = _options(path.parent, about.get("invocation_id"))
    if options is None:
        _require_compiled(path, nodes)
    return Manifest(
        str(about.get("project_name") or "imported"),
        adapter,
        nodes,
        data.get("sources", {}),
        data.get("macros", {}),
        tuple(data.get("unit_tests") or ()),
        tuple(data.get("disabled") or ()),
        None if options is None else bool(options.get("full_refresh")),
        None if options is None else tuple(_variables(options)),
        _files(data),
    )


def _target(folder: Path) -> Path:
    """The folder of dbt's artifacts: a ``target`` beside another ``target-path`` may be old."""
    with suppress(OSError, ValueError):
        found = _TARGET_PATH.search((folder / "dbt_project.yml").read_text(encoding="utf-8-sig"))
        if found is not None and (folder / found[1] / "manifest.json").exists():
            return folder / found[1]
    return folder / "target"


def _files(data: Mapping[str, Any]) -> frozenset[str]:
    """The files of what a manifest has, disabled or not."""
    listed = [*mapping(data.get("nodes")).values(), *mapping(data.get("macros")).values()]
    listed += [each for found in mapping(data.get("disabled")).values() for each in found]
    return frozenset(_path_of(each) for each in listed if isinstance(each, Mapping))


@dataclass(frozen=True, slots=True)
class Changes:
    """How the project's own files differ from what dbt compiled.

    Attributes:
        changed: Files of models and macros with another text.
        gone: Files of models and macros that are not there.
        new: Files of models that dbt did not compile.
    """

    changed: tuple[str, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]


def changed_since(folder: Path, manifest: Manifest) -> Changes:
    """What changed in the project's own models and macros after the compile.

    Only in folders that are there: it may be compiled in one place and imported in another.
    """
    changed, gone = dict[str, None](), dict[str, None]()
    roots = set[str]()
    for each in (*manifest.nodes.values(), *manifest.macros.values()):
        path = _path_of(each)
        is_model = each.get("resource_type") == "model"
        text = str(each.get("raw_code" if is_model else "macro_sql") or "")
        own = each.get("package_name") == manifest.project
        if not (own and path and (is_model or "macro_sql" in each)):
            continue
        if is_model:
            roots.add(path.removesuffix(str(each.get("path")).replace("\\", "/")).strip("/"))
        if not (folder / path.partition("/")[0]).is_dir():
            continue
        try:
            file = (folder / path).read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            gone[path] = None
            continue
        except (OSError, ValueError):
            continue
        if not (_same(text, file) if is_model else _lines(text) in _lines(file)):
            changed[path] = None
    roots -= {"", *manifest.files}
    return Changes(tuple(changed), tuple(gone), tuple(_new_files(folder, roots, manifest.files)))


def _new_files(folder: Path, roots: Collection[str], known: Collection[str]) -> Iterator[str]:
    if (folder / ".dbtignore").exists():
        return  # which of them dbt reads is not known
    for root in sorted(roots):
        for path in sorted((folder / root).rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.suffix in {".sql", ".py"} and name not in known and path.is_file():
                with suppress(OSError):
                    if path.read_bytes().strip():  # dbt passes over an empty one
                        yield name


def _path_of(node: Mapping[str, Any]) -> str:
    """The file of a model or macro, from the project's folder."""
    return str(node.get("original_file_path") or "").replace("\\", "/")


def _same(compiled: str, file: str) -> bool:
    """Whether a model's text is that of its file: dbt strips it."""
    return _lines(compiled.strip()) == _lines(file.strip())


def _lines(text: str) -> str:
    """A text whose lines end in one way: their ends are those of the machine."""
    return "\n".join(text.splitlines())


def _require_compiled(path: Path, nodes: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a manifest that dbt wrote before it compiled, and did not write again.

    Raises:
        UserError: SQL models are not compiled.
    """
    models = [
        node
        for node in nodes.values()
        if node.get("resource_type") == "model" and node.get("language") == "sql"
    ]
    missing = sum(not (node.get("compiled") and node.get("compiled_code")) for node in models)
    if missing:
        raise UserError(
            "not-compiled",
            f"{missing} of {len(models)} SQL models have no compiled SQL, and no run_results.json"
            " of the same run of dbt is beside the manifest",
            where=Place(str(path)),
            rule="dbt writes run_results.json when a compile has ended well: this one failed, or"
            " `dbt parse` or `dbt ls` wrote the manifest after it",
            next_step="Run `dbt compile --full-refresh`, mend the error it ends with, and run it"
            " until it ends without one. Then import before another command of dbt.",
        )


def _variables(options: Mapping[str, Any]) -> list[str]:
    """The names of ``--vars``."""
    given = options.get("vars")
    return [str(each) for each in given] if isinstance(given, Mapping) else []


def _options(target: Path, invocation: object) -> dict[str, Any] | None:
    """The options of the run that wrote the manifest, by its run_results.json, or None.

    Raises:
        UserError: It had an option that makes every query read a part of its tables.
    """
    path = target / "run_results.json"
    results = _json(path) or {}
    if invocation is None or results.get("metadata", {}).get("invocation_id") != invocation:
        return None  # written by another run: nothing is known of this one
    options: dict[str, Any] = results.get("args", {})
    for option in ("empty", "sample", "event_time_start", "event_time_end", "defer"):
        if options.get(option):
            raise UserError(
                "dbt-options",
                f"the project was compiled with --{option.replace('_', '-')}",
                where=Place(str(path)),
                rule="each query has to read the whole tables of its own project",
                next_step=_COMPILE,
            )
    return options


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


def mapping(value: object) -> Mapping[str, Any]:
    """A part of a node, empty where the manifest has no such part."""
    return value if isinstance(value, Mapping) else {}


def depends(node: Mapping[str, Any]) -> list[str]:
    """The keys of what dbt saw a node read."""
    return [str(each) for each in mapping(node.get("depends_on")).get("nodes") or ()]
