"""Lineage and alerts of real updates on Spark, at a real HTTP receiver; and one that is down."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager

import pytest

pytest.importorskip("openlineage.client", reason="the extra freshline[lineage] is not installed")
from prometheus_client import CollectorRegistry

from freshline.runtime.alerts.watch import Alerts
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.lineage.emitter import lineage
from freshline.runtime.options import RunOptions
from freshline.runtime.warehouse import Warehouse
from tests.spark.proof.support import QUICK, Kept, Seen
from tests.spark.reports.live import Folder
from tests.unit.runtime.alerts.sink import Sink

pytestmark = pytest.mark.spark

SETTINGS = """\
name: shop
storage: warehouse
libraries: [{{glob: {{include: tables/*.sql}}}}]
maintenance: {{trials: false, audit: 0%}}
lineage: {{namespace: analytics}}
alerts: [{{url: "{url}/hook", on: [failing, recovered], for: 10 ms}}]
feeds:
  orders_feed:
    {{kind: files, path: feed/orders, format: csv,
     schema: "id BIGINT, customer BIGINT, price DOUBLE"}}
  customers_feed:
    {{kind: files, path: feed/customers, format: csv, schema: "id BIGINT, name STRING"}}
"""
TABLES = """\
CREATE STREAMING TABLE orders AS SELECT id, customer, price FROM STREAM orders_feed;
CREATE STREAMING TABLE customers AS SELECT id, name FROM STREAM customers_feed;
CREATE MATERIALIZED VIEW revenue TBLPROPERTIES ('freshline.refresh' = 'incremental') AS
  SELECT c.name, sum(o.price) AS total, count(*) AS n
  FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.name;
"""
REBUILT = TABLES.replace("count(*) AS n", "count(*) AS orders")
FAILING = """\
CREATE MATERIALIZED VIEW checked AS SELECT id,
  CASE WHEN price < 5 THEN CAST(raise_error('a low price') AS DOUBLE) ELSE price END AS price
  FROM orders;
"""


class Live:
    """A project on disk whose runs tell a receiver."""

    def __init__(self, root, spark, url):
        self.folder = Folder(root, SETTINGS.format(url=url), TABLES)
        self.spark = spark
        for name in ("orders", "customers"):
            (root / "feed" / name).mkdir(parents=True)

    def file(self, feed, name, *rows):
        (self.folder.root / "feed" / feed / name).write_text("".join(f"{row}\n" for row in rows))

    def define(self, sql):
        (self.folder.root / "tables" / "tables.sql").write_text(sql)

    def run(self):
        """Until nothing is left to do; the notices, and the metrics."""
        seen, registry, project = Seen(), CollectorRegistry(), self.folder.project
        with ExitStack() as stack:
            alerts = Alerts(project, seen.notice, backoff=Backoff(0.01, 0.02), look_s=0.01)
            alerts.start()
            stack.callback(alerts.stop)
            observer = stack.enter_context(lineage(project, seen, registry))
            Warehouse(
                project, lambda: Kept(self.folder, self.spark), observer,
                RunOptions(until_idle=True), backoff=QUICK,
            ).run()  # fmt: skip
        return seen.notices, registry


def send_to(url, monkeypatch):
    """By OpenLineage's HTTP transport, whose own nine seconds of retries are turned off."""
    for name, value in {"TYPE": "http", "URL": url, "RETRY__TOTAL": "0"}.items():
        monkeypatch.setenv(f"OPENLINEAGE__TRANSPORT__{name}", value)


@contextmanager
def receiver(monkeypatch):
    with Sink() as sink:
        send_to(sink.url, monkeypatch)
        yield sink


def lineage_of(sink):
    return [body for path, _, body in sink.posts if path == "/api/v1/lineage"]


def alerts_of(sink):
    return [
        (body["type"].removeprefix("freshline."), body["subject"])
        for path, _, body in sink.posts
        if path == "/hook"
    ]


def brief(event):
    """What happened, how, from which versions, to which."""
    facets = event["outputs"][0]["facets"]
    strategy = event["run"]["facets"]["freshline_freshness"].get("strategy")
    return (
        event["eventType"],
        event["job"]["name"].removeprefix("shop."),
        strategy,
        [each["facets"].get("version", {}).get("datasetVersion") for each in event["inputs"]],
        facets.get("version", {}).get("datasetVersion"),
    )


def of_table(events, name):
    return [brief(each) for each in events if each["job"]["name"] == f"shop.{name}"]


def test_an_append_a_merge_a_rebuild_and_a_failure_are_told(tmp_path, spark, monkeypatch):
    with receiver(monkeypatch) as sink:
        live = Live(tmp_path, spark, sink.url)
        live.file("customers", "a.csv", "1,Ada", "2,Ben")
        live.file("orders", "a.csv", "1,1,10.5", "2,2,4.0")
        live.run()
        live.file("orders", "b.csv", "3,1,1.5")
        live.run()
        live.define(REBUILT + FAILING)
        live.run()
        events = lineage_of(sink)

        assert of_table(events, "orders") == [
            ("START", "orders", None, [None], None), ("COMPLETE", "orders", "append", [None], "0"),
            ("START", "orders", None, [None], None), ("COMPLETE", "orders", "append", [None], "1"),
        ]  # fmt: skip
        revenue = of_table(events, "revenue")
        assert [each[0] for each in revenue] == ["START", "COMPLETE"] * 3
        assert [each[2:] for each in revenue[1::2]] == [
            ("full", ["0", "0"], "0"),
            ("group-merge", ["1", "0"], "1"),
            ("full", ["1", "0"], "2"),
        ]
        merged = [each for each in events if each["job"]["name"] == "shop.revenue"][3]
        path = live.folder.project.table_path

        def field(table, name, kind, subtype):
            return {
                "namespace": "file",
                "name": path(table),
                "field": name,
                "transformations": [{"type": kind, "subtype": subtype}],
            }

        output = merged["outputs"][0]
        assert output["name"] == path("revenue")
        assert output["outputFacets"]["outputStatistics"]["rowCount"] == 2
        assert [(each["name"], each["type"]) for each in output["facets"]["schema"]["fields"]] == [
            ("name", "string"), ("total", "double"), ("n", "bigint"),
        ]  # fmt: skip
        lineage_facet = output["facets"]["columnLineage"]
        assert lineage_facet["fields"]["name"]["inputFields"] == [
            field("customers", "name", "DIRECT", "IDENTITY")
        ]
        assert lineage_facet["fields"]["total"]["inputFields"] == [
            field("orders", "price", "DIRECT", "AGGREGATION")
        ]
        assert lineage_facet["dataset"] == [
            field("customers", "id", "INDIRECT", "JOIN"),
            field("customers", "name", "INDIRECT", "GROUP_BY"),
            field("orders", "customer", "INDIRECT", "JOIN"),
        ]

        failed = [each for each in events if each["eventType"] == "FAIL"]
        assert {each["job"]["name"] for each in failed} == {"shop.checked"}
        message = failed[0]["run"]["facets"]["errorMessage"]["message"]
        assert "a low price" in message
        # Every attempt is the same run: it has one id, and none made a version.
        checked = of_table(events, "checked")
        assert checked == [
            ("START", "checked", None, ["1"], None), ("FAIL", "checked", None, ["1"], None),
        ] * len(failed)  # fmt: skip
        assert len(failed) >= QUICK.attempts
        ids = [each["run"]["runId"] for each in events if each["job"]["name"] == "shop.checked"]
        assert len(set(ids)) == 1
        assert alerts_of(sink)[:1] == [("table.failing", "checked")]


def test_a_receiver_that_is_down_holds_nothing_up_and_what_is_lost_is_said(
    tmp_path, spark, monkeypatch
):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    send_to(url, monkeypatch)
    live = Live(tmp_path, spark, url)
    live.file("customers", "a.csv", "1,Ada")
    live.file("orders", "a.csv", "1,1,10.5")
    notices, registry = live.run()
    rows = spark.read.format("delta").load(live.folder.project.table_path("revenue")).collect()
    assert [tuple(row) for row in rows] == [("Ada", 10.5, 1)]
    assert any(each.startswith("lineage: events are not delivered, retrying:") for each in notices)
    assert notices[-1] == "lineage: events not delivered and lost: 6"
    lost = registry.get_sample_value("freshline_lineage_events_total", {"outcome": "dropped"})
    assert lost == 6.0


def test_a_receiver_that_comes_back_gets_every_event_in_order(tmp_path, spark, monkeypatch):
    with receiver(monkeypatch) as sink:
        sink.answers = [503] * 3
        live = Live(tmp_path, spark, sink.url)
        live.file("orders", "a.csv", "1,1,10.5")
        notices, registry = live.run()
        assert of_table(lineage_of(sink), "orders") == [
            ("START", "orders", None, [None], None), ("COMPLETE", "orders", "append", [None], "0"),
        ]  # fmt: skip
        assert any(each == "lineage: events are delivered again" for each in notices)
        told = registry.get_sample_value
        assert told("freshline_lineage_events_total", {"outcome": "delivered"}) == 2.0
        assert told("freshline_lineage_events_total", {"outcome": "dropped"}) in (None, 0.0)
