"""Seconds until a view is there, in Chromium, over a journal of 500 tables and 50,000 updates."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

from benchmarks.common.children import answer, child
from tests.unit.ui.journals import write_journal, write_project

TABLES, UPDATES = 500, 50_000
_VIEWS = (
    ("tables", "tr[data-table]"),
    ("tables/view_399", ".chart canvas"),
    ("tracks", ".lanes canvas"),
    ("graph", ".node"),
    ("feeds", "tr[data-feed]"),
)
_WATCH = """
  window.shown = 0;
  new MutationObserver(() => {
    const shown = document.querySelectorAll(SELECTOR).length;
    if (shown === window.shown) return;
    window.shownAt ??= performance.now();
    window.wholeAt = performance.now();
    window.shown = shown;
  }).observe(document, { childList: true, subtree: true });
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """One view.

    Attributes:
        view: Its address.
        first_s: From the navigation until its content is there, of the first time of all: the
            server computes every answer.
        usual_s: The same, the median of the others; the browser's cache is always empty.
        whole_s: Until the last row is there, the median: those in view come first.
    paint_s: Until anything is painted (first contentful paint), the median.
        largest_bytes: Of the answers that it asked for.
    """

    view: str
    first_s: float
    usual_s: float
    whole_s: float
    paint_s: float
    largest_bytes: int


def shown(rounds: int) -> list[Shown]:
    """Every view, opened that often; the server starts afresh for each view."""
    chromium = shutil.which("chromium")
    assert chromium is not None, "scripts/apt-install chromium"
    found = []
    with TemporaryDirectory() as folder, sync_playwright() as running:
        root = Path(folder)
        write_journal(write_project(root, TABLES), UPDATES, time.time())
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        command = [sys.executable, "-m", "freshline", "ui", "--port", "0", "--json"]
        for view, selector in _VIEWS:
            log = root / "ui.log"
            with child([*command, "--project", str(root)], log=log) as server:
                lines = ""
                while not lines.rstrip().endswith("}"):  # one object, over several lines
                    lines += answer(server, log)
                url = json.loads(lines)["url"]
                found.append(_measured(browser, url, view, selector, rounds))
                server.terminate()
        browser.close()
    return found


def _measured(browser: Browser, url: str, view: str, selector: str, rounds: int) -> Shown:
    times_s: list[float] = []
    wholes_s: list[float] = []
    paints_s: list[float] = []
    sizes: list[int] = []
    for _ in range(rounds):
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.add_init_script(_WATCH.replace("SELECTOR", json.dumps(selector)))
        page.on(
            "response",
            lambda reply: (
                sizes.append(int(reply.headers.get("content-length", 0)))
                if "/v1/" in reply.url
                else None
            ),
        )
        page.goto(f"{url}/{view}")
        # Not wait_for_function: the page's policy forbids to evaluate text within it.
        while (shown_ms := page.evaluate("window.shownAt ?? null")) is None:
            page.wait_for_timeout(20)
        rows = -1
        while (now := page.evaluate("window.shown")) != rows:
            rows = now
            page.wait_for_timeout(300)
        times_s.append(shown_ms / 1000.0)
        wholes_s.append(page.evaluate("window.wholeAt") / 1000.0)
        paints_s.append(
            page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            / 1000.0
        )
        context.close()
    return Shown(
        view,
        times_s[0],
        median(_others(times_s)),
        median(_others(wholes_s)),
        median(paints_s),
        max(sizes),
    )


def _others(values: Sequence[float]) -> Sequence[float]:
    return values[1:] or values
