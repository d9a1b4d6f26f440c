"""The commands of docs/tutorial.md as one script, and what each of them printed."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "tutorial.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MARK = "=== command "


@dataclass(frozen=True)
class Typed:
    """One command of the page.

    Attributes:
        command: As it is typed.
        shown: The lines that the page shows below it.
    """

    command: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Came:
    """What came of one command.

    Attributes:
        status: Its exit status.
        printed: On both outputs.
    """

    status: int
    printed: str


def typed(page: str) -> list[Typed]:
    """The commands of a page's console blocks, in order."""
    found = []
    for block in _BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            found.append(Typed(command, tuple(shown)))
    return found


def carried_out(commands: list[str], folder: Path) -> list[Came]:
    """Type ``commands`` into one shell, whose jobs can be named as in a terminal."""
    tools = folder / "bin"
    tools.mkdir()
    for name, run in {"freshline": "-m freshline ", "python": ""}.items():
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nexec {sys.executable} {run}"$@"\n', encoding="utf-8")
        tool.chmod(0o755)
    lines = ["set -m", f'PATH="{tools}:$PATH"']
    for command in commands:
        lines += [command, f'echo "{_MARK}$?"']
    lines.append("kill $(jobs -p) 2> /dev/null; true")
    script = "\n".join(lines)
    done = subprocess.run(
        ["/bin/bash", "-c", script], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False, timeout=1200,
    )  # fmt: skip
    parts = re.split(rf"{_MARK}(\d+)\n", done.stdout)
    return [Came(int(code), text) for text, code in zip(parts[::2], parts[1::2], strict=False)]
