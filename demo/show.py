"""How the demo looks: headings, paragraphs and tables, in a terminal or in a log file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from demo.check import Verdict
from demo.commits import Commit
from demo.measure import Staleness
from demo.queries import Query

_LOG_WIDTH = 110
"""Columns where the output is no terminal, which would tell its own."""

console = Console(
    width=None if sys.stdout.isatty() else _LOG_WIDTH, highlight=False, soft_wrap=False
)


def heading(text: str) -> None:
    """Begin a section."""
    console.print()
    console.rule(f"[bold]{escape(text)}[/bold]", align="left")


def paragraph(text: str) -> None:
    """A paragraph; may contain rich's markup."""
    console.print(Padding(text, (1, 2, 0, 2)))


def story(text: str) -> None:
    """What `freshline story` tells, its long lines folded under their beginning."""
    console.print()
    for line in text.rstrip().splitlines():
        indent = len(line) - len(line.lstrip())
        console.print(Padding(Text(line.strip()), (0, 2, 0, 2 + indent)))


def clock(moment_s: float) -> str:
    """A time of day, UTC."""
    return datetime.fromtimestamp(moment_s, UTC).strftime("%H:%M:%S")


def freshness_table(
    rows: Sequence[tuple[Query, Sequence[Commit], Staleness]], end_s: float
) -> None:
    """Per table: what was asked for, and how stale it was.

    Args:
        rows: A table's query, its commits and its staleness.
        end_s: When the measuring ended.
    """
    table = _table(
        "table", "priority>", "target>", "updates>", "from changes>", "mean>", "max>", "at the end>"
    )
    for query, log, stale in rows:
        last = f"{end_s - log[-1].to_s:.1f} s" if log else "never"
        table.add_row(
            query.table,
            f"{query.priority:g}",
            query.target,
            str(len(log)),
            "" if query.base else str(sum(commit.strategy != "full" for commit in log)),
            f"{stale.mean_s:.1f} s",
            f"{stale.max_s:.1f} s",
            last,
        )
    console.print()
    console.print(Padding(table, (0, 2)))


def verdicts(found: Sequence[Verdict]) -> None:
    """Per table: what it was compared with, and whether it is equal."""
    table = _table("table", "rows>", "compared with", "result")
    for each in found:
        result = (
            "[green]equal[/green]" if each.fault is None else f"[red]{escape(each.fault)}[/red]"
        )
        table.add_row(each.table, f"{each.rows:,}", each.against, result)
    console.print()
    console.print(Padding(table, (0, 2)))


def _table(*columns: str) -> Table:
    """A table; a column whose name ends in > is set to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        right = column.endswith(">")
        table.add_column(column.rstrip(">"), justify="right" if right else "left", no_wrap=right)
    return table
