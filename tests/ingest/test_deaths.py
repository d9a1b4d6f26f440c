"""Killed at any moment: what was acknowledged is landed, once, and every file is readable.

FRESHLINE_KILLS sets how many random moments are tried (40; ``make soak PART=gateway``: 1,000) and
FRESHLINE_SEED which.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import freshline.ingest
from freshline.failpoints import armed
from freshline.ingest.engine.landedfile import landed_names
from freshline.ingest.receipts import Unavailable
from tests.ingest.lives import FEEDS, Committing, check, produce
from tests.support.pushing import batch, engine, landed

_KILLS = int(os.environ.get("FRESHLINE_KILLS", "40"))
_SEED = int(os.environ.get("FRESHLINE_SEED", "1"))
_SOURCES = Path(freshline.ingest.__file__).parent.rglob("*.py")
FAILPOINTS = sorted(
    name
    for name in {
        each for path in _SOURCES for each in re.findall(r'failpoint\("(.+?)"\)', path.read_text())
    }
    if not name.startswith("ingest.put.")
)
"""All but those around an object store, which tests/unit/ingest/test_store_landing.py tries."""


def live(*arguments: str):
    """What the lives report."""
    command = [sys.executable, "-m", "tests.ingest.lives", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.slow
@pytest.mark.timeout(600 + 10 * _KILLS)
def test_after_kills_at_random_everything_acknowledged_is_landed_once(shm_path):
    report = live("random", str(shm_path), str(_KILLS), str(_SEED))
    assert report["loops"] == _KILLS
    assert report["acknowledged"] > _KILLS
    assert report["files"] > _KILLS / 10


@pytest.mark.slow
def test_after_a_death_at_each_failpoint_everything_acknowledged_is_landed_once(shm_path):
    assert len(FAILPOINTS) >= 15
    assert live("failpoints", str(shm_path), *FAILPOINTS) == {"survived": []}


@pytest.mark.parametrize("name", FAILPOINTS)
@pytest.mark.parametrize("error", ["eio", "enospc"])
def test_after_an_error_at_each_failpoint_it_goes_on_without_restart(shm_path, name, error):
    gateway = engine(shm_path, *FEEDS)
    gateway.start(threads=False)
    pushing = Committing(gateway)
    with armed(f"{name}={error}"):
        for requests in (3, 6):
            for who in ("p0", "p1"):
                produce(pushing, shm_path, who, requests)
            for _ in range(3):
                gateway.roll()
                gateway.commit_waiting()
                while gateway.land_once():
                    pass
    metrics = gateway.metrics()
    assert (metrics.state, metrics.segments) == ("open", 1)
    assert len(metrics.messages) == 1, "an error is told, once"
    gateway.close()
    check(shm_path)


@pytest.mark.parametrize("error", ["eio", "enospc"])
def test_a_failed_commit_is_refused_and_its_rows_never_come_back(shm_path, error):
    gateway = engine(shm_path, *FEEDS)
    gateway.start(threads=False)
    pushing = Committing(gateway)
    with armed(f"ingest.commit.after-sync={error}"), pytest.raises(Unavailable) as refused:
        pushing.submit(batch("clicks", "p0", 2, 3), "k").result()
    assert refused.value.code == {"eio": "commit-failed", "enospc": "disk"}[error]
    again = pushing.submit(batch("clicks", "p0", 2, 3), "k").result()
    assert (again.first, again.last, again.duplicate) == (1, 3, False)
    gateway.close()
    restarted = engine(shm_path, *FEEDS)
    assert restarted.start(threads=False).records == 3
    restarted.close()


@pytest.mark.parametrize("error", ["eio", "enospc"])
def test_a_refused_request_is_not_known_by_its_key(shm_path, error):
    gateway = engine(shm_path, *FEEDS)
    gateway.start(threads=False)
    pushing = Committing(gateway)
    pushed = batch("clicks", "p0", 2, 3)
    with armed(f"ingest.commit.after-sync={error}"), pytest.raises(Unavailable):
        pushing.submit(pushed, "k").result()
    while gateway.land_once():  # the keys of the given-up segment are copied
        pass
    assert not pushing.submit(pushed, "k").result().duplicate
    gateway.close()


@pytest.mark.parametrize(
    ("point", "seen", "left"),
    [
        ("ingest.land.after-rename", 0, 10),  # hidden and in no ledger: nobody has seen it
        ("ingest.ledger.after", 0, 0),
        ("ingest.land.before-publish", 0, 0),
        ("ingest.land.after-publish", 10, 0),
    ],
)
def test_what_a_death_left_of_a_landed_file_is_shown_or_landed_in_other_pieces(
    shm_path, point, seen, left
):
    gateway = engine(shm_path, "clicks")
    gateway.start(threads=False)
    pushing = Committing(gateway)
    for request in range(10):
        pushing.submit(batch("clicks", "p0", request), None).result()
    gateway.roll()
    gateway.commit_waiting()
    with armed(f"{point}=eio"):
        gateway.land_once()
    gateway.close()
    before = {path.name: path.stat().st_ino for path in (shm_path / "landed/clicks").iterdir()}
    assert len(landed(shm_path, "clicks")) == seen
    restarted = engine(shm_path, "clicks", file_bytes=2000)
    assert restarted.start(threads=False).requests == left
    while restarted.land_once():
        pass
    restarted.close()
    assert len(landed(shm_path, "clicks")) == 10
    after = {path.name: path.stat().st_ino for path in (shm_path / "landed/clicks").iterdir()}
    assert all(not name.startswith(".") for name in after)
    if not left:  # the very file that was written, under the name that its records decide
        assert list(after.values()) == list(before.values())


@pytest.mark.parametrize("point", ["ingest.ledger.after", "ingest.land.after-publish"])
def test_a_file_that_can_be_seen_is_never_written_again(shm_path, point):
    gateway = engine(shm_path, "clicks")
    gateway.start(threads=False)
    pushing = Committing(gateway)
    pushing.submit(batch("clicks", "p0", 0), None).result()
    gateway.roll()
    gateway.commit_waiting()
    with armed(f"{point}=eio"):
        gateway.land_once()
    seen = {file.name for file in landed_names("clicks", shm_path / "landed" / "clicks")}
    for name in seen:
        # As the warehouse does once it has read it.
        (shm_path / "landed" / "clicks" / name).unlink()
    while gateway.land_once():
        pass
    gateway.close()
    assert len(landed(shm_path, "clicks")) == (0 if seen else 1)
    restarted = engine(shm_path, "clicks")
    assert restarted.start(threads=False).requests == 0
    restarted.close()
    assert len(landed(shm_path, "clicks")) == (0 if seen else 1)
