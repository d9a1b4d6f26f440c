"""``/v1/graph?around=&depth=``: the tables and what they are made of, with places to draw them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.requests import Request

from freshline.project.model import Project
from freshline.runtime.status.status import TableStatus
from freshline.ui.layout import layout
from freshline.ui.reads.reading import Reader
from freshline.ui.views.table import known_name
from freshline.ui.views.updates import whole

MOST_TABLES = 150
_DEEPEST = 50


def asked(reader: Reader, request: Request) -> tuple[str | None, int]:
    """The table in the middle (None: all), and how many steps away others may be."""
    said = request.query_params
    around = said.get("around") or None
    if around is not None:
        around = known_name(reader.project, around)
    return around, min(whole(said, "depth", 3), _DEEPEST)


def answer(reader: Reader, asked_for: tuple[str | None, int]) -> dict[str, Any]:
    """Nodes with layer and place, edges, and the slowest path: from the latest table upwards.

    Of more than 150 tables only a part is shown: those around the table asked for, or else around
    the one that is latest.
    """
    around, depth = asked_for
    project = reader.project
    found = reader.status()
    by_name = {each.name: each for each in found.tables if project.has_table(each.name)}
    latest = max(by_name.values(), key=_lateness, default=None)
    names = [table.name for table in project.tables]
    if around is not None:
        names = _near(project, around, depth)
    elif len(names) > MOST_TABLES and latest is not None:
        names = _near(project, latest.name, depth)
    cut = len(names) > MOST_TABLES
    names = names[:MOST_TABLES]
    shown = set(names)
    ordered = [table for table in project.tables if table.name in shown]
    places = layout({table.name: table.parents for table in ordered})
    path = _slowest(project, by_name, shown)
    return {
        "at_s": found.now_s,
        "total": len(project.tables),
        "around": around,
        "cut": cut,
        "nodes": [
            {
                **_node(by_name[table.name]),
                "layer": places[table.name].layer,
                "place": places[table.name].place,
                "feed": table.feed,
                "hidden_parents": sum(each not in shown for each in table.parents),
            }
            for table in ordered
        ],
        "edges": [
            [each, table.name] for table in ordered for each in table.parents if each in shown
        ],
        "slowest": path,
    }


def _node(item: TableStatus) -> dict[str, Any]:
    return {
        "name": item.name,
        "kind": item.kind,
        "state": item.state,
        "late": item.within_target is False,
        "failures": item.failures,
        "fresh_to_s": item.freshness_s,
        "target_lag_s": item.target_lag_s,
    }


def _lateness(item: TableStatus) -> float:
    """How many times its target a table is stale."""
    if item.staleness_s is None or not item.target_lag_s:
        return 0.0
    return item.staleness_s / item.target_lag_s


def _near(project: Project, name: str, depth: int) -> list[str]:
    """The tables within ``depth`` steps, nearest first, at most one more than are shown."""
    neighbours: dict[str, list[str]] = {table.name: [] for table in project.tables}
    for table in project.tables:
        for parent in table.parents:
            neighbours[table.name].append(parent)
            neighbours[parent].append(table.name)
    found, edge = [name], [name]
    seen = {name}
    for _ in range(depth):
        nearer = dict.fromkeys(each for here in edge for each in neighbours[here])
        edge = [each for each in nearer if each not in seen]
        seen.update(edge)
        found += edge
        if not edge or len(found) > MOST_TABLES:
            break
    return found[: MOST_TABLES + 1]


def _slowest(project: Project, by_name: dict[str, TableStatus], shown: Iterable[str]) -> list[str]:
    """From the latest of the tables shown up through the least fresh parents, oldest first."""
    late = [by_name[name] for name in shown if by_name[name].within_target is False]
    if not late:
        return []
    path = [max(sorted(late, key=lambda each: each.name), key=_lateness).name]
    while parents := project.table(path[-1]).parents:
        path.append(min(parents, key=lambda each: by_name[each].freshness_s or 0.0))
    return path[::-1]
