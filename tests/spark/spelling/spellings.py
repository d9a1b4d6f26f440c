"""The same query in other words: each function writes one thing in another way that SQL has for it.

All work on the words of a text (:mod:`tests.spark.spelling.words`), none on a syntax tree.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection

from tests.spark.spelling.words import (
    RESERVED,
    SET_WORDS,
    Block,
    blocks,
    closing,
    cut,
    factors,
    flat,
    is_name,
    is_word,
    item,
    split,
    text,
)

Tokens = list[str]
Spelling = Callable[[Tokens, random.Random], Tokens]

_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "year")
_AGGREGATES_TEXT = """
    count sum avg mean min max any some every bool_and bool_or count_if stddev stddev_samp
    std stddev_pop variance var_samp var_pop percentile percentile_approx max_by min_by
    bit_and bit_or bit_xor collect_set array_agg approx_count_distinct median mode grouping
    grouping_id
"""
_AGGREGATES = frozenset(_AGGREGATES_TEXT.split())


def words(change: Callable[[str], str]) -> Spelling:
    def spelled(tokens: Tokens, chance: random.Random) -> Tokens:
        return [change(each) if is_word(each) else each for each in tokens]

    return spelled


def mixed_case(tokens: Tokens, chance: random.Random) -> Tokens:
    """Every word in letters of any case, the same at all its places: windows' names need it."""
    mixed = {
        word.lower(): "".join(chance.choice((each.lower(), each.upper())) for each in word)
        for word in tokens
        if is_word(word) and word.isascii()
    }
    return [mixed.get(word.lower(), word) if is_word(word) else word for word in tokens]


def units_in_capitals(tokens: Tokens, chance: random.Random) -> Tokens:
    return _strings(tokens, str.upper)


def units_in_small_letters(tokens: Tokens, chance: random.Random) -> Tokens:
    return _strings(tokens, str.lower)


def _strings(tokens: Tokens, change: Callable[[str], str]) -> Tokens:
    """Units of time in strings: of date_trunc and trunc, and lengths of windows."""
    found = list(tokens)
    for at, word in enumerate(tokens):
        if word.lower() in {"date_trunc", "window", "session_window"} and tokens[at + 1 :][:1] == [
            "("
        ]:
            for inner in flat(tokens, at + 2, closing(tokens, at + 1)):
                if tokens[inner][0] in "'\"":
                    found[inner] = change(tokens[inner])
    return found


def double_quotes(tokens: Tokens, chance: random.Random) -> Tokens:
    """Strings in the other quotes, where nothing in them needs escaping."""
    plain = re.compile(r"'[^'\"\\$]*'")
    return [f'"{each[1:-1]}"' if plain.fullmatch(each) else each for each in tokens]


def in_backticks(names: Collection[str]) -> Spelling:
    """Names of tables and columns quoted, wherever they can be nothing else."""

    def spelled(tokens: Tokens, chance: random.Random) -> Tokens:
        found = []
        for at, word in enumerate(tokens):
            before = tokens[at - 1].lower() if at else ""
            after = tokens[at + 1] if at + 1 < len(tokens) else ""
            called = after == "(" or after[:1] in {"'", '"'}
            unit = word.lower().rstrip("s") in _UNITS and (
                before[:1].isdigit() or before[:1] in {"'", '"', ")"} or "interval" in before
            )
            typed = before in {"as", "::"} and word.lower() in {"date", "timestamp", "int"}
            known = word.lower() in names or before == "." or after == "."
            plain = is_word(word) and known and word.lower() not in RESERVED
            found.append(f"`{word}`" if plain and not (called or unit or typed) else word)
        return found

    return spelled


def aliases_without_as(tokens: Tokens, chance: random.Random) -> Tokens:
    drop = set()
    for block in blocks(tokens):
        for start, end in split(tokens, *block.body("select")):
            expression, alias = item(tokens, start, end)
            if alias is None or "interval" in {word.lower() for word in expression}:
                continue
            if is_name(alias) and alias.lower().rstrip("s") not in _UNITS:
                drop.add(end - 2)
        drop |= {each.end for each in factors(tokens, block) if each.has_as}
    return [word for at, word in enumerate(tokens) if at not in drop]


def aliases_with_as(tokens: Tokens, chance: random.Random) -> Tokens:
    ends = {
        each.end
        for block in blocks(tokens)
        for each in factors(tokens, block)
        if each.alias is not None and not each.has_as
    }
    return [each for at, word in enumerate(tokens) for each in (["AS"] * (at in ends)) + [word]]


