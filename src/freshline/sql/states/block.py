"""What the two ways of merging a block share: its record, its group keys, its partials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from freshline.sql.query.records import Partial
from freshline.sql.query.scopes import free_aliases
from freshline.sql.states.aggregates import Rule, call_of, calls_in, rule_of
from freshline.sql.states.replacing import keyed, tells_equals_apart
from freshline.sql.states.states import PartialBuilder

_ONE_OF_VALUES = frozenset({"min", "max", "min_by", "max_by", "median", "percentile"})


@dataclass(frozen=True, slots=True)
class Block:
    """An aggregate and the linear part of its rows.

    Attributes:
        select: The aggregate, or the query whose rows count once.
        own: Aliases of the linear part.
        rows: FROM and WHERE of the linear part, without columns.
        late: Conditions for the final query.
        distinct: It has no aggregates; how often a row comes does not matter.
        whole: The aggregate as the user has it, where a part of ``select`` is cut already; None:
            none is.
        rest: Relations that are joined to the linear part in the final query.
        place: The item of FROM that the partial replaces; None: all but ``rest``.
        can_be_missing: An outer join can have a row without a partner there.
    """

    select: exp.Select
    own: frozenset[str]
    rows: exp.Select
    late: Sequence[exp.Expr]
    distinct: bool
    whole: exp.Select | None = None
    rest: Sequence[exp.Expr] = ()
    place: exp.Expr | None = None
    can_be_missing: bool = False

    @property
    def joins_later(self) -> bool:
        """Whether a row of the partial can meet several rows of something else."""
        return bool(self.rest) or self.place is not None


def add(rule: Rule, builder: PartialBuilder) -> tuple[list[int], list[exp.Column]]:
    """Puts the states and keys of ``rule`` into ``builder``; where they are."""
    keys = [builder.key(each) for each in rule.keys]
    return [builder.state(each) for each in rule.states], keys


def finish(
    rule: Rule, places: tuple[list[int], list[exp.Column]], builder: PartialBuilder
) -> exp.Expr:
    """The aggregate over the partial's rows."""
    states, keys = places
    columns = [builder.column(at) for at in states]
    return rule.finish(columns, [builder.merged(at) for at in states], keys)


def count_rows(builder: PartialBuilder) -> int:
    """The state column that counts the rows of a group."""
    call = call_of(exp.Count(this=exp.Star()))
    return builder.state(rule_of(call, "bigint").states[0])


def group_keys(block: Block, builder: PartialBuilder) -> list[tuple[exp.Expr, exp.Expr]]:
    """What the user groups by, and the same over the partial."""
    group = block.select.args.get("group")
    found: list[tuple[exp.Expr, exp.Expr]] = []
    for value in grouping_expressions(group):
        used = free_aliases(value)
        simple = isinstance(value, exp.Column) or not block.can_be_missing
        if used <= block.own and simple and not (block.joins_later and not used):
            found.append((value, builder.key(value)))
        else:
            found.append((value, keyed(value.copy(), block.own, builder, whole=False)))
    return found


def grouping_expressions(group: exp.Group | None) -> list[exp.Expr]:
    """Every expression that a GROUP BY names, those in ROLLUP and the like included."""
    if group is None:
        return []
    found: dict[str, exp.Expr] = {}

    def visit(node: exp.Expr) -> None:
        if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            for each in node.expressions:
                visit(each)
        elif isinstance(node, exp.Paren):
            visit(node.this)
        else:
            found.setdefault(node.sql(dialect="spark"), node.copy())

    for key in ("expressions", "rollup", "cube", "grouping_sets"):
        for each in group.args.get(key) or []:
            visit(each)
    return list(found.values())


def told_results(select: exp.Select) -> dict[str, exp.Expr]:
    """What tells equal values apart of an aggregate's result, by the text of the call.

    Of those alone whose result is one of their values: a sum is never -0.0, nor is a count.
    """
    found: dict[str, exp.Expr] = {}
    for clause in clauses(select):
        for node in calls_in(clause):
            above = None if node is clause else node.parent
            while above is not None and above is not select:
                if call_of(node.copy()).name in _ONE_OF_VALUES and tells_equals_apart(above):
                    found.setdefault(node.sql(dialect="spark"), above)
                above = above.parent
    return found


def keep_partial(partials: list[Partial], builder: PartialBuilder) -> str:
    """Notes the partial unless one like it is there; the name of the one to read."""
    partial = builder.partial()
    for other in partials:
        if other.keys == partial.keys and _shape(other.query) == _shape(partial.query):
            return other.name
    partials.append(partial)
    return partial.name


def _shape(query: str) -> str:
    """The text of a partial's query with aliases called by their place."""
    tree = sqlglot.parse_one(query, dialect="spark")
    names: dict[str, str] = {}
    for table in tree.find_all(exp.TableAlias):
        names.setdefault(table.name, f"alias_{len(names)}")
        table.set("this", exp.to_identifier(names[table.name]))
    for column in tree.find_all(exp.Column):
        if column.table in names:
            column.set("table", exp.to_identifier(names[column.table]))
    return str(tree.sql(dialect="spark"))


def clauses(select: exp.Select) -> list[exp.Expr]:
    """Where an aggregate can stand: output, HAVING, QUALIFY, ORDER BY, named windows."""
    others = [select.args.get(key) for key in ("having", "qualify", "order")]
    windows = select.args.get("windows") or []
    return [*select.expressions, *(each for each in others if each is not None), *windows]


def key_texts(rule: Rule) -> tuple[str, ...]:
    """The text of the group keys that ``rule`` adds."""
    return tuple(key.sql(dialect="spark") for key in rule.keys)
