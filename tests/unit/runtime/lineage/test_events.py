"""Golden events: an append, a merge, a full rebuild and a failure, as they are sent."""

from __future__ import annotations

import json
import uuid

import pytest

pytest.importorskip("openlineage.client", reason="the extra freshline[lineage] is not installed")
import pyarrow as pa
from deltalake import write_deltalake
from openlineage.client.serde import Serde

from freshline import __version__
from freshline.core.commands import StartUpdate
from freshline.core.errors import Place, PlatformError
from freshline.executor.records import FeedFile, UpdateRequest, UpdateResult
from freshline.executor.report_records import BatchRequest, BatchResult, Window
from freshline.project.asked import asked_table
from freshline.project.load import load_project
from freshline.runtime.lineage.events import LineageEvents
from freshline.runtime.report_jobs import Job, JobEnded, JobWithdrawn
from freshline.runtime.tracks import Outcome

SETTINGS = """\
name: shop
storage: warehouse
libraries: [{glob: {include: '*.sql'}}]
feeds:
  orders_feed: {kind: files, path: feed, format: csv, schema: "id BIGINT, Price DOUBLE"}
lineage: {namespace: analytics}
"""
TABLES = """\
CREATE STREAMING TABLE orders AS SELECT id, Price, id % 10 AS customer FROM STREAM orders_feed;
CREATE STREAMING TABLE customers AS SELECT id, 'x' AS name FROM STREAM orders_feed;
CREATE MATERIALIZED VIEW revenue AS
  SELECT c.name, sum(o.price) AS total FROM orders o JOIN customers c ON o.customer = c.id
  GROUP BY c.name;
"""
PRODUCER = f"urn:freshline:{__version__}"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "freshline.yml").write_text(SETTINGS)
    (tmp_path / "a.sql").write_text(TABLES)
    project = load_project(tmp_path, tmp_path)
    tables = {
        "orders": {"id": [1], "Price": [1.5], "customer": [1]},
        "customers": {"id": [1], "name": ["x"]},
        "revenue": {"name": ["x"], "total": [1.5]},
    }
    for name, columns in tables.items():
        write_deltalake(project.table_path(name), pa.table(columns))
    return project


def command(table, number, parents=()):
    return StartUpdate(table, number, 0, 0.0, 60.0, 120.0, 1.0, parents=parents)


def ended(made, result, error=None, files=()):
    request = UpdateRequest(made.number, made.table, made.from_s, made.to_s, files=files)
    return Outcome(made, request, 2.0, result, error)


def shown(event):
    """The event's JSON, facets without what each has: producer and schema."""

    def bare(value):
        if isinstance(value, dict):
            assert value.pop("_producer", PRODUCER) == PRODUCER
            value.pop("_schemaURL", None)
            return {key: bare(each) for key, each in value.items()}
        return [bare(each) for each in value] if isinstance(value, list) else value

    return bare(json.loads(Serde.to_json(event)))


def of_table(project, name):
    path = project.table_path(name)
    return {
        "namespace": "file",
        "name": path,
        "facets": {
            "dataSource": {"name": "file", "uri": "file"},
            "symlinks": {
                "identifiers": [{"namespace": "analytics", "name": f"shop.{name}", "type": "TABLE"}]
            },
        },
    }


def schema(*columns):
    return {
        "fields": [
            {"name": name, "type": kind, "ordinal_position": place, "fields": []}
            for place, (name, kind) in enumerate(columns, 1)
        ]
    }


def test_an_append_from_a_delta_table_says_which_version_was_read(tmp_path):
    (tmp_path / "freshline.yml").write_text(
        SETTINGS.replace(
            """files, path: feed, format: csv, schema: "id BIGINT, Price DOUBLE"}""",
            "delta, path: source}",
        )
    )
    (tmp_path / "a.sql").write_text(TABLES)
    events = LineageEvents(load_project(tmp_path, tmp_path), "analytics")
    made = command("orders", 7)
    result = UpdateResult(0, 3, 0, 1.0, "append", "files", False, {"orders_feed": 12}, False)
    (source,) = shown(events.ended(ended(made, result), 132.0))["inputs"]
    assert source == {
        "namespace": "file",
        "name": f"{tmp_path}/source",
        "facets": {
            "dataSource": {"name": "file", "uri": "file"},
            "version": {"datasetVersion": "12"},
        },
        "inputFacets": {},
    }


