"""A project as the other layers see it: checked, resolved, immutable.

Everything here was found right by :mod:`freshline.project.load`; who holds a Project need not
check it again. What only Spark can tell (types, columns, functions) is checked by Spark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from freshline.core.assembly import SchedulerSettings
from freshline.core.errors import InternalError, Place
from freshline.project.deadlines import Deadline
from freshline.project.names import Scope

FeedKind = Literal["files", "kafka", "push", "delta"]
TableKind = Literal["base", "derived"]
Span = tuple[int, int]
"""Offsets in a query's text: first character, and behind the last one."""


@dataclass(frozen=True, slots=True)
class TimestampPattern:
    """How a file's name tells its timestamp: a pattern with one group, and its format."""

    pattern: re.Pattern[str]
    format: str

    def timestamp_s(self, file_name: str) -> float | None:
        """Seconds since the epoch, or None where the name does not tell.

        A format without ``%z`` means UTC.
        """
        found = self.pattern.search(file_name)
        if found is None or found[1] is None:
            return None
        try:
            moment = datetime.strptime(found[1], self.format)  # noqa: DTZ007 - UTC below
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """Where a feed of kind kafka reads.

    Attributes:
        starting: Where a table's first update begins: earliest, latest, or a moment in RFC
            3339 (then with the first records stamped as late or later).
        time: The event-time column of its schema.
        on_new_topic: What becomes of tables that have read a topic where another one has its
            name now, or its offsets went back: ``refuse`` or ``read``.
    """

    servers: str
    topic: str
    starting: str
    time: str | None
    on_new_topic: str = "refuse"


@dataclass(frozen=True, slots=True)
class PushSource:
    """What a feed of kind push takes in. ``quota_bytes``: the most it may keep on disk."""

    time: str | None
    quota_bytes: int | None


@dataclass(frozen=True, slots=True)
class DeltaSource:
    """Which Delta table a feed of kind delta reads, where its path does not say it.

    Attributes:
        table: Its name in the session's catalog; None: the feed has a path.
        on_new_table: What becomes of tables that have read it where another table is in its
            place now, or it went back: ``refuse`` or ``reload``.
    """

    table: str | None
    on_new_table: str = "refuse"


@dataclass(frozen=True, slots=True)
class Feed:
    """A stream of arriving data.

    Attributes:
        name: As in freshline.yml.
        kind: files, kafka, push or delta.
        path: Directory (absolute) or URI; empty for kafka, push and tables by name.
        format: parquet, csv or json; delta for that kind.
        options: Of Spark's reader (files) or source (kafka).
        schema: DDL of the records; None only for parquet files and delta.
        timestamp: How a file's name tells its time; None: its modification time.
        period_s: How often data is due; None: learned.
        place: Where the feed is declared.
        settings: What only kafka, push and delta have.
        settle_s: Files: how long one has to stand still before it is loaded; None: at once.
    """

    name: str
    kind: FeedKind
    path: str
    format: str
    options: Mapping[str, str]
    schema: str | None
    timestamp: TimestampPattern | None
    period_s: float | None
    place: Place
    settings: KafkaSource | PushSource | DeltaSource | None = None
    settle_s: float | None = None


