"""The names of a query's output columns, where its text alone tells them.

It does when every item of the outermost SELECT is a column or has an alias. A star needs its
table's columns, and an expression without an alias gets a name that Spark makes up; then the
answer is None and Spark decides.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from freshline.sql.text.tree import tree_of

Columns = tuple[str, ...]
_ONE_SIDE = ("SEMI", "ANTI")


def output_columns(query: str, known: Mapping[str, Columns] | None = None) -> Columns | None:
    """The output columns of ``query`` in order, or None where only Spark can tell.

    Args:
        query: Its text.
        known: The columns of tables by name in lower case. With it stars are spelt out, those over
            the query's own WITH too; without it a star is never known.
    """
    if "|>" in query:
        return None
    tree = tree_of(query)
    return None if tree is None else _names(tree, known)


def _names(tree: exp.Expr | None, known: Mapping[str, Columns] | None) -> Columns | None:
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        known = _with_entries(tree, known)
        if tree.args.get("by_name"):
            return None
        tree = tree.this
    if not isinstance(tree, exp.Select) or not tree.expressions:
        return None
    known = _with_entries(tree, known)
    names: list[str] = []
    for item in tree.expressions:
        if isinstance(item, exp.Aliases):
            names.extend(alias.name for alias in item.aliases)
        elif item.is_star:
            spelt = None if known is None else _star(tree, item, known)
            if spelt is None:
                return None
            names.extend(spelt)
        elif isinstance(item, exp.Alias | exp.Column) or _is_path(item):
            names.append(item.alias_or_name)
        else:
            return None
    return tuple(names) if all(names) else None


def _is_path(item: exp.Expr) -> bool:
    """Whether an item is a column's field: ``a[0].b`` Spark calls by all of it, and not b."""
    base = item
    while isinstance(base, exp.Dot):
        base = base.this
    return base is not item and isinstance(base, exp.Column)


def _with_entries(
    tree: exp.Expr, known: Mapping[str, Columns] | None
) -> Mapping[str, Columns] | None:
    """``known`` and the entries of the query's WITH; an entry hides a table of its name."""
    if known is None or (entries := tree.args.get("with_")) is None:
        return known
    scope = dict(known)
    for entry in entries.expressions:
        found = None if entries.args.get("recursive") else _names(entry.this, scope)
        _put(scope, entry.alias, _aliased(entry, found))
    return scope


def _put(scope: dict[str, Columns], name: str, found: Columns | None) -> None:
    scope.pop(name.lower(), None)
    if found is not None:
        scope[name.lower()] = found


def _aliased(item: exp.Expr, found: Columns | None) -> Columns | None:
    """The columns' aliases of ``AS name (a, b)``, or else the columns as they were found."""
    alias = item.args.get("alias")
    named = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    return tuple(each.name for each in named) if named else found


def _star(tree: exp.Select, item: exp.Expr, known: Mapping[str, Columns]) -> Columns | None:
    """The columns of ``*`` or ``t.*``; None where they are not known."""
    star = item if isinstance(item, exp.Star) else item.this
    from_, joins = tree.args.get("from_"), tree.args.get("joins") or ()
    plain = isinstance(item, exp.Star | exp.Column)
    if not plain or not isinstance(star, exp.Star) or from_ is None or tree.args.get("laterals"):
        return None
    if star.args.get("rename") or star.args.get("replace"):
        return None
    if any(each.args.get("pivots") for each in joins):
        return None
    wanted = item.table.lower() if isinstance(item, exp.Column) else None
    columns: list[str] = []
    seen = False
    for source, kind in ((from_.this, ""), *((each.this, each.kind) for each in joins)):
        if wanted is not None and source.alias_or_name.lower() != wanted:
            continue
        if wanted is None and kind in _ONE_SIDE:
            continue
        found = _source(source, known)
        if found is None:
            return None
        seen = True
        columns.extend(found)
    if not seen:
        return None  # the fields of a column
    if wanted is None and any(each.args.get("using") or each.method for each in joins):
        return None  # the columns that both sides have come first, once
    left_out = {each.name.lower() for each in star.args.get("except_") or ()}
    return tuple(each for each in columns if each.lower() not in left_out)


def _source(source: exp.Expr, known: Mapping[str, Columns]) -> Columns | None:
    """The columns of what stands in FROM or behind JOIN."""
    if source.args.get("pivots") or source.args.get("joins"):
        return None
    if isinstance(source, exp.Stream):
        return _source(source.this, known)
    if isinstance(source, exp.Table):
        one = isinstance(source.this, exp.Identifier) and not source.db
        return _aliased(source, known.get(source.name.lower()) if one else None)
    if isinstance(source, exp.Subquery):
        inner = source.this
        of = _source(inner, known) if isinstance(inner, exp.Table) else _names(inner, known)
        return _aliased(source, of)
    return None
