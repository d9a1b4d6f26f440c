"""What a strategy rests on, compared with what Spark's plan says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from freshline.sql.explain import duration
from freshline.sql.query.records import (
    Buckets,
    Decomposition,
    Keys,
    Linearity,
    Partial,
    Reason,
    Source,
    ViewPlan,
)
from freshline.sql.readings.certainty import uncertain
from freshline.sql.readings.choices import Chooser
from freshline.sql.readings.ingredients import ingredients, same_origin
from freshline.sql.readings.linearity import NotLinear, mentioned, products, subqueries
from freshline.sql.readings.operators import Reader
from freshline.sql.readings.plans import output
from freshline.sql.readings.terms import SAME, Attribute, Span
from freshline.sql.readings.trees import Tree

_MERGES = {
    (): (),
    ("Count",): ("Sum",),
    ("CountIf",): ("Sum",),
    ("Average", "Count", "Max", "Min", "VariancePop"): ("CollectList", "Count"),
    ("Max", "MaxBy"): ("Max", "MaxBy"),
    ("Min", "MinBy"): ("Min", "MinBy"),
} | {
    (kind,): (kind,)
    for kind in ("Sum", "Min", "Max", "BoolAnd", "BoolOr", "BitAndAgg", "BitOrAgg", "BitXorAgg")
}
"""By kinds of aggregates in a state: those that merge states of its kind."""

_LEAVES = ("View", "OneRowRelation", "LocalRelation", "Range")


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that the two readings do not share.

    Attributes:
        fact: Which one, in a few words.
        ours: What the strategy rests on.
        sparks: What Spark's plan says.
    """

    fact: str
    ours: str
    sparks: str

    def __str__(self) -> str:
        return f"{self.fact}: by our reading {self.ours}, by Spark's {self.sparks}"


def differences(plan: ViewPlan, query: Tree, sources: Sequence[Source]) -> list[Difference]:
    """What the plan says of the query and Spark's plan of the same query does not confirm.

    Args:
        plan: What analysis of the query's text found.
        query: Spark's analysed plan of it, simplified.
        sources: Every table that the query reads.
    """
    streams = {source.name.lower() for source in sources if not source.static}
    buckets = plan.buckets if isinstance(plan.buckets, Buckets) else None
    merges = isinstance(plan.merge, Decomposition)
    has_keys = isinstance(plan.keys, Keys)
    if isinstance(plan.appends, Reason) and buckets is None and not merges and not has_keys:
        return []
    found = list(_tables(query, {source.name.lower() for source in sources}))
    what = uncertain(query)
    if what is not None:
        found.append(Difference("the result", "follows from the rows", f"does not: {what}"))
    if not isinstance(plan.appends, Reason):
        found += _appended(plan.appends, query, streams)
    if buckets is not None:
        found += bucketed(buckets, query, streams)
    return found


def _tables(query: Tree, known: set[str]) -> list[Difference]:
    found = []
    for leaf in leaves(query):
        name = leaf.text("desc").lower()
        if leaf.kind not in _LEAVES or (leaf.kind == "View" and name not in known):
            said = f"{leaf.kind} {name}".strip()
            found.append(Difference("the tables", ", ".join(sorted(known)), f"{said} as well"))
    return found


def leaves(plan: Tree) -> list[Tree]:
    """The tables of a plan and of its subqueries."""
    if plan.kind == "View" or not plan.children:
        own = [plan]
    else:
        own = [leaf for child in plan.children for leaf in leaves(child)]
    for expression in plan.expressions():
        for each in expression.walk() if plan.kind != "View" else ():
            inner = each.tree("plan")
            if inner is not None:
                own += leaves(inner)
    return own


def _appended(linearity: Linearity, query: Tree, streams: set[str]) -> list[Difference]:
    ours = "new rows' output can be added"
    found = products(query, streams)
    if isinstance(found, NotLinear):
        return [Difference("appending", ours, f"{found.kind} {found.what}")]
    together = linearity == "each"
    if any(product != streams if together else len(product) != 1 for product in found):
        sets = sorted(", ".join(sorted(each)) or "static tables alone" for each in found)
        return [Difference("appending", ours, f"rows come from {'; '.join(sets)}")]
    return []


