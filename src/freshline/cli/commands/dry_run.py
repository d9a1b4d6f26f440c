"""``freshline dry-run``: the checks of ``validate``, by the name that Spark's pipelines have."""

from __future__ import annotations

from freshline.cli.commands.validate import validate
from freshline.cli.options import AsJson, ProjectDir, Spec, named


def dry_run(project: ProjectDir = None, spec: Spec = None, as_json: AsJson = False) -> int:
    """Check everything and run nothing, as `spark-pipelines dry-run` does: `validate`."""
    return validate(
        spark=True, strict=False, against_running=False, tries=False,
        project=named(project, spec), as_json=as_json,
    )  # fmt: skip
