"""A file of Snowflake statements: dynamic tables and views as items, their sources as feeds."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from freshline.core.errors import Place, UserError
from freshline.importing.items import Found, Item
from freshline.importing.snowflake.translation import SNOWFLAKE, UntranslatableError, translated
from freshline.sql.text.reads import quoted, reads_of, rewritten
from freshline.sql.text.tokens import SqlTextError

_NO_COUNTERPART = {
    "WAREHOUSE": "updates run on the project's tracks",
    "INITIALIZATION_WAREHOUSE": "updates run on the project's tracks",
    "INITIALIZE": "a table is first computed when `freshline run` starts",
    "CLUSTER BY": "tables are not clustered",
    "EXTERNAL_VOLUME": "tables are Delta tables in the project's storage",
    "CATALOG": "tables are Delta tables in the project's storage",
    "BASE_LOCATION": "tables are Delta tables in the project's storage",
}
_REFRESH_MODES = {"AUTO": "auto", "FULL": "full", "INCREMENTAL": "incremental"}
_HARMLESS = (exp.DynamicProperty, exp.TransientProperty)
_MADE = re.compile(
    r"CREATE\s+(?:\w+\s+)*?(?:TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?((?:\w+|\"[^\"]+\")"
    r"(?:\.(?:\w+|\"[^\"]+\"))*)",
    re.IGNORECASE,
)
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A statement's text, and the line on which it starts."""

    text: str
    line: int