@dataclass(frozen=True, slots=True)
class StaticRead:
    """A table of another storage that a query reads.

    Attributes:
        name: As the query names it, e.g. ``delta.`/data/part` `` or ``catalog.db.t``.
        format: delta, parquet, ... when it is read by its path, else None.
        path: The absolute path or URI (relative ones start at the project), else None.
        spans: Where in the query's text it is read.
        time_travel: The query itself fixes the version wherever it reads it; leave it as it is.
    """

    name: str
    format: str | None
    path: str | None
    spans: tuple[Span, ...]
    time_travel: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A view of the session that has to stand there before a table's query.

    Attributes:
        name: The view's.
        query: Its SQL; None: a Python function makes it.
        key: By which the function is found in its file.
        fingerprint: Of the file's text.
        names: What each name that the function reads stands for: a view of the session.
        streams: What it streams from outside, as one text, to the feed's name.
        scope: What short names of tables in the function belong to.
        datasets: Names of all datasets of the pipeline in lower case, in parts.
        outside: Tables outside the pipeline that the function reads, by their names in a query, and
            whether each time at a version that it chooses itself.
    """

    name: str
    query: str | None = None
    key: str = ""
    fingerprint: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, str] = field(default_factory=dict)
    scope: Scope = field(default_factory=Scope)
    datasets: frozenset[tuple[str, ...]] = field(default=frozenset(), repr=False)
    outside: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """What makes a view a report.

    Attributes:
        window_s: Length of each window.
        deadline: Of each window's result.
        groups: Rows that the result should have, as its author knows it.
    """

    window_s: float
    deadline: Deadline
    groups: int = 1


@dataclass(frozen=True, slots=True)
class TableDef:
    """One table of the project.

    Attributes:
        name: Unique in any case; its Delta table is STORAGE/name.
        kind: base (row-wise over one feed) or derived (a view over other tables).
        query: The user's text behind AS, verbatim.
        query_place: File, and the line on which ``query`` starts.
        place: File and line of the statement.
        priority: Greater than 0.
        target_lag_s: The staleness asked for; None: none, or DOWNSTREAM.
        target_downstream: As fresh as the tables that read it need.
        time_column: The event-time column.
        refresh: auto, incremental, incremental_strict or full.
        catch_up: Of a backlog a base table loads the oldest or the newest file first.
        emit: early (a view shows every bucket at once) or final (when it is complete).
        period_s: Of derived tables that have one.
        feed: Name of the feed that a base table reads.
        feed_spans: Where in ``query`` it is read, the word STREAM included.
        parents: Tables of the project that are read, by first mention.
        statics: Other tables that are read, by first mention.
        partitioned_by: Columns.
        comment: The table's comment.
        columns: Name and comment of each column, where the statement lists them.
        properties: All of TBLPROPERTIES, freshline.* included.
        report: A report's window and deadline; it is among the project's reports then.
        analysed: False where the query's form is known to Spark alone and row-wise or not
            was judged by its words only.
        settings: Spark settings that hold for its query alone.
        programs: Views that its query needs in the session, those that others need first.
        former: Of a pipeline's base table: names that it has without, or with, another dataset of
            its name, or another flow into its dataset.
    """

    name: str
    kind: TableKind
    query: str
    query_place: Place
    place: Place
    priority: float = 1.0
    target_lag_s: float | None = None
    target_downstream: bool = False
    time_column: str | None = None
    refresh: str = "auto"
    catch_up: str = "oldest"
    emit: str = "early"
    period_s: float | None = None
    feed: str | None = None
    feed_spans: tuple[Span, ...] = ()
    parents: tuple[str, ...] = ()
    statics: tuple[StaticRead, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    comment: str | None = None
    columns: tuple[tuple[str, str | None], ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    analysed: bool = True
    report: ReportSettings | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[Program, ...] = ()
    former: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The feed of a base table, the parents of a derived one."""
        return (self.feed,) if self.feed is not None else self.parents


@dataclass(frozen=True, slots=True)
class MaintenanceSettings:
    """``maintenance:`` of freshline.yml: what is done to tables on idle tracks.

    Attributes:
        compact: Small files are put together.
        vacuum: Files that no version needs any more are removed.
        trials: A view is computed in full until its strategies passed a trial.
        audit: Part of the tracks' time in which views are verified; 0: none are.
        retention_s: Every version of the last so many seconds stays readable.
        rejected_s: Rejected rows are removed when they are this old.
    """

    compact: bool = True
    vacuum: bool = True
    trials: bool = True
    audit: float = 0.01
    retention_s: float = 7 * 86_400.0
    rejected_s: float = 90 * 86_400.0


