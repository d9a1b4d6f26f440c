"""The lease and a warehouse's logs on a real S3 server, by the settings that Spark has."""

from __future__ import annotations

import dataclasses
import json
import os

import deltalake
import pyarrow as pa
import pytest

from freshline.core.errors import UserError
from freshline.core.lease import Holder, Record
from freshline.delta.log import last_commit, version
from freshline.delta.stores import arrow_store, storage_options, use
from freshline.executor.records import FeedFile
from freshline.project.model import Feed
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.handover import Handover, inherit
from freshline.runtime.journal.store import Journal
from freshline.runtime.lease.leader import leader_record
from freshline.runtime.lease.leadership import Leadership, boot_s
from freshline.runtime.lease.log_store import LogStore
from freshline.runtime.lease.store import SwapRefusedError
from tests.support.s3_server import S3Server
from tests.support.shop import LiveRun, Shop, eventually, made_project

FAR = Holder("far", "elsewhere", 77, "another machine")
OTHER = Holder("other", "elsewhere", 78, "another machine")


@pytest.fixture(scope="module")
def s3():
    with S3Server() as server:
        yield server


@pytest.fixture(autouse=True)
def _settings(s3):
    use(s3.settings)
    yield
    use({})


@pytest.fixture
def project(tmp_path, s3, request):
    made = made_project(tmp_path, {"orders": ()})
    return dataclasses.replace(
        made, storage=f"s3a://lake/{request.node.name}", configuration=s3.settings
    )


def test_a_swap_compares(project):
    first, second = LogStore(project.own_path), LogStore(project.own_path)
    assert first.read() == second.read() == (None, None)
    tag = first.swap(Record(FAR, 1, 0.0), None)
    with pytest.raises(SwapRefusedError):
        second.swap(Record(OTHER, 1, 0.0), None)
    assert second.read() == (Record(FAR, 1, 0.0), tag)
    taken = second.swap(Record(OTHER, 2, 0.0), tag)
    with pytest.raises(SwapRefusedError):
        first.swap(Record(FAR, 1, 0.0, 1), tag)
    assert first.read() == second.read() == (Record(OTHER, 2, 0.0), taken)
    renewed = second.swap(Record(OTHER, 2, 0.0, 1), taken)
    assert first.read() == (Record(OTHER, 2, 0.0, 1), renewed)


@pytest.mark.slow
def test_a_lease_of_days_is_read_from_where_it_is_checkpointed(project, s3):
    store, reader = LogStore(project.own_path), LogStore(project.own_path)
    tag = None
    for number in range(45):
        tag = store.swap(Record(FAR, 1, 0.0, number), tag)
        if number % 7 == 0:
            assert reader.read() == (Record(FAR, 1, 0.0, number), tag)
    assert LogStore(project.own_path).read() == (Record(FAR, 1, 0.0, 44), "44")
    names = s3.names(project.own_path.removeprefix("s3a://lake/"))
    assert any(name.endswith("_last_checkpoint") for name in names)


@pytest.mark.slow
def test_a_run_leads_gives_back_and_refuses_another(project):
    with Leadership(project) as lease:
        assert lease.take()
        found = leader_record(project) or {}
        assert (found["pid"], found["epoch"]) == (os.getpid(), 1)
        elsewhere = dataclasses.replace(project, root=project.root / "another project folder")
        # Sees two renewals within fifteen of its own seconds.
        other = Leadership(elsewhere, clock=boot_s)
        with pytest.raises(UserError, match="runs this warehouse already"):
            other.take()
        lease.check_commit()
    assert leader_record(project) is None
    with Leadership(project) as lease:
        assert lease.take()
        assert lease.epoch == 2


def test_logs_are_read_and_fenced_where_the_settings_say(project):
    fields = {"freshline": 1, "update": 3, "from": "2026-01-01T00:00:00.000000Z",
              "to": "2026-01-01T00:00:01.000000Z", "files": ["a"], "rows": 1}  # fmt: skip
    path = project.table_path("orders")
    assert (version(path), last_commit(path)) == (None, None)
    deltalake.write_deltalake(
        path.replace("s3a:", "s3:"),
        pa.table({"n": [1]}),
        storage_options=storage_options(path),
        commit_properties=deltalake.CommitProperties(
            custom_metadata={"userMetadata": json.dumps(fields)}
        ),
    )
    LogStore(project.own_path).swap(Record(FAR, 7, 0.0), None)
    with Leadership(project, clock=lambda: boot_s() * 60) as lease:
        assert lease.take()
        assert lease.epoch == 8
    fence = last_commit(path)
    assert fence is not None
    assert (fence.version, fence.update, fence.metadata["epoch"]) == (1, 3, 8)


def test_feeds_are_listed_where_the_settings_say(s3, project):
    s3.client().put_object(Bucket="lake", Key="feed/day=1/a.csv", Body=b"1\n2\n")
    s3.client().put_object(Bucket="lake", Key="feed/_unfinished.csv", Body=b"1\n")
    feed: Feed = dataclasses.replace(
        project.feeds["orders_feed"], path="s3a://lake/feed", timestamp=None
    )
    (found,) = FeedListing(feed).new_files()
    assert isinstance(found, FeedFile)
    assert (found.name, found.size_bytes) == ("day=1/a.csv", 4)
    assert FeedListing(feed).exists("day=1/a.csv")
    assert not FeedListing(feed).exists("day=1/b.csv")


