"""A file of Databricks statements: streaming tables, materialized views and views as items.

Queries stay as they are: they are Spark's, and Spark analyses them afterwards. What stands around
them is read here: columns, expectations, schedules, and ``STREAM read_files(...)``, a feed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from freshline.importing.databricks.around import (
    ANSI,
    PRODUCT,
    UNREAD,
    collations,
    differ,
    not_taken,
    setting_of,
    settings_behind,
    targets_of,
    unread_in,
    variable_in,
    without_live,
    written_by_flows,
)
from freshline.importing.databricks.read_files import NoFeedError, feed_in, streams_files
from freshline.importing.items import Found, Item, Role
from freshline.importing.scripts import Statement, read_script, source_item
from freshline.sql.text.appended import appended, has_watermark
from freshline.sql.text.reads import quoted, reads_of
from freshline.sql.text.statements import Head, StatementError, split
from freshline.sql.text.tokens import SqlTextError, Token, tokens

_FORM = "it makes no streaming table, materialized view or view"
_WORDS = (
    "PRIVATE", "STREAMING", "INCREMENTAL", "MATERIALIZED", "TEMPORARY", "TEMP", "LIVE", "TABLE",
    "VIEW",
)  # fmt: skip
_CELL = re.compile(r"^-- COMMAND -{3,}[ \t\r]*$", re.MULTILINE)
"""Ends a cell of an exported notebook, and with it a statement without a semicolon."""
_OTHER_CELL = re.compile(r"^-- MAGIC %(python|scala|r|run)\b", re.MULTILINE)
_NO_ANSI = (
    "The script does not set ANSI_MODE above its first table, and it is on here. Where it is off"
    " there (clusters before"
    " Runtime 17, warehouses of older accounts), size(NULL), '1.5' = 1 and 1 + '1' have other"
    f' values, and errors are NULL: then set {ANSI}: "false" under configuration:.'
)
_TEXT = re.compile(r"\b(STRING|VARCHAR|CHAR)\b", re.IGNORECASE)
_ON_NEWS = "tables are updated when what they read has news"


def read_databricks(path: Path) -> Found:
    """What the statements in ``path`` make.

    Raises:
        UserError: The file cannot be read, or a string or comment in it is not closed.
    """
    readers: list[_Reader] = []

    cells: list[str] = []

    def cut(text: str) -> list[_Reader]:
        cells.extend(dict.fromkeys(_OTHER_CELL.findall(text)))
        readers.extend(_readers(text))
        return readers

    found = read_script(path, PRODUCT, cut, _read)
    common = readers[0].common if readers else {}
    settings = {
        name: value
        for name, value in common.items()
        if value != UNREAD and name.lower().startswith("spark.")
    }
    notes = [
        f"SET {name} of the script is in `configuration:` of freshline.yml" for name in settings
    ]
    told = (not_taken(reader.setting) for reader in readers if reader.setting is not None)
    notes += dict.fromkeys(each for each in told if each is not None)
    notes += [f"Cells of %{each} in the notebook are not read." for each in cells]
    if ANSI not in common and any(_computes(reader.tokens) for reader in readers):
        notes.append(_NO_ANSI)
    return replace(found, configuration=settings, notes=(*found.notes, *notes))


def _readers(text: str) -> list[_Reader]:
    """A reader for each statement, with what the others say about it."""
    text = _CELL.sub(lambda found: ";".ljust(len(found[0])), text)
    readers = [_Reader(text, statement) for statement in split(tokens(text))]
    targets = targets_of(reader.tokens for reader in readers)
    standing: Mapping[str, str] = {}
    for reader in readers:
        reader.targets = targets
        reader.setting = setting_of(text, reader.tokens)
        standing = settings_behind(text, reader.tokens, standing)
        reader.settings = standing
    common = next((reader.settings for reader in readers if _computes(reader.tokens)), {})
    texts = [text[each.tokens[0].start : each.tokens[-1].end] for each in readers]
    for reader, collation_of in zip(readers, collations(texts), strict=True):
        reader.common = common
        reader.collation_of = collation_of
    return readers


def _computes(found: list[Token]) -> bool:
    """Whether a statement makes what has a query: settings decide nothing in others."""
    made = any(token.is_word("VIEW", "STREAMING", "LIVE") for token in found[1:6])
    return found[0].is_word("CREATE") and made


def _read(reader: _Reader) -> Statement:
    first, last = reader.tokens[0], reader.tokens[-1]
    return Statement(reader.text[first.start : last.end], first.line, *reader.item())


class _Reader(Head):
    """One statement."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        super().__init__(text, tokens)
        self.kind = ""
        self.temporary = False
        self.relation: tuple[str, ...] = ()
        self.casts: list[str] = []
        self.typed: list[tuple[str, str]] = []
        self.comments: dict[str, str] = {}
        self.lag: str | None = None
        self.changed: list[str] = []
        self.left_out: list[str] = []
        self.targets: Mapping[tuple[str, ...], str] = {}
        self.setting: tuple[str, str] | None = None
        self.settings: Mapping[str, str] = {}
        self.common: Mapping[str, str] = {}
        self.collation_of: Callable[[tuple[str, ...]], str | None] = lambda _: None

    def item(self) -> tuple[Item | None, str | None]:
        """The item that the statement makes, and why it is not taken (each may be None)."""
        if self.setting is not None:
            return None, None  # the tables below say so, or `configuration:` has it
        try:
            return self._made(), None
        except (StatementError, NoFeedError) as error:
            reason = error.what if isinstance(error, StatementError) else str(error)
            if not self.relation:
                return None, reason
            key = ".".join(self.relation).lower()
            item = Item(
                key, self.kind, "table", self.relation, refusal=reason, temporary=self.temporary
            )
            return item, reason

    def _made(self) -> Item:
        role = self._head()
        if variable := variable_in(self.text, self.tokens):
            self._refuse(variable)
        if self.kind == "table" and self._is_copied():
            self._refuse("it is filled once, when it is made: make it a materialized view")
        if self._take("("):
            self._columns_and_expectations()
        while self._peek() is not None and not self._take("AS"):
            self._clause()
        self._compare_by_bytes()
        if self.kind == "table":
            return self._source()
        written = written_by_flows(self.relation, self.targets)
        if written is not None or self._peek() is None:
            self._refuse(written or "it has no query")
        if others := differ(self.settings, self.common):
            self._refuse(
                f"SET {', '.join(others)} above it does not hold for the first tables of the"
                " script:"
                " import it as a project of its own, or cast in the query what the setting decides"
            )
        start, end = self.tokens[self.at].start, self.tokens[-1].end
        query = without_live(self.text[start:end])
        if unread := unread_in(query):
            self._refuse(unread)
        if self.kind != "streaming table" and streams_files(query):
            self._refuse(
                "it streams files, which a streaming table loads: make one of"
                " STREAM read_files(...) and read that here"
            )
        query, feed = feed_in(query)
        if feed is not None:
            self.changed.append(
                "it has no column _rescued_data; records that do not fit go to"
                f" {self.name}__rejected"
            )
            self.changed.append("a folder named as day=2026-01-31 gives its files no column day")
        else:
            self._compare(query)
        if self.casts:
            query = f"SELECT {', '.join(self.casts)} FROM ({query})"
        properties = {} if self.lag is None else {"freshline.target_lag": self.lag}
        own = {each.key: each.value for each in self.properties}
        properties |= {key: value for key, value in own.items() if key.startswith("freshline.")}
        return Item(
            ".".join(self.relation).lower(),
            self.kind,
            role if feed is None else "base",
            self.relation,
            query=query,
            comment=self.comment,
            properties={} if role == "view" else properties,
            partitioned_by=self.partitioned_by,
            columns={} if role == "view" else self.comments,
            feed=feed,
            temporary=self.temporary,
            changed=tuple(self.changed),
            left_out=tuple(self.left_out),
        )

    def _compare_by_bytes(self) -> None:
        """Refuses texts for which its schema says another comparison; views of a session have none.

        A COLLATE of a column is refused where the column is read.
        """
        collation = self.collation_of(self.relation)
        has_texts = self.kind != "table" or any(_TEXT.search(kind) for _, kind in self.typed)
        if collation is not None and has_texts and not self.temporary:
            self._refuse(
                f"its schema or catalog has DEFAULT COLLATION {collation}: Spark would compare its"
                " texts by their bytes"
            )

    def _compare(self, query: str) -> None:
        """Refuses a stream of a table that no view can be; says how its rows differ."""
        try:
            streamed = {read.name.lower() for read in reads_of(query) if read.stream}
        except SqlTextError:
            return  # it is refused for that later
        if not streamed or self.kind == "materialized view":
            return
        found = appended(query, streamed)
        if found.refusal is not None:
            self._refuse(f"it streams a table and {found.refusal}. {found.next_step.rstrip('.')}")
        if self.kind == "view" and has_watermark(query):
            self._refuse(
                "it has a watermark, which a query that reads it would need: put both into one"
                " streaming table"
            )
        if found.difference is not None:
            self.changed.append(found.difference)

    def _head(self) -> Role:
        if not self._take("CREATE"):
            self._refuse(_FORM)
        if self._take("OR") and not (self._take("REFRESH") or self._take("REPLACE")):
            self._refuse(_FORM)
        role: Role = "table"
        self.kind = self._kind_made()
        if self.kind == "view":
            role = "view"
        if self._take("IF"):
            self._expect("NOT")
            self._expect("EXISTS")
        parts: list[str] = []
        while not parts or self._take("."):
            token = self._next()
            if not token.is_name:
                self._refuse(variable_in(self.text, self.tokens) or "its name cannot be read")
            parts.append(token.name)
        self.relation = tuple(parts)
        self.name = parts[-1]
        return role

    def _kind_made(self) -> str:
        """What the words behind CREATE make; LIVE and INCREMENTAL are words of former versions."""
        words = []
        while (token := self._peek()) is not None and token.is_word(*_WORDS):
            self.at += 1
            words.append(token.text.upper())
            if words[-1] in ("TABLE", "VIEW"):
                break
        if words[-1:] == ["VIEW"] and "MATERIALIZED" in words:
            return "materialized view"
        if words[-1:] == ["VIEW"]:
            self.temporary = not {"TEMPORARY", "TEMP"}.isdisjoint(words)
            return "view"
        if words[-1:] != ["TABLE"] or "MATERIALIZED" in words:
            if self._peek() is not None and self.tokens[self.at].is_word("FLOW"):
                self._refuse("it is a flow: what is said of its target holds for it")
            self._refuse(_FORM)
        if "STREAMING" in words or "INCREMENTAL" in words:
            return "streaming table"
        return "materialized view" if "LIVE" in words else "table"

    def _is_copied(self) -> bool:
        """Whether a plain table has a query."""
        return any(token.is_word("AS") for token in self.tokens) and any(
            token.is_word("SELECT", "WITH", "FROM", "VALUES") for token in self.tokens
        )

    def _source(self) -> Item:
        """A plain table: something else fills it, so that it is loaded from a feed."""
        key = ".".join(self.relation).lower()
        return replace(
            source_item(key, self.relation, self.typed),
            comment=self.comment,
            columns=self.comments,
            left_out=tuple(self.left_out),
        )

    # ---- columns and expectations ----

    def _columns_and_expectations(self) -> None:
        untyped = False
        while True:
            if self._take("CONSTRAINT"):
                self._expectation()
            elif self._is_key():
                self._refuse("it has a key: `unique` and `not_null` of `checks:` are its like")
            else:
                name, kind = self._column()
                untyped = untyped or kind == ""
                self.typed.append((quoted(name), kind))
                self.casts.append(f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}")
            if self._take(")"):
                break
            self._expect(",")
        if untyped:
            self._refuse("its column list has no types: name the columns in the query")

    def _is_key(self) -> bool:
        token = self._peek()
        return token is not None and token.is_word("PRIMARY", "FOREIGN")

    def _column(self) -> tuple[str, str]:
        name = self._next()
        if not name.is_name:
            self._refuse(f"its column list has {name.text}")
        first, depth = self.at, 0
        while (token := self._peek()) is not None:
            if depth == 0 and (token.text in (",", ")") or token.is_word("COMMENT", "NOT")):
                break
            if token.is_word("MASK", "GENERATED", "DEFAULT", "PRIMARY", "COLLATE"):
                self._refuse(f"its column {name.name} has {token.text.upper()}")
            depth += token.text.count("(") + token.text.count("<")
            depth -= token.text.count(")") + token.text.count(">")
            self.at += 1
        kind = ""
        if self.at > first:
            kind = self.text[self.tokens[first].start : self.tokens[self.at - 1].end]
        if self._take("NOT"):
            self._expect("NULL")
            self.left_out.append(
                f"NOT NULL of {name.name}: `not_null` of `checks:` in freshline.yml says it"
            )
        if self._take("COMMENT"):
            self.comments[name.name] = self._string()
        return name.name, kind

    def _expectation(self) -> None:
        name = self._next().name
        self._expect("EXPECT")
        self._expect("(")
        depth = 1
        while depth:
            token = self._next()
            depth += token.is_symbol("(") - token.is_symbol(")")
        if not self._take("ON"):
            self.left_out.append(
                f"the expectation {name} is not counted; the rows are the same without it"
            )
            return
        self._refuse(
            f"its expectation {name} drops rows or fails the update: put its condition into the"
            " query's WHERE"
        )

    # ---- clauses ----

    def _clause(self) -> None:
        token = self._peek()
        assert token is not None
        if self._take("CLUSTER"):
            self._expect("BY")
            if self._take("("):
                while not self._take(")"):
                    self._next()
            else:
                self._next()  # AUTO or NONE
            self.left_out.append("CLUSTER BY: tables are not clustered")
        elif self._take("SCHEDULE"):
            self._schedule()
        elif self._take("TRIGGER"):
            self._expect("ON")
            self._expect("UPDATE")
            if self._take("AT"):
                for word in ("MOST", "EVERY", "INTERVAL"):
                    self._expect(word)
                self._every("TRIGGER ... AT MOST EVERY")
            else:
                self.left_out.append(f"TRIGGER ON UPDATE: {_ON_NEWS}")
        elif token.is_word("COMMENT", "PARTITIONED", "TBLPROPERTIES", "USING"):
            super()._clause()
        else:
            self._refuse(f"its clause {token.text.upper()} has no counterpart")

    def _schedule(self) -> None:
        self._take("REFRESH")
        if self._take("EVERY"):
            self._every("SCHEDULE EVERY")
            return
        self._expect("CRON")
        cron = self._string()
        if self._take("AT"):
            self._expect("TIME")
            self._expect("ZONE")
            self._string()
        self.left_out.append(
            f"SCHEDULE CRON '{cron}': {_ON_NEWS}; set 'freshline.target_lag' to what is wanted"
        )

    def _every(self, what: str) -> None:
        """A number and a unit, as the target lag."""
        token = self._next()
        number = token.value if token.kind == "string" else token.text
        unit = self._next().text.lower()
        if not number.strip().isdigit():
            self._refuse(f"the {what} of it cannot be read")
        self.lag = f"{int(number)} {unit}"
        self.changed.append(f"{what} {self.lag} is its target lag")

    def _next(self) -> Token:
        token = self._peek()
        if token is None:
            self._refuse("the statement ends too early")
        self.at += 1
        return token

    def _expect(self, what: str) -> None:
        if not self._take(what):
            token = self._peek()
            found = token.text if token else "the end of the statement"
            self._refuse(f"{what} is expected in it, not {found}")

    def _refuse(self, reason: str) -> NoReturn:
        self._fail("not-taken", reason, rule="")
