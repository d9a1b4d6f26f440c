"""IMPORTED.md: what became of each item, what differs, and what could not be imported and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from freshline.importing.assembly import Assembly
from freshline.importing.checks import TakenCheck
from freshline.importing.items import Found, Outcome
from freshline.sql.text.reads import reads_of


def page(
    found: Found, assembly: Assembly, checks: Sequence[TakenCheck], warnings: Sequence[str]
) -> str:
    """The page.

    Args:
        checks: What became of each test.
        warnings: Of loading the new project.
    """
    outcomes = assembly.outcomes
    parts = [
        f"# Imported from the {found.origin}\n",
        f"{_counted(outcomes)}\n",
        _table(
            ("name", "what it was", "what it is here", "what is different", "not taken, and why"),
            (
                (
                    f"`{outcome.item.key}`",
                    outcome.item.kind,
                    outcome.became,
                    "; ".join(outcome.changed),
                    "; ".join(outcome.left_out),
                )
                for outcome in outcomes
            ),
        ),
    ]
    if checks:
        parts.append("\n## Tests\n")
        parts.append("`freshline verify` runs those that became checks, in freshline.yml.\n")
        rows = (
            (
                f"`{each.check.key}`",
                each.check.kind,
                f"`{each.check.of}`",
                f"check of `{each.table}`" if each.table is not None else "not taken",
                each.reason,
            )
            for each in checks
        )
        parts.append(_table(("test", "kind", "of", "what it is here", "why not taken"), rows))
    if found.notes or warnings:
        parts.append("\n## Notes\n")
        parts += [f"- {note}" for note in (*found.notes, *warnings)]
    parts.append("\n## Next\n")
    if outside := _outside(assembly):
        parts.append(
            f"{', '.join(f'`{name}`' for name in outside)}: read by name, so Spark has to find"
            " them. `configuration:` of freshline.yml needs the settings of their catalog.\n"
        )
    parts.append("`freshline validate` analyses every query with Spark; `freshline run` starts.")
    parts.append("Compare the tables with the old ones before you switch their readers over.\n")
    return "\n".join(parts)


def _outside(assembly: Assembly) -> list[str]:
    """The tables of other catalogs that queries of the new project read."""
    reads = (read for table in assembly.tables for read in reads_of(table.query))
    return sorted({read.name for read in reads if len(read.parts) > 1})


def _counted(outcomes: Sequence[Outcome]) -> str:
    tables = sum(outcome.taken for outcome in outcomes)
    refused = sum(outcome.became == "not taken" for outcome in outcomes)
    others = len(outcomes) - tables - refused
    return f"{tables} tables, {others} put into queries or read by name, {refused} not taken."


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(_cell(text) for text in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split()) or "-"
