"""A warehouse without Spark: an executor that makes real Delta commits, and its projects.

Files of a feed hold one number a line. A base table has the numbers of its files, a derived
one those of all its parents at the versions asked for. So every table can be checked.
"""

from __future__ import annotations

import dataclasses
import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from freshline.core.assembly import SchedulerSettings
from freshline.core.commands import StartUpdate
from freshline.core.errors import Place, PlatformError
from freshline.delta.histories import KEY, marks_of
from freshline.delta.loaded import fold
from freshline.delta.log import (
    application,
    commit_mark,
    commit_of,
    last_commit,
    table_id,
    version,
)
from freshline.delta.metadata import encode
from freshline.delta.standing import departure, of_others
from freshline.executor.distrust import distrust, keep_evidence
from freshline.executor.fence import before_commit
from freshline.executor.records import UnreadableFilesError, UpdateRequest, UpdateResult
from freshline.executor.report_records import BatchRequest, BatchResult
from freshline.executor.trials import Verdict
from freshline.executor.verified import RIGHT, WRONG, Difference, DifferingRow, VersionCheck
from freshline.project.model import (
    Feed,
    MaintenanceSettings,
    Project,
    StaticRead,
    TableDef,
    TimestampPattern,
)
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.options import RunOptions
from freshline.runtime.report_jobs import ReportStep
from freshline.runtime.tracks import Outcome
from freshline.runtime.warehouse import Warehouse
from freshline.times import rfc3339

_real_time_s = time.time
"""Kept from before tests freeze ``time.time``: a warehouse waits for its retries."""

PATIENCE_S = 120.0
"""Only what is broken waits so long: a busy machine is no fault."""

QUICK = Backoff(first_s=0.001, most_s=0.002, attempts=3)


def made_project(
    root: Path,
    tables: Mapping[str, tuple[str, ...]],
    scheduler: SchedulerSettings | None = None,
    *,
    lags: Mapping[str, float] | None = None,
    trials: bool = False,
) -> Project:
    """A project that no file describes.

    Args:
        root: An empty directory.
        tables: Name to parents; a table without any reads a feed of its own. Priorities are
            1, 2, ... in their order.
        scheduler: How to choose.
        lags: Targets of some tables.
        trials: Whether views are tried; what this executor computes is trusted.
    """
    here = Place("tables.sql", 1)
    stamp = TimestampPattern(re.compile(r"-(\d{8}T\d{6})"), "%Y%m%dT%H%M%S")
    return Project(
        name="shop",
        root=root,
        storage=str(root / "warehouse"),
        tables=tuple(
            TableDef(
                name,
                "derived" if parents else "base",
                f"SELECT n FROM {' JOIN '.join(parents) or f'STREAM {name}_feed'}",
                here,
                here,
                priority=1.0 + order,
                target_lag_s=(lags or {}).get(name),
                feed=None if parents else f"{name}_feed",
                parents=parents,
            )
            for order, (name, parents) in enumerate(tables.items())
        ),
        feeds={
            f"{name}_feed": Feed(
                name=f"{name}_feed",
                kind="files",
                path=str(root / "feed" / name),
                format="csv",
                options={},
                schema="n BIGINT",
                timestamp=stamp,
                period_s=1.0,  # so that the watcher looks five times a second
                place=here,
            )
            for name, parents in tables.items()
            if not parents
        },
        scheduler=scheduler or SchedulerSettings(),
        maintenance=MaintenanceSettings(trials=trials),
    )


def _commit(
    path: str, table: str, number: int, numbers: list[int], mode: Any, metadata: str
) -> None:
    """Write ``numbers`` under the transaction identifier that Spark's executor gives its commits.

    Without it, delta-rs would commit on top of whatever came meanwhile: also behind the commit
    with which another process has fenced the table off. As there, the table is read before it is
    asked whether this process may commit: one that sleeps in between commits nothing.
    """
    read = DeltaTable(path) if DeltaTable.is_deltatable(path) else None
    try:
        write_deltalake(
            path if read is None else read,
            pa.table({"n": pa.array(numbers, pa.int64())}),
            mode="error" if read is None else mode,
            commit_properties=CommitProperties(
                custom_metadata={"userMetadata": before_commit(metadata)},
                app_transactions=[Transaction(application(table), number)],
            ),
        )
    except (CommitFailedError, FileExistsError) as error:
        raise PlatformError("commit-refused", str(error)) from error


