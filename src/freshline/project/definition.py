"""A short name for what a table computes."""

from __future__ import annotations

import dataclasses
import hashlib
import json

from freshline.project.model import TableDef
from freshline.project.names import Scope


def definition_of(table: TableDef) -> str:
    """A short name for a table's query; changes when what it computes may have changed."""
    facts: list[object] = [
        table.kind,
        table.query.strip(),
        sorted(table.sources),
        table.partitioned_by,
    ]
    if table.emit != "early":
        facts.append(table.emit)
    if table.settings:
        facts.append(dict(sorted(table.settings.items())))
    if table.programs:
        facts.append([(each.name, each.query, each.fingerprint) for each in table.programs])
    scopes = {each.scope for each in table.programs} - {Scope()}
    if scopes and table.kind == "derived":  # what a base table has loaded stays
        facts.append(sorted(dataclasses.astuple(each) for each in scopes))
    text = json.dumps(facts)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
