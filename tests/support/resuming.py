"""The long proof: which tests passed is kept by commit, so that it goes on where it was stopped.

``FRESHLINE_PROOF`` (see ``tests/support/share.py``) switches it on. Only what failed, was skipped
or was not reached is run again. After ``FRESHLINE_PROOF_S`` seconds no further test is started.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".cache" / "proof"
_BEFORE = "FRESHLINE_PROOF_BEFORE"
_BEGAN = "FRESHLINE_PROOF_BEGAN"
OVER = "the time of this proof is over; `make proof` goes on from here"


def state_of_the_code() -> str:
    """Commit and, where files differ from it, a digest of how."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout

    commit = git("rev-parse", "--short=12", "HEAD").decode().strip()
    changes = git("diff", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    digest = hashlib.sha256(changes).hexdigest()[:8]
    return f"{commit}-{digest}" if changes else commit


class Resuming:
    """Plugin of pytest; the process that starts workers keeps the record, each leaves out.

    Args:
        kept: Folder of the records.
        code: What is proved, as ``state_of_the_code``.
        piece: Which part of the proof, "all" or "2/8".
        worker: Whether this process was started by another one to run tests.
    """

    def __init__(self, kept: Path, code: str, piece: str, *, worker: bool) -> None:
        self._code = code
        self._record = kept / f"{code}-{piece.replace('/', '-of-')}"
        self._worker = worker
        self._outcomes: dict[str, set[str]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        if not worker:
            kept.mkdir(parents=True, exist_ok=True)
            # A worker that replaces one that died must leave out the same tests.
            before = self._record.with_name(self._record.name + ".before")
            before.write_text(self._record.read_text() if self._record.exists() else "")
            os.environ[_BEFORE] = str(before)
            os.environ[_BEGAN] = str(time.time())
        self._before = set(Path(os.environ[_BEFORE]).read_text().splitlines())
        limit_s = float(os.environ.get("FRESHLINE_PROOF_S", "inf"))
        self._end_s = float(os.environ[_BEGAN]) + limit_s

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what passed before."""
        passed = [item for item in items if item.nodeid in self._before]
        if passed:
            items[:] = [item for item in items if item.nodeid not in self._before]
            config.hook.pytest_deselected(items=passed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Start nothing once the time is over."""
        if time.time() > self._end_s:
            pytest.skip(OVER)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what passed in all of its phases."""
        if self._worker:
            return
        outcomes = self._outcomes.setdefault(report.nodeid, set())
        outcomes.add(report.outcome)
        self._seconds[_file(report.nodeid)] += report.duration
        if report.when == "teardown" and outcomes == {"passed"}:
            with self._record.open("a") as record:
                print(report.nodeid, file=record)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell what was run, file by file, and what is left."""
        if self._worker:
            return
        ended = {"passed": Counter[str](), "failed": Counter[str](), "skipped": Counter[str]()}
        for test, outcomes in self._outcomes.items():
            worst = next(each for each in ("failed", "skipped", "passed") if each in outcomes)
            ended[worst][_file(test)] += 1
        totals = {outcome: count.total() for outcome, count in ended.items()}
        write = terminalreporter.write_line
        terminalreporter.section(f"proof of {self._code}")
        for file in sorted(self._seconds):
            told = [f"{count[file]} {outcome}" for outcome, count in ended.items() if count[file]]
            write(f"{self._seconds[file]:8.0f} s  {file}: {', '.join(told)}")
        write(
            f"{totals['passed']} passed now, {len(self._before)} passed before,"
            f" {totals['failed']} failed, {totals['skipped']} skipped or left."
        )
        if totals["failed"] + totals["skipped"]:
            write("`make proof` runs what failed, was skipped or was left again.")


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
