"""Spark's analysed plan as plain trees, from the JSON that Spark writes of it.

Nothing here knows what an operator means. Spark writes each tree as a list of nodes in preorder;
a field of a node is a tree, a list of trees, or a plain value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

_NOISE = frozenset(
    {"class", "num-children", "qualifier", "metadata", "nullable", "explicitMetadata",
     "nonInheritableMetadataKeys", "evalContext", "resultId", "hint", "rdd", "session",
     "outputPartitioning", "options", "isStreaming", "sameOrderExpressions", "origin"}
)  # fmt: skip

_AMONG_CHILDREN = {"CaseWhen": frozenset({"branches", "elseValue"})}
"""Fields whose trees are the node's children as well: read twice, a CASE within a CASE within a
CASE is eight times as large."""


_SHOWS = {"Project": "projectList", "Aggregate": "aggregateExpressions"}
"""Fields with the columns of a result."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A node of a plan or of an expression.

    Attributes:
        kind: Spark's name of its class, without the package.
        children: In Spark's order.
        fields: What else Spark says of it: trees, tuples, texts, numbers, None.
    """

    kind: str
    children: tuple[Tree, ...]
    fields: Mapping[str, Any]

    def tree(self, name: str) -> Tree | None:
        """The field, where it holds one tree."""
        value = self.fields.get(name)
        return value if isinstance(value, Tree) else None

    def trees(self, name: str) -> tuple[Tree, ...]:
        """The field, where it holds a list of trees."""
        value = self.fields.get(name)
        return value if isinstance(value, tuple) else ()

    def text(self, name: str) -> str:
        """The field as text; empty where there is none."""
        value = self.fields.get(name)
        return "" if value is None else str(value)

    @property
    def number(self) -> int:
        """The number by which Spark knows an attribute or an alias."""
        return int(self.fields["exprId"])

    def expressions(self) -> Iterator[Tree]:
        """Expressions that stand in the fields of a plan's node."""
        for value in self.fields.values():
            yield from _trees_in(value)

    def walk(self) -> Iterator[Tree]:
        """The node, and everything below it and in its fields."""
        yield self
        for child in self.children:
            yield from child.walk()
        for held in self.expressions():
            yield from held.walk()


def _trees_in(value: object) -> Iterator[Tree]:
    if isinstance(value, Tree):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _trees_in(each)


def parsed(text: str, texts: Mapping[int, Sequence[str]] | None = None) -> Tree:
    """The tree that Spark wrote as JSON.

    Args:
        text: The JSON.
        texts: By number of a column of VALUES: its texts, which are not in the JSON. A relation
            of constants has them as its ``data``, by column; None: they are not known.

    Raises:
        ValueError: It is not a tree as Spark writes them.
    """
    known = texts or {}

    def told(node: dict[str, Any]) -> dict[str, Any]:
        if str(node.get("class", "")).endswith(".LocalRelation"):
            node["data"] = [known.get(int(column[0]["exprId"]["id"])) for column in node["output"]]
        return node

    # It is called for each object, of which a plan has thousands.
    return _tree(iter(json.loads(text, object_hook=told if ".LocalRelation" in text else None)))


def _tree(nodes: Iterator[Mapping[str, Any]]) -> Tree:
    node = next(nodes, None)
    if node is None:
        raise ValueError("the tree ends too early")
    children = tuple(_tree(nodes) for _ in range(int(node["num-children"])))
    kind = str(node["class"]).rsplit(".", 1)[-1].removesuffix("$")
    unread = _NOISE | _AMONG_CHILDREN.get(kind, frozenset())
    fields: dict[str, Any] = {
        name: _value(name, value) for name, value in node.items() if name not in unread
    }
    if kind in _SHOWS:
        fields[_SHOWS[kind]] = tuple(_shown(each) for each in fields[_SHOWS[kind]])
    if "replacement" in fields:
        fields = _renumbered(fields, children)
    return Tree(kind, children, fields)


def _shown(column: Any) -> Any:
    """A column of the query around that a subquery shows as it is, under its number there."""
    held = column.tree("e") if column.kind == "OuterReference" else None
    if held is None or "exprId" not in held.fields:
        return column
    told = {"exprId": held.number, "name": held.text("name")}
    return Tree("Alias", (column,), told)


def _renumbered(fields: dict[str, Any], children: tuple[Tree, ...]) -> dict[str, Any]:
    """The fields of an expression that Spark replaces, with the numbers of the replacement.

    BETWEEN keeps what it was written with beside the comparisons that stand for it. Where a
    relation is read twice, Spark gives the columns of one new numbers, in the comparisons alone.
    """
    written = _numbers(each for value in fields.values() for each in _trees_in(value))
    made = _numbers(children)
    new: dict[int, int] = {}
    for name, numbers in written.items():
        old, fresh = numbers - made.get(name, set()), made.get(name, set()) - numbers
        if len(old) == len(fresh) == 1:
            new[old.pop()] = fresh.pop()
    return {name: _with_numbers(value, new) for name, value in fields.items()} if new else fields


def _numbers(trees: Iterable[Tree]) -> dict[str, set[int]]:
    """By name: the numbers of the columns that trees read."""
    found: dict[str, set[int]] = {}
    for tree in trees:
        for each in tree.walk():
            if each.kind == "AttributeReference":
                found.setdefault(each.text("name"), set()).add(each.number)
    return found


def _with_numbers(value: object, new: Mapping[int, int]) -> object:
    if isinstance(value, tuple):
        return tuple(_with_numbers(each, new) for each in value)
    if not isinstance(value, Tree):
        return value
    fields = {name: _with_numbers(held, new) for name, held in value.fields.items()}
    if value.kind == "AttributeReference" and value.number in new:
        fields["exprId"] = new[value.number]
    children = tuple(_with_numbers(child, new) for child in value.children)
    return Tree(value.kind, cast("tuple[Tree, ...]", children), fields)


def _value(name: str, value: object) -> object:
    if isinstance(value, dict):
        return _simple(name, value)
    if isinstance(value, list):
        if value and isinstance(value[0], dict) and "num-children" in value[0]:
            return _tree(iter(value))
        return tuple(_value(name, each) for each in value)
    return value


def _simple(name: str, value: Mapping[str, Any]) -> object:
    if name == "exprId":
        return int(value["id"])
    if name == "desc":  # a table's description, of which its name is wanted
        return str(value["identifier"]["table"])
    if "object" in value:
        return str(value["object"]).rsplit(".", 1)[-1].removesuffix("$")
    if "_1" in value and "_2" in value:  # a pair, as CASE WHEN has them
        return (_value(name, value["_1"]), _value(name, value["_2"]))
    if str(value.get("product-class", "")).endswith("AliasIdentifier"):
        return str(value["name"])
    return json.dumps(value, sort_keys=True)
