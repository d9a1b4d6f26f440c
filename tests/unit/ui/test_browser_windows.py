"""Windows, moments and many tables in the address: in a real browser."""

from __future__ import annotations

import re

from freshline.ui.views import overview
from tests.unit.ui.browser import IN_A_BROWSER, expect

pytestmark = IN_A_BROWSER


def test_zooming_out_and_in_ends_where_the_server_has_no_window(recorded, serve, opened):
    with serve(recorded) as ask:
        page = opened(f"{ask.url}/tables?range=7d")
        rows = page.locator("tr[data-table]")
        expect(rows).to_have_count(24)
        for _ in range(4):
            page.get_by_role("button", name="Zoom out").click()
        expect(page).to_have_url(re.compile(r"from="))
        expect(page.locator("[aria-busy]")).to_have_count(0)
        expect(rows).to_have_count(24)
        for _ in range(26):
            page.get_by_role("button", name="Zoom in").click()
        page.wait_for_timeout(500)
        expect(rows).to_have_count(24)
        expect(page.get_by_role("alert")).to_have_count(0)


def test_a_search_finds_tables_of_other_pages(recorded, serve, opened, monkeypatch):
    monkeypatch.setattr(overview, "MOST_BYTES", 6_000)
    with serve(recorded) as ask:
        page = opened(f"{ask.url}/tables")
        rows = page.locator("tr[data-table]")
        expect(page.get_by_role("button", name="More tables")).to_be_visible()
        shown = rows.evaluate_all("rows => rows.map((each) => each.dataset.table)")
        other = next(each.name for each in recorded.tables if each.name not in shown)
        page.get_by_label("Search tables").fill(other.upper())
        expect(page.locator(f'tr[data-table="{other}"]')).to_be_visible()


def test_a_clock_that_was_set_is_noticed_and_a_slow_answer_is_none(recorded, serve, opened):
    with serve(recorded) as ask:
        page = opened(ask.url)
        expect(page.locator("[aria-busy]")).to_have_count(0)
        noticed = page.evaluate(
            """async () => {
                const { view } = await import("/assets/api.js");
                const [fetched, spent] = [window.fetch, performance.now.bind(performance)];
                let [noticed, aheadS, tookS, pastS] = [0, 0, 0, 0];
                addEventListener("clock", () => (noticed += 1));
                performance.now = () => spent() + pastS * 1000;
                window.fetch = async (path, options) => {
                    if (path !== "/dated") return fetched(path, options);
                    pastS += tookS;
                    const date = new Date(Date.now() + (aheadS - tookS) * 1000).toUTCString();
                    return new Response("", { headers: { date } });
                };
                const found = [];
                for ([aheadS, tookS] of [[0, 0], [0, 10], [0, 0], [3600, 0]]) {
                    await view("/dated");
                    found.push(noticed);
                }
                return found;
            }"""
        )
    assert noticed == [0, 0, 0, 1]


def test_a_moment_without_a_zone_is_utc(recorded, serve, opened):
    with serve(recorded) as ask:
        page = opened(ask.url)
        read = page.evaluate(
            """async () => {
                const { epoch } = await import("/assets/format.js");
                return ["2026-01-31T08:00:00", "2026-01-31 08:00", "2026-01-31T08:00:00.5Z",
                    "2026-01-31T10:00:00 02:00", "1769846400", "2026-01-31"].map(epoch);
            }"""
        )
    at_s = 1769846400
    assert read == [at_s, at_s, at_s + 0.5, at_s, at_s, at_s - 8 * 3600]
