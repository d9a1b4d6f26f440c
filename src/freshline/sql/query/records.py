"""What analysing a query finds out, as plain records: the contract between analysis and update.

Analysis (this package) fills them in without Spark; the update of a view and the batches of a
report carry them out. All times are event times in microseconds, all intervals closed: with
integers that is exact, and a bucket of an hour reads [v, v + 3,599,999,999].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Source:
    """A table that a query reads.

    Attributes:
        name: As the query names it, lower case.
        columns: Spark type (its simple string, such as ``decimal(15,2)``) by column name in
            lower case.
        static: It does not change while a result is maintained: a new version of it means
            computing everything again.
        time_column: The event-time column that was declared, lower case.
        batch_key: Columns whose equal values always arrive in one batch and are never NULL;
            empty: nothing of the kind is promised.
        padded: Columns of CHAR(n) or VARCHAR(n), lower case: equal values may be different texts.
    """

    name: str
    columns: Mapping[str, str]
    static: bool = False
    time_column: str | None = None
    batch_key: tuple[str, ...] = ()
    padded: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a query cannot be maintained in some way.

    Attributes:
        code: Short and stable: UNBOUNDED, CLOCK, HOLISTIC, ...
        message: The same in words, for the person who wrote the query.
        sql: The part of the query it is about.
    """

    code: str
    message: str
    sql: str | None = None


@dataclass(frozen=True, slots=True)
class Reads:
    """Rows of one source on which an output row with bucket value v can depend.

    Those whose ``column`` lies in [v + lo_us, v + hi_us]; a row whose ``column`` is NULL can
    matter only to output rows whose bucket is NULL. Hence a row at time t can change output
    rows with buckets in [t - hi_us, t - lo_us] and no others.
    """

    column: str
    lo_us: int
    hi_us: int


@dataclass(frozen=True, slots=True)
class Buckets:
    """The output falls into buckets by a time column, each a function of a range of the input.

    Attributes:
        column: Of the output; it holds the bucket, a timestamp or a date.
        reads: By name of source, for every source that is not static.
    """

    column: str
    reads: Mapping[str, Reads]


@dataclass(frozen=True, slots=True)
class Keys:
    """The output falls apart by keys, each a function of the input's rows of that key.

    The output rows whose ``columns`` hold the values v are the same for any two states of the
    sources that agree, for each of ``reads``, on the rows whose columns hold v. NULL is a value
    like any other here.

    Attributes:
        columns: Of the output, lower case; together they hold the key.
        reads: By name of source, for every source that is read and not static: its columns that
            hold the key, lower case, in the order of ``columns``.
    """

    columns: tuple[str, ...]
    reads: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Equality:
    """Only rows of ``source`` are used whose ``column`` equals ``other_column`` in ``other``.

    Sources and columns are in lower case, sources as :attr:`Source.name` is.
    """

    source: str
    column: str
    other: str
    other_column: str


Linearity = Literal["joint", "each"]
"""What rows a query's rows follow from.

``joint``: a batch is a part of every source at once, whose rows meet only within a batch. ``each``:
joins make the query linear in each source with the others whole, so what a change makes is the sum
over the sources of what that source's change makes, those before it new and those behind it old.
"""


@dataclass(frozen=True, slots=True)
class Partial:
    """One state from which a result is put together.

    Attributes:
        name: Of the relation that holds its rows, in ``combine`` and in the final query.
        keys: Columns of the state that identify a group; empty: there is one group.
        query: Over the sources: state rows of the input rows given.
        combine: Over the relation ``name``: one row per group, with the same columns.
        equal: Of its query, where each source's changes meet the others whole.
    """

    name: str
    keys: tuple[str, ...]
    query: str
    combine: str
    equal: tuple[Equality, ...] = ()


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A query cut into mergeable states and a final query over them.

    For any division of the input into batches: ``final`` over the combined union of each
    partial's rows equals the query over the whole input.

    Attributes:
        partials: At least one.
        final: Over relations named as the partials, each holding combined rows.
        linearity: Of each partial's query.
        group_columns: Where each output row is a function of one group of the only partial
            and shows its keys: state key by output column. Else None: after a change any
            output row can differ.
        own_state: Where the result's rows are the state of the only partial, no more and no
            fewer: output column by the partial's column. Else None.
    """

    partials: tuple[Partial, ...]
    final: str
    linearity: Linearity = "joint"
    group_columns: Mapping[str, str] | None = None
    own_state: Mapping[str, str] | None = None


NOT_ASKED = Reason("NOT_ASKED", "nothing was looked for")


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """Every way in which a view can be maintained, and why not in the others.

    Attributes:
        appends: What insertions add to the query's rows, and take nothing away: the output of the
            new rows of all sources at once (``joint``), or what the new rows of each source make
            with all rows of the others (``each``). Else why not.
        buckets: Where the output falls into buckets; else why it does not.
        merge: Where states merge; else why they do not.
        notes: What a user should know all the same, a sentence each.
        always_full: Code of why every update is in full whatever the query allows; "": it is not.
        holds_us: By parent, where final buckets are asked for: how far behind its freshness its
            rows are complete, by the column that is read.
        equal: Of the query, where it appends what each source's new rows make.
        keys: Where the output falls apart by keys; else why it does not. Not asked for where there
            are buckets.
    """

    appends: Linearity | Reason
    buckets: Buckets | Reason
    merge: Decomposition | Reason
    notes: tuple[str, ...] = field(default=())
    always_full: str = ""
    holds_us: Mapping[str, int] = field(default_factory=dict)
    equal: tuple[Equality, ...] = ()
    keys: Keys | Reason = NOT_ASKED
