"""The page that tells what found each fault."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from tests.spark.mutation import faults
from tests.spark.mutation.fault import Fault
from tests.spark.mutation.mends import MENDS, SECOND_TOO
from tests.spark.mutation.reasons import HARMLESS, KINDS

Record = Mapping[str, str]
"""A verdict: ``name``, ``file``, ``commit``, ``by``, ``query`` and ``told``."""

_NOT_FOUND, _MENDS = "Not found", "Mends taken out"
_BETWEEN = re.compile(r"(?<!\\)\|")
"""Cells of a row; a bar within a cell has a backslash before it."""

_BY = {
    "second reading": "the second reading, of Spark's plan (0062)",
    "Spark": "Spark's plan of the text that merges, compared with the user's",
    "law": "a law: of both readings over recorded plans, or of the rows of many keys",
    "analysis fails": "an error: `validate` fails",
    "trial": "a trial of the view",
    "error": "an update that fails",
}


def written(found: Mapping[str, Record]) -> str:
    """The page's text, of verdicts by the fault's name."""
    judged = [fault for fault in faults.ALL if fault.name in found]
    by = Counter(found[fault.name]["by"] for fault in judged)
    caught = [(name, count) for name, count in by.most_common() if name in _BY]
    number = sum(count for _, count in caught)
    told = ", ".join(f"{count} by {_BY[name]}" for name, count in caught)
    lines = [
        "# Mutation: small faults, and what finds them",
        "",
        f"{len(judged)} of {len(faults.ALL)} small faults were put into the source, one at a time.",
        f"**{number} were found:** {told}.",
        "The others are listed below with what is known about them.",
        "",
        "A fault is a bound off by one, a side swapped, a filter dropped; all are in",
        "`tests/spark/mutation`. [Design 0101](design/0101-who-finds-a-fault.md) says how they are",
        "judged. `python -m tests.spark.mutation --page` writes this page; rows of new runs",
        "replace older ones, and the last column has the commit of the run.",
        "",
        "| fault | file | found by | the view that shows it | at |",
        "|---|---|---|---|---|",
    ]
    for fault in judged:
        verdict = found[fault.name]
        if verdict["by"] in _BY:
            lines.append(_row(fault, verdict, f"`{_cell(verdict['query'], 110)}`"))
    rest = [fault for fault in judged if found[fault.name]["by"] not in _BY]
    if rest:
        lines += [
            "",
            f"## {_NOT_FOUND}",
            "",
            "| fault | file | what happened | why | at |",
            "|---|---|---|---|---|",
        ]
        for fault in rest:
            verdict = found[fault.name]
            lines.append(_row(fault, verdict, HARMLESS.get(fault.name, KINDS[verdict["by"]])))
    lines += _mends(found)
    return "\n".join(lines) + "\n"


def rows_of(text: str) -> dict[str, Record]:
    """The verdicts of a page that :func:`written` made, by name; long texts are cut off."""
    found: dict[str, Record] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        cells = [cell.strip().replace("\\|", "|") for cell in _BETWEEN.split(line)[1:-1]]
        if not cells or cells[0] in {"fault", "class", "---"}:
            continue
        record = {"name": cells[0], "commit": cells[-1], "query": "", "told": ""}
        if section == _MENDS:
            by, also, told, query = cells[1:-1]
            told = f"{SECOND_TOO}{told}" if also == "yes" else told
            record |= {
                "file": "",
                "by": by,
                "told": told,
                "query": query.removeprefix("`").removesuffix("`"),
            }
        else:
            file, by, shown = cells[1:-1]
            record |= {"file": file.strip("`"), "by": by}
            if section != _NOT_FOUND:
                record["query"] = shown.removeprefix("`").removesuffix("`")
        found[record["name"]] = record
    return found


def _mends(found: Mapping[str, Record]) -> list[str]:
    """What became of each mend that was taken out."""
    taken = [mend for mend in MENDS if mend.name in found]
    if not taken:
        return []
    by_trials = sum(found[mend.name]["by"] == "trial" for mend in taken)
    rows = []
    for mend in taken:
        verdict = found[mend.name]
        also = "yes" if verdict["told"].startswith(SECOND_TOO) else "no"
        told = verdict["told"].removeprefix(SECOND_TOO)
        query = f"`{_cell(' '.join(mend.query.split()), 110)}`"
        cells = (mend.name, verdict["by"], also, _cell(told, 60), query, verdict["commit"])
        rows.append(f"| {' | '.join(cells)} |")
    return [
        "",
        f"## {_MENDS}",
        "",
        "Fourteen classes of silently wrong views were found with others' queries and fixed.",
        "Each fix was taken out by itself, with the second reading switched off:",
        f"**a trial finds {by_trials} of {len(taken)}**",
        "([design 0108](design/0108-mends-taken-out.md)).",
        "",
        "| class | found by | the second reading would too | what the trial said | query | at |",
        "|---|---|---|---|---|---|",
        *rows,
    ]


def _row(fault: Fault, verdict: Record, told: str) -> str:
    return f"| {fault.name} | `{fault.file}` | {verdict['by']} | {told} | {verdict['commit']} |"


def _cell(text: str, most: int) -> str:
    text = text.replace("|", "\\|")
    return text if len(text) <= most else f"{text[: most - 1]}…"
