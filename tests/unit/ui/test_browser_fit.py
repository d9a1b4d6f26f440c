"""What is shown fits on the screen, however long a name is: in a real browser."""

from __future__ import annotations

import dataclasses
import json
import time
from itertools import combinations

import pytest

from freshline.core.assembly import SchedulerSettings
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from tests.support.shop import made_shop
from tests.unit.ui.browser import IN_A_BROWSER, expect, kept

pytestmark = IN_A_BROWSER

LONG = "W" * 200
PAGES = ("tables", "tracks", "graph", "feeds", "guarantees", "what-if", f"tables/{LONG}")


@pytest.fixture
def long_named(recorded):
    """The last view has a name of 200 wide letters, and every table a bound."""
    table = recorded.tables[-1]
    journal = Journal(journal_path(recorded), create=False)
    journal.write("UPDATE tables SET name=? WHERE name=?", (LONG, table.name))
    # It waits, while others are chosen.
    journal.write("UPDATE tables SET since_s=? WHERE name=?", (time.time() - 60.0, LONG))
    journal.write("UPDATE updates SET table_name=? WHERE table_name=?", (LONG, table.name))
    for each in (*recorded.tables[:-1], dataclasses.replace(table, name=LONG)):
        bounds = ('{"staleness": 7200.0}', each.name)
        journal.write("INSERT OR REPLACE INTO watched (bounds, name) VALUES (?,?)", bounds)
    journal.close()
    return dataclasses.replace(
        recorded, tables=(*recorded.tables[:-1], dataclasses.replace(table, name=LONG))
    )


def outcome(tracks, executor_s):
    table = {"mean": 12.0, "max": 30.0, "target_lag": 60.0}
    return {
        "policy": "edf", "tracks": tracks, "objective": "staleness", "weighted_staleness": 1.0,
        "within": 1.0, "executor_seconds": executor_s, "updates": 9,
        "tables": {"view_1": table, LONG: table},
    }  # fmt: skip


def play(page, cost_s=180.0):
    """Have the page show what was played; that it is played is another test's."""
    answer = {
        "happened": outcome(3, cost_s),
        "played": [outcome(1, cost_s / 4), outcome(2, cost_s / 2)],
        "notes": [],
        "priorities": {LONG: 3.0},
    }
    page.route(
        "**/v1/ui/what-if?*",
        lambda route: route.fulfill(content_type="application/json", body=json.dumps(answer)),
    )
    page.locator("[data-play]").click()
    expect(page.locator("[data-played]")).to_be_visible()


