"""The page that a search of generated views is written to."""

from __future__ import annotations

from tests.spark.generated.page import written

FAILURE = {"kind": "wrong", "view": "v3", "step": 1, "strategy": "append row-wise", "told": "1 row"}
RESULTS = [
    {
        "seed": 7, "commit": "aaa", "views": 30, "seconds": 900.0, "failures": [],
        "strategies": {"full first-build": 20, "append row-wise": 4},
        "reasons": {"append: yes": 5, "merge: LIMIT": 2},
    },
    {
        "seed": 8, "commit": "aaa", "views": 30, "seconds": 900.0, "failures": [FAILURE],
        "strategies": {"full first-build": 10}, "reasons": {"append: yes": 1},
    },
    {
        "seed": 10, "commit": "bbb", "views": 20, "seconds": 360.0, "failures": [],
        "strategies": {"append row-wise": 3}, "reasons": {},
    },
]  # fmt: skip
PAGE = """\
# Trust: what the generated views went through

Written by `python -m tests.spark.generated.page` from the results of
`python -m tests.spark.generated.searching`; how views are made and judged:
[design 0068](design/0068-generators-that-do-not-share-our-habits.md).

| commit | seeds | views | of them run | versions | hours |
|---|---|---|---|---|---|
| 58c27461c6 | 2001-2005, 2007-2013 | 360 | 201 | 739 | 0.7 |
| f8117846c5 | 2006, 2014-2017, 2019 | 180 | 108 | 400 | 0.5 |
| aaa | 7-8 | 60 | 30 | 34 | 0.5 |
| bbb | 10 | 20 | 0 | 3 | 0.1 |

The code changed between the runs: a line a commit. The tables below leave out
the first 2 lines.

A view that no update can maintain from changes is analysed and not run.

## Wrong versions

Failures: 1 wrong.
- seed 8, v3: wrong
- mended: a bound was short

## Strategies

Versions by strategy and code; each was compared with its query, as Spark runs it.

| versions | strategy and code |
|---|---|
| 30 | full first-build |
| 7 | append row-wise |

## Reasons

What analysis said of each way, by view.

| views | way and code |
|---|---|
| 6 | append: yes |
| 2 | merge: LIMIT |

## Lines that ran at bbb

3 of 4 lines of functions.

| file | lines | ran | not run |
|---|---|---|---|
| `src/a.py` | 4 | 75% | 9 |
"""


def test_commits_failures_and_lines_are_told():
    lines = {"bbb": {"src/a.py": {"all": [2, 3, 4, 9], "ran": [2, 3, 4]}}}
    assert written(RESULTS, lines, ["a bound was short"]) == PAGE
