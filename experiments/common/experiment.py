"""What an experiment is made of, and its way from a simulation to a page.

Rows are text from the start: what is written to results.csv, drawn, quoted on the page and
held against the paper is the same, whether it was just played or read again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.common.size import Size

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, and what the rows say of it.

    Attributes:
        claim: What the paper (or we) say.
        measured: The figures that decide.
        holds: Whether they bear the claim out.
    """

    claim: str
    measured: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Experiment:
    """One folder of ``experiments``.

    Attributes:
        folder: Where results.csv, picture.svg and README.md lie.
        play: The rows, in the order of the csv; the same for the same size.
        findings: What the rows say of each claim.
        draw: Writes the picture of the rows.
        numbers: The rows as Markdown lines for the page; None: the page has the findings only.
    """

    folder: Path
    play: Callable[[Size], list[Row]]
    findings: Callable[[Sequence[Row]], list[Finding]]
    draw: Callable[[Sequence[Row], Path], None]
    numbers: Callable[[Sequence[Row]], list[str]] | None = None

    @property
    def name(self) -> str:
        """That of its folder."""
        return self.folder.name

    def kept(self) -> list[Row]:
        """The rows of results.csv as they lie there."""
        with (self.folder / "results.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    def write(self, rows: Sequence[Row]) -> None:
        """Replace csv, picture and the page's figures."""
        (self.folder / "results.csv").write_text(as_csv(rows))
        self.draw(rows, self.folder / "picture.svg")
        page = self.folder / "README.md"
        if page.exists():
            page.write_text(with_figures(page.read_text(), self.figures(rows)))

    def figures(self, rows: Sequence[Row]) -> str:
        """What the page says in figures: every finding, then the numbers."""
        lines = ["| claim | measured | holds |", "|---|---|---|"]
        lines += [
            f"| {found.claim} | {found.measured} | {'yes' if found.holds else '**no**'} |"
            for found in self.findings(rows)
        ]
        if self.numbers is not None:
            lines += ["", *self.numbers(rows)]
        return "\n".join(lines)


def as_csv(rows: Sequence[Row]) -> str:
    """The text of results.csv."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


_BEGIN = "<!-- figures: written from results.csv -->"
_END = "<!-- /figures -->"


def with_figures(page: str, figures: str) -> str:
    """``page`` with what stands between the two marks replaced by ``figures``."""
    before, found, rest = page.partition(_BEGIN)
    _, ended, after = rest.partition(_END)
    if not found or not ended:
        raise ValueError(f"the page has no marks {_BEGIN} and {_END}")
    return f"{before}{_BEGIN}\n\n{figures}\n\n{_END}{after}"
