"""``${env:NAME}`` and ``${file:PATH}`` in freshline.yml: secrets kept outside the file.

They are replaced in values of ``configuration:`` and of the ``options:`` of feeds, anywhere in
the text. What is put in is not looked at again, and no message shows it.
"""

from __future__ import annotations

import dataclasses
import os
import re
import stat
from collections.abc import Hashable, Mapping
from functools import partial
from pathlib import Path

from freshline.core.errors import Place, UserError
from freshline.project.model import Feed
from freshline.project.yaml.section import Section

_REFERENCE = re.compile(r"\$\{(env|file):([^}]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SECRET = re.compile(r"(?i)secret|password|token|access[.]?key|account[.]?key|jaas")
"""Names of settings whose values are secrets; Spark's own redaction, and what it leaves out."""
_PLAIN = re.compile(r"(?i)(true|false|[0-9.]+)?\Z")
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def has_reference(text: str) -> bool:
    """Whether a value, or a part of it, is kept elsewhere."""
    return _REFERENCE.search(text) is not None


class References:
    """Replaces references in the texts of one freshline.yml.

    Args:
        top: The whole file; faults are added to it.
        root: Where relative paths start.
        required: What a reference names has to exist. Otherwise a reference that leads nowhere
            stays as it is written: commands that start no Spark need no secrets.

    Attributes:
        warnings: A sentence for each secret that other users of the machine can read.
    """

    def __init__(self, top: Section, root: Path, *, required: bool) -> None:
        self._top = top
        self._root = root
        self._required = required
        self._readable = _others_read(top.file.path)
        self.warnings: list[str] = []

    def configuration(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The values of ``configuration:``, with every reference replaced."""
        return self._replaced(texts, ("configuration",))

    def feeds(self, feeds: Mapping[str, Feed]) -> dict[str, Feed]:
        """Feeds whose options have every reference replaced."""
        return {
            name: dataclasses.replace(
                feed, options=self._replaced(feed.options, ("feeds", name, "options"))
            )
            for name, feed in feeds.items()
        }

    def _replaced(self, texts: Mapping[str, str], path: tuple[Hashable, ...]) -> dict[str, str]:
        replaced = {}
        for name, text in texts.items():
            if _REFERENCE.search(text):
                where = self._top.file.place((*path, name))
                replaced[name] = _REFERENCE.sub(partial(self._value, name, where), text)
                continue
            replaced[name] = text
            if self._readable and _SECRET.search(name) and not _PLAIN.match(text):
                self.warnings.append(
                    f"{self._top.file.place((*path, name))}: {name} is written in"
                    f" {self._top.file.shown_as}, which other users can read: write"
                    " ${env:NAME} or ${file:PATH}, or run chmod 600"
                )
        return replaced

    def _value(self, name: str, where: Place, found: re.Match[str]) -> str:
        kind, target = found[1], found[2]
        if kind == "env" and _VARIABLE.match(target):
            value = os.environ.get(target)
            if value is None:
                self._missing(
                    where,
                    "missing-variable",
                    f"{name} needs the environment variable {target}, which is not set",
                    f"Set {target} where freshline starts.",
                )
            return found[0] if value is None else value
        if kind == "file" and target:
            return self._content(found, name, where)
        self._top.errors.append(
            UserError(
                "bad-reference",
                f"{name} has the reference {found[0]}",
                where=where,
                rule="a reference is ${env:NAME}, with the name of an environment variable,"
                " or ${file:PATH}",
                next_step="Correct it.",
            )
        )
        return found[0]

    def _content(self, found: re.Match[str], name: str, where: Place) -> str:
        """What the file holds, without the end of its last line."""
        path = self._root / found[2]
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            self._missing(
                where,
                "unreadable-file",
                f"{name} needs the file {found[2]}, which cannot be read: {reason}",
                "Check the path, which is relative to freshline.yml, and its permissions.",
            )
            return found[0]
        if _others_read(path):
            self.warnings.append(
                f"{where}: other users can read the file {found[2]}, which {name} refers to: run"
                " chmod 600"
            )
        return text.removesuffix("\n").removesuffix("\r")

    def _missing(self, where: Place, code: str, what: str, next_step: str) -> None:
        if self._required:
            self._top.errors.append(UserError(code, what, where=where, next_step=next_step))


def _others_read(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OTHERS_READ)
    except OSError:
        return False
