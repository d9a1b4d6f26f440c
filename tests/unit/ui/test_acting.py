"""Pausing and the like over HTTP, what happens as a stream, and who may not."""

from __future__ import annotations

import dataclasses
import threading
import urllib.request

import pytest

from freshline.ingest.http.auth import new_token
from freshline.project.model import ServerSettings
from tests.support.shop import LiveRun, Shop, made_project


@pytest.fixture
def shop(tmp_path):
    return Shop(made_project(tmp_path, {"orders": (), "big": ("orders",)}))


@pytest.fixture
def token(shop):
    token, hashed = new_token()
    shop.project = dataclasses.replace(
        shop.project, server=ServerSettings(port=0, tokens=(hashed,))
    )
    return token


def test_without_a_token_nobody_acts(shop, serve):
    with serve(shop.project) as ask:
        reply = ask("/v1/tables/big/pause", method="POST")
        assert (reply.status, reply.json["error"]) == (403, "no-token")


def test_a_wrong_token_does_not_act(shop, token, serve):
    with serve(shop.project) as ask:
        for given in ({}, {"Authorization": "Bearer fl_wrong"}, {"Authorization": token}):
            reply = ask("/v1/tables/big/pause", method="POST", **given)
            assert (reply.status, reply.json["error"]) == (401, "unauthorized")
        assert ask("/v1/tables/big").status == 200  # reading on the loopback needs none
        assert ask("/v1/ui/session").json["may_act"] is False


def test_a_table_is_paused_and_resumed_at_rest(shop, token, serve):
    given = {"Authorization": f"Bearer {token}"}
    with serve(shop.project) as ask:
        done = ask("/v1/tables/big/pause", method="POST", **given)
        assert (done.status, done.json["ok"]) == (200, True)
        refused = ask("/v1/tables/big/refresh", method="POST", **given)
        assert (refused.status, refused.json["error"]) == (409, "not-running")
        assert ask("/v1/tables/bigger/pause", method="POST", **given).status == 404
        assert ask("/v1/tables/big/drop", method="POST", **given).status == 404
        for priority in (-1, 0, 1e13, 10**400, "5", None, True):
            body = {"priority": priority}
            wrong = ask("/v1/tables/big/prioritise", method="POST", body=body, **given)
            assert (wrong.status, wrong.json["error"]) == (400, "bad-request")


def test_what_happens_is_streamed_and_a_running_warehouse_obeys(shop, token, serve):
    given = {"Authorization": f"Bearer {token}"}
    with serve(shop.project) as ask, LiveRun(shop) as run:
        shop.recorder.wait_for("ready")
        request = urllib.request.Request(ask.url + "/v1/events")
        heard: list[str] = []
        ready, done = threading.Event(), threading.Event()

        def listen():
            with urllib.request.urlopen(request, timeout=120) as stream:
                for line in stream:
                    text = line.decode().strip()
                    if text == "event: run":
                        ready.set()  # the first look: what comes from here on is told
                    if text.startswith("event: "):
                        heard.append(text.removeprefix("event: "))
                    if heard.count("update-committed") == 2:
                        done.set()
                        return

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        assert ready.wait(120)
        shop.file("orders", 1, [1, 2])
        assert done.wait(120), heard
        assert set(heard) >= {"update-started", "update-committed"}
        paused = ask("/v1/tables/big/pause", method="POST", **given)
        assert paused.json == {"table": "big", "ok": True, "message": "big is paused"}
        assert ask("/v1/tables/big/why").json["state"] == "paused"
        urgent = ask("/v1/tables/big/prioritise", method="POST", body={"priority": 9}, **given)
        assert urgent.json["message"] == "big has priority 9 until this run ends"
        run.stop()
