"""Waiting for a table over HTTP."""

from __future__ import annotations

import threading

import pytest

from freshline.runtime.metrics.exposition import RunMetrics
from tests.support.shop import PATIENCE_S, LiveRun, Shop, made_project

MINUTE_1, MINUTE_2 = "2026-01-02T00:01:00Z", "2026-01-02T00:02:00Z"


@pytest.fixture
def shop(tmp_path):
    return Shop(made_project(tmp_path, {"orders": (), "big": ("orders",)}))


def test_a_table_that_is_fresh_enough_is_answered_at_once(shop, serve):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    with serve(shop.project) as ask:
        reply = ask(f"/v1/tables/big?fresh_to={MINUTE_1}&timeout=110s")
        assert (reply.status, reply.json["fresh"], reply.json["held_up"]) == (200, True, None)
        assert (reply.json["name"], reply.json["state"]) == ("big", "fresh")
        assert ask("/v1/tables/big?within=36000%20days&timeout=0").json["fresh"]


def test_at_the_timeout_the_answer_says_what_holds_it_up(shop, serve):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    with serve(shop.project) as ask:
        found = ask(f"/v1/tables/big?fresh_to={MINUTE_2}&timeout=0.3s").json
    assert (found["fresh"], found["held_up"]) == (False, "no process runs the warehouse")
    assert found["waited_s"] >= 0.3


def test_it_ends_when_a_run_commits(shop, serve):
    gate = threading.Event()
    shop.executor.gates = {"big": gate}
    shop.file("orders", 1, [1])
    with LiveRun(shop), serve(shop.project) as ask:
        shop.recorder.wait_for("start big")
        threading.Timer(0.3, gate.set).start()
        found = ask(f"/v1/tables/big?fresh_to={MINUTE_1}&timeout=110s").json
    assert found["fresh"]
    assert found["freshness"] == "2026-01-02T00:01:00.000000Z"


def test_a_server_that_stops_answers_those_who_wait(shop, serve):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    answers = []
    looked = threading.Event()

    def clock():
        looked.set()
        return 1e9

    with serve(shop.project, clock=clock) as ask:
        waiting = threading.Thread(
            target=lambda: answers.append(ask(f"/v1/tables/big?fresh_to={MINUTE_2}&timeout=1h"))
        )
        waiting.start()
        assert looked.wait(PATIENCE_S)
    waiting.join(PATIENCE_S)
    assert [answer.json["fresh"] for answer in answers] == [False]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("big?fresh_to=soon", 400, "bad-moment"),
        ("big?within=soon", 400, "bad-duration"),
        ("big?within=5s&timeout=5", 400, "bad-duration"),
        ("big?within=5s&fresh_to=2026-01-01", 400, "bad-wait"),
        ("small?within=5s", 404, "unknown-table"),
    ],
)
def test_wrong_parameters_are_refused(shop, serve, query, status, code):
    with serve(shop.project) as ask:
        reply = ask(f"/v1/tables/{query}")
    assert (reply.status, reply.json["error"]) == (status, code)


def test_a_scrape_is_answered_by_the_run_s_metrics(shop, serve):
    metrics = RunMetrics(shop.project, lambda: 1e9)
    with serve(shop.project, metrics=metrics.scraped) as ask:
        text = ask("/metrics", Accept="application/openmetrics-text;version=1.0.0")
        assert text.headers["content-type"].startswith("application/openmetrics-text")
        assert text.body.endswith(b"# EOF\n")
        assert b'freshline_table_priority{table="big"} 2.0' in ask("/metrics").body
