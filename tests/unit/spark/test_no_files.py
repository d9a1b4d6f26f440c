"""What a journal of before may call a file, and is none: reading it could wait for ever."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

from freshline.spark.feeds.unreadable import no_files


def test_a_pipe_under_a_file_s_name_is_told_before_anything_reads_it(tmp_path):
    (tmp_path / "a.csv").write_text("1\n")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "b.csv")
    reader: Any = SimpleNamespace(feed=SimpleNamespace(kind="files", path=str(tmp_path)))
    assert no_files(reader, ["a.csv", "b.csv", "folder", "gone.csv"]) == [
        ("b.csv", "it is a pipe, a socket or a device, and no file")
    ]