def test_settings_of_one_bucket_come_before_those_of_all():
    prefix = "spark.hadoop.fs.s3a."
    use(
        {
            f"{prefix}access.key": "all",
            f"{prefix}secret.key": "secret",
            f"{prefix}bucket.one.access.key": "one",
            f"{prefix}endpoint": "store.example:9000",
            f"{prefix}connection.ssl.enabled": "false",
            f"{prefix}bucket.open.aws.credentials.provider":
                "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider",
        }
    )  # fmt: skip
    keys = {name: (storage_options(f"s3a://{name}/x") or {}) for name in ("one", "two", "open")}
    assert [each["AWS_ACCESS_KEY_ID"] for each in keys.values()] == ["one", "all", "all"]
    assert keys["two"]["AWS_ENDPOINT_URL"] == "http://store.example:9000"
    assert keys["two"]["AWS_ALLOW_HTTP"] == "true"
    assert keys["open"]["AWS_SKIP_SIGNATURE"] == "true"
    assert storage_options("/a/path") is None
    assert arrow_store("s3a://one/a/b/")[1] == "one/a/b"


def test_costs_pauses_and_requests_follow_to_a_journal_on_another_host(project, tmp_path, s3):
    def journal(host: str) -> Journal:
        return Journal(tmp_path / host / "journal.db", create=True)

    def lead(host: Journal, epoch: int) -> Handover:
        assert not inherit(project, host, epoch) or epoch in (2, 3)
        setting = json.dumps({"epoch": epoch})
        run = (10.0 * epoch, setting)
        host.write("INSERT INTO runs (pid, started_s, setting) VALUES (1, ?, ?)", run)
        host.flush()
        return Handover(project, host, epoch, lambda: None)

    here, there = journal("here"), journal("there")
    first = lead(here, 1)
    here.put("tables", {"name": "orders"}, alpha_s=0.5, beta=0.25, cost_samples=9, paused=1)
    here.flush()
    here.ask(7.0, "refresh", "orders", "full")
    here.put("backfills", {"id": 3}, table_name="orders", from_s=1.0, to_s=2.0, state="waiting")
    here.flush()
    first.step()
    eventually(lambda: any(name.endswith("handover.json") for name in s3.names()))
    second = lead(there, 2)
    row = there.row("SELECT * FROM tables")
    assert row is not None
    assert (row["name"], row["alpha_s"], row["beta"], row["paused"]) == ("orders", 0.5, 0.25, 1)
    asked = there.rows("SELECT at_s, kind, table_name, argument FROM requests")
    assert [tuple(each) for each in asked] == [(7.0, "refresh", "orders", "full")]
    waiting = there.rows("SELECT table_name, from_s, to_s, state FROM backfills")
    assert [tuple(each) for each in waiting] == [("orders", 1.0, 2.0, "waiting")]
    # Back again: what the second learned and answered counts, not what was here before.
    there.put("tables", {"name": "orders"}, alpha_s=0.75, paused=0)
    there.write("UPDATE requests SET answered_s=8", ())
    there.write("UPDATE backfills SET state='done'", ())
    there.flush()
    written = s3.client().get_object(Bucket="lake", Key=handover_key(project))["ETag"]
    second.step()
    eventually(
        lambda: s3.client().get_object(Bucket="lake", Key=handover_key(project))["ETag"] != written
    )
    lead(here, 3)
    row = here.row("SELECT * FROM tables")
    assert row is not None
    assert (row["alpha_s"], row["paused"]) == (0.75, 0)
    assert here.rows("SELECT * FROM requests WHERE answered_s IS NULL") == []
    assert here.rows("SELECT * FROM backfills WHERE state='waiting'") == []
    # The last leader's own journal knows more than what it left for others.
    here.put("tables", {"name": "orders"}, alpha_s=0.9)
    here.flush()
    lead(here, 4)
    row = here.row("SELECT * FROM tables")
    assert row is not None
    assert row["alpha_s"] == 0.9


def handover_key(project) -> str:
    return f"{project.own_path}/handover.json".removeprefix("s3a://lake/")


@pytest.mark.slow
def test_a_whole_run_on_s3_leaves_what_its_successor_elsewhere_needs(project, s3):
    """The loop itself writes and reads the document; only Spark is replaced."""
    shop = Shop(project)
    live = LiveRun(shop)
    with live:
        shop.recorder.wait_for("ready")
        assert shop.ask("pause", "orders")["ok"]
        eventually(lambda: handover_key(project) in s3.names())
    elsewhere = Shop(dataclasses.replace(project, root=project.root / "elsewhere"))
    key = handover_key(project)
    text = json.loads(s3.client().get_object(Bucket="lake", Key=key)["Body"].read())
    assert text["epoch"] == 1
    assert set(text["tables"]) == {"orders"}
    with LiveRun(elsewhere):
        elsewhere.recorder.wait_for(
            "notice costs, pauses and requests of the last leader are taken over"
        )
        elsewhere.recorder.wait_for("ready")
