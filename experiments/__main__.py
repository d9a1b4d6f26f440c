"""``python -m experiments [NAME ...]``: play experiments, write their csv, picture and page.

With ``QUICK=1`` a small part of each, printed only; with ``--full`` as large as the papers';
with ``--check`` nothing is written and the exit status says whether every csv came out again.
"""

from __future__ import annotations

import argparse
import sys
import time

from experiments.common.experiment import as_csv
from experiments.common.found import experiment, names
from experiments.common.size import chosen


def main() -> int:
    """Play what was asked for."""
    asked = argparse.ArgumentParser(prog="experiments", description=__doc__)
    asked.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    asked.add_argument("--full", action="store_true", help="as many events as in the papers")
    asked.add_argument("--check", action="store_true", help="compare with the csv that is there")
    options = asked.parse_args()
    unknown = [name for name in options.names if name not in names()]
    if unknown:
        asked.error(f"no experiment '{unknown[0]}'; there are {', '.join(names())}")
    size = chosen(full=options.full)
    different = []
    for name in options.names or names():
        one, start_s = experiment(name), time.monotonic()
        rows = one.play(size)
        print(f"{name}: {time.monotonic() - start_s:.1f} s", flush=True)
        for found in one.findings(rows):
            print(f"  {'holds' if found.holds else 'FAILS'}: {found.claim}: {found.measured}")
        if options.check:
            if (one.folder / "results.csv").read_text() != as_csv(rows):
                different.append(name)
        elif not size.quick:
            one.write(rows)
    if different:
        print(f"not as in results.csv: {', '.join(different)}", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())
