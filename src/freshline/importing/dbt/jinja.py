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
_OPTIONS = frozenset({"var", "env_var", "get"})
"""Functions whose first argument is an option's name, and whose others may be its value."""
_RUN = frozenset({("run_query",), ("adapter", "execute"), ("return",)})
"""What they get is run as a statement, or may be what a macro puts out."""
_VALUES = frozenset({("dict",), ("namespace",), ("tojson",), ("toyaml",), ("zip",)})
"""Functions that only make values of what they get."""
_OF_TEXTS = frozenset({"format", "join", "lower", "replace", "strip", "upper"})
"""Methods that make a text of what they get."""
_ADD = frozenset({"append", "extend", "insert", "update"})
"""Methods that put what they get into their object."""
_OUT, _CALLED = "{out}", "{called}"
"""Where a value goes to besides names: it is put out or run, or a macro gets it."""
_NOWHERE: frozenset[str] = frozenset()
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
        strings: Texts within them that are put out or handed on: none of messages, also where a
            variable keeps them, of comparisons, and none that ``ref`` and ``source`` get.
        texts: The same with those that ``~``, ``+`` and lists put together as one, ``VALUE``
            between.
        statements: Those of the texts that are put out or run, and not only handed to a macro.
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
    statements: list[str] = field(default_factory=list)
    tables: set[str | None] = field(default_factory=set)
    fault: str | None = None


def read_template(text: str) -> Template:
    """What ``text`` reads."""
    reader = _Reader()
    try:
        reader.statements(parsed(text).body)
    except TemplateSyntaxError as error:
        return Template(fault=f"line {error.lineno}: {error.message}")
    reader.follow_texts()
    return reader.found


