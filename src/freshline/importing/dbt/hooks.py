"""Statements that dbt runs around its models: their hooks, and the operations of a run.

None of them is run here, so a model is taken only where they leave its rows, its columns and the
session alone. Such a statement is a template; what it may run is in its text and in that of the
macros it calls. Where the text does not say which table it changes, it may be any, and those above
all that the template gives to ``ref``, to ``source`` and to macros.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from freshline.importing.dbt.context import Kind
from freshline.importing.dbt.jinja import VALUE, Template, read_template
from freshline.importing.dbt.macros import OWN_PACKAGES, Macros, package_of
from freshline.importing.dbt.readings import kinds_in

_JINJA = r"\{\{(?:(?!\}\}).)*\}\}"
_TARGET = (
    rf"(?>(?:{_JINJA}|identifier\s*\((?:{_JINJA}|[^()])*\)|`(?:[^`]|``)*`|[^\s;('\"`{{])+)"
    # It ends here: it is not cut short by what Jinja or Python put behind it.
    r"(?=\s*+(?:$|;|\(|\{%-?\s*(?:end|el)|['\"]\s*(?:$|;|[,)\]]|-?[%}]\}))|\s++(?!\.))"
)
_NAME = re.compile(
    rf"(?:(?:{_JINJA}|`(?:[^`]|``)*`|\w+)\.)*({_JINJA}|`(?:[^`/:]|``)*`|\w+)", re.DOTALL
)
"""A table's name in parts; names of files and those within other texts are none."""
_REFERENCE = re.compile(
    r"\{\{-?\s*(?:ref|source)\s*\([^()]*\)(?:\.\w+(?:\([^()]*\))?)*\s*-?\}\}", re.DOTALL
)
_TABLE = r"(?:(?:materialized\s+|streaming\s+)?(?:table|view))"
_CHANGES = re.compile(
    r"\b(delete\s+from|insert\s+(?:with\s+schema\s+evolution\s+)?(?:into|overwrite)(?:\s+table)?"
    r"|merge\s+(?:with\s+schema\s+evolution\s+)?into|truncate\s+table"
    r"|copy\s+into|load\s+data\b[^;]*?\binto\s+table|drop\s+table(?:\s+if\s+exists)?|restore\s+table|create\s+or\s+replace\s+table"
    rf"|replace\s+table(?=\s+{_TARGET}\s+(?:as|using|comment|partitioned|cluster|tblproperties)\b)"
    rf"|create\s+(?:or\s+replace\s+)?policy\b[^;]*?\bon\s+{_TABLE}"
    rf"|update(?=\s+{_TARGET}\s+(?:(?:as\s+)?[`\w]+\s+)?set\b))\b\s*({_TARGET})?",
    re.IGNORECASE | re.DOTALL,
)
_ALTERS = re.compile(
    rf"\b(alter)\s+(?:{_TABLE}|{_JINJA})\s+({_TARGET})\s+"
    r"(?:(?:add|drop|rename|replace)\s+column|(?:alter|change)\s++"
    r"(?!schedule\b|(?:column\s+)?(?:`[^`]*`|[\w.]+)\s+comment\s+['\"])"
    r"|(?:add|drop|rename|truncate)\s+(?:if\s+(?:not\s+)?exists\s+)?partition"
    rf"|rename\s+to|set\s+location|set\s+row\s+filter|{_JINJA})",
    re.IGNORECASE | re.DOTALL,
)
_ANY = re.compile(
    r"\b(execute\s+immediate"
    r"|create\s+(?:or\s+replace\s+)?policy(?=\s[^;]*?\bon\s+(?:catalog|schema|database)\b))\b",
    re.IGNORECASE,
)
_SET = (
    r"\s*(?:time\s+zone\b|catalog\b|var(?:iable)?\s"
    rf"|(?:[\w.:`-]|{_JINJA}|\{{%(?:(?!%\}}).)*%\}})+\s*=\s*\S)"
)
_USE = rf"\s*(?:catalog\s+|schema\s+|database\s+)?(?:[\w.`]|{_JINJA})+\s*(?:$|;|['\"])"
"""What follows these two words in statements of the session."""
_OF_SESSION = re.compile(
    r"(?:^|;|%\}|['\"])\s*"
    # Calls may stand before the statement, as may one that gives its beginning.
    rf"(?:\{{\{{-?\s*(?:log|print)\s*\((?:(?!\}}\}}).)*\}}\}}\s*)*(?:{_JINJA}\s*)?"
    rf"(set\s(?={_SET})"
    rf"|reset\b(?=\s*(?:(?:[\w.:`-]|{_JINJA})+\s*)?(?:$|;|['\"]))"
    rf"|use\s(?={_USE})"
    r"|create\s+(?:or\s+replace\s+)?(?:(?:global\s+)?temp(?:orary)?\s+)(?:view|function)\b"
    rf"|create\s+(?:or\s+replace\s+)?(?:{_JINJA}\s*)*function\b)",
    re.IGNORECASE | re.DOTALL,
)
_PUT_TOGETHER = re.compile(
    r"(?:^|;|%\}|['\"])\s*(\{\{[^{}]*\}\}\s*(?:from|into|table|overwrite))\b", re.IGNORECASE
)
_SESSION_BEGINS = re.compile(
    rf"(?:^|;)\s*(?:(set|use)(?:\s+(?:[\w.:`-]|{_JINJA})*{_JINJA})?|(set)\s+[\w:`-]+\.[\w.:`-]+)\s*$",
    re.IGNORECASE | re.DOTALL,
)
_GOES_ON = {
    word: re.compile(rf"(?:^|;|%\}}|['\"])\s*{_JINJA}\s+{rest}", re.IGNORECASE | re.DOTALL)
    for word, rest in (("set", _SET), ("use", _USE))
}
"""The rest of a statement whose first word Jinja puts there."""
_ALTER_BEGINS = re.compile(
    rf"(?:^|;)\s*(alter)(?:\s+(?:{_TABLE}|{_JINJA})(?:\s+{_TARGET})?)?\s*$",
    re.IGNORECASE | re.DOTALL,
)
"""Beginnings of statements whose other parts stand elsewhere."""
_FORMATTED = re.compile(r"(?<!\{)\{\w*\}(?!\})|%(?:\(\w+\))?[sdr]\b")
"""Where Python's ``format`` and ``%`` put a value."""
_WRITES = re.compile(
    r"\b(delete|insert|merge|truncate|overwrite|restore)\b|(?:^|;)\s*(update|drop|copy)\b",
    re.IGNORECASE,
)
"""Verbs of statements; those that are words of other statements too, only where one begins."""
_GIVEN = r"(?P<given>var|env_var|config|model)\b[^(){}]*(?:\([^(){}]*\))?[^(){}]*"
_FROM_VALUE = (
    re.compile(rf"\s*\{{\{{-?\s*{_GIVEN}\}}\}}\s*;?\s*\Z"),
    re.compile(rf"\brun_query\s*\(\s*{_GIVEN}\)"),
)
"""A statement that is a variable or an option: a hook that is nothing else, and what is run."""
THIS = "{{ this }}"
"""Stands for the table of the model that has the hook."""
_THIS = re.compile(
    r"\{\{-?\s*this(?:\.(?:identifier|name|table|include\s*\([^()]*\)))?\s*-?\}\}", re.DOTALL
)
_VERB = re.compile(r"\s*(?:delete|insert|merge|truncate|restore|update|drop|copy)\b", re.IGNORECASE)
_RIGHTS = re.compile(r"\b(?:grant|revoke)\b[^;]*", re.IGNORECASE)
_QUOTED_OR_COMMENT = re.compile(r"('[^'\n]*'|\"[^\"\n]*\")|\{#.*?#\}|--[^\n]*|/\*.*?\*/", re.DOTALL)
_SQL_TEXT_OR_COMMENT = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_JINJA_SET = re.compile(r"\{%-?\s*set\b")