def test_an_append_from_files(project):
    events = LineageEvents(project, "analytics")
    made = command("orders", 7)
    start = shown(events.started(made, 130.0))
    result = UpdateResult(0, 3, 0, 1.0, "append", "files", False, {}, False, "row-wise")
    files = (FeedFile("a.csv", 10, 0.0, 100.0), FeedFile("b.csv", 20, 0.0, 110.0))
    complete = shown(events.ended(ended(made, result, files=files), 132.0))

    freshness = {"freshTo": "1970-01-01T00:02:00.000000Z",
                 "previousFreshTo": "1970-01-01T00:01:00.000000Z"}  # fmt: skip
    run_facets = {
        "processing_engine": {
            "version": "4.2.0", "name": "spark", "openlineageAdapterVersion": __version__,
        },
        "nominalTime": {
            "nominalStartTime": freshness["previousFreshTo"],
            "nominalEndTime": freshness["freshTo"],
        },
    }  # fmt: skip
    job = {
        "namespace": "analytics",
        "name": "shop.orders",
        "facets": {
            "sql": {
                "query": "SELECT id, Price, id % 10 AS customer FROM STREAM orders_feed",
                "dialect": "spark",
            },
            "jobType": {
                "processingType": "BATCH", "integration": "FRESHLINE", "jobType": "UPDATE",
            },
        },
    }  # fmt: skip
    feed = {"namespace": "file", "name": f"{project.root}/feed",
            "facets": {"dataSource": {"name": "file", "uri": "file"}}}  # fmt: skip
    assert start == {
        "eventTime": "1970-01-01T00:02:10.000000Z",
        "producer": PRODUCER,
        "schemaURL": start["schemaURL"],
        "eventType": "START",
        "run": {
            "runId": events.run_id("orders", 7),
            "facets": {**run_facets, "freshline_freshness": freshness},
        },
        "job": job,
        "inputs": [{**feed, "inputFacets": {}}],
        "outputs": [{**of_table(project, "orders"), "outputFacets": {}}],
    }

    def field(name, how):
        return {
            "inputFields": [
                {
                    "namespace": "file",
                    "name": f"{project.root}/feed",
                    "field": name,
                    "transformations": [{"type": "DIRECT", "subtype": how}],
                }
            ]
        }

    output = of_table(project, "orders")
    output["facets"] |= {
        "version": {"datasetVersion": "0"},
        "schema": schema(("id", "bigint"), ("Price", "double"), ("customer", "bigint")),
        "columnLineage": {
            "fields": {
                "id": field("id", "IDENTITY"),
                "Price": field("Price", "IDENTITY"),
                "customer": field("id", "TRANSFORMATION"),
            },
            "dataset": [],
        },
    }
    assert complete == {
        "eventTime": "1970-01-01T00:02:12.000000Z",
        "producer": PRODUCER,
        "schemaURL": start["schemaURL"],
        "eventType": "COMPLETE",
        "run": {
            "runId": start["run"]["runId"],
            "facets": {
                **run_facets,
                "freshline_freshness": {
                    **freshness, "strategy": "append", "reason": "files", "code": "row-wise",
                },
            },
        },
        "job": job,
        "inputs": [{**feed, "inputFacets": {"inputStatistics": {"fileCount": 2, "size": 30}}}],
        "outputs": [{**output, "outputFacets": {"outputStatistics": {"rowCount": 3}}}],
    }  # fmt: skip


