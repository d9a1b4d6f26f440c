"""``python -m benchmarks.overload.producer STAGED FEEDS START_S``: release files in time."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from benchmarks.common.projects import file_name
from benchmarks.overload.workload import FEEDS, plan


def main() -> None:
    """Copy each staged file into its feed when it is due, by a rename at the end."""
    staged, feeds, start_s = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    known = {feed.name: feed for feed in FEEDS}
    for release in plan(staged):
        wait_s = start_s + release.due_s - time.time()
        if wait_s > 0.0:
            time.sleep(wait_s)
        final = feeds / release.feed / file_name(known[release.feed], start_s + release.due_s)
        unfinished = final.with_name(f"_{final.name}.tmp")
        shutil.copyfile(release.staged, unfinished)
        unfinished.rename(final)


if __name__ == "__main__":
    main()
