"""``freshline ingest``'s other answers, and the gateway within ``run``; only Spark is replaced."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import pytest
from typer.testing import CliRunner

from freshline.cli import running
from freshline.cli.main import app_for
from freshline.cli.push_thread import land_before_standing_by
from freshline.cli.serving import served
from freshline.client import push
from freshline.delta.stores import use
from freshline.ingest.gateway import Gateway
from freshline.ingest.http.auth import token_hash
from freshline.ingest.state import write_state
from freshline.project.load import load_project
from freshline.render.log_observer import Counting
from freshline.render.push_status import pushed_remarks
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.metrics.exposition import RunMetrics
from freshline.runtime.options import RunOptions
from freshline.runtime.warehouse import Warehouse
from freshline.ui.pulse import Pulse
from tests.support.s3_server import S3Server
from tests.support.shop import QUICK

PUSHED = """\
name: shop
storage: warehouse
libraries:
  - glob: {include: tables/**/*.sql}
feeds:
  clicks: {kind: push, schema: "n BIGINT"}
ingest: {port: 0}
"""


class Notices(Counting):
    def __init__(self, project):
        super().__init__(project)
        self.told = []

    def notice(self, text, *, level="info", table=None):
        self.told.append(text)


@pytest.fixture
def pushed(tmp_path):
    (tmp_path / "freshline.yml").write_text(PUSHED)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t.sql").write_text(
        "CREATE STREAMING TABLE pages AS SELECT n FROM STREAM clicks;"
    )
    return load_project(tmp_path, tmp_path)


def command(project, *arguments):
    line = [*arguments, "--project", str(project.root)]
    return CliRunner().invoke(app_for(line), line, catch_exceptions=False)


def test_a_project_without_push_feeds_has_nothing_to_take_in(freshline):
    done = freshline("ingest")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "[no-push-feed] project shop has no feed of kind push; the gateway accepts records of"
        " such feeds. Add one to feeds: in freshline.yml.\n"
    )


def test_records_wait_on_after_the_gateway_has_ended(pushed):
    feed = {"backlog_records": 2, "backlog_age_s": 4.0}
    pushed.ingest.folder.mkdir(parents=True)
    write_state(pushed.ingest.folder, {"url": None, "at": 1000.0, "feeds": {"clicks": feed}})
    (line,) = pushed_remarks(pushed, 1000.0 + 7200.0)
    assert line == "gateway: does not run, 2 records not landed, for 2 h"


def test_a_new_token_is_shown_once_with_its_hash_for_the_file(pushed):
    found = json.loads(command(pushed, "ingest", "--new-token", "clicks", "--json").stdout)
    assert found == {
        "feed": "clicks",
        "token": found["token"],
        "sha256": token_hash(found["token"]),
    }
    lines = command(pushed, "ingest", "--new-token", "clicks").stdout.splitlines()
    token = lines[0].rpartition(" ")[2]
    assert lines == [
        f"token of clicks, shown only now: {token}",
        "for freshline.yml, under ingest:",
        f"  tokens: {{clicks: {token_hash(token)}}}",
    ]


def test_a_token_of_no_feed_is_the_users_to_correct(pushed):
    done = command(pushed, "ingest", "--new-token", "clocks")
    assert done.exit_code == 2
    assert done.stderr == (
        "[unknown-feed] there is no push feed 'clocks'; the feeds of kind push are clicks."
        " Did you mean clicks?\n"
    )


def test_status_tells_of_a_gateway_that_never_ran(pushed):
    assert json.loads(command(pushed, "status", "--json").stdout)["ingest"] == {
        "url": None,
        "running": False,
        "pid": None,
        "at": None,
        "state": "stopped",
    }
    assert "gateway: does not run" in command(pushed, "status").stdout


def test_status_of_a_project_without_push_feeds_is_silent_on_pushes(answer):
    assert "ingest" not in answer("status")


def test_a_run_takes_in_pushes_until_it_ends(pushed):
    observer = Notices(pushed)
    with served(pushed, RunOptions(), observer, Pulse(), RunMetrics(pushed, time.time)) as url:
        assert push(url, "clicks", [{"n": 1}]).records == 1
        lines = command(pushed, "status").stdout.splitlines()
        assert any(line.startswith(f"gateway: {url}, open") for line in lines)
    assert observer.told == [f"web page: {url}", f"pushed records come in at {url}"]
    names = [path.name for path in pushed.ingest.landed("clicks").iterdir()]
    assert len(names) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_gateway_whose_committer_died_of_a_fault_ends(pushed, monkeypatch):
    start = Gateway.start

    def started(gateway):
        start(gateway)
        monkeypatch.setattr(gateway._engine._committer, "step", None)  # nothing to call
        gateway._engine.roll()

    monkeypatch.setattr(Gateway, "start", started)
    signals = threading.Timer(20.0, os.kill, (os.getpid(), signal.SIGTERM))
    signals.start()  # so that the test ends, too, where the gateway does not
    done = command(pushed, "ingest")
    signals.cancel()
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith(
        "[ingest] no more records can be accepted: the log's threads have ended; a new start"
    )


def test_a_run_leaves_pushes_to_a_gateway_that_runs_already(pushed):
    gateway = Gateway(pushed, print)
    gateway.start()
    observer = Notices(pushed)
    for options in (RunOptions(), RunOptions(until_idle=True)):
        with served(pushed, options, observer, Pulse(), RunMetrics(pushed, time.time)) as url:
            assert url != gateway.url
            assert push(gateway.url, "clicks", [{"n": 1}]).records == 1
    gateway.stop(30.0)
    elsewhere = [text for text in observer.told if not text.startswith("web page: ")]
    assert len(elsewhere) == 2
    assert all(text.startswith("pushes come in elsewhere: process ") for text in elsewhere)


def test_a_host_that_comes_back_as_a_standby_lands_what_it_still_has(pushed):
    with S3Server() as server:
        use(server.settings)
        (pushed.root / "freshline.yml").write_text(
            PUSHED.replace("storage: warehouse", "storage: s3a://lake/shop").replace(
                "{port: 0}", "{port: 0, folder: ingest, land_after: 1 minute}"
            )
        )
        far = load_project(pushed.root, pushed.root)
        assert far.feeds["clicks"].path == "s3a://lake/shop/_freshline/landed/clicks"
        assert far.ingest is not None
        observer = Notices(far)
        land_before_standing_by(far, observer)
        assert not far.ingest.folder.exists(), "a host without a log has nothing to land"
        gateway = Gateway(far, print)
        gateway.start()
        push(gateway.url, "clicks", [{"n": 1}, {"n": 2}])
        land_before_standing_by(far, observer)  # a gateway is at work: it lands
        gateway.stop(0.0)
        waits = "gateway: does not run, 2 records not landed, for "
        (line,) = [each for each in pushed_remarks(far, time.time()) if waits in each]
        assert line.endswith(", on this host alone")
        land_before_standing_by(far, observer)
        (file,) = FeedListing(far.feeds["clicks"]).new_files()
        assert (file.name.count("/"), far.feeds["clicks"].format) == (1, "parquet")
        assert observer.told == []
        use({})


@pytest.fixture
def asked(pushed, monkeypatch):
    """What an executor that refuses every update is asked for, with two records in the log."""
    gateway = Gateway(pushed, print)
    gateway.start()
    push(gateway.url, "clicks", [{"n": 1}, {"n": 2}])
    gateway.stop(0.0)  # nothing is landed by force: it is safe in the log

    asked = []

    class Recorder:
        def run(self, request):
            asked.append(request)
            raise RuntimeError("seen")

        def run_batch(self, request):
            raise AssertionError(request)

        def topic(self, feed):
            raise AssertionError(feed)

        def give_up(self, table, number):
            raise AssertionError(table)

        def healthy(self):
            return True

        def ended(self):
            return None

        def kill(self):
            raise AssertionError

        def close(self):
            pass

    def warehouse(project, make_executor, observer, options, clock):
        return Warehouse(project, Recorder, observer, options, backoff=QUICK, clock=clock)

    monkeypatch.setattr(running, "Warehouse", warehouse)
    return asked


@pytest.mark.parametrize("line", [("run", "--until-idle"), ("refresh", "pages")], ids=" ".join)
def test_until_idle_lands_what_was_pushed_and_lists_it(pushed, asked, line):
    done = command(pushed, *line)
    assert done.exit_code == 3  # its executor refuses every update
    (file,) = asked[0].files
    assert file.name.startswith("clicks-")
    assert file.name.endswith("-0000000000000001-0000000000000002.parquet")


@pytest.mark.parametrize("line", [("run", "--until-idle"), ("refresh", "pages")], ids=" ".join)
def test_what_could_not_be_landed_is_left_behind(pushed, asked, monkeypatch, line):
    """As of a store that does not answer, or a disk that is full."""
    monkeypatch.setattr("freshline.ingest.gateway.land_what_was_pushed", lambda *_: {"clicks": 2})
    done = command(pushed, *line, "--json")
    assert "not all that was pushed could be landed within 300 s" in done.stderr
    assert done.exit_code == 3
    assert json.loads(done.stdout)["left_behind"] == [
        {
            "name": "clicks",
            "reason": "2 pushed records could not be landed: in the log alone",
        }
    ]
    assert asked == []


def test_a_refresh_of_tables_that_read_no_pushes_waits_for_none(pushed, asked):
    (pushed.root / "freshline.yml").write_text(
        PUSHED.replace(
            "clicks:", "lines: {kind: files, path: in, format: csv, schema: n INT}\n  clicks:"
        )
    )
    (pushed.root / "tables" / "u.sql").write_text(
        "CREATE STREAMING TABLE others AS SELECT n FROM STREAM lines;"
    )
    (pushed.root / "in").mkdir()
    assert command(pushed, "refresh", "others").exit_code == 0
    assert asked == []
    assert list(pushed.ingest.landed("clicks").glob("*.parquet")) == []
