"""The models, sources, seeds and snapshots of a manifest as items."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freshline.importing.columns import texts_in_calls
from freshline.importing.dbt.around import Around
from freshline.importing.dbt.context import Kind
from freshline.importing.dbt.history import (
    adds_all,
    calendars,
    load_times,
    lost_history,
    strategy_of,
    times_read,
)
from freshline.importing.dbt.introspection import Dependences, dependences
from freshline.importing.dbt.macros import Macros
from freshline.importing.dbt.manifest import (
    Manifest,
    changed_since,
    depends,
    mapping,
    read_manifest,
)
from freshline.importing.dbt.order import in_order
from freshline.importing.dbt.overrides import Overrides
from freshline.importing.dbt.tests import read_test
from freshline.importing.inlining import without_end
from freshline.importing.items import Check, Found, Item, Role
from freshline.sql.text.reads import reads_of
from freshline.sql.text.tokens import SqlTextError, tokens

_ROLES: dict[str, Role] = {
    "table": "table",
    "incremental": "table",
    "materialized_view": "table",
    "view": "view",
    "ephemeral": "inlined",
}
_OF_QUERY = "no rows are merged: the table has those of its query, with its values"
_IGNORED_CONFIG = (
    ("incremental_strategy", "the strategy is chosen by measured cost"),
    ("incremental_predicates", "no rows are merged, so none are chosen for it"),
    ("predicates", "no rows are merged, so none are chosen for it"),
    ("merge_update_columns", "no rows are merged: each column has the query's value"),
    ("merge_exclude_columns", "no rows are merged: each column has the query's value"),
    ("skip_matched_step", _OF_QUERY),
    ("skip_not_matched_step", _OF_QUERY),
    ("matched_condition", _OF_QUERY),
    ("not_matched_condition", _OF_QUERY),
    ("not_matched_by_source_action", _OF_QUERY),
    ("not_matched_by_source_condition", _OF_QUERY),
    ("cluster_by", "tables are not clustered"),
    ("clustered_by", "tables are not bucketed"),
    ("liquid_clustered_by", "tables are not clustered"),
    ("location_root", "tables are in the project's storage"),
    ("tblproperties", "only freshline's own properties have an effect"),
    ("grants", "rights are the catalog's"),
    ("pre-hook", "statements around an update are not run"),
    ("post-hook", "statements around an update are not run"),
)
_SETTINGS = {"spark": {"spark.sql.ansi.enabled": "false"}}
"""What an adapter sets in every session of its own, by the adapter."""
_SESSION = (
    "What `server_side_parameters` of profiles.yml, hooks and the cluster set in dbt's sessions,"
    " the time zone for one, is not in the manifest: where it decides rows, add it to"
    " `configuration:`."
)
_OF_COMPILE = {
    Kind.RUN: "its SQL holds what was true of one run of dbt ({})",
    Kind.COMPUTED: "it calls by a name that is computed ({}): what it asked cannot be told",
    Kind.UNREADABLE: "its Jinja cannot be parsed here ({})",
    Kind.UNKNOWN: "it reads {}, which is no macro and no name of dbt's that is known here",
}
"""Why compiled SQL is not that of the project alone."""
_UNKNOWN_RUN = (
    "run_results.json is of another run of dbt than manifest.json, so its SQL may be that of an"
    " incremental run: run `dbt compile --full-refresh`, and no other command before the import"
)
_STALE = (
    "{} changed after the compile: the new project has the queries that dbt compiled, not those of"
    " the files as they are."
)
_GONE = "These files are not there any more: {}. The new project has what dbt compiled of them."
_NEW = (
    "These files came after the compile, or dbt did not read them: {}. Nothing of them is imported."
)
_AGAIN = "Run `dbt compile --full-refresh` and import again."
_UNKNOWN_OPTIONS = (
    "run_results.json of the run of dbt that wrote manifest.json is not there, so it is not known"
    " whether the compile had `--empty`, `--sample`, `--defer` or `--vars`, by which queries read a"
    " part of their tables, or those of another project. If you are not sure, run"
    " `dbt compile --full-refresh` and import again."
)
_ADDS_ALL = (
    "it does not ask is_incremental, so each run of dbt adds all rows of its query once more; here"
    " each of them is there once"
)
_NEVER_ANEW = (
    "its full_refresh is false: no run of dbt makes its rows anew, so its table may have rows that"
    " its query does not give"
)
_NO_FULL_REFRESH = (
    "its SQL is that of an incremental run, or may be: compile with `dbt compile --full-refresh`"
)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What decides about a model besides its own entry in the manifest."""

    manifest: Manifest
    macros: Macros
    around: Around
    overrides: Overrides


