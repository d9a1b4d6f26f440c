"""A command at a real terminal, whose questions a test answers."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

END = "\x04"
"""What Ctrl-D sends."""

_CHUNK_BYTES = 4096


def at_a_terminal(root: Path, *arguments: str, question: str, answer: str) -> tuple[int, str]:
    """Run a command of ``freshline`` on the project in ``root``.

    Args:
        question: Its last words; the answer is typed once they are on the screen.
        answer: What is typed.

    Returns:
        Its exit status, and all that was on the screen.
    """
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "freshline", *arguments, "--project", str(root)]
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, start_new_session=True)
    os.close(its)
    seen, answered = "", False
    try:
        while part := _read(ours):
            seen += part
            if not answered and question in seen:
                os.write(ours, answer.encode())
                answered = True
    finally:
        os.close(ours)
        if process.poll() is None and not answered:
            process.kill()
        status = process.wait()
    return status, seen.replace("\r\n", "\n")


def _read(terminal: int) -> str:
    """What came next; empty once nobody writes any more."""
    try:
        return os.read(terminal, _CHUNK_BYTES).decode(errors="replace")
    except OSError:  # so Linux tells that the other end is closed
        return ""
