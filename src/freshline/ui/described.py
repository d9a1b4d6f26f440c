"""The whole HTTP interface in OpenAPI 3.1: the site's own paths beside the gateway's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freshline import __version__
from freshline.project.yaml.numbers import MOST_PRIORITY

_NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
_MOMENT = {"type": "string", "description": "RFC 3339, or seconds since the epoch"}
_WINDOW = [
    {"name": "from", "in": "query", "schema": _MOMENT},
    {"name": "to", "in": "query", "schema": _MOMENT},
    {"name": "last", "in": "query", "schema": {"type": "number", "minimum": 0}},
]


def _said(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema}


_TEXT = {"type": "string"}
_DURATION = {"type": "string", "description": "Numbers with units, like 90s or 1h 30m"}
_LIST = {"type": "string", "description": "Several with commas"}
_NUMBER = {"type": "integer", "minimum": 0}

_VIEWS: Mapping[str, tuple[str, list[dict[str, Any]]]] = {
    "/v1/status": ("What `freshline status --json` prints, in pages", [_said("after", _TEXT)]),
    "/v1/tables/{name}": (
        "One table, its definition and columns; with fresh_to or within, as soon as it is so fresh",
        [
            _NAME,
            _said("fresh_to", {**_MOMENT, "description": f"{_MOMENT['description']}: wait for it"}),
            _said("within", {**_DURATION, "description": "Wait for a staleness of at most that"}),
            _said("timeout", {**_DURATION, "description": "Wait at most so long; else a minute"}),
        ],
    ),
    "/v1/tables/{name}/updates": (
        "Its updates, newest first",
        [_NAME, *_WINDOW, _said("before", _NUMBER), _said("since", _NUMBER)],
    ),
    "/v1/tables/{name}/staleness": ("How stale it was, and why", [_NAME, *_WINDOW]),
    "/v1/tables/{name}/why": (
        "Why it was, or was not, updated then",
        [_NAME, _said("at", _MOMENT)],
    ),
    "/v1/updates/{id}": (
        "One update and its decision",
        [{"name": "id", "in": "path", "required": True, "schema": _NUMBER}],
    ),
    "/v1/tracks": ("What ran on each track", _WINDOW),
    "/v1/graph": (
        "Tables with places to draw them",
        [_said("around", _TEXT), _said("depth", _NUMBER)],
    ),
    "/v1/ui/tables": (
        "Every table in a line",
        [*_WINDOW, _said("state", _TEXT), _said("q", _TEXT), _said("after", _TEXT)],
    ),
    "/v1/ui/feeds": ("What arrives and what is missing", []),
    "/v1/ui/reports": ("Windows of reports", []),
    "/v1/ui/guarantees": ("Bounds, kept and broken", []),
    "/v1/ui/session": ("What the asker may do", []),
    "/v1/ui/what-if": (
        "The run under other rules, as `freshline simulate --from-run --json` prints it",
        [
            _said("policy", _LIST),
            _said("tracks", _LIST),
            _said("objective", _LIST),
            _said("priority", {**_LIST, "description": "TABLE=NUMBER, several with commas"}),
            _said("target", {**_LIST, "description": "TABLE=DURATION, several with commas"}),
            _said("sweep", {"type": "string", "enum": ["target"]}),
        ],
    ),
}
_STREAMS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "/v1/events": (
        "What happens, as server-sent events; docs/page.md names them",
        ("text/event-stream",),
    ),
    "/metrics": ("A scrape", ("text/plain", "application/openmetrics-text")),
}
_ACTIONS: Mapping[str, Mapping[str, Any]] = {
    "pause": {},
    "resume": {},
    "refresh": {"full": {"type": "boolean"}},
    "prioritise": {"priority": {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_PRIORITY}},
}


def description(gateway: Mapping[str, Any] | None) -> dict[str, Any]:
    """The document.

    Args:
        gateway: The push gateway's own; None where there is none.
    """
    paths: dict[str, Any] = {}
    for path, (summary, parameters) in _VIEWS.items():
        slow = (504,) if path == "/v1/ui/what-if" else ()
        paths[path] = {"get": _operation(summary, parameters, (400, 401, 404, 421, 503, *slow))}
    for path, (summary, kinds) in _STREAMS.items():
        operation = _operation(summary, [], (401, 404, 421, 503))
        operation["responses"]["200"]["content"] = {kind: {"schema": _TEXT} for kind in kinds}
        paths[path] = {"get": operation}
    paths["/healthz"] = {
        "get": {**_operation("Whether the loop turns", [], (503,)), "security": []}
    }
    paths["/readyz"] = {
        "get": {**_operation("Whether requests belong here", [], (503,)), "security": []}
    }
    for action, properties in _ACTIONS.items():
        operation = _operation(f"As `freshline {action}`", [_NAME], _ACTED)
        operation["requestBody"] = {
            "required": action == "prioritise",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": dict(properties),
                        "required": ["priority"] if action == "prioritise" else [],
                    }
                }
            },
        }
        paths[f"/v1/tables/{{name}}/{action}"] = {"post": operation}
    components: dict[str, Any] = {
        "schemas": {"Error": _ERROR},
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    if gateway is not None:
        pushed = {path: each for path, each in gateway["paths"].items() if "/feeds/" in path}
        paths |= pushed
        components["schemas"] = {**gateway["components"]["schemas"], **components["schemas"]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "freshline", "version": __version__},
        "paths": paths,
        "components": components,
        "security": [{"token": []}, {}],
    }


_ACTED = (400, 401, 403, 404, 409, 413, 421, 503)
_ERROR = {
    "type": "object",
    "required": ["error", "message", "record"],
    "additionalProperties": False,
    "properties": {
        "error": {"type": "string", "description": "A short name that stays the same"},
        "message": {"type": "string"},
        "record": {"type": ["integer", "null"], "description": "The record that is wrong, from 0"},
    },
}
_WHY = {
    400: "A parameter or the body is wrong",
    401: "A token is required",
    403: "Nobody can act here: freshline.yml has no server.tokens",
    404: "There is no such table, update or address",
    409: "It cannot be done now",
    413: "The body is too large",
    421: "The Host header is none of this machine's names",
    504: "It took too long",
    503: "The journal or the warehouse does not answer",
}


def _operation(
    summary: str, parameters: list[dict[str, Any]], refusals: tuple[int, ...]
) -> dict[str, Any]:
    schema = {"schema": {"type": "object"}}
    problem = {"schema": {"$ref": "#/components/schemas/Error"}}
    return {
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "It", "content": {"application/json": schema}},
            **{
                str(status): {
                    "description": _WHY[status],
                    "content": {"application/json": problem},
                }
                for status in refusals
            },
        },
    }
