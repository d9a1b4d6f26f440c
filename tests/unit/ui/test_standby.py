"""A standby says that it lives and does not lead, and leaves the address to whoever needs it."""

from __future__ import annotations

import dataclasses
import re
import socket
import threading
import time

import pytest

from freshline.cli.serving import served
from freshline.core.errors import Place, UserError
from freshline.core.lease import LOOK_S, Holder
from freshline.delta.stores import LONGEST_S
from freshline.project.model import IngestSettings, ServerSettings, TlsFiles
from freshline.render.log_observer import LogObserver
from freshline.runtime.lease.machine import this_machine
from freshline.runtime.metrics.exposition import RunMetrics
from freshline.runtime.options import RunOptions
from freshline.ui import address
from freshline.ui.address import note_standby, standby_at
from freshline.ui.pulse import Pulse
from freshline.ui.serving import Address
from freshline.ui.standby import StandingBy
from tests.support.shop import made_shop
from tests.unit.ui.conftest import Client

FAR = Holder("far", "elsewhere", 77, "another machine")
NEAR = Holder("near", "here", 77, this_machine())


@pytest.fixture
def project(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    return dataclasses.replace(shop.project, server=ServerSettings(port=0))


@pytest.fixture
def told():
    return []


@pytest.fixture
def waiting(project, told):
    found = StandingBy(project, told.append)
    yield found
    found.close()


def at(told):
    (url,) = re.findall(r"http://\S+(?=/healthz)", told[0])
    return Client(url)


def test_it_lives_is_not_ready_and_leads_nothing(waiting, told):
    waiting.seen(FAR)
    waiting.seen(FAR)
    assert len(told) == 1
    ask = at(told)
    assert (ask("/healthz").status, ask("/healthz").json) == (
        200, {"live": True, "leader": False, "spark": "none"},
    )  # fmt: skip
    ready = ask("/readyz")
    assert (ready.status, ready.json["ready"], ready.json["live"]) == (503, False, True)
    assert ready.json["reason"] == "it stands by: another process runs the warehouse"
    assert b"freshline_leader 0.0" in ask("/metrics").body
    for path, method in (("/", "GET"), ("/v1/status", "GET"), ("/v1/feeds/clicks", "POST")):
        reply = ask(path, method=method, body={} if method == "POST" else None)
        assert (reply.status, reply.json["error"]) == (503, "standing-by")
        assert reply.headers["retry-after"] == "5"


def test_one_that_looks_no_more_is_not_live(waiting, told):
    waiting.seen(FAR)
    now_s = time.monotonic()
    waiting.pulse._monotonic = lambda: now_s + 100.0
    hung = at(told)("/healthz")
    assert (hung.status, hung.json["live"], hung.json["leader"]) == (503, False, False)
    assert hung.json["reason"].startswith("the loop has not turned for 10")
    assert at(told)("/readyz").json["reason"].startswith("it stands by")
    waiting.pulse()
    assert at(told)("/healthz").status == 200


def test_one_whose_look_no_storage_answers_is_live(waiting, told):
    waiting.seen(FAR)
    now_s = time.monotonic()
    waiting.pulse._monotonic = lambda: now_s + LONGEST_S + LOOK_S
    assert LONGEST_S > 60.0
    assert at(told)("/healthz").status == 200


def test_where_the_leader_is_on_this_machine_the_address_is_the_leaders(project, waiting, told):
    waiting.seen(NEAR)
    assert told == []
    waiting.seen(FAR)
    port = int(at(told).url.rpartition(":")[2])
    assert standby_at(project) == f"http://127.0.0.1:{port}"
    waiting.seen(NEAR)
    assert standby_at(project) is None
    settings = dataclasses.replace(ServerSettings(), port=port)
    Address(settings, movable=False).close()


def test_the_address_of_one_that_is_gone_or_elsewhere_does_not_hold(project, monkeypatch):
    assert standby_at(project) is None
    note_standby(project, "http://127.0.0.1:1")
    assert standby_at(project) == "http://127.0.0.1:1"
    monkeypatch.setattr(address, "has_ended", lambda _: True)
    assert standby_at(project) is None
    monkeypatch.undo()
    monkeypatch.setattr(address, "this_machine", lambda: "another machine")
    assert standby_at(project) is None


def test_in_a_project_with_push_feeds_the_address_is_the_gateways(project, told, tmp_path):
    pushed = dataclasses.replace(project, ingest=IngestSettings(folder=tmp_path / "ingest"))
    StandingBy(pushed, told.append).seen(FAR)
    assert told == []


def test_an_address_that_is_taken_is_told_once_and_asked_for_again(project, told):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        waiting = StandingBy(
            dataclasses.replace(project, server=ServerSettings(port=port)), told.append
        )
        waiting.seen(FAR)
        waiting.seen(FAR)
        assert len(told) == 1
        assert told[0].startswith("no health check while standing by: [address] ")
    waiting.seen(FAR)
    assert told[1] == f"health check while standing by: http://127.0.0.1:{port}/healthz"
    waiting.close()


def test_a_certificate_that_is_none_is_told_at_once_and_not_at_the_take_over(project, tmp_path):
    files = TlsFiles(tmp_path / "cert.pem", tmp_path / "key.pem", Place("freshline.yml", 3))
    wrong = dataclasses.replace(project, server=ServerSettings(port=0, tls=files))
    with pytest.raises(UserError, match="bad-tls"):
        StandingBy(wrong, lambda _: None).seen(FAR)


def test_who_takes_over_waits_for_the_address_that_a_standby_beside_it_has(project, told):
    waiting = StandingBy(project, told.append)
    waiting.seen(FAR)
    port = int(at(told).url.rpartition(":")[2])
    taken = dataclasses.replace(project, server=ServerSettings(port=port, written=True))

    def serve(*, patient):
        run = (RunOptions(), LogObserver(taken), Pulse(), RunMetrics(taken, time.time))
        with served(taken, *run, patient=patient) as url:
            return url

    with pytest.raises(UserError, match="address"):
        serve(patient=False)
    closing = threading.Timer(1.0, waiting.close)
    closing.start()
    assert serve(patient=True) == f"http://127.0.0.1:{port}"
    closing.join()
