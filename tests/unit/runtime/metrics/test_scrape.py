"""What a scrape of a run answers, over journals that real runs wrote."""

from __future__ import annotations

import dataclasses
from collections import Counter
from datetime import UTC, datetime

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from freshline.core.errors import PlatformError
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.metrics.exposition import RunMetrics
from freshline.runtime.metrics.standing import report_families
from freshline.runtime.observer import Observers
from freshline.runtime.options import RunOptions
from freshline.runtime.reports.store import ReportStatus, WantedReport
from freshline.runtime.status.status import read_status
from freshline.runtime.warehouse import Warehouse
from tests.support.shop import made_shop

TABLES = {"orders": (), "parts": (), "joined": ("orders", "parts")}
MINUTE_1_S = datetime(2026, 1, 2, 0, 1, tzinfo=UTC).timestamp()
CONTRACT = {
    "freshline_table_fresh_to_timestamp_seconds", "freshline_table_staleness_seconds",
    "freshline_table_target_lag_seconds", "freshline_table_priority",
    "freshline_table_within_target_ratio", "freshline_table_pending_files",
    "freshline_table_state", "freshline_weighted_staleness",
    "freshline_weighted_staleness_seconds_total", "freshline_updates_total",
    "freshline_update_duration_seconds_count", "freshline_update_rows_total",
    "freshline_prediction_error_seconds_count", "freshline_decision_duration_seconds_count",
    "freshline_tracks", "freshline_feed_newest_timestamp_seconds", "freshline_feed_silent",
    "freshline_quarantined_files", "freshline_rejected_rows_total", "freshline_leader",
    "freshline_build_info",
}  # fmt: skip


class Scraped:
    """A shop whose runs count, and the samples of one scrape at a time."""

    def __init__(self, shop):
        self.shop = shop
        self.now_s = MINUTE_1_S
        self.step_s = 0.0
        self.metrics = RunMetrics(shop.project, lambda: self.now_s)

    def clock(self):
        self.now_s += self.step_s
        return self.now_s

    def run(self):
        observers = Observers((self.shop.recorder, self.metrics.counts))
        return Warehouse(
            self.shop.project, lambda: self.shop.executor, observers,
            RunOptions(until_idle=True), clock=self.clock, backoff=self.shop.backoff,
        ).run()  # fmt: skip

    def samples(self):
        body, _ = self.metrics.scraped("")
        return {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in plain(body.decode())
            for sample in family.samples
        }


@pytest.fixture
def scraped(tmp_path):
    return Scraped(made_shop(tmp_path, TABLES, lags={"orders": 60.0, "joined": 10.0}))


def test_a_scrape_before_the_first_run_tells_the_project_and_no_freshness(scraped):
    samples = scraped.samples()
    assert samples["freshline_table_state", ("state", "new"), ("table", "joined")] == 1.0
    assert samples["freshline_table_target_lag_seconds", ("table", "joined")] == 10.0
    assert samples["freshline_leader",] == 0.0
    assert samples["freshline_weighted_staleness",] == 0.0
    assert not any(key[0] == "freshline_table_staleness_seconds" for key in samples)


def test_a_run_s_updates_and_standing_are_told_under_the_names_of_the_contract(scraped):
    scraped.shop.file("orders", 1, [1, 2])
    scraped.shop.file("parts", 1, [10])
    scraped.run()
    scraped.now_s = MINUTE_1_S + 30.0
    samples = scraped.samples()
    assert {key[0] for key in samples} >= CONTRACT

    def of(name, table):
        return samples[f"freshline_{name}", ("table", table)]

    assert of("table_fresh_to_timestamp_seconds", "orders") == MINUTE_1_S
    assert of("table_staleness_seconds", "orders") == 30.0
    assert of("table_priority", "joined") == 3.0
    assert of("update_rows_total", "orders") == 2.0
    assert of("table_pending_files", "orders") == 0.0
    assert of("quarantined_files", "orders") == 0.0
    assert of("rejected_rows_total", "orders") == 0.0
    assert samples[
        "freshline_updates_total", ("outcome", "committed"), ("strategy", "append"),
        ("table", "orders"),
    ] == 1.0  # fmt: skip
    assert samples["freshline_update_duration_seconds_count", ("strategy", "append")] == 2.0
    assert samples["freshline_prediction_error_seconds_count",] == 3.0
    assert samples["freshline_decision_duration_seconds_count",] >= 2.0
    assert samples["freshline_tracks", ("state", "busy")] == 0.0
    assert samples["freshline_tracks", ("state", "idle")] == 2.0
    assert samples["freshline_feed_newest_timestamp_seconds", ("feed", "orders_feed")] == MINUTE_1_S
    # 30 s stale at priorities 1, 2 and 3.
    assert samples["freshline_weighted_staleness",] == 180.0