ALERT_KINDS = (
    "late", "failing", "silent", "quarantine", "bound-broken", "report-late", "wrong-view",
)  # fmt: skip
"""What an alert can tell; ``recovered`` is the end of any of them."""


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """One entry of ``alerts:`` of freshline.yml.

    Attributes:
        url: Where events are posted.
        kinds: Of ``ALERT_KINDS``.
        alerts: False where only recoveries are posted.
        for_s: How long a table is late or failing, or a feed silent, before it is told.
    """

    url: str
    kinds: tuple[str, ...] = ALERT_KINDS
    alerts: bool = True
    for_s: float = 0.0


CheckKind = Literal["unique", "not_null", "accepted_values", "relationships"]
CHECK_KINDS: tuple[CheckKind, ...] = ("unique", "not_null", "accepted_values", "relationships")


@dataclass(frozen=True, slots=True)
class DataCheck:
    """What has to hold of a table's rows: one entry of ``checks:`` of freshline.yml.

    Attributes:
        name: What messages call it.
        kind: unique, not_null, accepted_values or relationships.
        columns: SQL expressions over the table's columns; several for unique alone.
        values: Of accepted_values.
        to: Of relationships: a table of the project, or of Spark's catalog by a name with dots.
        field: Of relationships: an expression over the columns of ``to``.
        where: The rows that it is about, as an SQL condition; None: all.
        warns: Rows that fail it are told, and the exit status does not depend on them.
    """

    name: str
    kind: CheckKind
    place: Place
    columns: tuple[str, ...]
    values: tuple[str | int | float | bool, ...] = ()
    to: str | None = None
    field: str | None = None
    where: str | None = None
    warns: bool = False


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """``catalog:`` of freshline.yml: where tables are registered by name.

    Attributes:
        database: The schema within the catalog; it is made where it does not exist.
        name: The catalog, as Spark's settings name it.
    """

    database: str
    name: str = "spark_catalog"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Certificate (with its chain) and key, as PEM files; ``place`` is where they are named."""

    certificate: Path
    key: Path
    place: Place


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """``server:`` of freshline.yml: the one address of a project's page, API and gateway.

    Attributes:
        port: 0: any free one.
        tls: None: plain HTTP, on the loopback alone.
        tokens: SHA-256 of the bearer tokens of people who may act, in hexadecimal.
        written: Whether the file names the port; one that it does not name may be another where
            it is taken.
        place: Where the address is written, or the file.
    """

    host: str = "127.0.0.1"
    port: int = 8787
    tls: TlsFiles | None = None
    tokens: tuple[str, ...] = ()
    written: bool = False
    place: Place = field(default_factory=lambda: Place("freshline.yml"))


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """``ingest:`` of freshline.yml: what is kept of pushed records, and who may push them.

    Attributes:
        folder: Log and landed files, on this machine.
        store: Where files are landed if the storage is a URI: a URI, too.
        land_after_s: Records are landed when they are this old.
        max_body_bytes: Of a request, before and after decompression.
        max_record_bytes: Of one record.
        tokens: SHA-256 of the bearer tokens of each feed, in hexadecimal; a feed that is not
            in it takes pushes without a token, on the loopback alone.
        place: Where the section is, or the file.
    """

    folder: Path
    store: str | None = None
    land_after_s: float = 5.0
    memory_bytes: int = 256_000_000
    max_body_bytes: int = 64_000_000
    max_record_bytes: int = 1_000_000
    tokens: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    place: Place = field(default_factory=lambda: Place("freshline.yml"))

    def landed(self, feed: str) -> Path:
        """Where a feed's files are landed, or wait to be put into the store."""
        return self.folder / "landed" / feed

    def in_store(self, feed: str) -> str | None:
        """The folder of a feed's landed files in the store; None: they stay on the disk."""
        return None if self.store is None else f"{self.store}/{feed}"


