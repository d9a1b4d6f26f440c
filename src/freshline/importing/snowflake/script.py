"""A file of Snowflake statements: dynamic tables and views as items, their sources as feeds."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from freshline.importing.items import Found, Item
from freshline.importing.scopes import SNOWFLAKE as PRODUCT
from freshline.importing.scopes import scopes
from freshline.importing.scripts import Statement, read_script, source_item
from freshline.importing.snowflake.faults import UntranslatableError
from freshline.importing.snowflake.head import Column, listed_columns, named, without_clauses
from freshline.importing.snowflake.kinds import Kinds
from freshline.importing.snowflake.repeated import repeated
from freshline.importing.snowflake.session import (
    BEFORE_ZONE,
    UNREAD,
    ZONE,
    Collations,
    altered,
    session_faults,
    zone_of,
)
from freshline.importing.snowflake.tables import (
    Tables,
    made_in,
    name_of,
    say_names,
    with_public,
)
from freshline.importing.snowflake.times import by_session, needs_zone
from freshline.importing.snowflake.translation import (
    SNOWFLAKE,
    parsed,
    say_recursive,
    stored_type,
    translated,
)
from freshline.importing.snowflake.variables import variable_fault, variable_notes
from freshline.sql.text.reads import backquoted

EXACT_DECIMALS = {
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
}
"""Without them a NUMBER(10, 2) that meets a NUMBER(38, 0) loses its fraction (docs/design/0380)."""
_NO_COUNTERPART = {
    "WAREHOUSE": "updates run on the project's tracks",
    "INITIALIZATION_WAREHOUSE": "updates run on the project's tracks",
    "INITIALIZE": "a table is first computed when `freshline run` starts",
    "CLUSTER BY": "tables are not clustered",
    "EXTERNAL_VOLUME": "tables are Delta tables in the project's storage",
    "CATALOG": "tables are Delta tables in the project's storage",
    "BASE_LOCATION": "tables are Delta tables in the project's storage",
    "SCHEDULER": "every table of the project is updated",
    "DATA_RETENTION_TIME_IN_DAYS": "`maintenance:` says how long versions stay",
    "MAX_DATA_EXTENSION_TIME_IN_DAYS": "`maintenance:` says how long versions stay",
    "COPY GRANTS": "rights are the catalog's",
    "COPY TAGS": "tables have no tags",
    "TAG": "tables have no tags",
}
_REFRESH_MODES = {"AUTO": "auto", "FULL": "full", "INCREMENTAL": "incremental"}
_HARMLESS = (
    exp.DynamicProperty
    | exp.TransientProperty
    | exp.TemporaryProperty
    | exp.MaterializedProperty
    | exp.SecureProperty
)
_MADE = re.compile(
    r"CREATE\s+(?:(?!ON\b)\w+\s+)*?(?:TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?((?:[\w$]+|\"[^\"]+\")"
    r"(?:\.(?:[\w$]+|\"[^\"]+\"))*)",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"(INSERT|MERGE|UPDATE|DELETE|TRUNCATE|COPY|ALTER(?!\s+SESSION)|DROP|UNDROP)\s", re.IGNORECASE
)
_CHANGED = "it changes what was made, and is not carried out: tables are taken as their CREATE says"
_SET_ZONE = (
    "the script has no ALTER SESSION SET TIMEZONE. Set spark.sql.session.timeZone under"
    " configuration: to what SHOW PARAMETERS LIKE 'TIMEZONE' says in Snowflake"
)
_NO_ZONE = (
    "Some tables are computed in Spark's time zone, where Snowflake takes the session's: they"
    " compare or combine a TIMESTAMP_TZ or TIMESTAMP_LTZ with a text, DATE or TIMESTAMP_NTZ, or a"
    " value whose type the script does not say, and that may be one of these, is compared with a"
    f" date or becomes one; and {_SET_ZONE}. They are"
)
_PART = re.compile(r"\"[^\"]+\"|[\w$]+")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A statement.

    Attributes:
        text: As it stands there.
        line: On which it starts.
        parsed: What sqlglot reads; None: nothing.
        changed: What is different without the clauses that sqlglot does not know.
        left_out: Those of them that were left out, with the reason.
        fault: Why it is not understood; None: it is.
        tables: What the whole script makes.
        zone: The time zone that the script sets; None: it sets none.
        replaced: A later statement makes another table of its name.
        altered: The parameters that it sets, if it is an ALTER SESSION.
        collation: What its schema or database says about texts of new tables; None: nothing.
    """

    text: str
    line: int
    parsed: exp.Expr | None = None
    changed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    fault: str | None = None
    tables: Tables = field(default_factory=Tables)
    zone: str | None = None
    replaced: bool = False
    altered: Mapping[str, str | None] = field(default_factory=dict)
    collation: str | None = None


