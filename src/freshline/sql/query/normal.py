"""A query in the form that analyses read: every name resolved, every shorthand expanded.

The user's text is parsed and brought into one shape: WITH queries stand where they are read,
every column names its table's alias, every alias is unique in the whole query, stars, USING,
NATURAL, ``GROUP BY 1`` and ``GROUP BY ALL`` are spelt out, LEFT SEMI and ANTI joins are EXISTS
and NOT EXISTS, and what GROUP BY calls ``window`` stands where ``window.start`` is selected.
The tree serves to understand the query; whoever runs SQL made from it must compare Spark's
plans of both first, since sqlglot changes some of Spark's functions in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from freshline.sql.query.calendar import unit_name
from freshline.sql.query.null_rejecting import inner_where_null_is_rejected
from freshline.sql.query.records import Source
from freshline.sql.query.scopes import own_nodes
from freshline.sql.query.stars import spell_out_columns
from freshline.sql.query.unique import with_unique_aliases
from freshline.sql.query.unsupported import unsupported
from freshline.sql.text.canonical import canonical, is_aggregate, is_natural, kind_of, side_of
from freshline.sql.text.functions import CLOCK_WORDS
from freshline.sql.text.sqlglot_compat import legible
from freshline.sql.text.tokens import Token, closing, tokens

_DIALECT = "spark"
_REMEMBERED, _TYPES = 8, 1024
Columns = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""Of each source its name, and its columns with their types."""

_WINDOWS = ("window", "session_window")
_GENERATORS = (exp.Explode, exp.Inline, exp.Posexplode, exp.ExplodeOuter, exp.PosexplodeOuter)
_SPELLING = "spelling"
_FIELD = re.compile(r"[<,]`?([^:<>,`]+)`?:")
"""A field of a struct in the name of a type, as Spark writes it: ``struct<name:type,..>``."""
UNNAMED = "_col_"
"""Prefix of the alias of an output column that the query does not name (Spark invents one)."""


def normalise(query: str, sources: Sequence[Source]) -> exp.Query:
    """``query`` resolved against ``sources``.

    Every :class:`sqlglot.exp.Table` in the result that is not a table function is one of the
    sources, see :func:`source_name`. Output columns without a name are called ``_col_0``, ...
    by their place.

    Raises:
        Unsupported: sqlglot cannot read the query (PARSE) or cannot resolve its names
            (UNRESOLVED; CLOCK where such a name is the clock's), or it has a form that is not
            analysed (UNKNOWN_TABLE, RECURSIVE, TIME_TRAVEL, SAMPLE, PIVOT, LATERAL_SUBQUERY,
            GROUP_BY_ALL, STREAM_WINDOW, SYNTAX).
    """
    columns = tuple((source.name, tuple(source.columns.items())) for source in sources)
    return _normalised(query, columns).copy()


@lru_cache(maxsize=_REMEMBERED)
def _normalised(query: str, columns: Columns) -> exp.Query:
    """The tree itself; four analyses of a query ask for it one after the other."""
    sources = [Source(name, dict(types)) for name, types in columns]
    tree = parsed(query)
    _refuse_forms(tree)
    _refuse_named_constants(tree)
    _drop_hints(tree)
    _name_outputs(tree)
    _spell_out_windows(tree)
    _inline(tree, {})
    _semi_joins_as_exists(tree)
    _keep_field_names(tree)
    _remember_spelling(tree)
    known = _internal_names(tree, sources)
    spell_out_columns(tree, {known[source.name]: list(source.columns) for source in sources})
    try:
        tree = qualify(
            tree,
            schema={known[source.name]: _types(source) for source in sources},
            dialect=_DIALECT,
            quote_identifiers=False,
            identify=False,
        )
    except Exception as error:  # whatever stops sqlglot, Spark can still run it
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        for word in sorted(CLOCK_WORDS):  # sqlglot takes some without brackets for columns
            if f"column '{word}'" in what.lower():
                raise unsupported("CLOCK", f"{word} has another value in every run") from error
        raise unsupported(
            "UNRESOLVED", f"the names in the query cannot be resolved: {what}"
        ) from error
    _restore_names(tree, {internal: name for name, internal in known.items()})
    _restore_keys_of_maps(tree, sources)
    _spell_out_group_by_all(tree)
    _spell_out_constant_keys(tree)
    tree = with_unique_aliases(tree)
    inner_where_null_is_rejected(tree)
    return tree


