"""Where a table's log is, by each way in which its place is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshline.delta.log import local_log


@pytest.mark.parametrize(
    ("written", "folder"),
    [
        ("/a b/t", "/a b/t"),
        ("/a%20b/x#1/q?y", "/a%20b/x#1/q?y"),
        ("file:/a%20b/x#1/q?y", "/a%20b/x#1/q?y"),
        ("file:/a b/t", "/a b/t"),
        ("file:///a%20b/t", "/a b/t"),
        ("s3a://bucket/t", None),
    ],
)
def test_a_log_is_where_hadoop_has_the_table(written, folder):
    found = local_log(written)
    assert found == (None if folder is None else Path(folder) / "_delta_log")
