"""What of a model's template is only in its incremental runs, and what that asks of its table."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import TemplateSyntaxError, nodes

from freshline.importing.columns import is_named
from freshline.importing.dbt.dialect import parsed
from freshline.importing.dbt.jinja import VALUE, read_template, targets
from freshline.importing.dbt.macros import OWN_PACKAGES, Macros, package_of
from freshline.sql.text.functions import volatile_call
from freshline.sql.text.tokens import SqlTextError, Token, tokens

_CLOCK_MACRO = re.compile(r"current_(?:date|time)|\bnow|today|(?:env_)?var\Z", re.IGNORECASE)
_OF_TABLE = ("this", "is_incremental")
_PACKAGES = OWN_PACKAGES | {"dbt_utils"}


class Branches:
    """What of a template is only in its incremental runs."""

    def __init__(self, code: str, macros: Macros) -> None:
        try:
            tree = parsed(code)
        except TemplateSyntaxError:  # it is refused for that
            tree = nodes.Template([])
        self._macros = macros
        self._values, self._options = _given_once(tree)
        self._all = list(tree.find_all(nodes.If))
        names = {id(name) for each in self._all for name in each.find_all(nodes.Name)}
        # The table's name in all runs limits no incremental one: ``'{{ this.name }}' AS model``.
        outputs = [each for each in tree.body if isinstance(each, nodes.Output)]
        shown = [part for each in outputs for part in each.nodes]
        names |= {id(_of(part)) for part in shown}
        called = macros.reached(macros.called_by(read_template(code)))
        self.are_hidden = (
            any(
                read.path[0] in _OF_TABLE
                for key in called
                if package_of(key) not in OWN_PACKAGES
                for read in macros.template(key).reads
            )
            or any(
                name.name in _OF_TABLE and id(name) not in names
                for name in tree.find_all(nodes.Name)
            )
            or any(
                not self._is_read(each)
                for branch in self._all
                if _reads(branch, *_OF_TABLE)
                for each in branch.find_all((nodes.Output, nodes.Assign, nodes.AssignBlock))
            )
        )
        """Something may limit the rows by the table that there is where no branch shows it."""
        self.read_table = any(_reads(branch, "this") for branch in self._all)

    def decide(self, name: str) -> bool:
        """Whether one of them asks for the column of the table that there is.

        To load what is newer than ``max(loaded_at)`` adds each row once all the same, if no clock
        is asked too: a row of each day may be wanted.
        """
        for branch in self._all:
            text = VALUE.join(self._texts(branch))
            try:
                found = tokens(text)
            except SqlTextError:
                if name in text.lower():
                    return True
                continue
            named = [at for at, each in enumerate(found) if is_named(each, name)]
            named = [at for at in named if not (at and found[at - 1].is_word("AS"))]
            asks = _asks_clock(branch, found, self._options)
            if named and (asks or not all(_newer(found, at) for at in named)):
                return True
        return False

    def _texts(self, branch: nodes.If) -> Iterator[str]:
        for each in branch.find_all((nodes.TemplateData, nodes.Const, nodes.Name)):
            match each:
                case nodes.TemplateData():
                    yield each.data
                case nodes.Const(value=str(text)):
                    yield text
                case nodes.Name() if each.name in self._values:
                    yield self._values[each.name]

    def _is_read(self, node: nodes.Node) -> bool:
        """Whether all of the text that an expression gives is known, but for values of options."""
        match node:
            case nodes.TemplateData() | nodes.Const():
                return True
            case nodes.Name():
                return node.name == "this" or node.name in {*self._values, *self._options}
            case nodes.Call():
                return self._is_own(node.node) and all(map(self._is_read, node.args))
            case nodes.Assign() | nodes.Filter() | nodes.Getattr() | nodes.Neg():
                parts = [node.node]
            case nodes.Output() | nodes.Concat():
                parts = list(node.nodes)
            case nodes.Add():
                parts = [node.left, node.right]
            case _:
                return False
        return all(each is not None and self._is_read(each) for each in parts)

    def _is_own(self, function: nodes.Node) -> bool:
        """Whether a function is dbt's own."""
        if isinstance(function, nodes.Getattr) and isinstance(function.node, nodes.Name):
            return function.node.name in _PACKAGES
        if not isinstance(function, nodes.Name):
            return False
        found = self._macros.named(function.name)
        if not found:
            return function.name in {"ref", "source", "var", "env_var"}
        return all(package_of(key) in OWN_PACKAGES for key in found)


def _of(part: nodes.Node) -> nodes.Node:
    """What an expression is an attribute of: ``this`` for ``this.name``."""
    while isinstance(part, nodes.Getattr):
        part = part.node
    return part


def _given_once(tree: nodes.Template) -> tuple[dict[str, str], set[str]]:
    """The variables that have one text each, and those that have an option's value each."""
    given = [(each.target, each.node) for each in tree.find_all(nodes.Assign)]
    others = [each.target for each in tree.find_all((nodes.AssignBlock, nodes.For))]  # type: ignore[attr-defined]
    names = [name for each in (*others, *(each for each, _ in given)) for name in targets(each)]
    once = {
        target.name: value
        for target, value in given
        if isinstance(target, nodes.Name) and names.count(target.name) == 1
    }
    texts = {name: str(each.value) for name, each in once.items() if isinstance(each, nodes.Const)}
    return texts, {name for name, each in once.items() if _is_option(each)}


def _is_option(value: nodes.Node) -> bool:
    return (
        isinstance(value, nodes.Call)
        and isinstance(value.node, nodes.Name)
        and value.node.name in {"var", "env_var"}
    )


def _reads(branch: nodes.If, *names: str) -> bool:
    return any(each.name in names for each in branch.find_all(nodes.Name))


def _asks_clock(branch: nodes.If, found: list[Token], options: set[str]) -> bool:
    """Whether a branch asks the clock, or for what is given to a run, which may be its day."""
    names = ["var" if each.name in options else each.name for each in branch.find_all(nodes.Name)]
    names += [each.attr for each in branch.find_all(nodes.Getattr)]
    call = volatile_call(found)
    return call is not None or any(_CLOCK_MACRO.search(each) for each in names)


def _newer(found: list[Token], at: int) -> bool:
    """Whether the name stands in ``max(loaded_at)`` or ``loaded_at > (SELECT ..)``."""
    behind = [each.text.upper() for each in found[at + 1 : at + 5]]
    while at > 1 and found[at - 1].is_symbol("."):
        at -= 2
    before = [each.text.upper() for each in found[max(at - 4, 0) : at]]
    if before[-2:] == ["MAX", "("] and behind[:1] == [")"]:
        return True
    if before[:3] == ["MAX", "(", "CAST"] and before[3:] == ["("] and behind[:1] == ["AS"]:
        return True
    if before[:2] == ["MAX", "("] and before[2:] in (["DATE", "("], ["TO_DATE", "("]):
        return behind[:2] == [")", ")"]
    return behind[:1] == [">"] and "SELECT" in behind