def _groups(tokens: Tokens, block: Block) -> list[Tokens] | None:
    """A plain GROUP BY's keys; None: there is none, or it has sets of them."""
    if "group" not in block.clauses:
        return None
    start, end = block.body("group")
    words = {word.lower() for word in tokens[start:end]}
    if words & {"rollup", "cube", "grouping", "sets", "with", "all"}:
        return None
    return [tokens[first:last] for first, last in split(tokens, start, end)]


def _outputs(tokens: Tokens, block: Block) -> list[tuple[Tokens, str | None]]:
    return [item(tokens, *each) for each in split(tokens, *block.body("select"))]


def _regrouped(
    tokens: Tokens, wanted: Callable[[list[Tokens], list[tuple[Tokens, str | None]]], Tokens | None]
) -> Tokens:
    for number in reversed(range(len(blocks(tokens)))):
        block = blocks(tokens)[number]  # an inner one may have become shorter
        keys = _groups(tokens, block)
        if keys is None or any(each[0][-1:] == ["*"] for each in _outputs(tokens, block)):
            continue
        keys = wanted(keys, _outputs(tokens, block))  # type: ignore[assignment]
        if keys is not None:
            start, end = block.body("group")
            tokens = [*tokens[:start], *keys, *tokens[end:]]  # type: ignore[list-item]
    return tokens


def groups_by_place(tokens: Tokens, chance: random.Random) -> Tokens:
    def wanted(keys: list[Tokens], outputs: list[tuple[Tokens, str | None]]) -> Tokens:
        expressions = [each for each, _ in outputs]
        places = [[str(expressions.index(key) + 1)] if key in expressions else key for key in keys]
        return cut(" , ".join(map(text, places)))

    return _regrouped(tokens, wanted)


def groups_by_expression(tokens: Tokens, chance: random.Random) -> Tokens:
    def wanted(keys: list[Tokens], outputs: list[tuple[Tokens, str | None]]) -> Tokens:
        written = [
            outputs[int(key[0]) - 1][0] if len(key) == 1 and key[0].isdigit() else key
            for key in keys
        ]
        return cut(" , ".join(map(text, written)))

    return _regrouped(tokens, wanted)


def groups_by_all(tokens: Tokens, chance: random.Random) -> Tokens:
    def wanted(keys: list[Tokens], outputs: list[tuple[Tokens, str | None]]) -> Tokens | None:
        written = [
            outputs[int(key[0]) - 1][0] if len(key) == 1 and key[0].isdigit() else key
            for key in keys
        ]
        others = [each for each, _ in outputs if each not in written]
        shown = [each for each, _ in outputs if each in written]
        aggregates = all(_AGGREGATES & {word.lower() for word in each} for each in others)
        nested = any({"over", "select"} & {word.lower() for word in each} for each in others)
        constants = any(not any(map(is_name, each)) for each in shown)
        every = all(key in shown for key in written) and not constants
        return ["ALL"] if every and aggregates and not nested else None

    return _regrouped(tokens, wanted)


def long_joins(tokens: Tokens, chance: random.Random) -> Tokens:
    found: Tokens = []
    for word in tokens:
        if word.lower() == "join":
            before = found[-1].lower() if found else ""
            if before in {"left", "right", "full"}:
                found.append("OUTER")
            elif before not in {"inner", "outer", "cross", "semi", "anti", "natural"}:
                found.append("INNER")
        found.append(word)
    return found


def short_joins(tokens: Tokens, chance: random.Random) -> Tokens:
    return [
        word
        for at, word in enumerate(tokens)
        if not (word.lower() in {"inner", "outer"} and tokens[at + 1].lower() == "join")
    ]


def implicit_joins(tokens: Tokens, chance: random.Random) -> Tokens:
    """Inner joins as a list of tables and a WHERE."""
    for block in reversed(blocks(tokens)):
        start, end = block.body("from")
        words = [tokens[at].lower() for at in flat(tokens, start, end)]
        kinds = {
            "left",
            "right",
            "full",
            "cross",
            "natural",
            "using",
            "lateral",
            "semi",
            "anti",
            ",",
        }
        if (
            "join" not in words
            or {*kinds, ","} & set(words)
            or words.count("join") != words.count("on")
        ):
            continue
        joined = [
            (first, last - 1 if tokens[last - 1].lower() == "inner" else last)
            for first, last in split(tokens, start, end, "join")
        ]
        tables, conditions = [], []
        for first, last in joined:
            parts = split(tokens, first, last, "on")
            tables.append(tokens[slice(*parts[0])])
            conditions += [tokens[slice(*each)] for each in parts[1:]]
        where = list(block.body("where"))
        if "where" in block.clauses:
            conditions.append(tokens[slice(*where)])
        after = block.body("where")[1] if "where" in block.clauses else end
        both = [*cut(" , ".join(map(text, tables))), "WHERE"]
        both += cut(" AND ".join(f"( {text(each)} )" for each in conditions))
        tokens = [*tokens[:start], *both, *tokens[after:]]
    return tokens


