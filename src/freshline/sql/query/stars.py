"""Stars, USING and NATURAL spelt out as Spark reads them.

sqlglot's own reading differs: to it a column joined by USING is always the first table's, while
Spark takes the right side's behind RIGHT JOIN and whichever is there behind FULL JOIN; Spark puts
such columns first in ``*`` and in ``o.*``, sqlglot leaves them where they are. And a name that a
query's output has twice can be reached by its place alone. So all of it is written out here, by
the columns of the tables, before sqlglot resolves the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from freshline.sql.query.unsupported import unsupported
from freshline.sql.text.canonical import is_natural, kind_of, side_of

Columns = Mapping[str, Sequence[str]]
_BEHIND_ALIASES = ("order", "having", "qualify")
"""Clauses in which a name means an output column first."""


def spell_out_columns(tree: exp.Query, columns: Columns) -> None:
    """Writes out, in place, what stands for columns without naming them.

    Args:
        tree: Every table in it has an alias.
        columns: Of each table by its name, in their order, lower case.

    Raises:
        Unsupported: A column cannot be told (UNRESOLVED), or a form is not analysed (SYNTAX).
    """
    first: exp.Expr = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    _Spelling(columns, first).query(tree)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column that a FROM clause gives.

    Attributes:
        name: Lower case.
        value: What it is.
        owner: Alias of the relation that it is a column of; "": of none alone.
    """

    name: str
    value: exp.Expr
    owner: str


@dataclass(slots=True)
class _From:
    """The columns of a FROM clause: those of ``*``, and those that only ``alias.*`` shows."""

    shown: list[_Column] = field(default_factory=list)
    hidden: list[_Column] = field(default_factory=list)
    keys: dict[str, exp.Expr] = field(default_factory=dict)

    def one(self, name: str, join: exp.Join) -> _Column:
        """The only column of this name."""
        found = [column for column in self.shown if column.name == name]
        if len(found) != 1:
            many = "more than one column" if found else "no column"
            raise unsupported("UNRESOLVED", f"{many} beside this join is called {name}", join)
        return found[0]


