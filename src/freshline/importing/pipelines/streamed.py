"""Queries over temporary views that stream from outside."""

from __future__ import annotations

from freshline.importing.pipelines.session_views import Needs
from freshline.project.names import listed
from freshline.sql.text.reads import reads_of, rewritten


def not_row_wise(text: str, needs: Needs) -> str | None:
    """Why a query over a temporary view that streams does more than make rows of each record."""
    from freshline.sql.text.rowwise import row_wise  # brings sqlglot: 0.3 s

    programs = {program.name.lower() for program in needs.programs}
    names = {
        read.name: f"STREAM {read.name}"
        for read in reads_of(text)
        if len(read.parts) == 1 and read.parts[0].lower() in programs
    }
    fault = row_wise(rewritten(text, names)).fault
    if fault is None and needs.parents:
        return f"it joins them with {listed(needs.parents)}"
    return fault
