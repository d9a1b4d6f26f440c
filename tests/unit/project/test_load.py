import errno
import os
from pathlib import Path

import pytest

from freshline.core.errors import InternalError, Place, UserError
from freshline.project import (
    IngestSettings,
    KafkaSource,
    PushSource,
    SchedulerSettings,
    StaticRead,
    find_project,
    load_project,
)
from freshline.project.model import ALERT_KINDS, AlertSettings, MaintenanceSettings
from freshline.project.tables import statics_of
from freshline.sql.text.reads import reads_of, rewritten

YML = """\
name: shop
storage: warehouse
libraries:
  - glob: {include: tables/**}
  - glob: {include: "tables/*.sql"}
configuration: {spark.sql.session.timeZone: UTC, spark.x: 3, spark.y: false,
  spark.z: 1.10, spark.o: 010, spark.t: True, spark.e: 1e5, spark.d: 2026-01-31, spark.n: no}
spark: {master: "spark://h:7077", packages: ["g:a:1"], update_timeout: 30 minutes}
scheduler: {tracks: 3, policy: edf, inherit: max-plus, inherit_factor: 2, chop: 1.5, clustering: .3}
feeds:
  orders_feed:
    kind: files
    path: feed/orders
    format: csv
    options: {header: yes, sep: ";", nullValue: no, locale: no}
    schema: "id: BIGINT, at TIMESTAMP, m MAP<STRING, ARRAY<INT>>, s STRUCT<a: INT, b: STRING>"
    timestamp: {pattern: 'orders-(\\d{8}T\\d{6})', format: "%Y%m%dT%H%M%S"}
    period: 1 minute
    settle: 5 s
  clicks: {kind: push, schema: "id BIGINT, At TIMESTAMP", time: at, quota: 1GB}
  items_feed: {kind: kafka, servers: "h:9092", topic: items, schema: "id INT", starting: latest}
  far: {kind: files, path: "s3a://bucket/far", format: parquet}
"""
SQL = {
    "tables/a/views.sql": """\
-- Views first: the order of files is no matter.
CREATE MATERIALIZED VIEW by_day
  TBLPROPERTIES ('freshline.target_lag' = 'downstream', 'freshline.refresh' = 'full',
                 'freshline.priority' = '2.5', 'freshline.period' = '1h', 'team' = 'x')
  AS
  SELECT p.day, count(*) AS n
  FROM ORDERS o JOIN delta.`parts/p` p USING (id) JOIN delta.`parts/p` q USING (id)
    JOIN cat.db.t VERSION AS OF 3 USING (id) JOIN pages USING (id)
  GROUP BY p.day;
""",
    "tables/base.sql": """\
CREATE STREAMING TABLE orders PARTITIONED BY (id) COMMENT 'all orders'
  TBLPROPERTIES ('freshline.time' = 'at', 'freshline.target_lag' = '10 minutes')
  AS SELECT id, at FROM STREAM Orders_Feed AS f;
CREATE STREAMING TABLE pages AS SELECT * FROM STREAM clicks;
CREATE STREAMING TABLE items AS SELECT * FROM STREAM items_feed
""",
    "tables/notes.md": "no SQL",
}


@pytest.fixture
def root(tmp_path):
    for file, text in {"freshline.yml": YML, **SQL}.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_a_project_is_found_upwards_or_where_it_is_named(root):
    assert find_project(root / "tables" / "a") == root
    assert find_project(Path("/"), root) == root


def test_no_project_is_an_error_that_tells_what_to_do(tmp_path):
    with pytest.raises(UserError) as raised:
        find_project(Path("/"), tmp_path)
    assert str(raised.value) == (
        f"[no-project] there is no freshline.yml in {tmp_path}; a project is a directory with a "
        "freshline.yml or a spark-pipeline.yml. Go there, name it with --project DIR, or make one "
        "with freshline init NAME."
    )


@pytest.mark.parametrize("name", ["tables/base.sql", "tables/A.SQL", "README.md", "Makefile"])
def test_another_file_is_no_project(root, name):
    file = root / name
    file.touch()
    with pytest.raises(UserError) as raised:
        find_project(Path("/"), file)
    told = f"[no-project] {file} is neither freshline.yml nor a pipeline's specification; a project"
    assert str(raised.value).startswith(told)
    assert str(raised.value).endswith(" Name the directory of freshline.yml.")


