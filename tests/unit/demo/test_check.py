"""The checker on a tiny warehouse, written with delta-rs as freshline would have written it."""

from __future__ import annotations

import json

import deltalake
import duckdb
import pytest

from demo.check import Verdict, check
from demo.commits import commits
from demo.places import Places
from demo.queries import read_queries
from demo.settled import behind

SETTINGS = """
name: tiny
storage: warehouse
feeds:
  sales_feed: {kind: files, path: feed/sales, format: csv, schema: "shop INT, amount DECIMAL(9,2)"}
"""
SQL = """
CREATE STREAMING TABLE sales AS SELECT shop, amount FROM STREAM sales_feed;
CREATE MATERIALIZED VIEW totals AS
  SELECT n.name, sum(s.amount) AS total
  FROM sales AS s JOIN delta.`../static/shops` AS n ON s.shop = n.shop GROUP BY n.name;
"""
FIRST = "SELECT 1::INT AS shop, 1.50::DECIMAL(9,2) AS amount"
SECOND = "SELECT 2::INT AS shop, 4.00::DECIMAL(9,2) AS amount"
SHOPS = "delta.`../static/shops`"


@pytest.fixture
def places(tmp_path):
    places = Places(tmp_path)
    (places.project / "tables").mkdir(parents=True)
    (places.project / "freshline.yml").write_text(SETTINGS)
    (places.project / "tables" / "all.sql").write_text(SQL)
    feed = places.feed / "sales"
    feed.mkdir(parents=True)
    (feed / "a.csv").write_text("shop,amount\n1,1.50\n")
    (feed / "b.csv").write_text("shop,amount\n2,4.00\n")
    (feed / "c.csv.tmp").write_text("shop,am")
    write(places.static / "shops", "SELECT * FROM (VALUES (1, 'Ulm'), (2, 'Bern')) t(shop, name)")
    return places


def write(path, query, mode="append", **fields):
    metadata = None
    if fields:
        told = {"freshline": 1, "to": "2026-01-01T00:00:00Z", "strategy": "append"} | fields
        text = json.dumps({"parents": {}, "rows": 1} | told)
        metadata = deltalake.CommitProperties(custom_metadata={"userMetadata": text})
    with duckdb.connect() as db:
        rows = db.sql(query).to_arrow_table()
    deltalake.write_deltalake(str(path), rows, mode=mode, commit_properties=metadata)


def sales(places, query, *files):
    write(places.warehouse / "sales", query, files=files)


def totals(places, query, **pins):
    parents = {"sales": pins["sales"], SHOPS: 0} if pins else {}
    write(places.warehouse / "totals", query, mode="overwrite", parents=parents, strategy="full")


TOTAL_AT_0 = "SELECT 'Ulm' AS name, 1.50::DECIMAL(19,2) AS total"
TOTAL_AT_1 = f"{TOTAL_AT_0} UNION ALL SELECT 'Bern', 4.00"


def test_a_right_warehouse_is_found_right(places):
    sales(places, FIRST, "a.csv")
    sales(places, SECOND, "b.csv")
    totals(places, TOTAL_AT_1, sales=1)
    assert list(check(places.project)) == [
        Verdict("sales", "2 feed files", 2, None),
        Verdict("totals", "sales@1 shops@0", 2, None),
    ]


def test_a_view_is_compared_with_the_versions_that_it_pins(places):
    sales(places, FIRST, "a.csv")
    sales(places, SECOND, "b.csv")
    totals(places, TOTAL_AT_0, sales=0)
    assert list(check(places.project))[1] == Verdict("totals", "sales@0 shops@0", 1, None)
    totals(places, TOTAL_AT_0, sales=1)
    fault = "too many: none; missing: 1 (('Bern', Decimal('4.00')))"
    assert list(check(places.project))[1] == Verdict("totals", "sales@1 shops@0", 1, fault)


def test_a_view_without_pins_is_wrong_whatever_it_holds(places):
    sales(places, FIRST, "a.csv")
    totals(places, TOTAL_AT_0)
    fault = f"its commit pins no version of sales, {SHOPS}"
    assert list(check(places.project))[1] == Verdict("totals", "nothing", 0, fault)


def test_rows_loaded_twice_or_lost_are_found(places):
    sales(places, FIRST, "a.csv")
    sales(places, FIRST, "a.csv")
    fault = (
        "1 files were committed twice, a.csv among them; 1 files are in no commit, b.csv among them"
    )
    assert list(check(places.project)) == [
        Verdict("sales", "2 feed files", 2, fault),
        Verdict("totals", "nothing", 0, "it was never committed"),
    ]


def test_rows_are_compared_though_the_recorded_files_are_right(places):
    sales(places, FIRST, "a.csv", "b.csv")
    fault = "too many: none; missing: 1 ((2, Decimal('4.00')))"
    assert next(check(places.project)) == Verdict("sales", "2 feed files", 1, fault)


def test_a_table_is_behind_while_a_file_or_a_parents_version_is_not_in_it(places):
    queries = read_queries(places.project / "tables")
    assert behind(places, queries) == ["sales", "totals"]
    sales(places, FIRST, "a.csv")
    totals(places, TOTAL_AT_0, sales=0)
    assert behind(places, queries) == ["sales"]
    sales(places, SECOND, "b.csv")
    assert behind(places, queries) == ["totals"]
    totals(places, TOTAL_AT_1, sales=1)
    assert behind(places, queries) == []
    write(places.warehouse / "sales", f"{FIRST} LIMIT 0", files=[], strategy="compact")
    assert behind(places, queries) == []


def test_commits_of_others_are_passed_over(places):
    sales(places, FIRST, "a.csv")
    write(places.warehouse / "sales", f"{SECOND} LIMIT 0")
    sales(places, SECOND, "b.csv")
    found = commits(places.warehouse / "sales")
    assert [(each.version, each.files) for each in found] == [(0, ("a.csv",)), (2, ("b.csv",))]
