"""Landing stopped: memory stays within M and 64 MB, however much is pushed."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

_MEMORY_BYTES = 8_000_000
_SLACK_BYTES = 64_000_000
_PUSHED_BYTES = 160_000_000
_REQUEST_BYTES = 100_000
"""Three quarters of it are left when it is compressed."""


def resident_bytes(name: str) -> int:
    """VmRSS or VmHWM of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise AssertionError(name)


def life(folder: Path) -> dict[str, int]:
    """Push twenty times the memory while the feed's folder cannot be made."""
    from tests.ingest.pushing import batch, engine

    (folder / "landed").mkdir(parents=True)
    (folder / "landed" / "clicks").write_text("in the way")
    gateway = engine(folder, memory_bytes=_MEMORY_BYTES, segment_bytes=8 << 20)
    gateway.start()
    gateway.submit(batch("clicks", "a", 0), None).result()
    before = resident_bytes("VmRSS")

    def push(number: int) -> None:
        padding = base64.b64encode(os.urandom(_REQUEST_BYTES * 3 // 8)).decode()
        gateway.submit(batch("clicks", "a", number, 2, padding), None).result()

    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(push, range(_PUSHED_BYTES // _REQUEST_BYTES)):
            pass
    grown = resident_bytes("VmHWM") - before
    peak = gateway.metrics().memory_peak_bytes
    (folder / "landed" / "clicks").unlink()
    landed = gateway.drain(120)
    again = resident_bytes("VmHWM") - before
    metrics = gateway.metrics()
    gateway.close()
    return {
        "grown": grown,
        "peak": peak,
        "landed": metrics.feeds["clicks"].landed_records if landed else -1,
        "grown_landing": again,
        "writes": metrics.writes,
        "rewritten": metrics.rewritten_bytes,
    }


@pytest.mark.slow
def test_memory_is_bounded_while_landing_is_stopped_and_while_it_catches_up(tmp_path):
    # A process of its own: the highest it ever was must be its alone.
    command = [sys.executable, "-m", "tests.ingest.test_memory", str(tmp_path / "ingest")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["landed"] == 1 + 2 * (_PUSHED_BYTES // _REQUEST_BYTES)
    assert report["writes"] > 0
    assert report["rewritten"] == 0
    assert report["peak"] <= _MEMORY_BYTES
    assert report["grown"] <= _MEMORY_BYTES + _SLACK_BYTES
    assert report["grown_landing"] <= _MEMORY_BYTES + _SLACK_BYTES


if __name__ == "__main__":
    sys.stdout.write(json.dumps(life(Path(sys.argv[1]))))
