"""Puts each fault into the program and tells who finds it: ``python -m tests.spark.mutation``.

Results are added to a file, a line a fault; ``--page`` writes them to ``docs/mutation.md``. What
the page has of faults that this file lacks stays, and these are not judged again unless they are
named. ``--mends`` takes the mends of silently wrong views out, one by one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from tests.spark.generated.searching import ROOT, commit, started
from tests.spark.mutation import faults
from tests.spark.mutation.judging import ZONE, Judges, Verdict
from tests.spark.mutation.mends import FOREIGN_SOURCES, MENDS, Mend
from tests.spark.mutation.page import Record, rows_of, written
from tests.spark.mutation.queries import ALL, KEYED, TRIED
from tests.spark.views.proving import session_in

OPEN = ("gives up", "not reached", "not found", "stale")
RESULTS = ROOT / ".cache" / "mutation.jsonl"
PAGE = ROOT / "docs" / "mutation.md"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="judge these faults alone, judged or not")
    parser.add_argument("--only", default="", help="faults whose file or name holds this text")
    parser.add_argument("--again", action="store_true", help="also those that were judged")
    parser.add_argument("--left", action="store_true", help="also those that nobody found")
    parser.add_argument("--page", action="store_true", help="write the page, judge nothing")
    parser.add_argument("--mends", action="store_true", help="take out mends, not judge faults")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after this time")
    arguments = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    found: dict[str, Record] = dict(rows_of(PAGE.read_text()))
    found |= {each["name"]: each for each in map(json.loads, lines)}
    if arguments.page:
        PAGE.write_text(written(found))
        return
    began_s = time.monotonic()
    if arguments.mends:
        _take_out([mend for mend in MENDS if arguments.again or mend.name not in found])
        return
    if unknown := set(arguments.names) - {fault.name for fault in faults.ALL}:
        parser.error(f"no such faults: {', '.join(sorted(unknown))}")
    wanted = [
        fault
        for fault in faults.ALL
        if fault.name in arguments.names
        or (
            not arguments.names
            and arguments.only in f"{fault.file} {fault.name}"
            and (
                arguments.again
                or fault.name not in found
                or (arguments.left and found[fault.name]["by"] in OPEN)
            )
        )
    ]
    work = Path(tempfile.mkdtemp(prefix="mutation-"))
    spark = started(work)
    judges = Judges(session_in(spark, ZONE), work, (*ALL, *KEYED), TRIED)
    for fault in wanted:
        if time.monotonic() - began_s > arguments.seconds:
            break
        _judged(fault.name, fault.file, partial(judges.judge, fault))
    spark.stop()


def _take_out(mends: Sequence[Mend]) -> None:
    work = Path(tempfile.mkdtemp(prefix="mutation-"))
    spark = started(work)
    queries = [mend.query for mend in mends]
    judges = Judges(session_in(spark, ZONE), work, queries, (), FOREIGN_SOURCES)
    for mend in mends:
        _judged(mend.name, mend.faults[0].file, partial(judges.taken_out, mend))
    spark.stop()


def _judged(name: str, file: str, judge: Callable[[], Verdict]) -> None:
    began_s = time.monotonic()
    verdict = judge()
    record = {"name": name, "file": file, "commit": commit()} | asdict(verdict)
    with RESULTS.open("a") as results:
        results.write(json.dumps(record) + "\n")
    told = f"{verdict.by:15} {time.monotonic() - began_s:5.1f} s  {file}: {name}"
    sys.stdout.write(f"{told}  [{verdict.query[:80]}] {verdict.told[:160]}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
