"""Commits that are missing between others are said, and never passed over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.core.errors import PlatformError
from freshline.delta.log import (
    commits,
    commits_there,
    last_commit,
    same_rows,
    version,
    whole_since,
)
from freshline.delta.log_files import FolderLog


def logged(folder, versions, strategy="append"):
    """A log with commits of these versions."""
    log = folder / "_delta_log"
    log.mkdir()
    for number in versions:
        info = {"freshline": 1, "update": number + 1, "strategy": strategy}
        told = {"commitInfo": {"timestamp": number, "userMetadata": json.dumps(info)}}
        (log / f"{number:020d}.json").write_text(json.dumps(told))
    return str(folder)


@given(st.sets(st.integers(0, 12)), st.integers(-1, 13))
def test_whatever_is_missing(tmp_path_factory, versions, since):
    path = logged(tmp_path_factory.mktemp("t"), versions)
    behind = [each for each in sorted(versions) if each > since]
    assert [each.version for each in commits_there(path, since)] == behind
    newest = max(versions, default=-1)
    missing = {*range(since + 1, newest)} - versions
    assert whole_since(path, since) == max(missing, default=since)
    # Without the oldest nobody knows of more than was cleaned up.
    if any(min(versions) < each for each in missing):
        with pytest.raises(PlatformError) as refused:
            list(commits(path, since))
        assert refused.value.code == "log-gap"
    else:
        assert [each.version for each in commits(path, since)] == behind


def test_which_are_missing_is_told(tmp_path):
    path = logged(tmp_path, [0, 1, 2, 5, 6])
    found = commits(path)
    assert [next(found).version for _ in range(3)] == [0, 1, 2]
    with pytest.raises(PlatformError, match=r"commits 3 to 4 are missing in .*_delta_log") as told:
        next(found)
    assert told.value.next_step.startswith("Put them back from a copy;")


def test_rows_behind_missing_commits_count_as_others(tmp_path):
    path = logged(tmp_path, [0, 1, 2, 5, 6], "compact")
    assert same_rows(path, 0, 2)
    assert same_rows(path, 5, 6)
    assert not same_rows(path, 2, 6)


def noted(path, number):
    """Delta's note of its newest checkpoint."""
    (Path(path) / "_delta_log" / "_last_checkpoint").write_text(json.dumps({"version": number}))


def test_an_older_note_of_a_checkpoint_hides_no_commit_behind_missing_ones(tmp_path):
    path = logged(tmp_path, [*range(900, 1001), *range(1400, 1501)])
    noted(path, 960)
    assert version(path) == 1500
    last = last_commit(path)
    assert last is not None
    assert last.version == 1500
    with pytest.raises(PlatformError, match="commits 1001 to 1399 are missing"):
        list(commits(path, 950))


def test_a_copy_that_is_laid_over_a_log_in_use_hides_no_commit(tmp_path):
    path = logged(tmp_path, range(1400, 1501))
    noted(path, 1490)
    assert version(path) == 1500
    (tmp_path / "copy").mkdir()
    copied = Path(logged(tmp_path / "copy", range(900, 1001)))
    noted(str(copied), 960)
    shutil.copytree(copied, path, dirs_exist_ok=True)
    assert version(path) == 1500


def test_a_log_with_a_checkpoint_is_listed_once(tmp_path, monkeypatch):
    listed: list[Path] = []
    names = FolderLog.names

    def counted(log: FolderLog) -> list[str]:
        listed.append(log.folder)
        return names(log)

    monkeypatch.setattr(FolderLog, "names", counted)
    path = logged(tmp_path, range(11))
    noted(path, 10)
    folder = tmp_path / "_delta_log"
    for number in range(10, 20):
        assert version(path) == number
        shutil.copy(folder / f"{number:020d}.json", folder / f"{number + 1:020d}.json")
    assert listed == [folder]
    for number in range(5, 21):  # an older copy takes its place
        (folder / f"{number:020d}.json").unlink()
    noted(path, 3)
    assert [version(path), version(path)] == [4, 4]
    assert listed == [folder, folder]
