"""The page in a real browser, over warehouses that really run; only Spark is replaced.

Screenshots are kept in ``.cache/screenshots``: look at them after a change.
"""

from __future__ import annotations

import dataclasses
import re
import time
from typing import Any

import pytest

from freshline.executor.explained import keep_explanation
from freshline.ingest.http.auth import new_token
from freshline.project.lags import target_lags
from freshline.project.load import load_project
from freshline.project.model import ServerSettings
from freshline.render.story import told
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.story import story_of
from tests.support.shop import LiveRun, Shop
from tests.unit.cli.conftest import SETTINGS, TABLES
from tests.unit.ui.browser import IN_A_BROWSER, expect, kept, redraw, row
from tests.unit.ui.wrong import found_wrong

VIEWS = ("tables", "tracks", "graph", "feeds", "reports", "guarantees", "what-if")

pytestmark = IN_A_BROWSER


@pytest.fixture
def written(tmp_path):
    """A shop whose project stands in files, as a process that plays its run needs it."""
    (tmp_path / "freshline.yml").write_text(SETTINGS)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "shop.sql").write_text(TABLES)
    return Shop(load_project(tmp_path, tmp_path))


def write_gap(project):
    """A silence of five minutes that has ended, of the first feed: its name."""
    name = next(iter(project.feeds))
    journal = Journal(journal_path(project), create=False)
    now_s = time.time()
    journal.write(
        "INSERT INTO gaps (feed, from_s, to_s) VALUES (?,?,?)", (name, now_s - 900.0, now_s - 600.0)
    )
    journal.close()
    return name


def test_rows_appear_as_a_warehouse_makes_them(shop, serve, opened):
    with serve(shop.project) as ask, LiveRun(shop):
        page = opened(ask.url)
        expect(page.locator('[data-connection="live"]')).to_be_visible()
        expect(row(page, "big")).to_have_attribute("data-state", "new")
        shop.file("orders", 1, [1, 2])
        # Made of data of long ago: late where a target says so, and the page says it without help.
        expect(row(page, "big")).to_have_attribute("data-late", "true")
        expect(row(page, "big")).to_have_attribute("data-target-s", "600")
        expect(row(page, "small")).to_have_attribute("data-late", "false")
        assert float(row(page, "small").get_attribute("data-staleness-s")) > 600
        expect(page.get_by_role("heading", level=1)).to_contain_text("1 of 3 tables late")
        # The reason is that of its slowest ancestor, here and on the table's own page.
        expect(row(page, "big")).to_contain_text("waits for orders: feed orders_feed")
        row(page, "big").get_by_role("link", name="big").click()
        expect(page.locator(".title [data-reason]")).to_contain_text("feed orders_feed")
        page.go_back()
        expect(row(page, "big")).to_be_visible()
        kept(page, "running")


@pytest.mark.usefixtures("unhurried")
def test_a_page_opened_before_a_run_sees_it_however_slow_the_machine_is(shop, serve, opened):
    with serve(shop.project) as ask:
        page = opened(ask.url)
        expect(page.locator('[data-connection="stopped"]')).to_be_visible()
        with LiveRun(shop):
            expect(page.locator('[data-connection="live"]')).to_be_visible()
        expect(page.locator('[data-connection="stopped"]')).to_be_visible()


def test_an_answer_from_before_a_run_began_does_not_hide_it(shop, serve, opened):
    """The answers to two questions come in the other order."""
    held: list[Any] = []

    def hold(route):
        if held:
            route.continue_()
        else:
            held.append(route)
            held.append(route.fetch())

    with serve(shop.project) as ask:
        page = opened("about:blank")
        page.route("**/v1/ui/session", hold)
        page.goto(ask.url)
        expect(page.locator('[data-connection="stopped"]')).to_be_visible()
        with LiveRun(shop):
            expect(page.locator('[data-connection="live"]')).to_be_visible()
            route, before = held
            assert before.json()["now"]["running"] is False
            with page.expect_response("**/v1/ui/session"):
                route.fulfill(response=before)
            redraw(page)
            expect(page.locator('[data-connection="live"]')).to_be_visible()


def test_a_server_of_which_nothing_is_heard_is_shown_as_such(shop, serve, opened):
    """The network is gone and nobody says so: no connection ends."""
    with serve(shop.project) as ask:
        page = opened("about:blank")
        page.clock.install()
        page.goto(ask.url)
        expect(page.locator('[data-connection="stopped"]')).to_be_visible()
        page.route("**/v1/events", lambda _: None)
        page.clock.fast_forward(60_000)
        expect(page.locator('[data-connection="lost"]')).to_be_visible()


TYPED = {"around": "view_3", "tracks": "2", "priority": "5", "target": "5 minutes"}


