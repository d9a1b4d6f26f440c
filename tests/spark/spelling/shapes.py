"""The same query put together in another way: its tables, subqueries and windows."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping

from tests.spark.spelling.spellings import Spelling, Tokens
from tests.spark.spelling.words import (
    Block,
    blocks,
    closing,
    cut,
    factors,
    flat,
    is_name,
    split,
    text,
)


def _lower(tokens: Tokens) -> list[str]:
    return [word.lower() for word in tokens]


def _stars(tokens: Tokens) -> bool:
    """Whether columns are selected that are not named."""
    starts = [at for at, word in enumerate(tokens) if word == "*"]
    return any(
        tokens[at - 1].lower() in {"select", ",", ".", "distinct"}
        and tokens[max(0, at - 2)].lower() != "count"
        for at in starts
    )


def joins_with_using(tokens: Tokens, chance: random.Random) -> Tokens:
    """``ON a.k = b.k`` as ``USING (k)``, of inner and left joins of two tables without stars."""
    for block in reversed(blocks(tokens)):
        start, end = block.body("from")
        words = _lower(tokens[start:end])
        if words.count("join") != 1 or {"right", "full", ","} & set(words):
            continue
        if _stars(tokens[block.start : block.end]):
            continue
        on = [at for at in flat(tokens, start, end) if tokens[at].lower() == "on"]
        if len(on) == 1 and end - on[0] == 8:
            one, other = tokens[on[0] + 1 : on[0] + 4], tokens[on[0] + 5 : end]
            equal = tokens[on[0] + 4] in {"=", "=="} and one[1] == other[1] == "."
            aliases = {(each.alias or "").lower() for each in factors(tokens, block)}
            both = {one[0].lower(), other[0].lower()} == aliases
            if equal and both and one[2].lower() == other[2].lower():
                using = ["USING", "(", one[2], ")"]
                tokens = [*tokens[: on[0]], *using, *tokens[end:]]
    return tokens


def using_as_on(tokens: Tokens, chance: random.Random) -> Tokens:
    """``USING (k)`` as ``ON a.k = b.k`` and each bare k as a.k, of inner and left joins of two."""
    for block in reversed(blocks(tokens)):
        start, end = block.body("from")
        words = _lower(tokens[start:end])
        using = [at for at in flat(tokens, start, end) if tokens[at].lower() == "using"]
        if len(using) != 1 or words.count("join") != 1 or {"right", "full", ","} & set(words):
            continue
        inside = tokens[block.start : block.end]
        keys = tokens[using[0] + 2 : closing(tokens, using[0] + 1)]
        named = factors(tokens, block)
        if (
            _stars(inside)
            or len(keys) != 1
            or len(named) != 2
            or _lower(inside).count("select") > 1
        ):
            continue
        left, right = (each.alias or tokens[each.end - 1] for each in named)
        if ")" in {left, right}:
            continue
        key = keys[0]
        behind = closing(tokens, using[0] + 1) + 1
        condition = ["ON", left, ".", key, "=", right, ".", key]
        rest = [
            _qualified(tokens, at, {key.lower()}, left, block.start)
            for at in range(block.start, block.end)
        ]
        first, last = using[0] - block.start, behind - block.start
        written = [word for part in [*rest[:first], condition, *rest[last:]] for word in part]
        tokens = [*tokens[: block.start], *written, *tokens[block.end :]]
    return tokens


def _qualified(tokens: Tokens, at: int, names: Collection[str], by: str, start: int) -> list[str]:
    """A word with the table's name before it where it is one of its columns."""
    word = tokens[at]
    before = tokens[at - 1].lower() if at > start else ""
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    unit = before[:1].isdigit() or before[:1] in {"'", '"'} or before == "interval"
    called = after in {"(", "."} or after[:1] in {"'", '"'}
    if word.strip("`").lower() in names and not (
        called or unit or before in {".", "as", "::"} or after == "->"
    ):
        return [by, ".", word]
    return [word]


