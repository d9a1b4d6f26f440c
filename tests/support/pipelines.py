"""A project of Spark's declarative pipelines in a folder of a test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freshline.core.errors import UserError
from freshline.importing.pipelines.load import collect
from freshline.project.model import Project


@dataclass
class Pipeline:
    """A pipeline in a folder, read with a session that is there."""

    root: Path

    @property
    def project(self) -> Project:
        project, errors = collect(self.root, self.root)
        assert errors == [], [error.render() for error in errors]
        assert project is not None
        return project

    @property
    def errors(self) -> list[UserError]:
        return collect(self.root, self.root)[1]

    def come(self, name: str, *rows: dict[str, Any]) -> None:
        (self.root / "in").mkdir(exist_ok=True)
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (self.root / "in" / name).write_text(text)
