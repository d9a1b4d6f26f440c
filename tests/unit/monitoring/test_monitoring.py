"""docs/monitoring: rules that hold by their own unit tests, and a board of metrics that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from freshline.runtime.metrics.exposition import RunMetrics
from freshline.runtime.observer import Observers
from freshline.runtime.options import RunOptions
from freshline.runtime.warehouse import Warehouse
from tests.support.shop import made_shop

FOLDER = Path(__file__).parents[3] / "docs" / "monitoring"
NAME = re.compile(r"\bfreshline_[a-z_]+")
OPTIONAL = {
    "freshline_lineage_events_total", "freshline_bounds_broken_total", "freshline_audits_total",
    "freshline_feed_lag_records", "freshline_feed_lag_versions",
    "freshline_table_staleness_bound_seconds", "freshline_report_late",
    "freshline_ingest_backlog_age_seconds", "freshline_ingest_land_after_seconds",
    "freshline_table_unbuilt_late_timestamp_seconds",
}  # fmt: skip
"""Of lineage, policy aus, audits, topics, reports, pushes, late builds: a small run has none."""


def promtool(*arguments):
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed; `make tools` installs Debian's prometheus")
    return subprocess.run(
        [program, *arguments], cwd=FOLDER, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """The text of a scrape after a small run."""
    shop = made_shop(
        tmp_path_factory.mktemp("shop"), {"orders": (), "total": ("orders",)}, lags={"orders": 60.0}
    )
    metrics = RunMetrics(shop.project, shop.clock)
    shop.file("orders", 1, [1])
    Warehouse(
        shop.project, lambda: shop.executor, Observers((shop.recorder, metrics.counts)),
        RunOptions(until_idle=True), backoff=shop.backoff,
    ).run()  # fmt: skip
    return metrics.scraped("")[0].decode()


@pytest.fixture(scope="module")
def exported(scraped):
    families = text_string_to_metric_families(scraped)
    return {sample.name for family in families for sample in family.samples} | OPTIONAL


def test_the_rules_are_prometheus_rules():
    done = promtool("check", "rules", "rules.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_do_what_their_unit_tests_say():
    done = promtool("test", "rules", "rules_test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_unit_test_that_fires_it():
    rules = yaml.safe_load((FOLDER / "rules.yml").read_text())
    tests = yaml.safe_load((FOLDER / "rules_test.yml").read_text())
    alerts = {
        rule["alert"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule
    }
    fired = {
        case["alertname"]
        for test in tests["tests"]
        for case in test["alert_rule_test"]
        if case.get("exp_alerts")
    }
    assert fired == alerts


def test_a_scrape_is_what_promtool_takes(scraped):
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed; `make tools` installs Debian's prometheus")
    done = subprocess.run(
        [program, "check", "metrics"], input=scraped, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_rules_and_board_ask_for_metrics_that_exist(exported):
    for name in ("rules.yml", "rules_test.yml", "grafana.json"):
        asked = set(NAME.findall((FOLDER / name).read_text()))
        assert asked - exported == set(), name


def test_the_page_tells_every_metric(exported):
    page = FOLDER.parent / "reference" / "metrics.md"
    told = set(NAME.findall(page.read_text(encoding="utf-8")))
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported}
    assert families - told == set()


def test_the_board_can_be_imported():
    board = json.loads((FOLDER / "grafana.json").read_text())
    assert [each["name"] for each in board["__inputs"]] == ["DS_PROMETHEUS"]
    assert board["schemaVersion"] >= 38
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    variables = {each["name"] for each in board["templating"]["list"]}
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        assert panel["title"]
        assert panel["description"]
        assert panel["datasource"]["uid"] == "${datasource}"
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells
        for target in panel["targets"]:
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= variables


def test_the_board_s_queries_are_promql(tmp_path):
    board = json.loads((FOLDER / "grafana.json").read_text())
    rules = [
        {"record": f"board:panel_{panel['id']}_{target['refId'].lower()}", "expr": target["expr"]}
        for panel in board["panels"]
        for target in panel["targets"]
    ]
    (tmp_path / "board.yml").write_text(
        yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]})
    )
    done = promtool("check", "rules", str(tmp_path / "board.yml"))
    assert done.returncode == 0, done.stdout + done.stderr
