"""A SQL file cut into statements, and the head of each one read.

The two statements that make tables are those of Spark's declarative pipelines::

    CREATE [OR REFRESH] STREAMING TABLE [IF NOT EXISTS] name clauses AS query
    CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] name clauses AS query

with the clauses USING DELTA, COMMENT 'text', PARTITIONED BY (column, ...) and TBLPROPERTIES
('key' = 'value', ...) in any order. Only the head is read here, token by token: the query
behind AS is kept character by character, because Spark shall run what the user wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn

from freshline.sql.text.tokens import Token

TableKind = Literal["base", "derived"]

FORM = (
    "a statement is CREATE STREAMING TABLE name AS query (a base table) or "
    "CREATE MATERIALIZED VIEW name AS query (a derived one)"
)
CLAUSES = ("COMMENT", "PARTITIONED BY", "TBLPROPERTIES", "USING DELTA")


@dataclass(frozen=True, slots=True)
class Property:
    """One entry of TBLPROPERTIES: its value as text, and the line of its key.

    ``file`` is where it stands when that is not the statement's file.
    """

    key: str
    value: str
    line: int
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One table as its statement defines it.

    Attributes:
        kind: base for a streaming table, derived for a materialized view.
        name: The table's name without backquotes.
        line: Line of CREATE.
        name_line: Line of the name.
        query: The text behind AS up to the statement's end, verbatim.
        query_line: Line on which the query's text starts.
        properties: All of TBLPROPERTIES, in order.
        partitioned_by: Column names.
        partitioned_line: Line of PARTITIONED BY, that of CREATE without it.
        comment: The table's comment.
        columns: Name and comment of each column in a column list; empty without one.
    """

    kind: TableKind
    name: str
    line: int
    name_line: int
    query: str
    query_line: int
    properties: tuple[Property, ...]
    partitioned_by: tuple[str, ...]
    partitioned_line: int
    comment: str | None
    columns: tuple[tuple[str, str | None], ...] = ()


class StatementError(Exception):
    """A head that cannot be read.

    Attributes:
        code: The error's code for the user.
        line: Where.
        name: The table's name when it was already known, so that those who read the table
            aren't told that it does not exist.
    """

    def __init__(
        self, code: str, what: str, line: int, rule: str, next_step: str, name: str | None = None
    ) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.line = line
        self.rule = rule
        self.next_step = next_step
        self.name = name


