"""Replacing the rows of a table that satisfy a condition, in one write job.

Delta's own replaceWhere, where the condition is on more than partition columns, deletes first
and writes then: it looks for the files, reads them for rows to delete, rewrites them, writes what
it deleted for the change feed, then the new rows, then those again for the change feed. Six jobs
for a few hundred rows. Here one job does it, inside the same transaction and with the same
protection against other writers: the files that may hold such rows, by their statistics, are
read once; what is written is

- their other rows, unchanged,
- the new rows,
- the change feed: a `delete` for a row that is gone, an `insert` for one that is new. A row that
  is the same before and after is in neither, so a table's children are not told of it.

Delta's writer puts rows with a `_change_type` into change files, as for UPDATE and MERGE
(protocol, "Add CDC File"). Where nothing differs nothing is committed but the metadata.

A file is rewritten as a whole, so a table in one file would be rewritten at every update,
however little of it changes. Therefore a large file is cut in two when it is rewritten: rows that
the next updates will hardly touch, older than any of these, go into a file of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import StructType

from freshline.spark.commits.selection import Selection
from freshline.spark.commits.transaction import Staged, Touched, Transaction
from freshline.spark.engine import jvm
from freshline.spark.engine.listed import is_misled
from freshline.spark.engine.sizing import compile_for, sized
from freshline.sql.text.reads import backquoted, quoted_column

_TYPE = "_change_type"
_SIGN = "_freshline_sign"
_NEW = "_freshline_new"
_NET = "_freshline_net"
_SIGNED = "_freshline_signed"
_TIMES = "_freshline_times"
_NULLS = "_freshline_nulls"
_CUT_FROM_BYTES = 64 * 1024
"""Of the files rewritten; below, a file more costs readers more than it saves."""

_OBSERVED_WITHIN_S = 5.0
"""Spark tells what it counted a few milliseconds after a job, by another thread."""

_EXACT = (
    *("timestamp", "timestamp_ntz", "date", "string", "boolean", "binary"),
    *("tinyint", "smallint", "int", "bigint"),
)
_FLOATS = ("float", "double")
"""Grouping makes 0.0 of -0.0; their texts stay apart."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """What is staged, and what was counted on the way.

    Attributes:
        staged: Data files; ``rows`` are the new rows alone, not those kept beside them.
        counts: New rows by the conditions that were asked about.
        changes: Rows of the change feed; None: not known.
        times_us: Values of the column asked about in these rows, and whether NULL is among them;
            None: not known.
    """

    staged: Staged
    counts: Mapping[str, int] = field(default_factory=dict)
    changes: int | None = None
    times_us: tuple[tuple[int, ...], bool] | None = None

    @property
    def facts(self) -> dict[str, int]:
        """What the commit's metadata say of it."""
        known = {} if self.changes is None else {"changes": self.changes}
        return {**self.counts, **known}


def replace(
    transaction: Transaction,
    rows: DataFrame,
    predicate: str | Selection,
    *,
    configuration: Mapping[str, str],
    input_bytes: int,
    counted: Mapping[str, str] | None = None,
    apart: str | None = None,
    touched: Touched | None = None,
    timed: str | None = None,
) -> Replaced:
    """Stage ``rows`` in place of those rows of the table that satisfy ``predicate``.

    Args:
        transaction: On a table that exists; its columns are those of ``rows``, in order.
        rows: The new rows, all of which satisfy the predicate.
        predicate: SQL over the table's columns, or groups; if these are joined with their keys,
            of a table with a change feed.
        configuration: The project's Spark settings.
        input_bytes: Size of what ``rows`` reads.
        counted: SQL conditions by name: count the new rows that satisfy them.
        apart: SQL over the table's columns: which of the other rows in large files go into a
            file of their own.
        touched: The table's files that may hold such rows, where ``rows`` is made of them; None:
            they are looked for here.
        timed: A TIMESTAMP column whose values in the rows that differ are to be told.
    """
    session, counts = rows.sparkSession, _Counts(counted or {})
    replaced = Selection(predicate) if isinstance(predicate, str) else predicate
    by_condition = replaced.keys is None
    if touched is None:
        touched = transaction.touched(replaced.sql, by_condition=by_condition)
    by_delta = touched.partitions_alone or not (
        transaction.feeds_changes or is_misled(replaced.sql)
    )
    if by_condition and by_delta:
        # Delta removes whole files, or has no change feed to write.
        rows = counts.on(rows)
        options = {"replaceWhere": replaced.sql}
        output = sized(session, rows, configuration, input_bytes)
        staged = transaction.stage(
            output,
            "overwrite",
            partitioned_by=transaction.partition_columns,
            options=options,
        )
        return Replaced(staged, counts.told(rows))
    if not touched:
        rows = counts.on(rows)
        output = sized(session, rows, configuration, input_bytes)
        staged = transaction.write(output, touched)
        return Replaced(staged, counts.told(rows), staged.rows)
    old, columns = touched.frame(session), [quoted_column(name) for name in rows.columns]
    size_bytes = input_bytes + touched.size_bytes
    if not transaction.feeds_changes:
        counts = _Counts({_NEW: "true", **(counted or {})})
        kept = jvm.selected(replaced.others(old), columns)
        output = sized(session, kept.unionAll(counts.on(rows)), configuration, size_bytes)
        return _without_changes(transaction.write(output, touched), counts, rows)
    compile_for(session, configuration, input_bytes + transaction.weight_bytes(touched))
    signed = jvm.selected(replaced.of(old), [*columns, f"-1 AS {_SIGN}"])
    signed = signed.unionAll(jvm.selected(rows, [*columns, f"1 AS {_SIGN}"]))
    among = {
        _NEW: f"{_TYPE} IS NULL",
        _NET: f"{_TYPE} IS NOT NULL",
        **{name: f"{_TYPE} IS NULL AND ({sql})" for name, sql in (counted or {}).items()},
    }
    counts = _Counts(among, timed)
    changes = counts.on(_changes(sized(session, signed, configuration, size_bytes), rows.schema))
    kept_type = f"CAST(NULL AS STRING) AS {_TYPE}"
    if touched.size_bytes < _CUT_FROM_BYTES or replaced.is_all:
        apart = None
    if replaced.is_all:
        output = changes
    elif apart is None:
        kept = jvm.selected(replaced.others(old), [*columns, kept_type])
        output = sized(session, kept.unionAll(changes), configuration, size_bytes)
    else:
        kept = jvm.selected(replaced.others(old), [*columns, kept_type])
        # Else a union of two single partitions is one, and one file.
        session.conf.set("spark.sql.unionOutputPartitioning", "false")
        near = kept.filter(f"NOT coalesce({apart}, false)").unionAll(changes)
        far = sized(session, kept.filter(apart), configuration, touched.size_bytes)
        output = sized(session, near, configuration, size_bytes).unionAll(far)
    staged = transaction.write(output, touched)
    if not staged.feeds_changes:
        staged.discard()
    told = counts.told(changes)
    staged.rows, changed = told.pop(_NEW), told.pop(_NET)
    staged.cuts = apart is not None
    return Replaced(staged, told, changed, counts.times_us)


