"""What statements of a script say about others: SET for those below, flows for their targets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from freshline.importing.scopes import Parts, Scope, ends_alike, scopes
from freshline.project.names import FILE_FORMATS
from freshline.project.sections.reader_options import NOT_ROWS
from freshline.sql.text.reads import options_at, quoted, reads_of
from freshline.sql.text.tokens import SqlTextError, Token, tokens

PRODUCT = "Databricks"
UNREAD = "?"
"""Stands for a setting whose value cannot be read."""
_VARIABLE = re.compile(r"\$\{[^}]*\}|\{\{[^}]*\}\}")
_PART = re.compile(r"`[^`]+`|\w+")
_COLLATION = re.compile(
    r"(?:CREATE|ALTER)\s+(SCHEMA|DATABASE|CATALOG)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"
    r"(?:((?:`[^`]+`|[\w.])+)(?=\s))?.*\bDEFAULT\s+COLLATION\s+`?(\w+)",
    re.IGNORECASE | re.DOTALL,
)
_BY_BYTES = "UTF8_BINARY"
_FORMATS = FILE_FORMATS | {"iceberg"}
ANSI = "spark.sql.ansi.enabled"
_ZONE = "spark.sql.session.timeZone"
_PARSER = "spark.sql.legacy.timeParserPolicy"
_OWN_NAMES = {
    "TIMEZONE": _ZONE,
    "ANSI_MODE": ANSI,
    "LEGACY_TIME_PARSER_POLICY": _PARSER,
}
"""Parameters of Databricks SQL, in any case, that are settings of Spark under another name."""
_NO_VALUES = frozenset({"LOCAL", "DEFAULT", "SYSTEM_DEFAULT"})
"""What stands there for a value that the script does not say."""
_CHANGES = (
    "changes are applied to it (AUTO CDC, APPLY CHANGES): keep the changes in a streaming table,"
    " and"
    " take the newest of each key in a materialized view: max_by(struct(*), sequence) ... GROUP BY"
    " key"
)
_INSERTS = (
    "flows insert into it (CREATE FLOW): make a streaming table of each flow's query, and of its"
    " own query if it has one, and a materialized view over them: SELECT ... UNION ALL SELECT ..."
)


def setting_of(text: str, found: Sequence[Token]) -> tuple[str, str] | None:
    """Name and value of a SET statement; None: it is none, or gives no value.

    Args:
        text: The script.
        found: The statement's tokens.
    """
    if len(found) < 2 or not found[0].is_word("SET") or found[1].is_word("CATALOG"):  # noqa: PLR2004
        return None
    if found[1].is_word("TIME"):
        last = found[-1]
        return _ZONE, last.value if last.kind == "string" else UNREAD
    name, equals, value = text[found[1].start : found[-1].end].partition("=")
    if not equals:
        return None
    name, value = name.strip().strip("`"), value.strip().strip("'\"")
    own = _OWN_NAMES.get(name.upper())
    if own is not None and (not value or value.upper() in _NO_VALUES):
        return own, UNREAD
    name = own or name
    if name in (ANSI, _PARSER):  # in any case
        value = value.lower() if name == ANSI else value.upper()
    return name, value


def settings_behind(
    text: str, found: Sequence[Token], standing: Mapping[str, str]
) -> Mapping[str, str]:
    """The settings that hold behind a statement.

    Args:
        text: The script.
        found: The statement's tokens.
        standing: What holds in front of it.
    """
    if (setting := setting_of(text, found)) is not None:
        return {**standing, **dict([setting])}
    if not found[0].is_word("RESET"):
        return standing
    name = text[found[0].end : found[-1].end].strip().strip("`")
    name = _OWN_NAMES.get(name.upper(), name)
    return {key: value for key, value in standing.items() if name and key != name}


def not_taken(setting: tuple[str, str]) -> str | None:
    """What the page says of a setting that Spark does not have; None: it may have it."""
    if setting[0].lower().startswith("spark."):
        return None
    if setting[0].upper().startswith(("VAR ", "VARIABLE ")):
        return (
            f"SET {setting[0]} of the script is not taken over: no view has a session's variables"
        )
    return f"SET {setting[0]} of the script is not taken over: Spark has no setting of that name"


def collations(texts: Sequence[str]) -> Iterator[Callable[[Parts], str | None]]:
    """For each statement: what texts of a table are compared by, if its schema says it, by name.

    A schema or catalog in front says it, the last one that can be the table's: any can be where a
    name cannot be read, or is not known.
    """
    known: list[tuple[str, Parts, str]] = []
    for text, scope in zip(texts, scopes(texts, PRODUCT), strict=True):
        yield partial(_collation_of, tuple(known), scope)
        if (found := _COLLATION.match(text)) is not None:
            kind = "CATALOG" if found[1].upper() == "CATALOG" else "SCHEMA"
            name = tuple(part.strip("`").lower() for part in _PART.findall(found[2] or ""))
            if kind == "SCHEMA" and len(name) == 1 and scope.database is not None:
                name = (scope.database.lower(), *name)
            known.append((kind, name, found[3]))


def _collation_of(
    known: Sequence[tuple[str, Parts, str]], scope: Scope, relation: Parts
) -> str | None:
    around = tuple(part.lower() for part in scope.full(relation)[:-1])
    for of_kind in ("SCHEMA", "CATALOG"):
        for kind, name, collation in reversed(known):
            outer = around[-2:-1] if kind == "CATALOG" else around
            if kind == of_kind and (not outer or not name or ends_alike(outer, name)):
                return None if collation.upper() == _BY_BYTES else collation
    return None


def targets_of(statements: Iterable[Sequence[Token]]) -> dict[tuple[str, ...], str]:
    """Why tables into which flows write have rows that no query of theirs makes, by their names.

    The parts of the names are in lower case.
    """
    targets = {}
    for found in statements:
        is_flow = found[0].is_word("CREATE") and any(each.is_word("FLOW") for each in found[1:4])
        is_change = found[0].is_word("APPLY", "AUTO")
        if not (is_flow or is_change):
            continue
        words = [each.text.upper() for each in found]
        if "INTO" not in words:
            continue
        changes = is_change or "CDC" in words or "CHANGES" in words
        name = _name(found, words.index("INTO") + 1)
        if name:
            targets[name] = _CHANGES if changes else _INSERTS
    return targets


def _name(found: Sequence[Token], at: int) -> tuple[str, ...]:
    """The parts of the name that stands there, in lower case; none: there is no name."""
    while at < len(found) and found[at].is_word("ONCE", "TABLE"):
        at += 1
    parts: list[str] = []
    while at < len(found) and found[at].is_name:
        parts.append(found[at].name.lower())
        if at + 1 >= len(found) or not found[at + 1].is_symbol("."):
            break
        at += 2
    return tuple(parts[1:] if parts[:1] == ["live"] else parts)


def written_by_flows(relation: Sequence[str], targets: Mapping[tuple[str, ...], str]) -> str | None:
    """Why a table is not taken into which flows write; None: none does.

    A name may leave out its first parts, so that the shorter one is the end of the longer one.
    """
    reasons = (reason for target, reason in targets.items() if ends_alike(relation, target))
    return next(reasons, None)


def variable_in(text: str, found: Sequence[Token]) -> str | None:
    """Why a statement with a variable is not taken; None: it has none.

    Spark leaves a variable that it does not know as it is, so that a query would compare with
    the text ``${country}``.

    Args:
        text: The script.
        found: The statement's tokens; a variable in a comment is none.
    """
    for match in _VARIABLE.finditer(text, found[0].start, found[-1].end):
        if any(token.start <= match.start() < token.end for token in found):
            return f"it has the variable {match[0]}, which the pipeline gives: write its value"
    return None


def unread_in(query: str) -> str | None:
    """Why a query that reads files by their path, or with options, is not taken; None: neither.

    Options that limit a batch decide no rows, and are passed over, as those of `read_files` are.
    """
    try:
        reads, found = reads_of(query), tokens(query)
    except SqlTextError:
        return None  # it is refused for that later
    for option in (option for at in range(len(found)) for option in options_at(found, at)):
        if option.lower() not in NOT_ROWS:
            return (
                f"it reads a table with the option {option}: here it has, and follows, all rows of"
                " what it reads. Remove the option if that is right"
            )
    for read in reads:
        is_path = any(sign in read.parts[-1] for sign in "/:")
        if len(read.parts) == 2 and read.parts[0].lower() in _FORMATS and is_path:  # noqa: PLR2004
            return (
                f"it reads the files of {read.parts[0]}.`{read.parts[1]}` by their path: read a"
                " table here, which a feed of these files fills (STREAM read_files) or which a"
                " catalog has"
            )
    return None


def differ(own: Mapping[str, str], common: Mapping[str, str]) -> list[str]:
    """Names of the settings in which two statements of a script differ, or that cannot be read."""
    unread = [name for name, value in own.items() if value == UNREAD]
    return unread + [
        name
        for name in {**common, **own}
        if name not in unread and own.get(name) != common.get(name) and _decides_rows(name)
    ]


def _decides_rows(name: str) -> bool:
    """Whether a setting may change what a query's rows are; pipelines' own do not."""
    lower = name.lower()
    return lower.startswith("spark.sql.") and not lower.startswith(
        ("spark.sql.adaptive.", "spark.sql.shuffle.", "spark.sql.autobroadcast")
    )


def without_live(query: str) -> str:
    """The query with its own names for ``LIVE.name``, which are tables of the same pipeline."""
    try:
        reads = reads_of(query)
    except SqlTextError:
        return query  # it is refused for that later
    for read in reversed(reads):
        if [part.lower() for part in read.parts[:-1]] == ["live"]:
            name = ("STREAM " if read.stream else "") + quoted(read.parts[-1])
            query = query[: read.start] + name + query[read.end :]
    return query
