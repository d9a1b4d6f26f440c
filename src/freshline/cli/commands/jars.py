"""``freshline jars``: the jars that Spark needs, in a directory for machines without network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from freshline.cli.options import AsJson, ProjectDir, is_in_project, opened
from freshline.project.load import PROJECT_FILE
from freshline.project.model import Project
from freshline.render.output import counted, print_json


def jars(
    into: Annotated[Path, typer.Option(metavar="DIR", help="Where the jars are copied to.")],
    package: Annotated[
        list[str] | None,
        typer.Option(metavar="COORDINATE", help="A Maven package to add; may be repeated."),
    ] = None,
    kafka: Annotated[bool, typer.Option("--kafka", help="Add the jars for Kafka.")] = False,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy Delta's jars, and those that the project needs, to a directory.

    In another machine's freshline.yml `spark: {jars: DIR}` takes them from there, and nothing is
    fetched. Outside of a project: Delta's, and what the options name.
    """
    from freshline.spark.engine.jars import copied, has_topics, packages

    found = _found(project)
    configuration = {} if found is None else found.configuration
    named = [*(() if found is None else found.spark_packages), *(package or ())]
    topics = kafka or (found is not None and has_topics(found))
    wanted = packages(named, configuration, topics=topics)
    names = copied(wanted, configuration, into, lambda text: print(text, file=sys.stderr))
    if as_json:
        print_json({"directory": str(into), "jars": names})
        return
    print(f"{into} has {counted(len(names), 'jar')}: {', '.join(names)}")
    print(
        f"Set `spark: {{jars: {into}}}` in {PROJECT_FILE}; a relative path starts at the project."
    )


def _found(directory: Path | None) -> Project | None:
    """The project that is named or around here; None where there is none."""
    return opened(directory) if directory is not None or is_in_project() else None
