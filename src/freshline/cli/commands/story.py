"""``freshline story``: why a table's latest updates ran when they did."""

from __future__ import annotations

from typing import Annotated

import typer

from freshline.cli.options import AsJson, ProjectDir, opened, table_names
from freshline.render.output import print_json
from freshline.render.story import chapter_record, told
from freshline.runtime.journal.reading import journal_shown
from freshline.runtime.status.story import story_of
from freshline.runtime.subset import named_tables


def story(
    table: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="A table of the project.", autocompletion=table_names),
    ],
    last: Annotated[
        int, typer.Option("--last", min=1, max=1_000_000, help="How many updates.")
    ] = 5,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> None:
    """Explain why each of a table's latest updates was chosen when it was."""
    found = opened(project)
    (name,) = named_tables(found, [table])
    base = found.table(name).kind == "base"
    with journal_shown(found) as journal:
        chapters = [] if journal is None else story_of(journal, name, base=base, last=last)
    if as_json:
        print_json({"table": name, "updates": [chapter_record(each) for each in chapters]})
    elif not chapters:
        print(f"{name} has no update in the journal yet")
    else:
        print("\n\n".join(told(name, each) for each in chapters))
