"""Processor seconds of a process and of what it starts; files in the order of what they cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import costs

BUSY = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_what_a_started_process_used_counts_while_it_runs_and_when_it_has_ended():
    before_s = costs.processor_s()
    with subprocess.Popen(
        [sys.executable, "-c", BUSY + "print(flush=True)\ninput()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        assert costs.processor_s() - before_s >= 0.25
        process.communicate(b"\n")
    assert costs.processor_s() - before_s >= 0.25


def test_files_are_noted_behind_their_last_test(tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "MEASURED", tmp_path / "measured")
    monkeypatch.setattr(costs, "processor_s", iter([1.0, 3.5, 4.0]).__next__)
    one, other = (SimpleNamespace(path=costs.ROOT / "tests" / name) for name in ("a.py", "b.py"))
    protocol: Any = costs.Costs("gw1").pytest_runtest_protocol
    for item, after in ((one, one), (one, other), (other, None)):
        turn = protocol(item, after)
        next(turn)
        with pytest.raises(StopIteration) as end:
            turn.send(True)
        assert end.value.value is True
    assert costs.measured() == {"tests/a.py": 2.5, "tests/b.py": 0.5}


def test_the_dearest_files_come_first_and_unknown_ones_before_them():
    paths = [costs.ROOT / name for name in ("cheap.py", "dear.py", "new.py", "dear.py")]
    items: Any = [SimpleNamespace(path=path) for path in paths]
    costs.dearest_first(items, {"cheap.py": 1.0, "dear.py": 2.0})
    assert [Path(item.path).name for item in items] == ["new.py", "dear.py", "dear.py", "cheap.py"]