@dataclass(frozen=True, slots=True)
class Project:
    """A checked project.

    Attributes:
        root: The directory of freshline.yml.
        storage: Absolute path or URI; table t is at ``table_path(t)``.
        tables: Parents before children; ties in the order of files, then statements.
        reports: Views that are made once a window; no table reads one.
        feeds: By name, in the order of freshline.yml.
        configuration: Spark settings, as texts.
        spark_jars: The directory of every jar that Spark needs beside its own; None: fetched.
        ingest: None where nothing is pushed.
        server: Where the page, the API and the gateway are served.
        sql_files: All that were read.
        warnings: What is allowed but probably not meant, one sentence each.
        alerts: Where changes of state are posted, in the order of freshline.yml.
        checks: What has to hold of the rows of tables and reports, by name.
        lineage: Namespace of the jobs in OpenLineage events; None: no events.
        update_timeout_s: After so long an update is cancelled; None: by its estimate.
        catalog: Where tables are registered by name; None: nowhere.
        specification: Of a pipeline, where the user named that file instead of ``root``.
    """

    name: str
    root: Path
    storage: str
    tables: tuple[TableDef, ...]
    feeds: Mapping[str, Feed]
    configuration: Mapping[str, str] = field(default_factory=dict)
    spark_master: str = "local[*]"
    spark_packages: tuple[str, ...] = ()
    spark_jars: str | None = None
    scheduler: SchedulerSettings = field(default_factory=SchedulerSettings)
    ingest: IngestSettings | None = None
    server: ServerSettings = field(default_factory=ServerSettings)
    maintenance: MaintenanceSettings = field(default_factory=MaintenanceSettings)
    sql_files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    reports: tuple[TableDef, ...] = ()
    alerts: tuple[AlertSettings, ...] = ()
    lineage: str | None = None
    checks: Mapping[str, tuple[DataCheck, ...]] = field(default_factory=dict)
    update_timeout_s: float | None = None
    catalog: CatalogSettings | None = None
    specification: Path | None = None
    _by_name: Mapping[str, TableDef] = field(init=False, repr=False, compare=False)
    """Tables by their names in lower case: an update asks a dozen times."""

    def __post_init__(self) -> None:
        by_name = {table.name.lower(): table for table in reversed(self.tables)}
        object.__setattr__(self, "_by_name", by_name)

    def table(self, name: str) -> TableDef:
        """The table of that name, in any case.

        Raises:
            InternalError: There is none; ask ``has_table`` where the name is the user's.
        """
        table = self._by_name.get(name.lower())
        if table is None:
            raise InternalError("no-such-table", f"project {self.name} has no table {name}")
        return table

    def has_table(self, name: str) -> bool:
        """Whether there is a table of that name, in any case."""
        return name.lower() in self._by_name

    def reads_topic(self, table: TableDef) -> bool:
        """Whether it is loaded from a topic, whose records are not kept."""
        return table.feed is not None and self.feeds[table.feed].kind == "kafka"

    def report(self, name: str) -> TableDef | None:
        """The report of that name, in any case; None where there is none."""
        return next((each for each in self.reports if each.name.lower() == name.lower()), None)

    def children(self, name: str) -> tuple[TableDef, ...]:
        """The tables that read table ``name`` directly."""
        return tuple(table for table in self.tables if name in table.parents)

    def table_path(self, name: str) -> str:
        """Where the Delta table of ``name`` is kept."""
        return f"{self.storage}/{name}"

    @property
    def own_path(self) -> str:
        """Where freshline keeps what is its own: STORAGE/_freshline."""
        return f"{self.storage}/_freshline"

    @property
    def own_folder(self) -> Path:
        """The local folder of what cannot be kept at a URI, such as the journal."""
        if self.storage.startswith("/"):
            return Path(self.storage) / "_freshline"
        return self.root / ".freshline"
