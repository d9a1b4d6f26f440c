"""Take the picture of the web page in README.md: a shop of twelve tables, one of whose feeds ends.

``.venv/bin/python -m scripts.draw_page [--minutes 5]`` runs the shop with Spark that long, while
files arrive in its four feeds, and in one of them for the first half alone. It writes
docs/page.png: all tables, and the view that is late for it.
"""

from __future__ import annotations

import argparse
import base64
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "page.png"
_WIDE, _TABLES_HIGH, _TABLE_HIGH = 1200, 560, 470

_SETTINGS = """\
name: shop
storage: warehouse
libraries: [{glob: {include: tables/*.sql}}]
spark: {master: "local[2]"}
scheduler: {tracks: 3, policy: max-benefit}
server: {port: 0}
feeds:
"""
_FEEDS = {
    "orders": (5, 400, "id BIGINT, at TIMESTAMP, customer INT, product INT, amount INT"),
    "clicks": (5, 800, "id BIGINT, at TIMESTAMP, customer INT, page INT, amount INT"),
    "payments": (10, 200, "id BIGINT, at TIMESTAMP, customer INT, card INT, amount INT"),
    "returns": (10, 50, "id BIGINT, at TIMESTAMP, customer INT, product INT, amount INT"),
}
"""Period in seconds, rows of a file, columns."""

_SILENT, _LATE = "returns", "return_rate"
"""The feed that ends, and the view of it that is shown."""

_MINUTE = "date_trunc('MINUTE', at) AS minute"
_VIEWS = (
    ("sales_by_minute", 5, "30 seconds",
     f"SELECT {_MINUTE}, count(*) AS n, sum(amount) AS amount FROM orders GROUP BY 1"),
    ("fraud_watch", 9, "30 seconds",
     ("SELECT p.customer, count(*) AS n, sum(p.amount) AS paid, max(o.amount) AS most"
     " FROM payments p JOIN orders o ON p.customer = o.customer GROUP BY p.customer")),
    ("best_products", 1, "10 minutes",
     ("SELECT product, sum(amount) AS amount, rank() OVER (ORDER BY sum(amount) DESC) AS place"
     " FROM orders GROUP BY product")),
    ("clicks_by_page", 2, "60 seconds", "SELECT page, count(*) AS n FROM clicks GROUP BY page"),
    ("conversion", 3, "60 seconds",
     ("SELECT c.customer, count(DISTINCT c.page) AS pages, count(DISTINCT o.id) AS orders"
     " FROM clicks c JOIN orders o ON c.customer = o.customer GROUP BY c.customer")),
    ("card_use", 1, "5 minutes",
     "SELECT card, count(*) AS n, sum(amount) AS amount FROM payments GROUP BY card"),
    ("return_rate", 4, "60 seconds",
     "SELECT product, count(*) AS n, sum(amount) AS amount FROM returns GROUP BY product"),
    ("top_hours", 1, "1 hour",
     ("SELECT date_trunc('HOUR', minute) AS hour, sum(n) AS n, sum(amount) AS amount"
     " FROM sales_by_minute GROUP BY 1")),
)  # fmt: skip