def split(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement, the semicolons between them left out."""
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.is_symbol(";"):
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def read_statement(text: str, tokens: list[Token]) -> Statement:
    """The statement that ``tokens`` spell; ``text`` is the whole file.

    Raises:
        StatementError: It is not one of the two forms.
    """
    return Head(text, tokens).read()


class Head:
    """A reader that steps through a statement's tokens.

    Another dialect's statements are read by a subclass: what it can use has one underscore.
    """

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.name: str | None = None
        self.properties: list[Property] = []
        self.partitioned_by: tuple[str, ...] = ()
        self.partitioned_line = tokens[0].line
        self.comment: str | None = None
        self.listed: list[tuple[str, str | None]] = []
        self.seen: set[str] = set()

    def read(self) -> Statement:
        """The whole statement.

        Raises:
            StatementError: It is not one of the two forms.
        """
        kind = self._kind()
        if self._take("IF"):
            self._expect("NOT")
            self._expect("EXISTS")
        name_token = self._table_name()
        while not self._take("AS"):
            self._clause()
        if self._peek() is None:
            self._fail("bad-statement", "the query behind AS is missing", rule=FORM)
        self._refuse_another()
        first, last = self.tokens[self.at], self.tokens[-1]
        return Statement(
            kind,
            name_token.name,
            self.tokens[0].line,
            name_token.line,
            self.text[first.start : last.end],
            first.line,
            tuple(self.properties),
            self.partitioned_by,
            self.partitioned_line,
            self.comment,
            tuple(self.listed),
        )

    def _refuse_another(self) -> None:
        """No query holds the head of a statement: a semicolon is missing in front of it."""
        for at in range(self.at, len(self.tokens)):
            if self._form_at(at) is not None:
                self.at = at
                self._fail(
                    "bad-statement",
                    f"another statement begins within the query of table {self.name}",
                    rule="statements are separated by semicolons",
                    next_step="Put a ; in front of it.",
                )

    def _form_at(self, at: int) -> tuple[TableKind, tuple[str, ...]] | None:
        """The kind of table that a statement makes which begins there, and its first words."""
        if not self.tokens[at].is_word("CREATE"):
            return None
        words = tuple(token.text.upper() for token in self.tokens[at : at + 5])
        forms = ((kind, form) for kind, forms in _HEADS.items() for form in forms)
        return next((each for each in forms if words[: len(each[1])] == each[1]), None)

    def _kind(self) -> TableKind:
        words = [token.text.upper() for token in self.tokens[:5] if token.kind == "word"]
        found = self._form_at(0)
        if found is None:
            shown = [token.text for token in self.tokens[: 3 if words[:1] == ["CREATE"] else 1]]
            self._fail(
                "unknown-statement",
                f"a statement starts with {' '.join(shown)}",
                rule=FORM,
                next_step="Rewrite the statement, or move the file out of the libraries.",
            )
        self.at = len(found[1])
        return found[0]

    def _table_name(self) -> Token:
        token = self._peek()
        if token is None or not token.is_name or token.is_word("AS"):
            self._fail("bad-statement", "the table's name is missing", rule=FORM)
        self.at += 1
        self.name = token.name
        behind = self._peek()
        if behind is not None and behind.is_symbol("."):
            self._fail(
                "bad-table-name",
                f"the table's name '{token.text}.…' has more than one part",
                rule="table t is kept at STORAGE/t and has no catalog or schema",
                next_step="Give the table a name of one part.",
            )
        if self._take("("):
            self._column_list(token.name)
        return token

    def _column_list(self, table: str) -> None:
        """Names of the query's columns, each with a comment or without."""
        while True:
            token = self._peek()
            if token is None or not token.is_name:
                self._no_type(table)
            self.at += 1
            comment = None
            if self._take("COMMENT"):
                comment = self._string()
            self.listed.append((token.name, comment))
            if self._take(")"):
                return
            if not self._take(","):
                self._no_type(table)

    def _no_type(self, table: str) -> NoReturn:
        self._fail(
            "column-list",
            f"the column list of table {table} says more than names and comments",
            rule="a table has exactly the columns of its query; a list names them, or some of them,"
            " in order, each with COMMENT 'text' or without",
            next_step="Cast the columns in the query instead.",
        )

    def _clause(self) -> None:
        token = self._peek()
        if token is None:
            self._fail("bad-statement", f"table {self.name} has no AS query", rule=FORM)
        word = token.text.upper() if token.kind == "word" else token.text
        if word in self.seen:
            self._fail(
                "duplicate-clause",
                f"table {self.name} has {word} twice",
                rule="each clause may be given once",
                next_step="Keep one of the two.",
            )
        self.seen.add(word)
        if self._take("COMMENT"):
            self.comment = self._string()
        elif self._take("PARTITIONED"):
            self.partitioned_line = token.line
            self._expect("BY")
            self.partitioned_by = self._columns()
        elif self._take("TBLPROPERTIES"):
            self._properties()
        elif self._take("USING"):
            self._using()
        else:
            self._fail(
                "unknown-clause",
                f"table {self.name} has the clause or word {token.text} in front of its query",
                rule=f"the clauses are {', '.join(CLAUSES)}, then AS query",
                next_step="Remove the clause or correct its name.",
            )

    def _using(self) -> None:
        token = self._peek()
        if token is None or not token.is_word("DELTA"):
            self._fail(
                "unknown-clause",
                f"table {self.name} asks for the format {token.text if token else ''}",
                rule="every table is a Delta table",
                next_step="Remove USING, or write USING DELTA.",
            )
        self.at += 1

    def _columns(self) -> tuple[str, ...]:
        columns = []
        self._expect("(")
        while True:
            token = self._peek()
            if token is None or not token.is_name:
                self._no_column()
            columns.append(token.name)
            self.at += 1
            if self._take(")"):
                return tuple(columns)
            if not self._take(","):
                self._no_column()

    def _no_column(self) -> NoReturn:
        self._fail(
            "bad-statement",
            f"PARTITIONED BY of table {self.name} is no list of columns",
            rule="it names columns of the query, like PARTITIONED BY (day, region)",
            next_step="Give the query a column for an expression and name that.",
        )

    def _properties(self) -> None:
        self._expect("(")
        while True:
            token = self._peek()
            line = token.line if token else 0
            key = self._property_key()
            self._take("=")
            self.properties.append(Property(key, self._property_value(key), line))
            if not self._take(","):
                self._expect(")")
                return

    def _property_key(self) -> str:
        token = self._peek()
        if token is not None and token.kind == "string":
            self.at += 1
            return token.value
        parts = []
        while (token := self._peek()) is not None and token.is_name:
            parts.append(token.name)
            self.at += 1
            if not self._take("."):
                break
        if not parts:
            self._fail(
                "bad-statement",
                f"TBLPROPERTIES of table {self.name} needs a key here",
                rule="it is a list of 'key' = 'value'",
            )
        return ".".join(parts)

    def _property_value(self, key: str) -> str:
        token = self._peek()
        if token is not None and token.kind == "string":
            self.at += 1
            return token.value
        text = ""
        while token is not None and (token.kind == "word" or token.text in {".", "-", "+"}):
            text += token.text
            self.at += 1
            token = self._peek()
        if not text:
            self._fail(
                "bad-statement",
                f"the property '{key}' of table {self.name} has no value",
                rule="TBLPROPERTIES is a list of 'key' = 'value'",
            )
        return text

    def _string(self) -> str:
        token = self._peek()
        if token is None or token.kind != "string":
            self._fail(
                "bad-statement",
                f"COMMENT of table {self.name} needs a text",
                rule="it is COMMENT 'text'",
            )
        self.at += 1
        return token.value

    def _peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _take(self, what: str) -> bool:
        token = self._peek()
        if token is None or not (token.is_word(what) or token.is_symbol(what)):
            return False
        self.at += 1
        return True

    def _expect(self, what: str) -> None:
        if not self._take(what):
            token = self._peek()
            found = token.text if token else "the end of the statement"
            self._fail("bad-statement", f"{what} is expected here, not {found}", rule=FORM)

    def _fail(
        self, code: str, what: str, *, rule: str, next_step: str = "Correct the statement."
    ) -> NoReturn:
        token = self.tokens[min(self.at, len(self.tokens) - 1)]
        raise StatementError(code, what, token.line, rule, next_step, self.name)


_HEADS: dict[TableKind, tuple[tuple[str, ...], ...]] = {
    "base": (
        ("CREATE", "STREAMING", "TABLE"),
        ("CREATE", "OR", "REFRESH", "STREAMING", "TABLE"),
    ),
    "derived": (
        ("CREATE", "MATERIALIZED", "VIEW"),
        ("CREATE", "OR", "REPLACE", "MATERIALIZED", "VIEW"),
        ("CREATE", "OR", "REFRESH", "MATERIALIZED", "VIEW"),
    ),
}
