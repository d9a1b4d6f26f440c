"""The page over `freshline run` with Spark: rows, why as `story` says it, a SIGKILL, the return."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
PROGRAM = [sys.executable, "-m", "freshline"]
PICTURES = Path(__file__).parents[2] / ".cache" / "screenshots"
PATIENCE_S = 540.0

pytestmark = [
    pytest.mark.spark,
    pytest.mark.proof,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: scripts/apt-install chromium"),
]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def running(root, port):
    """`freshline run` as a child that leads its group; killed at the end, JVM and all."""
    process = subprocess.Popen(
        [*PROGRAM, "run", "--project", str(root)], stderr=subprocess.PIPE, process_group=0
    )
    try:
        assert process.stderr is not None
        while f"http://127.0.0.1:{port}".encode() not in process.stderr.readline():
            assert process.poll() is None
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def answer(root, *arguments):
    done = subprocess.run(
        [*PROGRAM, *arguments, "--json", "--project", str(root)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_the_page_over_a_warehouse_that_is_killed_and_comes_back(tmp_path):
    expect = playwright.expect
    expect.set_options(timeout=PATIENCE_S * 1000)
    root, port = tmp_path / "shop", free_port()
    subprocess.run([*PROGRAM, "init", str(root)], check=True, capture_output=True)
    settings = root / "freshline.yml"
    settings.write_text(f"{settings.read_text()}\nserver: {{port: {port}}}\n")
    url = f"http://127.0.0.1:{port}"
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        hosts = set()
        page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
        with running(root, port):
            page.goto(url)
            row = page.locator('tr[data-table="orders"]')
            expect(row).to_have_attribute("data-state", "new")
            generate = [sys.executable, "generate.py", "--files", "5", "--at-once"]
            subprocess.run(generate, cwd=root, check=True, capture_output=True)
            expect(row.locator(".dots .ok")).not_to_have_count(0)
            expect(page.locator('tr[data-table="sales_by_hour"] .dots .ok')).not_to_have_count(0)
            assert answer(root, "status")["server"]["url"] == url
            PICTURES.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=PICTURES / "spark.png")
            update = answer(root, "story", "sales_by_hour")["updates"][-1]
            told = subprocess.run(
                [*PROGRAM, "story", "sales_by_hour", "--last", "1", "--project", str(root)],
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            page.goto(f"{url}/tables/sales_by_hour")
            shown = page.locator(f'.updates tr[data-update="{update["number"]}"]')
            expect(shown).to_have_attribute("data-strategy", update["strategy"])
            shown.get_by_role("button").click()
            for line in told.splitlines():
                expect(page.locator(".why .told")).to_contain_text(line.strip())
        expect(page.locator('[data-connection="lost"]')).to_be_visible()
        assert answer(root, "status")["server"]["url"] is None
        with running(root, port):
            expect(page.locator('[data-connection="live"]')).to_be_visible()
            expect(page.locator("main h1")).to_have_text("sales_by_hour")
        assert hosts == {f"127.0.0.1:{port}"}
        browser.close()
