"""The OpenAPI 3.1 description of the gateway: every request, every answer, every feed's records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from freshline.ingest.http.encodings import CODINGS
from freshline.ingest.records.limits import Limits
from freshline.ingest.records.records import ARROW, JSON, NDJSON
from freshline.ingest.refusals import STATUS_OF_CODE
from freshline.project.ddl import Column, Type

_WHY = {
    400: "The body or a header is no JSON, Arrow, gzip, zstd or HTTP",
    401: "A bearer token of the feed is required",
    404: "No feed of this name takes pushed records",
    405: "The method is not answered here",
    408: "The request came in too slowly",
    413: "The body or a record is too large; sending it again is no use",
    415: "The Content-Type or Content-Encoding is not taken",
    421: "The Host header is none of this machine's names",
    422: "A record does not fit, or the key was used with other records; nothing was stored",
    429: "The feed is over its quota; try again after Retry-After",
    431: "The headers are too large",
    500: "The gateway failed; nothing is known of the request",
    503: "No records are accepted right now; try again after Retry-After",
}
_PUSH = (400, 401, 404, 405, 408, 413, 415, 421, 422, 429, 431, 500, 503)
_HEADERS = {
    401: {"WWW-Authenticate": "How to authenticate"},
    405: {"Allow": "The methods that are answered"},
    429: {"Retry-After": "Seconds to wait, 1 to 300"},
    503: {"Retry-After": "Seconds to wait, 1 to 300"},
}


def description(feeds: Mapping[str, tuple[Column, ...]], limits: Limits) -> dict[str, Any]:
    """The document.

    Args:
        feeds: Columns by feed.
        limits: Of a request.
    """
    paths: dict[str, Any] = {f"/v1/feeds/{name}": {"post": _push(name, limits)} for name in feeds}
    paths["/healthz"] = {
        "get": {
            "operationId": "health",
            "summary": "Whether records are accepted right now",
            "responses": {
                "200": _answer("They are", {"$ref": "#/components/schemas/Health"}),
                **_refusals((503,)),
            },
            "security": [],
        }
    }
    paths["/metrics"] = {
        "get": {
            "operationId": "metrics",
            "summary": "Figures for Prometheus",
            "responses": {
                "200": {
                    "description": "In its text format",
                    "content": {"text/plain": {"schema": {"type": "string"}}},
                },
                **_refusals((401, 421)),
            },
        }
    }
    paths["/openapi.json"] = {
        "get": {
            "operationId": "openapi",
            "summary": "This document",
            "responses": {"200": _answer("It", {"type": "object"}), **_refusals((401, 421))},
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "freshline push gateway",
            "version": "1",
            "description": (
                "Records pushed here are on disk when the answer is 200, all of a request or"
                " none. Repeat a request with its Idempotency-Key after 429, 502, 503, 504 or a"
                " broken connection; every other error is final."
            ),
        },
        "paths": paths,
        "components": {
            "schemas": {
                "Receipt": _RECEIPT,
                "Error": _ERROR,
                "Health": {
                    "type": "object",
                    "required": ["status"],
                    "properties": {"status": {"const": "ok"}},
                },
                **{f"record_{name}": _record(columns) for name, columns in feeds.items()},
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


_RECEIPT = {
    "type": "object",
    "required": ["accepted", "first", "last", "duplicate"],
    "additionalProperties": False,
    "properties": {
        "accepted": {"type": "integer", "minimum": 1, "description": "Records of the request"},
        "first": {"type": "integer", "minimum": 1, "description": "Their first number"},
        "last": {"type": "integer", "minimum": 1, "description": "Their last number"},
        "duplicate": {"type": "boolean", "description": "They were stored the first time"},
    },
}
_ERROR = {
    "type": "object",
    "required": ["error", "message", "record"],
    "additionalProperties": False,
    "properties": {
        "error": {"enum": sorted(STATUS_OF_CODE), "description": "Stays the same over versions"},
        "message": {"type": "string", "description": "For people"},
        "record": {
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "Which record of the request is wrong, from 0",
        },
    },
}


def _push(name: str, limits: Limits) -> dict[str, Any]:
    record = {"$ref": f"#/components/schemas/record_{name}"}
    array = {"type": "array", "minItems": 1, "maxItems": limits.records, "items": record}
    return {
        "operationId": f"push_{name}",
        "summary": f"Push records of feed {name}",
        "description": (
            f"At most {limits.body_bytes:,} bytes, before and after decompression, and"
            f" {limits.record_bytes:,} for a record."
        ),
        "parameters": [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "The same key, the same answer: for at least 24 hours the records"
                " are not stored again",
                "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
            },
            {
                "name": "Content-Encoding",
                "in": "header",
                "schema": {"enum": ["identity", *CODINGS]},
            },
        ],
        "requestBody": {
            "required": True,
            "content": {
                JSON: {"schema": array},
                NDJSON: {
                    "schema": {"type": "string"},
                    "example": '{"...": 1}\n{"...": 2}\n',
                    "x-record": record,
                },
                ARROW: {"schema": {"type": "string", "contentMediaType": ARROW}},
            },
        },
        "responses": {
            "200": _answer("Stored on disk", {"$ref": "#/components/schemas/Receipt"}),
            **_refusals(_PUSH),
        },
    }


def _answer(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {JSON: {"schema": schema}}}


def _refusals(statuses: tuple[int, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status in statuses:
        found[str(status)] = _answer(_WHY[status], {"$ref": "#/components/schemas/Error"})
        headers = _HEADERS.get(status)
        if headers:
            found[str(status)]["headers"] = {
                name: {"description": text, "schema": {"type": "string"}}
                for name, text in headers.items()
            }
    return found


def _record(columns: tuple[Column, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [column.name for column in columns if not column.nullable],
        "properties": {column.name: _column(column) for column in columns},
    }


def _column(column: Column) -> dict[str, Any]:
    schema = _type(column.type)
    return schema if not column.nullable else {"anyOf": [schema, {"type": "null"}]}


def _type(type_: Type) -> dict[str, Any]:
    """JSON Schema of a type's values, with what they are in Spark."""
    return _SCHEMAS[type_.kind](type_) | {"description": type_.name}