class _Spelling:
    def __init__(self, columns: Columns, first: exp.Expr) -> None:
        self.columns = columns
        self.first = first  # its names are the view's
        self.own_names: dict[int, frozenset[str] | None] = {}
        self.unnamed = 0

    def query(self, node: exp.Expr) -> list[str] | None:
        """Spells out a query; its output columns, None where they cannot be told."""
        if isinstance(node, exp.Subquery):
            return self.query(node.this)
        if isinstance(node, exp.SetOperation):
            names = self.query(node.left)
            self.query(node.right)
            return names
        return self._select(node) if isinstance(node, exp.Select) else None

    def _select(self, select: exp.Select) -> list[str] | None:
        relations = [self._relation(item) for item in _items(select)]
        for inner in _queries_in_expressions(select):
            self.query(inner)
        source = self._from(select, relations)
        known = None if source is None else {column.name for column in source.shown}
        self.own_names[id(select)] = None if known is None else frozenset(known)
        if source is not None:
            if source.keys:
                self._use_keys(select, source.keys)
            self._spell_out_stars(select, source)
        return _with_different_names(select, kept=select is self.first)

    # ------------------------------------------------------------- FROM

    def _relation(self, item: exp.Expr) -> tuple[str, list[str] | None]:
        """Alias and columns of an item of FROM; None: they cannot be told."""
        names: list[str] | None = None
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Query):
            names = self.query(item)
            self._rename(item, names)
            names = [name.lower() for name in item.this.named_selects] if names else None
        elif isinstance(item, exp.Subquery):  # a join in parentheses
            self._nested(item.this)
        elif isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
            names = list(self.columns[item.name])
        elif alias := item.args.get("alias"):
            names = [column.name.lower() for column in alias.args.get("columns") or []] or None
        self._refuse_using(item.args.get("joins") or [])
        if item.args.get("joins"):
            names = None
        return item.alias_or_name, names

    def _nested(self, node: exp.Expr) -> None:
        self._relation(node)
        for join in node.args.get("joins") or []:
            self._relation(join.this)

    @staticmethod
    def _refuse_using(joins: Sequence[exp.Join]) -> None:
        for join in joins:
            if join.args.get("using") or is_natural(join):
                raise unsupported("SYNTAX", "USING within parentheses is not analysed", join)

    def _rename(self, item: exp.Subquery, names: list[str] | None) -> None:
        """``(query) AS t(a, b)`` as a query whose columns are called so."""
        alias = item.args.get("alias")
        if alias is None:
            self.unnamed += 1
            name = exp.to_identifier(f"in_from_{self.unnamed}")
            item.set("alias", exp.TableAlias(this=name))
            return
        wanted = alias.args.get("columns")
        if not wanted:
            return
        if names is None or len(names) != len(wanted):
            raise unsupported("UNRESOLVED", "the renamed columns cannot be determined", item)
        inner = exp.Subquery(this=item.this, alias=exp.TableAlias(this=exp.to_identifier("named")))
        renamed = [
            exp.alias_(exp.column(exp.to_identifier(old), table="named"), new.copy())
            for old, new in zip(names, wanted, strict=True)
        ]
        alias.set("columns", None)
        item.set("this", exp.Select(expressions=renamed, from_=exp.From(this=inner)))

    def _from(
        self, select: exp.Select, relations: Sequence[tuple[str, list[str] | None]]
    ) -> _From | None:
        """The columns of the FROM clause, joins by name spelt out; None: they cannot be told."""
        joins: list[exp.Join] = list(select.args.get("joins") or [])
        by_name = [join for join in joins if join.args.get("using") or is_natural(join)]
        if any(names is None for _, names in relations):
            if by_name:
                raise unsupported(
                    "UNRESOLVED", "the columns of USING cannot be determined", by_name[0]
                )
            return None
        parts = [
            [_Column(name, _column(name, alias), alias) for name in names or []]
            for alias, names in relations
        ]
        source = _From(parts[0] if parts and select.args.get("from_") else [])
        crossed = False
        for join, right in zip(joins, parts[1:], strict=False):
            side = side_of(join)
            if crossed and (join in by_name or side in {"RIGHT", "FULL"}):
                # Behind a comma these reach back to the comma alone; sqlglot reads it as CROSS.
                raise unsupported(
                    "SYNTAX", "write this join in front of the comma or CROSS JOIN", join
                )
            crossed = crossed or kind_of(join) == "CROSS"
            if join in by_name:
                source = _joined_by_name(source, right, join)
            else:
                on = join.args.get("on")
                if on is not None and source.keys:
                    names = {column.name for column in right}
                    self._swap(on, {k: v for k, v in source.keys.items() if k not in names})
                source = _From([*source.shown, *right], source.hidden, source.keys)
        laterals = len(select.args.get("laterals") or [])
        for more in parts[len(parts) - laterals :] if laterals else []:
            source.shown.extend(more)
        return source

    # ------------------------------------------------------- mentions

    def _use_keys(self, select: exp.Select, keys: Mapping[str, exp.Expr]) -> None:
        """Puts what USING joined where its names stand alone."""
        aliases = {item.alias.lower() for item in select.expressions if isinstance(item, exp.Alias)}
        shown = aliases | {
            item.name.lower() for item in select.expressions if isinstance(item, exp.Column)
        }
        for item in list(select.expressions):
            if isinstance(item, exp.Column) and not item.table and item.name.lower() in keys:
                item.replace(exp.alias_(keys[item.name.lower()].copy(), item.this.copy()))
        for key, value in list(select.args.items()):
            if key in {"from_", "joins"}:
                continue
            left = keys
            if key in _BEHIND_ALIASES:
                if key != "order" and aliases & keys.keys():
                    message = f"a column of USING has another meaning in {key.upper()}"
                    raise unsupported("SYNTAX", message, select)
                left = {name: each for name, each in keys.items() if name not in shown}
            for part in list(value) if isinstance(value, list) else [value]:
                if isinstance(part, exp.Expr):
                    self._swap(part, left)

    def _swap(self, tree: exp.Expr, keys: Mapping[str, exp.Expr]) -> None:
        """Puts what ``keys`` say for the bare names in ``tree``, part of a clause."""
        if isinstance(tree, exp.Column):
            if tree.table.lower() in keys and not tree.args.get("db"):
                raise unsupported(
                    "UNRESOLVED", "a field of a column of USING is not analysed", tree
                )
            if not tree.table and tree.name.lower() in keys:
                tree.replace(keys[tree.name.lower()].copy())
            return
        if isinstance(tree, exp.Select):
            own = self.own_names.get(id(tree))
            if own is None and tree.args.get("from_") and _mentions(tree, keys):
                raise unsupported("UNRESOLVED", "a column of USING may mean another one here", tree)
            keys = {name: value for name, value in keys.items() if name not in (own or ())}
        for child in list(tree.iter_expressions()):
            self._swap(child, keys)

    def _spell_out_stars(self, select: exp.Select, source: _From) -> None:
        items: list[exp.Expr] = []
        owners = {column.owner.lower() for column in [*source.shown, *source.hidden]}
        for item in select.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if not isinstance(star, exp.Star):
                items.append(item)
                continue
            owner = item.table.lower() if isinstance(item, exp.Column) else ""
            if owner and (owner not in owners or item.args.get("db")):
                items.append(item)  # the fields of a struct
                continue
            if star.args.get("replace") or star.args.get("rename"):
                raise unsupported("SYNTAX", "this form of * is not analysed", item)
            columns = source.shown
            if owner:
                both = [*source.hidden, *source.shown]
                columns = [column for column in both if column.owner.lower() == owner]
            left_out = {each.name.lower() for each in star.args.get("except_") or []}
            items.extend(
                exp.alias_(column.value.copy(), exp.to_identifier(column.name))
                for column in columns
                if column.name not in left_out
            )
        select.set("expressions", items)


