"""What tests of the page share: a real browser, and where to look in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
expect.set_options(timeout=120_000)  # only what is broken waits so long

CHROMIUM = shutil.which("chromium")
PICTURES = Path(__file__).parents[3] / ".cache" / "screenshots"

IN_A_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: scripts/apt-install chromium"),
]


def row(page, name):
    return page.locator(f'[data-page="tables"] tr[data-table="{name}"]')


def kept(page, name):
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")


def redraw(page):
    """Have the page drawn again, as every event and every answer has it."""
    page.evaluate(
        """async () => {
            document.dispatchEvent(new Event("visibilitychange"));
            for (let drawn = 0; drawn < 2; drawn += 1) await new Promise(requestAnimationFrame);
        }"""
    )