def _integer(type_: Type) -> dict[str, Any]:
    limit = 1 << (type_.bits - 1)
    return {"type": "integer", "minimum": -limit, "maximum": limit - 1}


def _real(type_: Type) -> dict[str, Any]:
    most = _FLOAT_MOST if type_.bits == 32 else _DOUBLE_MOST  # noqa: PLR2004
    number = {"type": "number", "minimum": -most, "maximum": most}
    return {"anyOf": [number, {"enum": ["NaN", "Infinity", "-Infinity"]}]}


def _decimal(type_: Type) -> dict[str, Any]:
    """How many digits a number may have JSON Schema cannot say without rounding it."""
    scale = type_.scale
    whole = max(type_.precision - scale, 1)
    point = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
    text = {"type": "string", "pattern": rf"^-?[0-9]{{1,{whole}}}{point}$"}
    return {"anyOf": [text, {"type": "number"}]}


def _array(type_: Type) -> dict[str, Any]:
    return {"type": "array", "items": _element(type_)}


def _map(type_: Type) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": _element(type_)}


def _element(type_: Type) -> dict[str, Any]:
    assert type_.element is not None
    return {"anyOf": [_type(type_.element), {"type": "null"}]}


_FLOAT_MOST = 3.4028234e38
_DOUBLE_MOST = 1.7976931348623157e308
_LOCAL_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$"
_SCHEMAS: dict[str, Callable[[Type], dict[str, Any]]] = {
    "integer": _integer,
    "real": _real,
    "decimal": _decimal,
    "boolean": lambda _: {"type": "boolean"},
    "string": lambda _: {"type": "string"},
    "binary": lambda _: {"type": "string", "contentEncoding": "base64"},
    "date": lambda _: {"type": "string", "format": "date"},
    "timestamp": lambda _: {"type": "string", "format": "date-time"},
    "timestamp_ntz": lambda _: {"type": "string", "pattern": _LOCAL_TIME},
    "array": _array,
    "map": _map,
    "struct": lambda type_: _record(type_.fields),
}