def _joined_by_name(left: _From, right: list[_Column], join: exp.Join) -> _From:
    """USING and NATURAL: the columns of both sides, each name that joins them once and first."""
    side = side_of(join)
    if using := join.args.get("using"):
        names = [identifier.name.lower() for identifier in using]
    else:
        there = {column.name for column in right}
        names = [column.name for column in left.shown if column.name in there]
    other = _From(right)
    pairs = [(left.one(name, join), other.one(name, join)) for name in names]
    keys: list[_Column] = []
    hidden: list[_Column] = []
    for one, two in pairs:
        if side == "FULL":
            both = exp.Coalesce(this=one.value.copy(), expressions=[two.value.copy()])
            keys.append(_Column(one.name, both, ""))
            hidden += [one, two]
        else:
            kept, dropped = (two, one) if side == "RIGHT" else (one, two)
            keys.append(kept)
            hidden.append(dropped)
    same = [exp.EQ(this=one.value.copy(), expression=two.value.copy()) for one, two in pairs]
    join.set("using", None)
    join.set("method", None)
    if same:
        join.set("on", exp.and_(*same))
    elif not side:
        join.set("kind", "CROSS")
    else:
        raise unsupported("SYNTAX", "a NATURAL join without a column in common", join)
    rest = [column for column in [*left.shown, *right] if column.name not in set(names)]
    known = {**left.keys, **{column.name: column.value for column in keys}}
    return _From([*keys, *rest], [*hidden, *left.hidden], known)


def _with_different_names(select: exp.Select, *, kept: bool) -> list[str] | None:
    """Gives a name that the output has twice to its first column alone; all names.

    Nothing else than a place can mean one of two columns of a name, so no name is lost.
    """
    names: list[str] = []
    taken = {item.alias_or_name.lower() for item in select.expressions}
    for at, item in enumerate(list(select.expressions)):
        if item.is_star or isinstance(item, exp.Aliases):
            return None
        name = item.alias_or_name.lower()
        if name and name in names and not kept:
            new = f"{name}_{at}"
            while new in taken:
                new += "_"
            taken.add(new)
            item.replace(exp.alias_(item.unalias().copy(), exp.to_identifier(new)))
            name = new
        names.append(name)
    return names if all(names) else None


def _items(select: exp.Select) -> Iterator[exp.Expr]:
    if source := select.args.get("from_"):
        yield source.this
    for join in select.args.get("joins") or []:
        yield join.this
    yield from select.args.get("laterals") or []


def _queries_in_expressions(select: exp.Select) -> Iterator[exp.Expr]:
    """The outermost queries in anything but the relations of FROM."""
    relations = {id(item) for item in _items(select)}

    def visit(node: exp.Expr) -> Iterator[exp.Expr]:
        for child in node.iter_expressions():
            if id(child) in relations:
                continue
            if isinstance(child, exp.Query):
                yield child
            else:
                yield from visit(child)

    yield from list(visit(select))


def _mentions(select: exp.Select, keys: Mapping[str, exp.Expr]) -> bool:
    return any(
        not column.table and column.name.lower() in keys for column in select.find_all(exp.Column)
    )


def _column(name: str, alias: str) -> exp.Column:
    return exp.column(exp.to_identifier(name), table=exp.to_identifier(alias))