def cross_joins(tokens: Tokens, chance: random.Random) -> Tokens:
    """A list of tables as cross joins."""
    for block in reversed(blocks(tokens)):
        start, end = block.body("from")
        for at in reversed(list(flat(tokens, start, end))):
            if tokens[at] == "," and tokens[at + 1].lower() != "lateral":
                tokens = [*tokens[:at], "CROSS", "JOIN", *tokens[at + 1 :]]
    return tokens


def operators(tokens: Tokens, chance: random.Random) -> Tokens:
    """Other spellings of operators, and words that change nothing."""
    found: Tokens = []
    for at, word in enumerate(tokens):
        after = tokens[at + 1].lower() if at + 1 < len(tokens) else ""
        small = word.lower()
        if word == "<>":
            found.append("!=")
        elif word == "=":
            found.append("==")
        elif word == "<=>":
            found += ["IS", "NOT", "DISTINCT", "FROM"]
        elif small in SET_WORDS and after not in {"all", "distinct"}:
            found += ["EXCEPT" if small == "minus" else word, "DISTINCT"]
        elif small == "count" and tokens[at + 1 : at + 4] == ["(", "*", ")"]:
            found.append(word)
        elif word == "*" and [each.lower() for each in tokens[at - 2 : at]] == ["count", "("]:
            found.append("1")
        else:
            found.append(word)
    return found


def turned_comparisons(tokens: Tokens, chance: random.Random) -> Tokens:
    """``a < b`` as ``b > a``, where both are names or literals."""
    other = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
    found, at = list(tokens), 0
    edges = {"and", "or", "where", "on", "(", ")", "group", "having", "order", "when", "then"}
    while at < len(found):
        if found[at] in other:
            left, right = _name_before(found, at), _name_behind(found, at)
            behind = found[right].lower() if right < len(found) else ")"
            before = found[left - 1].lower() if left else "("
            if left < at and right > at + 1 and behind in edges and before in edges - {")"}:
                turned = [*found[at + 1 : right], other[found[at]], *found[left:at]]
                found[left:right] = turned
                at = right
        at += 1
    return found


def _name_before(tokens: Tokens, at: int) -> int:
    """Where a dotted name begins that ends before ``at``."""
    while at >= 1 and is_name(tokens[at - 1]):
        at -= 1
        if at < 2 or tokens[at - 1] != ".":
            return at
        at -= 1
    return at


def _name_behind(tokens: Tokens, at: int) -> int:
    """Behind the dotted name or literal that follows ``at``."""
    at += 1
    if at < len(tokens) and (tokens[at][0].isdigit() or tokens[at][0] in {"'", '"'}):
        return at + 1
    while at < len(tokens) and is_name(tokens[at]):
        at += 1
        if at >= len(tokens) or tokens[at] != ".":
            return at
        at += 1
    return at


def _operand_start(tokens: Tokens, at: int) -> int:
    """Where the operand begins that ends before ``at``."""
    edges = {
        "and",
        "or",
        "not",
        "on",
        "where",
        "when",
        "having",
        "(",
        ",",
        "select",
        "qualify",
        "then",
    }
    depth = 0
    while at > 0:
        word = tokens[at - 1].lower()
        depth += {")": 1, "(": -1}.get(word, 0)
        if depth < 0 or (depth == 0 and word in edges and word != "("):
            return at
        at -= 1
    return at


def _operand_end(tokens: Tokens, at: int, edges: Collection[str]) -> int:
    for inner in flat(tokens, at, len(tokens)):
        if tokens[inner].lower() in edges:
            return inner
    return len(tokens)


_BEHIND_TEXT = """
    and or ) , group having order limit then else end as union except intersect minus where
    left right full inner cross join qualify window lateral is when
"""
_BEHIND = frozenset(_BEHIND_TEXT.split())