def read_dbt(folder: Path) -> Found:
    """What the compiled dbt project in ``folder`` holds.

    Raises:
        UserError: There is no manifest that can be read.
    """
    manifest = read_manifest(folder)
    macros = Macros(manifest.macros)
    around = Around(manifest.nodes, macros, manifest.project)
    overrides = Overrides(macros, manifest.project)
    surroundings = _Surroundings(manifest, macros, around, overrides)
    items = [_source(key, node, around) for key, node in manifest.sources.items()]
    checks: list[Check] = []
    for key, node in manifest.nodes.items():
        kind = node.get("resource_type")
        if kind == "model":
            items.append(_model(key, node, surroundings))
        elif kind == "seed":
            items.append(Item(key, "seed", "outside", _relation(node), stays=True))
        elif kind == "snapshot":
            items.append(_snapshot(key, node))
        elif kind == "test":
            checks.append(read_test(key, node, overrides))
    items = [_with_times(item, items, manifest) for item in items]
    checks += [
        Check(key, "unit test", "", refusal="it tests a query on rows of its own, not a table")
        for key in manifest.unit_tests
    ]
    notes = [f"`{key}` is disabled in dbt and was left out." for key in manifest.disabled]
    if manifest.full_refresh is None:
        notes.append(_UNKNOWN_OPTIONS)
    since = changed_since(folder, manifest)
    for files, told in ((since.changed, _STALE), (since.gone, _GONE), (since.new, _NEW)):
        if files:
            notes.append(f"{told.format(', '.join(f'`{each}`' for each in files))} {_AGAIN}")
    if not any(item.role == "base" for item in items):
        notes.append(
            "No source has `meta.freshline.feed`, which says where its rows come from: without a "
            "feed nothing has news. docs/import.md shows how to give one."
        )
    else:
        notes += [*around.notes, _SESSION]
    return Found(
        manifest.project,
        f"dbt project {manifest.project}",
        tuple(items),
        tuple(checks),
        tuple(notes),
        _SETTINGS.get(manifest.adapter, {}) | around.settings,
    )


def _relation(node: Mapping[str, Any]) -> tuple[str, ...]:
    """The parts of the name by which compiled SQL reads it."""
    try:
        found = tokens(str(node.get("relation_name") or ""))
    except SqlTextError:
        return ()
    return tuple(token.name for token in found if not token.is_symbol("."))


def _source(key: str, node: Mapping[str, Any], around: Around) -> Item:
    ours = _ours(node)
    feed = ours.pop("feed", None)
    if feed is None:
        left = ("it has no `meta.freshline.feed`, so it is static: nothing arrives from it",)
        return Item(key, "source", "outside", _relation(node), stays=True, left_out=left)
    refusal = around.of_source(node)
    if not isinstance(feed, dict):
        refusal = "its `meta.freshline.feed` is no mapping"
    lag = _duration(mapping(node.get("freshness")))
    changed = []
    if lag is not None and "target_lag" not in ours:
        ours["target_lag"] = lag
        changed.append(f"its freshness became the target lag {lag}")
    return Item(
        key,
        "source",
        "base",
        _relation(node),
        comment=node.get("description") or None,
        columns=_descriptions(node),
        properties=_properties(node, ours),
        feed=feed if isinstance(feed, dict) else None,
        refusal=refusal,
        stays=True,
        changed=tuple(changed),
    )


def _duration(freshness: Mapping[str, Any]) -> str | None:
    """The limit of a source: when dbt fails, or else when it warns."""
    for name in ("error_after", "warn_after"):
        limit = mapping(freshness.get(name))
        if limit.get("count") and limit.get("period"):
            return f"{limit['count']} {limit['period']}s"
    return None


def _snapshot(key: str, node: Mapping[str, Any]) -> Item:
    refusal = "a snapshot keeps what rows were, by the time when dbt looked; no query says that"
    return Item(key, "snapshot", "outside", _relation(node), refusal=refusal, stays=True)


