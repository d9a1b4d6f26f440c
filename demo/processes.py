"""The processes of the demo: the warehouse, which is killed on purpose, and the producer."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

from demo.places import DemoError, Places, installed

_SHOWN_UPDATES = 16
_UPDATE = re.compile(rb" rows in [0-9.]+ s, ")
_FROM_JAVA = b"WARNING: Using incubator modules"
_GRACE_S = 60.0
_GONE_S = 3.0


class Warehouse:
    """``freshline run`` as a child, with this terminal as its own; elsewhere its lines in short.

    It leads a process group, in which its JVM is, too: so all of it can be killed at once.
    """

    def __init__(self, project: Path) -> None:
        self._project = project
        self._process: subprocess.Popen[bytes] | None = None
        self._teller: threading.Thread | None = None

    def start(self) -> None:
        """Start it; returns at once."""
        at_a_terminal = sys.stderr.isatty()
        self._process = subprocess.Popen(
            [installed("freshline"), "run", "--project", str(self._project)],
            stdin=subprocess.DEVNULL,
            stderr=None if at_a_terminal else subprocess.PIPE,
            process_group=0,
        )
        if self._process.stderr is not None:
            self._teller = threading.Thread(target=tell_in_short, args=(self._process.stderr,))
            self._teller.start()

    def _told(self) -> None:
        """Wait until the last lines of a process that ended are shown."""
        teller, self._teller = self._teller, None
        if teller is not None:
            teller.join(_GONE_S)

    def must_run(self) -> None:
        """Check that it runs.

        Raises:
            DemoError: It has ended by itself.
        """
        if self._process is not None and self._process.poll() is not None:
            status = self._process.returncode
            raise DemoError(f"`freshline run` ended by itself, with exit status {status}")

    def kill(self) -> None:
        """SIGKILL to all of its processes, and wait until none of them is left."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # The JVM is not ours to wait for: it is gone when the group is. Where nobody reaps
        # orphans its entry stays, hence the limit.
        deadline_s = time.monotonic() + _GONE_S
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < deadline_s:
                os.killpg(process.pid, 0)
                time.sleep(0.02)
        self._told()
        restore_terminal()

    def stop(self) -> int:
        """SIGTERM: updates that run may finish.

        Returns:
            Its exit status.

        Raises:
            DemoError: It does not end.
        """
        if self._process is None:
            return 0
        self._process.terminate()
        try:
            status = self._process.wait(timeout=_GRACE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise DemoError(f"`freshline run` did not end {_GRACE_S:.0f} s after SIGTERM") from None
        self._process = None
        self._told()
        restore_terminal()
        return status


def tell_in_short(lines: IO[bytes]) -> None:
    """Pass on what a warehouse writes, of its updates the first ones and how many followed."""
    updates = 0
    for line in lines:
        if line.startswith(_FROM_JAVA):
            continue
        updates += bool(_UPDATE.search(line))
        if updates <= _SHOWN_UPDATES or not _UPDATE.search(line):
            print(line.decode(errors="replace"), end="", file=sys.stderr, flush=True)
    lines.close()
    if updates > _SHOWN_UPDATES:
        print(f"... and {updates - _SHOWN_UPDATES} more updates", file=sys.stderr, flush=True)


def show_status(project: Path) -> None:
    """Let ``freshline status`` write to this terminal, as wide as that is.

    Raises:
        DemoError: It failed.
    """
    command = [installed("freshline"), "status", "--project", str(project)]
    if subprocess.run(command, check=False).returncode:
        raise DemoError("`freshline status` failed")


def interrupted(places: Places) -> list[str]:
    """The tables whose updates were running when the warehouse was killed, by its journal."""
    journal = sqlite3.connect(f"{places.journal.as_uri()}?mode=ro", uri=True)
    with contextlib.closing(journal):
        rows = journal.execute("SELECT table_name FROM updates WHERE state = 'running'").fetchall()
    return sorted(row[0] for row in rows)


def restore_terminal() -> None:
    """Show the cursor again, which the live table hid and, killed, could not give back."""
    if sys.stdout.isatty():
        print("\x1b[?25h\x1b[0m", end="\r\n", flush=True)


def start_producer(places: Places, start_s: float, servers: str | None) -> subprocess.Popen[bytes]:
    """Start the process that releases the feed files, or sends their rows to the brokers."""
    command = [sys.executable, "-m", "demo.producer", str(places.root), str(start_s)]
    command += [servers] if servers else []
    return subprocess.Popen(
        command, cwd=Path(__file__).parents[1], stdin=subprocess.DEVNULL, process_group=0
    )


_THE_ANSWER_IS_NO = 3


def freshline(project: Path, *arguments: str) -> str:
    """The output of another command of freshline's, whatever its answer is.

    Raises:
        DemoError: It failed.
    """
    command = [installed("freshline"), *arguments, "--project", str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, _THE_ANSWER_IS_NO):
        raise DemoError(f"`freshline {' '.join(arguments)}` failed: {done.stderr.strip()}")
    return done.stdout
