"""Checking every table against its query with DuckDB: a second opinion on every row.

A view is compared with its query over exactly the versions of its parents that its newest
commit records; a base table with its query over the feed files that lie there. Spark and
freshline have no part in it: delta-rs reads the tables, sqlglot translates the queries, DuckDB
computes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import yaml

from demo import topics
from demo.commits import Commit, commits
from demo.compare import difference
from demo.queries import Query, duckdb_columns, read_queries


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out for one table.

    Attributes:
        against: What its rows were compared with.
        rows: How many rows it has.
        fault: What differs, or None.
    """

    table: str
    against: str
    rows: int
    fault: str | None


def check(project: Path) -> Iterator[Verdict]:
    """Check every table of the project in this folder; in the order of its files."""
    settings = yaml.safe_load((project / "freshline.yml").read_text())
    storage = project / settings["storage"]
    for query in read_queries(project / "tables"):
        log = commits(storage / query.table)
        if not log:
            yield Verdict(query.table, "nothing", 0, "it was never committed")
        elif query.base:
            yield _check_base(project, settings["feeds"], storage, query, log)
        else:
            yield _check_view(project, storage, query, log[-1])


def _check_view(project: Path, storage: Path, query: Query, newest: Commit) -> Verdict:
    """A view against its query over the versions that its newest commit pins."""
    unpinned = [name for name in query.reads if name not in newest.parents]
    if unpinned:
        fault = f"its commit pins no version of {', '.join(unpinned)}"
        return Verdict(query.table, "nothing", 0, fault)
    pins = []
    with duckdb.connect() as db:
        for name in query.reads:
            version = newest.parents[name]
            path = _static_path(project, name) or storage / name
            db.register(name, _rows(path, version))
            pins.append(f"{path.name}@{version}")
        return _compared(db, storage, query, newest.version, " ".join(pins))


def _check_base(
    project: Path, feeds: dict[str, Any], storage: Path, query: Query, log: list[Commit]
) -> Verdict:
    """A base table against its query over all complete files of its feed."""
    (name,) = query.reads
    feed = feeds[name]
    if feed["kind"] == "kafka":
        return _check_topic(project, feed, storage, query, log)
    files = complete_files(project / feed["path"])
    against = f"{len(files)} feed files"
    loaded = Counter(file for commit in log for file in commit.files)
    twice = sorted(file for file, times in loaded.items() if times > 1)
    missing = sorted({file.name for file in files} - set(loaded))
    fault = "; ".join(
        f"{len(some)} files {what}, {some[0]} among them"
        for some, what in ((twice, "were committed twice"), (missing, "are in no commit"))
        if some
    )
    with duckdb.connect() as db:
        paths = [str(file) for file in files]
        if feed["format"] == "csv":
            columns = duckdb_columns(feed["schema"])
            rows = db.read_csv(paths, header=True, columns=columns)  # type: ignore[arg-type]
        else:
            rows = db.read_parquet(paths)
        rows.create_view(name)
        verdict = _compared(db, storage, query, log[-1].version, against)
    return Verdict(query.table, against, verdict.rows, fault or verdict.fault)


def _check_topic(
    project: Path, feed: dict[str, Any], storage: Path, query: Query, log: list[Commit]
) -> Verdict:
    """A base table against its query over all records of its topic, as another client has them."""
    ends = topics.ends(feed["servers"], feed["topic"])
    fault = topics.fault(log, ends)
    against = f"{sum(ends.values()):,} records of a topic"
    with duckdb.connect() as db:
        path = topics.save(feed["servers"], feed["topic"], ends, project.parent / "topics")
        columns = duckdb_columns(feed["schema"])
        db.read_json(str(path), columns=columns, format="newline_delimited").create_view(
            query.reads[0]
        )
        verdict = _compared(db, storage, query, log[-1].version, against)
    return Verdict(query.table, against, verdict.rows, fault or verdict.fault)


def _compared(
    db: duckdb.DuckDBPyConnection, storage: Path, query: Query, version: int, against: str
) -> Verdict:
    actual = _rows(storage / query.table, version)
    # Quoted with a space inside, it can meet none of the names that the query uses.
    db.register("the table", actual)
    fault = difference(db, 'FROM "the table"', query.duckdb)
    return Verdict(query.table, against, actual.num_rows, fault)


def complete_files(feed: Path) -> list[Path]:
    """The files of a feed that are complete by their names, sorted."""
    unfinished = (".tmp", ".crc", ".inprogress")
    return sorted(
        file
        for file in feed.iterdir()
        if not file.name.startswith(("_", ".")) and not file.name.endswith(unfinished)
    )


def _static_path(project: Path, name: str) -> Path | None:
    """The path in ``delta.`path` ``; relative ones start at the project."""
    if not name.startswith("delta.`"):
        return None
    return (project / name.removeprefix("delta.`").removesuffix("`")).resolve()


def _rows(path: Path, version: int) -> Any:
    """A Delta table's rows at a version, as an Arrow table."""
    return deltalake.DeltaTable(str(path), version=version).to_pyarrow_table()