def test_the_settings_are_read(root):
    project = load_project(root)
    assert (project.name, project.root) == ("shop", root)
    assert project.storage == str(root / "warehouse")
    assert project.table_path("orders") == str(root / "warehouse" / "orders")
    assert project.own_path == str(root / "warehouse" / "_freshline")
    assert project.configuration == {
        "spark.sql.session.timeZone": "UTC",
        "spark.x": "3",
        "spark.y": "false",
        "spark.z": "1.10",
        "spark.o": "010",
        "spark.t": "true",
        "spark.e": "1e5",
        "spark.d": "2026-01-31",
        "spark.n": "false",
    }
    assert project.update_timeout_s == 1800.0
    assert (project.spark_master, project.spark_packages) == ("spark://h:7077", ("g:a:1",))
    assert project.scheduler == SchedulerSettings(
        tracks=3, policy="edf", inherit="max-plus", inherit_factor=2.0, chop=1.5, clustering=0.3
    )
    assert project.ingest == IngestSettings(
        root / "warehouse" / "_freshline" / "ingest", place=Place("freshline.yml", 10)
    )
    assert project.sql_files == (root / "tables/a/views.sql", root / "tables/base.sql")
    assert project.warnings == ("freshline.yml:22: no table reads feed far",)


def test_the_feeds_are_read(root):
    feeds = load_project(root).feeds
    assert list(feeds) == ["orders_feed", "clicks", "items_feed", "far"]
    orders = feeds["orders_feed"]
    assert (orders.path, orders.format, orders.period_s, orders.settle_s) == (
        str(root / "feed/orders"),
        "csv",
        60.0,
        5.0,
    )
    assert orders.options == {"header": "true", "sep": ";", "nullValue": "no", "locale": "no"}
    assert orders.place == Place("freshline.yml", 11)
    assert feeds["clicks"].settings == PushSource("At", 10**9)
    landed = "clicks-20260131T120000.250000Z-0000000000000001-0000000000000500.parquet"
    assert feeds["clicks"].timestamp is not None
    assert feeds["clicks"].timestamp.timestamp_s(landed) == 1769860800.25
    assert (feeds["clicks"].format, feeds["clicks"].path) == (
        "parquet",
        str(root / "warehouse/_freshline/ingest/landed/clicks"),
    )
    assert feeds["items_feed"].settings == KafkaSource("h:9092", "items", "latest", None)
    assert feeds["far"].path == "s3a://bucket/far"


def test_a_file_name_tells_its_timestamp_in_utc(root):
    timestamp = load_project(root).feeds["orders_feed"].timestamp
    assert timestamp is not None
    assert timestamp.timestamp_s("orders-19700102T000001-7.csv") == 86_401.0
    assert timestamp.timestamp_s("orders-19701302T000001.csv") is None
    assert timestamp.timestamp_s("others.csv") is None


def test_the_tables_are_read_parents_first(root):
    project = load_project(root)
    assert [table.name for table in project.tables] == ["orders", "pages", "by_day", "items"]
    orders, by_day = project.table("ORDERS"), project.table("by_day")
    assert (orders.kind, orders.feed, orders.sources) == ("base", "orders_feed", ("orders_feed",))
    assert (orders.time_column, orders.target_lag_s) == ("at", 600.0)
    assert (orders.partitioned_by, orders.comment) == (("id",), "all orders")
    start, end = orders.feed_spans[0]
    assert orders.query[start:end] == "STREAM Orders_Feed"
    assert (by_day.kind, by_day.parents, by_day.sources) == (
        "derived",
        ("orders", "pages"),
        ("orders", "pages"),
    )
    assert (by_day.target_downstream, by_day.target_lag_s) == (True, None)
    assert (by_day.refresh, by_day.priority, by_day.period_s) == ("full", 2.5, 3600.0)
    assert by_day.properties["team"] == "x"
    assert by_day.place == Place("tables/a/views.sql", 2)
    assert by_day.query_place == Place("tables/a/views.sql", 6)
    assert by_day.query.startswith("SELECT p.day")
    assert by_day.query.endswith("GROUP BY p.day")
    assert [child.name for child in project.children("orders")] == ["by_day"]


