"""Why a request is refused: what the client is told, always in the same form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

STATUS_OF_CODE = {
    "bad-request": 400,
    "bad-json": 400,
    "bad-arrow": 400,
    "bad-encoding": 400,
    "bad-key": 400,
    "unauthorized": 401,
    "not-found": 404,
    "unknown-feed": 404,
    "method-not-allowed": 405,
    "slow-client": 408,
    "too-large": 413,
    "unsupported-media-type": 415,
    "misdirected": 421,
    "bad-record": 422,
    "no-records": 422,
    "key-conflict": 422,
    "over-quota": 429,
    "headers-too-large": 431,
    "internal": 500,
    "busy": 503,
    "memory": 503,
    "disk": 503,
    "commit-failed": 503,
    "draining": 503,
}
"""Every ``error`` of an answer, with its status; also what the OpenAPI description lists."""


@dataclass(slots=True, eq=False)
class Refusal(Exception):  # noqa: N818 - an answer, most often no fault of ours
    """An answer other than 200.

    Attributes:
        code: One of :data:`STATUS_OF_CODE`.
        message: For people: one sentence.
        record: The record that is wrong, from 0 within the request.
        retry_after_s: When to try again, for 429 and 503.
        headers: More headers of the answer.
    """

    code: str
    message: str
    record: int | None = None
    retry_after_s: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUS_OF_CODE[self.code]

    def body(self) -> dict[str, object]:
        """The answer's JSON object."""
        return {"error": self.code, "message": self.message, "record": self.record}


_SHOWN_CHARACTERS = 60
_WORDS: dict[object, str] = {None: "null", True: "true", False: "false"}


def shown(value: object) -> str:
    """A JSON value in a message, shortened: the client knows the rest."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    text = str(value).encode("utf-8", "backslashreplace").decode()
    if len(text) > _SHOWN_CHARACTERS:
        text = text[: _SHOWN_CHARACTERS - 1] + "\u2026"
    return f"'{text}'" if isinstance(value, str) else text
