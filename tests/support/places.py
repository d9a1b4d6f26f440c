"""The two ways to write a feed's path to a folder of this machine."""

from __future__ import annotations

from pathlib import Path


def on_this_machine(folder: Path) -> str:
    """Searched without Spark."""
    return str(folder)


def as_uri(folder: Path) -> str:
    """Searched by Spark, as an object store is."""
    return folder.as_uri()


PLACES = [on_this_machine, as_uri]