class _Reader:
    """Goes through a template from its start, with the names that are set so far.

    A name set in a branch is set until the branch ends: after it, it may be the context's.
    """

    def __init__(self) -> None:
        self.found = Template()
        self._scopes: list[set[str]] = [set()]
        self._in_message = False
        self._into = frozenset({_CALLED})
        self._put_out = frozenset({_OUT})
        self._flows: list[tuple[str, frozenset[str]]] = []
        self._strings: list[tuple[str, frozenset[str]]] = []
        self._texts: list[tuple[str, frozenset[str]]] = []

    def follow_texts(self) -> None:
        """Find the texts that go anywhere, once all is read: a variable may be read later."""
        reached = {_OUT: {_OUT}, _CALLED: {_CALLED}}
        grows = True
        while grows:
            grows = False
            for name, into in self._flows:
                found = reached.setdefault(name, set())
                more = set().union(*(reached.get(each, ()) for each in into)) - found
                found |= more
                grows = grows or bool(more)
        for texts, kept in ((self._strings, self.found.strings), (self._texts, self.found.texts)):
            kept += [text for text, into in texts if any(reached.get(each) for each in into)]
        for text, into in self._texts:
            if any(_OUT in reached.get(each, ()) for each in into):
                self.found.statements.append(text)

    def statements(self, body: Iterable[nodes.Node]) -> None:
        for node in body:
            self._statement(node)

    def _statement(self, node: nodes.Node) -> None:
        match node:
            case nodes.Assign():
                self._kept(node.target, node.node)
                self._bind(targets(node.target))
            case nodes.AssignBlock():
                self._expressions([node.filter] if node.filter else [])
                outer, self._put_out = self._put_out, _holders(node.target)
                self._branch(node.body)
                self._put_out = outer
                self._bind(targets(node.target))
            case nodes.For():
                self._kept(node.target, node.iter)
                with self._scope(targets(node.target) | {"loop"}):
                    self._given_to(_NOWHERE, [node.test] if node.test else [])
                    self.statements(node.body)
                self._branch(node.else_)
            case nodes.If():
                self._given_to(_NOWHERE, [node.test])
                self._branch(node.body)
                self.statements(node.elif_)
                self._branch(node.else_)
            case nodes.Macro() | nodes.CallBlock():
                self._macro(node)
            case nodes.With():
                self._with(node)
            case nodes.Include() | nodes.Import() | nodes.FromImport() | nodes.Extends():
                self.found.reads.append(Read((_FROM_FILES[type(node)],)))
                self._expression(node.template)
            case nodes.Expr() | nodes.ExprStmt():
                self._expression(node)
            case nodes.Output():
                self._given_to(self._put_out, node.iter_child_nodes())
            case _:  # a block, a filtered one
                self._branch(node.iter_child_nodes())

    def _macro(self, node: nodes.Macro | nodes.CallBlock) -> None:
        if isinstance(node, nodes.Macro):
            self.found.bound.add(node.name)
        else:
            self._expression(node.call)
        # Who gives a list may read what is added to it.
        self._flows += [(each.name, frozenset({_CALLED})) for each in node.args]
        with self._scope({each.name for each in node.args}):
            self._expressions(node.defaults)
            self.statements(node.body)

    def _with(self, node: nodes.With) -> None:
        for target, value in zip(node.targets, node.values, strict=True):
            self._kept(target, value)
        with self._scope(set().union(*map(targets, node.targets))):
            self.statements(node.body)

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

    def _given_to(self, into: frozenset[str], each_of: Iterable[nodes.Node]) -> None:
        """Read expressions whose values go there."""
        outer = self._into
        self._into = into
        self._expressions(each_of)
        self._into = outer

    def _kept(self, target: nodes.Node, value: nodes.Node) -> None:
        """Read a value that names keep."""
        holders = _holders(target)
        self._given_to(holders, [value])
        if isinstance(value, nodes.Name):  # two names of one list
            self._flows += [(each, frozenset({value.name})) for each in holders]

    def _expression(
        self, node: nodes.Node, call: nodes.Call | None = None, then: str | None = None
    ) -> None:
        """Read ``node``, the function that ``call`` calls, if any; the filter ``then`` is next."""
        path = _path(node)
        if path is not None:
            self._name(path, call, then)
            self._arguments(node)
        elif isinstance(node, nodes.Call):
            self._call(node, then)
        elif isinstance(node, nodes.Filter):
            self._filter(node)
            self._expressions(node.iter_child_nodes(exclude=("node",)))
            if node.node is not None:
                self._expression(node.node, then=node.name)
        elif isinstance(node, nodes.TemplateData):
            self.found.sql.append(node.data)
        elif (text := _text(node)) is not None:
            if not self._in_message:
                self._strings.append((text, self._into))
                self._texts.append((text, self._into))
        elif isinstance(node, nodes.Concat | nodes.Add):
            self._put_together(node)
        else:
            self._operands(node)

    def _operands(self, node: nodes.Node) -> None:
        """Read what an expression is made of; what it only asks or looks up goes nowhere."""
        asked: list[nodes.Node] = []
        match node:
            case nodes.Compare() | nodes.Test():
                asked = list(node.iter_child_nodes())
            case nodes.CondExpr():
                asked = [node.test]
            case nodes.Getitem():
                asked = [node.arg]
            case nodes.List() | nodes.Tuple():
                self._listed(node)
        self._given_to(_NOWHERE, asked)
        ids = {id(each) for each in asked}  # equal nodes may stand there twice
        self._expressions(each for each in node.iter_child_nodes() if id(each) not in ids)

    def _call(self, node: nodes.Call, then: str | None) -> None:
        """Read a call: its function, and its arguments by where that takes them."""
        path = _path(node.node) or ("",)
        method = node.node.attr if isinstance(node.node, nodes.Getattr) else None
        rest = list(node.iter_child_nodes(exclude=("node",)))
        adds = method in _ADD and any(path[0] in each for each in self._scopes)
        into = frozenset({_CALLED})
        if path in _TABLES:
            into = _NOWHERE
        elif path in _RUN:
            into = frozenset({_OUT})
        elif method in _OF_TEXTS or path in _VALUES:
            into = self._into
        elif adds:
            into = frozenset({str(path[0])})
        elif path[-1] in _OPTIONS:
            self._given_to(_NOWHERE, rest[:1])
            rest, into = rest[1:], self._into
        outer, self._into = self._into, _NOWHERE if adds else self._into
        self._expression(node.node, node, then)
        self._into = outer
        in_message = self._in_message
        # What a message calls may do anything with what it gets.
        leaves = into & {_CALLED, _OUT} and into is not self._into
        self._in_message = path[0] in _MESSAGES or (in_message and not leaves)
        self._given_to(into, rest)
        self._in_message = in_message

    def _put_together(self, node: nodes.Expr) -> None:
        """Read the parts of a text; those that stand there are one text."""
        parts = list(_parts(node))
        texts = [_text(part) for part in parts]
        if not self._in_message and any(texts):
            self._strings += [(text, self._into) for text in texts if text is not None]
            self._add_text(texts, "")
        self._expressions(part for part, text in zip(parts, texts, strict=True) if text is None)

    def _listed(self, node: nodes.List | nodes.Tuple) -> None:
        """A list of texts and values may be joined to one text."""
        texts = [_text(each) for each in node.items]
        if not self._in_message and texts and texts[0] is not None and None in texts:
            self._add_text(texts, " ")

    def _add_text(self, texts: list[str | None], between: str) -> None:
        text = between.join(VALUE if each is None else each for each in texts)
        self._texts.append((text, self._into))

    def _name(self, path: Path, call: nodes.Call | None, then: str | None) -> None:
        if not self._in_message:
            self._flows += [(each, self._into) for each in path if each is not None]
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
            rest = list(node.iter_child_nodes(exclude=("node",)))
            self._given_to(_NOWHERE, rest[:1])
            self._expressions(rest[1:])
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


def _holders(target: nodes.Node) -> frozenset[str]:
    """The names that keep what is assigned: of ``ns.x`` it is ns."""
    found = [target, *target.find_all((nodes.Name, nodes.NSRef))]
    return frozenset(each.name for each in found if isinstance(each, nodes.Name | nodes.NSRef))


def targets(target: nodes.Node) -> set[str]:
    """The names that an assignment sets; ``ns.x`` sets none."""
    found = [target, *target.find_all(nodes.Name)]
    return {each.name for each in found if isinstance(each, nodes.Name)}
