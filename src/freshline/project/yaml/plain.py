"""A YAML document without anchors, tags and merged keys, read from its events into plain values.

Composing a document makes an object with two marks for every value, which costs several times as
much as parsing it. Most documents need neither; what this reader does not know it leaves to
PyYAML's own way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

_TAG = "tag:yaml.org,2002:"
_KNOWN = frozenset(_TAG + kind for kind in ("str", "int", "float", "bool", "null", "timestamp"))


class NotPlain(Exception):  # noqa: N818 - no error: another reader takes over
    """The document has something that only the whole of PyYAML reads, or an error."""


def plain(text: str, loader: Any) -> Any:
    """The values of the only document in ``text``.

    Args:
        text: YAML.
        loader: The loader class that would read it; it says what a word means.

    Raises:
        NotPlain: It has to be read by that loader itself.
    """
    reader = loader(text)
    try:
        return _Plain(reader).document()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise NotPlain from error
    finally:
        reader.dispose()


class _Plain:
    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._next: Callable[[], Any] = reader.get_event
        # A document of tables repeats its keys and many of its values.
        self._keys: dict[str, Any] = {}
        self._words: dict[str, Any] = {}

    def document(self) -> Any:
        self._next()  # the stream's start
        if not isinstance(self._next(), yaml.DocumentStartEvent):
            raise NotPlain
        data = self._value(self._next())
        self._next()  # the document's end
        if not isinstance(self._next(), yaml.StreamEndEvent):
            raise NotPlain
        return data

    def _value(self, event: Any) -> Any:
        kind = type(event)
        if kind is yaml.AliasEvent or event.anchor is not None or event.tag is not None:
            raise NotPlain
        if kind is yaml.ScalarEvent:
            text = event.value
            if not event.implicit[0]:
                return text
            if text not in self._words:
                self._words[text] = self._meant(text, is_key=False)
            return self._words[text]
        return self._mapping() if kind is yaml.MappingStartEvent else self._sequence()

    def _sequence(self) -> list[Any]:
        values = []
        event = self._next()
        while type(event) is not yaml.SequenceEndEvent:
            values.append(self._value(event))
            event = self._next()
        return values

    def _mapping(self) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        texts = set()
        event = self._next()
        while type(event) is not yaml.MappingEndEvent:
            if type(event) is not yaml.ScalarEvent or event.anchor or event.tag is not None:
                raise NotPlain
            text = key = event.value
            if text in texts:
                raise NotPlain  # a key twice: the message needs both lines
            texts.add(text)
            if event.implicit[0]:
                if text not in self._keys:
                    self._keys[text] = self._meant(text, is_key=True)
                key = self._keys[text]
            values[key] = self._value(self._next())
            event = self._next()
        return values

    def _meant(self, text: str, *, is_key: bool) -> Any:
        """What a word without quotes is: a number, a date, true, nothing or text."""
        tag = self._reader.resolve(yaml.ScalarNode, text, (True, False))
        if tag == _TAG + "str" or (is_key and tag == _TAG + "bool"):
            return text
        if tag not in _KNOWN:
            raise NotPlain
        return self._reader.yaml_constructors[tag](self._reader, yaml.ScalarNode(tag, text))
