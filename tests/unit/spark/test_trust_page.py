"""The page that a search of generated views is written to."""

from __future__ import annotations

from tests.spark.generated import page

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
EARLIER = ("| 58c27461c6 | 2001-2013 | 360 | 201 | 739 | 0.7 |",)
PAGE = """\
# Trust: what the generated views went through

440 views were generated, and the 231 that an update can maintain from changes were run. After
every update the version was compared with its query: **of 776 versions one was wrong** (seed
4013, below). Since that was mended: 80 views, 30 of them run, and of 37 versions 1 are wrong.
The other views were only analysed.

How views are generated and judged:
[design 0068](design/0068-generators-that-do-not-share-our-habits.md). This page is
written by `python -m tests.spark.generated.page` from the results of
`python -m tests.spark.generated.searching`.

| commit | seeds | views | of them run | versions | hours |
|---|---|---|---|---|---|
| 58c27461c6 | 2001-2013 | 360 | 201 | 739 | 0.7 |
| aaa | 7-8 | 60 | 30 | 34 | 0.5 |
| bbb | 10 | 20 | 0 | 3 | 0.1 |

The code changed between the runs, so each commit has a line.
The tables below leave out the first 1 lines.

## Failures

- seed 4013: wrong
- seed 8, v3: wrong

Found by these searches, and fixed:

- a bound was short

All passed.

## Strategies

Versions by strategy and code. Each was compared with its query, as Spark runs it.

| versions | strategy and code |
|---|---|
| 30 | full first-build |
| 7 | append row-wise |

## Reasons

What the analysis said about each strategy, by view.

| views | strategy and code |
|---|---|
| 6 | append: yes |
| 2 | merge: LIMIT |

## Lines that ran at bbb

3 of 4 lines of functions.

| file | lines | ran |
|---|---|---|
| `src/a.py` | 4 | 75% |
"""


def test_commits_failures_and_lines_are_told(monkeypatch):
    monkeypatch.setattr(page, "EARLIER", EARLIER)
    monkeypatch.setattr(page, "BEFORE_THE_MEND", 1)
    monkeypatch.setattr(page, "EARLIER_FAILURES", ("seed 4013: wrong",))
    monkeypatch.setattr(page, "IN_THE_PROOF", ("All passed.",))
    lines = {"bbb": {"src/a.py": {"all": [2, 3, 4, 9], "ran": [2, 3, 4]}}}
    assert page.written(RESULTS, lines, ["a bound was short"]) == PAGE