@pytest.mark.parametrize(
    ("written", "path"),
    [("file:/data/in", "/data/in"), ("file:///data/in", "file:///data/in"), ("s3:/b", "s3:/b")],
)
def test_the_folder_of_a_feed_may_be_a_uri_of_this_machine_with_one_slash(root, written, path):
    file = root / "freshline.yml"
    file.write_text(file.read_text().replace("path: feed/orders", f"path: {written}"))
    with file.open("a") as end:
        end.write(f"  shipped: {{kind: delta, path: '{written}'}}\n")
    feeds = load_project(root).feeds
    assert [feeds[name].path for name in ("orders_feed", "shipped")] == [path, path]


def test_static_reads_carry_their_paths_and_spans(root):
    by_day = load_project(root).table("by_day")
    parts, catalog = by_day.statics
    assert (parts.name, parts.format, parts.path) == (
        "delta.`parts/p`",
        "delta",
        str(root / "parts/p"),
    )
    assert [by_day.query[start:end] for start, end in parts.spans] == ["delta.`parts/p`"] * 2
    assert catalog == StaticRead("cat.db.t", None, None, catalog.spans, time_travel=True)
    assert "FROM n AS ORDERS_" not in rewritten(by_day.query, {"orders": "n"})
    assert "FROM n o JOIN s p USING (id) JOIN s q" in rewritten(
        by_day.query, {"orders": "n", "delta.`parts/p`": "s"}
    )


def test_a_static_table_read_at_its_newest_version_too_is_not_fixed(root):
    query = "SELECT * FROM cat.db.t VERSION AS OF 3 JOIN cat.db.t n USING (id)"
    (read,) = statics_of(reads_of(query), root)
    assert (len(read.spans), read.time_travel) == (2, False)


def test_a_path_without_a_slash_is_one_where_the_folder_is_there(tmp_path):
    (tmp_path / "freshline.yml").write_text(
        "name: n\nstorage: w\nlibraries: [{glob: {include: t.sql}}]\n"
        "feeds: {f: {kind: files, path: f, format: csv, schema: n INT}}\n"
    )
    (tmp_path / "t.sql").write_text(
        "CREATE STREAMING TABLE b AS SELECT n FROM STREAM f;"
        "CREATE MATERIALIZED VIEW v AS SELECT * FROM b, delta.`parts`, parquet.`gone`;"
    )
    (tmp_path / "parts").mkdir()
    parts, gone = load_project(tmp_path, tmp_path).table("v").statics
    assert (parts.format, parts.path) == ("delta", str(tmp_path / "parts"))
    assert (gone.format, gone.path) == (None, None)  # a table of the catalog's schema parquet


def test_without_analysis_the_same_tables_come_out(root):
    assert load_project(root, analyse=False) == load_project(root)


def test_a_wrong_name_from_inside_is_our_fault(root):
    project = load_project(root)
    assert not project.has_table("nothing")
    with pytest.raises(InternalError, match="no table nothing"):
        project.table("nothing")


def test_what_is_allowed_but_odd_is_warned_of(root):
    (root / "tables" / "odd.sql").write_text(
        "CREATE MATERIALIZED VIEW odd AS\n"
        "SELECT *, rand() AS r FROM items JOIN delta.`warehouse/orders` USING (id);\n"
    )
    (root / "tables" / "empty.sql").write_text("-- to do\n")
    assert load_project(root).warnings == (
        "tables/empty.sql: there is no statement in this file",
        "freshline.yml:22: no table reads feed far",
        (
            "tables/odd.sql:2: view odd calls rand, which asks chance or the place where it runs: "
            "no version of it can be checked against its query"
        ),
        (
            "tables/odd.sql:1: table odd reads delta.`warehouse/orders`, which is in this "
            "project's own storage: by its path it counts as static, by its name it would be "
            "kept fresh"
        ),
    )


def test_a_link_to_nothing_is_no_table_less(root):
    (root / "tables" / ".#late.sql").symlink_to("somebody@host.1234")  # an editor's lock
    assert load_project(root).tables
    (root / "tables" / "late.sql").symlink_to(root / "moved.sql")
    with pytest.raises(UserError) as caught:
        load_project(root)
    assert (caught.value.code, str(caught.value.where)) == ("unreadable-file", "tables/late.sql")


