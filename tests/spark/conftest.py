"""One Spark session for all tests of this folder, and a shop with feeds to run updates in."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import CommitProperties
from pyspark.sql import SparkSession

from demo.kafka_jars import source_jars
from freshline.core.errors import Place
from freshline.executor.records import FeedFile, UpdateRequest, UpdateResult
from freshline.project.definition import definition_of
from freshline.project.model import Feed, Project, StaticRead, TableDef
from freshline.spark.analysis import Analysis
from freshline.spark.engine.session import start_session
from freshline.spark.trials.checksums import write_checksum
from freshline.spark.updates import SparkExecutor
from freshline.sql.query.records import ViewPlan
from freshline.sql.text.reads import reads_of
from freshline.times import rfc3339
from tests.support.recorded_plans import plans as recorded_plans
from tests.support.view_cases import SOURCES

MIDNIGHT_S = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    root = tmp_path_factory.mktemp("session")
    project = Project(
        "tests",
        root,
        str(root / "warehouse"),
        (),
        {},
        # Not UTC: whatever is right only in UTC fails here.
        {
            "spark.sql.session.timeZone": "Europe/Berlin",
            "spark.sql.warehouse.dir": str(root / "catalog"),
            "spark.jars": ",".join(str(jar) for jar in source_jars()),
            # Hundreds of tables, a thousand updates: what one warehouse has in a week.
            "spark.driver.memory": "3g",
            # Few plans outlive a collection that comes this seldom.
            "spark.driver.extraJavaOptions": "-XX:NewSize=1g",
            # Where the zone is not UTC, Delta holds the files that its checksum file lists against
            # the log: by jobs that take a tenth of all that an update costs.
            "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled": "false",
        },
        "local[2]",
    )
    session = start_session(project, app_name="freshline-tests")
    yield session
    session.stop()


@dataclass
class Shop:
    """A project that grows by the calls of a test, and its executor."""

    root: Path
    session: SparkSession
    feeds: dict[str, Feed] = field(default_factory=dict)
    tables: list[TableDef] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    plans: dict[str, ViewPlan] = field(default_factory=dict)
    _executor: SparkExecutor | None = None

    @property
    def project(self) -> Project:
        return Project(
            "shop",
            self.root,
            str(self.root / "warehouse"),
            tuple(self.tables),
            self.feeds,
            {},
            "local[2]",
        )

    @property
    def executor(self) -> SparkExecutor:
        if self._executor is None:
            self._executor = SparkExecutor(self.project, self.session, self.plans)
        return self._executor

    def restart(self) -> None:
        """What a new process knows: nothing but what is on disk."""
        self._executor = None

    def begin_as(self, other: Shop) -> None:
        """Copy all that another shop has, and go on from there as a new process would.

        A load takes half a second, a copy a few milliseconds: what several tests begin with is
        made once a module.
        """
        shutil.copytree(other.root, self.root, dirs_exist_ok=True)
        for name, feed in other.feeds.items():
            folder = self.root / Path(feed.path).relative_to(other.root)
            self.feeds[name] = replace(feed, path=str(folder))
        self.tables += other.tables
        self.numbers |= other.numbers
        self.plans |= other.plans
        self.restart()

    def feed(
        self,
        name: str,
        file_format: str,
        schema: str | None,
        options: Mapping[str, str] | None = None,
    ) -> Path:
        folder = self.root / "feed" / name
        folder.mkdir(parents=True, exist_ok=True)
        self.feeds[name] = Feed(
            name,
            "files",
            str(folder),
            file_format,
            options or {},
            schema,
            None,
            None,
            Place("freshline.yml", 7),
        )
        self.restart()
        return folder

    def table(self, name: str, query: str, **more: Any) -> None:
        """Add a table, or replace the one of that name."""
        reads = reads_of(query)
        known = {table.name.lower(): table.name for table in self.tables}
        streams = [read.name for read in reads if read.stream]
        own = [known[name] for read in reads if not read.stream
               for name in [read.name.lower()] if name in known]  # fmt: skip
        statics: dict[str, StaticRead] = {}
        for read in reads:
            if read.stream or read.name.lower() in known:
                continue
            by_path = read.parts[0].lower() in ("delta", "parquet")
            statics[read.name] = StaticRead(
                read.name,
                read.parts[0] if by_path else None,
                str(self.root / read.parts[1]) if by_path else None,
                ((read.start, read.end),),
                all(each.time_travel for each in reads if each.name == read.name),
            )
        self.tables = [table for table in self.tables if table.name != name]
        self.tables.append(
            TableDef(
                name,
                "base" if streams else "derived",
                query,
                Place(f"tables/{name}.sql", 3),
                Place(f"tables/{name}.sql", 1),
                feed=streams[0] if streams else None,
                parents=tuple(dict.fromkeys(own)),
                statics=tuple(statics.values()),
                **more,
            )
        )
        self.restart()

    def plan(self) -> Analysis:
        """Has Spark analyse every query; updates follow the plans that are found."""
        found = self.executor.analyse()
        self.plans = dict(found.plans)
        self.restart()
        return found

    def request(self, table: str, *files: str, **more: Any) -> UpdateRequest:
        definition = ""
        if self.project.table(table).kind == "derived":
            definition = definition_of(self.project.table(table))
        number = self.numbers[table] = self.numbers.get(table, 0) + 1
        return UpdateRequest(
            **{
                "number": number,
                "table": table,
                "from_s": MIDNIGHT_S + 60 * (number - 1),
                "to_s": MIDNIGHT_S + 60 * number,
                "definition": definition,
                "files": tuple(FeedFile(name, 1, MIDNIGHT_S, MIDNIGHT_S) for name in files),
                **more,
            }
        )

    def load(self, table: str, *files: str, **more: Any) -> UpdateResult:
        return self.executor.run(self.request(table, *files, **more))

    def derive(self, table: str, **versions: int) -> UpdateResult:
        return self.executor.run(self.request(table, parents=versions))

    def come(self, table: str, rows: pa.Table, to_s: float = 0.0) -> int:
        """Append rows to a base table as a load would, where how they are loaded is no question.

        delta-rs writes them, with the metadata and the checksum of a load: Spark takes half a
        second for it. Returns the new version.

        Args:
            table: The base table.
            rows: With the columns of its query.
            to_s: How fresh the table is with them.
        """
        fields = {"freshline": 1, "table": table, "update": 1, "to": rfc3339(to_s), "parents": {}}
        deltalake.write_deltalake(
            self.path(table),
            rows,
            mode="append",
            configuration={"delta.enableChangeDataFeed": "true"},
            commit_properties=CommitProperties(
                custom_metadata={"userMetadata": json.dumps(fields)}
            ),
        )
        version = int(deltalake.DeltaTable(self.path(table)).version())
        write_checksum(Path(self.path(table)), version)
        return version

    def path(self, table: str) -> str:
        return self.project.table_path(table)

    def rows(self, table: str, version: int | None = None) -> list[dict[str, Any]]:
        """A table's rows as delta-rs reads them, sorted by their text."""
        found = deltalake.DeltaTable(self.path(table), version=version).to_pyarrow_table()
        return sorted(found.to_pylist(), key=repr)

    def delta(self, name: str, table: pa.Table) -> None:
        """Append to a Delta table of somebody else, outside of the storage."""
        deltalake.write_deltalake(str(self.root / name), table, mode="append")


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    return Shop(tmp_path, spark)


@contextmanager
def growing(file: Path, line: str) -> Iterator[None]:
    """A line is added to a feed's file, within, whenever an update has read its files."""

    def grow(name: str) -> None:
        if name == "base.after_data":
            with file.open("a") as more:
                more.write(line)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("freshline.spark.feeds.base.failpoint", grow)
        yield


@pytest.fixture(scope="module")
def empty(spark: SparkSession) -> SparkSession:
    """A session in UTC with an empty view of each source."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    recorded_plans(session, SOURCES)
    return session
