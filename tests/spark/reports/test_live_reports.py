"""Reports of a warehouse that runs: windows worked off between updates, asked for, withdrawn."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession

from freshline.delta.log import commits
from freshline.runtime.report_jobs import Job, JobEnded, JobWithdrawn, ReportStep
from freshline.runtime.reports.store import ReportStatus
from freshline.times import rfc3339
from tests.spark.proof.equality import utc_session
from tests.spark.proof.support import eventually, running_here
from tests.spark.reports.live import (
    BASE_S,
    ORDERS,
    ORDERS_FEED,
    Folder,
    LiveReports,
    as_json,
    check_replays,
    known_costs,
    reports_of,
    results_of,
)
from tests.support.terminal import at_a_terminal

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SETTINGS = """\
name: shop
storage: warehouse
libraries:
  - glob: {include: tables/*.sql}
spark: {master: "local[2]"}
scheduler: {tracks: 2}
maintenance: {compact: false, vacuum: false, trials: false}
"""
FEED = ORDERS_FEED + "    period: 1 second\n"
BY_SHOP = """\
CREATE MATERIALIZED VIEW by_shop AS SELECT shop, count(*) AS n FROM orders GROUP BY shop;
"""
QUERY = (
    "SELECT shop, count(*) AS n, sum(price) AS revenue, max(at) AS latest FROM orders GROUP BY 1"
)
HOURLY = f"""\
CREATE MATERIALIZED VIEW sales
  TBLPROPERTIES ('freshline.window' = '1 hour', 'freshline.deadline' = '5 minutes')
  AS {QUERY};
"""
START = datetime.fromtimestamp(BASE_S, UTC)
END = START + timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)


class Orders(Folder):
    """A project over one feed of orders."""

    def __init__(self, root: Path, more: str = "") -> None:
        super().__init__(root, SETTINGS + FEED, ORDERS + BY_SHOP + more)
        self.feed = root / "feed"
        self.feed.mkdir()
        self.next_id = 0

    def file(self, stamp: datetime, times: Iterable[datetime]) -> None:
        """Write a file: an order at each of the times."""
        lines = []
        for at in times:
            number = self.next_id = self.next_id + 1
            lines.append(f"{number},{at.isoformat()},{'abc'[number % 3]},{number / 100:.2f}\n")
        path = self.feed / f"orders-{stamp:%Y%m%dT%H%M%S}.csv"
        unfinished = path.with_suffix(".tmp")
        unfinished.write_text("".join(lines))
        unfinished.replace(path)

    def rows(self, table: str) -> list[str]:
        found = deltalake.DeltaTable(self.project.table_path(table)).to_pyarrow_table()
        return as_json(found.to_pylist())

    def at_once(self, spark: SparkSession, version: int) -> list[str]:
        """The query over the window's rows of a version of orders."""
        session = utc_session(spark)
        path = self.project.table_path("orders")
        frame = session.sql(f"SELECT * FROM delta.`{path}` VERSION AS OF {version}")
        window = f"at >= '{START.isoformat()}' AND at < '{END.isoformat()}'"
        frame.filter(window).createOrReplaceTempView("orders")
        return as_json(session.sql(QUERY).toArrow().to_pylist())


def test_a_window_in_several_batches_between_updates_is_committed_once_by_its_deadline(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openlineage.client", reason="the extra freshline[lineage] is missing")
    from tests.spark.test_lineage import lineage_of, receiver

    shop = Orders(tmp_path, HOURLY)
    settings = tmp_path / "freshline.yml"
    settings.write_text(f"{settings.read_text()}lineage: {{namespace: analytics}}\n")
    # 4 s a row: four quarters of an hour with 100 rows each need three batches.
    known_costs(shop.project, "sales", (100, 400.0), (1000, 4000.0), final_s=2.0)
    with receiver(monkeypatch) as sink, LiveReports(shop, spark, BASE_S + 600.0) as live:
        for quarter in range(1, 5):
            live.go_on(BASE_S + 900.0 * quarter)
            assert not results_of(shop.project, "sales")
            stamp = START + timedelta(minutes=15 * quarter)
            # Each file brings rows of the windows' boundaries, and late ones.
            edges = [START - MICROSECOND, START, END - MICROSECOND, END]
            spread = [START + timedelta(seconds=30 * quarter + 9 * n) for n in range(96)]
            shop.file(stamp, [*edges, *spread])
            live.loaded("orders", quarter)
        live.go_on(BASE_S + 3900.0)

    (told,) = results_of(shop.project, "sales")
    versions = [each["parents"]["orders"] for each in told["batches"]]
    assert len(versions) >= 3
    assert versions == sorted(set(versions))
    assert told["parents"] == {"orders": versions[-1]} == {"orders": 3}
    # Ordinary updates were made between the batches.
    kept_up = [each.metadata["parents"]["orders"] for each in commits(_path(shop, "by_shop"))]
    assert set(versions) <= set(kept_up)
    assert told["window"] == {"start": rfc3339(BASE_S), "end": rfc3339(BASE_S + 3600.0)}
    assert told["deadline"] == "2026-01-01T01:05:00.000000Z"
    assert (told["strategy"], told["complete"], told["reason"]) == ("report", True, "")
    assert [each["number"] for each in told["batches"]] == list(range(1, len(versions) + 1))
    spent_s = sum(each["seconds"] for each in told["batches"])
    assert told["cost_s"] == pytest.approx(spent_s + told["final_s"], abs=0.01)
    assert shop.rows("sales") == shop.at_once(spark, versions[-1])
    assert sum(json.loads(row)["n"] for row in shop.rows("sales")) == 4 * 98

    report = next(each for each in reports_of(shop.project) if each.state == "done")
    # By the costs that were known no plan is in time: the last quarter of an hour alone takes
    # 392 of 300 s. By the test's clock it takes none.
    assert (report.late, report.foreseen, report.batches) == (None, True, len(versions))
    assert report.finish_s is not None
    assert report.finish_s <= report.wanted.deadline_s
    assert report.arrived_rows == report.taken_rows == 400
    assert check_replays(shop.project) == 1
    played = shop.command("simulate", "--from-run", "--policy", "fifo", "--json")
    assert played.exit_code == 0, played.stderr
    _check_told(live.seen.reports, versions)
    _check_lineage(lineage_of(sink), versions)


def _check_lineage(events: list[dict[str, Any]], versions: list[int]) -> None:
    """What arrived over HTTP: the window is one run, started once and completed once."""
    window = rfc3339(BASE_S)
    of_window = [
        each
        for each in events
        if each["run"]["facets"].get("freshline_report", {}).get("windowStart") == window
    ]
    assert {each["job"]["name"] for each in of_window} == {"shop.sales"}
    assert [each["eventType"] for each in of_window] == [
        "START", *["RUNNING"] * (len(of_window) - 2), "COMPLETE",
    ]  # fmt: skip
    assert len({each["run"]["runId"] for each in of_window}) == 1
    start, end = of_window[0], of_window[-1]
    assert start["inputs"][0]["name"] == end["inputs"][0]["name"]
    assert end["inputs"][0]["facets"]["version"]["datasetVersion"] == str(versions[-1])
    assert end["outputs"][0]["facets"]["version"]["datasetVersion"] == "0"
    assert end["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 3


def _check_told(steps: list[ReportStep], versions: list[int]) -> None:
    """A run's observers, lineage among them, hear of every batch what the commit says."""
    steps = [each for each in steps if _job(each).name == "sales@2026-01-01T00:00:00Z"]
    assert [isinstance(each, JobEnded) for each in steps] == [False, True] * (len(steps) // 2)
    ends = [each.result for each in steps if isinstance(each, JobEnded)]
    assert [each.parents["orders"] for each in ends if each is not None][-1] == versions[-1]
    assert {each.parents["orders"] for each in ends if each is not None} == set(versions)
    assert [each.version for each in ends if each is not None] == [None] * (len(ends) - 1) + [0]


def _job(step: ReportStep) -> Job:
    assert not isinstance(step, JobWithdrawn)
    return step.job if isinstance(step, JobEnded) else step


def test_reports_are_asked_for_answered_and_withdrawn_while_the_warehouse_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    shop = Orders(tmp_path)
    shop.file(END, [START, START + timedelta(minutes=5), END - MICROSECOND, END])
    query = tmp_path / "early.sql"
    query.write_text(QUERY + ";\n")
    window = ("--window", f"{START.isoformat()}..{END.isoformat()}")
    submit = ("report", "submit", str(query), *window)
    in_time = ("--deadline", rfc3339(time.time() + 3600.0))
    in_vain = ("--deadline", "1 hour")
    with running_here(shop, spark) as seen:
        seen.wait_for("orders", 1)
        done = shop.command(*submit, *in_time)
        assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "early is submitted")
        eventually(lambda: _report(shop, "early").state == "done")

        refused = shop.command(*submit, *in_vain, "--name", "refused")
        assert (refused.exit_code, "[deadline-too-early]" in refused.stderr) == (2, True)
        question = {"question": "anyway?"}
        status, screen = at_a_terminal(
            tmp_path, *submit, *in_vain, "--name", "refused", **question, answer="n\n"
        )
        assert (status, screen.rstrip().endswith("refused is not submitted")) == (0, True), screen
        status, screen = at_a_terminal(
            tmp_path, *submit, *in_vain, "--name", "late", **question, answer="y\n"
        )
        assert (status, screen.rstrip().endswith("late is submitted")) == (0, True), screen
        eventually(lambda: _report(shop, "late").state == "done")

        shop.file(datetime.now(UTC), [START, END])  # the stream keeps up with the clock
        seen.wait_for("orders", 2)
        open_window = f"{START.isoformat()}..{rfc3339(time.time() + 3600.0)}"
        asked = shop.command(
            "report", "submit", str(query), "--window", open_window, "--deadline", "1 day",
            "--name", "unwanted",
        )  # fmt: skip
        assert asked.exit_code == 0, asked.stderr
        eventually(lambda: _report(shop, "unwanted").batches)
        again = shop.command(*submit, *in_time, "--name", "unwanted")
        assert (again.exit_code, "is still to be made" in again.stderr) == (2, True)
        planned = shop.command("report", "plan", "unwanted", "--json")
        assert json.loads(planned.stdout)["report"]["feasible"] is True
        gone = shop.command("report", "withdraw", "unwanted")
        assert (gone.exit_code, gone.stdout) == (0, "unwanted is withdrawn\n")
        twice = shop.command("report", "withdraw", "unwanted")
        is_told = twice.stderr.startswith("[report-ended] report unwanted is withdrawn")
        assert (twice.exit_code, is_told) == (2, True)
        listed = shop.listed()

    assert {name: each["state"] for name, each in listed.items()} == {
        "early": "done", "late": "done", "unwanted": "withdrawn",
    }  # fmt: skip
    assert [(listed[name]["late"], listed[name]["foreseen"]) for name in ("early", "late")] == [
        (None, False), ("foreseen", True),
    ]  # fmt: skip
    for name in ("early", "late"):
        (told,) = results_of(shop.project, name)
        assert told["window"] == {"start": rfc3339(BASE_S), "end": rfc3339(BASE_S + 3600.0)}
        assert shop.rows(name) == shop.at_once(spark, told["parents"]["orders"])
    assert not deltalake.DeltaTable.is_deltatable(_path(shop, "unwanted"))
    assert check_replays(shop.project) == 1


def _report(shop: Orders, name: str) -> ReportStatus:
    return next(each for each in reports_of(shop.project) if each.wanted.name == name)


def _path(shop: Orders, table: str) -> str:
    return shop.project.table_path(table)
