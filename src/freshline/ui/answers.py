"""Answers to requests: JSON with an ETag, and problems in one form.

No answer is larger than :data:`MOST_BYTES`: what grows with a project is cut into pages, what
grows with time is bounded by a window, and what no view foresees is cut (``freshline.ui.fitted``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from freshline.ui.fitted import fitted

MOST_BYTES = 200_000
"""Of every answer."""


@dataclass(slots=True, eq=False)
class Problem(Exception):  # noqa: N818 - an answer, most often no fault of ours
    """An answer that is not what was asked for.

    Attributes:
        status: Of HTTP.
        code: A short name that stays the same over versions.
        message: For people.
    """

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> Response:
        """The answer, in the form that the gateway's refusals have."""
        return json_response(
            {"error": self.code, "message": self.message, "record": None},
            status=self.status,
            headers=self.headers,
        )


@dataclass(frozen=True, slots=True)
class Body:
    """A body as it is sent, with the tag of its content."""

    content: bytes
    tag: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What somebody who asks is given.

    Attributes:
        body: It.
        newest_for_s: For how many seconds nobody will get a newer one.
        outdated: Whether something happened since it was read: worth another question then.
    """

    body: Body
    newest_for_s: float
    outdated: bool


def body_of(record: Mapping[str, Any]) -> Body:
    """A JSON object as a body, cut to :data:`MOST_BYTES` where it is larger."""
    content = fitted(record, MOST_BYTES)
    return Body(content, f'"{hashlib.sha256(content).hexdigest()[:24]}"')


KEPT = "freshline-kept-s"
"""The header that says for how many seconds asking again is of no use."""

OUTDATED = "freshline-outdated"
"""The header of an answer that was read before the last thing that happened."""


def tagged(request: Request, answer: Answer) -> Response:
    """The answer, or 304 where the asker has it."""
    body = answer.body
    # Each of them always: of an answer without one, a browser that asks by its tag is shown the
    # one that it has kept.
    headers = {
        "etag": body.tag,
        "cache-control": "no-cache",
        KEPT: f"{answer.newest_for_s:.3f}",
        OUTDATED: "true" if answer.outdated else "false",
    }
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    if body.tag in known or f"W/{body.tag}" in known:
        return Response(status_code=304, headers=headers)
    return Response(body.content, media_type="application/json", headers=headers)


def json_response(
    record: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON object that is not worth a tag."""
    return Response(
        body_of(record).content,
        status_code=status,
        media_type="application/json",
        headers={"cache-control": "no-store", **(headers or {})},
    )
