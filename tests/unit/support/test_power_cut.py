"""What the replay of recorded writes says a disk has after a power cut."""

from __future__ import annotations

import subprocess
import sys

from tests.support.power_cut import Disk, recorded

WRITER = """
import os, sys
sys.stdin.readline()
folder = sys.argv[1]
def flush(path):
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
with open(f"{folder}/draft", "wb") as file:
    file.write(b"whole")
flush(f"{folder}/draft")
os.rename(f"{folder}/draft", f"{folder}/kept")
flush(folder)
with open(f"{folder}/kept", "ab") as file:
    file.write(b" and more")
os.mkdir(f"{folder}/new")
with open(f"{folder}/new/lost", "wb") as file:
    file.write(b"never flushed")
handle = os.open(f"{folder}/old", os.O_RDWR)
os.pwrite(handle, b"XY", 1)
os.fsync(handle)
os.close(handle)
os.unlink(f"{folder}/gone")
"""


def test_only_what_was_flushed_is_sure_to_be_there(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").write_bytes(b"abcd")
    (folder / "gone").write_bytes(b"x")
    disk = Disk(folder)
    command = [sys.executable, "-c", WRITER, str(folder)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE) as writer,
        recorded(folder, [writer.pid], tmp_path / "log") as operations,
    ):
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
        writer.wait()
    states = []
    for operation in operations:
        disk.do(operation)
        states.append(disk.least())

    def named(image):
        return {name.removeprefix(f"{folder}/"): content for name, content in image.items()}

    assert named(disk.now()) == {
        "kept": b"whole and more", "new": None, "new/lost": b"never flushed", "old": b"aXYd"
    }  # fmt: skip
    assert named(disk.least()) == {"kept": b"whole", "old": b"aXYd", "gone": b"x"}
    assert named(disk.every_name()) == {
        "kept": b"whole", "new": None, "new/lost": b"", "old": b"aXYd"
    }  # fmt: skip
    # A file that was flushed is not there before its name is.
    assert sorted(map(len, states)) == [len(each) for each in states]
    assert all("draft" not in named(each) for each in states)