def test_what_one_types_survives_whatever_happens_meanwhile(recorded, serve, opened):
    """Every field of every page in its turn; the page is drawn again before one is done."""
    token, hashed = new_token()
    project = dataclasses.replace(recorded, server=ServerSettings(port=0, tokens=(hashed,)))
    with serve(project) as ask:
        page = opened(ask.url)
        page.evaluate("token => sessionStorage.setItem('freshline-token', token)", token)
        for address in (*VIEWS, "tables/view_3"):
            page.goto(f"{ask.url}/{address}")
            type_in_every_field(page, address)


def type_in_every_field(page, address):
    expect(page.locator("h1").first).to_be_visible()
    expect(page.locator("[aria-busy]")).to_have_count(0)
    page.get_by_role("button", name="Token given").click()
    if address == "what-if":
        page.get_by_label("A table to change").select_option("view_3")
        page.get_by_role("button", name="Change it").click()
    fields = page.locator("input, select, textarea")
    expect(page.locator("input[name=token]")).to_be_visible()
    names = fields.evaluate_all("fields => fields.map((each) => each.name || each.type)")
    assert "token" in names
    assert len(names) > 1 or address not in ("tables", "graph", "what-if", "tables/view_3")
    for number, name in enumerate(names):
        field = fields.nth(number)
        before = state_of(field)
        if name == "policy":
            field.click()
        elif field.evaluate("field => field.tagName") == "SELECT":
            options = field.locator("option").evaluate_all("all => all.map((o) => o.value)")
            field.select_option(next(each for each in options if each != before[0]))
        else:
            field.fill(TYPED.get(name, "view"))
        typed = state_of(field)
        assert typed != before, (address, name)
        redraw(page)
        assert state_of(field) == typed, (address, name)


def state_of(field):
    return field.evaluate("field => [field.value, Boolean(field.checked)]")


def test_a_table_that_is_paused_on_the_page_says_so(shop, serve, opened):
    token, hashed = new_token()
    project = dataclasses.replace(shop.project, server=ServerSettings(port=0, tokens=(hashed,)))
    with serve(project) as ask, LiveRun(shop):
        shop.recorder.wait_for("ready")
        page = opened(f"{ask.url}/tables/big")
        expect(page.locator("h1")).to_have_text("big")
        expect(page.locator('[data-action="pause"]')).to_have_count(0)
        page.get_by_role("button", name="Enter a token").click()
        page.get_by_label("Token", exact=True).fill(token)
        page.keyboard.press("Enter")
        page.locator('[data-action="pause"]').click()
        expect(page.locator('.title[data-table="big"]')).to_have_attribute("data-state", "paused")
        page.goto(ask.url)
        expect(row(page, "big")).to_have_attribute("data-state", "paused")
        expect(row(page, "big")).to_contain_text("paused")


def test_why_of_a_chosen_update_is_the_story(shop, serve, opened):
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    (chapter,) = story_of(journal, "small", base=False)
    journal.close()
    with serve(shop.project) as ask:
        page = opened(f"{ask.url}/tables/small")
        update = page.locator('.updates tr[data-update="1"]')
        expect(update).to_have_attribute("data-strategy", chapter.strategy)
        update.get_by_role("button").click()
        expect(page.locator("[data-why]")).to_have_attribute("data-why", "running")
        lines = [line.strip() for line in told("small", chapter).splitlines()]
        shown = page.locator(".why .told")
        for line in lines:
            expect(shown).to_contain_text(line)
        # The address brings it back.
        again = opened(page.url)
        expect(again.locator(".why .told")).to_contain_text(lines[-1])


def test_the_card_why_has_the_sign_and_the_word_of_the_state(shop, serve, opened):
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    with serve(shop.project) as ask:
        page = opened(f"{ask.url}/tables/big")
        state = page.locator(".why .lead .state")
        state.wait_for()
        assert state.inner_text().split() == ["\N{EN DASH}", "idle"]


def test_a_feed_whose_folder_cannot_be_listed_says_so(shop, serve, opened):
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    why_not = "[feed-unlisted] feed orders_feed: its folder cannot be listed"
    journal.put("feeds", {"name": "orders_feed"}, last_s=time.time(), error=why_not)
    assert journal.flush()
    journal.close()
    with serve(shop.project) as ask:
        page = opened(f"{ask.url}/feeds")
        line = page.locator('tr[data-feed="orders_feed"]')
        line.wait_for()
        assert why_not in line.inner_text()
        assert line.locator(".state.failing").count() == 1
        assert line.locator(".state.fresh").count() == 0


def test_rows_that_differ_are_shown_with_all_their_digits(shop, serve, opened):
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    found_wrong(shop.project, "small", 2**53 + 1)
    with serve(shop.project) as ask:
        page = opened(f"{ask.url}/tables/small")
        told = page.locator("[data-wrong]")
        told.locator("summary").click()
        assert "9007199254740993" in told.locator("pre").last.inner_text()


