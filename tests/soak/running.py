"""A ``freshline run`` of the soak, in a process that is ended, stopped and started again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.soak.shop import Place

_READY_S = 240.0
_ROOT = Path(__file__).parents[2]


class Run:
    """The warehouse's process; at most one at a time.

    Args:
        shop: Whose.
    """

    def __init__(self, shop: Place) -> None:
        self._shop = shop
        self._clock = shop.root / "clock"
        self._log = shop.root / "run.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.exits: list[int] = []
        self.starts = 0

    def start(self, failpoint: str = "") -> None:
        """Start it, which dies or fails at a failpoint."""
        self.starts += 1
        self._process = self._spawn("run", failpoint=failpoint)

    def once(self) -> int:
        """Run until idle; the exit status."""
        return self._spawn("run", "--until-idle").wait()

    def ask(self, *command: str, limit_s: float = 120.0) -> int:
        """Another command of the program; its exit status, -1 where it took too long."""
        asked = self._spawn(*command)
        try:
            return asked.wait(limit_s)
        except subprocess.TimeoutExpired:
            asked.kill()
            asked.wait()
            return -1

    def is_refused(self, name: str) -> bool:
        """Whether the status says that nothing is loaded into a table which others changed."""
        asked = subprocess.run(
            self._command("status", "--json"), env=self._environment(),
            cwd=_ROOT, capture_output=True, check=False, timeout=_READY_S,
        )  # fmt: skip
        if asked.returncode != 0:
            return False
        tables = json.loads(asked.stdout)["tables"]
        return any(each["name"] == name and "[table-" in (each["error"] or "") for each in tables)

    def end(self, how: int) -> None:
        """Send it a signal, and wait until it has ended."""
        if self._process is None:
            return
        java = self.java()
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(how)
        try:
            self._process.wait(90)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.exits.append(self._process.returncode)
        self._process = None
        for each in java:  # it ends by itself, but not while it is stopped
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGCONT)

    def revive(self) -> bool:
        """Start it again where it ended by itself; whether it had."""
        if self._process is None or self._process.poll() is None:
            return False
        self.exits.append(self._process.returncode)
        self._process = None
        self.start()
        return True

    def signal(self, how: int) -> None:
        """To the process itself."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(how)

    def java(self) -> list[int]:
        """Processes that it has started: Spark's."""
        if self._process is None:
            return []
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                name = (folder / "comm").read_text().strip()
            except OSError:
                continue
            if int(fields[1]) == self._process.pid and name == "java":
                found.append(int(folder.name))
        return found

    def signal_java(self, how: int) -> bool:
        """To Spark's process; whether there is one."""
        found = self.java()
        for each in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, how)
        return bool(found)

    def wait_for_commits(self, more: int) -> None:
        """Until so many versions of the first table were made, or it has taken long."""
        log = self._shop.storage / "orders" / "_delta_log"
        before = sum(1 for _ in log.glob("*.json"))
        end_s = time.monotonic() + _READY_S
        while time.monotonic() < end_s and sum(1 for _ in log.glob("*.json")) < before + more:
            if self.revive():
                return
            time.sleep(0.5)

    def set_clock(self, ahead_s: float) -> None:
        """Set the wall clock of all its processes."""
        draft = self._clock.with_suffix(".tmp")
        draft.write_text(str(ahead_s))
        draft.rename(self._clock)

    def _command(self, *command: str) -> list[str]:
        root = str(self._shop.root)
        return [sys.executable, "-m", "tests.soak.entry", *command, "--project", root]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "FRESHLINE_SOAK_CLOCK": str(self._clock)}

    def _spawn(self, *command: str, failpoint: str = "") -> subprocess.Popen[bytes]:
        environment = {**self._environment(), "FRESHLINE_FAILPOINT": failpoint}
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command(*command),
                stdout=log, stderr=log, env=environment, cwd=_ROOT,
            )  # fmt: skip
