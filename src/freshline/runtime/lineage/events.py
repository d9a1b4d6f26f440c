"""The events of updates and reports, by the official client's classes.

An update is one run: START, then COMPLETE or FAIL. A window of a report is one run, too: START with
its first batch, RUNNING after each batch before the last, then COMPLETE, FAIL or ABORT.
"""

from __future__ import annotations

import traceback
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version as installed
from typing import Any

import attr
from openlineage.client.event_v2 import (
    InputDataset,
    Job,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
    set_producer,
)
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    JobFacet,
    OutputDatasetFacet,
    RunFacet,
    column_lineage_dataset,
    dataset_version_dataset,
    datasource_dataset,
    error_message_run,
    input_statistics_input_dataset,
    job_type_job,
    nominal_time_run,
    output_statistics_output_dataset,
    processing_engine_run,
    schema_dataset,
    sql_job,
    symlinks_dataset,
)

from freshline import __version__
from freshline.core.commands import StartUpdate
from freshline.executor.records import UpdateResult
from freshline.executor.report_records import BatchResult, Window
from freshline.project.model import Project, TableDef
from freshline.project.schema import schema_columns
from freshline.runtime.lineage.datasets import (
    Column,
    Name,
    columns_at,
    name_of_feed,
    name_of_path,
    name_of_table,
)
from freshline.runtime.report_jobs import Job as BatchJob
from freshline.runtime.report_jobs import JobWithdrawn, ReportStep
from freshline.runtime.tracks import Outcome
from freshline.sql.query.column_lineage import ColumnLineage, InputColumn, column_lineage
from freshline.sql.query.records import Source
from freshline.sql.query.unsupported import Unsupported
from freshline.times import rfc3339

PRODUCER = f"urn:freshline:{__version__}"
set_producer(PRODUCER)

_RUNS = uuid.UUID("5f0c2e0a-8f3a-5d0f-9a55-3f6b5b9f3f11")
"""The name space of run ids; fixed, so that an update has one id for ever."""


@attr.define
class FreshnessRunFacet(RunFacet):
    """What the update did to the table's freshness, and how."""

    freshTo: str  # noqa: N815 - OpenLineage's facets are written so
    previousFreshTo: str  # noqa: N815
    strategy: str | None = None
    reason: str | None = None
    code: str | None = None

    @staticmethod
    def _get_schema() -> str:
        return "urn:freshline:facets:1-0-0:FreshnessRunFacet"


@attr.define
class ReportRunFacet(RunFacet):
    """Which window the report is about, when it is wanted, and how far it is."""

    windowStart: str  # noqa: N815
    windowEnd: str  # noqa: N815
    deadline: str
    batches: int | None = None
    strategy: str | None = None
    code: str | None = None

    @staticmethod
    def _get_schema() -> str:
        return "urn:freshline:facets:1-0-0:ReportRunFacet"


@dataclass(frozen=True, slots=True)
class _Made:
    """What a commit made: its version and rows, and the versions that it read."""

    version: int
    rows: int
    parents: Mapping[str, int]
    schema_changed: bool


