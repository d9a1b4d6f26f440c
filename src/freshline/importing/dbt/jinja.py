"""What a Jinja template reads: names of its context with their attributes, and its filters.

A name counts wherever it is read, called or not: ``{% set f = run_query %}`` runs nothing, and the
``f(...)`` after it does. ``context['x']``, ``context.get('x')`` and ``builtins.x`` read x. The
template is parsed by Jinja, as dbt does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from jinja2 import TemplateSyntaxError, nodes

from freshline.importing.dbt.dialect import parsed

Path = tuple[str | None, ...]
"""A name and the attributes read of it; None stands for one that is computed."""
VALUE = "{{}}"
"""Stands in a text for a value that Jinja puts there."""

_NAMESPACES = frozenset({"context", "builtins"})
_TABLES = {("ref",): "", ("source",): "source "}
"""The functions that name a table, and what stands before the names of theirs."""
_MESSAGES = frozenset({"log", "print", "exceptions"})
"""Their arguments are messages to people, and no SQL."""
_FROM_FILES = {
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from",
    nodes.Extends: "extends",
}


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of a name of the context.

    Attributes:
        path: The name and its attributes.
        called: It is called where it is read.
        then: The filter that is applied to it, or to what it returns, or None.
    """

    path: Path
    called: bool = False
    then: str | None = None


@dataclass(slots=True)
class Template:
    """What a template reads.

    Attributes:
        reads: Readings of names that the template did not surely set before.
        filters: By name, those given to ``map`` too; None: a computed one.
        dispatched: The first arguments of ``adapter.dispatch``; None: a computed one.
        bound: All names that it sets anywhere.
        sql: What stands outside of its blocks, in pieces.
        strings: Texts within them, but for those of messages.
        texts: The same with those that ``~`` and ``+`` put together as one, ``VALUE`` between.
        tables: Names that it gives to ``ref``, and to ``source`` as ``source NAME``; None: a
            computed one.
        fault: Why Jinja cannot parse it, so that nothing is known of it; None: it can.
    """

    reads: list[Read] = field(default_factory=list)
    filters: set[str | None] = field(default_factory=set)
    dispatched: set[str | None] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    sql: list[str] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    tables: set[str | None] = field(default_factory=set)
    fault: str | None = None


def read_template(text: str) -> Template:
    """What ``text`` reads."""
    reader = _Reader()
    try:
        reader.statements(parsed(text).body)
    except TemplateSyntaxError as error:
        return Template(fault=f"line {error.lineno}: {error.message}")
    return reader.found


