"""``python -m benchmarks``: run benchmarks one after the other, each in a process of its own.

A benchmark is a module of this package that can be run, ``python -m benchmarks.NAME``; what
they are made of is in packages beneath. The exit status is 1 where a benchmark broke, never
because a goal was missed: that is a result, and stands in the table.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.common.report import RESULTS

_FOLDER = Path(__file__).parent


def found() -> list[str]:
    """Names of all benchmarks."""
    return sorted(path.stem for path in _FOLDER.glob("*.py") if not path.stem.startswith("_"))


def main() -> int:
    """Run those asked for, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(found())}")
    parser.add_argument("--quick", action="store_true", help="a quarter of the time, more noise")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in found()]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}: there are {', '.join(found())}")
    broken = []
    for name in options.names or found():
        quick = ["--quick"] if options.quick else []
        command = [sys.executable, "-m", f"benchmarks.{name}", *quick]
        if subprocess.run(command, cwd=_FOLDER.parent, check=False).returncode:
            broken.append(name)
    print(f"\nResults are in {RESULTS.relative_to(_FOLDER.parent)}")
    if broken:
        print(f"Broken: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