def bucketed(buckets: Buckets, query: Tree, streams: set[str]) -> list[Difference]:
    """What is wrong with the buckets."""
    columns = {
        name: buckets.reads[name].column.lower() if name in buckets.reads else None
        for name in streams
    }
    at = _named(query, buckets.column)
    if at is None:
        return [Difference("the bucket", f"is the column {buckets.column}", "there is none")]
    split, spans = _looked_at(query, at, columns)
    found = [
        Difference(f"the rows that tie among which {what} chooses", "in one bucket", "in several")
        for what in split
    ]
    for name, mine in spans.items():
        reads = buckets.reads.get(name)
        fact = f"the rows of {name} on which a bucket depends"
        if reads is None:
            found.append(Difference(fact, "none", _words(mine)))
            continue
        ours = Span(reads.lo_us, reads.hi_us)
        if not ours.contains(mine):
            found.append(Difference(fact, _words(ours), _words(mine)))
    return found


def keyed(keys: Keys, query: Tree, sources: Sequence[Source]) -> list[Difference]:
    """What is wrong with the keys.

    Args:
        keys: What analysis of the query's text found.
        query: Spark's analysed plan of it, simplified.
        sources: Every table that the query reads.
    """
    streams = {source.name.lower() for source in sources if not source.static}
    found = []
    for place, column in enumerate(keys.columns):
        at = _named(query, column)
        if at is None:
            found.append(Difference("the key", f"is the column {column}", "there is none"))
            continue
        split, spans = _looked_at(
            query,
            at,
            {name: keys.reads[name][place] if name in keys.reads else None for name in streams},
        )
        found += [
            Difference(f"the rows that tie among which {what} chooses", "of one key", "of several")
            for what in split
        ]
        for name, mine in spans.items():
            if name not in keys.reads or mine != SAME:
                fact = f"the rows of {name} on which those of a key depend, told by {column}"
                found.append(Difference(fact, "those of the key", "others as well"))
    return found


def _looked_at(
    query: Tree, at: Attribute, columns: Mapping[str, str | None]
) -> tuple[list[str], dict[str, Span]]:
    """On what rows with one value in a column of a plan depend.

    Args:
        query: The plan.
        at: The column.
        columns: For each source that changes, the column that holds the key; None: it has none.

    Returns:
        What chooses among rows that tie and can have several values in it; and by source that is
        read, how far from the value the rows can lie that are looked at.
    """
    reader = Reader(columns)
    relation = reader.read(query)
    spans = {name: relation.span(name, at) for name in sorted(columns)}
    split = Chooser(reader, columns.keys()).split(query, at)
    return split, {name: span for name, span in spans.items() if span is not None}


def merged(
    merge: Decomposition,
    query: Tree,
    partials: Sequence[tuple[Tree, Tree]],
    final: Tree,
    sources: Sequence[Source],
) -> list[Difference]:
    """What of a decomposition Spark's plans do not confirm.

    Args:
        merge: The decomposition.
        query: Spark's plan of the user's query, simplified.
        partials: Of each partial, Spark's plans of its query and of its combination.
        final: Spark's plan of the final query.
        sources: Every table that the query reads.
    """
    streams = {source.name.lower() for source in sources if not source.static}
    found = [
        Difference(f"the state {partial.name}", "adds up", said)
        for partial, (state, combine) in zip(merge.partials, partials, strict=True)
        for said in _misstated(merge, partial, state, combine, streams)
    ]
    found += _rewritten(query, streams, final, [partial.name for partial in merge.partials])
    if merge.group_columns and len(merge.partials) == 1:
        found += grouped(merge.group_columns, merge.partials[0].name, final)
    return found


def _misstated(
    merge: Decomposition, partial: Partial, query: Tree, combine: Tree, streams: Collection[str]
) -> Iterator[str]:
    """What Spark says otherwise of a partial, in words.

    Args:
        merge: The decomposition.
        partial: One of its partials.
        query: Spark's plan of the partial's query, simplified.
        combine: The same of its combination.
        streams: Names of the sources that change, lower case.
    """
    if query.kind != "Aggregate" or combine.kind != "Aggregate":
        yield f"{query.kind} and {combine.kind} where groups are expected"
        return
    yield from _sums(merge, products(query.children[0], streams))
    inner = [plan for each in query.expressions() for plan in subqueries(each)]
    asked = {name for plan in inner for name in mentioned(plan, streams)}
    if asked:
        yield f"looks at {', '.join(sorted(asked))} in a subquery"
    keys = len(query.trees("groupingExpressions"))
    table = combine.children[0]
    if table.kind != "View" or table.text("desc").lower() != partial.name.lower():
        yield f"states are merged from {table.kind} {table.text('desc')}"
        return
    by = [each.number for each in combine.trees("groupingExpressions")]
    if by != [each.number for each in output(table)[: len(partial.keys)]] or keys != len(by):
        yield f"the states' groups are not told by {', '.join(partial.keys)}"
    for state, merged in zip(output(query)[keys:], output(combine)[keys:], strict=True):
        made, wanted = _kinds(state), _MERGES.get(_kinds(state))
        if wanted is None or _kinds(merged) != wanted:
            yield f"{_said(made)} merged by {_said(_kinds(merged))}"
        if any(each.kind == "AggregateExpression" and each.fields.get("isDistinct")
               for each in _own(state)):  # fmt: skip
            yield f"{_said(made)} of distinct values does not add up"