def between_as_comparisons(tokens: Tokens, chance: random.Random) -> Tokens:
    at = 0
    while at < len(tokens):
        frame = tokens[at - 1].lower() in {"range", "rows"}
        if tokens[at].lower() == "between" and not frame:
            negated = tokens[at - 1].lower() == "not"
            start = _operand_start(tokens, at - negated)
            middle = _operand_end(tokens, at + 1, {"and"})
            end = _operand_end(tokens, middle + 1, _BEHIND)
            operand = tokens[start : at - negated]
            low, high = tokens[at + 1 : middle], tokens[middle + 1 : end]
            both = ["(", *operand, ">=", *low, "AND", *operand, "<=", *high, ")"]
            tokens = [*tokens[:start], *(["NOT"] * negated), *both, *tokens[end:]]
            at = start
        at += 1
    return tokens


def in_as_or(tokens: Tokens, chance: random.Random) -> Tokens:
    at = 0
    while at < len(tokens):
        if tokens[at].lower() == "in" and tokens[at + 1] == "(" and tokens[at - 1] != ")":
            end = closing(tokens, at + 1)
            listed = [tokens[slice(*each)] for each in split(tokens, at + 2, end)]
            start = _operand_start(tokens, at)
            negated = tokens[at - 1].lower() == "not"
            if all(len(each) == 1 and not is_word(each[0]) for each in listed) and not negated:
                operand = tokens[start:at]
                either = cut(" OR ".join(f"{text(operand)} = {each[0]}" for each in listed))
                tokens = [*tokens[:start], "(", *either, ")", *tokens[end + 1 :]]
                at = start
        at += 1
    return tokens


def casts_with_colons(tokens: Tokens, chance: random.Random) -> Tokens:
    at = 0
    while at < len(tokens):
        if tokens[at].lower() == "cast" and tokens[at + 1] == "(":
            end = closing(tokens, at + 1)
            (inner, kind) = split(tokens, at + 2, end, "as")
            cast = ["(", *tokens[slice(*inner)], ")", "::", *tokens[slice(*kind)]]
            tokens = [*tokens[:at], "(", *cast, ")", *tokens[end + 1 :]]
        at += 1
    return tokens


def intervals_in_strings(tokens: Tokens, chance: random.Random) -> Tokens:
    """``INTERVAL 10 MINUTES`` as ``INTERVAL '10' MINUTE``, and as ``INTERVAL '10 minutes'``."""
    found, at = [], 0
    while at < len(tokens):
        if tokens[at].lower() == "interval" and tokens[at + 1].isdigit():
            number, unit = tokens[at + 1], tokens[at + 2]
            more = at + 3 < len(tokens) and tokens[at + 3].isdigit()
            single = unit.lower().rstrip("s") not in {"week", "millisecond", "microsecond"}
            if more:
                found.append(tokens[at])
            elif chance.random() < 0.5 and single:
                found += ["INTERVAL", f"'{number}'", unit.rstrip("sS")]
                at += 2
            else:
                found += ["INTERVAL", f"'{number} {unit.lower()}'"]
                at += 2
        else:
            found.append(tokens[at])
        at += 1
    return found


def frames_in_short(tokens: Tokens, chance: random.Random) -> Tokens:
    """``RANGE BETWEEN x PRECEDING AND CURRENT ROW`` as ``RANGE x PRECEDING``."""
    at = 0
    while at < len(tokens):
        if tokens[at].lower() == "between" and tokens[at - 1].lower() in {"range", "rows"}:
            middle = _operand_end(tokens, at + 1, {"and"})
            end = _operand_end(tokens, middle + 1, {")"})
            upper = [word.lower() for word in tokens[middle + 1 : end]]
            if upper == ["current", "row"] and tokens[middle - 1].lower() == "preceding":
                tokens = [*tokens[:at], *tokens[at + 1 : middle], *tokens[end:]]
        at += 1
    return tokens


def ascending(tokens: Tokens, chance: random.Random) -> Tokens:
    """ASC where no direction is said, in a window's or a query's ORDER BY of plain names."""
    found: Tokens = []
    orders = False
    for at, word in enumerate(tokens):
        small = word.lower()
        after = tokens[at + 1].lower() if at + 1 < len(tokens) else ")"
        found.append(word)
        if small == "order" and after == "by":
            orders = True
        elif small in {"range", "rows", "limit", ")", "(", "offset"}:
            orders = False
        elif orders and is_name(word) and after in {",", ")", "range", "rows", "limit", "offset"}:
            found.append("ASC")
    return found