def parsed(query: str) -> exp.Query:
    """The syntax tree of ``query`` as Spark's dialect has it.

    Raises:
        Unsupported: sqlglot cannot read it (PARSE), or it is not a plain query (SYNTAX).
    """
    try:
        piped = any(token.text == "|>" for token in tokens(query))
        tree = None if piped else sqlglot.parse_one(legible(query), dialect=_DIALECT)
    except Exception as error:  # whatever stops sqlglot, Spark can still run it
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise unsupported("PARSE", f"the query's text cannot be analysed: {what}") from error
    tree = tree and canonical(tree)
    if not isinstance(tree, exp.Query):
        raise unsupported("SYNTAX", "only SELECT, WITH and set operations are analysed")
    _require_literal_units(query)
    return tree


def _require_literal_units(query: str) -> None:
    """``date_trunc(hour, ts)`` truncates to what a column called hour says; sqlglot hides it.

    It also takes units for others' abbreviations, by which Spark truncates to NULL.
    """
    found = tokens(query)
    for name, bracket, unit in zip(found, found[1:], found[2:], strict=False):
        if not (name.is_word("DATE_TRUNC") and bracket.is_symbol("(")):
            continue
        if unit.kind != "string":
            raise unsupported("SYNTAX", "only a literal unit of date_trunc can be analysed")
        _require_unit(unit)
    for at, (name, bracket) in enumerate(pairwise(found)):
        if name.is_word("TRUNC") and bracket.is_symbol("("):
            _require_unit(_last_of_call(found, at + 1))


def _require_unit(unit: Token) -> None:
    if unit.kind != "string" or unit_name(unit.value) is None:
        raise unsupported("SYNTAX", f"{unit.text} is no unit by which Spark truncates: all is NULL")


def _last_of_call(found: list[Token], bracket: int) -> Token:
    """The last token before the bracket that closes the one at this place."""
    end = closing(found, bracket)
    return found[-1] if end is None else found[end - 1]


def source_name(table: exp.Table) -> str:
    """The name of the source that ``table`` reads, lower case, parts joined by points."""
    return ".".join(part.name.lower() for part in table.parts)