def _model(key: str, node: Mapping[str, Any], surroundings: _Surroundings) -> Item:
    config = mapping(node.get("config"))
    materialized = str(config.get("materialized"))
    role = _ROLES.get(materialized, "table")
    ours = _ours(node)
    changed = ["its incremental logic fell away"] if materialized == "incremental" else []
    if config.get("unique_key"):
        changed.append(
            f"no rows are merged by {config['unique_key']}: it holds what a full refresh makes"
        )
    found = dependences(node, surroundings.macros)
    changed += _given(found, surroundings.manifest)
    if materialized == "incremental":
        limited, adapter = Kind.FULL_REFRESH in found.words, surroundings.manifest.adapter
        changed += [
            f"{name} is the time of the table's last update, in all its rows; dbt's is of each row"
            for name in load_times(node, adapter, surroundings.macros, limited=limited)
        ]
        changed += [
            f"{each} has a row for each day up to the last update's; dbt's rows are those that were"
            " made of it when they were loaded"
            for each in calendars(node, surroundings.manifest)
        ]
        if not limited and adds_all(config, adapter):
            changed.append(_ADDS_ALL)
    build_after = mapping(mapping(config.get("freshness")).get("build_after"))
    is_table = role == "table"
    left_out = _left_out(config)
    query = node.get("compiled_code") or None
    parts = _columns(config.get("partition_by")) if is_table else ()
    if query and is_table and node.get("language") == "sql":
        query = in_order(query, node, parts, surroundings.manifest.adapter)
    if build_after.get("count") and build_after.get("period") and "target_lag" not in ours:
        ours["target_lag"] = f"{build_after['count']} {build_after['period']}s"
        if is_table:
            changed.append(f"its build_after became the target lag {ours['target_lag']}")
    if ours and not is_table:
        left_out.append(f"{', '.join(ours)}: a table of the new project has them, no view")
    if is_table and str(config.get("file_format") or "delta").lower() != "delta":
        changed.append(f"Delta, not {config['file_format']}")
    return Item(
        key,
        f"{materialized} model" if node.get("language") == "sql" else "Python model",
        role,
        _relation(node),
        query=query,
        comment=(node.get("description") or None) if is_table else None,
        columns=_descriptions(node) if is_table else {},
        properties=_properties(node, ours) if is_table else {},
        partitioned_by=parts,
        needs=tuple(each["id"] for each in node.get("extra_ctes") or () if "id" in each),
        refusal=_refusal(key, node, found, surroundings),
        stays=is_table,
        changed=tuple(changed),
        left_out=tuple(left_out),
    )


def _with_times(item: Item, items: list[Item], manifest: Manifest) -> Item:
    """The item, told what it reads of load times of models that are taken."""
    if item.role != "table" or item.refusal is not None:
        return item
    refused = [each.key for each in items if each.refusal is not None]
    told = tuple(
        f"it reads {name} of {key}, which is the time of that table's last update; in dbt there are"
        " rows of earlier times too"
        for name, key in times_read(manifest.nodes[item.key], manifest, refused)
    )
    return dataclasses.replace(item, changed=item.changed + told)


def _given(found: Dependences, manifest: Manifest) -> list[str]:
    """What its SQL holds of the target, the environment and ``--vars`` of the compile."""
    known = manifest.variables is not None
    words = [word for word in found.given if word != "var" or not known or manifest.variables]
    return [f"its SQL holds what the compile was given ({', '.join(words)})"] if words else []


def _refusal(
    key: str, node: Mapping[str, Any], found: Dependences, surroundings: _Surroundings
) -> str | None:
    """Why the model cannot be taken, as far as the manifest tells; the strongest reason."""
    if node.get("language") != "sql":
        return f"it is written in {node.get('language')}: only SQL can be maintained from changes"
    config = mapping(node.get("config"))
    materialized = str(config.get("materialized"))
    if materialized not in _ROLES:
        return f"its materialization {materialized} is not known"
    by_name = materialized == "incremental" and surroundings.manifest.adapter == "databricks"
    strategy = strategy_of(config, surroundings.manifest.adapter) if by_name else ""
    own = surroundings.overrides.of_materialization(materialized, strategy)
    if own is not None:
        return f"{own} is in the place of dbt's own macro, and may fill its table with other rows"
    if masked := _masked(node, config):
        return f"its readers see only a part of it ({masked}): tables here have no such rules"
    if Kind.DATABASE in found.words:
        return (
            "it can query the database while dbt compiles it"
            f" ({found.words[Kind.DATABASE]}): its SQL holds answers"
        )
    if hidden := _hidden_read(node, surroundings.manifest):
        return hidden
    if config.get("sql_header"):
        return "its sql_header would have to run before each update"
    return surroundings.around.of_model(key, node) or _not_whole(node, config, found, surroundings)


