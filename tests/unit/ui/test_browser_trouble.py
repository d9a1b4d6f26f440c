"""The page in a real browser where something is wrong: it says so, and fits on the screen."""

from __future__ import annotations

import json
import re
import threading
import time

import pytest

from freshline.client import push
from freshline.ingest.gateway import Gateway
from freshline.project.load import load_project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.store import WantedReport, note, note_wanted
from tests.support.report_play import report_project
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


def test_a_server_that_wants_a_token_is_no_lost_connection(shop, serve, chromium):
    """At first, and when the token that was right is so no longer: the server does answer."""
    refusal = json.dumps({"error": "unauthorized", "message": "a bearer token is required"})

    def refuse(route):
        route.fulfill(status=401, content_type="application/json", body=refusal)

    with serve(shop.project) as ask:
        page = chromium.new_page()
        page.route("**/v1/**", refuse)
        page.goto(ask.url)
        badge = page.locator("[data-connection]")
        expect(badge).to_have_attribute("data-connection", "refused")
        expect(badge).to_have_text("a token is needed")
        with page.expect_response("**/v1/events"):
            pass  # it goes on to ask
        redraw(page)
        expect(badge).to_have_attribute("data-connection", "refused")
        expect(page.get_by_text("does not answer")).to_have_count(0)
        kept(page, "token-needed")
        page.unroute("**/v1/**")
        expect(badge).to_have_attribute("data-connection", "stopped")
        expect(page.get_by_text("A token is needed")).to_have_count(0)
        page.context.close()


@pytest.mark.parametrize("address", ["tables/100%", "tables/%E0%A4%A"])
def test_an_address_that_is_no_text_says_that_there_is_no_such_table(
    shop, serve, chromium, address
):
    with serve(shop.project) as ask:
        page = chromium.new_page()
        page.goto(f"{ask.url}/{address}")
        expect(page.locator('[data-error="unknown-table"]')).to_be_visible()
        page.context.close()


def test_a_report_behind_its_deadline_says_by_how_much(tmp_path, serve, opened):
    project = report_project(tmp_path)
    journal = Journal(journal_path(project), create=True)
    wanted = WantedReport("sales-1", "sales", None, None, 0.0, 1.0, time.time() - 600.0)
    note_wanted(journal, wanted, "live", 0.0)
    note(journal, "sales-1", slack_s=13.0)
    # It was a table before it was a report: as a table it has no page.
    journal.put("tables", {"name": "sales"}, kind="derived", dropped=1)
    journal.close()
    with serve(project) as ask:
        page = opened(f"{ask.url}/reports")
        window = page.locator('tr[data-report="sales-1"]')
        expect(window).to_contain_text("▲ late by 10 min")
        expect(window).to_contain_text("no run")
        expect(window).not_to_contain_text("13 s")
        page.goto(f"{ask.url}/tables")
        expect(row(page, "sales")).to_have_attribute("data-state", "dropped")
        expect(row(page, "sales").get_by_role("link")).to_have_count(0)


def test_a_push_feed_says_when_its_newest_record_came(tmp_path, serve, opened):
    (tmp_path / "freshline.yml").write_text(
        "name: shop\nstorage: warehouse\nlibraries:\n  - glob: {include: tables/*.sql}\n"
        'feeds:\n  clicks: {kind: push, schema: "id BIGINT, at TIMESTAMP", time: at}\n'
        "ingest: {port: 0}\n"
    )
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "pages.sql").write_text(
        "CREATE STREAMING TABLE pages AS SELECT * FROM STREAM clicks;"
    )
    project = load_project(tmp_path, tmp_path)
    gateway = Gateway(project, print)
    gateway.start()
    push(gateway.url, "clicks", [{"id": 1}, {"id": 2}])
    gateway.stop(grace_s=30.0)
    with serve(project) as ask:
        page = opened(f"{ask.url}/feeds")
        expect(page.locator('tr[data-feed="clicks"]')).to_contain_text(re.compile(r"\d s ago"))
    # Another gateway knows the number of the last record, and not when it came.
    gateway = Gateway(project, print)
    gateway.start()
    gateway.stop(grace_s=30.0)
    with serve(project) as ask:
        page = opened(f"{ask.url}/feeds")
        expect(page.locator('tr[data-feed="clicks"]')).to_contain_text("record 2")