def test_a_wrong_view_says_what_was_wrong_and_the_way_out(shop, serve, opened):
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    version, evidence = found_wrong(shop.project, "small", HOSTILE)
    keep_explanation(shop.project, shop.project.table("small"), f"small: full\nmerge: {HOSTILE}\n")
    with serve(shop.project) as ask:
        page = opened(ask.url)
        expect(row(page, "small")).to_have_attribute("data-state", "wrong")
        expect(page.locator("h1").first).to_contain_text("1 table wrong")
        kept(page, "wrong-tables")
        page.locator('[data-filter="wrong"]').click()
        expect(page.locator("tr[data-table]")).to_have_count(1)
        page.get_by_role("link", name="small").first.click()
        told = page.locator(f'[data-wrong="{version}"]')
        expect(told).to_contain_text("1 row missing, 2 extra")
        expect(told).to_contain_text("freshline retry small")
        expect(told).to_contain_text(evidence)
        told.locator("summary").click()
        expect(told.locator("pre").last).to_contain_text("window.hurt")
        page.locator("[data-explained] summary").click()
        expect(page.locator("[data-explained] pre")).to_contain_text(HOSTILE)
        kept(page, "wrong-table")
        page.goto(f"{ask.url}/guarantees")
        expect(page.locator(f'tr[data-table="small"][data-wrong="{version}"]')).to_be_visible()
        assert page.evaluate("window.hurt") is None


def test_a_run_is_played_with_other_targets_and_its_curve_is_drawn(written, serve, opened):
    for minute in (1, 2, 3):
        written.file("orders", minute, [minute])
        written.run_until_idle()
    written.file("orders", 4, [4])
    written.file("orders", 5, [5])
    written.run_until_idle()
    with serve(written.project) as ask:
        page = opened(f"{ask.url}/what-if?policy=edf")
        page.get_by_label("A table to change").select_option("big")
        page.get_by_role("button", name="Change it").click()
        changes = page.locator('[data-change="big"]')
        changes.get_by_label("target").fill("5 minutes")
        changes.get_by_label("target").press("Tab")
        expect(page).to_have_url(re.compile(r"target=big"))
        page.locator("[data-play]").click()
        expect(page.locator('[data-played="1"] tr[data-table="big"]')).to_contain_text(
            "target 5 min"
        )
        kept(page, "what-if-played")
        page.locator("[data-sweep]").click()
        expect(page.locator("[data-swept] polyline")).to_be_attached()
        assert page.locator("[data-swept] tbody tr").count() >= 3
        kept(page, "what-if-swept")
        # The address brings the changes back.
        again = opened(page.url)
        expect(again.locator('[data-change="big"]').get_by_label("target")).to_have_value(
            "5 minutes"
        )


def test_a_kill_is_seen_and_the_page_comes_back(shop, serve, opened):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    with serve(shop.project) as ask:
        port = int(ask.url.rpartition(":")[2])
        page = opened(ask.url)
        expect(page.locator('[data-connection="stopped"]')).to_be_visible()
        with LiveRun(shop):
            expect(page.locator('[data-connection="live"]')).to_be_visible()
        expect(page.locator('[data-connection="stopped"]')).to_be_visible()
    expect(page.locator('[data-connection="lost"]')).to_be_visible()
    expect(page.get_by_role("alert").first).to_contain_text("does not answer")
    expect(row(page, "big")).to_be_visible()  # what it said last
    kept(page, "lost")
    with serve(shop.project, port=port):
        expect(page.locator('[data-connection="stopped"]')).to_be_visible()


def test_filters_and_searches_have_addresses(recorded, serve, opened):
    with serve(recorded) as ask:
        page = opened(ask.url)
        rows = page.locator("tr[data-table]")
        expect(rows).to_have_count(24)
        page.locator('[data-filter="fresh"]').click()
        expect(page).to_have_url(re.compile(r"state=fresh"))
        expect(rows).not_to_have_count(24)
        expect(page.locator('[data-filter="fresh"]')).to_have_attribute("aria-pressed", "true")
        # Without the filter: nothing is updated here, so fresh tables grow late as time passes.
        page.goto(ask.url)
        rows = page.locator("tr[data-table]")
        expect(rows).to_have_count(24)
        page.keyboard.press("/")
        page.keyboard.type("base_")
        expect(page).to_have_url(re.compile(r"q=base_"))
        expect(rows).not_to_have_count(24)
        names = rows.evaluate_all("rows => rows.map((each) => each.dataset.table)")
        assert names
        assert all(name.startswith("base_") for name in names)
        again = opened(page.url)
        expect(again.locator("tr[data-table]")).to_have_count(len(names))


