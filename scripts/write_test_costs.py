"""Write what each test file cost in the last `make test`: tests/costs.json, dearest first.

Processor seconds, those of started processes included. The next run starts with the dearest
files.
"""

from __future__ import annotations

import json
import sys

from tests.support.costs import MEASURED, TABLE, measured


def main() -> int:
    """Write the table; exit status 1 where nothing was measured."""
    found = measured()
    if not found:
        print(f"nothing is measured in {MEASURED}: run make test first", file=sys.stderr)
        return 1
    # What costs next to nothing is not worth a line.
    dear = {file: round(cpu_s, 1) for file, cpu_s in found.items() if cpu_s >= 1.0}
    TABLE.write_text(json.dumps(dear, indent=1) + "\n")
    for file, cpu_s in list(dear.items())[:25]:
        print(f"{cpu_s:8.1f} s  {file}")
    print(f"{sum(found.values()):8.1f} s  of {len(found)} files, in {TABLE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