def qualified_names(columns: Mapping[str, Collection[str]]) -> Spelling:
    """Columns with their table's name, where a SELECT reads one table and holds no other."""

    def spelled(tokens: Tokens, chance: random.Random) -> Tokens:
        for block in reversed(blocks(tokens)):
            if not _alone(tokens, block):
                continue
            (factor,) = factors(tokens, block)
            table = tokens[factor.end - 1].strip("`").lower()
            if table not in columns or {"lateral", "->"} & set(tokens[block.start : block.end]):
                continue
            by = factor.alias or tokens[factor.end - 1]
            limits = set()
            for name in ("order", "having", "group", "qualify"):
                # An alias goes before a column there, and what is aliased is not to be touched.
                limits |= set(range(*block.body(name))) if name in block.clauses else set()
            aliases = {
                tokens[end - 1].strip("`").lower()
                for _, end in split(tokens, *block.body("select"))
            }
            written: Tokens = []
            for at in range(block.start, block.end):
                names = set(columns[table]) - (aliases if at in limits else set())
                source = factor.start <= at <= factor.end + 1 and at >= block.body("from")[0]
                part = [tokens[at]] if source else _qualified(tokens, at, names, by, block.start)
                written += part
            tokens = [*tokens[: block.start], *written, *tokens[block.end :]]
        return tokens

    return spelled


def _alone(tokens: Tokens, block: Block) -> bool:
    """Whether a SELECT reads one named table and has no query in it."""
    inside = _lower(tokens[block.start : block.end])
    start, end = block.body("from")
    plain = inside.count("select") == 1 and start < end and tokens[start] != "("
    joins = {"join", ",", "lateral", "view", "tablesample", "("} & set(_lower(tokens[start:end]))
    return plain and not joins and len(factors(tokens, block)) == 1


def bare_names(tokens: Tokens, chance: random.Random) -> Tokens:
    """Columns without their table's name, where a query is one SELECT of one table."""
    found = blocks(tokens)
    if len(found) != 1 or not _alone(tokens, found[0]):
        return tokens
    (factor,) = factors(tokens, found[0])
    by = (factor.alias or tokens[factor.end - 1]).lower()
    drop = set()
    for at in range(len(tokens) - 2):
        if tokens[at].lower() == by and tokens[at + 1] == "." and is_name(tokens[at + 2]):
            drop |= {at, at + 1}
    return [word for at, word in enumerate(tokens) if at not in drop]


def subqueries_as_ctes(tables: Collection[str]) -> Spelling:
    """The outermost SELECT's derived tables as WITH queries, under their own names."""

    def spelled(tokens: Tokens, chance: random.Random) -> Tokens:
        if tokens[0].lower() != "select":
            return tokens
        outer = blocks(tokens)[0]
        used = set(tables)
        hoisted: list[Tokens] = []
        for factor in reversed(factors(tokens, outer)):
            query = tokens[factor.start + 1 : factor.end - 1]
            name = (factor.alias or "derived").lower()
            lateral = tokens[factor.start - 1].lower() == "lateral"
            if tokens[factor.start] != "(" or query[0].lower() != "select" or name in used | {""}:
                continue
            if lateral or (factor.alias is None and len(factors(tokens, outer)) > 1):
                continue
            used.add(name)
            hoisted.insert(0, [factor.alias or "derived", "AS", "(", *query, ")"])
            alias = factor.alias or "derived"
            behind = factor.end + factor.has_as + (factor.alias is not None)
            tokens = [*tokens[: factor.start], alias, *tokens[behind:]]
        if not hoisted:
            return tokens
        return ["WITH", *cut(" , ".join(map(text, hoisted))), *tokens]

    return spelled