@pytest.mark.parametrize(
    ("scheme", "width"),
    [pytest.param("light", 1280, marks=pytest.mark.proof), ("dark", 1280), ("light", 400)],
)
def test_every_view_is_usable_in_both_themes_and_on_a_phone(recorded, serve, opened, scheme, width):
    silent = write_gap(recorded)
    with serve(recorded) as ask:
        page = opened("about:blank", scheme=scheme, width=width)
        for view in (*VIEWS, "tables/view_3"):
            page.goto(f"{ask.url}/{view}")
            name = "table" if "/" in view else view
            expect(page.locator(f'main[data-page="{name}"]')).to_be_visible()
            expect(page.locator("h1").first).to_be_visible()
            expect(page.locator("[aria-busy]")).to_have_count(0)
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (dark == "rgb(15, 21, 27)") == (scheme == "dark")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
            kept(page, f"{name}-{scheme}-{width}")
            if view == "feeds":
                gaps = page.locator(f'tr[data-feed="{silent}"] [data-gaps]')
                gaps.locator("summary").click()
                expect(gaps.locator("li").first).to_contain_text("5 min")


def test_the_keyboard_is_enough(recorded, serve, opened):
    journal = Journal(journal_path(recorded), create=False)
    for table in recorded.tables:
        bounds = ('{"staleness": 7200.0}', table.name)
        journal.write("INSERT OR REPLACE INTO watched (bounds, name) VALUES (?,?)", bounds)
    journal.close()
    with serve(recorded) as ask:
        page = opened(f"{ask.url}/tracks")
        lanes = page.locator("canvas[aria-label]")
        expect(lanes).to_be_visible()
        lanes.focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("[data-decision]")).to_be_visible()
        page.keyboard.press("1")
        expect(page.locator('main[data-page="tables"]')).to_be_visible()
        page.locator("tr[data-table] a").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator('main[data-page="table"]')).to_be_visible()
        chart = page.locator('.chart[role="img"]')
        assert "target" in chart.get_attribute("aria-label")
        assert "guaranteed bound 2 h" in chart.get_attribute("aria-label")
        expect(page.locator("[data-bound-s]")).to_contain_text("at most 2 h")
        label = chart.get_attribute("aria-label")
        assert chart.locator("canvas").get_attribute("aria-label") == label
        chart.focus()
        page.keyboard.press("ArrowLeft")
        expect(page).to_have_url(re.compile(r"at="))


HOSTILE = (
    "<script>window.hurt=1<\\script><img src=x onerror=window.hurt=1>\"'&`${window.hurt=1}%41?#"
)


def test_names_and_texts_are_text_whatever_they_contain(recorded, serve, opened):
    table = recorded.tables[-1]
    bad = dataclasses.replace(table, name=HOSTILE, query=f"SELECT '{HOSTILE}'", comment=HOSTILE)
    feeds = dict(recorded.feeds)
    base = recorded.tables[0]
    feeds[HOSTILE] = dataclasses.replace(feeds[base.feed], name=HOSTILE)
    project = dataclasses.replace(
        recorded,
        tables=(dataclasses.replace(base, feed=HOSTILE), *recorded.tables[1:-1], bad),
        feeds=feeds,
    )
    assert target_lags(project)
    journal = Journal(journal_path(project), create=False)
    for name in ("tables", "updates"):
        column = "name" if name == "tables" else "table_name"
        journal.write(f"UPDATE {name} SET {column}=? WHERE {column}=?", (HOSTILE, table.name))
    journal.write(
        "UPDATE tables SET error=?, failures=1, retry_s=1 WHERE name=?", (HOSTILE, HOSTILE)
    )
    journal.write("UPDATE updates SET reason=?, score=?, error=?", (HOSTILE, HOSTILE, HOSTILE))
    journal.write(
        "INSERT INTO files (table_name, name, state, reason) VALUES (?,?,'quarantined',?)",
        (base.name, HOSTILE, HOSTILE),
    )
    journal.close()
    with serve(project) as ask:
        page = opened(ask.url)
        expect(page.get_by_text(HOSTILE).first).to_be_visible()
        page.get_by_role("link", name=HOSTILE).first.click()
        expect(page.locator("main h1")).to_have_text(HOSTILE)
        expect(page.locator("[data-sql]")).to_contain_text(HOSTILE)
        page.locator(".updates [data-update] button").first.click()
        expect(page.locator(".why .told")).to_contain_text(HOSTILE)
        for view in ("feeds", "graph", "tracks"):
            page.goto(f"{ask.url}/{view}")
            expect(page.locator("main h1").first).to_be_visible()
            expect(page.locator("[aria-busy]")).to_have_count(0)
            if view == "feeds":
                page.locator("summary.bad-text").first.click()
                expect(page.locator("code", has_text=HOSTILE).first).to_be_visible()
        assert page.evaluate("window.hurt") is None
        assert page.locator("img[src=x]").count() == 0
