"""The page that tells what a search went through: ``python -m tests.spark.generated.page``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.spark.generated.coverage import ROOT

KEEP = ROOT / ".cache" / "generated"
PAGE = ROOT / "docs" / "trust.md"
MENDED: tuple[str, ...] = (
    (
        "A condition of an outer join that came again after WHERE or a later join had ended the"
        " rows without a match ended the analysis of the whole project with a KeyError (seed 2018)."
    ),
    (
        "A view that lost all rows and has times within a struct could not be read by a trial of"
        " its child, nor by the judge of generated views (seed 2006)."
    ),
    (
        "Where streams are joined one at a time and a view has two states, an update failed if"
        " nothing had come for one of them (seed 3020: an error, no wrong row; its shrinking"
        " crashed, too, and is mended)."
    ),
    (
        "A state was made of rows that the query leaves out; where a cast failed in one of them,"
        " every update of the view failed (seed 3002: an error, no wrong row)."
    ),
)
"""What searches found wrong and what it was, a sentence each; each has a test of its own."""

EARLIER: tuple[str, ...] = (
    "| 58c27461c6 | 2001-2005, 2007-2013 | 360 | 201 | 739 | 0.7 |",
    "| f8117846c5 | 2006, 2014-2017, 2019 | 180 | 108 | 400 | 0.5 |",
)
"""Runs whose results were kept on another machine: in the first table alone."""

Record = Mapping[str, Any]


def written(results: Sequence[Record], lines: Mapping[str, Record], mended: Sequence[str]) -> str:
    """The page's text.

    Args:
        results: A record a seed, in the order in which they ran.
        lines: By commit, by file: the lines that there are (``all``) and that ran (``ran``).
        mended: What was wrong and was mended, a sentence each.
    """
    text = [
        "# Trust: what the generated views went through",
        "",
        "Written by `python -m tests.spark.generated.page` from the results of",
        "`python -m tests.spark.generated.searching`; how views are made and judged:",
        "[design 0068](design/0068-generators-that-do-not-share-our-habits.md).",
        "",
        *_runs(results),
        "",
        "## Wrong versions",
        "",
        *_failures(results, mended),
        "",
        "## Strategies",
        "",
        "Versions by strategy and code; each was compared with its query, as Spark runs it.",
        "",
        *_table(("versions", "strategy and code"), _sum(results, "strategies")),
        "",
        "## Reasons",
        "",
        "What analysis said of each way, by view.",
        "",
        *_table(("views", "way and code"), _sum(results, "reasons")),
    ]
    for commit, files in lines.items():
        text += ["", f"## Lines that ran at {commit}", "", *_lines(files)]
    return "\n".join(text) + "\n"


def _runs(results: Sequence[Record]) -> list[str]:
    rows = [
        "| commit | seeds | views | of them run | versions | hours |",
        "|---|---|---|---|---|---|",
    ]
    rows += EARLIER
    commits = list(dict.fromkeys(each["commit"] for each in results))
    for commit in commits:
        mine = [each for each in results if each["commit"] == commit]
        seeds = sorted(each["seed"] for each in mine)
        views = sum(each["views"] for each in mine)
        versions = _sum(mine, "strategies")
        run = sum(count for what, count in versions.items() if what == "full first-build")
        hours = sum(each["seconds"] for each in mine) / 3600
        rows.append(
            f"| {commit} | {_ranges(seeds)} | {views} | {run} | {versions.total()} | {hours:.1f} |"
        )
    rows += ["", "The code changed between the runs: a line a commit. The tables below leave out"]
    rows += [f"the first {len(EARLIER)} lines."]
    rows += ["", "A view that no update can maintain from changes is analysed and not run."]
    return rows


def _failures(results: Sequence[Record], mended: Sequence[str]) -> list[str]:
    found = [(each["seed"], failure) for each in results for failure in each["failures"]]
    kinds = Counter(failure["kind"] for _, failure in found)
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "none"
    text = [f"Failures: {told}."]
    text += [f"- seed {seed}, {failure['view']}: {failure['kind']}" for seed, failure in found]
    return text + [f"- mended: {each}" for each in mended]


def _lines(files: Record) -> list[str]:
    rows = ["| file | lines | ran | not run |", "|---|---|---|---|"]
    total = ran = 0
    for name, found in files.items():
        left = sorted(set(found["all"]) - set(found["ran"]))
        total, ran = total + len(found["all"]), ran + len(found["ran"])
        if found["all"]:
            share = f"{len(found['ran']) / len(found['all']):.0%}"
            rows.append(f"| `{name}` | {len(found['all'])} | {share} | {_ranges(left)} |")
    return [f"{ran} of {total} lines of functions.", "", *rows]


def _ranges(numbers: Sequence[int]) -> str:
    """``3, 5-9``."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def _table(head: tuple[str, str], counts: Counter[str]) -> list[str]:
    rows = [f"| {head[0]} | {head[1]} |", "|---|---|"]
    return rows + [f"| {count} | {what} |" for what, count in counts.most_common()]


def _sum(results: Sequence[Record], name: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in results:
        total.update(each[name])
    return total


def main() -> None:
    """Command line."""
    results = [json.loads(line) for line in (KEEP / "results.jsonl").read_text().splitlines()]
    commits = dict.fromkeys(each["commit"] for each in results)
    paths: dict[str, Path] = {commit: KEEP / f"lines-{commit}.json" for commit in commits}
    lines = {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}
    PAGE.write_text(written(results, lines, MENDED))


if __name__ == "__main__":
    main()