class _Reader:
    """Goes through a template from its start, with the names that are set so far.

    A name set in a branch is set until the branch ends: after it, it may be the context's.
    """

    def __init__(self) -> None:
        self.found = Template()
        self._scopes: list[set[str]] = [set()]
        self._in_message = False

    def statements(self, body: Iterable[nodes.Node]) -> None:
        for node in body:
            self._statement(node)

    def _statement(self, node: nodes.Node) -> None:
        match node:
            case nodes.Assign():
                self._expression(node.node)
                self._bind(_targets(node.target))
            case nodes.AssignBlock():
                self._expressions([node.filter] if node.filter else [])
                self._branch(node.body)
                self._bind(_targets(node.target))
            case nodes.For():
                self._expression(node.iter)
                with self._scope(_targets(node.target) | {"loop"}):
                    self._expressions([node.test] if node.test else [])
                    self.statements(node.body)
                self._branch(node.else_)
            case nodes.If():
                self._expression(node.test)
                self._branch(node.body)
                self.statements(node.elif_)
                self._branch(node.else_)
            case nodes.Macro() | nodes.CallBlock():
                if isinstance(node, nodes.Macro):
                    self.found.bound.add(node.name)
                else:
                    self._expression(node.call)
                with self._scope({each.name for each in node.args}):
                    self._expressions(node.defaults)
                    self.statements(node.body)
            case nodes.With():
                self._expressions(node.values)
                with self._scope(set().union(*map(_targets, node.targets))):
                    self.statements(node.body)
            case nodes.Include() | nodes.Import() | nodes.FromImport() | nodes.Extends():
                self.found.reads.append(Read((_FROM_FILES[type(node)],)))
                self._expression(node.template)
            case nodes.Expr():
                self._expression(node)
            case nodes.Output() | nodes.ExprStmt():
                self._expressions(node.iter_child_nodes())
            case _:  # a block, a filtered one
                self._branch(node.iter_child_nodes())

    def _branch(self, body: Iterable[nodes.Node]) -> None:
        with self._scope(set()):
            self.statements(body)

    @contextmanager
    def _scope(self, names: set[str]) -> Iterator[None]:
        self._scopes.append(names)
        self.found.bound |= names
        yield
        self._scopes.pop()

    def _bind(self, names: set[str]) -> None:
        self._scopes[-1] |= names
        self.found.bound |= names

    def _expressions(self, each_of: Iterable[nodes.Node]) -> None:
        for each in each_of:
            self._expression(each)

    def _expression(
        self, node: nodes.Node, call: nodes.Call | None = None, then: str | None = None
    ) -> None:
        """Read ``node``, the function that ``call`` calls, if any; the filter ``then`` is next."""
        path = _path(node)
        if path is not None:
            self._name(path, call, then)
            self._arguments(node)
        elif isinstance(node, nodes.Call):
            self._expression(node.node, node, then)
            outer = self._in_message
            self._in_message = outer or (_path(node.node) or ("",))[0] in _MESSAGES
            self._expressions(node.iter_child_nodes(exclude=("node",)))
            self._in_message = outer
        elif isinstance(node, nodes.Filter):
            self._filter(node)
            self._expressions(node.iter_child_nodes(exclude=("node",)))
            if node.node is not None:
                self._expression(node.node, then=node.name)
        elif isinstance(node, nodes.TemplateData):
            self.found.sql.append(node.data)
        elif (text := _text(node)) is not None:
            if not self._in_message:
                self.found.strings.append(text)
                self.found.texts.append(text)
        elif isinstance(node, nodes.Concat | nodes.Add):
            self._put_together(node)
        else:
            self._expressions(node.iter_child_nodes())

    def _put_together(self, node: nodes.Expr) -> None:
        """Read the parts of a text; those that stand there are one text."""
        parts = list(_parts(node))
        texts = [_text(part) for part in parts]
        if not self._in_message and any(texts):
            self.found.strings += [text for text in texts if text is not None]
            self.found.texts.append("".join(VALUE if text is None else text for text in texts))
        self._expressions(part for part, text in zip(parts, texts, strict=True) if text is None)

    def _name(self, path: Path, call: nodes.Call | None, then: str | None) -> None:
        if any(path[0] in each for each in self._scopes):
            return
        while len(path) > 1 and path[0] in _NAMESPACES and path[1] is not None:
            path = path[1:]
        if path[:2] == ("adapter", "dispatch"):
            self.found.dispatched.add(_first_argument(call) if call else None)
        if path in _TABLES and call is not None:
            last = _text(call.args[-1]) if call.args else None
            self.found.tables.add(None if last is None else f"{_TABLES[path]}{last.lower()}")
        self.found.reads.append(Read(path, call is not None, then))

    def _arguments(self, node: nodes.Node) -> None:
        """Read what the attributes of a path are computed from."""
        while not isinstance(node, nodes.Name):
            if isinstance(node, nodes.Filter):
                self._filter(node)
            self._expressions(node.iter_child_nodes(exclude=("node",)))
            node = _before(node)

    def _filter(self, node: nodes.Filter) -> None:
        self.found.filters.add(node.name)
        if node.name == "map" and (node.args or not node.kwargs):
            self.found.filters.add(_text(node.args[0]) if node.args else None)


def _path(node: nodes.Node | None) -> Path | None:
    """The name with its attributes that an expression is; None: it is another expression."""
    if isinstance(node, nodes.Name):
        return (node.name,)
    if not isinstance(node, nodes.Getattr | nodes.Getitem | nodes.Filter | nodes.Call):
        return None
    path = _path(_before(node))
    if path is None:
        return None
    match node:
        case nodes.Getattr():
            return (*path, node.attr)
        case nodes.Getitem():
            return (*path, _text(node.arg))
        case nodes.Filter(name="attr"):
            return (*path, _text(node.args[0]) if node.args else None)
        case nodes.Call(node=nodes.Getattr(attr="get")) if path[-1] != "config":
            return (*path, _first_argument(node))  # config.get reads an option
    return None


def _before(node: nodes.Node) -> nodes.Node:
    """What an attribute is read of, and of ``x.get(...)`` x."""
    is_get = isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr)
    of: nodes.Node = node.node  # type: ignore[attr-defined]
    return of.node if is_get else of  # type: ignore[attr-defined]


def _parts(node: nodes.Node) -> Iterator[nodes.Node]:
    """What ``~`` and ``+`` put together, from left to right."""
    match node:
        case nodes.Concat():
            operands = node.nodes
        case nodes.Add():
            operands = [node.left, node.right]
        case _:
            yield node
            return
    for each in operands:
        yield from _parts(each)


def _first_argument(call: nodes.Call) -> str | None:
    """The text that a call gets first, or as ``macro_name``; None: it is computed."""
    named = [each.value for each in call.kwargs if each.key == "macro_name"]
    first = [*call.args, *named][:1]
    return _text(first[0]) if first else None


def _text(node: nodes.Node) -> str | None:
    """The text that stands there; None: it is computed, or no text."""
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None


def _targets(target: nodes.Node) -> set[str]:
    """The names that an assignment sets; ``ns.x`` sets none."""
    found = [target, *target.find_all(nodes.Name)]
    return {each.name for each in found if isinstance(each, nodes.Name)}
