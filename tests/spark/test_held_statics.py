"""Rows of small static tables are held in the driver: for one version, and for nothing else."""

from __future__ import annotations

import shutil

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from freshline.spark.engine import in_driver, pins

pytestmark = pytest.mark.spark

REGIONS = {1: "north", 2: "south", 3: "east"}
QUERY = (
    "SELECT k.region, count(*) AS n, sum(e.cents) AS cents FROM events e"
    " LEFT JOIN delta.`keys` k ON e.key = k.key GROUP BY k.region"
)


def keys(regions: dict[int, str]) -> pa.Table:
    return pa.table({"key": pa.array(regions, pa.int32()), "region": list(regions.values())})


@pytest.fixture
def events(shop):
    """A base table that grows by a row of each key a call."""
    shop.feed("events_feed", "json", "key INT, cents INT")
    shop.table("events", "SELECT key, cents FROM STREAM events_feed")
    columns = {"key": (1, 2, 3), "cents": (10, 20, 30)}
    rows = pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})

    def grow() -> int:
        version: int = shop.come("events", rows)
        return version

    return grow


def sums(shop, view: str = "sums") -> dict[str | None, int]:
    return {row["region"]: row["n"] for row in shop.rows(view)}


def jobs(shop, table: str, number: int) -> int:
    tracker = shop.session.sparkContext.statusTracker()
    return len(tracker.getJobIdsForGroup(f"freshline/{table}/{number}"))


@pytest.mark.parametrize("refresh", [pytest.param("full", marks=pytest.mark.proof), "incremental"])
def test_its_rows_take_no_job_until_it_changes(refresh, shop, events):
    shop.delta("keys", keys(REGIONS))
    shop.table("sums", QUERY, refresh=refresh)
    taken = []
    for number in range(1, 5):
        if number == 4:
            shop.delta("keys", keys({4: "west"}))
        shop.derive("sums", events=events())
        assert sums(shop) == dict.fromkeys(REGIONS.values(), number)
        taken.append(jobs(shop, "sums", number))
    # One sends the rows to the join's task, one writes. A new version is found and read, once.
    assert taken[1] == taken[2] == 2
    assert taken[3] > 2


def test_one_table_under_two_names_is_read_at_one_version(shop, events, monkeypatch):
    """Somebody commits to it between the looks at the two names."""
    shop.delta("keys", keys(REGIONS))
    query = (
        "SELECT a.region AS a, b.region AS b FROM events e JOIN delta.`keys` a ON e.key = a.key"
        " JOIN delta.`./keys` b ON e.key = b.key WHERE e.key = 1"
    )
    shop.table("both", query)
    looked: list[str] = []
    version, real = events(), pins.newest_snapshot

    def look(session, read):
        found = real(session, read)
        if not looked:
            changed = keys({key: region.upper() for key, region in REGIONS.items()})
            deltalake.write_deltalake(str(shop.root / "keys"), changed, mode="overwrite")
        looked.append(read.name)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(pins, "newest_snapshot", look)
        shop.derive("both", events=version)
    assert len(looked) > 1
    assert shop.rows("both") == [{"a": "north", "b": "north"}]


def test_rows_that_change_are_seen_at_the_next_update(shop, events):
    shop.delta("keys", keys(REGIONS))
    shop.table("sums", QUERY)
    shop.derive("sums", events=events())
    table = deltalake.DeltaTable(str(shop.root / "keys"))
    table.update(updates={"region": "'middle'"}, predicate="key < 3")
    shop.derive("sums", events=events())
    assert sums(shop) == {"middle": 4, "east": 2}
    table.restore(0)
    shop.derive("sums", events=events())
    assert sums(shop) == dict.fromkeys(REGIONS.values(), 3)


def test_another_table_at_the_same_place_and_version_is_another(shop, events):
    shop.delta("keys", keys(REGIONS))
    shop.table("sums", QUERY)
    shop.derive("sums", events=events())
    shutil.rmtree(shop.root / "keys")
    shop.delta("keys", keys(dict.fromkeys(REGIONS, "all")))
    shop.derive("sums", events=events())
    assert sums(shop) == {"all": 6}


def test_a_version_that_was_taken_back_and_made_again_is_another(shop, events):
    """As when a table's folder is put back from a copy: the same identity, the same version."""
    shop.delta("keys", keys({1: "north"}))
    shop.table("sums", QUERY)
    shutil.copytree(shop.root / "keys", shop.root / "copy")
    shop.delta("keys", keys({2: "south", 3: "east"}))
    shop.derive("sums", events=events())
    shutil.rmtree(shop.root / "keys")
    (shop.root / "copy").rename(shop.root / "keys")
    shop.delta("keys", keys({2: "west", 3: "west"}))
    shop.derive("sums", events=events())
    assert sums(shop) == {"north": 2, "west": 4}


def test_two_views_read_what_their_own_settings_make_of_its_files(spark, shop, events):
    """Days before 1582 are written as another calendar has them; a setting says which."""
    old = spark.newSession()
    old.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    rows = old.sql("SELECT 1 AS key, DATE'1500-01-01' AS day")
    path = str(shop.root / "keys")
    rows.write.format("delta").save(path)
    query = "SELECT e.cents, k.day FROM events e JOIN delta.`keys` k ON e.key = k.key"
    shop.table("plain", query)
    version = events()
    shop.derive("plain", events=version)
    expected = [
        {"cents": 10, "day": row.day}
        for row in spark.newSession().read.format("delta").load(path).collect()
    ]
    assert shop.rows("plain") == expected
    # Another table's settings are another reading.
    shop.table("lenient", query.replace("k.day", "CAST('x' AS INT) AS day"),
               settings={"spark.sql.ansi.enabled": "false"})  # fmt: skip
    shop.derive("lenient", events=version)
    assert shop.rows("lenient") == [{"cents": 10, "day": None}]


