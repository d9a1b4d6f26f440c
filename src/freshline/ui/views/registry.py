"""Which address shows which view."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from freshline.ui.reads.reading import Reader
from freshline.ui.views import (
    feeds,
    graph,
    guarantees,
    one_update,
    overview,
    reports,
    staleness,
    status,
    table,
    tracks,
    updates,
    why,
)


@dataclass(frozen=True, slots=True)
class View:
    """One view.

    Attributes:
        asked: What a request asks for, checked; equal for requests with the same answer.
        answer: The answer's JSON object, computed in a reading thread.
    """

    asked: Callable[[Reader, Request], Hashable]
    answer: Callable[[Reader, Any], Mapping[str, Any]]


def _nothing(_: Reader, __: Request) -> None:
    """Nothing can be asked for."""


VIEWS: Mapping[str, View] = {
    "/v1/status": View(status.asked, status.answer),
    "/v1/tables/{name}": View(table.asked, table.answer),
    "/v1/tables/{name}/updates": View(updates.asked, updates.answer),
    "/v1/tables/{name}/staleness": View(staleness.asked, staleness.answer),
    "/v1/tables/{name}/why": View(why.asked, why.answer),
    "/v1/updates/{id}": View(one_update.asked, one_update.answer),
    "/v1/tracks": View(tracks.asked, tracks.answer),
    "/v1/graph": View(graph.asked, graph.answer),
    "/v1/ui/tables": View(overview.asked, overview.answer),
    "/v1/ui/feeds": View(_nothing, feeds.answer),
    "/v1/ui/reports": View(_nothing, reports.answer),
    "/v1/ui/guarantees": View(_nothing, guarantees.answer),
}