def beyond(page, width):
    """Where the fields end that leave the screen."""
    return page.locator("input, select, button:visible").evaluate_all(
        "(all, width) => all.map((each) => each.getBoundingClientRect().right)"
        ".filter((right) => right > width)",
        width,
    )


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.proof), 400])
def test_a_name_of_200_letters_fits_on_every_page(long_named, serve, opened, width):
    with serve(long_named) as ask:
        page = opened("about:blank", width=width)
        for number, address in enumerate(PAGES):
            page.goto(f"{ask.url}/{address}")
            expect(page.locator("h1").first).to_be_visible()
            expect(page.locator("[aria-busy]")).to_have_count(0)
            if address == "what-if":
                page.get_by_label("A table to change").select_option(LONG)
                assert beyond(page, width) == []
                page.get_by_role("button", name="Change it").click()
                page.get_by_label("A table to change").select_option("view_1")
                play(page)
            kept(page, f"long-{number}-{width}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
            assert beyond(page, width) == [], address
            if width == 1280 and address != f"tables/{LONG}":
                over = page.locator(".scroller").evaluate_all(
                    "all => all.map((each) => each.scrollWidth - each.clientWidth)"
                )
                assert max(over, default=0) <= 0, address


def test_an_axis_of_times_has_one_unit(recorded, serve, opened):
    with serve(recorded) as ask:
        page = opened(f"{ask.url}/what-if")
        for cost_s, marks in (
            (90.0, ["0 s", "50 s", "100 s"]),
            (180.0, ["0 min", "1 min", "2 min", "3 min"]),
            (5 * 3600.0, ["0 h", "2 h", "4 h"]),
        ):
            play(page, cost_s)
            expect(page.locator("[data-axis=x]")).to_have_text(marks)


WRITTEN = """() => {
    const write = CanvasRenderingContext2D.prototype.fillText;
    window.written = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
        const at = this.getTransform().transformPoint(new DOMPoint(x, y));
        const wide = this.measureText(text).width;
        if (this.textAlign === "center") window.written.push([at.y, at.x, wide, text]);
        return write.call(this, text, x, y, ...rest);
    };
}"""
"""From now on the page notes what is written below a chart: height, middle, width, text."""

DRAWN = """async () => {
    while (window.written.length < 2) await new Promise(requestAnimationFrame);
    return window.written.splice(0);
}"""


def test_the_times_below_a_chart_are_apart(recorded, serve, opened):
    now_s = time.time()
    with serve(recorded) as ask:
        page = opened(f"{ask.url}/tables/view_1")
        for span_s in (20, 180, 240, 600, 3600, 36_000, 86_400, 7 * 86_400, 30 * 86_400):
            page.goto(f"{ask.url}/tables/view_1?from={now_s - span_s:.0f}&to={now_s:.0f}")
            expect(page.locator(".chart canvas")).to_be_visible()
            page.evaluate(WRITTEN)
            for width in (1200, 480):
                page.set_viewport_size({"width": width, "height": 800})
                written = {tuple(each) for each in page.evaluate(DRAWN)}
                for one, other in combinations(written, 2):
                    if one[0] == other[0] and one[3] != other[3]:
                        apart = abs(one[1] - other[1]) - (one[2] + other[2]) / 2
                        assert apart >= 6, (span_s, width, one, other)


def test_a_name_in_the_graph_stays_in_its_box(long_named, serve, opened):
    with serve(long_named) as ask:
        page = opened(f"{ask.url}/graph")
        title = page.locator(f'.node[data-table="{LONG}"] .title')
        expect(title).to_contain_text("W…")
        widths = page.locator(".node").evaluate_all(
            "all => all.map((each) => [each.querySelector('.title').getBBox(),"
            " each.querySelector('rect').getBBox()].map((box) => box.x + box.width))"
        )
        assert all(text <= box for text, box in widths)
        expect(page.locator('.node[data-table="view_1"] .title')).to_have_text("view_1")


def test_the_page_that_is_open_is_in_view_on_a_phone(recorded, serve, opened):
    with serve(recorded) as ask:
        page = opened(f"{ask.url}/guarantees", width=400)
        expect(page.locator("h1")).to_be_visible()
        open_page = page.locator("nav a[aria-current]")
        expect(open_page).to_have_text("Guarantees")
        expect(open_page).to_be_in_viewport(ratio=1)
        open_page.locator("xpath=..").get_by_text("What if").click()
        expect(page.locator("nav a[aria-current]")).to_have_text("What if")
        expect(page.locator("nav a[aria-current]")).to_be_in_viewport(ratio=1)


def test_the_tables_are_no_wider_than_the_screen(recorded, serve, opened):
    with serve(recorded) as ask:
        page = opened("about:blank")
        for width in (400, 768):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(f"{ask.url}/tables")
            expect(page.locator("[aria-busy]")).to_have_count(0)
            expect(page.locator("tr[data-table]").first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_name_of_a_long_feed_fits_on_a_narrow_screen(tmp_path, serve, opened):
    shop = made_shop(tmp_path, {LONG: ()}, SchedulerSettings(tracks=1))
    shop.file(LONG, 1, [1])
    shop.run_until_idle()
    with serve(shop.project) as ask:
        page = opened(f"{ask.url}/tables/{LONG}", width=320)
        expect(page.get_by_text(f"feed {LONG}_feed").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 320