def read_snowflake(path: Path) -> Found:
    """What the statements in ``path`` make.

    Raises:
        UserError: The file cannot be read, or a string or comment in it is not closed.
    """
    of_zone: dict[str, None] = {}

    def read(piece: _Piece) -> Statement:
        statement = _statement(piece)
        if statement.item is not None and _depends_on_zone(piece, statement.item):
            of_zone[statement.item.key] = None
        return statement

    found = read_script(path, PRODUCT, _pieces, read, EXACT_DECIMALS)
    if not of_zone:
        return found
    return replace(found, notes=(*found.notes, f"{_NO_ZONE} {', '.join(of_zone)}."))


def _depends_on_zone(piece: _Piece, item: Item) -> bool:
    """Whether an item is computed in a time zone that the script does not say."""
    made = piece.parsed
    if piece.zone is not None or item.query is None or not isinstance(made, exp.Create):
        return False
    return _depends(by_session, made, piece.tables)


def _depends(by: Callable[[exp.Expr, Kinds], bool], made: exp.Create, tables: Tables) -> bool:
    """Whether the query of what a statement makes depends on something."""
    query = made.expression
    if not isinstance(query, exp.Query):
        return False
    try:
        return by(_with_list(made.this, query)[0], Kinds(tables))
    except UntranslatableError:
        return True


def _statement(piece: _Piece) -> Statement:
    if piece.replaced:
        reason = "a later statement replaces what it makes"
        return Statement(piece.text, piece.line, None, reason)
    zone = piece.altered.get(ZONE)
    if zone is not None and zone != UNREAD:
        settings = {"spark.sql.session.timeZone": zone}
        return Statement(piece.text, piece.line, None, None, settings)
    return Statement(piece.text, piece.line, *_read(piece))


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
            pieces.append((text[start:end], line))
            start = end
        else:
            if start == end:
                start, line = token.start, token.line
            end = token.end + 1
    pieces.append((text[start:end], line))
    with _quiet():
        found = [_parsed(each, line) for each, line in pieces if each]
    statements = [each.parsed for each in found]
    collations = _around(found)
    replaced, by_case = repeated(statements)
    tables = Tables(
        each
        for at, each in enumerate(statements)
        if isinstance(each, exp.Create) and at not in replaced
    )
    parameters = [altered(each.text) for each in found]
    zone = zone_of(parameters)
    faults = session_faults(
        statements, parameters, zone, lambda made: _depends(needs_zone, made, tables)
    )
    return [
        replace(
            piece,
            tables=tables,
            zone=zone,
            changed=(*piece.changed, *([BEFORE_ZONE] if fault == BEFORE_ZONE else [])),
            fault=piece.fault or by_case.get(at) or (fault if fault != BEFORE_ZONE else None),
            replaced=at in replaced,
            altered=parameters[at],
            collation=collations[at],
        )
        for at, (piece, fault) in enumerate(zip(found, faults, strict=True))
    ]


def _around(pieces: list[_Piece]) -> list[str | None]:
    """The collation that its schema says for each statement; whole names are noted in them."""
    known, found = Collations(), []
    texts = (each.text for each in pieces)
    for piece, scope in zip(pieces, scopes(texts, PRODUCT), strict=True):
        say_names(piece.parsed, scope)
        known.say(piece.text, scope)
        made = made_in(piece.parsed)
        found.append(None if made is None else known.of(name_of(made)))
    return found


