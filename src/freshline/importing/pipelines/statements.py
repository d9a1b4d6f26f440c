"""The SQL files of a pipeline: what each statement defines, and what it changes for the next ones.

``SET`` and ``USE`` hold for the statements behind them in the same file, as in Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from freshline.core.errors import Place, UserError
from freshline.importing.pipelines.definitions import (
    Column,
    Definitions,
    Flow,
    Output,
    OutputKind,
)
from freshline.project.names import Scope
from freshline.project.sections.libraries import unclosed
from freshline.sql.text.statements import Head, StatementError, split
from freshline.sql.text.tokens import SqlTextError, Token, tokens

FORM = (
    "a pipeline's SQL has CREATE STREAMING TABLE, CREATE MATERIALIZED VIEW, CREATE TEMPORARY VIEW,"
    " CREATE FLOW ... AS INSERT INTO, SET and USE"
)
_CLAUSES = "COMMENT, PARTITIONED BY, CLUSTER BY, TBLPROPERTIES, USING"
_REPLACE = ("REPLACE", "REFRESH")
_OF_COLUMNS = ("NOT", "NULL", "DEFAULT", "GENERATED", "CONSTRAINT", "PRIMARY", "FOREIGN", "COLLATE")


@dataclass(slots=True)
class _Standing:
    """What statements of a file before hold for one behind them."""

    scope: Scope
    settings: dict[str, str] = field(default_factory=dict)


def read_sql(text: str, file: str, scope: Scope, found: Definitions) -> None:
    """Adds what a SQL file defines.

    Args:
        text: All of it.
        file: Its name in messages.
        scope: What short names belong to at its start.
        found: Added to.
    """
    standing = _Standing(scope)
    try:
        statements = split(tokens(text))
    except SqlTextError as error:
        found.errors.append(unclosed(error, file))
        return
    for statement in statements:
        head = _Head(text, statement, file, standing, found)
        try:
            head.define()
        except StatementError as error:
            found.lost_flow |= any(token.is_word("FLOW") for token in statement[1:2])
            if error.name is not None:
                found.broken.add(error.name.lower())
            found.errors.append(
                UserError(
                    error.code,
                    error.what,
                    where=Place(file, error.line),
                    rule=error.rule,
                    next_step=error.next_step,
                )
            )


class _Head(Head):
    """One statement of a pipeline."""

    def __init__(
        self, text: str, tokens: list[Token], file: str, standing: _Standing, found: Definitions
    ) -> None:
        super().__init__(text, tokens)
        self.file = file
        self.standing = standing
        self.found = found
        self.notes: list[str] = []
        self.columns: tuple[Column, ...] = ()

    def define(self) -> None:
        """Add what the statement defines.

        Raises:
            StatementError: It is none that a pipeline can have, or none that is taken.
        """
        if self._take("SET"):
            self._set()
        elif self._take("USE"):
            self._use()
        elif self._take("CREATE"):
            self._create()
        else:
            self._unknown()

    # ---- SET and USE ----

    def _set(self) -> None:
        if self._take("CATALOG"):
            self._use_catalog()
            return
        if self._take("TIME"):
            self._expect("ZONE")
            self.standing.settings["spark.sql.session.timeZone"] = self._string()
            return
        rest = self.text[self.tokens[self.at].start : self.tokens[-1].end] if self._peek() else ""
        name, equals, value = rest.partition("=")
        if not equals or not name.strip():
            self._fail(
                "bad-statement",
                "SET gives no value",
                rule="in a pipeline it is SET name = value",
                next_step="Give the value, or remove the statement.",
            )
        self.standing.settings[name.strip().strip("`")] = value.strip()

    def _use(self) -> None:
        if self._take("CATALOG"):
            self._use_catalog()
            return
        for word in ("NAMESPACE", "DATABASE", "SCHEMA"):
            if self._take(word):
                break
        *catalog, database = self._named(2)
        said = catalog[0] if catalog else self.standing.scope.catalog
        self.standing.scope = Scope(said, database)

    def _use_catalog(self) -> None:
        """The schema is `default` then, as for Databricks; for Spark short names have none."""
        token = self._peek()
        if token is not None and token.kind == "string" and token is self.tokens[-1]:
            self.standing.scope = Scope(token.value)
        else:
            self.standing.scope = Scope(self._named(1)[0])

    def _named(self, most: int) -> tuple[str, ...]:
        """The name at the end of USE or SET CATALOG."""
        parts = self._parts()
        if self._peek() is not None or len(parts) > most:
            said = self.text[self.tokens[0].start : self.tokens[-1].end]
            self._fail(
                "bad-statement",
                f"{said} names no catalog or schema",
                rule="it is USE schema, USE catalog.schema or SET CATALOG catalog",
                next_step="Write the name itself.",
            )
        return parts

    # ---- CREATE ----

    def _create(self) -> None:
        if self._take("OR") and not any(self._take(word) for word in _REPLACE):
            self._unknown()
        if self._take("STREAMING"):
            self._expect("TABLE")
            self._dataset("streaming")
        elif self._take("MATERIALIZED"):
            self._expect("VIEW")
            self._dataset("view")
        elif self._take("FLOW"):
            self._flow()
        elif self._take("TEMPORARY") or self._take("TEMP"):
            self._expect("VIEW")
            self._dataset("temporary")
        elif self._take("VIEW"):
            self.notes.append("is put into the queries that read it, and is in no catalog")
            self._dataset("temporary")
        else:
            self._unknown()

    def _dataset(self, kind: OutputKind) -> None:
        if self._take("IF"):
            self._expect("NOT")
            self._expect("EXISTS")
        name_line = self.tokens[min(self.at, len(self.tokens) - 1)].line
        parts = self._parts()
        self.name = parts[-1]
        parts = parts[-1:] if kind == "temporary" else self.standing.scope.full(parts)
        if self._take("("):
            self.columns = self._declared(typed=kind != "temporary")
        while self._peek() is not None and not self._take("AS"):
            self._clause()
        if self._peek() is None and kind != "streaming":
            self._fail("bad-statement", f"the query of {self.name} behind AS is missing", rule=FORM)
        output = Output(
            kind,
            parts,
            Place(self.file, self.tokens[0].line),
            name_line,
            tuple(self.properties),
            self.columns,
            self.partitioned_by,
            self.partitioned_line,
            self.comment,
            tuple(self.notes),
        )
        self.found.outputs.append(output)
        if self._peek() is not None:
            self._add_flow(self.name, output.key)

    def _flow(self) -> None:
        name = self._parts()[-1]
        if self._take("COMMENT"):
            self._string()
        self._expect("AS")
        if not self._take("INSERT"):
            self._refuse_cdc()
        self._expect("INTO")
        if self._take("ONCE"):
            self._fail(
                "once-flow",
                f"flow {name} inserts once",
                rule="a table is its query over all data that came",
                next_step="Load the data as a feed or a table of its own.",
            )
        self._take("TABLE")
        target = self.standing.scope.full(self._parts())
        if not self._take("BY"):
            self._fail(
                "by-position",
                f"flow {name} inserts by the position of columns",
                rule="the rows of a flow go by the names of their columns, under Spark too",
                next_step="Write INSERT INTO ... BY NAME SELECT ...",
            )
        self._expect("NAME")
        if self._peek() is None:
            self._fail("bad-statement", f"flow {name} has no query", rule=FORM)
        self._add_flow(name, tuple(part.lower() for part in target))

    def _add_flow(self, name: str, target: tuple[str, ...]) -> None:
        first, last = self.tokens[self.at], self.tokens[-1]
        self.found.flows.append(
            Flow(
                name,
                target,
                self.text[first.start : last.end],
                Place(self.file, first.line),
                self.standing.scope,
                dict(self.standing.settings),
            )
        )

    def _clause(self) -> None:
        token = self._peek()
        assert token is not None
        if self._take("CLUSTER"):
            self._expect("BY")
            self._expect("(")
            while not self._take(")"):
                self._next()
            self.notes.append("is not clustered: CLUSTER BY is left out")
        elif self._take("USING"):
            format_ = self._next().text
            if format_.upper() != "DELTA":
                self.notes.append(f"is a Delta table, not {format_}")
        elif token.is_word("FLOW"):
            self.at += 1
            self._refuse_cdc()
        elif token.is_word("COMMENT", "PARTITIONED", "TBLPROPERTIES"):
            super()._clause()
        else:
            self._fail(
                "unknown-clause",
                f"dataset {self.name} has the clause or word {token.text} in front of its query",
                rule=f"the clauses are {_CLAUSES}, then AS query",
                next_step="Remove the clause or correct its name.",
            )

    def _declared(self, *, typed: bool) -> tuple[Column, ...]:
        """The columns in parentheses."""
        columns = []
        while True:
            name = self._next()
            if not name.is_name or (typed and name.is_word("CONSTRAINT")):
                self._unfit_column(name.text)
            kind = self._type() if typed else ""
            comment = self._string() if self._take("COMMENT") else None
            columns.append(Column(name.name, kind, comment))
            if self._take(")"):
                return tuple(columns)
            if not self._take(","):
                token = self._peek()
                self._unfit_column(token.text if token else "the end")

    def _type(self) -> str:
        """A type as it is written: up to the comma, COMMENT or parenthesis behind it."""
        start, depth = self.at, 0
        while (token := self._peek()) is not None:
            if depth == 0 and (
                token.is_symbol(",") or token.is_symbol(")") or token.is_word("COMMENT")
            ):
                break
            if depth == 0 and token.is_word(*_OF_COLUMNS):
                self._unfit_column(token.text)
            depth += token.text in ("(", "<")
            depth -= token.text in (")", ">")
            self.at += 1
        if start == self.at:
            self._unfit_column("a column without a type")
        return self.text[self.tokens[start].start : self.tokens[self.at - 1].end]

    def _unfit_column(self, found: str) -> NoReturn:
        self._fail(
            "column-list",
            f"the columns of {self.name} have {found}",
            rule="a column is a name, a type and perhaps a COMMENT",
            next_step="Put conditions and computed columns into the query.",
        )

    def _parts(self) -> tuple[str, ...]:
        """A name of several parts."""
        parts: list[str] = []
        while True:
            token = self._peek()
            if token is None or not token.is_name or (not parts and token.is_word("AS")):
                self._fail("bad-statement", "a name is missing", rule=FORM)
            parts.append(token.name)
            self.at += 1
            if not self._take("."):
                return tuple(parts)

    def _next(self) -> Token:
        token = self._peek()
        if token is None:
            self._fail("bad-statement", f"the statement of {self.name} ends too early", rule=FORM)
        self.at += 1
        return token

    def _refuse_cdc(self) -> NoReturn:
        self._fail(
            "auto-cdc",
            "the flow applies changes (AUTO CDC)",
            rule="a table is its query over all data that came, in any order",
            next_step="Keep the changes in a streaming table, and take the newest of each key in a"
            " materialized view: max_by(struct(*), sequence) ... GROUP BY key.",
        )

    def _unknown(self) -> NoReturn:
        words = [token.text for token in self.tokens[:3]]
        changes = not self.tokens[0].is_word("CREATE")
        self._fail(
            "not-in-pipelines",
            f"a statement starts with {' '.join(words[: 1 if changes else 3])}",
            rule=FORM,
            next_step="Run it elsewhere: a pipeline defines tables and changes no session."
            if changes
            else "Rewrite the statement, or move the file out of the libraries.",
        )
