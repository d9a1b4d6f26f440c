"""The page in a real browser where something is wrong: it says so, and fits on the screen."""

from __future__ import annotations

import re
import threading

from tests.support.shop import LiveRun
from tests.unit.ui.browser import IN_A_BROWSER, expect, kept, redraw, row

pytestmark = IN_A_BROWSER


class SecondTry:
    """A gate that lets the first update pass, and holds the second."""

    def __init__(self):
        self._tries = 0
        self.open = threading.Event()

    def wait(self, patience_s):
        self._tries += 1
        return self._tries == 1 or self.open.wait(patience_s)


def test_a_table_that_is_tried_again_is_failing_still(shop, serve, opened):
    gate = shop.executor.gates["big"] = SecondTry()
    shop.executor.failing["big"] = "the disk was full"
    with serve(shop.project) as ask, LiveRun(shop):
        shop.file("orders", 1, [1, 2])
        page = opened(ask.url)
        expect(row(page, "big")).to_have_attribute("data-state", "running")
        expect(row(page, "big").locator(".states")).to_contain_text("✕ failing")
        expect(row(page, "big").locator(".states")).to_contain_text("▶ running")
        expect(page.locator('[data-filter="failing"]')).to_contain_text("1")
        page.goto(f"{ask.url}/tables/big")
        expect(page.locator(".title .states")).to_contain_text("✕ failing")
        page.goto(f"{ask.url}/graph")
        expect(page.locator('.node.failing[data-table="big"]')).to_contain_text("✕ ▶")
        del shop.executor.failing["big"]
        gate.open.set()
        page.goto(ask.url)
        expect(row(page, "big").locator(".states")).not_to_contain_text("failing")


def test_a_network_that_drops_is_told_and_nothing_grows_late_meanwhile(shop, serve, opened):
    """Questions fail while the stream of events stays open: nobody has said that it ended."""
    with serve(shop.project) as ask, LiveRun(shop):
        shop.file("orders", 1, [1, 2])
        page = opened("about:blank")
        page.clock.install()
        page.goto(ask.url)
        expect(page.locator('[data-connection="live"]')).to_be_visible()
        expect(row(page, "big")).to_have_attribute("data-late", "true")
        page.route("**/v1/**", lambda route: route.abort("connectionrefused"))
        page.clock.fast_forward(10_000)
        badge = page.locator('[data-connection="lost"]')
        expect(badge).to_have_text(re.compile(r"connection lost since \d\d:\d\d:\d\d$"))
        since = badge.text_content()[-8:]
        expect(page.get_by_role("alert")).to_have_count(1)
        expect(page.get_by_role("alert")).to_contain_text(f"as of {since} UTC")
        # Ages stand still: nobody knows what happened meanwhile.
        stale_s = row(page, "big").get_attribute("data-staleness-s")
        page.clock.fast_forward(3_600_000)
        redraw(page)
        expect(row(page, "big")).to_have_attribute("data-staleness-s", stale_s)
        kept(page, "dropped")
        # A page that was not seen before says so, too, and comes back like the others.
        page.get_by_role("link", name="Feeds").click()
        expect(page.locator('[data-error="no-answer"]')).to_contain_text("does not answer")
        page.unroute("**/v1/**")
        page.clock.fast_forward(10_000)
        expect(page.locator('[data-connection="live"]')).to_be_visible()
        expect(page.locator("tr[data-feed]")).to_have_count(1)
        expect(page.get_by_role("alert")).to_have_count(0)
