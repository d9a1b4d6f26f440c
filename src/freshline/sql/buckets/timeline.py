"""Which output rows of a query can differ when input rows with given event times change.

A walk from the sources up to the output carries for every time of a relation the ranges of
event times that rows at it depend on (:class:`freshline.sql.buckets.relation.Relation`): through
truncation, windows and intervals, comparisons in ON, WHERE, EXISTS and IN, joins of all kinds,
set operations, nested aggregation and window functions over bounded frames. What the walk does
not understand only loses a bound, never invents one. The time zone is the session's: days that
clocks make longer, and dates, which begin at its midnight, are bounded by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, product

from sqlglot import exp

from freshline.sql.buckets.differences import Contradiction, is_infinite
from freshline.sql.buckets.relation import Range, Relation
from freshline.sql.buckets.ties import split_choice
from freshline.sql.buckets.times import kind_of_type
from freshline.sql.buckets.walk import Walk, sources_in
from freshline.sql.query.nondeterministic import require_deterministic
from freshline.sql.query.normal import UNNAMED, normalise
from freshline.sql.query.records import Buckets, Reads, Reason, Source
from freshline.sql.query.unsupported import Unsupported, unsupported
from freshline.sql.query.zone import Zone, zone
from freshline.sql.text.canonical import unquote

_MOST_CHOICES = 64  # of one time column for each source that declares none


def buckets(
    query: str,
    sources: Sequence[Source],
    *,
    session_zone: str = "UTC",
    timestamp_ntz: bool = False,
    functions: AbstractSet[str] = frozenset(),
    column: str | None = None,
) -> Buckets | Reason:
    """How the output of ``query`` falls into buckets by a time column, or why it does not.

    Of several output columns that would do, the one is taken whose rows depend on the
    narrowest ranges, the first of equals.

    Args:
        query: The user's text.
        sources: Every table that it reads.
        session_zone: The time zone of the Spark session that runs it.
        timestamp_ntz: TIMESTAMP means a wall clock there, as ``spark.sql.timestampType`` can say.
        functions: User-defined functions that were declared deterministic, lower case.
        column: The output column, lower case, that shall hold the bucket; None: the best.

    Returns:
        The buckets; or a reason with a code of :func:`~freshline.sql.query.normal.normalise` or
        :func:`~freshline.sql.query.nondeterministic.nondeterminism`, or one of these. UNBOUNDED: no
        predicate bounds the times of a source. WINDOW, LIMIT, SESSION: such a part looks at
        all rows. STATIC_OUTER: rows of a static table are kept without a match. NULL_TIME:
        rows without a time can change rows that have one. NO_TIME_BUCKET: no output column is
        a time made from a source's. TIME_COLUMN: a source has no column that holds times.
        TIES: buckets would show parts of two choices among rows that tie.
        STATIC: no source changes. CONTRADICTION: its conditions leave no rows.
    """
    try:
        tree = normalise(query, sources)
        unquote(tree)
        require_deterministic(tree, functions=functions)
        if timestamp_ntz:
            _as_wall_clocks(tree)
        return _best(tree, sources, zone(session_zone), column)
    except Unsupported as refusal:
        return refusal.reason
    except Contradiction:
        return Reason("CONTRADICTION", "the conditions on times cannot be met together")


def _as_wall_clocks(tree: exp.Expr) -> None:
    """Spells TIMESTAMP out as TIMESTAMP_NTZ."""
    for type_ in tree.find_all(exp.DataType):
        if type_.this in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ):
            type_.set("this", exp.DType.TIMESTAMPNTZ)


def _best(tree: exp.Query, sources: Sequence[Source], session: Zone, column: str | None) -> Buckets:
    read, moving = sources_in(tree, sources)
    first: Reason | None = None
    for columns in _choices(moving):
        found = _with(tree, read, columns, session, column)
        if isinstance(found, Buckets):
            return found
        first = first or found
    assert first is not None
    raise Unsupported(first)


def _choices(moving: Sequence[Source]) -> list[Mapping[str, str]]:
    """Event-time columns by source, those that were declared first."""
    options: list[list[tuple[str, str]]] = []
    for source in moving:
        times = [name.lower() for name, kind in source.columns.items() if kind_of_type(kind)]
        times.sort(key=lambda name: name != source.time_column)
        if not times:
            raise unsupported("TIME_COLUMN", f"{source.name} has no column of a time")
        options.append([(source.name, name) for name in times])
    return [dict(choice) for choice in islice(product(*options), _MOST_CHOICES)]


def _with(
    tree: exp.Query,
    read: Sequence[Source],
    columns: Mapping[str, str],
    session: Zone,
    wanted: str | None,
) -> Buckets | Reason:
    """The buckets with one event-time column for each source, or why there are none."""
    walk = Walk(read, columns, session)
    relation = walk.query(tree, "")
    names = [name.lower() for name in tree.named_selects]
    best: tuple[int, str, dict[str, Range]] | None = None
    losses = list(walk.losses)
    times = 0
    for name in names:
        time = relation.columns.get(("", name), {}).get("")
        if time is None or names.count(name) > 1 or name.startswith(UNNAMED):
            continue
        if wanted is not None and name != wanted:
            continue
        times += 1
        ranges = {source: relation.reads_at(time, source) for source in columns}
        loss = _fault(name, time, ranges, relation, columns) or split_choice(relation, time)
        if loss is not None:
            losses.append(loss)
            continue
        width = max((hi - lo for lo, hi in ranges.values()), default=0)
        if best is None or width < best[0]:
            best = width, name, ranges
    if best is None:
        if losses and (times or walk.losses):
            return losses[0]
        return Reason(
            "NO_TIME_BUCKET",
            "no named output column is a time that follows from a source's; select one, such as "
            "date_trunc('hour', ...), and group by it",
        )
    return Buckets(
        best[1],
        {source: Reads(columns[source], lo, hi) for source, (lo, hi) in sorted(best[2].items())},
    )


def _fault(
    name: str,
    time: str,
    ranges: Mapping[str, Range],
    relation: Relation,
    columns: Mapping[str, str],
) -> Reason | None:
    for source, (lo, hi) in ranges.items():
        ends = [end for end, bound in (("lower", lo), ("upper", hi)) if is_infinite(bound)]
        if ends:
            missing = "neither end" if len(ends) > 1 else f"no {ends[0]} end"
            return Reason(
                "UNBOUNDED",
                f"no predicate bounds the time of {source} ({columns[source]}) against {name} "
                f"({missing}); add a BETWEEN",
            )
    if not relation.is_null_ok(time):
        return Reason(
            "NULL_TIME",
            f"{name} can be NULL in rows that depend on rows with a time, or the other way "
            "round; filter the NULLs out",
        )
    return None
