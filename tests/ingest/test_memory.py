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
    from tests.support.pushing import batch, engine

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


_RECORDS = 15_000
_CLIENTS = 8
_POSTS = 6
"""Of each client: enough for what is freed to be kept, were it kept."""


def served_life(root: Path) -> dict[str, int]:
    """Push JSON by HTTP from eight clients at once, as fast as it is taken."""
    from freshline.ingest.gateway import Gateway
    from freshline.project.load import load_project

    (root / "t.sql").write_text("CREATE STREAMING TABLE t AS SELECT * FROM STREAM clicks")
    (root / "freshline.yml").write_text(
        "name: s\nstorage: w\nlibraries: [{glob: {include: '*.sql'}}]\nserver: {port: 0}\n"
        f"ingest: {{memory: {_MEMORY_BYTES // 1_000_000} MB}}\n"
        "feeds: {clicks: {kind: push, schema: 'id BIGINT, name STRING, price DOUBLE'}}\n"
    )
    gateway = Gateway(load_project(root), print)
    gateway.start()
    clients = subprocess.Popen(
        [sys.executable, "-c", _PUSHING, gateway.url, str(_RECORDS), str(_CLIENTS), str(_POSTS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert clients.stdin is not None
    assert clients.stdout is not None
    clients.stdout.readline()  # one was pushed: what is loaded for the first one is loaded
    before = resident_bytes("VmRSS")
    clients.stdin.close()
    pushed = int(clients.stdout.read())
    clients.wait()
    grown = resident_bytes("VmHWM") - before
    gateway.stop(0.0)
    return {"grown": grown, "pushed": pushed}


_PUSHING = """
import http.client, json, sys, threading
from urllib.parse import urlsplit

url, records, clients, posts = sys.argv[1], *map(int, sys.argv[2:])
lines = [json.dumps({"id": i, "name": f"customer number {i}", "price": i * 0.5})
         for i in range(records)]
stored = []


def push(times, body):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=300)
    while times:
        connection.request("POST", "/v1/feeds/clicks", body,
                           {"content-type": "application/x-ndjson"})
        answer = connection.getresponse()
        answer.read()
        if answer.status == 200:
            times -= 1
            stored.append(body.count(b"}"))


push(1, lines[0].encode())
print(flush=True)
sys.stdin.read()
threads = [threading.Thread(target=push, args=(posts, "\\n".join(lines).encode()))
           for _ in range(clients)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(stored))
"""


@pytest.mark.slow
def test_memory_is_bounded_while_many_clients_push_large_bodies(tmp_path):
    command = [sys.executable, "-m", "tests.ingest.test_memory", str(tmp_path), "served"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout.splitlines()[-1])
    assert report["pushed"] == 1 + _RECORDS * _CLIENTS * _POSTS
    assert report["grown"] <= _MEMORY_BYTES + _SLACK_BYTES


if __name__ == "__main__":
    lived = served_life if sys.argv[2:] == ["served"] else life
    sys.stdout.write(json.dumps(lived(Path(sys.argv[1]))))
