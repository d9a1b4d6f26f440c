"""``POST /v1/tables/NAME/pause, resume, refresh, prioritise``: as the commands do it."""

from __future__ import annotations

import json
from typing import Any

from freshline.project.model import Project
from freshline.project.yaml.numbers import PRIORITY_RULE, is_priority
from freshline.runtime.requests.client import ask, running_process
from freshline.ui.answers import Problem

ACTIONS = ("pause", "resume", "refresh", "prioritise")
MOST_BODY_BYTES = 1_000


def act(project: Project, name: str, action: str, body: bytes) -> dict[str, Any]:
    """Ask the warehouse and wait for its answer, up to five seconds.

    Args:
        project: With the table.
        name: Of the table.
        action: One of :data:`ACTIONS`.
        body: Nothing, or a JSON object: ``{"full": true}`` for refresh, ``{"priority": N}`` for
            prioritise.

    Raises:
        Problem: 400 for a body that does not fit, 409 where it cannot be done.
        PlatformError: The warehouse does not answer.
    """
    said = _object(body)
    known = {"refresh": {"full"}, "prioritise": {"priority"}}.get(action, set())
    if not set(said) <= known:
        raise Problem(400, "bad-request", f"{action} knows {', '.join(sorted(known)) or 'no keys'}")
    argument = ""
    if action == "refresh":
        if not isinstance(said.get("full", False), bool):
            raise Problem(400, "bad-request", "full is true or false")
        argument = "full" if said.get("full") else ""
    if action == "prioritise":
        priority = said.get("priority")
        number = isinstance(priority, int | float) and not isinstance(priority, bool)
        # A whole number of JSON may be larger than any double: it is compared as it is.
        if not number or not is_priority(priority):  # type: ignore[arg-type]
            raise Problem(400, "bad-request", PRIORITY_RULE)
        argument = repr(float(priority))  # type: ignore[arg-type]
    if action in ("refresh", "prioritise") and running_process(project) is None:
        raise Problem(409, "not-running", f"{action} needs a running warehouse, and none runs")
    answer = ask(project, action, [name], argument)[name]
    if not answer["ok"]:
        raise Problem(409, str(answer.get("code", "refused")), str(answer["message"]))
    return {"table": name, "ok": True, "message": answer["message"]}


def _object(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Problem(400, "bad-json", "the body is nothing or a JSON object")
    return found
