"""``/v1/ui/what-if``: a recorded run under other policies, tracks, priorities and targets.

Played by ``freshline simulate --from-run`` in a process of its own with the lowest priority: it
takes seconds of pure computing, which must not be the scheduler's. One at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from freshline.core.objective.just_in_time import OBJECTIVES
from freshline.core.registry import found_policies
from freshline.project.model import Project
from freshline.ui.answers import Problem

_MOST_TRACKS = 64
_MOST_PLAYED = 8
_MOST_CHANGES = 100
_CHANGE = re.compile(r"\w{1,200}=[\w. ]{1,60}\Z")
_MOST_TABLES = 100
_PATIENCE_S = 120.0
_NICE = 19


class WhatIf:
    """Plays runs of one project.

    Args:
        project: With a journal.
        run: The run's number; None: the last that did anything.
    """

    def __init__(self, project: Project, run: int | None = None) -> None:
        self._project = project
        self._run = run
        self._busy = False

    async def played(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """What ``simulate --from-run --json`` prints, of tables the hundred heaviest.

        Raises:
            Problem: 400 for what cannot be played, 503 while another one is played, 504.
        """
        arguments = self._arguments(parameters)
        if self._busy:
            raise Problem(
                503, "busy", "another run is being played; try again", {"Retry-After": "5"}
            )
        self._busy = True
        try:
            return _trimmed(await _asked(arguments))
        finally:
            self._busy = False

    def _arguments(self, parameters: Mapping[str, str]) -> list[str]:
        policies = _listed(parameters, "policy", found_policies())
        objectives = _listed(parameters, "objective", OBJECTIVES)
        changes = [
            f"--{option}={each}"
            for option in ("priority", "target")
            for each in _changes(parameters, option)
        ]
        numbers = [str(each) for each in range(1, _MOST_TRACKS + 1)]
        tracks = _listed(parameters, "tracks", numbers)
        played = max(1, len(policies)) * max(1, len(objectives)) * max(1, len(tracks))
        if played > _MOST_PLAYED:
            raise Problem(400, "too-many", f"at most {_MOST_PLAYED} runs are played at once")
        project = self._project.specification or self._project.root
        arguments = ["simulate", "--from-run", "--json", "--project", str(project)]
        if self._run is not None:
            arguments += ["--run", str(self._run)]
        for option, chosen in (("policy", policies), ("objective", objectives), ("tracks", tracks)):
            if chosen:
                arguments += [f"--{option}", ",".join(chosen)]
        if sweep := parameters.get("sweep"):
            if sweep != "target":
                raise Problem(400, "bad-request", "sweep is target")
            arguments += ["--sweep", "target"]
        return arguments + changes


def _listed(parameters: Mapping[str, str], name: str, known: Any) -> list[str]:
    chosen = [each.strip() for each in parameters.get(name, "").split(",") if each.strip()]
    for each in chosen:
        if each not in known:
            raise Problem(400, "bad-request", f"{name} has an unknown value")
    return chosen


def _changes(parameters: Mapping[str, str], name: str) -> list[str]:
    """Changes of single tables, as the command reads them: ``TABLE=VALUE``."""
    found = [each.strip() for each in parameters.get(name, "").split(",") if each.strip()]
    if len(found) > _MOST_CHANGES or not all(_CHANGE.match(each) for each in found):
        raise Problem(
            400, "bad-request", f"{name} is up to {_MOST_CHANGES} times TABLE=VALUE, with commas"
        )
    return found


async def _asked(arguments: list[str]) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    try:
        async with asyncio.timeout(_PATIENCE_S):
            out, errors = await process.communicate()
    except TimeoutError:
        raise Problem(504, "too-long", "playing the run took more than two minutes") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        message = errors.decode(errors="replace").strip() or "the run could not be played"
        raise Problem(400, "not-played", message[-1000:])
    found: dict[str, Any] = json.loads(out)
    return found


_PROGRAM = f"import os; os.nice({_NICE}); from freshline.cli.main import main; main()"


def _trimmed(record: dict[str, Any]) -> dict[str, Any]:
    """Of each outcome's tables those that weigh most in what happened."""
    happened = record.get("happened")
    if not isinstance(happened, dict):
        return record
    priorities = record.get("priorities", {})
    tables = happened["tables"]
    heavy = sorted(
        tables, key=lambda name: -(priorities.get(name, 1.0) * (tables[name].get("mean") or 0.0))
    )[:_MOST_TABLES]
    for outcome in (happened, *record["played"]):
        outcome["tables"] = {name: outcome["tables"][name] for name in heavy}
    record["priorities"] = {name: priorities[name] for name in heavy if name in priorities}
    record["tables_total"] = len(tables)
    return record
