"""The experiments there are: every folder with a run.py."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from experiments.common.experiment import Experiment

_ROOT = Path(__file__).parents[1]


def names() -> list[str]:
    """Folders of experiments, by name."""
    return sorted(path.parent.name for path in _ROOT.glob("*/run.py"))


def experiment(name: str) -> Experiment:
    """The experiment of a folder."""
    found = import_module(f"experiments.{name}.run").EXPERIMENT
    assert isinstance(found, Experiment)
    return found
