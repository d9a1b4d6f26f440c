"""A project's gateway over the real engine: from HTTP to the file that the warehouse lists."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from freshline.client import push
from freshline.core.errors import UserError
from freshline.delta.stores import use
from freshline.ingest.engine.store_landing import StoreLanding
from freshline.ingest.gateway import Gateway, land_what_was_pushed
from freshline.ingest.state import read_state
from freshline.project.load import load_project
from freshline.runtime.feeds.listing import FeedListing
from tests.support.s3_server import S3Server

SETTINGS = """\
name: shop
storage: warehouse
libraries:
  - glob: {include: tables/*.sql}
feeds:
  clicks: {kind: push, schema: "id BIGINT, at TIMESTAMP, price DECIMAL(15,2)", time: at}
ingest: {port: 0}
"""
AT = "2026-01-31T12:00:00Z"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "freshline.yml").write_text(SETTINGS)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t.sql").write_text(
        "CREATE STREAMING TABLE pages AS SELECT * FROM STREAM clicks;"
    )
    return load_project(tmp_path, tmp_path)


def landed(project):
    """What the warehouse sees: ids by file, and the files' timestamps."""
    files = FeedListing(project.feeds["clicks"]).new_files()
    folder = Path(project.feeds["clicks"].path)
    ids = [
        number for file in files for number in pq.read_table(folder / file.name)["id"].to_pylist()
    ]
    return ids, {file.timestamp_s for file in files}


def test_what_is_answered_is_landed_once_with_its_own_time(project):
    notices: list[str] = []
    gateway = Gateway(project, notices.append)
    gateway.start()
    records = [{"id": number, "at": AT, "price": "0.10"} for number in range(10)]
    assert push(gateway.url, "clicks", records, key="k", batch_records=4).last == 10
    again = push(gateway.url, "clicks", records, key="k", batch_records=4)
    assert (again.duplicates, again.last) == (10, 10)
    metrics = urllib.request.urlopen(f"{gateway.url}/metrics").read().decode()
    assert 'freshline_ingest_acknowledged_records_total{feed="clicks"} 10.0' in metrics
    assert 'freshline_ingest_duplicate_requests_total{feed="clicks"} 3.0' in metrics
    assert gateway.failed() is None
    gateway.stop(grace_s=30.0)
    assert landed(project) == (list(range(10)), {1769860800.0})
    assert notices == []


IN_TOKYO = "configuration: {spark.sql.session.timeZone: Asia/Tokyo}\n"


@pytest.mark.parametrize("kind", ["TIMESTAMP_NTZ", "DATE"])
def test_times_without_a_zone_are_of_the_sessions(project, kind):
    """Else the table would be called fresher, by the zone's offset, than its records are."""
    day = "2026-01-31"
    written, at = (day, f"{day}T00:00:00") if kind == "DATE" else (f"{day}T12:00:00",) * 2
    settings = SETTINGS.replace("at TIMESTAMP", f"at {kind}") + IN_TOKYO
    (project.root / "freshline.yml").write_text(settings)
    in_tokyo = load_project(project.root, project.root)
    gateway = Gateway(in_tokyo, print)
    gateway.start()
    push(gateway.url, "clicks", [{"id": 1, "at": written}])
    gateway.stop(grace_s=30.0)
    expected_s = datetime.fromisoformat(f"{at}+09:00").timestamp()
    assert landed(in_tokyo) == ([1], {expected_s})


def test_times_without_a_zone_are_of_utc_where_only_spark_knows_the_sessions(project):
    settings = SETTINGS.replace("at TIMESTAMP", "at DATE")
    settings += "configuration: {spark.sql.session.timeZone: '${spark.zone}'}\n"
    (project.root / "freshline.yml").write_text(settings)
    found = load_project(project.root, project.root)
    gateway = Gateway(found, print)
    gateway.start()
    push(gateway.url, "clicks", [{"id": 1, "at": "2026-01-31"}])
    gateway.stop(grace_s=30.0)
    assert landed(found) == ([1], {datetime(2026, 1, 31, tzinfo=UTC).timestamp()})


def test_times_without_a_zone_need_to_know_the_sessions(project):
    settings = SETTINGS.replace("at TIMESTAMP", "at DATE") + IN_TOKYO.replace("Tokyo", "Tokio")
    (project.root / "freshline.yml").write_text(settings)
    with pytest.raises(UserError) as raised:
        Gateway(load_project(project.root, project.root), print)
    assert str(raised.value) == (
        "[bad-value] time of feed clicks is a DATE, and the session's time zone,"
        " spark.sql.session.timeZone, cannot be read: 'Asia/Tokio' is no time zone; its values"
        " are of that zone. Write a zone there, or make the column a TIMESTAMP."
    )


def test_keys_are_remembered_over_a_restart_and_numbers_go_on(project):
    for expected in ((1, 2, False), (1, 2, True), (3, 3, False)):
        gateway = Gateway(project, print)
        gateway.start()
        records = [{"id": 1}, {"id": 2}] if expected[1] == 2 else [{"id": 3}]
        key = "a" if expected[1] == 2 else "b"
        done = push(gateway.url, "clicks", records, key=key)
        assert (done.first, done.last, done.duplicates > 0) == expected
        gateway.stop(grace_s=30.0)
    assert landed(project)[0] == [1, 2, 3]


def test_a_repeated_key_is_known_although_the_schema_has_gained_a_column(project):
    for schema in ("id BIGINT, at TIMESTAMP", "id BIGINT, at TIMESTAMP, url STRING"):
        settings = SETTINGS.replace("id BIGINT, at TIMESTAMP, price DECIMAL(15,2)", schema)
        (project.root / "freshline.yml").write_text(settings)
        gateway = Gateway(load_project(project.root, project.root), print)
        gateway.start()
        done = push(gateway.url, "clicks", [{"id": 1}, {"id": 2}], key="a")
        assert (done.first, done.last, done.duplicates) == (1, 2, 0 if "url" not in schema else 2)
        gateway.stop(grace_s=30.0)
    assert landed(project)[0] == [1, 2]


def test_the_state_is_written_for_status_and_says_when_it_is_over(project):
    gateway = Gateway(project, print)
    gateway.start()
    state = read_state(project.ingest.folder) or {}
    assert (state["url"], state["pid"], state["state"]) == (gateway.url, os.getpid(), "open")
    assert state["feeds"]["clicks"]["newest_s"] is None
    begun_s = time.time()
    push(gateway.url, "clicks", [{"id": 1}])
    gateway.stop(grace_s=30.0)
    state = read_state(project.ingest.folder) or {}
    assert state["url"] is None
    feed = state["feeds"]["clicks"]
    assert begun_s <= feed["newest_s"] <= time.time()
    assert {name: feed[name] for name in (
        "received_records", "acknowledged_records", "duplicate_requests", "backlog_records",
        "backlog_bytes", "backlog_age_s", "last", "rejected",
    )} == {
        "received_records": 1, "acknowledged_records": 1, "duplicate_requests": 0,
        "backlog_records": 0, "backlog_bytes": 0, "backlog_age_s": 0, "last": 1,
        "rejected": {},
    }  # fmt: skip
    assert {"memory_bytes", "memory_peak_bytes", "reads", "writes", "rewritten_bytes",
            "group_requests", "commit_s", "disk_free_bytes", "corrupt_rows",
            "recovery_s"} <= set(state)  # fmt: skip


def test_what_was_landed_without_a_gateway_does_not_wait_in_the_state_any_more(project):
    settings = SETTINGS.replace("{port: 0}", "{port: 0, land_after: 1 hour}")
    (project.root / "freshline.yml").write_text(settings)
    patient = load_project(project.root, project.root)
    assert patient.ingest is not None
    gateway = Gateway(patient, print)
    gateway.start()
    push(gateway.url, "clicks", [{"id": 1}, {"id": 2}])
    gateway.stop(grace_s=0.0)
    waited = (read_state(patient.ingest.folder) or {})["feeds"]["clicks"]["backlog_records"]
    assert land_what_was_pushed(patient, 30.0) == {}
    state = read_state(patient.ingest.folder) or {}
    assert (waited, state["feeds"]["clicks"]["backlog_records"], state["url"]) == (2, 0, None)


ON_S3 = """\
name: shop
storage: s3a://lake/shop
libraries:
  - glob: {include: tables/*.sql}
feeds:
  clicks: {kind: push, schema: "n BIGINT"}
ingest: {port: 0, folder: ingest, land_after: 1 hour}
"""


def test_records_that_a_dead_gateway_left_hidden_are_named_until_the_store_has_them(
    project, monkeypatch
):
    (project.root / "freshline.yml").write_text(ON_S3)
    far = load_project(project.root, project.root)
    assert far.ingest is not None
    with S3Server() as server, stores_used(server.settings):
        gateway = Gateway(far, print)
        gateway.start()
        push(gateway.url, "clicks", [{"n": 1}, {"n": 2}])
        with monkeypatch.context() as patch:
            patch.setattr(StoreLanding, "_reached", _away)
            gateway.stop(grace_s=1.0)  # its file is in the ledger, and hidden
            assert land_what_was_pushed(far, 1.0) == {"clicks": 2}
            state = read_state(far.ingest.folder) or {}
            assert state["feeds"]["clicks"]["backlog_records"] == 2
        assert land_what_was_pushed(far, 30.0) == {}
        (file,) = FeedListing(far.feeds["clicks"]).new_files()
    assert file.name.endswith("-0000000000000001-0000000000000002.parquet")


def _away(_: StoreLanding) -> None:
    raise OSError("away")


@contextlib.contextmanager
def stores_used(settings):
    use(settings)
    try:
        yield
    finally:
        use({})


def test_two_gateways_for_one_storage_are_one_too_many(project):
    gateway = Gateway(project, print)
    gateway.start()
    try:
        with pytest.raises(UserError, match=f"process {os.getpid()} accepts") as raised:
            Gateway(project, print).start()
        assert raised.value.code == "already-running"
        # Most often the second one has the same address, too: that says nothing.
        port = int(gateway.url.rpartition(":")[2])
        same = dataclasses.replace(project, server=dataclasses.replace(project.server, port=port))
        with pytest.raises(UserError, match=f"process {os.getpid()} accepts"):
            Gateway(same, print).start()
        with pytest.raises(UserError, match="accepts this storage"):
            land_what_was_pushed(project, 1.0)
    finally:
        gateway.stop(grace_s=30.0)


def program(project, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "freshline", *arguments, "--project", str(project.root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_command_prints_its_address_and_ends_on_a_signal(project):
    ingest = program(project, "ingest", "--json")
    assert ingest.stdout is not None
    url = json.loads(ingest.stdout.readline())["url"]
    assert push(url, "clicks", [{"id": 7, "at": AT}]).records == 1
    status = program(project, "status", "--json")
    found = json.loads(status.communicate()[0])["ingest"]
    assert (found["url"], found["pid"], found["running"]) == (url, ingest.pid, True)
    ingest.send_signal(signal.SIGTERM)
    assert ingest.communicate() == ("", "")
    assert ingest.returncode == 0
    assert landed(project) == ([7], {1769860800.0})


def test_what_a_killed_gateway_answered_is_landed_by_the_next_run(project):
    ingest = program(project, "ingest", "--json")
    assert ingest.stdout is not None
    url = json.loads(ingest.stdout.readline())["url"]
    push(url, "clicks", [{"id": number} for number in range(100)], batch_records=10)
    ingest.kill()
    ingest.communicate()
    assert land_what_was_pushed(project, 30.0) == {}
    assert landed(project)[0] == list(range(100))
