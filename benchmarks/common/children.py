"""Child processes, so that each measurement starts from a fresh JVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_ROOT = Path(__file__).parent.parent.parent
_GONE_S = 10.0


def environment() -> dict[str, str]:
    """Ours, with what ``make bench`` sets where it was not set."""
    set_here = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    return set_here | dict(os.environ)


def program(name: str) -> str:
    """A program installed beside this Python."""
    return str(Path(sys.executable).with_name(name))


@contextmanager
def child(command: Sequence[str], *, log: Path) -> Iterator[subprocess.Popen[str]]:
    """A child that reads our lines and whose lines we read; it and its JVM end with the block.

    Args:
        command: The program and its arguments.
        log: Where its standard error goes.
    """
    with log.open("a") as errors:
        process = subprocess.Popen(
            command,
            cwd=_ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # a group of its own, which its JVM belongs to
        )
        try:
            yield process
        finally:
            try:
                process.wait(_GONE_S if process.poll() is None else 0.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def answer(process: subprocess.Popen[str], log: Path) -> str:
    """The child's next line.

    Raises:
        RuntimeError: It ended without one.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"a child ended early:\n{log.read_text()[-3000:]}")
    return line.rstrip("\n")


def tell(process: subprocess.Popen[str], line: str) -> None:
    """Send the child a line."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