class DeltaExecutor:
    """Carries updates out with delta-rs; a test can make tables fail or wait.

    Attributes:
        failing: Tables whose updates fail, with the reason.
        gates: Tables whose updates wait until their gate is set.
        codes: Of the reasons for their updates, by table.
        reads: Rows that each update reads, by table.
        corrects: Rows that each update corrects, by table.
        failing_upkeep: Why compaction and VACUUM fail; empty: they don't.
        audits: Outcomes of a view's next audits, in order; right where nothing is said.
        verdicts: How views' trials end, if they do not pass.
        slow: Compactions and audits that go on until they are given up, by table and number.
        given_up: Updates that were told to end, by table and number.
        requests: All that was asked, in order.
        batches: All batches of reports that were asked, in order.
        gone: Why its process is gone.
        forgets: Whether VACUUM removes all commits but the newest.
        killed: Whether it was ended in the hard way.
        by_name: Where the tables are that the catalog knows.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.failing: dict[str, str] = {}
        self.gates: dict[str, threading.Event] = {}
        self.codes: dict[str, str] = {}
        self.reads: dict[str, int] = {}
        self.corrects: dict[str, int] = {}
        self.failing_upkeep = ""
        self.audits: dict[str, list[str]] = {}
        self.verdicts: dict[str, Verdict] = {}
        self.slow: set[tuple[str, int]] = set()
        self.given_up: set[tuple[str, int]] = set()
        self.requests: list[UpdateRequest] = []
        self.batches: list[BatchRequest] = []
        self.done: dict[float, int] = {}
        self.forgets = False
        self.closed = False
        self.killed = False
        self.gone: PlatformError | None = None
        self.by_name: dict[str, str] = {}

    def run(self, request: UpdateRequest) -> UpdateResult:
        self.requests.append(request)
        if request.table in self.gates:
            assert self.gates[request.table].wait(PATIENCE_S)
        path = self.project.table_path(request.table)
        commit = commit_of(path, request.number)
        if commit is not None:
            return self._result(request, commit.version, 0, "append", repeated=True)
        if request.table in self.failing:
            raise PlatformError("made-to-fail", self.failing[request.table])
        if request.upkeep:
            return self._kept_up(request)
        table = self.project.table(request.table)
        self._check_standing(table, path, request)
        if table.kind == "base":
            numbers = self._of_files(table, request)
        else:
            numbers = [n for parent, version in request.parents.items()
                       for n in self.numbers(parent, version)]  # fmt: skip
        pins = {
            **request.parents,
            **{read.name: DeltaTable(self._static(read)).version() for read in table.statics},
        }
        replace = table.kind == "derived" or request.full or request.range_s is not None
        strategy = "full" if replace else "append"
        metadata = encode(
            request,
            table=table.name,
            files=None
            if table.kind == "derived"
            else ([] if request.range_s else [file.name for file in request.files]),
            parents=pins,
            strategy=strategy,
            rows=len(numbers),
            more={"ids": {read.name: table_id(self._static(read), pins[read.name])
                          for read in table.statics},
                  KEY: marks_of(self.project, request.parents)
                  | {read.name: commit_mark(self._static(read), pins[read.name])
                     for read in table.statics}},
        )  # fmt: skip
        mode = "overwrite" if replace else "append"
        _commit(path, table.name, request.number, numbers, mode, metadata)
        return self._result(request, DeltaTable(path).version(), len(numbers), strategy)

    def _static(self, read: StaticRead) -> str:
        return read.path or self.by_name[read.name]

    def named_version(self, table: str, name: str) -> tuple[int, str, str | None] | None:
        if name not in self.by_name:
            raise PlatformError("static-unreadable", f"{name}: there is no such table")
        found = DeltaTable(self.by_name[name]).version()
        identity = table_id(self.by_name[name], found)
        return found, identity or "", commit_mark(self.by_name[name], found)

    def _check_standing(self, table: TableDef, path: str, request: UpdateRequest) -> None:
        """As Spark's executor does."""
        if table.kind == "derived":
            error = of_others(table, path, request.accepted)
            if error is not None:
                raise error
            return
        if request.full:
            return
        newest = version(path)
        found = None if newest is None else (newest, None)
        error = departure(table, path, found, None, request.accepted, filled=request.filled)
        if error is not None:
            raise error

    def run_batch(self, request: BatchRequest) -> BatchResult:
        """A report's result has the numbers of its parents, whatever the window."""
        self.batches.append(request)
        window = request.window
        if window.table.name in self.failing:
            raise PlatformError("made-to-fail", self.failing[window.table.name])
        done = self.done[window.start_s] = self.done.get(window.start_s, 0) + 1
        if not request.final:
            return BatchResult(done, 1, 0.001)
        numbers = [n for parent, version in request.pins.items()
                   for n in self.numbers(parent, version)]  # fmt: skip
        shown = {"start": rfc3339(window.start_s), "end": rfc3339(window.end_s)}
        metadata = encode(
            UpdateRequest(window.number, window.table.name, window.start_s, window.end_s),
            table=window.table.name,
            files=None,
            parents=request.pins,
            strategy="report",
            rows=len(numbers),
            more={"window": shown, "batches": []},
        )
        path = self.project.table_path(window.table.name)
        _commit(path, window.counted_as, window.number, numbers, "overwrite", metadata)
        return BatchResult(done, 1, 0.001, 0.001, DeltaTable(path).version(), len(numbers))

    def _kept_up(self, request: UpdateRequest) -> UpdateResult:
        """Compaction by delta-rs, with the metadata of the last commit; of VACUUM the answer."""
        path = self.project.table_path(request.table)
        if self.failing_upkeep:
            raise PlatformError("made-to-fail", self.failing_upkeep)
        last = last_commit(path)
        assert last is not None
        named = (request.table, request.number)
        if named in self.slow and request.upkeep in ("compact", "verify"):
            eventually(lambda: named in self.given_up)
            self.slow.remove(named)
            raise PlatformError("cancelled", "its jobs were ended")
        if request.upkeep == "try":
            verdict = self.verdicts.get(request.table, Verdict("passed", {"append": 4}, 4, 1.0))
            verdict = dataclasses.replace(verdict, key=request.definition)
            found = self._result(request, 0, 0, "try")
            return dataclasses.replace(found, code=verdict.outcome, verdict=verdict)
        if request.upkeep == "verify":
            return self._verified(request, DeltaTable(path).version())
        if request.upkeep == "vacuum" and self.project.table(request.table).kind == "base":
            fold(self.project, request.table)
            if self.forgets:
                self._forget_log(path)
        if request.upkeep == "compact":
            carried = {"update": request.number, "strategy": "compact", "rows": 0}
            fields = {**last.metadata, **carried}
            if "files" in fields:
                fields["files"] = []
            text = json.dumps(fields)
            DeltaTable(path).optimize.compact(
                commit_properties=CommitProperties(custom_metadata={"userMetadata": text})
            )
        return self._result(request, DeltaTable(path).version(), 0, request.upkeep)

    def _forget_log(self, path: str) -> None:
        """As a year would, with a checkpoint that the newest version is read from."""
        table = DeltaTable(path)
        table.create_checkpoint()
        for commit in (Path(path) / "_delta_log").glob("*.json"):
            if int(commit.stem) < table.version():
                commit.unlink()

    def _verified(self, request: UpdateRequest, version: int) -> UpdateResult:
        """An audit with the outcome that the test wants, and what follows if it is wrong."""
        outcomes = self.audits.get(request.table) or [RIGHT]
        outcome = outcomes.pop(0)
        difference = Difference(1, 2, (DifferingRow({"n": 7}, 2), DifferingRow({"n": 8}, -1)))
        check = VersionCheck(
            request.table, version, outcome, "append",
            difference=difference if outcome == WRONG else Difference(),
        )  # fmt: skip
        if outcome == WRONG:
            evidence = keep_evidence(self.project, check, time.time())
            distrust(self.project, check, request.definition, time.time(), evidence)
        result = self._result(request, version, 0, "verify")
        return dataclasses.replace(result, code=outcome, reason=check.told())

    def give_up(self, table: str, number: int) -> None:
        self.given_up.add((table, number))

    def healthy(self) -> bool:
        return True

    def ended(self) -> PlatformError | None:
        return self.gone

    def kill(self) -> None:
        self.killed = True

    def close(self) -> None:
        self.closed = True

    def numbers(self, table: str, version: int | None = None) -> list[int]:
        """What a table holds, sorted; nothing where there is no table."""
        path = self.project.table_path(table)
        if not DeltaTable.is_deltatable(path):
            return []
        return sorted(DeltaTable(path, version=version).to_pyarrow_table()["n"].to_pylist())

    def _of_files(self, table: TableDef, request: UpdateRequest) -> list[int]:
        folder = Path(self.project.feeds[table.feed or ""].path)
        numbers: list[int] = []
        unreadable: list[tuple[str, str]] = []
        for file in request.files:
            try:
                numbers += [int(line) for line in (folder / file.name).read_text().split()]
            except (OSError, ValueError) as error:
                unreadable.append((file.name, str(error)))
        if unreadable:
            raise UnreadableFilesError(table.name, unreadable)
        return numbers

    def _result(
        self,
        request: UpdateRequest,
        version: int,
        rows: int,
        strategy: str,
        *,
        repeated: bool = False,
    ) -> UpdateResult:
        why = "so that it can be checked"
        code = self.codes.get(request.table, "row-wise" if strategy == "append" else "configured")
        return UpdateResult(
            version, rows, 0, 0.001, strategy, why, repeated, request.parents, False, code,
            self.reads.get(request.table, 0), self.corrects.get(request.table, 0),
        )  # fmt: skip