class LineageEvents:
    """Makes the events of one project's updates; used by one thread.

    Args:
        project: Its tables and feeds.
        namespace: Of the jobs, and of the tables' names in the project.
    """

    def __init__(self, project: Project, namespace: str) -> None:
        self._project = project
        self._namespace = namespace
        self._columns: dict[str, tuple[Column, ...]] = {}
        self._lineages: dict[str, tuple[tuple[Any, ...], ColumnLineage | None]] = {}

    def run_id(self, table: str, number: int) -> str:
        """The id of an update's run: the same for every attempt, and after a restart."""
        return str(uuid.uuid5(_RUNS, f"{self._project.storage}\n{table}\n{number}"))

    def started(self, command: StartUpdate, now_s: float) -> RunEvent:
        """START."""
        table = self._project.table(command.table)
        inputs = self._inputs(table, dict(command.parents))
        return self._update(RunState.START, command, now_s, {}, inputs, [self._output(table)])

    def ended(self, outcome: Outcome, now_s: float) -> RunEvent:
        """COMPLETE or FAIL."""
        command, result = outcome.command, outcome.result
        table = self._project.table(command.table)
        if result is None:
            facets = {"errorMessage": _error(outcome.error)}
            inputs = self._inputs(table, dict(command.parents))
            outputs = [self._output(table)]
            return self._update(RunState.FAIL, command, now_s, facets, inputs, outputs)
        inputs = self._inputs(table, dict(result.parents), outcome)
        made = _Made(result.version, result.rows, result.parents, result.schema_changed)
        output = self._output(table, made)
        return self._update(RunState.COMPLETE, command, now_s, {}, inputs, [output], result)

    def report(self, step: ReportStep, now_s: float) -> RunEvent:
        """START, RUNNING, COMPLETE, FAIL or ABORT of a report's window."""
        if isinstance(step, JobWithdrawn):
            return self._report(RunState.ABORT, step.window, now_s, {})
        if isinstance(step, BatchJob):
            return self._report(RunState.START, step.request.window, now_s, step.request.pins)
        request, result = step.job.request, step.result
        if result is None:
            error = _error(step.error)
            return self._report(RunState.FAIL, request.window, now_s, request.pins, error=error)
        state = RunState.RUNNING if result.version is None else RunState.COMPLETE
        return self._report(state, request.window, now_s, result.parents, result)

    # ---- the parts ----

    def _report(
        self,
        state: RunState,
        window: Window,
        now_s: float,
        versions: Mapping[str, int],
        result: BatchResult | None = None,
        error: RunFacet | None = None,
    ) -> RunEvent:
        table = window.table
        facets: dict[str, RunFacet] = {
            "freshline_report": ReportRunFacet(
                windowStart=rfc3339(window.start_s),
                windowEnd=rfc3339(window.end_s),
                deadline=rfc3339(window.deadline_s),
                batches=None if result is None else result.batches,
                strategy=None if result is None else _report_strategy(result),
                code=None if result is None else result.code or None,
            )
        }
        if error is not None:
            facets["errorMessage"] = error
        made = None
        if result is not None and result.version is not None:
            # Another query can have another result, under the same name.
            made = _Made(result.version, result.rows, versions, schema_changed=True)
        inputs, output = self._inputs(table, versions), self._output(table, made)
        # Reports that somebody submits have names without end: nothing is kept of them.
        self._columns.pop(table.name, None)
        self._lineages.pop(table.name, None)
        return self._event(
            state, self.run_id(table.name, window.number), self._job(table, "REPORT"), now_s,
            (window.start_s, window.end_s), facets, inputs, [output],
        )  # fmt: skip

    def _update(
        self,
        state: RunState,
        command: StartUpdate,
        now_s: float,
        facets: Mapping[str, RunFacet],
        inputs: list[InputDataset],
        outputs: list[OutputDataset],
        result: UpdateResult | None = None,
    ) -> RunEvent:
        run_facets: dict[str, RunFacet] = {
            "freshline_freshness": FreshnessRunFacet(
                freshTo=rfc3339(command.to_s),
                previousFreshTo=rfc3339(command.from_s),
                strategy=None if result is None else result.strategy,
                reason=None if result is None else result.reason,
                code=None if result is None else result.code,
            ),
            **facets,
        }
        return self._event(
            state, self.run_id(command.table, command.number),
            self._job(self._project.table(command.table), "UPDATE"), now_s,
            (command.from_s, command.to_s), run_facets, inputs, outputs,
        )  # fmt: skip

    def _event(
        self,
        state: RunState,
        run_id: str,
        job: Job,
        now_s: float,
        nominal_s: tuple[float, float],
        facets: Mapping[str, RunFacet],
        inputs: list[InputDataset],
        outputs: list[OutputDataset],
    ) -> RunEvent:
        from_s, to_s = nominal_s
        run_facets: dict[str, RunFacet] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
                version=installed("pyspark"), name="spark", openlineageAdapterVersion=__version__
            ),
            "nominalTime": nominal_time_run.NominalTimeRunFacet(
                nominalStartTime=rfc3339(from_s), nominalEndTime=rfc3339(to_s)
            ),
            **facets,
        }
        return RunEvent(
            eventTime=rfc3339(now_s),
            producer=PRODUCER,
            eventType=state,
            run=Run(run_id, run_facets),
            job=job,
            inputs=inputs,
            outputs=outputs,
        )

    def _job(self, table: TableDef, kind: str) -> Job:
        facets: dict[str, JobFacet] = {
            "sql": sql_job.SQLJobFacet(query=table.query.strip(), dialect="spark"),
            "jobType": job_type_job.JobTypeJobFacet(
                processingType="BATCH", integration="FRESHLINE", jobType=kind
            ),
        }
        return Job(self._namespace, f"{self._project.name}.{table.name}", facets)

    def _inputs(
        self, table: TableDef, versions: Mapping[str, int], outcome: Outcome | None = None
    ) -> list[InputDataset]:
        found = [] if table.feed is None else [self._feed(table.feed, versions, outcome)]
        for parent in table.parents:
            at, name = versions.get(parent), name_of_path(self._project.table_path(parent))
            facets = self._facets(name, at)
            facets["symlinks"] = self._symlink(parent)
            if at is not None and (columns := self._columns_of(parent, at)):
                facets["schema"] = _schema(columns)
            found.append(InputDataset(name.namespace, name.name, facets=facets))
        for read in table.statics:
            name = name_of_table(read.name) if read.path is None else name_of_path(read.path)
            facets = self._facets(name, versions.get(read.name))
            found.append(InputDataset(name.namespace, name.name, facets=facets))
        return found

    def _feed(
        self, feed_name: str, versions: Mapping[str, int], outcome: Outcome | None
    ) -> InputDataset:
        feed = self._project.feeds[feed_name]
        name = name_of_feed(feed)
        facets = self._facets(name, versions.get(feed_name) if feed.kind == "delta" else None)
        statistics: dict[str, InputDatasetFacet] = {}
        if outcome is not None and feed.kind not in ("kafka", "delta"):
            files = outcome.request.files
            statistics["inputStatistics"] = (
                input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
                    fileCount=len(files), size=sum(file.size_bytes for file in files)
                )
            )
        return InputDataset(name.namespace, name.name, statistics, facets=facets)

    def _output(self, table: TableDef, made: _Made | None = None) -> OutputDataset:
        path = self._project.table_path(table.name)
        name = name_of_path(path)
        facets = self._facets(name, None if made is None else made.version)
        facets["symlinks"] = self._symlink(table.name)
        statistics: dict[str, OutputDatasetFacet] = {}
        if made is not None:
            if made.schema_changed:
                self._columns.pop(table.name, None)
            columns = self._columns_of(table.name, made.version)
            if columns:
                facets["schema"] = _schema(columns)
            lineage = self._column_lineage(table, made.parents, columns)
            if lineage is not None:
                facets["columnLineage"] = lineage
            statistics["outputStatistics"] = (
                output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                    rowCount=made.rows
                )
            )
        return OutputDataset(name.namespace, name.name, statistics, facets=facets)

    def _facets(self, name: Name, version: int | None) -> dict[str, DatasetFacet]:
        facets: dict[str, DatasetFacet] = {
            "dataSource": datasource_dataset.DatasourceDatasetFacet(
                name=name.namespace, uri=name.namespace
            )
        }
        if version is not None:
            facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(str(version))
        return facets

    def _symlink(self, table: str) -> DatasetFacet:
        named = symlinks_dataset.Identifier(
            self._namespace, f"{self._project.name}.{table}", "TABLE"
        )
        return symlinks_dataset.SymlinksDatasetFacet([named])

    def _columns_of(self, table: str, version: int) -> tuple[Column, ...]:
        """A project table's columns; read once, and again when an update changed them."""
        if not self._columns.get(table):
            self._columns[table] = columns_at(self._project.table_path(table), version)
        return self._columns[table]

    # ---- column lineage ----

    def _column_lineage(
        self, table: TableDef, versions: Mapping[str, int], columns: tuple[Column, ...]
    ) -> DatasetFacet | None:
        sources, names, query = self._sources(table, versions)
        key = tuple((source.name, tuple(source.columns)) for source in sources)
        known = self._lineages.get(table.name)
        if known is None or known[0] != key:
            try:
                lineage: ColumnLineage | None = column_lineage(query, sources)
            except Unsupported:
                lineage = None  # Spark can run what cannot be analysed
            known = self._lineages[table.name] = (key, lineage)
        if known[1] is None:
            return None
        return _lineage_facet(known[1], names, {each.name.lower(): each.name for each in columns})

    def _sources(
        self, table: TableDef, versions: Mapping[str, int]
    ) -> tuple[list[Source], dict[str, tuple[Name, Mapping[str, str]]], str]:
        """What the query reads, where each is, its columns as written, and the query itself."""
        sources: list[Source] = []
        names: dict[str, tuple[Name, Mapping[str, str]]] = {}
        query = table.query
        if table.feed is not None:
            feed = self._project.feeds[table.feed]
            for start, end in reversed(table.feed_spans):
                query = f"{query[:start]}{feed.name}{query[end:]}"
            written = schema_columns(feed.schema) if feed.schema else ()
            sources.append(Source(feed.name.lower(), {each.lower(): "string" for each in written}))
            names[feed.name.lower()] = (
                name_of_feed(feed),
                {each.lower(): each for each in written},
            )
        for parent in table.parents:
            columns = self._columns_of(parent, versions[parent]) if parent in versions else ()
            kinds = {each.name.lower(): each.kind for each in columns}
            sources.append(Source(parent.lower(), kinds))
            written_as = {each.name.lower(): each.name for each in columns}
            names[parent.lower()] = (name_of_path(self._project.table_path(parent)), written_as)
        for read in table.statics:
            if read.path is not None and read.name in versions:
                columns = columns_at(read.path, versions[read.name])
                kinds = {each.name.lower(): each.kind for each in columns}
                sources.append(Source(read.name.lower(), kinds, static=True))
                written_as = {each.name.lower(): each.name for each in columns}
                names[read.name.lower()] = (name_of_path(read.path), written_as)
        return sources, names, query