def test_the_integral_of_weighted_staleness_is_that_of_the_gauge(scraped):
    scraped.shop.file("orders", 1, [1])
    scraped.shop.file("parts", 1, [1])
    scraped.run()
    total = "freshline_weighted_staleness_seconds_total"
    before = scraped.samples()[total,]
    scraped.now_s += 10.0
    # Three tables of priorities 1, 2, 3 grow from 0 to 10 s stale: 6 * 10 * 10 / 2.
    assert scraped.samples()[total,] - before == pytest.approx(300.0)
    assert scraped.samples()[total,] - before == pytest.approx(300.0)
    scraped.now_s += 10.0
    assert scraped.samples()[total,] - before == pytest.approx(1200.0)


def test_the_ratio_within_target_is_that_of_status(scraped):
    scraped.shop.file("orders", 1, [1])
    scraped.shop.file("parts", 1, [1])
    scraped.run()
    scraped.now_s = MINUTE_1_S + 40.0
    samples = scraped.samples()
    for item in read_status(scraped.shop.project, scraped.now_s).tables:
        key = ("freshline_table_within_target_ratio", ("table", item.name))
        assert item.lately is not None
        assert samples.get(key) == item.lately.within
    assert samples["freshline_table_within_target_ratio", ("table", "joined")] == pytest.approx(
        0.25
    )


def test_failed_updates_and_quarantined_files_are_counted(scraped):
    scraped.shop.file("orders", 1, "no number")
    scraped.shop.file("parts", 1, [1])
    scraped.shop.executor.failing["parts"] = "a fault"
    scraped.step_s = 0.01  # retries wait for the clock
    scraped.run()
    samples = scraped.samples()
    assert samples["freshline_quarantined_files", ("table", "orders")] == 1.0
    failed: Counter[str] = Counter()
    for key, value in samples.items():
        if key[0] == "freshline_updates_total" and ("outcome", "failed") in key:
            failed[dict(key[1:])["table"]] += value
    assert failed["orders"] == 3.0
    assert failed["parts"] >= 3.0  # it is tried on while the others' work goes on


def test_openmetrics_is_answered_to_those_who_accept_it(scraped):
    scraped.shop.file("orders", 1, [1])
    scraped.run()
    body, content_type = scraped.metrics.scraped(
        "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    )
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith(b"# EOF\n")
    as_openmetrics = {
        (sample.name, *sorted(sample.labels.items()))
        for family in openmetrics(body.decode())
        for sample in family.samples
    }
    assert as_openmetrics == set(scraped.samples())
    _, content_type = scraped.metrics.scraped("text/plain")
    assert content_type == "text/plain; version=0.0.4; charset=utf-8"


def test_a_journal_that_cannot_be_read_fails_the_scrape(scraped):
    scraped.shop.file("orders", 1, [1])
    scraped.run()
    journal_path(scraped.shop.project).write_bytes(b"no database" * 1000)
    with pytest.raises(PlatformError):
        scraped.samples()


def test_a_scrape_reads_without_writing(scraped):
    scraped.shop.file("orders", 1, [1])
    scraped.run()
    scraped.samples()
    journal = Journal(journal_path(scraped.shop.project), create=False)
    before = list(journal.rows("PRAGMA data_version")[0])
    scraped.samples()
    assert list(journal.rows("PRAGMA data_version")[0]) == before
    journal.close()


def test_a_report_is_told_by_the_window_whose_deadline_is_next(tmp_path):
    shop = made_shop(tmp_path, TABLES)

    def window(name, end_s, **stands):
        wanted = WantedReport(name, "daily", None, None, end_s - 60.0, end_s, end_s + 30.0)
        return ReportStatus(wanted, **stands)

    status = dataclasses.replace(
        read_status(shop.project, 320.0),
        reports=(
            window("daily-3", 300.0, state="live", batches=2, slack_s=4.0),
            window("daily-4", 400.0, state="asked", foreseen=True),
            window("daily-2", 200.0, state="done", late="it began too late"),
        ),
    )

    def told(status):
        return {
            sample.name.removeprefix("freshline_report_"): (sample.labels, sample.value)
            for family in report_families(status)
            for sample in family.samples
        }

    of = {"report": "daily"}
    assert told(status) == {
        "deadline_timestamp_seconds": (of, 330.0), "slack_seconds": (of, 4.0),
        "batches": (of, 2.0), "late": (of, 0.0),
    }  # fmt: skip
    assert told(dataclasses.replace(status, reports=status.reports[1:]))["late"] == (of, 1.0)
    assert told(dataclasses.replace(status, reports=status.reports[2:]))["late"] == (of, 1.0)
    assert told(dataclasses.replace(status, reports=())) == {}

    given_up = window("daily-2", 200.0, state="failed")
    made = window("daily-2b", 250.0, state="done")
    for reports, late in (
        ((status.reports[0], given_up), 1.0),
        ((status.reports[0], made, given_up), 0.0),  # a later window ended well
        ((given_up,), 1.0),
    ):
        assert told(dataclasses.replace(status, reports=reports))["late"] == (of, late)

    behind = dataclasses.replace(status, now_s=345.0)
    assert told(behind)["late"] == (of, 1.0)
    assert told(behind)["slack_seconds"] == (of, -15.0)
    # Of two that are behind the next one is told: the one that is behind counts all the same.
    later = dataclasses.replace(behind, reports=(window("daily-5", 500.0, state="asked"), given_up))
    assert told(later)["late"] == (of, 1.0)