def _parsed(text: str, line: int) -> _Piece:
    try:
        plain, changed, left_out = without_clauses(text)
        found = parsed(plain)
    except UntranslatableError as error:
        return _Piece(text, line, fault=str(error))
    except SqlglotError as error:
        return _Piece(text, line, fault=f"sqlglot cannot read it: {_first_line(error)}")
    statement = found[0] if found else None
    if statement is not None:
        say_recursive(statement)
        with_public(statement)
    changed = (*changed, *variable_notes(statement))
    return _Piece(text, line, statement, changed, left_out, variable_fault(statement))


def _read(piece: _Piece) -> tuple[Item | None, str | None]:
    """The item that a statement makes, and why it is not translated (each may be None)."""
    statement, changed, left_out = piece.parsed, piece.changed, piece.left_out
    if piece.fault is not None:
        return _unread(piece, piece.fault)
    if not isinstance(statement, exp.Create):
        return _unread(piece, "it makes no table, or in a form that sqlglot does not know")
    made, table = statement.this, made_in(statement)
    if table is None:
        return None, "it makes no table"
    relation = tuple(part.name for part in table.parts)
    key = ".".join(relation).lower()
    properties = statement.args.get("properties")
    entries = list(properties.expressions) if properties is not None else []
    dynamic = any(isinstance(each, exp.DynamicProperty) for each in entries)
    query = statement.expression
    if not isinstance(query, exp.Query):
        told = _collated(made, entries, piece.collation) or _guarded(made, entries)
        if told is not None:
            return Item(key, "table", "table", relation, refusal=told), told
        if statement.kind == "TABLE" and not dynamic and not statement.args.get("clone"):
            item = source_item(key, relation, _columns(made))
            changed = (*item.changed, *([] if piece.zone else _zoned(made)))
            comments = _comments(made)
            return replace(item, comment=_comment(entries), columns=comments, changed=changed), None
        return _unread(piece, "it has no query")
    if statement.kind == "TABLE" and not dynamic:
        reason = "its query was run once, when the table was made"
        return Item(key, "table", "table", relation, refusal=reason), reason
    item = Item(key, "view", "view", relation, changed=changed, left_out=left_out)
    if dynamic:
        item = replace(item, kind="dynamic table", role="table")
    elif any(isinstance(each, exp.MaterializedProperty) for each in entries):
        item = replace(item, kind="materialized view", role="table")
    return _filled(item, piece.tables, made, query, entries)


def _filled(
    item: Item,
    tables: Tables,
    made: exp.Expression,
    query: exp.Query,
    entries: list[exp.Expression],
) -> tuple[Item, str | None]:
    """The item with its query, columns and properties, or the reason why it has none."""
    try:
        query, listed = _with_list(made, query)
        text, different = translated(query, tables)
        required = tuple(
            f"NOT NULL of {each.name.name}: `not_null` of `checks:` in freshline.yml says it"
            for each in listed
            if each.required
        )
        comments = {each.name.name: each.comment for each in listed if each.comment}
        taken = replace(
            item,
            query=text,
            changed=(*item.changed, *different),
            left_out=(*item.left_out, *required),
            columns=comments,
        )
        return _with_properties(taken, entries), None
    except UntranslatableError as error:
        return replace(item, query=None, refusal=str(error)), str(error)


def _with_list(made: exp.Expression, query: exp.Query) -> tuple[exp.Query, Sequence[Column]]:
    """The query with the names and types of the column list, and that list."""
    listed = listed_columns(made)
    return (named(query, listed) if listed else query), listed


def _first_line(error: SqlglotError) -> str:
    return str(error).splitlines()[0].rstrip(".")


def _unread(piece: _Piece, reason: str) -> tuple[Item | None, str]:
    """A table or view whose statement was not understood: its readers are not taken either."""
    made = _MADE.match(piece.text)
    if made is None:
        return None, _CHANGED if _CHANGES.match(piece.text) else reason
    relation = tuple(part.strip('"') for part in _PART.findall(made[1]))
    return Item(".".join(relation).lower(), "table", "table", relation, refusal=reason), reason


def _columns(made: exp.Expression) -> list[tuple[str, str]]:
    """The names and types of the declared columns in Spark's SQL; none where one has no type."""
    found = []
    for each in made.expressions if isinstance(made, exp.Schema) else ():
        if not isinstance(each, exp.ColumnDef):
            continue  # a constraint of the table
        kind = each.args.get("kind")
        if not isinstance(kind, exp.DataType):
            return []
        found.append((backquoted(each.name), stored_type(kind)))
    return found