def _sums(merge: Decomposition, found: list[frozenset[str]] | NotLinear) -> Iterator[str]:
    """What keeps the states of changes from adding up."""
    if isinstance(found, NotLinear):
        yield f"below its groups, {found.kind} {found.what}"
        return
    sets = {", ".join(sorted(each)) or "static tables alone": each for each in found}
    if merge.linearity == "joint":
        right = all(len(each) == 1 for each in found)
    else:
        right = len(sets) == 1 and all(found)
    if not right:
        yield f"rows come from {'; '.join(sorted(sets))}, which do not add up ({merge.linearity})"


def _kinds(column: Tree) -> tuple[str, ...]:
    """The kinds of the aggregates in a column, each once."""
    found = {e.children[0].kind for e in _own(column) if e.kind == "AggregateExpression"}
    return tuple(sorted(found))


def _own(expression: Tree) -> Iterator[Tree]:
    """What an expression consists of, without the queries in it."""
    yield expression
    if expression.tree("plan") is None:
        for each in (*expression.children, *expression.expressions()):
            yield from _own(each)


def _said(kinds: tuple[str, ...]) -> str:
    return " with ".join(kinds) or "no aggregate"


def _rewritten(
    query: Tree, streams: Collection[str], final: Tree, states: Sequence[str]
) -> list[Difference]:
    """What the final query over its states has otherwise than the user's query."""
    changing = {*streams, *states}
    wanted, made = ingredients(query, (), changing), ingredients(final, states, changing)
    found = []
    for column, theirs, ours in zip(output(query), wanted.shown, made.shown, strict=False):
        if not same_origin(theirs, ours):
            fact = f"the column {column.text('name')}, put together from states"
            found.append(Difference(fact, f"comes from {_listed(ours)}", f"from {_listed(theirs)}"))
    for key in () if found else wanted.keys:  # one that is shown has been told of
        if key and not any(same_origin(key, each) for each in made.keys):
            fact = f"none comes from {_listed(key)}"
            found.append(Difference("the keys of groups", fact, "one does"))
    ours_alone, theirs_alone = sorted(made.parts - wanted.parts), sorted(wanted.parts - made.parts)
    if ours_alone or theirs_alone:
        fact = "the query put together from states"
        found.append(Difference(fact, f"has {_listed(ours_alone)}", f"has {_listed(theirs_alone)}"))
    return found


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(sorted(parts)) or "nothing of that kind"


def grouped(shown: Mapping[str, str], name: str, final: Tree) -> list[Difference]:
    """Whether every row of the final query is a function of the group whose keys it shows."""
    found = []
    for wanted, key in shown.items():
        at = _named(final, wanted)
        fact = f"the groups that a change touches, told by {wanted}"
        if at is None:
            found.append(Difference(fact, f"the column {wanted}", "there is none"))
            continue
        mine = Reader({name: key.lower()}).read(final).span(name, at)
        if mine is not None and mine != SAME:
            found.append(
                Difference(fact, "a row looks at its own group", "at other groups as well")
            )
    return found


def _named(query: Tree, name: str) -> Attribute | None:
    held = [each for each in output(query) if each.text("name").lower() == name.lower()]
    return Attribute(held[0].number) if len(held) == 1 else None


def _words(span: Span) -> str:
    if not span.bounded:
        return "rows of any time"
    return f"rows from {_moved(span.lo)} to {_moved(span.hi)} of it"


def _moved(by_us: float) -> str:
    return f"{'-' if by_us < 0 else '+'}{duration(abs(int(by_us)))}" if by_us else "0 s"
