"""YAML (or JSON) files whose every value knows the line it stands on.

Reading is fast and plain; the lines are looked up only when a message needs one, because
composing a document with its marks costs several times as much as reading it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from freshline.core.errors import Place, UserError
from freshline.project.yaml.plain import NotPlain, plain
from freshline.texts import EndlessFileError, whole_text

Path_ = tuple[Hashable, ...]
"""Where a value stands in its document: keys and list indices from the root."""


class YamlFile:
    """One document: ``data`` as plain Python values, ``place(path)`` for messages.

    Args:
        path: The file.
        shown_as: How messages call it.
        text: Its content, where it was not written to a file.

    Raises:
        UserError: The file cannot be read (``unreadable-file``), is no YAML
            (``bad-yaml``) or names one key twice (``duplicate-key``).
    """

    def __init__(self, path: Path, *, shown_as: str | None = None, text: str | None = None) -> None:
        self.path = path
        self.shown_as = shown_as or str(path)
        self._root: yaml.Node | None = None
        try:
            self._text = whole_text(path) if text is None else text
        except (OSError, UnicodeDecodeError, EndlessFileError) as error:
            reason, next_step = _why_unread(error)
            raise UserError(
                "unreadable-file",
                f"cannot read {self.shown_as}: {reason}",
                next_step=next_step,
            ) from error
        self.data: Any = self._parse()

    def place(self, path: Path_ = ()) -> Place:
        """The file and line of the value at ``path``, or of its nearest ancestor."""
        node, line = self._nodes(), 1
        if node is not None:
            line = node.start_mark.line + 1
        for key in path:
            found = _child(node, key)
            if found is None:
                break
            node, line = found
        return Place(self.shown_as, line)

    def word(self, path: Path_) -> str | None:
        """The text of the scalar at ``path`` as it is written; None where there is none."""
        node: yaml.Node | None = self._nodes()
        for key in path:
            found = _child(node, key)
            if found is None:
                return None
            node, _ = found
        return node.value if isinstance(node, yaml.ScalarNode) else None

    def _nodes(self) -> yaml.Node | None:
        """The document with its marks."""
        if self._root is None:
            text = _PAIR.sub(lambda pair: json.loads(f'"{pair[0]}"'), self._text)
            self._root = yaml.compose(text, Loader=_loader())
        return self._root

    def _parse(self) -> Any:
        if self.path.suffix == ".json" or _OBJECT.match(self._text):
            try:
                return _json(self._text)
            except (ValueError, RecursionError, _DuplicateKeyError):
                pass  # YAML reads JSON too, and knows the line for the message
        try:
            return plain(self._text, _loader())
        except NotPlain:
            return self._composed()

    def _composed(self) -> Any:
        try:
            _refuse_depths(self._text, self.shown_as)
            root = self._root = yaml.compose(self._text, Loader=_loader())
            _check_values(root, self.shown_as, {})
            return None if root is None else _loader()("").construct_document(root)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or "it cannot be parsed"
            next_step = "Correct the syntax; indentation and quotes are the usual cause."
            if mark and _TAB.match("".join(self._text.splitlines()[mark.line : mark.line + 1])):
                problem, next_step = "a tab indents this line", "Indent with spaces alone."
            raise UserError(
                "bad-yaml",
                f"this is not YAML: {problem}",
                where=Place(self.shown_as, mark.line + 1 if mark else None),
                next_step=next_step,
            ) from error
        except RecursionError as error:
            raise UserError(
                "bad-yaml",
                f"an alias in {self.shown_as} holds itself",
                where=Place(self.shown_as, None),
                next_step="Write its values out.",
            ) from error


class _DuplicateKeyError(Exception):
    pass


def _json(text: str) -> Any:
    """The values of a JSON text.

    Raises:
        ValueError: It is no JSON, or has half of a surrogate pair, which no file can hold.
    """
    data = json.loads(text, object_pairs_hook=_unique)
    if _SURROGATE.search(text):
        json.dumps(data, ensure_ascii=False).encode()
    return data


_OBJECT = re.compile(r"\s*\{")
_TAB = re.compile(" *\t")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
"""How JSON writes a character beyond 16 bits, which YAML does not know."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _DuplicateKeyError
    return result