def read_snowflake(path: Path) -> Found:
    """What the statements in ``path`` make.

    Raises:
        UserError: The file cannot be read, or a string or comment in it is not closed.
    """
    try:
        text = path.read_text(encoding="utf-8")
        pieces = _pieces(text)
    except (OSError, ValueError, SqlglotError) as error:
        raise UserError(
            "unreadable-file",
            f"the file cannot be read: {error}",
            where=Place(str(path)),
            rule="it holds Snowflake statements in UTF-8, with ; between them",
            next_step="Correct the file.",
        ) from error
    items: dict[str, Item] = {}
    rest: list[tuple[_Piece, str]] = []
    for piece in pieces:
        with _quiet():
            item, reason = _read(piece)
        if item is not None and item.key in items:
            reason = f"{item.key} is made by an earlier statement"
        elif item is not None:
            items[item.key] = item
        if reason is not None:
            rest.append((piece, reason))
    name = _UNFIT.sub("_", path.stem).lstrip(".-") or "imported"
    return Found(
        name,
        f"Snowflake script {path.name}",
        tuple(_with_sources(items)),
        notes=tuple(f"The statement on line {piece.line}: {reason}." for piece, reason in rest),
        appendix=_appendix(rest) if rest else None,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep sqlglot from logging what it does not know: the page names it."""
    log = logging.getLogger("sqlglot")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def _pieces(text: str) -> list[_Piece]:
    """The statements, without the semicolons and what stands between them."""
    pieces = []
    start = end = line = 0
    for token in SNOWFLAKE.tokenize(text):
        if token.token_type == TokenType.SEMICOLON:
            pieces.append(_Piece(text[start:end], line))
            start = end
        else:
            if start == end:
                start, line = token.start, token.line
            end = token.end + 1
    pieces.append(_Piece(text[start:end], line))
    return [piece for piece in pieces if piece.text]


def _read(piece: _Piece) -> tuple[Item | None, str | None]:
    """The item that a statement makes, and why it is not translated (each may be None)."""
    try:
        parsed = SNOWFLAKE.parse(piece.text)
    except SqlglotError as error:
        return _unread(piece, f"sqlglot cannot read it: {str(error).splitlines()[0]}")
    statement = parsed[0] if parsed else None
    if not isinstance(statement, exp.Create):
        return _unread(piece, "it makes no table, or in a form that sqlglot does not know")
    made = statement.this
    table = made.this if isinstance(made, exp.Schema) else made
    if not isinstance(table, exp.Table) or statement.kind not in {"TABLE", "VIEW"}:
        return None, "it makes no table"
    relation = tuple(part.name for part in table.parts)
    key = ".".join(relation).lower()
    properties = statement.args.get("properties")
    entries = list(properties.expressions) if properties is not None else []
    dynamic = any(isinstance(each, exp.DynamicProperty) for each in entries)
    query = statement.expression
    if not isinstance(query, exp.Query):
        if statement.kind == "TABLE" and not dynamic and not statement.args.get("clone"):
            return _source(key, relation), None
        return _unread(piece, "it has no query")
    if statement.kind == "TABLE" and not dynamic:
        reason = "its query was run once, when the table was made"
        return Item(key, "table", "table", relation, refusal=reason), reason
    item = (
        Item(key, "dynamic table", "table", relation)
        if dynamic
        else Item(key, "view", "view", relation)
    )
    try:
        if isinstance(made, exp.Schema) and made.expressions:
            raise UntranslatableError("it has a column list: name the columns in the query")
        text, different = translated(query)
        item = replace(item, query=text, changed=different)
        return (_with_properties(item, entries) if dynamic else item), None
    except UntranslatableError as error:
        return replace(item, query=None, refusal=str(error)), str(error)


def _unread(piece: _Piece, reason: str) -> tuple[Item | None, str]:
    """A table or view whose statement was not understood: its readers are not taken either."""
    made = _MADE.match(piece.text)
    if made is None:
        return None, reason
    relation = tuple(part.strip('"') for part in made[1].split("."))
    return Item(".".join(relation).lower(), "table", "table", relation, refusal=reason), reason


def _source(key: str, relation: tuple[str, ...]) -> Item:
    """A table that the script does not fill: its rows come from a feed."""
    folder = f"feed/{relation[-1].lower()}"
    return Item(
        key,
        "source table",
        "base",
        relation,
        feed={"kind": "files", "path": folder, "format": "parquet"},
        changed=(f"its rows come from Parquet files in {folder}: give the feed its real place",),
    )


def _with_properties(item: Item, entries: list[exp.Expression]) -> Item:
    properties: dict[str, str] = {}
    left_out: list[str] = []
    changed = list(item.changed)
    comment = None
    for entry in entries:
        if isinstance(entry, _HARMLESS):
            continue
        if isinstance(entry, exp.SchemaCommentProperty):
            comment = entry.this.name
            continue
        name = _name(entry)
        value = str(entry.args["value"].name) if entry.args.get("value") is not None else ""
        if name == "TARGET_LAG":
            properties["freshline.target_lag"] = value.upper() if _downstream(value) else value
        elif name == "REFRESH_MODE" and value.upper() in _REFRESH_MODES:
            properties["freshline.refresh"] = _REFRESH_MODES[value.upper()]
        elif name == "REFRESH_MODE":
            changed.append(f"REFRESH_MODE {value.upper()} became auto")
        elif name in _NO_COUNTERPART:
            left_out.append(f"{name}: {_NO_COUNTERPART[name]}")
        elif isinstance(entry, exp.IcebergProperty):
            changed.append("Delta, not Iceberg")
        else:
            raise UntranslatableError(f"its {name} has no counterpart")
    return replace(
        item,
        comment=comment,
        properties=properties,
        changed=tuple(changed),
        left_out=tuple(left_out),
    )


def _name(entry: exp.Expression) -> str:
    if isinstance(entry, exp.ClusterProperty | exp.Cluster):
        return "CLUSTER BY"
    if isinstance(entry, exp.Property) and isinstance(entry.this, exp.Expression):
        return str(entry.this.name).upper()
    return " ".join(entry.sql(dialect="snowflake").split()).upper()


def _downstream(value: str) -> bool:
    return value.upper() == "DOWNSTREAM"


def _with_sources(items: Mapping[str, Item]) -> list[Item]:
    """The items with one spelling of each table's name, and a source for each unknown one."""
    known = dict(items)
    names = [
        tuple(part.lower() for part in read.parts)
        for item in items.values()
        if item.query is not None
        for read in reads_of(item.query)
    ]
    for name in sorted(set(names), key=len, reverse=True):  # the most parts first
        if not _matches(name, known):
            known[".".join(name)] = _source(".".join(name), name)
    return [_spelt(item, known) for item in known.values()]


def _matches(name: tuple[str, ...], known: Mapping[str, Item]) -> list[Item]:
    """The items that ``name`` can mean: the shorter name is the end of the longer one."""
    found = []
    for item in known.values():
        relation = tuple(part.lower() for part in item.relation)
        size = min(len(relation), len(name))
        if relation[-size:] == name[-size:]:
            found.append(item)
    exact = [each for each in found if tuple(p.lower() for p in each.relation) == name]
    return exact or found


def _spelt(item: Item, known: Mapping[str, Item]) -> Item:
    if item.query is None:
        return item
    spelling = {}
    try:
        for read in reads_of(item.query):
            found = _matches(tuple(part.lower() for part in read.parts), known)
            if len(found) > 1:
                keys = ", ".join(each.key for each in found)
                return replace(item, refusal=f"{read.name} in it can be any of {keys}")
            spelling[read.name] = ".".join(quoted(part) for part in found[0].relation)
    except SqlTextError as error:
        return replace(item, refusal=f"its SQL cannot be read: {error.what}")
    return replace(item, query=rewritten(item.query, spelling))


def _appendix(rest: list[tuple[_Piece, str]]) -> str:
    """The statements as comments, each under its reason."""
    parts = ["-- Statements that were not translated; freshline does not read this file."]
    for piece, reason in rest:
        lines = [f"-- Line {piece.line}: {reason}", *piece.text.splitlines()]
        parts.append("\n".join(line if line.startswith("--") else f"--   {line}" for line in lines))
    return "\n\n".join(parts) + "\n"
