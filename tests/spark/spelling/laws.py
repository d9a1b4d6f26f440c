"""All spellings by name, and a query in some of them."""

from __future__ import annotations

import random
from collections.abc import Mapping

from tests.spark.spelling import shapes, spellings
from tests.spark.spelling.spellings import Spelling
from tests.spark.spelling.words import cut, text

Columns = Mapping[str, Mapping[str, str]]
_TWO_WORDS = {"partition", "order", "group", "grouping"}
_GAPS = ("\n", "\t", " /* FROM x -- */ ", " -- 'WHERE\n", "\r\n  ", " /* a /* b */ c */ ")


def _as_it_is(tokens: list[str], chance: random.Random) -> list[str]:
    return tokens


def _commented_group(tokens: list[str], chance: random.Random) -> list[str]:
    return [
        f"{word} /* a key */" if word.lower() == "group" and after.lower() == "by" else word
        for word, after in zip(tokens, [*tokens[1:], ""], strict=True)
    ]


def all_spellings(columns: Columns) -> dict[str, Spelling]:
    """Every spelling; ``columns`` are those of each table, with their types."""
    names = {name for table in columns.values() for name in table} | set(columns)
    return {
        "capitals": spellings.words(str.upper),
        "small letters": spellings.words(str.lower),
        "mixed case": spellings.mixed_case,
        "units in capitals": spellings.units_in_capitals,
        "units in small letters": spellings.units_in_small_letters,
        "double quotes": spellings.double_quotes,
        "backticks": spellings.in_backticks(names),
        "aliases without AS": spellings.aliases_without_as,
        "aliases with AS": spellings.aliases_with_as,
        "groups by place": spellings.groups_by_place,
        "groups by expression": spellings.groups_by_expression,
        "groups by ALL": spellings.groups_by_all,
        "long joins": spellings.long_joins,
        "short joins": spellings.short_joins,
        "implicit joins": spellings.implicit_joins,
        "cross joins": spellings.cross_joins,
        "operators": spellings.operators,
        "turned comparisons": spellings.turned_comparisons,
        "BETWEEN as comparisons": spellings.between_as_comparisons,
        "IN as OR": spellings.in_as_or,
        "casts with colons": spellings.casts_with_colons,
        "intervals in strings": spellings.intervals_in_strings,
        "frames in short": spellings.frames_in_short,
        "ascending": spellings.ascending,
        "joins with USING": shapes.joins_with_using,
        "USING as ON": shapes.using_as_on,
        "qualified names": shapes.qualified_names(columns),
        "bare names": shapes.bare_names,
        "subqueries as CTEs": shapes.subqueries_as_ctes(columns),
        "CTEs as subqueries": shapes.ctes_as_subqueries,
        "within a query": shapes.within_a_query,
        "as a WITH query": shapes.as_a_with_query,
        "in parentheses": shapes.in_parentheses,
        "windows by name": shapes.windows_by_name,
        "windows in place": shapes.windows_in_place,
        "set operands in parentheses": shapes.set_operands_in_parentheses,
        "comments": _as_it_is,
        "comment within GROUP BY": _commented_group,
    }


def spelled(query: str, names: list[str], columns: Columns, seed: int = 0) -> str:
    """A query in these spellings, one after the other."""
    chance, known = random.Random(seed), all_spellings(columns)
    tokens = cut(query)
    for name in names:
        tokens = known[name](tokens, chance)
    if "comments" in names:
        gaps = [" " if each.lower() in _TWO_WORDS else chance.choice(_GAPS) for each in tokens]
        return "".join(each + gap for each, gap in zip(tokens, gaps, strict=True))
    return text(tokens)
