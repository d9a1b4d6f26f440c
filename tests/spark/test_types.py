"""Columns of every type and name that Spark has: stored and read by every part, or refused.

Spark's Delta writes types that delta-rs does not read, and delta-rs then opens the whole table no
more: compaction, lineage, the page and fences would fail for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.errors import PySparkException

from freshline.core.errors import FreshlineError
from freshline.delta.log import commits, last_commit, oldest_version, row_count
from freshline.delta.small_files import files_of
from freshline.executor.verified import RIGHT
from freshline.runtime.lease.succession import fence_tables
from freshline.runtime.lineage.datasets import columns_at
from freshline.spark.trials.compare import stored
from freshline.spark.verification.versions import Verifier
from freshline.ui.views.table import columns_of
from tests.spark.sources.world import World
from tests.support.share import WHOLE, share

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1500)]

START = datetime(2026, 3, 28, 20, tzinfo=UTC)
SCHEMA = pa.schema([
    ("id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("word", pa.string()),
])  # fmt: skip

COMING = (9, 5, 5) if WHOLE else (9, 5)
"""Rows of each step."""

STORED = {
    "a_char": "CAST(word AS CHAR(4))",
    "a_varchar": "CAST(word AS VARCHAR(4))",
    "chars_inside": "array(struct(CAST(word AS CHAR(4)) AS c))",
    "uncollated": "CAST(word COLLATE UTF8_LCASE AS STRING)",
    "uncollated_binary": "CAST(word COLLATE UTF8_BINARY AS STRING)",
    "a_variant": """parse_json(concat('{"a": ', id, '}'))""",
    "variants_inside": "array(struct(parse_json(string(id)) AS v))",
    "wall": "CAST(ts AS TIMESTAMP_NTZ)",
    "walls_inside": "struct(array(CAST(ts AS TIMESTAMP_NTZ)) AS w)",
    "wall_far": "TIMESTAMP_NTZ'+12000-01-01 00:00:00' + make_dt_interval(0, id)",
    "far": "TIMESTAMP'+12000-01-01 00:00:00' + make_dt_interval(0, id)",
    "long_ago": "TIMESTAMP'-0044-03-15 12:00:00' + make_dt_interval(0, id)",
    "day_far": "DATE'+12000-01-01' + int(id)",
    "day_long_ago": "DATE'-0044-03-15' + int(id)",
    "whole_38": "CAST(id AS DECIMAL(38,0)) * 10000000000000000000000000000",
    "fraction_38": "CAST(1 / (id + 2) AS DECIMAL(38,38))",
    "small": "CAST(id AS TINYINT)",
    "short_one": "CAST(id AS SMALLINT)",
    "a_float": "CAST(id / 3 AS FLOAT)",
    "a_double": "CASE id % 3 WHEN 0 THEN double('NaN') WHEN 1 THEN double('-0.0') ELSE id / 7 END",
    "bytes": "CASE WHEN id % 2 = 0 THEN X'00FF' ELSE CAST(word AS BINARY) END",
    "a_bool": "id % 2 = 0",
    "nested": "struct(array(map(coalesce(word, ''), struct(id, array(X'00') AS b))) AS z)",
    "by_struct": "map(struct(id AS i), ts)",
    "by_time": "map(coalesce(ts, timestamp'2026-01-01'), struct(word))",
    "no_rows": "CAST(NULL AS STRUCT<a: INT, b: ARRAY<STRING>>)",
    "empty_list": "CAST(array() AS ARRAY<INT>)",
    "sketch": "hll_sketch_estimate(hll_sketch_agg(id) OVER (PARTITION BY id))",
}
"""Expressions over a row whose type every reader knows."""

REFUSED = {
    "binary_collation": "word COLLATE UTF8_BINARY",
    "of_binary_collation": "upper(concat(word COLLATE UTF8_BINARY, 'x'))",
    "lower_collation": "word COLLATE UTF8_LCASE",
    "unicode_collation": "word COLLATE UNICODE_CI",
    "list_collation": "array(word COLLATE UTF8_BINARY)",
    "field_collation": "struct(word COLLATE UTF8_BINARY AS x)",
    "key_collation": "map(coalesce(word, '') COLLATE UTF8_BINARY, 1)",
    "months": "make_ym_interval(int(id))",
    "seconds": "ts - timestamp'2026-01-01'",
    "calendar": "make_interval(int(id))",
    "seconds_inside": "array(struct(ts - timestamp'2026-01-01' AS s))",
    "nothing": "NULL",
    "nothing_inside": "array(NULL)",
    "nothing_in_map": "map('a', NULL)",
    "empty_array": "array()",
    "empty_map": "map()",
    "no_field": "named_struct()",
    "time": "TIME'10:00:00'",
    "time_inside": "array(TIME'10:00:00')",
    "geometry": "ST_GeomFromWKB(X'0101000000000000000000F03F0000000000000040')",
    "geography": "ST_GeogFromWKB(X'0101000000000000000000F03F0000000000000040')",
    "two_of_a_name": "struct(1 AS a, 2 AS A)",
    "space_in_field": "struct(1 AS `a b`)",
    "comma_in_field": "array(struct(1 AS `a,b`))",
}
"""Expressions of types that Delta does not store, or delta-rs does not read."""

NAMES = (
    *("a.b", "größe", "Select", "`tick", 'q"uote', "a'b", "a%20b", "a:b", "a/b", "a\\b", "_x"),
    *("ключ", "数", "k0", "s0", "side", "time_us", "freshline_key_0", "_metadata", "1a"),
    *("null", "true", "False", "current_date", "user", "not", "case", "interval", "exists", "date"),
)
"""Names of columns that are odd, or those of something inside."""


class Types:
    """Rows of which views make columns of every type."""

    def __init__(self, shop) -> None:
        self.shop = shop
        self.folder = shop.feed("f", "parquet", "id BIGINT, ts TIMESTAMP, word STRING")
        shop.table("e", "SELECT * FROM STREAM f", time_column="ts")
        self.files = 0
        self.columns: dict[str, list[str]] = {}

    def come(self, count: int) -> None:
        at = self.files
        rows = [
            {
                "id": at * 20 + each,
                "ts": None if each == 3 else START + timedelta(hours=at, minutes=7 * each),
                "word": (None, "buy", "Buy", "ü", "")[each % 5],
            }
            for each in range(count)
        ]
        self.files += 1
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), self.folder / f"{at}.parquet")
        self.shop.load("e", f"{at}.parquet")

    def delete(self) -> None:
        self.shop.session.sql(f"DELETE FROM delta.`{self.shop.path('e')}` WHERE id % 4 = 2")

    def plan(self) -> list[str]:
        found = self.shop.plan()
        self.columns = {name: [each for each, _ in kinds] for name, kinds in found.columns.items()}
        return [error.render() for error in found.errors]

    def update(self, view: str) -> str:
        version = int(DeltaTable(self.shop.path("e")).version())
        return str(self.shop.derive(view, e=version).strategy)

    def faults(self, view: str, columns: list[str]) -> Iterator[str]:
        """Parts that read the view otherwise than Spark does, or not at all."""
        shop, path = self.shop, self.shop.path(view)
        commit = last_commit(path)
        assert commit is not None
        frame = shop.session.read.format("delta").option("versionAsOf", commit.version).load(path)
        if stored(path, commit.version).total() != frame.count():
            yield "rows"
        if [each["name"] for each in columns_of(path, known=True)] != columns:
            yield "page"
        if [each.name for each in columns_at(path, commit.version)] != columns:
            yield "lineage"
        if not files_of(path) or oldest_version(path) is None:
            yield "files"
        if row_count(path, commit.version) is None:
            yield "count"
        check = Verifier(shop.project).check(
            shop.session.newSession(), shop.project.table(view), commit.version
        )
        if check.outcome != RIGHT:
            yield f"verified: {check}"

    def live(self, views: Mapping[str, list[str]]) -> tuple[list[str], set[str]]:
        """Updates in every way, upkeep, a fence and restarts; what went wrong, and strategies."""
        told: list[str] = []
        ways: set[str] = set()

        def all_views(step: str) -> None:
            for view in views:
                try:
                    ways.add(self.update(view))
                except (FreshlineError, PySparkException, DeltaError) as error:
                    told.append(f"{step} {view}: {str(error)[:200]}")

        for step, count in enumerate(COMING):
            self.come(count)
            all_views(f"step {step}")
        for view in views:
            self.shop.executor.run(self.shop.request(view, upkeep="compact", definition=""))
        self.shop.restart()
        told += fence_tables(self.shop.project, 2)
        self.delete()
        all_views("deleted")
        for view, columns in views.items():
            try:
                told += [f"{view}: {fault}" for fault in self.faults(view, columns)]
            except (FreshlineError, PySparkException, DeltaError) as error:
                told.append(f"{view}: {str(error)[:300]}")
        return told, ways


@pytest.fixture
def types(shop):
    return Types(shop)


def by_types(part: int) -> dict[str, str]:
    """A view for each type: its groups, and how many rows each has."""
    return {
        f"of_{name}": f"SELECT {STORED[name]} AS k, count(*) AS n, max(ts) AS t FROM e GROUP BY 1"
        for name in share([*STORED], part=part)
        if name != "sketch" and "variant" not in name
    }


def test_of_types_that_are_stored(types):
    columns = ", ".join(f"{expression} AS {name}" for name, expression in STORED.items())
    appended = [name for name in STORED if name != "sketch"]
    some = ", ".join(f"{STORED[name]} AS {name}" for name in appended)
    latest = ", ".join(
        f"max_by({name}, id) AS {name}" for name in appended if name not in ("wall", "a_bool")
    )
    odd = ", ".join(f"id + {at} AS `{name.replace('`', '``')}`" for at, name in enumerate(NAMES))
    summed = ", ".join(f"sum(`{name.replace('`', '``')}`) AS `{name.replace('`', '``')}`"
                       for name in NAMES)  # fmt: skip
    views = {
        "rows_of_all": f"SELECT id, ts, {some} FROM e",
        "all_of_all": f"SELECT id, {columns} FROM e",
        "hours": f"SELECT date_trunc('hour', ts) AS h, count(DISTINCT id) AS n, {latest}"
        f" FROM (SELECT id, ts, {some} FROM e) GROUP BY 1",
        "odd_rows": f"SELECT ts, {odd} FROM e",
        "odd_sums": f"SELECT word AS `k.0`, {summed} FROM (SELECT word, {odd} FROM e) GROUP BY 1",
        **by_types(part=36),
    }
    if not WHOLE:
        del views["all_of_all"]  # the first rows of the others are written in full, too
    for name, query in views.items():
        types.shop.table(name, query, refresh="incremental")
    assert types.plan() == []
    told, ways = types.live({name: types.columns[name] for name in views})
    assert not told, "\n".join(told)
    assert ways >= {"full", "append", "group-merge"}
    assert [each.version for each in commits(types.shop.path("hours"))]


def test_of_types_that_are_not_stored(types, tmp_path):
    for name, expression in REFUSED.items():
        types.shop.table(f"no_{name}", f"SELECT id,\n {expression} AS x FROM e")
        types.shop.table(
            f"state_{name}", f"SELECT {expression} AS x, count(*) AS n FROM e GROUP BY ALL"
        )
    told = types.plan()
    codes = ("[bad-column-type] ", "[bad-column-name] ", "[duplicate-column] ")
    for kind in ("no", "state"):
        for name in REFUSED:
            found = [line for line in told if f" tables/{kind}_{name}.sql:3: " in line]
            assert found, (kind, name)
            for said in found:
                assert said.startswith(codes), (kind, name, said)
                assert said.endswith((" to STRING.", " with AS.", " the column out.")), said
    if not WHOLE:
        return
    # What is refused could not be there: Delta does not write it, or delta-rs does not read it.
    session = types.shop.session
    session.sql("SELECT 1L AS id, now() AS ts, 'a' AS word").createOrReplaceTempView("e")
    tried = {name: each for name, each in REFUSED.items() if name != "nothing"}  # always NULL
    for name, expression in tried.items():
        path = str(tmp_path / "tried" / name)
        with pytest.raises((PySparkException, DeltaError)):
            _written_and_read(session, f"SELECT id, {expression} AS x FROM e", path)


def _written_and_read(session, query, path):
    session.sql(query).write.format("delta").save(path)
    DeltaTable(path)


@pytest.mark.parametrize("partitioned_by", [(), pytest.param(("code",), marks=pytest.mark.proof)])
def test_a_char_is_compared_in_new_rows_as_in_all(shop, partitioned_by):
    """Spark fills up the text that a CHAR is compared with, if it knows that the column is one."""
    shop.session.sql(f"CREATE TABLE delta.`{shop.root}/codes` (k BIGINT, code CHAR(4)) USING delta")
    shop.session.sql(f"INSERT INTO delta.`{shop.root}/codes` VALUES (0, 'ab'), (1, 'abcd')")
    folder = shop.feed("f", "csv", "id BIGINT")
    shop.table("e", "SELECT * FROM STREAM f")
    query = "SELECT id, code FROM e JOIN delta.`codes` ON id % 2 = k"
    shop.table("coded", query, partitioned_by=partitioned_by)
    shop.table("some", "SELECT id, code FROM coded WHERE code = 'ab'")
    strategies = []
    for number in range(2):
        (folder / f"{number}.csv").write_text(f"{2 * number}\n{2 * number + 1}\n")
        shop.load("e", f"{number}.csv")
        shop.derive("coded", e=number)
        strategies.append(shop.derive("some", coded=number).strategy)
    assert strategies == ["full", "append"]
    assert [(row["id"], row["code"]) for row in shop.rows("some")] == [(0, "ab  "), (2, "ab  ")]


def test_a_char_beside_other_texts_in_a_union_is_a_text_like_them(shop):
    """To Spark a column of a union is a CHAR if it is one in the first branch alone."""
    shop.session.sql(f"CREATE TABLE delta.`{shop.root}/codes` (k BIGINT, code CHAR(4)) USING delta")
    shop.session.sql(f"INSERT INTO delta.`{shop.root}/codes` VALUES (0, 'ab'), (1, 'abcd')")
    folder = shop.feed("f", "csv", "id BIGINT, word STRING")
    shop.table("e", "SELECT * FROM STREAM f")
    rows = (
        "SELECT code, id FROM e JOIN delta.`codes` ON id % 2 = k UNION ALL SELECT word, id FROM e"
    )
    shop.table("united", rows, refresh="incremental")
    counted = f"SELECT code, count(*) AS n FROM ({rows}) GROUP BY code HAVING code <> 'ab'"
    shop.table("counted", counted, refresh="incremental")
    shop.table("short", "SELECT id FROM united WHERE code = 'ab'", refresh="incremental")
    assert not shop.plan().errors
    strategies = []
    for number, words in enumerate((("ab", "a"), ("ab", "longer"))):
        lines = [f"{2 * number + at},{word}" for at, word in enumerate(words)]
        (folder / f"{number}.csv").write_text("\n".join(lines) + "\n")
        shop.load("e", f"{number}.csv")
        strategies += [shop.derive(name, e=number).strategy for name in ("united", "counted")]
        shop.derive("short", united=number)
    assert strategies == ["full", "full", "append", "full"]
    expected = [(0, "ab"), (0, "ab  "), (1, "a"), (1, "abcd"), (2, "ab"), (2, "ab  "), (3, "abcd")]
    read = shop.session.read.format("delta")
    found = sorted((row.id, row.code) for row in read.load(shop.path("united")).collect())
    assert found == [*expected, (3, "longer")]
    counts = sorted((row.code, row.n) for row in read.load(shop.path("counted")).collect())
    # Within the query the column is still a CHAR, to which 'ab' is filled up.
    assert counts == [("a", 1), ("ab", 2), ("abcd", 2), ("longer", 1)]
    assert [row["id"] for row in shop.rows("short")] == [0, 2]


def test_a_char_of_a_parent_in_a_union_is_counted_as_the_query_does(shop):
    world = World(shop)
    shop.tables = []
    shop.table("orders", "SELECT id, code FROM STREAM orders_feed")
    query = (
        "SELECT code, count(*) AS n FROM (SELECT code FROM orders UNION ALL"
        " SELECT trim(code) FROM orders) GROUP BY code"
    )
    shop.table("united", query, refresh="incremental")
    world.sql("CREATE TABLE SOURCE (id BIGINT, code CHAR(4)) USING delta")
    strategies = []
    for number in range(3):
        world.sql(f"INSERT INTO SOURCE VALUES ({number}, 'ab')")
        world.load(*world.news().files)
        strategies.append(shop.derive("united", orders=number).strategy)
        found = shop.session.read.format("delta").load(shop.path("united")).collect()
        assert {row.code: row.n for row in found} == {"ab": number + 1, "ab  ": number + 1}
    assert strategies == ["full", "full", "full"]


def test_a_varchar_of_a_static_table_may_grow(shop):
    codes = f"delta.`{shop.root}/codes`"
    shop.session.sql(f"CREATE TABLE {codes} (k BIGINT, code VARCHAR(4)) USING delta")
    shop.session.sql(f"INSERT INTO {codes} VALUES (0, 'ab')")
    folder = shop.feed("f", "csv", "id BIGINT")
    shop.table("e", "SELECT * FROM STREAM f")
    shop.table("coded", "SELECT id, code FROM e JOIN delta.`codes` ON id = k")
    (folder / "0.csv").write_text("0\n")
    shop.load("e", "0.csv")
    shop.derive("coded", e=0)
    shop.session.sql(f"ALTER TABLE {codes} ALTER COLUMN code TYPE VARCHAR(10)")
    shop.session.sql(f"UPDATE {codes} SET code = 'abcdefgh'")
    assert shop.derive("coded", e=0).code == "static-changed"
    assert shop.rows("coded") == [{"id": 0, "code": "abcdefgh"}]


def test_a_char_of_a_delta_feed_is_compared_as_spark_does(shop):
    world = World(shop)
    shop.tables = []
    shop.table("orders", "SELECT id, code FROM STREAM orders_feed WHERE code = 'ab'")
    shop.table("known", "SELECT id FROM orders WHERE code = 'ab'")
    world.sql("CREATE TABLE SOURCE (id BIGINT, code CHAR(4)) USING delta")
    for number in range(2):
        world.sql(f"INSERT INTO SOURCE VALUES ({2 * number}, 'ab'), ({2 * number + 1}, 'abcd')")
        world.load(*world.news().files)
        shop.derive("known", orders=number)
    assert [row["id"] for row in shop.rows("orders")] == [0, 2]
    assert [row["id"] for row in shop.rows("known")] == [0, 2]
