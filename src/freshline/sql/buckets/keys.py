"""By which keys the output of a query falls apart: rows of a key depend on rows of that key alone.

A key is followed through a query as a time is, but for distances: of two keys it is only of use
that they are equal. What looks at all rows of a key and at no others leaves each key by itself: a
join, a semi or an anti join by it, groups by it and more, a window partitioned by it. So the walk
is that of the buckets (:mod:`freshline.sql.buckets.walk`), and its promise is the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, islice, product

from sqlglot import exp

from freshline.sql.buckets.differences import Contradiction
from freshline.sql.buckets.relation import Kind, Relation
from freshline.sql.buckets.ties import split_choice
from freshline.sql.buckets.walk import Walk, sources_in
from freshline.sql.query.nondeterministic import require_deterministic
from freshline.sql.query.normal import UNNAMED, normalise, source_name
from freshline.sql.query.records import Keys, Reason, Source
from freshline.sql.query.scopes import is_limited
from freshline.sql.query.unsupported import Unsupported
from freshline.sql.query.zone import zone
from freshline.sql.text.canonical import unquote

_EXACT = ("string", "boolean", "tinyint", "smallint", "int", "bigint")
"""Types of keys, beside DECIMAL: values that are equal are the same. Times are left to buckets."""

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
        :func:`~freshline.sql.buckets.timeline.buckets`. NO_KEY: whichever column is taken as the
        key, rows depend on rows of other keys. KEY_NOT_SHOWN: a column would be a key, but it is
        not in the output.
    """
    try:
        tree = normalise(query, sources)
        unquote(tree)
        require_deterministic(tree, functions=functions)
        return _Search(tree, sources).found()
    except Unsupported as refusal:
        return refusal.reason
    except Contradiction:
        return Reason("CONTRADICTION", "the conditions on keys cannot be met together")


class _Search:
    """Looks for the keys of one query.

    Args:
        tree: The query, normalised.
        sources: Every table that it reads.

    Raises:
        Unsupported: None of them changes (STATIC).
    """

    def __init__(self, tree: exp.Query, sources: Sequence[Source]) -> None:
        self._tree = tree
        self._read, self._moving = sources_in(tree, sources)
        self._equal = _Equals(tree)
        self._walks_left = _MOST_WALKS

    def found(self) -> Keys | Reason:
        """The keys, or why there are none."""
        held: dict[tuple[str, ...], str] = {}
        names = [name.lower() for name in self._tree.named_selects]
        for name in names:
            if names.count(name) > 1 or name.startswith(UNNAMED) or len(held) == _MOST_COLUMNS:
                continue
            for walk in self._walks(self._equal.of(("", name))):
                output = walk.query(self._tree, "")
                key = output.columns.get(("", name), {}).get("")
                if key is not None and _depend_on(output, key, walk.columns):
                    held.setdefault(tuple(walk.columns.values()), name)
                    break
        if not held:
            return self._none()
        by_source = zip(*held, strict=True)
        return Keys(
            tuple(held.values()),
            {source.name: columns for source, columns in zip(self._moving, by_source, strict=True)},
        )

    def _none(self) -> Reason:
        """Why there is no key: none at all, or none that is shown."""
        hidden = self._hidden()
        if hidden is None:
            return Reason(
                "NO_KEY", "whichever column is taken as the key, rows depend on rows of other keys"
            )
        return Reason(
            "KEY_NOT_SHOWN",
            f"each row depends only on rows with the same {hidden}; if the view shows that column,"
            " only the values of changed rows are computed again",
        )

    def _hidden(self) -> str | None:
        """A column that would be a key if it were shown."""
        tree = self._tree
        if not isinstance(tree, exp.Select) or tree.args.get("distinct") or is_limited(tree):
            return None  # with one more column DISTINCT makes other rows
        tables = {table.alias_or_name: source_name(table) for table in tree.find_all(exp.Table)}
        for walk in chain.from_iterable(map(self._walks, self._equal.sets())):
            rows = walk.rows(tree)
            for (alias, name), fields in rows.columns.items():
                key = fields.get("")
                if key is not None and _depend_on(rows, key, walk.columns):
                    return f"{name} of {tables[alias]}" if alias in tables else name
        return None

    def _walks(self, equal: AbstractSet[Column]) -> Iterator[Walk]:
        """Walks that follow columns of one type, each with one of every source that changes.

        Args:
            equal: Columns of the query that may be equal.
        """
        for known in self._of_each_type(equal):
            options = [
                [name for name in map(str.lower, each.columns) if (each.name, name) in known]
                for each in self._moving
            ]
            for names in islice(product(*options), min(_MOST_CHOICES, self._walks_left)):
                self._walks_left -= 1
                columns = dict(zip((each.name for each in self._moving), names, strict=True))
                yield Walk(self._read, columns, zone("UTC"), _kind_among(known))

    def _of_each_type(self, equal: AbstractSet[Column]) -> Iterator[AbstractSet[Column]]:
        """The columns of sources among these, by source and name, those of each type together."""
        by_name = {source.name.replace("`", ""): source for source in self._read}
        of_type: dict[str, set[Column]] = {}
        for table in self._tree.find_all(exp.Table):
            source = by_name.get(source_name(table)) if table.this.name else None
            for column, kind in source.columns.items() if source is not None else ():
                assert source is not None
                name = column.lower()
                if (table.alias_or_name, name) in equal and name not in source.padded:
                    of_type.setdefault(kind.strip().lower(), set()).add((source.name, name))
        for kind, known in of_type.items():
            if kind in _EXACT or kind.startswith("decimal("):
                yield known


def _kind_among(known: AbstractSet[Column]) -> Callable[[Source, str], Kind | None]:
    """What makes these columns keys, and no others."""
    return lambda source, column: "key" if (source.name, column.lower()) in known else None


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
