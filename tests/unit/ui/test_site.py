"""Which request is answered by what, and who may ask."""

from __future__ import annotations

import dataclasses
import re

import pytest

from freshline.ingest.http.auth import new_token
from freshline.project.model import ServerSettings
from freshline.render.status import status_record
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.ui.access import Access
from freshline.ui.page import ASSETS
from freshline.ui.pulse import Pulse
from freshline.ui.reads.reading import Reader
from freshline.ui.serving import address_of, stop
from freshline.ui.site import Site
from freshline.ui.views import status
from tests.support.shop import Shop, made_project
from tests.unit.ui.conftest import Client


@pytest.fixture
def shop(tmp_path):
    return Shop(made_project(tmp_path, {"orders": (), "big": ("orders",)}))


@pytest.fixture
def loaded(shop):
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    return shop


def test_a_project_that_never_ran_is_shown(shop, serve):
    with serve(shop.project) as ask:
        found = ask("/v1/status")
        assert found.status == 200
        assert found.json["note"].startswith("nothing is known yet")
        assert [each["name"] for each in found.json["tables"]] == ["orders", "big"]
        assert found.json["next"] is None
        assert ask("/v1/tables/big").json["state"] == "new"


def test_lists_of_the_status_that_are_cut_are_named(shop, serve, monkeypatch):
    told = status_record

    def many(found):
        return told(found) | {"feeds": [{"name": f"f{number}"} for number in range(51)]}

    monkeypatch.setattr(status, "status_record", many)
    with serve(shop.project) as ask:
        found = ask("/v1/status").json
        assert (len(found["feeds"]), found["cut"]) == (50, ["feeds"])


def test_a_run_whose_lease_has_lapsed_lives_and_is_not_ready(shop):
    leads = [True]
    pulse = Pulse(leads=lambda: leads[0])
    address = address_of(shop.project, port=0)
    site = Site(Reader(shop.project), Access(shop.project), lambda: pulse.health("ready"))
    server = address.serve(site)
    try:
        ask = Client(server.url)
        assert (ask("/healthz").status, ask("/readyz").status) == (200, 200)
        assert ask("/readyz").json["ready"]
        leads[0] = False
        assert (ask("/healthz").status, ask("/readyz").status) == (200, 503)
        assert ask("/readyz").json["reason"] == "it does not hold the storage's lease now"
    finally:
        stop(server)
        address.close()


def test_the_status_is_that_of_the_command(loaded, serve):
    with serve(loaded.project) as ask:
        tables = ask("/v1/status").json["tables"]
    assert [(each["name"], each["state"], each["updates"]) for each in tables] == [
        ("orders", "fresh", 1),
        ("big", "fresh", 1),
    ]


def test_the_executor_s_time_is_that_of_all_tables(loaded, serve):
    journal = Journal(journal_path(loaded.project), create=False)
    journal.write("UPDATE updates SET seconds=CASE table_name WHEN 'big' THEN 3 ELSE 1 END")
    journal.close()
    with serve(loaded.project) as ask:
        found = ask("/v1/ui/tables").json
    shares = {each["name"]: each["executor_s"] for each in found["tables"]}
    assert (shares, found["executor_s"]) == ({"orders": 1.0, "big": 3.0}, 4.0)


def test_what_was_answered_before_is_not_sent_again(loaded, serve):
    with serve(loaded.project, clock=lambda: 1e9) as ask:
        first = ask("/v1/status")
        assert first.headers["etag"]
        again = ask("/v1/status", If_None_Match=first.headers["etag"])
        assert (again.status, again.body) == (304, b"")


def test_an_answer_says_for_how_long_there_is_no_newer_one(loaded, serve):
    with serve(loaded.project) as ask:
        first = ask("/v1/status")
        again = ask("/v1/status", If_None_Match=first.headers["etag"])
        for reply in (first, again):
            assert float(reply.headers["freshline-kept-s"]) >= 0.0
            # Also in a 304: a browser completes it by the headers that it has kept.
            assert reply.headers["freshline-outdated"] in {"true", "false"}


def test_the_page_asks_for_all_of_its_modules_at_once(shop, serve):
    with serve(shop.project) as ask:
        html = ask("/").body.decode()
        modules = {
            f"/assets/{path.relative_to(ASSETS).as_posix()}"
            for path in ASSETS.rglob("*.js")
            if ".iife." not in path.name
        }
        preloaded = set(re.findall(r'<link rel="modulepreload" href="([^"]+)">', html))
        assert preloaded == modules - {"/assets/app.js"}


def test_unknown_addresses_are_answered_as_the_gateway_answers_them(shop, serve):
    with serve(shop.project) as ask:
        assert ask("/v1/tables/smal").json == {
            "error": "unknown-table",
            "message": "the project has no table of this name",
            "record": None,
        }
        assert ask("/nowhere").json["error"] == "not-found"
        reply = ask("/v1/status", method="DELETE")
        assert (reply.status, reply.json["error"]) == (405, "method-not-allowed")
        assert ask("/assets/../site.py").status == 404
        assert ask("/assets/%2e%2e/site.py").status == 404


def test_every_view_has_an_address_and_a_strict_policy(shop, serve):
    with serve(shop.project) as ask:
        for path in ("/", "/tables", "/tables/big", "/tracks", "/graph", "/what-if"):
            reply = ask(path)
            assert reply.status == 200
            policy = reply.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy


def test_another_machines_name_is_refused_on_the_loopback(shop, serve):
    with serve(shop.project) as ask:
        for path in ("/", "/v1/status", "/assets/icon.svg"):
            assert ask(path, Host="evil.example").status == 421


def test_beyond_the_loopback_a_token_is_wanted(shop, serve):
    token, hashed = new_token()
    project = dataclasses.replace(
        shop.project, server=ServerSettings(host="0.0.0.0", tokens=(hashed,))
    )
    with serve(project) as ask:
        ask.url = ask.url.replace(ask.url.split("/")[2].split(":")[0], "127.0.0.1")
        assert ask("/").status == 200  # holds nothing of the project
        assert ask("/v1/status").status == 401
        assert ask("/metrics").status == 401
        assert ask("/v1/status", Authorization="Bearer fl_wrong").status == 401
        assert ask("/v1/status", Authorization=f"Bearer {token}").status == 200


def test_a_loop_that_stands_still_is_not_live():
    now = [0.0]
    pulse = Pulse(lambda: 1e9, lambda: now[0])
    assert pulse.health("starting") == (200, {"live": True, "leader": True, "spark": "starting"})
    now[0] = 100.0
    assert pulse.health("ready") == (
        503,
        {
            "live": False,
            "leader": True,
            "spark": "ready",
            "reason": "the loop has not turned for 100 s",
        },
    )
    assert pulse() == 1e9
    assert pulse.health("ready")[0] == 200
