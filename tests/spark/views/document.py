"""docs/views.md: for every view that is proved its strategies, and why there is no better one.

Written by ``python -m tests.spark.views.document`` from what analysis says of the very views
that the tests run; the tests fail when it is not up to date.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from freshline.project.model import Project
from freshline.spark.engine.session import start_session
from freshline.sql.query.records import Buckets, Reason, ViewPlan
from freshline.sql.strategy import incremental

PAGE = Path(__file__).parents[3] / "docs" / "views.md"
_HEAD = """# How views are kept up to date

An update of a view uses one of these strategies. freshline considers them in this order:

| strategy | possible where | what an update does |
|---|---|---|
| `append` | new rows make output rows by themselves, or in inner joins | adds these rows |
| `bucket-recompute` | the output falls into buckets of time | computes the touched buckets again |
| `bucket-merge` | the same, where that was slow and aggregates merge | merges new aggregates in |
| `group-merge` | there are no buckets, but aggregates that merge | merges new aggregates in |
| `key-recompute` | rows of a key depend on those of that key alone | computes touched keys again |
| `full` | always | computes the view's query over everything |

After rows of a parent were deleted or rewritten, buckets are recomputed. A view without buckets
then uses `group-recompute`: it computes the groups of these rows again. That needs output rows
that show their group. `key-recompute` works after any change; where there is a better way for new
rows, it is what is left after deletions. Otherwise the whole view is computed.

A column is a key if every row of the view depends only on rows of the parents with its value: the
column that rows are joined, grouped, or partitioned by, or that a subquery compares
([0400](design/0400-keys-as-buckets.md)). The view has to show it. Windows and groups may use more
columns beside it.

Among the strategies that are right, `freshline.refresh` = `auto` takes the one that should take
the fewest seconds by the clock, `full` included ([0014](design/0014-which-strategy-is-quicker.md)).

The tables below list the strategies of many views, and why there is no better one. All these
views, except those of the last table, are tested on real Spark (`tests/spark/views`), with
`freshline.refresh` = `incremental`, which never takes `full` for its cost. Rows arrive on the
edges of buckets, late, without times and without keys. Then they are deleted, updated, merged and
overwritten by hand. Some views read views that rewrite their rows. After every commit the view is
compared with its query over the versions that the commit names. DuckDB computes the query where
it means the same there, otherwise Spark does. `make proof` compares all views with both;
`make test` compares some of them, and checks that each has the strategy shown here.
`python -m tests.spark.views.document` writes this page from the analysis, and a test fails when
it is out of date.
"""
_ORDERS = """`orders` (time `ts`), `clicks` (`ts`) and `days` (`d`) arrive; `users` and `cal` are
static."""
_ASKED = """## Write it so that it can be maintained

Show the key: without `usr` among its columns the first query below is computed in full at each
update. And what a window function or a join asks of all rows of a key, an aggregate can often say
in a way that merges. Both queries of a line answer one question; the first reads all rows of the
keys that changed (`key-recompute`), the second only the rows that are new (`group-merge`). `max` of
a struct compares its fields in their order, so what decides comes first. Rows that are alike in all
columns that are grouped by become one.

| question | keys computed again | merged |
|---|---|---|"""
_TABLE = "| view | query | strategies | why not better |\n|---|---|---|---|"


def row(name: str, query: str, plan: ViewPlan) -> str:
    """One view's line; ``query`` is Markdown."""
    found = incremental(plan, rewrote=False, final=False)
    names = ", ".join(way.name for way in found) or "full"
    return f"| {name} | {query} | {names} | {_why_not_better(plan)} |"


def sql(query: str) -> str:
    """A query as code in a cell of a table."""
    text = " ".join(query.split()).replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _why_not_better(plan: ViewPlan) -> str:
    """The reasons against what would be cheaper than the first strategy."""
    reasons: list[Reason] = []
    if not isinstance(plan.appends, Reason):
        return "none is better"
    if not isinstance(plan.buckets, Buckets):
        reasons.append(plan.buckets)
        if isinstance(plan.merge, Reason):
            reasons.append(plan.merge)
    else:
        reasons.append(plan.appends)
    told = dict.fromkeys(f"{each.code}: {each.message}" for each in reasons)
    return "; ".join(told).replace("|", "\\|").replace("\n", " ")


def section(title: str, intro: str, rows: Iterable[str]) -> str:
    """A heading and a table."""
    return "\n".join([f"## {title}", "", *([intro, ""] if intro else []), _TABLE, *rows]) + "\n"


def kinds_section(plans: Mapping[str, ViewPlan]) -> str:
    """The views of the analysis' tests and of :mod:`tests.spark.views.kinds`."""
    from tests.spark.views.kinds import ASKED, KINDS, OVER_VIEWS

    queries = {kind.why: sql(kind.query) for kind in KINDS}
    asked = [
        f"| {question} | {queries[in_full]} | {queries[maintained]} |"
        for question, (in_full, maintained) in ASKED.items()
    ]
    rows = [row(kind.why, sql(kind.query), plans[kind.name]) for kind in (*KINDS, *OVER_VIEWS)]
    many = section("Views of many kinds", _ORDERS, rows)
    return "\n".join([_ASKED, *asked, "", many])


def uncertain_section(plans: Mapping[str, ViewPlan]) -> str:
    """The views whose results differ from run to run."""
    from tests.spark.views.kinds import UNCERTAIN

    rows = [row(name, sql(query), plans[f"u_{name}"]) for name, (query, _) in UNCERTAIN.items()]
    return section("Views that no two runs agree on", "", rows)


def tpch_section(plans: Mapping[str, ViewPlan]) -> str:
    """TPC-H's queries."""
    intro = "`orders` and `lineitem` arrive, the other tables are static."
    rows = [
        row(name.upper(), f"[{name}.sql](../tests/data/tpch/{name}.sql)", plan)
        for name, plan in sorted(plans.items())
    ]
    return section("TPC-H", intro, rows)


def assert_up_to_date(part: str) -> None:
    """Fails where docs/views.md does not have this section as it is."""
    page = PAGE.read_text("utf-8")
    assert part in page, "run: python -m tests.spark.views.document"


def main() -> None:
    """Write the page."""
    from tests.spark.views import test_kinds, test_tpch_views

    sections: list[tuple[Callable[..., object], Callable[[Mapping[str, ViewPlan]], str]]] = [
        (test_tpch_views.warehouse, tpch_section),
        (test_kinds.warehouse, kinds_section),
        (test_kinds.uncertain, uncertain_section),
    ]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        project = Project("docs", root, str(root / "warehouse"), (), {}, {}, "local[2]")
        session = start_session(project, app_name="docs/views.md")
        parts = [_HEAD]
        for number, (make, write) in enumerate(sections):
            (root / str(number)).mkdir()
            parts.append(write(make(session, root / str(number)).shop.plans))  # type: ignore[attr-defined]
        session.stop()
    PAGE.write_text("\n".join(parts), "utf-8")
    sys.stdout.write(f"{PAGE.name}: {len(parts) - 1} tables\n")


if __name__ == "__main__":
    main()