def _report_strategy(result: BatchResult) -> str:
    return "report-once" if result.code else "report"


def _schema(columns: tuple[Column, ...]) -> DatasetFacet:
    return schema_dataset.SchemaDatasetFacet(
        [
            schema_dataset.SchemaDatasetFacetFields(
                name=each.name, type=each.kind, description=each.comment, ordinal_position=place
            )
            for place, each in enumerate(columns, 1)
        ]
    )


def _lineage_facet(
    lineage: ColumnLineage,
    names: Mapping[str, tuple[Name, Mapping[str, str]]],
    written: Mapping[str, str],
) -> DatasetFacet:
    def field(
        column: InputColumn, kind: str, subtypes: list[str]
    ) -> column_lineage_dataset.InputField:
        name, columns = names[column.source]
        return column_lineage_dataset.InputField(
            name.namespace,
            name.name,
            columns.get(column.column, column.column),
            [column_lineage_dataset.Transformation(kind, subtype) for subtype in subtypes],
        )

    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            written.get(output.lower(), output): column_lineage_dataset.Fields(
                [field(column, "DIRECT", [how]) for column, how in inputs.items()]
            )
            for output, inputs in lineage.outputs.items()
        },
        dataset=[field(column, "INDIRECT", sorted(hows)) for column, hows in lineage.rows.items()],
    )


def _error(error: Exception | None) -> RunFacet:
    trace = None if error is None else "".join(traceback.format_exception(error))
    return error_message_run.ErrorMessageRunFacet(
        message=str(error) or type(error).__name__, programmingLanguage="python", stackTrace=trace
    )