def test_an_option_overrides_that_of_a_merged_mapping(root):
    more = "kind: files, path: more, format: csv, schema: a INT"
    with (root / "freshline.yml").open("a") as file:
        file.write(f"  old: {{{more}, options: &csv {{nullValue: 0}}}}\n")
        file.write(f"  more: {{{more}, options: {{<<: *csv, nullValue: -1, header: yes}}}}\n")
    feeds = load_project(root).feeds
    assert feeds["old"].options["nullValue"] == "0"
    assert feeds["more"].options["nullValue"] == "-1"


def test_what_no_glob_reaches_though_it_looks_so_is_warned_of(root):
    (root / "tables" / "Loud.SQL").write_text("CREATE STREAMING TABLE a AS SELECT 1")
    (root / "elsewhere").mkdir()
    (root / "tables" / "linked").symlink_to(root / "elsewhere", target_is_directory=True)
    assert not [each for each in load_project(root).warnings if "linked" in each]
    (root / "elsewhere" / "more.sql").write_text(
        "CREATE STREAMING TABLE more AS SELECT * FROM STREAM far;\n"
    )
    warnings = load_project(root).warnings
    assert (
        "tables/Loud.SQL: it is not read, since its name ends in .SQL: rename it to .sql"
    ) in warnings
    assert (
        "tables/linked: ** does not follow this link to a folder: add a glob for what is in it,"
        " tables/linked/*.sql"
    ) in warnings
    settings = (root / "freshline.yml").read_text()
    named = '  - glob: {include: tables/**}\n  - glob: {include: "tables/linked/*.sql"}\n'
    (root / "freshline.yml").write_text(settings.replace("  - glob: {include: tables/**}\n", named))
    project = load_project(root)
    assert project.has_table("more")
    assert not [each for each in project.warnings if "linked" in each]


@pytest.mark.parametrize("glob", ["./**", "./**/*.sql", ".//**/*.sql", "**", "*/**"])
def test_a_glob_of_the_whole_directory_leads_to_no_table_or_other_program(
    root, tmp_path_factory, glob
):
    settings = (root / "freshline.yml").read_text()
    names = {table.name for table in load_project(root).tables}
    (root / "freshline.yml").write_text(settings.replace("tables/**}", f'"{glob}"}}'))
    near, far = tmp_path_factory.mktemp("near"), tmp_path_factory.mktemp("far")
    (near / "more.sql").write_text("")
    (far / "deep").mkdir()
    (far / "deep" / "more.sql").write_text("")
    for folder in ("tables", "warehouse/orders", ".venv/lib", "_old"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "linked").symlink_to(near, target_is_directory=True)
    (root / "tables" / "disk").symlink_to(far, target_is_directory=True)
    project = load_project(root)
    assert {table.name for table in project.tables} == names
    told = [each.partition(":")[0] for each in project.warnings if "does not follow" in each]
    assert told == ["tables/linked"]


@pytest.mark.parametrize("glob", [".", "./"])
def test_the_directory_alone_names_no_file(root, glob):
    settings = (root / "freshline.yml").read_text()
    (root / "freshline.yml").write_text(settings.replace("tables/**}", f'"{glob}"}}'))
    with pytest.raises(UserError) as caught:
        load_project(root)
    assert caught.value.code == "empty-glob"


def test_a_table_of_its_own_by_its_name_in_the_catalog_is_warned_of(root):
    with (root / "freshline.yml").open("a") as file:
        file.write("catalog: {database: Shop}\n")
    (root / "tables" / "odd.sql").write_text(
        "CREATE MATERIALIZED VIEW odd AS SELECT i.* FROM items i\n"
        "  JOIN shop.Orders o USING (id) JOIN spark_catalog.shop.pages p USING (id)\n"
        "  JOIN other.orders q USING (id) JOIN shop.nothing n USING (id);\n"
    )
    told = [each for each in load_project(root).warnings if "catalog it" in each]
    assert told == [
        f"tables/odd.sql:1: table odd reads {name}, which is this project's own {own}: by its name"
        f" in the catalog it counts as static, as {own} it would be kept fresh"
        for name, own in (("shop.Orders", "orders"), ("spark_catalog.shop.pages", "pages"))
    ]


