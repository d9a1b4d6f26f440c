"""Plans of many queries as texts, printed: for a process whose sets have another order."""

from __future__ import annotations

import json

from freshline.sql.plan import view_plan
from freshline.sql.query.records import Reason
from tests.support.view_cases import CASES, SOURCES
from tests.unit.sql.merging import Merging
from tests.unit.sql.test_decompose_traps import BATCHES, MERGES, PART, SALE, SHOP, rows_of_shops

NOT = Reason("NOT_ASKED_FOR", "in a test")


def plan_texts() -> dict[str, str]:
    """The plan by the name of its query."""
    shops = Merging([SALE, PART, SHOP], BATCHES)
    shops.load(rows_of_shops())
    plans = {
        name: view_plan(query, shops.sources, decompose=lambda query, _: shops.cut(query))
        for name, query in MERGES.items()
    }
    plans |= {case.name: view_plan(case.query, SOURCES, decompose=lambda *_: NOT) for case in CASES}
    return {name: repr(plan) for name, plan in plans.items()}


if __name__ == "__main__":
    print(json.dumps(plan_texts()))  # noqa: T201 - another process reads it
