"""Commits that are missing between others are said, and never passed over."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.core.errors import PlatformError
from freshline.delta.log import commits, commits_there, same_rows, whole_since


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
