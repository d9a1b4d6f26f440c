"""``freshline ui``: a project at rest, a recorded run as it was at its end, and what if."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.recorded_run import recorded_end_s
from freshline.ui.reads.reading import Reader
from tests.support.shop import Shop
from tests.unit.cli.conftest import SETTINGS, TABLES
from tests.unit.ui.conftest import Client


@pytest.fixture
def shop(tmp_path):
    from freshline.project.load import load_project

    (tmp_path / "freshline.yml").write_text(SETTINGS)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "shop.sql").write_text(TABLES)
    shop = Shop(load_project(tmp_path, tmp_path))
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    return shop


def served_by_the_command(shop, *options):
    command = [sys.executable, "-m", "freshline", "ui", "--project", str(shop.root)]
    return subprocess.Popen(
        [*command, "--port", "0", "--json", *options], stdout=subprocess.PIPE, text=True
    )


def test_the_command_serves_a_project_at_rest_until_it_is_stopped(shop):
    process = served_by_the_command(shop)
    try:
        assert process.stdout is not None
        ask = Client(json.loads(process.stdout.readline())["url"])
        assert ask("/healthz").json["spark"] == "none"
        assert ask("/").status == 200
        assert ask("/v1/tables/big").json["updates"] == 1
        assert ask("/metrics").status == 404
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
        assert process.stdout is not None
        process.stdout.close()


def test_a_run_that_is_not_in_the_journal_cannot_be_shown(shop):
    process = served_by_the_command(shop, "--from-run", "9")
    process.communicate(timeout=120)
    assert process.returncode == 2


def test_a_recorded_run_is_shown_as_it_was_at_its_end(shop, serve):
    first_end_s = recorded_end_s(shop.project, 1)
    before = Reader(shop.project, lambda: first_end_s).status()
    shop.file("orders", 2, [3])
    shop.run_until_idle()
    reader = Reader(shop.project, lambda: first_end_s, run=1)
    was, now = reader.status(), Reader(shop.project).status()
    for old, seen, new in zip(before.tables, was.tables, now.tables, strict=True):
        assert (seen.name, seen.freshness_s) == (old.name, old.freshness_s)
        assert seen.last_update == old.last_update
        assert seen.updates == 1
        assert (new.freshness_s or 0.0) > (seen.freshness_s or 0.0)
    assert was.run.stopped_s == first_end_s
    assert not was.run.running


@pytest.mark.slow
def test_another_policy_is_played_in_a_process_of_its_own(shop, serve):
    with serve(shop.project) as ask:
        found = ask("/v1/ui/what-if?policy=edf,fifo&tracks=1")
        assert found.status == 200, found.body
        assert [each["policy"] for each in found.json["played"]] == ["edf", "fifo"]
        assert set(found.json["happened"]["tables"]) == {"orders", "big", "small"}
        changed = ask("/v1/ui/what-if?priority=big%3D9&target=big%3D2+minutes%2Csmall%3D1h").json
        assert changed["priorities"]["big"] == 9.0
        assert changed["happened"]["tables"]["big"]["target_lag"] == 120.0
        assert len(ask("/v1/ui/what-if?sweep=target").json["cost"]) >= 3
        for wrong in ("priority=big", "target=--help%3D1", "target=big%3Dsoon", "sweep=cost"):
            assert ask(f"/v1/ui/what-if?{wrong}").status == 400
        for wrong in ("policy=guess", "tracks=0", "tracks=1,2,3&policy=edf,fifo,edf-p"):
            assert ask(f"/v1/ui/what-if?{wrong}").status == 400


def test_a_run_that_cannot_be_played_says_why(shop, serve):
    journal = Journal(journal_path(shop.project), create=False)
    journal.write("DELETE FROM runs")
    journal.close()
    with serve(shop.project) as ask:
        found = ask("/v1/ui/what-if?policy=edf")
        assert (found.status, found.json["error"]) == (400, "not-played")
        assert "the journal has no run" in found.json["message"]
