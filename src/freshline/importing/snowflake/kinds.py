"""What kind of value an expression of Snowflake's has, as far as the script says it.

Spark's arithmetic follows from the types that columns really have; Snowflake's rounds products and
quotients by the types that its tables declare. So a translation has to know them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import reduce
from itertools import takewhile
from typing import Any

from sqlglot import exp

from freshline.importing.snowflake import numbers
from freshline.importing.snowflake.numbers import WHOLE, Number
from freshline.importing.snowflake.tables import Tables


class Other(Enum):
    """Kinds of values that are no NUMBER."""

    FLOAT = "FLOAT"
    TEXT = "VARCHAR"
    DATE = "DATE"
    NTZ = "TIMESTAMP_NTZ"
    LTZ = "TIMESTAMP_LTZ"
    TZ = "TIMESTAMP_TZ"
    BINARY = "BINARY"
    OPAQUE = "VARIANT, ARRAY, OBJECT, TIME or the like"
    NULL = "NULL alone"
    REST = "another type"


Kind = Number | Other | None
"""None: it is not known."""
Outputs = list[tuple[str, Kind]]
"""Columns by their names in lower case, in their order."""

_WHOLE_TYPES = {exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT}
_FLOATS = {exp.DType.FLOAT, exp.DType.DOUBLE}
_BYTES = {exp.DType.BINARY, exp.DType.VARBINARY}
_COUNTS = (
    exp.Count | exp.CountIf | exp.RowNumber | exp.Rank | exp.DenseRank | exp.Length | exp.Year
    | exp.Month | exp.Day
)  # fmt: skip
_AS_THEIR_FIRST = (
    exp.Alias | exp.Paren | exp.Neg | exp.Abs | exp.Min | exp.Max | exp.Lag | exp.Lead
    | exp.Nullif | exp.Window | exp.Distinct | exp.DateTrunc | exp.TimestampTrunc
)  # fmt: skip
_TEXTS = exp.Upper | exp.Lower | exp.DPipe | exp.RawString
_RULES: dict[type[exp.Expr], Callable[[Number, Number], Number]] = {
    exp.Add: numbers.added,
    exp.Sub: numbers.added,
    exp.Mul: numbers.multiplied,
    exp.Div: numbers.divided,
}
_PLAIN = (exp.Boolean, exp.Predicate, exp.Connector, exp.Not)
_TIMES = {
    exp.DType.DATE: Other.DATE,
    exp.DType.TIMESTAMP: Other.NTZ,
    exp.DType.TIMESTAMPNTZ: Other.NTZ,
    exp.DType.DATETIME: Other.NTZ,
    exp.DType.TIMESTAMPLTZ: Other.LTZ,
    exp.DType.TIMESTAMPTZ: Other.TZ,
}


def declared(type_: exp.Expr | None) -> Kind:
    """The kind of a type's values."""
    if not isinstance(type_, exp.DataType):
        return None
    if type_.this in _WHOLE_TYPES:
        return WHOLE
    if type_.this == exp.DType.DECIMAL:
        digits = [int(each.name) for each in type_.expressions if each.name.isdigit()]
        precision, scale = (*digits, *(38, 0)[len(digits) :])
        return Number(precision, scale)
    if type_.this in _FLOATS:
        return Other.FLOAT
    if type_.this in _TIMES:
        return _TIMES[type_.this]
    if type_.this in exp.DataType.TEXT_TYPES:
        return Other.TEXT
    if type_.this in _BYTES:
        return Other.BINARY
    return Other.REST if type_.this == exp.DType.BOOLEAN else Other.OPAQUE


def common(kinds: Iterable[Kind]) -> Kind:
    """The kind of what can be a value of any of these."""
    every = list(kinds)
    found = [each for each in every if each is not Other.NULL]
    if not found or None in found:
        return Other.NULL if every and not found else None
    whole = [each for each in found if isinstance(each, Number)]
    if len(whole) == len(found):
        return reduce(numbers.widest, whole)
    others = {each for each in found if isinstance(each, Other)}
    if len(others) == 1 and (not whole or Other.FLOAT in others):
        return others.pop()
    if not whole and others == {Other.DATE, Other.NTZ}:
        return Other.NTZ
    return None


