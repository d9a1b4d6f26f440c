"""What is shipped for service managers: how long they wait for a stop, and what they ask."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from freshline.runtime.options import RunOptions

ROOT = Path(__file__).parents[3]
PROBE = re.compile(r"python\"?, \"?-c\"?, \"(.+?)\"\]")
_AROUND_S = 90.0
"""For Spark's end, the server's, lineage and alerts."""


@pytest.mark.parametrize(
    ("file", "limit"),
    [
        ("deploy/freshline@.service", r"^TimeoutStopSec=(\d+)$"),
        ("docs/install.md", r"--stop-timeout (\d+) "),
        ("docs/kubernetes.md", r"terminationGracePeriodSeconds: (\d+) "),
    ],
)
def test_a_stop_has_the_time_that_updates_landing_and_spark_may_take(file, limit):
    (found,) = re.findall(limit, (ROOT / file).read_text(), re.MULTILINE)
    assert float(found) >= 2 * RunOptions().grace_s + _AROUND_S


class _Health(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("file", ["deploy/Dockerfile", "docs/kubernetes.md"])
def test_a_probe_asks_the_run_itself_where_the_environment_names_a_proxy(file):
    (code,) = PROBE.findall((ROOT / file).read_text())
    proxy = "http://127.0.0.1:9"  # nobody listens
    environment = {**os.environ, "http_proxy": proxy, "HTTP_PROXY": proxy, "no_proxy": ""}
    with HTTPServer(("127.0.0.1", 0), _Health) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asked = code.replace("8787", str(server.server_address[1]))
        done = subprocess.run(
            [sys.executable, "-c", asked], env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        server.shutdown()
    assert (done.returncode, done.stderr) == (0, "")
