"""A proof that was stopped goes on: what passed for the same code is left out, the rest is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.resuming import ROOT, state_of_the_code

pytestmark = pytest.mark.slow

CONFTEST = """
import os
from pathlib import Path
from tests.support.resuming import Resuming

def pytest_configure(config):
    kept, code = Path({folder!r}) / "kept", os.environ["CODE"]
    worker = "PYTEST_XDIST_WORKER" in os.environ
    config.pluginmanager.register(Resuming(kept, code, "2/8", worker=worker))
"""
TESTS = """
import os
import pytest

def test_right():
    pass

def test_mended():
    assert "MENDED" in os.environ

def test_without_its_tool():
    pytest.skip("no tool")
"""


def _environment() -> dict[str, str]:
    """That of a shell: this test may run in a worker, and the process that it starts is none."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_XDIST")}


@pytest.fixture
def prove(tmp_path: Path):
    """Runs three tests, and returns what is told at the end."""
    (tmp_path / "conftest.py").write_text(CONFTEST.format(folder=str(tmp_path)))
    (tmp_path / "test_it.py").write_text(TESTS)

    def run(*arguments: str, **environment: str) -> list[str]:
        done = subprocess.run(
            [
                sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                # Plugins that take seconds to load, and that these tests do not need.
                "-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:playwright",
                "-c", os.devnull, f"--rootdir={tmp_path}", str(tmp_path), *arguments,
            ],
            cwd=ROOT,
            env={**_environment(), "CODE": "abc", **environment},
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        _, proof, told = done.stdout.partition("proof of ")
        assert proof, done.stdout + done.stderr
        lines = [re.sub(r"^ +\d+ s  ", "", line) for line in told.splitlines()[1:]]
        # What comes behind is pytest's own.
        return [line for line in lines if line.startswith("test_it.py") or line.endswith(".")]

    return run


AGAIN = "`make proof` runs what failed, was skipped or was left again."


def test_what_passed_is_left_out_until_the_code_changes(prove):
    assert prove() == [
        "test_it.py: 1 passed, 1 failed, 1 skipped",
        "1 passed now, 0 passed before, 1 failed, 1 skipped or left.",
        AGAIN,
    ]
    # Workers leave out the same tests as the process that starts them.
    assert prove("-n", "1", MENDED="yes") == [
        "test_it.py: 1 passed, 1 skipped",
        "1 passed now, 1 passed before, 0 failed, 1 skipped or left.",
        AGAIN,
    ]
    assert prove(CODE="def", MENDED="yes")[1] == (
        "2 passed now, 0 passed before, 0 failed, 1 skipped or left."
    )


def test_nothing_is_started_once_the_time_is_over(prove):
    assert prove(FRESHLINE_PROOF_S="-1")[1:] == [
        "0 passed now, 0 passed before, 0 failed, 3 skipped or left.",
        AGAIN,
    ]


def test_the_code_is_known_by_its_commit():
    assert re.fullmatch(r"[0-9a-f]{12}(-[0-9a-f]{8})?", state_of_the_code())
