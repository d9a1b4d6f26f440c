"""``python -m benchmarks.overload.producer STAGED FEEDS START_S``: release files in time."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from benchmarks.common.projects import FeedSpec, file_name
from benchmarks.overload.workload import plan


def main() -> None:
    """Copy each staged file into its feed when it is due, by a rename at the end."""
    staged, feeds, start_s = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    for release in plan(staged):
        wait_s = start_s + release.released_s - time.time()
        if wait_s > 0.0:
            time.sleep(wait_s)
        feed = FeedSpec(release.feed, Path(release.staged).suffix.removeprefix("."))
        final = feeds / feed.name / file_name(feed, start_s + release.due_s)
        unfinished = final.with_name(f"_{final.name}.tmp")
        shutil.copyfile(release.staged, unfinished)
        unfinished.rename(final)


if __name__ == "__main__":
    main()
