"""Child processes, so that each measurement starts from a fresh JVM."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
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
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GONE_S if process.poll() is None else 0.0)
            _end_group(process)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def _end_group(process: subprocess.Popen[str]) -> None:
    """Kill what is left: a JVM outlives its Python for a moment, and writes meanwhile."""
    end_s = time.monotonic() + _GONE_S
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < end_s:
            os.killpg(process.pid, signal.SIGKILL)
            process.poll()
            time.sleep(0.01)
    process.wait()


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
