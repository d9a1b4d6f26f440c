"""``python -m benchmarks.pushing.fill FOLDER BYTES``: a log of that size, and a sudden death.

Nothing is landed and nothing is closed: the next start finds the log as a loss of the process
leaves it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.pushing.producers import engine_in
from benchmarks.pushing.records import RECORDS, requests
from freshline.ingest.engine.settings import EngineSettings
from freshline.ingest.receipts import Batch

GIB = 1 << 30
UNLANDED = EngineSettings(
    memory_bytes=2 * GIB, segment_bytes=GIB, landing_bytes=GIB, landing_period_s=1e9
)
_AT_ONCE = 8


def main() -> None:
    """Fill, then die."""
    folder, size_bytes = Path(sys.argv[1]), int(sys.argv[2])
    engine = engine_in(folder, ("feed_0",), UNLANDED)
    engine.start()
    sent = requests(_AT_ONCE)
    while engine.metrics().log_bytes < size_bytes:
        waiting = [engine.submit(Batch("feed_0", RECORDS, each.arrow), None) for each in sent]
        for future in waiting:
            future.result()
    os._exit(0)


if __name__ == "__main__":
    main()
