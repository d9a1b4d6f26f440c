"""What a benchmark says at its end: a table, its goals met or not, and a JSON file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent.parent / "results"
_WIDTH = 160


@dataclass(frozen=True, slots=True)
class Goal:
    """A ratio and what it should be.

    Attributes:
        what: What is divided by what.
        ratio: As measured.
        limit: The goal.
        at_most: Whether the ratio should be at most the limit, or at least.
        unit: Behind the number, where it is no ratio.
    """

    what: str
    ratio: float
    limit: float
    at_most: bool = True
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether it was reached."""
        return self.ratio <= self.limit if self.at_most else self.ratio >= self.limit

    def __str__(self) -> str:
        word = "at most" if self.at_most else "at least"
        verdict = "met" if self.met else "NOT met"
        return f"{self.what}: {self.ratio:.2f}{self.unit}, goal {word} {self.limit:g}: {verdict}"


@dataclass(slots=True)
class Report:
    """The result of one benchmark.

    Attributes:
        name: Of the benchmark.
        title: One line.
        columns, rows: The table, as texts.
        goals: With what came out.
        notes: What a reader must know to judge them.
        quick: Whether it was a short run.
        data: The numbers behind the table, for the JSON file.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]]
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    quick: bool = False
    data: dict[str, object] = field(default_factory=dict)

    def publish(self) -> None:
        """Print it, and write ``results/NAME.json``."""
        # In a file lines may be as long as the table asks for.
        console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
        table = Table(title=self.title, title_justify="left", title_style="bold")
        for index, column in enumerate(self.columns):
            table.add_column(column, justify="left" if index == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        console.print()
        console.print(table)
        for goal in self.goals:
            console.print(f"[{'green' if goal.met else 'red'}]{goal}[/]")
        for note in self.notes:
            console.print(note, style="dim")
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{self.name}.json").write_text(json.dumps(self._record(), indent=1) + "\n")

    def _record(self) -> dict[str, object]:
        return {
            "benchmark": self.name,
            "title": self.title,
            "quick": self.quick,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": {
                "cores": os.cpu_count(),
                "load_average": os.getloadavg(),
                "python": platform.python_version(),
            },
            "goals": [
                {
                    "what": goal.what,
                    "measured": goal.ratio,
                    "limit": goal.limit,
                    "at_most": goal.at_most,
                    "met": goal.met,
                }
                for goal in self.goals
            ],
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "notes": self.notes,
            "data": self.data,
        }


def asked_quick(description: str | None) -> bool:
    """Whether the command line says --quick; every benchmark takes that and nothing else."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a quarter of the time, more noise")
    return bool(parser.parse_args().quick)
