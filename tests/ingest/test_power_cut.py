"""The power fails after any write of the gateway: what was acknowledged is landed, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ingest.lives import check
from tests.support.power_cut import Disk, Operation, put, recorded
from tests.support.share import WHOLE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

_LIFE = """
import sys
from pathlib import Path
from tests.ingest.lives import short_life
sys.stdin.readline()
short_life(Path(sys.argv[1]), "")
"""
_MOMENTS = 10_000 if WHOLE else 60


def _recorded_life(folder: Path, log: Path) -> tuple[Disk, list[Operation]]:
    """A gateway's whole life in ``folder``: the disk before it, and what was done to it."""
    folder.mkdir()
    disk = Disk(folder)
    command = [sys.executable, "-c", _LIFE, str(folder)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE) as life,
        recorded(folder, [life.pid], log) as operations,
    ):
        life.communicate(b"go\n")
        assert life.returncode == 0
    return disk, operations


def test_after_a_power_cut_everything_acknowledged_is_landed_once(tmp_path):
    folder = tmp_path / "gateway"
    disk, operations = _recorded_life(folder, tmp_path / "strace.log")
    images = []
    for operation in operations:
        disk.do(operation)
        # What clients know is theirs: no power cut takes it back.
        known = {
            name: content
            for name, content in disk.now().items()
            if os.path.basename(name).startswith("acknowledged-")  # noqa: PTH119
        }
        images += [disk.least() | known, disk.every_name() | known]
    differing = [image for last, image in zip([{}, *images], images, strict=False) if image != last]
    assert len(differing) > 100
    step = max(1, len(differing) // _MOMENTS)
    for number, image in enumerate(differing[::step]):
        again = tmp_path / f"{number}"
        again.mkdir()
        put(image, folder, again)
        check(again)


def test_the_replay_is_that_of_the_gateway(tmp_path):
    """Else the test above would look at moments that there never were."""
    folder = tmp_path / "gateway"
    disk, operations = _recorded_life(folder, tmp_path / "strace.log")
    for operation in operations:
        disk.do(operation)
    found = {name: content for name, content in disk.now().items() if content is not None}
    real = {str(each): each.read_bytes() for each in Path(folder).rglob("*") if each.is_file()}
    apart = {name for name in {*found, *real} if found.get(name) != real.get(name)}
    assert {Path(name).name for name in apart} <= {"ballast"}