def ctes_as_subqueries(tokens: Tokens, chance: random.Random) -> Tokens:
    """WITH queries in the place of their names, the last first."""
    while tokens[0].lower() == "with" and tokens[2].lower() == "as" and tokens[3] == "(":
        queries, at = [], 1
        while True:
            end = closing(tokens, at + 2)
            queries.append((at, tokens[at].lower(), tokens[at + 3 : end]))
            if tokens[end + 1] != ",":
                break
            at = end + 2
        at, name, query = queries[-1]
        rest = tokens[end + 1 :]
        written: Tokens = []
        uses = {
            factor.start: factor
            for block in blocks(rest)
            for factor in factors(rest, block)
            if factor.end == factor.start + 1 and rest[factor.start].lower() == name
        }
        for index, word in enumerate(rest):
            if index in uses:
                alias = [] if uses[index].alias else ["AS", name]
                written += ["(", *query, ")", *alias]
            else:
                written.append(word)
        head = tokens[: at - 1] if len(queries) > 1 else []
        tokens = [*head, *written]
    return tokens


def within_a_query(tokens: Tokens, chance: random.Random) -> Tokens:
    return ["SELECT", "*", "FROM", "(", *tokens, ")", "AS", "whole"]


def as_a_with_query(tokens: Tokens, chance: random.Random) -> Tokens:
    return ["WITH", "whole", "AS", "(", *tokens, ")", "SELECT", "*", "FROM", "whole"]


def in_parentheses(tokens: Tokens, chance: random.Random) -> Tokens:
    return ["(", *tokens, ")"]


def windows_by_name(tokens: Tokens, chance: random.Random) -> Tokens:
    """``OVER (...)`` as ``OVER w`` and a WINDOW clause."""
    for block in reversed(blocks(tokens)):
        if "window" in block.clauses:
            continue
        ends = [block.clauses[name][0] for name in ("order", "limit", "offset", "qualify")
                if name in block.clauses]  # fmt: skip
        if "qualify" in block.clauses or "group" in block.clauses:
            continue
        end = min([*ends, block.end])
        named: list[Tokens] = []
        overs = [
            at
            for at in range(block.start, end)
            if tokens[at].lower() == "over" and tokens[at + 1] == "("
        ]
        inner = [each for each in blocks(tokens) if block.start < each.start < block.end]
        overs = [at for at in overs if not any(each.start <= at < each.end for each in inner)]
        start = block.start
        head = tokens[start:end]
        for number, at in reversed(list(enumerate(overs))):
            last = closing(tokens, at + 1)
            name = f"over{number}"
            named.insert(0, [name, "AS", *tokens[at + 1 : last + 1]])
            head[at + 1 - start : last + 1 - start] = [name]
        if named:
            clause = ["WINDOW", *cut(" , ".join(map(text, named)))]
            tokens = [*tokens[:start], *head, *clause, *tokens[end:]]
    return tokens


def windows_in_place(tokens: Tokens, chance: random.Random) -> Tokens:
    """``OVER w`` as what the WINDOW clause says."""
    for block in reversed(blocks(tokens)):
        if "window" not in block.clauses:
            continue
        at, start, end = block.clauses["window"]
        said = {
            tokens[first].lower(): tokens[first + 2 : last]
            for first, last in split(tokens, start, end)
        }
        written: Tokens = []
        for index in range(block.start, at):
            word = tokens[index]
            over = tokens[index - 1].lower() == "over" and word.lower() in said
            written += said[word.lower()] if over else [word]
        tokens = [*tokens[: block.start], *written, *tokens[end:]]
    return tokens


def set_operands_in_parentheses(tokens: Tokens, chance: random.Random) -> Tokens:
    """``a UNION b`` as ``(a) UNION (b)``, of two SELECTs that are the whole query."""
    sets = [
        at
        for at in flat(tokens, 0, len(tokens))
        if tokens[at].lower() in {"union", "except", "intersect", "minus"}
    ]
    if len(sets) != 1 or tokens[0].lower() != "select":
        return tokens
    if {"order", "limit"} & {tokens[at].lower() for at in flat(tokens, sets[0], len(tokens))}:
        return tokens
    behind = sets[0] + 1 + (tokens[sets[0] + 1].lower() in {"all", "distinct"})
    left, word, right = tokens[: sets[0]], tokens[sets[0] : behind], tokens[behind:]
    return ["(", *left, ")", *word, "(", *right, ")"]
