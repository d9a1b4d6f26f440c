"""The queries of an imported project, analysed by Spark before its files are written."""

from __future__ import annotations

from freshline.importing.writing import Judgement
from freshline.project.model import Project


def by_spark(project: Project) -> Judgement:
    """Which queries Spark refuses, and which could not be analysed."""
    from freshline.spark.analysis import analyse
    from freshline.spark.engine.session import start_session

    found = analyse(project, start_session(project, brief=True))
    refused = {
        error.where.file: f"{error.what}; {error.rule}" if error.rule else error.what
        for error in reversed(found.errors)
        if error.where is not None and error.where.file.startswith("tables/")
    }
    missed = [
        table.name
        for table in project.tables
        if table.name not in found.columns and table.query_place.file not in refused
    ]
    notes = []
    if missed and not refused:
        notes.append(
            f"Spark did not analyse {', '.join(missed)}: the columns of what they read are not"
            " known. `freshline validate` does it once the feeds have files."
        )
    return Judgement(refused, tuple(notes))
