"""Small files beside the tables, on this machine and on a real S3 server."""

from __future__ import annotations

import dataclasses

import pytest

from freshline.core.errors import PlatformError
from freshline.delta.own_files import OwnFiles
from freshline.delta.stores import use
from freshline.executor.distrust import (
    differing_rows,
    distrust,
    distrusted,
    distrusted_views,
    keep_evidence,
    trust_again,
)
from freshline.executor.verified import WRONG, Difference, DifferingRow, VersionCheck
from freshline.project.definition import definition_of
from tests.support.s3_server import S3Server
from tests.support.shop import made_project


@pytest.fixture(scope="module")
def s3():
    with S3Server() as server:
        yield server


@pytest.fixture(params=["local", "s3a"])
def storage(request, tmp_path, s3):
    if request.param == "local":
        yield f"{tmp_path}/w"
        return
    use(s3.settings)
    yield f"s3a://lake/{request.node.name}"
    use({})


@pytest.fixture
def own(storage):
    return OwnFiles(f"{storage}/_freshline")


def test_what_was_written_is_read_replaced_listed_and_removed(own):
    assert own.read("wrong/a.json") is None
    assert own.names("wrong") == set()
    own.write("wrong/a.json", "größe")
    own.write("wrong/b.json", "x")
    assert own.read("wrong/a.json") == "größe"
    own.write("wrong/a.json", "y")
    assert own.read("wrong/a.json") == "y"
    assert own.names("wrong") == {"a.json", "b.json"}
    assert own.remove("wrong/a.json")
    assert not own.remove("wrong/a.json")
    assert own.names("wrong") == {"b.json"}


def test_a_folder_stands_in_place_of_the_one_before(own, tmp_path):
    made = tmp_path / "made"
    (made / "deep").mkdir(parents=True)
    (made / "one").write_text("1")
    (made / "deep" / "two").write_bytes(b"2" * 100)
    assert own.put(made, "evidence/trial-v") == f"{own.place}/evidence/trial-v"
    assert own.read("evidence/trial-v/one") == "1"
    (made / "one").unlink()
    own.put(made, "evidence/trial-v")
    assert own.read("evidence/trial-v/one") is None
    assert own.read("evidence/trial-v/deep/two") == "2" * 100
    assert (made / "deep" / "two").exists()


def test_a_view_that_is_not_trusted_stands_in_the_storage_with_its_evidence(storage, tmp_path):
    """Another host that leads next knows of it."""
    project = dataclasses.replace(
        made_project(tmp_path / "here", {"orders": (), "big": ("orders",)}), storage=storage
    )
    definition = definition_of(project.table("big"))
    row = DifferingRow({"n": "a\u2028b"}, -1)
    check = VersionCheck(
        "big", 7, WRONG, "append", difference=Difference(1, 0, (row,)), query="SELECT 1", plan="p"
    )
    evidence = keep_evidence(project, check, 5.0)
    assert evidence == f"{storage}/_freshline/evidence/big/7"
    distrust(project, check, definition, 6.0, evidence)
    elsewhere = dataclasses.replace(project, root=tmp_path / "elsewhere")
    wrong = distrusted(elsewhere, "big", definition)
    assert wrong is not None
    assert (wrong.version, wrong.missing, wrong.evidence) == (7, 1, evidence)
    assert distrusted_views(elsewhere) == {"big": wrong}
    assert distrusted(elsewhere, "big", "another query") is None
    own = OwnFiles(project.own_path)
    assert own.read("evidence/big/7/query.sql") == "SELECT 1"
    assert differing_rows(wrong, 5) == [{"times": -1, "row": {"n": "a\u2028b"}}]
    assert differing_rows(dataclasses.replace(wrong, evidence=f"{storage}/gone"), 5) == []
    assert trust_again(elsewhere, "big")
    assert distrusted_views(project) == {}
    assert not trust_again(elsewhere, "big")


def test_a_store_that_cannot_be_written_is_an_error(s3, tmp_path):
    use(s3.settings)
    try:
        own = OwnFiles("s3a://no-such-bucket/w/_freshline")
        with pytest.raises(PlatformError, match="cannot be reached") as raised:
            own.write("wrong/a.json", "x")
        assert raised.value.code == "storage-unreachable"
    finally:
        use({})
    (tmp_path / "wrong").write_text("a file where the folder should be")
    with pytest.raises(PlatformError, match="cannot be reached"):
        OwnFiles(str(tmp_path)).write("wrong/a.json", "x")
