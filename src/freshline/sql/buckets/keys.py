"""By which keys the output of a query falls apart: rows of a key depend on rows of that key alone.

A key is followed through a query as a time is, but for distances: of two keys it is only of use
that they are equal. What looks at all rows of a key and at no others leaves each key by itself: a
join, a semi or an anti join by it, groups by it and more, a window partitioned by it. So the walk
is that of the buckets (:mod:`freshline.sql.buckets.walk`), and its promise is the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, product

from sqlglot import exp

from freshline.sql.buckets.differences import Contradiction
from freshline.sql.buckets.relation import Kind, Relation
from freshline.sql.buckets.ties import split_choice
from freshline.sql.buckets.walk import Walk
from freshline.sql.query.nondeterministic import require_deterministic
from freshline.sql.query.normal import UNNAMED, normalise, source_name
from freshline.sql.query.records import Keys, Reason, Source
from freshline.sql.query.scopes import is_limited
from freshline.sql.query.unsupported import Unsupported, unsupported
from freshline.sql.query.zone import zone
from freshline.sql.text.canonical import unquote

_EXACT = ("string", "boolean", "tinyint", "smallint", "int", "bigint")
"""Types, with DECIMAL, of which equal values are the same value; times make buckets."""

_MOST_COLUMNS = 3
"""Of one key: each is compared for each row."""

_MOST_CHOICES = 16
"""So many ways to take one column of each source are tried for an output column."""

_MOST_WALKS = 32
"""Through one query: one through eight branches of a hundred columns takes 60 ms."""

Column = tuple[str, str]
"""Alias and name in lower case; of the output the alias is empty."""


def keys(
    query: str, sources: Sequence[Source], *, functions: AbstractSet[str] = frozenset()
) -> Keys | Reason:
    """By which columns the output of ``query`` falls apart, or why by none.

    Several columns that would each do hold the key together, the first three of them: fewer rows
    have all of their values.

    Args:
        query: The user's text.
        sources: Every table that it reads.
        functions: User-defined functions that were declared deterministic, lower case.

    Returns:
        The keys; or a reason with a code of :func:`~freshline.sql.query.normal.normalise`, of
        :func:`~freshline.sql.query.nondeterministic.nondeterminism`, or of
        :func:`~freshline.sql.buckets.timeline.buckets`. NO_KEY: there is no column of which each
        row depends on rows with its value alone. KEY_NOT_SHOWN: there is, but the output has it
        not.
    """
    try:
        tree = normalise(query, sources)
        unquote(tree)
        require_deterministic(tree, functions=functions)
        return _keys(tree, sources)
    except Unsupported as refusal:
        return refusal.reason
    except Contradiction:
        return Reason("CONTRADICTION", "the conditions on keys cannot be met together")


def _keys(tree: exp.Query, sources: Sequence[Source]) -> Keys | Reason:
    mentioned = {source_name(table) for table in tree.find_all(exp.Table) if table.this.name}
    read = [source for source in sources if source.name.replace("`", "") in mentioned]
    moving = [source for source in read if not source.static]
    if not moving:
        raise unsupported("STATIC", "the query reads nothing that changes")
    same = _Equals(tree)
    walks = iter(range(_MOST_WALKS))
    held: dict[tuple[str, ...], str] = {}
    names = [name.lower() for name in tree.named_selects]
    for name in names:
        if names.count(name) > 1 or name.startswith(UNNAMED) or len(held) == _MOST_COLUMNS:
            continue
        for known, columns in _choices(same.of(("", name)), tree, read, moving):
            if next(walks, None) is None:
                break
            if _is_key(name, tree, read, known, columns):
                held.setdefault(tuple(columns.values()), name)
                break
    if not held:
        return _none(tree, read, moving, same, walks)
    by_source = zip(*held, strict=True)
    return Keys(
        tuple(held.values()),
        {source.name: columns for source, columns in zip(moving, by_source, strict=True)},
    )


def _none(
    tree: exp.Query,
    read: Sequence[Source],
    moving: Sequence[Source],
    same: _Equals,
    walks: Iterator[int],
) -> Reason:
    """Why there is no key: none at all, or none that is shown."""
    hidden = _hidden(tree, read, moving, same, walks)
    if hidden is None:
        return Reason(
            "NO_KEY", "there is no column of which each row depends on rows with its value alone"
        )
    return Reason(
        "KEY_NOT_SHOWN",
        f"each row depends only on rows with the same {hidden}; if the view shows that column, only"
        " the values of changed rows are computed again",
    )


def _hidden(
    tree: exp.Query,
    read: Sequence[Source],
    moving: Sequence[Source],
    same: _Equals,
    walks: Iterator[int],
) -> str | None:
    """A column that would be a key if it were shown."""
    if not isinstance(tree, exp.Select) or tree.args.get("distinct") or is_limited(tree):
        return None  # with one more column DISTINCT makes other rows
    tables = {table.alias_or_name: source_name(table) for table in tree.find_all(exp.Table)}
    for equal in same.sets():
        for known, columns in _choices(equal, tree, read, moving):
            if next(walks, None) is None:
                return None
            rows = _walk(read, known, columns).rows(tree)
            for (alias, name), fields in rows.columns.items():
                key = fields.get("")
                if key is not None and _depend_on(rows, key, columns):
                    return f"{name} of {tables[alias]}" if alias in tables else name
    return None


def _choices(
    equal: AbstractSet[Column],
    tree: exp.Query,
    read: Sequence[Source],
    moving: Sequence[Source],
) -> Iterator[tuple[AbstractSet[Column], Mapping[str, str]]]:
    """Columns of the sources that may be one key, all of one type; and one of each that changes.

    Args:
        equal: Columns of the query that may be equal.
    """
    by_name = {source.name.replace("`", ""): source for source in read}
    of_type: dict[str, set[Column]] = {}
    for table in tree.find_all(exp.Table):
        source = by_name.get(source_name(table)) if table.this.name else None
        for column, kind in source.columns.items() if source is not None else ():
            assert source is not None
            name = column.lower()
            if (table.alias_or_name, name) in equal and name not in source.padded:
                of_type.setdefault(kind.strip().lower(), set()).add((source.name, name))
    for kind, known in of_type.items():
        if kind not in _EXACT and not kind.startswith("decimal("):
            continue
        options = [
            [name for name in map(str.lower, each.columns) if (each.name, name) in known]
            for each in moving
        ]
        for columns in islice(product(*options), _MOST_CHOICES):
            yield known, {each.name: name for each, name in zip(moving, columns, strict=True)}


def _is_key(
    name: str,
    tree: exp.Query,
    read: Sequence[Source],
    known: AbstractSet[Column],
    columns: Mapping[str, str],
) -> bool:
    """Whether rows of the output with one value in ``name`` depend on rows with it alone.

    Args:
        known: The columns of sources that are followed, by source and name.
        columns: By name of source that changes: the one that has to have the value.
    """
    output = _walk(read, known, columns).query(tree, "")
    key = output.columns.get(("", name), {}).get("")
    return key is not None and _depend_on(output, key, columns)


def _walk(read: Sequence[Source], known: AbstractSet[Column], columns: Mapping[str, str]) -> Walk:
    def kind(source: Source, column: str) -> Kind | None:
        return "key" if (source.name, column.lower()) in known else None

    return Walk(read, columns, zone("UTC"), kind)


def _depend_on(rows: Relation, key: str, columns: Mapping[str, str]) -> bool:
    """Whether rows depend, in each of these sources, on rows with their key alone."""
    return (
        all(rows.reads_at(key, source) == (0, 0) for source in columns)
        and rows.is_null_ok(key)
        and split_choice(rows, key) is None
    )


class _Equals:
    """Columns of a normalised query that may be equal: those worth a walk, and more of them.

    Whether they are, in which rows, the walk finds out.
    """

    def __init__(self, tree: exp.Query) -> None:
        self._sets: dict[Column, set[Column]] = {}
        self._outputs(tree, "")
        for table in tree.find_all(exp.Subquery):
            if table.alias and isinstance(table.this, exp.Query):
                self._outputs(table.this, table.alias)
        for pair in tree.find_all(exp.EQ, exp.NullSafeEQ):
            self._join([*_columns(pair.this), *_columns(pair.expression)])
        for alone in tree.find_all(exp.Window, exp.Group):
            for value in alone.args.get("partition_by") or alone.expressions:
                for column in _columns(value):
                    self._join([column])
        for each in tree.find_all(exp.In):
            query = each.args.get("query")
            if isinstance(query, exp.Query):
                place = f"in {id(each)}"
                shown = self._outputs(query.unnest(), place)
                self._join([*_columns(each.this), *((place, name) for name in shown[:1])])

    def of(self, column: Column) -> AbstractSet[Column]:
        """The columns that may be equal to ``column``, itself included."""
        return self._sets.get(column, {column})

    def sets(self) -> Iterator[AbstractSet[Column]]:
        """All sets of columns that may be equal, each once."""
        return iter({id(each): each for each in self._sets.values()}.values())

    def _outputs(self, query: exp.Expr, alias: str) -> list[str]:
        """Joins a query's columns with what they show; their names."""
        query = query.unnest()
        if isinstance(query, exp.SetOperation):
            left, right = self._outputs(query.left, alias), self._outputs(query.right, alias)
            for one, other in zip(left, right, strict=False):
                self._join([(alias, one), (alias, other)])
            return left
        if not isinstance(query, exp.Select):
            return []
        for item in query.expressions:
            self._join([(alias, item.alias_or_name.lower()), *_columns(item.unalias())])
        return [item.alias_or_name.lower() for item in query.expressions]

    def _join(self, columns: Iterable[Column]) -> None:
        columns = list(columns)
        joined = set().union(*(self.of(each) for each in columns))
        for each in joined:
            self._sets[each] = joined


def _columns(value: exp.Expr) -> list[Column]:
    """The columns whose value ``value`` can be as it is: one, or those of COALESCE."""
    value = value.unnest()
    if isinstance(value, exp.Coalesce):
        return [column for each in (value.this, *value.expressions) for column in _columns(each)]
    return [(value.table, value.name.lower())] if isinstance(value, exp.Column) else []
