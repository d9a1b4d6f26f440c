"""Which address shows which view."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from freshline.ui.reading import Reader
from freshline.ui.views import status, table


@dataclass(frozen=True, slots=True)
class View:
    """One view.

    Attributes:
        asked: What a request asks for, checked; equal for requests with the same answer.
        answer: The answer's JSON object, computed in a reading thread.
    """

    asked: Callable[[Reader, Request], Hashable]
    answer: Callable[[Reader, Any], Mapping[str, Any]]


VIEWS: Mapping[str, View] = {
    "/v1/status": View(status.asked, status.answer),
    "/v1/tables/{name}": View(table.asked, table.answer),
}
