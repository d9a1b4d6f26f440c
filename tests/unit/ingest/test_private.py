"""Pushed records are closed to other users, whatever the umask and wherever they lie."""

from __future__ import annotations

import os
import stat

import pytest

from freshline.ingest.gateway import make_engine
from freshline.ingest.state import write_state
from freshline.project import IngestSettings, load_project
from freshline.project.ddl import columns
from tests.support.pushing import batch, engine, land

YML = """\
name: shop
storage: warehouse
libraries: [{glob: {include: "*.sql"}}]
feeds: {clicks: {kind: push, schema: "id BIGINT"}}
"""


@pytest.fixture(autouse=True)
def umask():
    before = os.umask(0o000)
    yield
    os.umask(before)


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def databases(folder) -> dict[str, int]:
    return {each.name: mode(each) for each in folder.iterdir() if ".db" in each.name}


def test_segments_and_catalogue_are_private_even_where_they_were_not(tmp_path):
    one = engine(tmp_path, "clicks")
    one.start(threads=False)
    one.submit(batch("clicks", "a", 0), None)
    one.commit_waiting()
    found = databases(tmp_path)
    assert set(found.values()) == {0o600}
    assert {name.partition("-")[0] for name in found} == {"segment", "catalogue.db"}
    one.close()
    for each in tmp_path.glob("*.db*"):
        each.chmod(0o644)
    tmp_path.chmod(0o755)
    again = engine(tmp_path, "clicks")
    again.start(threads=False)
    again.submit(batch("clicks", "a", 1), None)
    again.commit_waiting()
    assert set(databases(tmp_path).values()) == {0o600}
    assert mode(tmp_path) == 0o755  # a folder that the user named may be shared
    again.close()


def test_landed_files_are_private_in_a_folder_that_may_be_shared(tmp_path):
    """They hold what the segments held; a file takes the mode of the umask."""
    shared = tmp_path / "shared"
    shared.mkdir()
    one = engine(shared, "clicks")
    one.start(threads=False)
    one.submit(batch("clicks", "a", 0), None)
    land(one)
    one.close()
    landing = shared / "landed" / "clicks"
    assert len(list(landing.iterdir())) == 1
    assert mode(landing) == 0o700
    landing.chmod(0o755)  # as a version before this left it
    again = engine(shared, "clicks")
    again.start(threads=False)
    assert mode(landing) == 0o700
    assert mode(shared) == 0o777
    landing.chmod(0o750)  # for executors of another user, in its group
    again.submit(batch("clicks", "a", 1), None)
    land(again)
    again.close()
    last = engine(shared, "clicks")
    last.start(threads=False)
    assert mode(landing) == 0o750
    last.close()


def test_the_state_for_status_is_private(tmp_path):
    for _ in range(2):
        write_state(tmp_path, {"url": "http://127.0.0.1:8787", "messages": ["of a record"]})
        (state,) = tmp_path.iterdir()
        assert mode(state) == 0o600
        state.chmod(0o644)


def test_the_gateway_alone_closes_the_folder_of_its_project(tmp_path):
    (tmp_path / "freshline.yml").write_text(YML)
    (tmp_path / "t.sql").write_text("CREATE STREAMING TABLE t AS SELECT * FROM STREAM clicks")
    project = load_project(tmp_path, tmp_path)
    assert isinstance(project.ingest, IngestSettings)
    own = tmp_path / "warehouse" / "_freshline"
    gateway = make_engine(project, project.ingest, {"clicks": tuple(columns("id BIGINT"))})
    gateway.start(threads=False)
    assert mode(own) == 0o700
    assert mode(own.parent) == 0o777
    gateway.close()
