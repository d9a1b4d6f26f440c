"""The producer: a process of its own that knows nothing of the warehouse.

``python -m demo.producer DEMO_OUT START_S`` lays each staged file into its feed when its time
has come: written under a name that ends in .tmp, then renamed, so that nobody ever reads half
a file. With the address of Kafka's brokers as a third argument, its rows are sent to the feed's
topic instead.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from demo import schedule, topics
from demo.places import Places


def release(places: Places, each: schedule.Release, start_s: float) -> None:
    """Let one file appear in its feed."""
    (staged,) = (places.staged / each.feed / f"slice={each.slice}").iterdir()
    final = places.feed / each.feed / each.name(start_s)
    unfinished = final.with_name(final.name + ".tmp")
    shutil.copyfile(staged, unfinished)
    unfinished.rename(final)


def main() -> int:
    """Release everything, then end."""
    places, start_s = Places(Path(sys.argv[1])), float(sys.argv[2])
    sender = topics.Sender(sys.argv[3]) if len(sys.argv) > 3 else None
    for feed in schedule.SUFFIXES:
        (places.feed / feed).mkdir(parents=True, exist_ok=True)
    for each in schedule.load(places.plan):
        wait_s = start_s + each.release_s - time.time()
        if wait_s > 0.0:
            time.sleep(wait_s)
        if sender is None:
            release(places, each, start_s)
        else:
            sender.send(places, each, start_s)
    return 0


if __name__ == "__main__":
    sys.exit(main())
