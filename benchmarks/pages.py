"""The web page: how soon a view is there, and what fifty open pages cost a running warehouse.

The first part opens views in Chromium over a journal of 500 tables and 50,000 updates. The second
runs a warehouse that always has work and opens fifty pages over it, in stretches that alternate
with as many without. The readers have the lowest priority, since real ones have machines of their
own; what is left is what the warehouse's process does for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common.report import Goal, Report, asked_quick
from benchmarks.paging.load import Loaded, loaded
from benchmarks.paging.views import TABLES, UPDATES, Shown, shown

_PAGES = 50


def main() -> None:
    """Measure both, and print them."""
    quick = asked_quick(__doc__)
    views = shown(rounds=3 if quick else 7)
    with TemporaryDirectory() as folder:
        under = loaded(
            Path(folder), _PAGES, stretch_s=10.0 if quick else 25.0, rounds=1 if quick else 2
        )
    _report(views, under, quick=quick).publish()


def _report(views: list[Shown], under: Loaded, *, quick: bool) -> Report:
    alone, read = under.alone, under.read
    rows: list[Sequence[str]] = [
        [f"/{each.view}", f"{each.first_s:.2f} s", f"{each.usual_s:.2f} s", f"{each.whole_s:.2f} s",
         f"{each.paint_s:.2f} s", f"{each.largest_bytes / 1000:.0f} kB"]
        for each in views
    ]  # fmt: skip
    cpu = [side.server_cpu_s / side.seconds for side in (alone, read)]
    answers = sum(each["answers"] for each in under.readers)
    seconds = sorted(each["median_s"] for each in under.readers)
    decided = (
        f"decisions: {alone.decisions:.0f} of {alone.decision_s * 1e6:.0f} µs alone,"
        f" {read.decisions:.0f} of {read.decision_s * 1e6:.0f} µs with pages"
    )
    updated = (
        f"updates: {alone.updates_total} in {alone.seconds:.0f} s alone, {read.updates_total}"
        f" in {read.seconds:.0f} s with pages"
    )
    used = (
        f"the warehouse's Python process took {cpu[0]:.3f} of a core alone, {cpu[1]:.3f} with"
        f" pages; {answers} answers, each in {seconds[len(seconds) // 2]:.3f} s (median)"
    )
    return Report(
        "pages",
        f"Views over {TABLES} tables and {UPDATES:,} updates, in Chromium",
        ["view", "first of all", "usual", "all rows", "first paint", "largest answer"],
        rows,
        [
            Goal("first view of all tables", views[0].first_s, 1.0, unit=" s"),
            Goal("largest answer", max(each.largest_bytes for each in views) / 1000, 200.0,
                 unit=" kB"),
            Goal(f"decisions with {_PAGES} pages open against none",
                 read.decision_s / alone.decision_s, 1.05),
            Goal(f"updates with {_PAGES} pages open against none", under.update_ratio, 1.05),
        ],
        [decided, updated, used],
        quick,
        {
            "views": [
                [each.view, each.first_s, each.usual_s, each.whole_s, each.paint_s]
                for each in views
            ],
            "decision_s": [alone.decision_s, read.decision_s],
            "updates": [alone.updates, read.updates],
            "cores": cpu,
            "readers": list(under.readers),
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()