def main() -> None:
    """Run the shop, and take the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    minutes = parser.parse_args().minutes
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("no chromium: scripts/apt-install chromium")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        root = Path(folder)
        _write(root)
        with _fed(root, minutes * 30.0), _running(root) as url:
            started_s = time.time()
            time.sleep(minutes * 60.0)
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            _draw(browser, url, started_s + minutes * 15.0)
            browser.close()
    print(f"wrote {PICTURE}")


def _write(root: Path) -> None:
    (root / "tables").mkdir()
    feeds = "".join(
        f'  {name}_feed: {{kind: files, path: feed/{name}, format: csv, schema: "{columns}",'
        f" period: {period_s} seconds}}\n"
        for name, (period_s, _, columns) in _FEEDS.items()
    )
    (root / "freshline.yml").write_text(_SETTINGS + feeds)
    statements = [
        f"CREATE STREAMING TABLE {name} TBLPROPERTIES ('freshline.target_lag' = '60 seconds')"
        f" AS SELECT * FROM STREAM {name}_feed;"
        for name in _FEEDS
    ]
    statements += [
        f"CREATE MATERIALIZED VIEW {name} TBLPROPERTIES ('freshline.priority' = '{priority}',"
        f" 'freshline.target_lag' = '{lag}') AS {query};"
        for name, priority, lag, query in _VIEWS
    ]
    (root / "tables" / "shop.sql").write_text("\n".join(statements))


@contextmanager
def _fed(root: Path, silent_after_s: float) -> Iterator[None]:
    """Files arrive in every feed, each at its period; in one for so many seconds alone."""
    stopped, silent = threading.Event(), threading.Event()
    ends = {_SILENT: silent}
    threads: list[threading.Thread] = [
        threading.Thread(target=_feed, args=(root, name, ends.get(name, stopped)))
        for name in _FEEDS
    ]
    timer = threading.Timer(silent_after_s, silent.set)
    for thread in (*threads, timer):
        thread.start()
    try:
        yield
    finally:
        timer.cancel()
        for event in (stopped, silent):
            event.set()
        for thread in threads:
            thread.join()


def _feed(root: Path, name: str, stopped: threading.Event) -> None:
    period_s, rows, _ = _FEEDS[name]
    chance = random.Random(name)
    folder = root / "feed" / name
    folder.mkdir(parents=True)
    number = 0
    while not stopped.is_set():
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        lines = [
            f"{number * rows + row},{at},{chance.randrange(300)},{chance.randrange(20)},"
            f"{chance.randrange(1, 100)}\n"
            for row in range(rows)
        ]
        written = folder / f".{number}"
        written.write_text("".join(lines))
        written.rename(folder / f"{number}.csv")
        number += 1
        stopped.wait(period_s)


@contextmanager
def _running(root: Path) -> Iterator[str]:
    """`freshline run` of the shop; the address of its page."""
    command = [sys.executable, "-m", "freshline", "run", "--project", str(root)]
    environment = {"SPARK_LOCAL_IP": "127.0.0.1"} | dict(os.environ)
    with (root / "run.log").open("w") as log:
        process = subprocess.Popen(command, stderr=log, env=environment, start_new_session=True)
    try:
        while "web page: " not in (told := (root / "run.log").read_text()):
            if process.poll() is not None:
                sys.exit(told)
            time.sleep(0.5)
        yield told.partition("web page: ")[2].split()[0]
    finally:
        process.terminate()
        try:
            process.wait(60.0)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _draw(browser: Browser, url: str, from_s: float) -> None:
    """The list of all tables above the page of the late view, from a time on."""
    page = _opened(browser, _TABLES_HIGH)
    window = f"from={datetime.fromtimestamp(from_s, UTC):%Y-%m-%dT%H:%M:%SZ}"
    page.goto(f"{url}/tables?{window}")
    page.locator("tr[data-table]").first.wait_for()
    tables = page.screenshot()
    page.set_viewport_size({"width": _WIDE, "height": 1200})
    page.goto(f"{url}/tables/{_LATE}?{window}")
    page.locator(".chart canvas").wait_for()
    page.wait_for_timeout(500)  # the chart is drawn once its width is known
    box = page.locator(".title").bounding_box()
    assert box is not None
    clip = {"x": 0, "y": box["y"] - 10, "width": _WIDE, "height": _TABLE_HIGH}
    table = page.screenshot(clip=clip)  # type: ignore[arg-type]
    both = _opened(browser, _TABLES_HIGH + _TABLE_HIGH)
    images = "".join(
        f'<img style="display:block" src="data:image/png;base64,{base64.b64encode(each).decode()}">'
        for each in (tables, table)
    )
    both.set_content(f'<body style="margin:0">{images}')
    both.screenshot(path=PICTURE)


def _opened(browser: Browser, height: int) -> Page:
    context = browser.new_context(viewport={"width": _WIDE, "height": height}, color_scheme="light")
    return context.new_page()


if __name__ == "__main__":
    main()