def _hidden_read(node: Mapping[str, Any], manifest: Manifest) -> str | None:
    """Why a function may read a table that the query names in no FROM, or None."""
    if any(each.startswith("function.") for each in depends(node)):
        return "it calls a function that dbt creates"
    query = str(node.get("compiled_code") or "")
    try:
        reads = {
            tuple(part.lower() for part in read.parts) for read in reads_of(without_end(query))
        }
        texts = [each.value.replace("`", "").lower() for each in texts_in_calls(tokens(query))]
    except (SqlTextError, ValueError):
        return None  # it is refused for that
    for key in depends(node):
        relation = _relation(manifest.nodes.get(key) or manifest.sources.get(key) or {})
        parts = tuple(part.lower() for part in relation)
        name = re.compile(rf"(?<![\w.]){re.escape('.'.join(parts))}(?![\w.])")
        if parts and parts not in reads and any(name.search(text) for text in texts):
            return f"it names {key} in a text alone: what reads it so reads dbt's own table"
    return None


def _masked(node: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    """The rule by which a table of Databricks hides rows or values from some of its readers."""
    if config.get("row_filter"):
        return "row_filter"
    for name, column in mapping(node.get("columns")).items():
        about = mapping(column)
        if about.get("column_mask") or mapping(about.get("config")).get("column_mask"):
            return f"column_mask of {name}"
    return None


def _not_whole(
    node: Mapping[str, Any],
    config: Mapping[str, Any],
    found: Dependences,
    surroundings: _Surroundings,
) -> str | None:
    """Why its compiled SQL is not the whole of its table, or None."""
    manifest, macros = surroundings.manifest, surroundings.macros
    for kind, why in _OF_COMPILE.items():
        if kind in found.words:
            return why.format(found.words[kind])
    if config.get("materialized") == "incremental" and (
        config.get("incremental_strategy") == "microbatch"
    ):
        return "dbt limits a microbatch model to one batch when it runs it, outside of its SQL"
    if Kind.FULL_REFRESH in found.words:
        if config.get("full_refresh") is False:
            return "its full_refresh is false, so its SQL is that of an incremental run"
        if not manifest.full_refresh:
            return _UNKNOWN_RUN if manifest.full_refresh is None else _NO_FULL_REFRESH
    if not node.get("compiled") or not node.get("compiled_code"):
        return "it was not compiled"
    if config.get("materialized") == "incremental":
        if config.get("full_refresh") is False:
            return _NEVER_ANEW
        return lost_history(node, manifest, macros, limited=Kind.FULL_REFRESH in found.words)
    return None


def _left_out(config: Mapping[str, Any]) -> list[str]:
    found = [f"{name}: {why}" for name, why in _IGNORED_CONFIG if config.get(name)]
    if config.get("on_schema_change", "ignore") not in {"ignore", None}:
        found.append("on_schema_change: the table has the columns of its query, in all its rows")
    if mapping(config.get("contract")).get("enforced"):
        found.append(
            "contract: a table has the types of its query, and constraints are not checked"
        )
    return found


def _descriptions(node: Mapping[str, Any]) -> dict[str, str]:
    """The descriptions of its columns, by name."""
    found = {
        str(name): str(mapping(column).get("description") or "").strip()
        for name, column in mapping(node.get("columns")).items()
    }
    return {name: text for name, text in found.items() if text}


def _ours(node: Mapping[str, Any]) -> dict[str, Any]:
    """``meta.freshline``, which newer versions of dbt have under config."""
    for meta in (mapping(node.get("config")).get("meta"), node.get("meta")):
        ours = mapping(meta).get("freshline")
        if isinstance(ours, Mapping):
            return dict(ours)
    return {}


def _properties(node: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, str]:
    properties = {f"freshline.{name}": str(value) for name, value in ours.items()}
    tags = node.get("tags") or ()
    if tags:
        properties["dbt.tags"] = ", ".join(str(tag) for tag in tags)
    return properties


def _columns(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    return tuple(str(each) for each in value) if isinstance(value, list) else ()
