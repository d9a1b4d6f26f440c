"""Models whose SQL depends on the compile: on the database's answers, the clock, chance.

dbt does not record what a template asked. What it can ask is in its code and in the macros that it
can call, so every model that could have asked counts as one that did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from freshline.importing.dbt.context import Kind
from freshline.importing.dbt.hooks import hook_texts
from freshline.importing.dbt.jinja import Template, read_template
from freshline.importing.dbt.macros import BY_FULL_REFRESH, OWN_PACKAGES, Macros, package_of
from freshline.importing.dbt.readings import kinds_in


@dataclass(frozen=True, slots=True)
class Dependences:
    """What the SQL of a model depends on, besides the project's files.

    Attributes:
        words: The first name of each kind, with the macro it is in.
        given: All names of kind GIVEN, in the project's and its packages' code.
    """

    words: Mapping[Kind, str]
    given: tuple[str, ...]


def dependences(node: Mapping[str, Any], macros: Macros) -> Dependences:
    """What the compiled SQL of the model depends on."""
    words: dict[Kind, str] = {}
    given: dict[str, None] = {}
    own = read_template(str(node.get("raw_code") or ""))
    reached = _reached(node, own, macros)
    for kind, word, where in _kinds(own, reached, macros):
        place = f" in {where}" if where else ""
        words.setdefault(kind, f"{word}{place}")
        if kind is Kind.GIVEN and package_of(where) not in OWN_PACKAGES:
            given.setdefault(word)
    if reached & BY_FULL_REFRESH:
        words.setdefault(Kind.FULL_REFRESH, "is_incremental")
    return Dependences(words, tuple(given))


def _reached(node: Mapping[str, Any], own: Template, macros: Macros) -> set[str]:
    """The macros that its SQL can call; dbt lists those of its hooks with them."""
    called = macros.called_by(own)
    of_hooks = set[str]()
    for _, text in hook_texts(node):
        of_hooks |= macros.called_by(read_template(text))
    return macros.reached(called | (macros.listed(node) - of_hooks))


def _kinds(own: Template, reached: set[str], macros: Macros) -> Iterator[tuple[Kind, str, str]]:
    """Kind, word and macro of all that is read: the model's own, packages', dbt's."""
    yield from ((*each, "") for each in kinds_in(own, macros))
    for key in sorted(
        reached - BY_FULL_REFRESH, key=lambda each: (package_of(each) in OWN_PACKAGES, each)
    ):
        yield from ((*each, key) for each in kinds_in(macros.template(key), macros))
