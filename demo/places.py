"""Where the demo keeps its files: all of it under demo-out, emptied at every start."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

PROJECT_SOURCE = Path(__file__).with_name("project")


class DemoError(Exception):
    """Something without which the demo cannot go on; the text is for people."""


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one demo run."""

    root: Path

    @property
    def source(self) -> Path:
        """What tpchgen-cli wrote."""
        return self.root / "tpch"

    @property
    def staged(self) -> Path:
        """The feed files before their release, ``staged/FEED/slice=N/data_0.*``."""
        return self.root / "staged"

    @property
    def static(self) -> Path:
        """Static Delta tables; the project names them ``../static/TABLE``."""
        return self.root / "static"

    @property
    def project(self) -> Path:
        """The project that runs."""
        return self.root / "project"

    @property
    def feed(self) -> Path:
        """One folder for each feed."""
        return self.project / "feed"

    @property
    def warehouse(self) -> Path:
        """Table t is the Delta table ``warehouse/t``."""
        return self.project / "warehouse"

    @property
    def journal(self) -> Path:
        """The notes that freshline takes of what it did; SQLite."""
        return self.warehouse / "_freshline" / "journal.db"

    @property
    def plan(self) -> Path:
        """What the producer releases, and when."""
        return self.root / "releases.json"

    def start_afresh(self) -> None:
        """Empty everything and copy the project."""
        if self.root.exists():
            shutil.rmtree(self.root)
        self.root.mkdir(parents=True)
        shutil.copytree(PROJECT_SOURCE, self.project)


def installed(program: str) -> str:
    """A program that was installed beside this Python.

    Raises:
        DemoError: It is not there.
    """
    beside = Path(sys.executable).with_name(program)
    found = str(beside) if beside.exists() else shutil.which(program)
    if found is None:
        raise DemoError(f"{program} is not installed beside {sys.executable}: run `make setup`")
    return found