def is_call_of(node: exp.Expr, *names: str) -> bool:
    """Whether ``node`` is a call, unknown to sqlglot, of a function with one of these names."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in names


def _refuse_forms(tree: exp.Query) -> None:
    """Refuses what the analyses do not look at, whatever it means."""
    for node in tree.walk():
        if isinstance(node, exp.With) and node.recursive:
            raise unsupported(
                "RECURSIVE", "a recursive WITH query is computed again as a whole", node
            )
        if isinstance(node, exp.TableSample):
            raise unsupported("SAMPLE", "TABLESAMPLE draws other rows in every run", node)
        if isinstance(node, exp.Pivot):
            raise unsupported("PIVOT", "PIVOT and UNPIVOT are not analysed", node)
        if isinstance(node, exp.Table) and (node.args.get("version") or node.args.get("when")):
            raise unsupported("TIME_TRAVEL", "the query fixes a table's version itself", node)
        if _is_table_function(node) and node.find(exp.Query):
            raise unsupported("LATERAL_SUBQUERY", "a query inside LATERAL is not analysed", node)
        if isinstance(node, exp.QueryTransform):
            raise unsupported("SYNTAX", "TRANSFORM runs a program of its own", node)


def _refuse_named_constants(tree: exp.Query) -> None:
    """For a constant's name sqlglot writes its place: ``v % 2`` for ``v % n`` of ``a, 3 AS n``.

    That is right where GROUP BY has the name alone, and another key where it computes with it.
    """
    for group in tree.find_all(exp.Group):
        select = group.find_ancestor(exp.Select)
        constants: set[str] = set()
        for item in select.expressions if select is not None else ():
            value = item.unalias().unnest()
            named = isinstance(value, exp.Column) and value.name.lower() in constants
            if named or isinstance(value, exp.Literal) or value.is_number:
                constants.add(item.alias_or_name.lower())
        for column in group.find_all(exp.Column):
            inside = column.parent is not group and not column.table
            if inside and column.name.lower() in constants:
                raise unsupported(
                    "SYNTAX", "write a constant itself where GROUP BY computes with it", column
                )


def _drop_hints(tree: exp.Query) -> None:
    """A hint changes no row; the tables that it names would be read as tables of the query."""
    for select in tree.find_all(exp.Select):
        select.set("hint", None)


def _is_table_function(node: exp.Expr) -> bool:
    """Whether ``node`` makes a relation of expressions: LATERAL VIEW, VALUES, range(...)."""
    if isinstance(node, exp.Table):
        return not isinstance(node.this, exp.Identifier)
    return isinstance(node, exp.Lateral | exp.Unnest | exp.Values)


def _name_outputs(tree: exp.Query) -> None:
    """Names expressions that have none, before sqlglot gives them names Spark does not."""
    for select in tree.find_all(exp.Select):
        for at, item in enumerate(select.expressions):
            if isinstance(item, exp.Alias | exp.Aliases | exp.Column | exp.Dot | exp.Star):
                continue
            if isinstance(item, _GENERATORS):
                continue
            name = item.name.lower() if is_call_of(item, *_WINDOWS) else f"{UNNAMED}{at}"
            item.replace(exp.alias_(item.copy(), name))


def _keep_field_names(tree: exp.Query) -> None:
    """Names of a struct's fields stay as they are written: they are part of a column's type.

    sqlglot writes all other names in small letters.
    """
    for field in tree.find_all(exp.PropertyEQ, exp.ColumnDef):
        if isinstance(field.parent, exp.Struct | exp.DataType):
            name = field.this.copy()  # else it may be the node that names a column, too
            name.meta["case_sensitive"] = True
            field.set("this", name)


def _remember_spelling(tree: exp.Query) -> None:
    for name in tree.find_all(exp.Identifier):
        name.meta[_SPELLING] = name.name


def _restore_keys_of_maps(tree: exp.Query, sources: Sequence[Source]) -> None:
    """``attrs.Color`` is ``attrs['Color']`` where attrs is a map: data, and no name.

    sqlglot writes it in small letters. What is a map cannot always be told, since a function may
    make it. But Spark reads a struct's field in any spelling, so only fields that the query spells
    in several ways stay in small letters: those are one.
    """
    kinds = [kind for source in sources for kind in source.columns.values()]
    fields = {name.lower() for kind in kinds for name in _FIELD.findall(kind)}
    spelt: dict[str, set[str]] = {}
    names = [access.expression for access in tree.find_all(exp.Dot)]
    names = [name for name in names if isinstance(name, exp.Identifier)]
    for name in names:
        spelt.setdefault(name.name.lower(), set()).add(name.meta.get(_SPELLING, name.name))
    for name in names:
        key = name.name.lower()
        if key not in fields or len(spelt[key]) == 1:
            name.set("this", name.meta.get(_SPELLING, name.name))


def _spell_out_windows(tree: exp.Query) -> None:
    """Puts the call of ``window`` in GROUP BY where ``window`` and ``window.start`` stand."""
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        calls = [node for node in group.expressions if is_call_of(node, *_WINDOWS)] if group else []
        if len({call.sql() for call in calls}) > 1:
            raise unsupported("STREAM_WINDOW", "only one window can be grouped by", group)
        if not calls or any(table.alias_or_name in _WINDOWS for table in _relations(select)):
            continue
        call = calls[0]
        for column in list(own_nodes(select, exp.Column)):
            if not isinstance(column, exp.Column) or column.find_ancestor(exp.Group):
                continue
            name = call.name.lower()
            if column.table.lower() == name and len(column.parts) == 2:  # noqa: PLR2004
                field: exp.Expr = exp.Dot(this=call.copy(), expression=column.this.copy())
                if column.parent is select:
                    field = exp.alias_(field, column.name.lower())
                column.replace(field)
            elif column.name.lower() == name and not column.table:
                whole = call.copy()
                column.replace(exp.alias_(whole, name) if column.parent is select else whole)


def _relations(select: exp.Select) -> Iterator[exp.Expr]:
    if source := select.args.get("from_"):
        yield source.this
    for join in select.args.get("joins") or []:
        yield join.this


def _inline(node: exp.Expr, ctes: Mapping[str, exp.Query]) -> None:
    """Replaces every mention of a WITH query below ``node`` by that query."""
    with_ = node.args.get("with_")
    if isinstance(with_, exp.With):
        seen = dict(ctes)
        for cte in with_.expressions:
            _inline(cte.this, seen)
            seen[cte.alias.lower()] = _named_columns(cte)
        ctes = seen
        node.set("with_", None)
    for child in list(node.iter_expressions()):
        body = ctes.get(child.name.lower()) if _is_plain_table(child) else None
        if body is None:
            _inline(child, ctes)
            continue
        alias = child.args.get("alias") or exp.TableAlias(this=exp.to_identifier(child.name))
        subquery = exp.Subquery(this=body.copy(), alias=alias.copy())
        for key in ("joins", "laterals"):
            if parts := child.args.get(key):
                for part in parts:
                    _inline(part, ctes)
                subquery.set(key, [part.copy() for part in parts])
        child.replace(subquery)


def _is_plain_table(node: exp.Expr) -> bool:
    return (
        isinstance(node, exp.Table)
        and isinstance(node.this, exp.Identifier)
        and len(node.parts) == 1
    )


def _named_columns(cte: exp.CTE) -> exp.Query:
    """The body of a WITH query, its columns called as ``name (a, b) AS`` says."""
    body = cte.this
    if not isinstance(body, exp.Query):
        raise unsupported("SYNTAX", "TABLE in WITH is not analysed; write SELECT * FROM", cte)
    names = cte.args["alias"].args.get("columns") if cte.args.get("alias") else None
    if not names:
        return body
    columns = [name.copy() for name in names]
    alias = exp.TableAlias(this=exp.to_identifier(cte.alias), columns=columns)
    return exp.Select(
        expressions=[exp.Star()],
        from_=exp.From(this=exp.Subquery(this=body, alias=alias)),
    )


def _semi_joins_as_exists(tree: exp.Expr) -> None:
    """LEFT SEMI and ANTI joins become EXISTS and NOT EXISTS where that is the same."""
    for select in list(tree.find_all(exp.Select)):
        joins = list(select.args.get("joins") or [])
        for at, join in enumerate(joins):
            if kind_of(join) not in {"SEMI", "ANTI"}:
                continue
            if any(side_of(later) in {"RIGHT", "FULL"} for later in joins[at + 1 :]):
                raise unsupported("SEMI_JOIN", "a SEMI or ANTI join under an outer join", join)
            if join.args.get("using") or is_natural(join):
                raise unsupported("SEMI_JOIN", "write a SEMI or ANTI join with ON", join)
            inner = exp.select("1").from_(join.this.copy())
            if on := join.args.get("on"):
                inner = inner.where(on.copy())
            exists: exp.Expr = exp.Exists(this=inner)
            if kind_of(join) == "ANTI":
                exists = exp.Not(this=exists)
            join.pop()
            select.where(exists, copy=False)


def _internal_names(tree: exp.Expr, sources: Sequence[Source]) -> dict[str, str]:
    """Gives every table a plain one-part name; the answer is that name by source."""
    known = {source.name: f"source_{at}" for at, source in enumerate(sources)}
    plain = {name.replace("`", ""): internal for name, internal in known.items()}
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            continue  # a table function
        name = source_name(table)
        if name not in plain:
            raise unsupported("UNKNOWN_TABLE", f"nothing is known of the table {name}", table)
        if (named := table.args.get("alias")) and named.args.get("columns"):
            raise unsupported("SYNTAX", "other names for a table's columns are not analysed", table)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
        table.set("this", exp.to_identifier(plain[name]))
        table.set("db", None)
        table.set("catalog", None)
    return known


def _restore_names(tree: exp.Expr, names: Mapping[str, str]) -> None:
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and table.name in names:
            parts = names[table.name].replace("`", "").split(".")
            for key, part in zip(("this", "db", "catalog"), reversed(parts), strict=False):
                table.set(key, exp.to_identifier(part))


def _types(source: Source) -> dict[str, object]:
    return {name.lower(): _type(kind) for name, kind in source.columns.items()}


def _type(kind: str) -> exp.DataType:
    return _known_type(kind).copy()


@lru_cache(maxsize=_TYPES)
def _known_type(kind: str) -> exp.DataType:
    try:
        return exp.DataType.build(kind, dialect=_DIALECT)
    except (SqlglotError, ValueError):
        return exp.DataType.build("unknown")


def _spell_out_constant_keys(tree: exp.Expr) -> None:
    """Puts a text in GROUP BY where its place stands; a number there would be a place itself."""
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        for key in list(group.expressions) if group is not None else []:
            if isinstance(key, exp.Literal) and not key.is_string and key.name.isdecimal():
                at = int(key.name) - 1
                items = select.expressions
                item = items[at].unalias() if at in range(len(items)) else None
                if isinstance(item, exp.Literal) and item.is_string:
                    key.replace(item.copy())


def _spell_out_group_by_all(tree: exp.Expr) -> None:
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is None or not group.args.get("all"):
            continue
        keys: list[exp.Expr] = []
        for item in select.expressions:
            value = item.unalias()
            if value.find(exp.Window):
                raise unsupported("GROUP_BY_ALL", "write the columns of GROUP BY out", item)
            if not any(is_aggregate(node) for node in value.walk()):
                keys.append(value.copy())
            elif any(isinstance(node, exp.Column) for node in value.walk(prune=is_aggregate)):
                raise unsupported("GROUP_BY_ALL", "write the columns of GROUP BY out", item)
        group.set("all", None)
        group.set("expressions", keys)