class Recorder:
    """An observer whose user can wait for what it sees."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.lines: list[str] = []

    def decided(self, seconds: float) -> None:
        pass

    def ready(self, seconds: float) -> None:
        self._add("ready")

    def spark_lost(self, why: PlatformError) -> None:
        self._add(f"notice {why.what}; Spark is started again")

    def started(self, command: StartUpdate) -> None:
        self._add(f"start {command.table}")

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        word = "done" if retry_in_s is None else "failed"
        self._add(f"{word} {outcome.command.table}")

    def report(self, step: ReportStep) -> None:
        pass

    def notice(self, text: str, *, level: str = "info", table: str | None = None) -> None:
        self._add(f"notice {text}")

    def wait_for(self, line: str, times: int = 1) -> None:
        """Until ``line`` was seen so often."""
        with self._changed:
            seen = self._changed.wait_for(lambda: self.lines.count(line) >= times, PATIENCE_S)
        assert seen, f"{line!r} was not seen {times} times in {self.lines}"

    def _add(self, line: str) -> None:
        with self._changed:
            self.lines.append(line)
            self._changed.notify_all()


class Shop:
    """A project, its executor, and warehouses over it.

    Feeds are folders ``feed/TABLE`` in the project's directory.

    Args:
        project: Its tables; none of their queries is read.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.root = project.root
        self.executor = DeltaExecutor(project)
        self.recorder = Recorder()
        self.backoff = QUICK
        self.clock: Callable[[], float] = _real_time_s

    def file(self, table: str, minute: int, numbers: Iterable[int] | str) -> str:
        """Put a file into the feed of ``table``; its name."""
        folder = self.root / "feed" / table
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{table}-20260102T{minute // 60:02d}{minute % 60:02d}00.csv"
        text = numbers if isinstance(numbers, str) else "\n".join(map(str, numbers))
        (folder / f"{name}.tmp").write_text(text)
        (folder / f"{name}.tmp").rename(folder / name)
        return name

    def warehouse(self, options: RunOptions | None = None) -> Warehouse:
        """A warehouse over the project."""
        return Warehouse(
            self.project,
            lambda: self.executor,
            self.recorder,
            options,
            clock=self.clock,
            backoff=self.backoff,
        )

    def run_until_idle(self) -> int:
        """One run until nothing is left to do; how many tables were left behind."""
        return self.warehouse(RunOptions(until_idle=True)).run()

    def journal_rows(self, sql: str) -> list[dict]:
        """Rows of the journal, read beside the warehouse."""
        journal = Journal(journal_path(self.project), create=False)
        try:
            return [dict(row) for row in journal.rows(sql)]
        finally:
            journal.close()

    def ask(self, kind: str, table: str, argument: str = "") -> dict:
        """Ask the running warehouse, as another process does, and wait for its answer."""
        journal = Journal(journal_path(self.project), create=False)
        try:
            request = journal.ask(time.time(), kind, table, argument)
            eventually(lambda: journal.answer_to(request))
            return journal.answer_to(request) or {}
        finally:
            journal.close()

    def check_views(self) -> None:
        """Every committed version of every view is its parents' numbers at its pins."""
        for table in self.project.tables:
            if table.kind == "base" or not DeltaTable.is_deltatable(
                self.project.table_path(table.name)
            ):
                continue
            for entry in DeltaTable(self.project.table_path(table.name)).history():
                pins = json.loads(entry["userMetadata"])["parents"]
                expected = sorted(
                    n for parent, version in pins.items()
                    for n in self.executor.numbers(parent, version)
                )  # fmt: skip
                assert self.executor.numbers(table.name, entry["version"]) == expected


def made_shop(
    root: Path,
    tables: Mapping[str, tuple[str, ...]],
    scheduler: SchedulerSettings | None = None,
    *,
    lags: Mapping[str, float] | None = None,
    trials: bool = False,
) -> Shop:
    """A shop over ``made_project``."""
    return Shop(made_project(root, tables, scheduler, lags=lags, trials=trials))


class LiveRun:
    """A warehouse that runs in a thread while the test goes on; stopped at the end."""

    def __init__(self, shop: Shop, options: RunOptions | None = None) -> None:
        self.warehouse = shop.warehouse(options)
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="warehouse")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.warehouse.stop()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self.warehouse.run()
        except BaseException as error:  # noqa: BLE001 - raised in the test's thread
            self.failure = error


def eventually(holds: Callable[[], object]) -> None:
    """Until ``holds``; for what only another process or thread could notify us of."""
    end_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end_s, "it did not come true"
        threading.Event().wait(0.01)