def _without_changes(staged: Staged, counts: _Counts, rows: DataFrame) -> Replaced:
    """What is staged of a table that has no change feed."""
    told = counts.told(rows)
    staged.rows = told.pop(_NEW)
    return Replaced(staged, told)


def _changes(signed: DataFrame, schema: StructType) -> DataFrame:
    """The new rows once as they are, and once more each row that differs, with its change.

    Args:
        signed: Rows that were (-1) and rows that shall be (1), by the column of signs.
        schema: Their columns without it.
    """
    kinds = {each.name: each.dataType.simpleString() for each in schema}
    columns = [backquoted(name) for name in kinds]  # `from` is a word in some places only
    if not all(_comparable(kind) for kind in kinds.values()):
        types = f"IF({_SIGN} > 0, array(NULL, 'insert'), array('delete'))"
        return jvm.selected(signed, [*columns, f"explode({types}) AS {_TYPE}"])
    keys, values = [], []
    for column, kind in zip(columns, kinds.values(), strict=True):
        is_float = kind in _FLOATS
        key = f"{_SIGNED}.{column}"  # GROUP BY `all` alone would be all columns
        keys.append(f"CAST({key} AS STRING)" if is_float else key)
        values.append(f"any_value({column}) AS {column}" if is_float else column)
    times = (("CAST(NULL AS STRING)", _NEW), ("'insert'", _NET), ("'delete'", f"-{_NET}"))
    types = ", ".join(
        f"array_repeat({change}, CAST(greatest({count}, 0) AS INT))" for change, count in times
    )
    # In SQL: each column made in Python would be several messages to the JVM.
    jvm.show(signed, _SIGNED)
    return jvm.query(
        signed.sparkSession,
        f"SELECT {', '.join(columns)}, explode(concat({types})) AS {_TYPE} FROM ("
        f"SELECT {', '.join(values)}, count_if({_SIGN} > 0) AS {_NEW}, sum({_SIGN}) AS {_NET}"
        f" FROM {_SIGNED} GROUP BY {', '.join(keys)})",
    )


def _comparable(kind: str) -> bool:
    """Whether equal values of the type are the same value."""
    return kind in _EXACT or kind in _FLOATS or kind.startswith("decimal(")


class _Counts:
    """How many rows of a frame satisfy each condition, counted while another query runs.

    Args:
        conditions: SQL by name.
        timed: A TIMESTAMP column of change rows whose values are collected, too.
    """

    def __init__(self, conditions: Mapping[str, str], timed: str | None = None) -> None:
        self._names = tuple(conditions)
        self._wanted = {name: f"count_if({sql})" for name, sql in conditions.items()}
        if timed is not None:
            is_change, time = f"{_TYPE} IS NOT NULL", quoted_column(timed)
            micros = f"IF({is_change}, CAST(unix_micros({time}) AS STRING), NULL)"
            self._wanted[_TIMES] = f"array_join(collect_set({micros}), ',')"
            self._wanted[_NULLS] = f"count_if({is_change} AND {time} IS NULL)"
        self._asked: Any = None
        self.times_us: tuple[tuple[int, ...], bool] | None = None
        """Once :meth:`told`: the values in order, and whether NULL is among them."""

    def on(self, frame: DataFrame) -> DataFrame:
        """The frame to put into the query."""
        if not self._wanted:
            return frame
        observed, self._asked = jvm.observing(frame, self._wanted)
        return observed

    def told(self, frame: DataFrame) -> dict[str, int]:
        """The counts by name; where Spark does not say, by a pass of its own over ``frame``."""
        if not self._wanted:
            return {}
        found: Mapping[str, Any] | None = jvm.observation(
            frame.sparkSession, self._asked, tuple(self._wanted), _OBSERVED_WITHIN_S
        )
        if found is None:
            wanted = (F.expr(sql).alias(name) for name, sql in self._wanted.items())
            found = frame.agg(*wanted).collect()[0].asDict()
        if _TIMES in found:
            times = sorted(int(each) for each in found[_TIMES].split(",") if each)
            self.times_us = tuple(times), int(found[_NULLS]) > 0
        return {name: int(found[name]) for name in self._names}
