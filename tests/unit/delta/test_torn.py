"""What is taken for torn by a power cut, and what is not."""

from __future__ import annotations

import json

import pytest

from freshline.core.errors import PlatformError
from freshline.delta.torn import find_torn, put_aside


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "_delta_log"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("separator", ["\u2028", "\u0085"])
def test_a_value_that_separates_lines_does_not_tear_a_commit(log, separator):
    # Delta writes the least and greatest texts of a file as they are.
    (log.parent / "a.parquet").write_bytes(b"12345")
    stats = json.dumps({"minValues": {"name": f"a{separator}b"}}, ensure_ascii=False)
    added = {"path": "a.parquet", "size": 5, "stats": stats}
    text = json.dumps({"commitInfo": {}}) + "\n" + json.dumps({"add": added}, ensure_ascii=False)
    (log / f"{0:020d}.json").write_text(text, "utf-8")
    assert find_torn(str(log.parent)) is None


def test_a_commit_that_cannot_be_read_just_now_is_not_taken_for_torn(log):
    (log / f"{0:020d}.json").mkdir()
    with pytest.raises(PlatformError) as caught:
        find_torn(str(log.parent))
    assert caught.value.code == "log-unreadable"


def test_a_file_is_removed_however_its_name_is_encoded(log):
    added = {"path": "land=Österreich/a%20b.parquet", "size": 5}
    removed = {"path": "land=%C3%96sterreich/a%20b.parquet", "dataChange": False}
    for number, action in enumerate(({"add": added}, {"remove": removed})):
        text = json.dumps({"commitInfo": {}}) + "\n" + json.dumps(action, ensure_ascii=False)
        (log / f"{number:020d}.json").write_text(text, "utf-8")
    assert find_torn(str(log.parent)) is None


def test_what_tells_of_a_torn_commit_beside_others_goes_with_it(log, tmp_path):
    for number in range(4):
        (log / f"{number:020d}.json").write_text(json.dumps({"commitInfo": {}}))
    for first, last in ((0, 1), (1, 3)):
        (log / f"{first:020d}.{last:020d}.compacted.json").write_text("{}")
    (log / f"{3:020d}.json").write_text("")
    torn = find_torn(str(log.parent))
    assert torn is not None
    put_aside(torn, tmp_path / "aside")
    assert sorted(each.name for each in log.iterdir()) == [
        f"{0:020d}.{1:020d}.compacted.json",
        *(f"{number:020d}.json" for number in range(3)),
    ]
    assert len(list((tmp_path / "aside").iterdir())) == 2