_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_BASE):  # type: ignore[misc]  # which of the two is known at run time
    """Keys are the words as written: YAML 1.1 reads the key ``on`` as true."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if key.tag == "tag:yaml.org,2002:bool":
                key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep=deep)

    def construct_object(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        try:
            return super().construct_object(node, deep=deep)
        except ValueError as error:  # a date or number that does not exist
            problem = f"'{node.value}' has the form of a date or a number and is neither"
            raise ConstructorError(None, None, problem, node.start_mark) from error


class _Dumper(yaml.SafeDumper):
    """Puts texts in quotes that the loader would read as numbers."""


# YAML 1.1 takes 1e3 and 1.5e3 for texts; to YAML 1.2, JSON and people they are numbers.
for _kind in (_Loader, _Dumper):
    _kind.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+\Z"),
        list("-+.0123456789"),
    )


def written(data: Any) -> str:
    """The YAML of plain values, which is read back as they are."""
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def _loader() -> Any:
    return _Loader


def _why_unread(error: Exception) -> tuple[str, str]:
    """Why a file cannot be read, and what to do about it."""
    if isinstance(error, OSError):
        return error.strerror or str(error), "Check the path and its permissions."
    if isinstance(error, EndlessFileError):
        return str(error), "Check the path: a project or scenario is a small file."
    return "it is not UTF-8", "Save it as UTF-8: most editors ask for the encoding in Save As."


def _child(node: yaml.Node | None, key: Hashable) -> tuple[yaml.Node, int] | None:
    if isinstance(node, yaml.MappingNode):
        # Read, a mapping has what `<<` merges into it in front; its own pairs come last and win.
        for key_node, value_node in reversed(node.value):
            if key_node.value == str(key):
                return value_node, key_node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        item = node.value[key]
        return item, item.start_mark.line + 1
    return None


_DEEPEST = 100


def _refuse_depths(text: str, shown_as: str) -> None:
    """PyYAML composes by recursion in C, and a document that is deep enough kills the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            mark = event.start_mark
            raise UserError(
                "bad-yaml",
                f"values are nested more than {_DEEPEST} deep",
                where=Place(shown_as, mark.line + 1 if mark else None),
                next_step="Write them with fewer levels.",
            )


_MOST_VALUES = 1_000_000


def _check_values(node: yaml.Node | None, shown_as: str, counted: dict[int, int]) -> int:
    """How many values a node holds, its aliases written out.

    Args:
        node: What is looked at, once however many aliases lead to it.
        shown_as: The file, for messages.
        counted: What was found, by the id of the node.

    Raises:
        UserError: A key is given twice, or aliases of aliases make more than can be gone through.
    """
    if node is None or id(node) in counted:
        return counted.get(id(node), 0)
    found = 1
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                continue  # the loader says that it is no key
            line = key_node.start_mark.line + 1
            if key_node.value in seen:
                raise UserError(
                    "duplicate-key",
                    f"the key '{key_node.value}' is given twice",
                    where=Place(shown_as, line),
                    rule=f"its first value is on line {seen[key_node.value]}",
                    next_step="Keep one of the two.",
                )
            seen[key_node.value] = line
            found += _check_values(value_node, shown_as, counted)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            found += _check_values(item, shown_as, counted)
    if found > _MOST_VALUES:
        raise UserError(
            "bad-yaml",
            f"aliases of aliases stand for more than {_MOST_VALUES:,} values",
            where=Place(shown_as, node.start_mark.line + 1),
            next_step="Write fewer of them.",
        )
    counted[id(node)] = found
    return found