class Kinds:
    """Tells the kind of each expression in queries over a script's tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._outputs_of: dict[int, Outputs | None] = {}
        self._open: set[int] = set()
        self._rules: tuple[tuple[Any, Callable[[Any], Kind]], ...] = (
            (exp.Column, self._column),
            (exp.Literal, _literal),
            (exp.Null, lambda _: Other.NULL),
            (exp.Cast, lambda cast: declared(cast.to)),
            (exp.Add | exp.Sub | exp.Mul | exp.Div, self._arithmetic),
            (_COUNTS, lambda _: WHOLE),
            (exp.Sum | exp.Avg | exp.Floor | exp.Ceil | exp.Round, self._rounded),
            (_AS_THEIR_FIRST, self._first),
            (exp.Coalesce | exp.Case | exp.If, self._chosen),
            (exp.Subquery, self._scalar),
            (_TEXTS, lambda _: Other.TEXT),
            (_PLAIN, lambda _: Other.REST),
        )

    def of(self, node: exp.Expr | None) -> Kind:
        """The kind of an expression, which is part of a query."""
        found = (rule(node) for types, rule in self._rules if isinstance(node, types))
        return next(found, None)

    def _first(self, node: exp.Expr) -> Kind:
        """The kind of what has that of its first part: of COUNT(DISTINCT a, b) none."""
        parts = [node.this] if node.this is not None else node.expressions
        return self.of(parts[0]) if len(parts) == 1 else None

    def _chosen(self, node: exp.Expr) -> Kind:
        return common(self.of(each) for each in branches(node))

    def _scalar(self, node: exp.Expr) -> Kind:
        columns = self.outputs(node.this)
        return columns[0][1] if columns else None

    def _arithmetic(self, node: exp.Binary) -> Kind:
        one, other = self.of(node.this), self.of(node.expression)
        if isinstance(one, Number) and isinstance(other, Number):
            return _RULES[type(node)](one, other)
        if one is Other.DATE and isinstance(other, Number):
            return Other.DATE
        numeric = all(isinstance(each, Number) or each is Other.FLOAT for each in (one, other))
        return Other.FLOAT if numeric else None

    def _rounded(self, node: exp.Expr) -> Kind:
        kind = self.of(node.this)
        if not isinstance(kind, Number):
            return kind if kind is Other.FLOAT else None
        if isinstance(node, exp.Sum):
            return Number(numbers.MOST_DIGITS, kind.scale)
        if isinstance(node, exp.Avg):
            return numbers.averaged(kind)
        digits = node.args.get("decimals")
        if digits is None:
            return Number(min(kind.whole + 1, numbers.MOST_DIGITS), 0)
        if not isinstance(digits, exp.Literal) or not digits.name.isdigit():
            return None
        scale = min(kind.scale, int(digits.name))
        return Number(min(kind.whole + 1 + scale, numbers.MOST_DIGITS), scale)

    # ---- columns ----

    def _column(self, column: exp.Column) -> Kind:
        name = column.name.lower()
        select = column.find_ancestor(exp.Select)
        while isinstance(select, exp.Select):
            sources = self.sources(select)
            if column.table:
                source = sources.get(column.table.lower(), _ABSENT)
                if source is not _ABSENT:
                    return _named(name, [source])
            else:
                if any(name in dict(each) for each in sources.values() if each is not None):
                    return _named(name, list(sources.values()))
                if None in sources.values():
                    return None
                for each in select.expressions:
                    if isinstance(each, exp.Alias) and each.alias.lower() == name:
                        return self._aliased(each)
            select = select.find_ancestor(exp.Select)
        return None

    def _aliased(self, alias: exp.Alias) -> Kind:
        """The kind of what a name in the same SELECT stands for; not of one that means itself."""
        if id(alias) in self._open:
            return None
        self._open.add(id(alias))
        try:
            return self.of(alias.this)
        finally:
            self._open.discard(id(alias))

    def joined(self, join: exp.Join) -> list[tuple[Kind, Kind]]:
        """The kinds of the columns that a join compares by USING or as a natural one."""
        select = join.find_ancestor(exp.Select)
        if select is None or join.parent is None:
            return []
        sources = self.sources(select)
        before = takewhile(lambda part: part is not join, _parts(join.parent))
        left = [dict(sources.get(name) or ()) for name in _names(before)]
        columns = dict(pair for name in _names(_parts(join)) for pair in sources.get(name) or ())
        names = [each.name.lower() for each in join.args.get("using") or ()]
        if join.method.upper() == "NATURAL":
            names = list(columns)
        return [
            (columns[name], each[name])
            for name in names
            for each in left
            if name in columns and name in each
        ]

    def sources(self, select: exp.Select) -> dict[str, Outputs | None]:
        """What a SELECT reads, by name, with the columns of each; None: they are not known."""
        found: dict[str, Outputs | None] = {}
        for source in _parts(select):
            if not isinstance(source, exp.Join):
                found[source.alias_or_name.lower()] = _renamed(self._read(source), source)
        return found

    def _read(self, source: exp.Table | exp.Subquery) -> Outputs | None:
        if isinstance(source, exp.Subquery):
            return self.outputs(source.this)
        if len(source.parts) == 1 and (cte := _cte(source)) is not None:
            return _renamed(self.outputs(cte.this), cte)
        statement = self._tables.made_by(source)
        return None if statement is None else self._made(statement)

    def _made(self, statement: exp.Create) -> Outputs | None:
        listed = statement.this.expressions if isinstance(statement.this, exp.Schema) else []
        columns = [each for each in listed if isinstance(each, exp.ColumnDef | exp.Identifier)]
        query = statement.expression
        if not isinstance(query, exp.Query):
            found = [(each.name.lower(), declared(each.args.get("kind"))) for each in columns]
            return found or None  # a clone names none
        own = self.outputs(query)
        if not columns or own is None:
            return own
        if len(columns) != len(own):
            return None
        return [
            (each.name.lower(), declared(each.args.get("kind")) or kind)
            for each, (_, kind) in zip(columns, own, strict=True)
        ]

    def outputs(self, query: exp.Expr) -> Outputs | None:
        """The columns of a query; None: it reads a star of what is not known, or itself."""
        if id(query) not in self._outputs_of:
            self._outputs_of[id(query)] = None
            self._outputs_of[id(query)] = self._outputs(query)
        return self._outputs_of[id(query)]

    def _outputs(self, query: exp.Expr) -> Outputs | None:
        if isinstance(query, exp.Subquery):
            return self.outputs(query.this)
        if isinstance(query, exp.SetOperation):
            one, other = self.outputs(query.this), self.outputs(query.expression)
            if one is None or other is None or len(one) != len(other):
                return None
            return [(name, common((kind, also))) for (name, kind), (_, also) in zip(one, other)]  # noqa: B905 - of one length
        if not isinstance(query, exp.Select):
            return None
        found: Outputs = []
        for each in query.expressions:
            if not each.is_star:
                found.append((each.alias_or_name.lower(), self.of(each)))
                continue
            sources = self.sources(query)
            star = each.this if isinstance(each, exp.Column) else each
            if isinstance(each, exp.Column):
                sources = {each.table.lower(): sources.get(each.table.lower())}
            if None in sources.values() or _uses(query):
                return None
            left_out = {name.name.lower() for name in star.args.get("except_") or ()}
            for source in sources.values():
                found += [pair for pair in source or () if pair[0] not in left_out]
        return found


_ABSENT: Outputs = []


def branches(node: exp.Expr) -> list[exp.Expr]:
    """The expressions whose value a COALESCE, CASE or IFF can have, without NULL."""
    if isinstance(node, exp.Coalesce):
        found = [node.this, *node.expressions]
    elif isinstance(node, exp.If):
        found = [node.args.get("true"), node.args.get("false")]
    else:
        found = [*(each.args.get("true") for each in node.args["ifs"]), node.args.get("default")]
    return [each for each in found if each is not None and not isinstance(each, exp.Null)]


def _parts(node: exp.Expr) -> Iterator[exp.Table | exp.Subquery | exp.Join]:
    """The tables and joins of a SELECT, or of a part of its FROM, also those in parentheses."""
    parts = [*(node.args.get("joins") or ())]
    if isinstance(node, exp.Select):
        parts.insert(0, node.args.get("from_"))
    elif isinstance(node, exp.From | exp.Join):
        parts.append(node.this)
    elif isinstance(node, exp.Subquery) and not node.alias and _is_joined(node.this):
        parts.insert(0, node.this)
    elif isinstance(node, exp.Table | exp.Subquery):
        yield node
    for part in parts:
        if isinstance(part, exp.Join):
            yield part
        if part is not None:
            yield from _parts(part)


def _is_joined(node: exp.Expr) -> bool:
    """Whether it is what parentheses around tables hold, and no query."""
    if not isinstance(node, exp.Subquery):
        return isinstance(node, exp.Table)
    return bool(node.args.get("joins") or node.alias) or _is_joined(node.this)


def _names(parts: Iterable[exp.Expr]) -> list[str]:
    return [each.alias_or_name.lower() for each in parts if not isinstance(each, exp.Join)]


def _uses(select: exp.Select) -> bool:
    joins = (each for each in _parts(select) if isinstance(each, exp.Join))
    return any(join.args.get("using") or join.method for join in joins)


def _literal(literal: exp.Literal) -> Kind:
    if literal.is_string:
        return Other.TEXT
    whole, _, part = literal.name.partition(".")
    if not (whole + part).isdigit():
        return None
    return Number(max(len(whole.lstrip("0")) + len(part), 1), len(part))


def _named(name: str, sources: Sequence[Outputs | None]) -> Kind:
    kinds = [dict(each)[name] for each in sources if each is not None and name in dict(each)]
    return kinds[0] if len(set(kinds)) == 1 else None


def _renamed(columns: Outputs | None, source: exp.Expr) -> Outputs | None:
    alias = source.args.get("alias")
    names = [each.name.lower() for each in alias.args.get("columns") or ()] if alias else []
    if columns is None or not names:
        return columns
    if len(names) != len(columns):
        return None
    return [(name, kind) for name, (_, kind) in zip(names, columns, strict=True)]


def _cte(table: exp.Table) -> exp.CTE | None:
    """The part of a WITH that a name means: one of those in front of where it stands."""
    name = table.name.lower()
    inside: exp.Expr = table
    while inside.parent is not None:
        above = inside.parent
        with_ = above if isinstance(above, exp.With) else above.args.get("with_")
        # From within the WITH its entries were looked at already, those in front alone.
        parts: list[exp.CTE] = []
        if with_ is not None and with_ is not inside:
            parts = list(with_.expressions)
        if inside in parts:
            at = next(at for at, part in enumerate(parts) if part is inside)
            parts = parts[: at + bool(above.args.get("recursive"))]  # else it does not see itself
        for cte in parts:
            if cte.alias.lower() == name:
                return cte
        inside = above
    return None
