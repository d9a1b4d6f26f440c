"""Landed files: their names, and how one is written whole or not at all.

``clicks-20261121T123519.250000Z-0000000000000001-0000000000000500.parquet`` holds the records 1
to 500 of feed clicks; its time is that of the newest of them. The numbers alone decide what is
in a file, so a file that is there is never landed again, under whatever name.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from freshline.durable import sync_folder
from freshline.failpoints import failpoint
from freshline.ingest.log.rows import DamagedError, unpack
from freshline.ingest.records.arrow_types import comes_back

_NAME = re.compile(r"(.+)-\d{8}T\d{6}\.\d{6}Z-(\d{16})-(\d{16})\.parquet")
_ROW_GROUP_BYTES = 8 << 20
_HIDDEN = ".hidden"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)
_LAST_US = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _US


@dataclass(frozen=True, slots=True)
class LandedName:
    """What a name says: records ``[first, last]`` of what ``stem`` names."""

    name: str
    first: int
    last: int
    stem: str


def file_name(stem: str, time_us: int, first: int, last: int) -> str:
    """The name of a landed file; ``stem`` is the feed's name, or one of ``StoreLanding``."""
    moment = datetime.fromtimestamp(time_us // 1_000_000, UTC)
    return (
        f"{stem}-{moment:%Y%m%dT%H%M%S}.{time_us % 1_000_000:06d}Z-{first:016d}-{last:016d}.parquet"
    )


def parse_name(name: str) -> LandedName | None:
    """The other way round; None: this is no landed file."""
    found = _NAME.fullmatch(name)
    return None if found is None else LandedName(name, int(found[2]), int(found[3]), found[1])


def landed_names(feed: str, folder: Path) -> list[LandedName]:
    """What was landed and is still there, by first record."""
    try:
        entries = os.listdir(folder)  # noqa: PTH208 - a hundred thousand names a day
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = (parse_name(name) for name in entries)
    ours = (name for name in found if name is not None and name.stem == feed)
    return sorted(ours, key=lambda name: name.first)


def remove_drafts(folder: Path) -> None:
    """Remove what a death left unfinished."""
    if folder.is_dir():
        for path in folder.glob(".*.tmp"):
            path.unlink(missing_ok=True)


def publish(folder: Path, name: str) -> None:
    """Show a file that is whole and in the ledger to readers; done twice, it is done once."""
    failpoint("ingest.land.before-publish")
    with contextlib.suppress(FileNotFoundError):
        hidden_path(folder, name).rename(folder / name)
    failpoint("ingest.land.after-publish")
    sync_folder(folder)


def settle_hidden(folder: Path, noted: Collection[str]) -> None:
    """After a death: show the files that the ledger knows, and remove the others.

    Nobody has seen those yet, and their records are still in the log.
    """
    for name in hidden_names(folder):
        if name in noted:
            publish(folder, name)
        else:
            hidden_path(folder, name).unlink(missing_ok=True)


def hidden_path(folder: Path, name: str) -> Path:
    """Where a whole file waits to be in the ledger; no reader of the folder takes it."""
    return folder / f".{name}{_HIDDEN}"


def hidden_names(folder: Path) -> list[str]:
    """The files that wait."""
    found = folder.glob(f".*{_HIDDEN}")
    return [path.name.removeprefix(".").removesuffix(_HIDDEN) for path in found]


class OtherColumnsError(Exception):
    """A request was stored under another schema than the others in this file."""


class UncastableError(Exception):
    """A value that waited in the log does not fit the feed's schema of today."""


class LandedFile:
    """One file while it is being written, under a name that no reader takes for complete.

    Records that waited in the log while the feed's schema changed keep every column and value:
    a new column is null, one that the schema no longer has is kept behind the others, and a
    type that changed is cast.

    Args:
        folder: The feed's; it must be there.
        schema: The feed's of today.
        time_column: As in ``FeedSpec``.
        zones: As there.
        cast: False: columns keep the types under which they were accepted, where a cast of some
            value would fail. The warehouse then says which file does not fit, and keeps it.

    Attributes:
        records: Written so far.
        newest_us: The greatest of ``time_column``, None without any.
    """

    def __init__(
        self,
        folder: Path,
        schema: pa.Schema,
        time_column: str | None,
        *,
        zones: Sequence[tzinfo] = (UTC,),
        cast: bool = True,
    ) -> None:
        self._folder = folder
        self._wanted = schema
        self._time_column = time_column
        self._zones = zones
        self._cast = cast
        self._draft = folder / f".landing-{os.getpid()}.tmp"
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._stored: pa.Schema | None = None
        self._writer: pq.ParquetWriter | None = None
        self.records = 0
        self.newest_us: int | None = None
        failpoint("ingest.land.open")
        self._file = self._draft.open("wb")

    def add(self, body: bytes, records: int) -> None:
        """Write one request's records.

        Raises:
            DamagedError: The body does not hold them; nothing of it was written.
            OtherColumnsError: They have other columns than the records before them.
            UncastableError: A value does not fit the schema; the file is of no use.
            OSError: From the disk.
        """
        stored, batches = _batches(body)
        if sum(batch.num_rows for batch in batches) != records:
            raise DamagedError(f"it does not hold {records} records")
        if self._stored is None:
            self._stored = stored
        elif not stored.equals(self._stored):
            raise OtherColumnsError
        self._waiting += batches
        self._waiting_bytes += sum(batch.nbytes for batch in batches)
        self.records += records
        if self._waiting_bytes >= _ROW_GROUP_BYTES:
            self._write()

    def _write(self) -> None:
        if not self._waiting:
            return
        table = self._fitted(pa.Table.from_batches(self._waiting, self._stored))
        self._waiting, self._waiting_bytes = [], 0
        if self._time_column is not None:
            self._look_at(table[self._time_column])
        failpoint("ingest.land.write")
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._file, table.schema, compression="zstd", compression_level=1
            )
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def _look_at(self, times: pa.ChunkedArray) -> None:
        """Which of the records is the newest; a date is the first moment of its day.

        A wall clock shows the time of a zone, and some times twice: no table may be called fresher
        than it is, so the earliest moment that is meant counts.
        """
        if not (pa.types.is_timestamp(times.type) or pa.types.is_date(times.type)):
            return  # accepted under another schema
        newest = pc.max(times).cast(pa.timestamp("us"), safe=False)
        if newest.is_valid:
            newest_us = newest.value
            if pa.types.is_date(times.type) or times.type.tz is None:
                newest_us = min(_instant_us(newest_us, zone) for zone in self._zones)
            self.newest_us = max(self.newest_us or 0, newest_us)

    def _fitted(self, table: pa.Table) -> pa.Table:
        """What was stored, under the feed's columns of today."""
        if table.schema.equals(self._wanted):
            return table
        # As Spark finds columns: by their names in any case.
        stored = {name.lower(): name for name in table.column_names}
        columns: dict[str, pa.ChunkedArray] = {}
        for field in self._wanted:
            name = stored.pop(field.name.lower(), None)
            if name is None:
                columns[field.name] = pa.chunked_array([pa.nulls(table.num_rows, field.type)])
            else:
                columns[field.name] = self._fitted_column(table[name], field)
        columns |= {name: table[name] for name in stored.values()}
        return pa.table(columns)

    def _fitted_column(self, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        # A cast of a struct drops the fields that it does not know.
        keeps_type = column.type == field.type or pa.types.is_nested(column.type)
        if keeps_type or not self._cast:
            return column
        try:
            found = column.cast(field.type)
        except pa.ArrowException as error:
            raise UncastableError(f"column {field.name}: {error}") from error
        if not _is_kept(column, found):
            what = f"not every {column.type} of it is a {field.type}"
            raise UncastableError(f"column {field.name}: {what}")
        return found

    def finish(self, name: str) -> None:
        """Make what was written, and its name, durable; ``publish`` makes it visible."""
        assert self._writer is not None
        self._writer.close()
        self._file.flush()
        failpoint("ingest.land.before-sync")
        os.fsync(self._file.fileno())
        self._file.close()
        failpoint("ingest.land.before-rename")
        self._draft.rename(hidden_path(self._folder, name))
        failpoint("ingest.land.after-rename")
        sync_folder(self._folder)
        failpoint("ingest.land.after-sync")

    def write_waiting(self) -> None:
        """Write what waits, so that ``newest_us`` is known."""
        self._write()

    def abandon(self) -> None:
        """Remove what was written; harmless after ``finish``."""
        # The disk is the reason; and an open writer would write once more when it is collected.
        with contextlib.suppress(OSError, ValueError, pa.ArrowException):
            if self._writer is not None:
                self._writer.close()
        with contextlib.suppress(OSError):
            self._file.close()
        self._draft.unlink(missing_ok=True)


def _instant_us(wall_us: int, zone: tzinfo) -> int:
    """The moment at which a wall clock in a zone shows a time first."""
    shown = _EPOCH + timedelta(microseconds=min(max(wall_us, 0), _LAST_US))
    ahead = shown.replace(tzinfo=zone).utcoffset()
    assert ahead is not None
    return wall_us - ahead // _US


def _is_kept(column: pa.ChunkedArray, found: pa.ChunkedArray) -> bool:
    """Whether a cast left each value what it is; a text is the number or time that it spells.

    A number is no time, since nobody says whether it counts seconds or microseconds.
    """
    if pa.types.is_string(column.type):
        return not (pa.types.is_floating(found.type) and pc.any(pc.is_inf(found)).as_py())
    if pa.types.is_temporal(column.type) != pa.types.is_temporal(found.type):
        return bool(pa.types.is_string(found.type))
    return comes_back(found, column)


def _batches(body: bytes) -> tuple[pa.Schema, list[pa.RecordBatch]]:
    """The schema and the record batches of a row's body."""
    try:
        with pyarrow.ipc.open_stream(unpack(body)) as reader:
            return reader.schema, list(reader)
    except pa.ArrowException as error:
        raise DamagedError(f"its records cannot be read: {error}") from error