def _collated(
    made: exp.Expression, entries: list[exp.Expression], around: str | None
) -> str | None:
    """That texts of a table are not compared by their bytes; None: they are.

    Args:
        made: Its name and columns.
        entries: Its properties.
        around: The collation that its schema or database says.
    """
    told = [
        (f"its column {column.name} has COLLATE", kind.this.name)
        for column in made.find_all(exp.ColumnDef)
        for kind in column.find_all(exp.CollateColumnConstraint)
    ]
    own = [
        ("it has DEFAULT_DDL_COLLATION", entry.args["value"].name)
        for entry in entries
        if _name(entry) == "DEFAULT_DDL_COLLATION" and entry.args.get("value") is not None
    ]
    if around is not None and not own and any(map(_is_plain_text, made.find_all(exp.ColumnDef))):
        own = [("its schema or database has DEFAULT_DDL_COLLATION", around)]
    for what, collation in (*told, *own):
        if collation.lower() not in {"", "utf8", "bin"}:
            return f"{what} '{collation}': Spark would compare its texts by their bytes"
    return None


def _is_plain_text(column: exp.ColumnDef) -> bool:
    """Whether a column is a text that does not say how it is compared."""
    kind = column.args.get("kind")
    is_text = isinstance(kind, exp.DataType) and kind.this in exp.DataType.TEXT_TYPES
    return is_text and column.find(exp.CollateColumnConstraint) is None


def _guarded(made: exp.Expression, entries: list[exp.Expression]) -> str | None:
    """That a policy decides what a reader sees of a table; None: none does."""
    for entry in entries:
        if isinstance(entry, exp.RowAccessProperty):
            return f"its {_name(entry)} has no counterpart"
    for column in made.find_all(exp.ColumnDef):
        for kind in column.find_all(
            exp.MaskingPolicyColumnConstraint, exp.ProjectionPolicyColumnConstraint
        ):
            return f"its column {column.name} has {kind.sql(dialect='snowflake')}"
    return None


def _zoned(made: exp.Expression) -> list[str]:
    """What is to be said of columns whose dates and hours depend on the session's time zone."""
    names = [
        column.name
        for column in made.find_all(exp.ColumnDef)
        if (kind := column.args.get("kind")) is not None and kind.this == exp.DType.TIMESTAMPLTZ
    ]
    if not names:
        return []
    told = (
        f"dates and hours of {', '.join(names)} (TIMESTAMP_LTZ) are those of Spark's time zone:"
        f" {_SET_ZONE}"
    )
    return [told]


def _comments(made: exp.Expression) -> dict[str, str]:
    """The comments of a table's columns, by name."""
    found = {}
    for column in made.find_all(exp.ColumnDef):
        for kind in column.find_all(exp.CommentColumnConstraint):
            found[column.name] = kind.this.name
    return found


def _comment(entries: list[exp.Expression]) -> str | None:
    found = (each.this.name for each in entries if isinstance(each, exp.SchemaCommentProperty))
    return next(found, None)


def _with_properties(item: Item, entries: list[exp.Expression]) -> Item:
    properties: dict[str, str] = {}
    left_out = list(item.left_out)
    changed = list(item.changed)
    for entry in entries:
        if isinstance(entry, _HARMLESS | exp.SchemaCommentProperty):
            continue
        name = _name(entry)
        value = str(entry.args["value"].name) if entry.args.get("value") is not None else ""
        if name in {"TARGET_LAG", "LAG"}:
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
        comment=_comment(entries),
        properties=properties,
        changed=tuple(changed),
        left_out=tuple(left_out),
    )


def _name(entry: exp.Expression) -> str:
    if isinstance(entry, exp.ClusterProperty | exp.Cluster):
        return "CLUSTER BY"
    if isinstance(entry, exp.Tags):
        return "TAG"
    if isinstance(entry, exp.RowAccessProperty):
        return "ROW ACCESS POLICY"
    if isinstance(entry, exp.Property) and isinstance(entry.this, exp.Expression):
        return str(entry.this.name).upper()
    return " ".join(entry.sql(dialect="snowflake").split()).upper()


def _downstream(value: str) -> bool:
    return value.upper() == "DOWNSTREAM"
