"""Pushed records are closed to other users, whatever the umask and wherever they lie."""

from __future__ import annotations

import os
import stat

import pytest

from freshline.ingest.gateway import make_engine
from freshline.project import IngestSettings, load_project
from freshline.project.ddl import columns
from tests.support.pushing import batch, engine

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