@dataclass(frozen=True, slots=True)
class Change:
    """What a hook or an operation may change.

    Attributes:
        words: The words of the statement that say so, or why it cannot be told.
        table: The changed table's name, ``source NAME`` where it is named as a source; ``THIS``
            where it is that of the model with the hook; None where it may be any.
        session: It changes what queries mean, whichever table they fill.
        package: Of the macro that has the statement; None: it stands in the hook itself.
    """

    words: str
    table: str | None = None
    session: bool = False
    package: str | None = None

    def may_be(self, names: set[str]) -> bool:
        """Whether a table with one of the names may be changed."""
        return self.session or self.table in (None, THIS) or self.table in names


def names_of(node: Mapping[str, Any]) -> set[str]:
    """The names by which statements call the table of a model."""
    return {str(each).lower() for each in (node.get("alias"), node.get("name")) if each}


def hook_texts(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The hooks of a model: kind and text."""
    config = node.get("config") or {}
    for kind in ("pre-hook", "post-hook"):
        hooks = config.get(kind) or config.get(kind.replace("-", "_"))
        for hook in hooks if isinstance(hooks, list) else [hooks]:
            text = hook.get("sql") if isinstance(hook, Mapping) else hook
            if text:
                yield kind, str(text)


def changes(text: str, macros: Macros, others: Iterable[str] = ()) -> Iterator[Change]:
    """What the statements of a hook or an operation may change.

    Args:
        text: Of the hook.
        macros: Of its project.
        others: Keys of what dbt saw it read, which it may change too.
    """
    own = read_template(text)
    reached = sorted(macros.reached(macros.called_by(own)))
    templates: list[tuple[str | None, str, Template]] = [(None, text, own)]
    templates += [(package_of(key), macros.text(key), macros.template(key)) for key in reached]
    given = sorted(_given(own, templates, others))
    elsewhere = _elsewhere(templates)
    for package, code, template in templates:
        for change in dict.fromkeys(_changed_by(package, code, template, macros, elsewhere)):
            yield change
            if change.table is None and not change.session:
                yield from (dataclasses.replace(change, table=each) for each in given)


def _changed_by(
    package: str | None, code: str, template: Template, macros: Macros, elsewhere: set[str]
) -> Iterator[Change]:
    for kind, word in kinds_in(template, macros):
        if kind is Kind.COMPUTED:
            yield Change(f"a call by a computed name, {word}", package=package)
        elif kind is Kind.UNREADABLE:
            yield Change(f"Jinja that cannot be parsed here, {word}", package=package)
    if package not in OWN_PACKAGES:
        for given in filter(None, (_FROM_VALUE[0].match(code), _FROM_VALUE[1].search(code))):
            yield Change(f"a statement that {given['given']} gives", package=package)
    found = list(_changing(_QUOTED_OR_COMMENT.sub(lambda match: match[1] or " ", code)))
    if "{" in code and package not in OWN_PACKAGES:
        found += [] if found else _verbs(template)
        for each in template.texts:
            if each.lower() in _GOES_ON and each.lower() not in elsewhere:
                continue
            any_verb = "verb" in elsewhere or each in template.statements
            found += _beginning(_FORMATTED.sub(VALUE, each), any_verb=any_verb)
    for change in found:
        # An argument or a variable of that name is any table.
        named = change.table != THIS or "this" not in template.bound
        table = change.table if named else None
        yield dataclasses.replace(change, table=table, package=package)


def _elsewhere(templates: Iterable[tuple[str | None, str, Template]]) -> set[str]:
    """What the parts of statements lack that the templates have: a ``verb``, what follows one."""
    found = set()
    for package, code, template in templates:
        if package in OWN_PACKAGES:
            continue
        if any(_VERB.match(each) for each in template.strings):
            found.add("verb")
        texts = [_FORMATTED.sub(VALUE, each) for each in template.texts]
        found |= {
            word
            for word, rest in _GOES_ON.items()
            if any(rest.search(each) for each in (code, *texts))
        }
    return found


def _given(
    own: Template, templates: Iterable[tuple[str | None, str, Template]], others: Iterable[str]
) -> set[str]:
    """The tables that may be meant where a statement has a variable or an argument for one."""
    found = {
        name
        for package, _, each in templates
        if package not in OWN_PACKAGES
        for name in each.tables
        if name is not None
    }
    names = {re.split(r"\W", text)[-1].lower() for text in own.strings}
    for key in others:
        # model.PACKAGE.NAME.VERSION, source.PACKAGE.SCHEMA.NAME
        kind, *path = key.lower().split(".")
        names.add(f"source {path[-1]}" if kind == "source" else path[min(1, len(path) - 1)])
    return found | names - {""}


def _verbs(template: Template) -> Iterator[Change]:
    """A statement that Jinja puts together: only its verb stands there."""
    sql = VALUE.join(_SQL_TEXT_OR_COMMENT.sub(" ", each) for each in template.sql)
    for text in (sql, *template.strings):
        verb = _WRITES.search(_RIGHTS.sub(" ", text))
        if verb is not None:
            yield Change(_upper(verb[1] or verb[2]))
            return


def _beginning(text: str, *, any_verb: bool) -> Iterator[Change]:
    """What a text of a template changes, where it is a statement or the beginning of one.

    Args:
        text: Of the template.
        any_verb: A value at its beginning may be a verb.
    """
    yield from _changing(text, any_verb=any_verb)
    begins = _SESSION_BEGINS.search(text)
    if begins is not None:
        yield Change(_upper(begins[1] or begins[2]), session=True)
    begins = _ALTER_BEGINS.search(text)
    if begins is not None:
        yield Change(_upper(begins[1]))


def _changing(code: str, *, any_verb: bool = True) -> Iterator[Change]:
    found = _OF_SESSION.search(_JINJA_SET.sub("{% ", code))
    if found is not None:
        yield Change(_upper(found[1]), session=True)
    for pattern in (_ANY, _PUT_TOGETHER) if any_verb else (_ANY,):
        for found in pattern.finditer(code):
            yield Change(_upper(found[1]))
    for pattern in (_CHANGES, _ALTERS):
        for found in pattern.finditer(code):
            if found[2] is not None:
                yield Change(_upper(found[1]), _table(found[2]))
            elif found[1].lower() != "update":  # GRANT UPDATE names no table
                yield Change(_upper(found[1]))


def _upper(words: str) -> str:
    return " ".join(words.upper().split())


def _table(target: str) -> str | None:
    """The name of the table that a statement changes; None: it may be any."""
    name = _NAME.fullmatch(target)
    if name is None or target.lower() == "identifier":  # a function, whose text is behind it
        return None
    last = name[1]
    if not last.startswith("{{"):
        return last.strip("`").lower()
    if _THIS.fullmatch(last):
        return THIS
    named = read_template(last).tables if _REFERENCE.fullmatch(last) else set()
    return next(iter(named), None)
