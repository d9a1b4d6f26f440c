"""What a warehouse answered to a request, for people and as JSON."""

from __future__ import annotations

import sys

from freshline.render.output import print_json
from freshline.runtime.requests.handler import Answer


def tell(answers: dict[str, Answer], *, as_json: bool) -> int:
    """Print the answers; the exit status."""
    refused = [answer for answer in answers.values() if not answer["ok"]]
    if as_json:
        print_json(
            {
                "tables": [
                    {"name": name, "ok": answer["ok"], "message": answer["message"]}
                    for name, answer in answers.items()
                ]
            }
        )
    for answer in answers.values():
        if not answer["ok"]:
            print(answer["message"], file=sys.stderr)
        elif not as_json:
            print(answer["message"])
    return max((int(answer.get("exit_status", 2)) for answer in refused), default=0)
