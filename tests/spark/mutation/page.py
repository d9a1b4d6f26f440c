"""The page that tells what found each fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.spark.mutation import faults
from tests.spark.mutation.fault import Fault
from tests.spark.mutation.reasons import HARMLESS, KINDS

_BY = {
    "second reading": "the second reading, of Spark's plan (0062)",
    "Spark": "Spark's plan of the text that merges, compared with the user's",
    "analysis fails": "an error: `validate` fails",
    "trial": "a trial of the view",
    "error": "an update that fails",
}


def written(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The page's text, of verdicts by the fault's name."""
    judged = [fault for fault in faults.ALL if fault.name in found]
    by = Counter(found[fault.name]["by"] for fault in judged)
    commits = sorted({found[fault.name]["commit"] for fault in judged})
    caught = [(name, count) for name, count in by.most_common() if name in _BY]
    number = sum(count for _, count in caught)
    views = max(found[fault.name]["views"] for fault in judged)
    told = ", ".join(f"{count} by {_BY[name]}" for name, count in caught)
    lines = [
        "# Mutation: small faults, and what finds them",
        "",
        "Written by `python -m tests.spark.mutation --page` from the last run; the faults are in",
        "`tests/spark/mutation`, one each: a bound off by one, a side swapped, a filter dropped.",
        "How they are judged: [design 0101](design/0101-who-finds-a-fault.md).",
        "",
        f"{len(judged)} faults were put into commit {', '.join(commits)}, one at a time, and up to",
        f"{views} views analysed with each. **{number} were found:**",
        f"{told}.",
        "The others are below with what is known of them.",
        "",
        "| fault | file | found by | the view that shows it |",
        "|---|---|---|---|",
    ]
    for fault in judged:
        verdict = found[fault.name]
        if verdict["by"] in _BY:
            lines.append(_row(fault, verdict["by"], f"`{_cell(verdict['query'], 110)}`"))
    rest = [fault for fault in judged if found[fault.name]["by"] not in _BY]
    if rest:
        lines += [
            "",
            "## Not found",
            "",
            "| fault | file | what happened | why |",
            "|---|---|---|---|",
        ]
        for fault in rest:
            what = found[fault.name]["by"]
            lines.append(_row(fault, what, HARMLESS.get(fault.name, KINDS[what])))
    return "\n".join(lines) + "\n"


def _row(fault: Fault, by: str, told: str) -> str:
    return f"| {fault.name} | `{fault.file}` | {by} | {told} |"


def _cell(text: str, most: int) -> str:
    text = text.replace("|", "\\|")
    return text if len(text) <= most else f"{text[: most - 1]}…"