@pytest.mark.parametrize(
    ("held", "names"),
    [
        (True, ("x/keys", "X/keys")),
        pytest.param(False, ("Keys", "keys"), marks=pytest.mark.proof),
        pytest.param(True, ("Keys", "keys"), marks=pytest.mark.proof),
        pytest.param(False, ("x/keys", "X/keys"), marks=pytest.mark.proof),
    ],
)
def test_two_tables_may_differ_in_the_case_of_their_paths_alone(
    held, names, shop, events, monkeypatch
):
    if not held:
        monkeypatch.setattr(pins, "_HELD_BYTES", -1)
    one, other = names
    shop.delta(one, keys({1: "one", 2: "one"}))
    shop.delta(other, keys({2: "other", 3: "other"}))
    shop.table(
        "both",
        "SELECT coalesce(a.region, '-') AS a, coalesce(b.region, '-') AS b, count(*) AS n"
        f" FROM events e LEFT JOIN delta.`{one}` a ON a.key = e.key"
        f" LEFT JOIN delta.`{other}` AS b ON b.key = e.key GROUP BY 1, 2",
        refresh="incremental",
    )
    for times in (1, 2):
        shop.derive("both", events=events())
        assert {(row["a"], row["b"]): row["n"] for row in shop.rows("both")} == {
            ("one", "-"): times, ("one", "other"): times, ("-", "other"): times
        }  # fmt: skip


def test_too_many_rows_and_too_many_files_are_left_to_spark(shop, events, monkeypatch):
    many = {key: f"region {key % 3}" for key in range(in_driver.MOST_ROWS + 1)}
    shop.delta("keys", keys(many))
    shop.table("sums", QUERY)
    shop.derive("sums", events=events())
    assert sums(shop) == {"region 0": 1, "region 1": 1, "region 2": 1}
    shutil.rmtree(shop.root / "keys")
    for key in range(12):
        shop.delta("keys", keys({key: f"key {key}"}))
    shop.derive("sums", events=events())
    assert sums(shop) == {"key 1": 2, "key 2": 2, "key 3": 2}
    monkeypatch.setattr(pins, "_HELD_BYTES", 0)
    shop.delta("keys", keys({99: "last"}))
    shop.derive("sums", events=events())
    assert sums(shop) == {"key 1": 3, "key 2": 3, "key 3": 3}


def test_rows_that_deletion_vectors_hide_stay_hidden(spark: SparkSession, shop, events):
    path = shop.root / "keys"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (key INT, region STRING) USING delta"
        " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 'north'), (2, 'south'), (3, 'east')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE key = 2")
    shop.table("sums", QUERY)
    shop.derive("sums", events=events())
    assert sums(shop) == {"north": 1, None: 1, "east": 1}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT `keys`.region, e.key FROM events e JOIN delta.`keys` USING (key)",
        (
            "SELECT n.region, e.key FROM events e JOIN delta.`keys` VERSION AS OF 0 AS o"
            " ON o.key = e.key JOIN delta.`keys` n ON n.key = e.key"
        ),
        pytest.param(
            "WITH k AS (SELECT * FROM delta.`keys`) SELECT a.region, e.key FROM events e"
            " JOIN k a ON a.key = e.key JOIN k b ON b.key = e.key",
            marks=pytest.mark.proof,
        ),
        (
            "SELECT (SELECT max(region) FROM delta.`keys` k WHERE k.key = e.key) AS region, e.key"
            " FROM events e"
        ),
        pytest.param(
            "SELECT region, key FROM events NATURAL JOIN delta.`keys`", marks=pytest.mark.proof
        ),
    ],
)
def test_a_query_may_name_it_in_any_way(query, shop, events):
    shop.delta("keys", keys(REGIONS))
    shop.table("named", query)
    shop.derive("named", events=events())
    assert shop.rows("named") == sorted(
        ({"region": region, "key": key} for key, region in REGIONS.items()), key=repr
    )


def test_a_table_of_the_catalog_is_held_too_and_keeps_its_name(spark: SparkSession, shop, events):
    spark.sql("CREATE TABLE default.held_keys USING delta AS SELECT 1 AS key, 'north' AS region")
    try:
        for number, name in enumerate(("held_keys", "default.held_keys", "k")):
            alias = " k" if name == "k" else ""
            shop.table(
                "named",
                f"SELECT {name}.region, e.key FROM events e JOIN default.held_keys{alias}"
                f" ON {name}.key = e.key",
            )
            shop.derive("named", events=events())
            assert shop.rows("named") == [{"region": "north", "key": 1}] * (number + 1)
    finally:
        spark.sql("DROP TABLE default.held_keys")


@pytest.mark.parametrize("mode", ["name", pytest.param("id", marks=pytest.mark.proof)])
def test_a_static_table_whose_columns_are_mapped(mode, shop, events):
    path = shop.root / "keys"
    shop.session.sql(
        f"CREATE TABLE delta.`{path}` (key INT, was STRING) USING delta"
        f" TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}')"
    )
    shop.session.sql(f"INSERT INTO delta.`{path}` VALUES (1, 'north'), (2, 'south')")
    shop.session.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN was TO region")
    shop.table("sums", QUERY, refresh="incremental")
    for number in range(1, 3):
        shop.derive("sums", events=events())
        assert sums(shop) == {"north": number, "south": number, None: number}
