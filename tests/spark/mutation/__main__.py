"""Puts each fault into the program and tells who finds it: ``python -m tests.spark.mutation``.

Results are added to a file, a line a fault; ``--page`` writes them to ``docs/mutation.md``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tests.spark.generated.searching import ROOT, commit, started
from tests.spark.mutation import faults
from tests.spark.mutation.judging import ZONE, Judges
from tests.spark.mutation.page import written
from tests.spark.mutation.queries import ALL, TRIED
from tests.spark.views.proving import session_in

OPEN = ("gives up", "not reached", "not found", "stale")
RESULTS = ROOT / ".cache" / "mutation.jsonl"
PAGE = ROOT / "docs" / "mutation.md"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="faults whose file or name holds this text")
    parser.add_argument("--again", action="store_true", help="also those that were judged")
    parser.add_argument("--left", action="store_true", help="also those that nobody found")
    parser.add_argument("--page", action="store_true", help="write the page, judge nothing")
    arguments = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    found = {each["name"]: each for each in map(json.loads, lines)}
    if arguments.page:
        PAGE.write_text(written(found))
        return
    wanted = [
        fault
        for fault in faults.ALL
        if arguments.only in f"{fault.file} {fault.name}"
        and (
            arguments.again
            or fault.name not in found
            or (arguments.left and found[fault.name]["by"] in OPEN)
        )
    ]
    work = Path(tempfile.mkdtemp(prefix="mutation-"))
    spark = started(work)
    judges = Judges(session_in(spark, ZONE), work, ALL, TRIED)
    tree = commit()
    for fault in wanted:
        began = time.monotonic()
        verdict = judges.judge(fault)
        record = {"name": fault.name, "file": fault.file, "commit": tree, "views": len(ALL)}
        record |= asdict(verdict)
        with RESULTS.open("a") as file:
            file.write(json.dumps(record) + "\n")
        told = f"{verdict.by:15} {time.monotonic() - began:5.1f} s  {fault.file}: {fault.name}"
        sys.stdout.write(f"{told}  [{verdict.query[:80]}] {verdict.told[:160]}\n")
        sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main()