@pytest.mark.parametrize("strategy", ["group-merge", "full"])
def test_a_merge_and_a_rebuild_have_the_lineage_of_the_view_s_sql(project, strategy):
    events = LineageEvents(project, "analytics")
    made = command("revenue", 2, (("orders", 0), ("customers", 0)))
    result = UpdateResult(
        0, 1, 0, 1.0, strategy, "so", False, {"orders": 0, "customers": 0}, False, "code"
    )
    complete = shown(events.ended(ended(made, result), 132.0))

    def inputs(name, columns):
        dataset = of_table(project, name)
        dataset["facets"] |= {"version": {"datasetVersion": "0"}, "schema": schema(*columns)}
        return {**dataset, "inputFacets": {}}

    assert complete["eventType"] == "COMPLETE"
    assert complete["inputs"] == [
        inputs("orders", [("id", "bigint"), ("Price", "double"), ("customer", "bigint")]),
        inputs("customers", [("id", "bigint"), ("name", "string")]),
    ]

    def field(table, name, kind, *subtypes):
        return {
            "namespace": "file",
            "name": project.table_path(table),
            "field": name,
            "transformations": [{"type": kind, "subtype": each} for each in subtypes],
        }

    assert complete["outputs"][0]["facets"]["columnLineage"] == {
        "fields": {
            "name": {"inputFields": [field("customers", "name", "DIRECT", "IDENTITY")]},
            "total": {"inputFields": [field("orders", "Price", "DIRECT", "AGGREGATION")]},
        },
        "dataset": [
            field("customers", "id", "INDIRECT", "JOIN"),
            field("customers", "name", "INDIRECT", "GROUP_BY"),
            field("orders", "customer", "INDIRECT", "JOIN"),
        ],
    }
    assert complete["run"]["facets"]["freshline_freshness"]["strategy"] == strategy


def test_a_static_table_by_its_name_in_a_catalog_is_an_input(project, tmp_path):
    (tmp_path / "b.sql").write_text(
        "CREATE MATERIALIZED VIEW rated AS SELECT o.id FROM orders o JOIN lake.rates r USING (id)\n"
        "  JOIN other.lake.areas a USING (id);\n"
    )
    events = LineageEvents(load_project(tmp_path, tmp_path), "analytics")
    write_deltalake(project.table_path("rated"), pa.table({"id": [1]}))
    made = command("rated", 1, (("orders", 0),))
    versions = {"orders": 0, "lake.rates": 4, "other.lake.areas": 5}
    result = UpdateResult(0, 1, 0, 1.0, "full", "so", False, versions, False, "code")
    event = shown(events.ended(ended(made, result), 132.0))
    assert [
        (each["namespace"], each["name"], each["facets"]["version"]["datasetVersion"])
        for each in event["inputs"][1:]
    ] == [("spark_catalog", "lake.rates", "4"), ("other", "lake.areas", "5")]


def test_a_failure_carries_its_error(project):
    events = LineageEvents(project, "analytics")
    made = command("revenue", 2, (("orders", 0), ("customers", 0)))
    error = PlatformError("full-disk", "the disk is full", next_step="Make room.")
    failed = shown(events.ended(ended(made, None, error), 132.0))
    assert failed["eventType"] == "FAIL"
    assert failed["run"]["facets"]["errorMessage"] == {
        "message": "[full-disk] the disk is full. Make room.",
        "programmingLanguage": "python",
        "stackTrace": "freshline.core.errors.PlatformError: "
        "[full-disk] the disk is full. Make room.\n",
    }
    assert "version" not in failed["outputs"][0]["facets"]
    assert [each["facets"]["version"] for each in failed["inputs"]] == [{"datasetVersion": "0"}] * 2


def test_an_update_s_run_has_one_id_for_ever(project):
    one, other = LineageEvents(project, "a"), LineageEvents(project, "b")
    assert one.run_id("orders", 1) == other.run_id("orders", 1)
    ids = {one.run_id(table, number) for table in ("orders", "revenue") for number in (1, 2)}
    assert len(ids) == 4
    assert all(str(uuid.UUID(each)) == each for each in ids)


def batch(window, version, *, final):
    request = BatchRequest(window, {"orders": version}, final)
    return Job("asked", request, rows=10, expected_s=1.0, planned=True)