def test_downstream_without_anybody_downstream_is_warned_of_under_the_objective_cost(root):
    settings = (root / "freshline.yml").read_text()
    (root / "freshline.yml").write_text(
        settings.replace("scheduler: {", "scheduler: {objective: cost, ")
    )
    project = load_project(root)
    assert project.scheduler.objective == "cost"
    (warning,) = [warning for warning in project.warnings if "DOWNSTREAM" in warning]
    assert warning == (
        "tables/a/views.sql:2: table by_day has the target_lag DOWNSTREAM, and nothing that is"
        " wanted is derived from it: under the objective cost only `freshline refresh` updates it"
    )


def test_maintenance_is_on_with_a_week_of_versions_unless_it_is_set_otherwise(root):
    assert load_project(root).maintenance == MaintenanceSettings(
        compact=True, vacuum=True, audit=0.01, retention_s=604_800.0
    )
    settings = root / "freshline.yml"
    more = "\nmaintenance: {compact: false, vacuum: false, audit: 2.5%, retention: 2 days}\n"
    settings.write_text(settings.read_text() + more)
    assert load_project(root).maintenance == MaintenanceSettings(
        compact=False, vacuum=False, audit=0.025, retention_s=172_800.0
    )
    settings.write_text(settings.read_text().replace("audit: 2.5%", "audit: 0"))
    assert load_project(root).maintenance.audit == 0.0


def test_alerts_are_read_with_their_kinds_and_time(tmp_path):
    (tmp_path / "freshline.yml").write_text(
        "name: shop\nstorage: warehouse\nlibraries: [{glob: {include: '*.sql'}}]\n"
        "alerts:\n"
        "  - {url: 'https://a.test/x', on: [late, recovered, silent], for: 1 minute}\n"
        "  - url: http://b.test\n"
        "  - {url: 'http://c.test', on: recovered, for: 0}\n"
    )
    (tmp_path / "a.sql").write_text("-- no table yet")
    assert load_project(tmp_path, tmp_path).alerts == (
        AlertSettings("https://a.test/x", ("late", "silent"), for_s=60.0),
        AlertSettings("http://b.test"),
        AlertSettings("http://c.test", ALERT_KINDS, alerts=False),
    )


@pytest.mark.parametrize(
    ("written", "storage", "own_folder"),
    [
        ("file:///data/the%20shop/", "/data/the shop", "/data/the shop/_freshline"),
        ("file:/data/shop", "/data/shop", "/data/shop/_freshline"),
        ("s3a://lake/shop", "s3a://lake/shop", "ROOT/.freshline"),
        ("dbfs:/lake/shop", "dbfs:/lake/shop", "ROOT/.freshline"),
    ],
)
def test_where_a_storage_is(tmp_path, written, storage, own_folder):
    (tmp_path / "freshline.yml").write_text(
        f"name: shop\nstorage: {written}\nlibraries: [{{glob: {{include: '*.sql'}}}}]\n"
        "feeds: {f: {kind: files, path: in, format: csv, schema: n BIGINT}}\n"
    )
    (tmp_path / "a.sql").write_text("CREATE STREAMING TABLE a AS SELECT n FROM STREAM f;")
    project = load_project(tmp_path)
    assert project.storage == storage
    assert str(project.own_folder) == own_folder.replace("ROOT", str(tmp_path))


def test_files_of_windows_mean_the_same(root):
    project = load_project(root)
    for path in (root / "freshline.yml", *root.glob("tables/**/*.sql")):
        text = path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8-sig", newline="\r\n")
    assert load_project(root) == project


@pytest.mark.parametrize("denied", ["tables", "tables/deep"])
def test_a_folder_of_tables_that_cannot_be_listed_is_an_error_and_no_missing_table(
    root, denied, monkeypatch
):
    """Python's glob passes over it: its tables would be none of the project."""
    (root / "tables" / "deep").mkdir(exist_ok=True)
    scandir = os.scandir

    def refusing(path="."):
        if Path(path) == root / denied:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(UserError) as error:
        load_project(root)
    assert error.value.code == "unreadable-file"
    assert f"tables/** cannot be followed: {denied}: Permission denied" in str(error.value)
