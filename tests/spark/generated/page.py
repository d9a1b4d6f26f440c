"""The page that tells what a search went through: ``python -m tests.spark.generated.page``."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.spark.generated.coverage import ROOT

KEEP = ROOT / ".cache" / "generated"
PAGE = ROOT / "docs" / "trust.md"
MENDED: tuple[str, ...] = (
    (
        "Analysis of the whole project ended with a KeyError when a condition of an outer join came"
        " again after WHERE, or after a later join, had removed the rows without a match (seed"
        " 2018)."
    ),
    (
        "A view that lost all its rows and has times within a struct could not be read by the trial"
        " of its child, nor by the judge of generated views (seed 2006)."
    ),
    (
        "An update of a view with two states, over streams that are joined one at a time, failed if"
        " nothing had arrived for one of them (seed 3020: an error, no wrong row; reducing the case"
        " crashed, too)."
    ),
    (
        "Every update of a view failed if a cast failed in a row that the query leaves out but its"
        " state was computed from (seed 3002: an error, no wrong row)."
    ),
    (
        "A row with -0.0 was missing from a view in full with `WHERE km = 0.0`: Spark leaves out"
        " groups of rows by their dictionary, which tells the two zeros apart (seed 4013: wrong)."
    ),
)
"""What searches found wrong and what it was, a sentence each; each has a test of its own."""

EARLIER: tuple[str, ...] = (
    "| 58c27461c6 | 2001-2005, 2007-2013 | 360 | 201 | 739 | 0.7 |",
    "| f8117846c5 | 2006, 2014-2017, 2019 | 180 | 108 | 400 | 0.5 |",
    "| f19b598b00 | 2001-2017 | 510 | 288 | 1063 | 1.0 |",
    "| 9fc9e97948 | 3001-3012 | 360 | 181 | 668 | 0.9 |",
    "| c3945abff9 | 3013-3037 | 750 | 412 | 1516 | 1.1 |",
    "| 7176088d03 | 3038-3041 | 120 | 78 | 278 | 0.4 |",
    "| bbae43d021 | 4001-4008 | 240 | 163 | 608 | 0.7 |",
    "| 59b45f5297 | 4009 | 30 | 21 | 83 | 0.6 |",
    "| ed0ea60542 | 4010-4018 | 270 | 168 | 612 | 1.2 |",
    "| 603ffaf68d | 5000-5001 | 60 | 42 | 153 | 0.2 |",
    "| 99802ae12b | 5002-5005, 5007-5011 | 270 | 187 | 706 | 0.5 |",
    "| 870ae790f7 | 5006, 5012-5017 | 210 | 139 | 515 | 0.4 |",
    "| 6065a42e8b | 5018-5020 | 90 | 61 | 230 | 0.1 |",
    "| f7e29d31e9 | 6000-6017 | 540 | 378 | 1395 | 1.9 |",
    "| 4d8d75aeea | 7000-7057 | 1740 | 1202 | 4418 | 2.3 |",
)
"""Runs whose results were kept on another machine: in the first table and the sums alone."""

BEFORE_THE_MEND = 9
"""So many of these lines are of code before the one wrong version (seed 4013) was mended."""

EARLIER_FAILURES: tuple[str, ...] = (
    "seed 3002, v7: error",
    "seed 3020: crash",
    "seed 4013, v27: wrong",
)
"""Of these runs."""

IN_THE_PROOF: tuple[str, ...] = (
    "`make proof` ran 20 seeds of 20 views at 4d8d75aeea, too, and none of their versions was",
    "wrong. In an earlier proof one was called wrong falsely: the standard deviation of equal",
    "numbers, then UNION. Over the same rows in other orders Spark's own query gives 6 rows or 8,",
    "with 5e-17 in the place of 0.0. The judge asks for other orders now.",
)
"""What was not run by a search."""

HABITS: tuple[str, ...] = (
    "## Views as other people write them",
    "",
    "314 views were written by hand by people who had not read the analysis",
    "(`tests/data/habits`): odd names and numbers, collations, clocks, hints, windows,",
    "subqueries, pipes, keys of every type and NULL-safe ones, implicit casts, calendars and",
    "month ends, subtotals, views over views. Files of four tables came in nine steps, and",
    "between them others used DELETE, UPDATE, MERGE, INSERT OVERWRITE, RESTORE and compaction.",
    "All views ran through the steps, a few as far as their own query fails in Spark over some",
    "rows. After each step every version was compared with its query, and none is wrong.",
    "",
    "Found, and fixed: every update failed if a state would have held intervals, or texts with a",
    "collation, since Delta stores neither; a view with a column of such a text failed at its",
    "first update, and is now refused before that. Hints kept a view in full.",
    "",
    "128 views of shops came from a third tester: funnels, cohorts, sessions as islands, newest",
    "rows by row_number, prices by validity, balances, pivots, JSON, chains of WITH. They ran",
    "through ten steps where clocks change oddly (Lord Howe Island by half an hour, Samoa by",
    "leaving a day out): of 984 versions none is wrong. What is not in a query was: with ANSI",
    "mode off 5 of 27 views went wrong, tables partitioned by a TIMESTAMP lost the hour that",
    "comes twice, and a changed setting left rows of two kinds. These are fixed (design/0256 to",
    "0258).",
    "",
    "137 more came from a fourth tester: last touches before a conversion, islands of telemetry,",
    "frames of months, days and decimals, as-of joins, NOT IN with NULL, keys of NaN or -0.0,",
    "grouping sets, functions of a catalog, and names that are words of SQL. They ran through",
    "eight steps with deletion vectors, MERGE, RESTORE and VACUUM by others: of 854 versions",
    "none is wrong, apart from one that its query leaves open (`max_by` over ties). What is not",
    "in a query was again: one of 50 settings of Spark, a static table that was put back from",
    "a copy, a checksum file that was left over, and empty partition values of delta-rs. These",
    "are fixed (design/0330, 0331).",
    "",
    "On 28 November 2026 a fifth tester wrote 276 views. 102 of them were run, most as large",
    "views are: 477 versions were compared, cell by cell. Of 73 views of all kinds",
    "none is wrong. Of 29 that aim at keys which are equal and not the same 13 were wrong when",
    "merged: a text made of a key that is -0.0, behind an outer join or beside a subquery, was",
    "that of 0.0. Such views are computed in full now (`EQUAL_NOT_SAME`, design/0250). On the same",
    "day a reader found that QUALIFY of a merged view could mean an output column of the same",
    "name as an input's, since sqlglot writes it so; it is written as it was read now.",
    "",
    "Also on 28 November suites were tried that nobody here had used: Spark's own SQL tests",
    "(about 1,000 queries: aggregates, subtotals, windows, subqueries, joins, set operations,",
    "pipes), and queries in the manner of the tests of other engines that maintain views (about",
    "1,400). Most were checked without files: what is merged, appended and recomputed against the",
    "query over the same rows, some 7,000 comparisons. About 350 views were updated for real,",
    "with late rows and deletions. Four kinds of merged views were wrong: one key of ROLLUP, CUBE",
    "or GROUPING SETS that is written in two ways, `GROUPING SETS ((), ())` over no rows, GROUP",
    "BY that computes with the name of a constant, and an aggregate of the view's own in a",
    "subquery of HAVING. None of the views above had them. They are computed in full now, or",
    "merged rightly. The second reading had confirmed all four. It compares keys that no column",
    "shows now, and what windows and limits order by (design/0062); an aggregate that a subquery",
    "of HAVING takes from around it is still left to the first reading.",
    "",
    "That evening the parts ran that had been left: those queries by hours, some 460 more over",
    "late rows, changes of clocks, times that are NULL, three tables that grow at once and views",
    "over views over views, and 1,350 random joins. Two kinds were wrong, both where a view",
    "counts how often a joined row came: averages of DECIMAL(26) to DECIMAL(31), cut to six",
    "digits behind the point, and, without ANSI mode, sums of FLOAT. Both are mended. All 103",
    "texts of TPC-DS were analysed again: the second reading had kept one of them (q5) from being",
    "maintained from changes.",
    "",
    "On 29 November 2026 a reader looked for what our tests and the second reading share, without",
    "running anything, and named six kinds of views. Five were wrong when merged (23 of 24 views",
    "of them): keys of maps in capitals (`attrs.Color`), an alias in HAVING that has the name of a",
    "column, and `arrays_zip` in a text. sqlglot resolves such names otherwise than Spark, and our",
    "second reading told neither capitals in constants nor functions in conditions. The sixth was",
    "a text of a time without a date, which is one of today. All are mended: Spark itself compares",
    "the query with the text in which its names are resolved (design/0410), and the second reading",
    "tells capitals and functions. All 103 texts of TPC-DS kept their ways.",
    "",
    "Three testers attacked that mend and all strategies on the same day: some 550 views, 3,000",
    "updates. Three more causes were found and mended: `count(x OR NULL)` over an outer join, a",
    "lambda's variable with the name of a column, and long decimals in static tables of delta-rs.",
    "Three more readers found names of fields (`k0` in a JSON text), a group that stood twice",
    "beside a text that is no UTF-8, columns of a Delta feed that change places, and days and",
    "instants of Parquet files without a schema. All are mended and tested.",
)
"""What `tests/spark/habits` went through, apart from the generated views."""

WRONG = "wrong"
"""The kind of a failure in which a version had other rows than its query."""

Record = Mapping[str, Any]


def written(results: Sequence[Record], lines: Mapping[str, Record], mended: Sequence[str]) -> str:
    """The page's text.

    Args:
        results: A record a seed, in the order in which they ran.
        lines: By commit, by file: the lines that there are (``all``) and that ran (``ran``).
        mended: What was wrong and was mended, a sentence each.
    """
    runs = _runs(results)
    newest = list(lines.items())[-1:]
    text = [
        "# Trust: what the generated views went through",
        "",
        *_summary(runs, results),
        "",
        "How views are generated and judged:",
        "[design 0068](design/0068-generators-that-do-not-share-our-habits.md). This page is",
        "written by `python -m tests.spark.generated.page` from the results of",
        "`python -m tests.spark.generated.searching`.",
        "",
        "| commit | seeds | views | of them run | versions | hours |",
        "|---|---|---|---|---|---|",
        *runs,
        "",
        "The code changed between the runs, so each commit has a line.",
        f"The tables below leave out the first {len(_earlier(results))} lines.",
        "",
        "## Failures",
        "",
        *_failures(results, mended),
        "",
        "## Strategies",
        "",
        "Versions by strategy and code. Each was compared with its query, as Spark runs it.",
        "",
        *_table(("versions", "strategy and code"), _sum(results, "strategies")),
        "",
        "## Reasons",
        "",
        "What the analysis said about each strategy, by view.",
        "",
        *_table(("views", "strategy and code"), _sum(results, "reasons")),
    ]
    for commit, files in newest:
        text += ["", f"## Lines that ran at {commit}", "", *_lines(files)]
    return "\n".join(text) + "\n"


def _summary(runs: Sequence[str], results: Sequence[Record]) -> list[str]:
    """What the page says in two sentences."""
    cells = [[cell.strip() for cell in run.split("|")] for run in runs]

    def sums(rows: Sequence[Sequence[str]]) -> tuple[int, int, int]:
        views, run, versions = (sum(int(row[at]) for row in rows) for at in (3, 4, 5))
        return views, run, versions

    views, run, versions = sums(cells)
    views_since, run_since, versions_since = sums(cells[BEFORE_THE_MEND:])
    wrong = sum(failure["kind"] == WRONG for each in results for failure in each["failures"])
    said = (
        f"{views:,} views were generated, and the {run:,} that an update can maintain from changes"
        " were run. After every update the version was compared with its query:"
        f" **of {versions:,} versions one was wrong** (seed 4013, below). Since that was mended:"
        f" {views_since:,} views, {run_since:,} of them run, and of {versions_since:,} versions"
        f" {f'{wrong} are' if wrong else 'none was'} wrong. The other views were only analysed."
    )
    return textwrap.wrap(said, 96)


def _earlier(results: Sequence[Record]) -> list[str]:
    """The lines of runs whose results are not here."""
    commits = {each["commit"] for each in results}
    return [line for line in EARLIER if line.split("|")[1].strip() not in commits]


def _runs(results: Sequence[Record]) -> list[str]:
    commits = list(dict.fromkeys(each["commit"] for each in results))
    rows = _earlier(results)
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
    return rows


def _failures(results: Sequence[Record], mended: Sequence[str]) -> list[str]:
    found = [(each["seed"], failure) for each in results for failure in each["failures"]]
    text = [f"- {each}" for each in EARLIER_FAILURES]
    for seed, failure in found:
        place = f"seed {seed}, {failure['view']}" if failure["view"] else f"seed {seed}"
        text.append(f"- {place}: {failure['kind']}")
    text += ["", "Found by these searches, and fixed:", ""]
    return [*text, *(f"- {each}" for each in mended), "", *IN_THE_PROOF]


def _lines(files: Record) -> list[str]:
    rows = ["| file | lines | ran |", "|---|---|---|"]
    total = ran = 0
    for name, found in files.items():
        total, ran = total + len(found["all"]), ran + len(found["ran"])
        if found["all"]:
            share = f"{len(found['ran']) / len(found['all']):.0%}"
            rows.append(f"| `{name}` | {len(found['all'])} | {share} |")
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
    PAGE.write_text("\n".join((written(results, lines, MENDED), *HABITS, "")))


if __name__ == "__main__":
    main()