def test_a_report_s_window_is_one_run_from_its_first_batch_to_its_result(project):
    query = "SELECT customer, sum(price) AS revenue FROM orders WHERE id > 0 GROUP BY customer"
    table = asked_table(project, "asked", query, Place("asked.sql", 1))
    result = {"customer": [1], "revenue": [1.5]}
    write_deltalake(project.table_path("asked"), pa.table(result))
    more = pa.table({"id": [2], "Price": [2.5], "customer": [1]})
    write_deltalake(project.table_path("orders"), more, mode="append")
    events = LineageEvents(project, "analytics")
    window = Window(table, 3600.0, 7200.0, 7500.0)
    first, last = batch(window, 0, final=False), batch(window, 1, final=True)
    worked_off = BatchResult(1, 1, 2.0, parents={"orders": 0})
    done = BatchResult(2, 1, 2.0, 1.0, 0, 1, parents={"orders": 1})
    error = PlatformError("full-disk", "the disk is full", next_step="Make room.")
    told = [
        shown(events.report(step, 7300.0 + number))
        for number, step in enumerate(
            [first, JobEnded(first, 2.0, worked_off, None), JobEnded(last, 3.0, done, None),
             JobEnded(last, 1.0, None, error), JobWithdrawn("asked", window)]
        )
    ]  # fmt: skip

    def event(state, second, facets, version, output, job=None):
        orders = of_table(project, "orders")
        if version is not None:
            orders["facets"] |= {
                "version": {"datasetVersion": version},
                "schema": schema(("id", "bigint"), ("Price", "double"), ("customer", "bigint")),
            }
        window_s = {"Start": "1970-01-01T01:00:00.000000Z", "End": "1970-01-01T02:00:00.000000Z"}
        return {
            "eventTime": f"1970-01-01T02:01:4{second}.000000Z",
            "producer": PRODUCER,
            "schemaURL": told[0]["schemaURL"],
            "eventType": state,
            "run": {
                "runId": events.run_id("asked", 3_600_001),
                "facets": {
                    "processing_engine": {
                        "version": "4.2.0", "name": "spark",
                        "openlineageAdapterVersion": __version__,
                    },
                    "nominalTime": {
                        f"nominal{end}Time": at for end, at in window_s.items()
                    },
                    "freshline_report": {
                        **{f"window{end}": at for end, at in window_s.items()},
                        "deadline": "1970-01-01T02:05:00.000000Z",
                        **facets.get("freshline_report", {}),
                    },
                    **{name: each for name, each in facets.items() if name == "errorMessage"},
                },
            },
            "job": {
                "namespace": "analytics",
                "name": "shop.asked",
                "facets": {
                    "sql": {"query": query, "dialect": "spark"},
                    "jobType": {
                        "processingType": "BATCH", "integration": "FRESHLINE",
                        "jobType": "REPORT",
                    },
                },
            },
            "inputs": [{**orders, "inputFacets": {}}],
            "outputs": [output],
        }  # fmt: skip

    nothing = {**of_table(project, "asked"), "outputFacets": {}}

    def field(name, kind, subtype):
        return {
            "namespace": "file",
            "name": project.table_path("orders"),
            "field": name,
            "transformations": [{"type": kind, "subtype": subtype}],
        }

    made = of_table(project, "asked")
    made["facets"] |= {
        "version": {"datasetVersion": "0"},
        "schema": schema(("customer", "bigint"), ("revenue", "double")),
        "columnLineage": {
            "fields": {
                "customer": {"inputFields": [field("customer", "DIRECT", "IDENTITY")]},
                "revenue": {"inputFields": [field("Price", "DIRECT", "AGGREGATION")]},
            },
            "dataset": [
                field("customer", "INDIRECT", "GROUP_BY"), field("id", "INDIRECT", "FILTER"),
            ],
        },
    }  # fmt: skip
    made["outputFacets"] = {"outputStatistics": {"rowCount": 1}}
    failure = {
        "message": "[full-disk] the disk is full. Make room.",
        "programmingLanguage": "python",
        "stackTrace": "freshline.core.errors.PlatformError: "
        "[full-disk] the disk is full. Make room.\n",
    }

    def facets(batches):
        return {"freshline_report": {"batches": batches, "strategy": "report"}}

    assert told == [
        event("START", 0, {}, "0", nothing),
        event("RUNNING", 1, facets(1), "0", nothing),
        event("COMPLETE", 2, facets(2), "1", made),
        event("FAIL", 3, {"errorMessage": failure}, "1", nothing),
        event("ABORT", 4, {}, None, nothing),
    ]
