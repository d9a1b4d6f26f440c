"""What a query reads: every table's name in it, exactly where it stands.

A walk over the tokens, not a parse: a name is a table's where SQL has a relation, that is
behind FROM, JOIN, TABLE and the commas of a FROM clause. So it works for every query that
Spark understands, now or later, and the user's text is never rewritten beyond the names
themselves. Three things decide what a name means: its query's scope (names of WITH shadow
tables, inner ones the outer), what follows it (a parenthesis makes it a table function) and
its parts (one part: a table of the project; more: a table elsewhere).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from freshline.sql.text.queries import check_query, refuse_table_in_text
from freshline.sql.text.tokens import SqlTextError, Token, tokens

_QUERY_STARTS = ("SELECT", "WITH", "FROM", "VALUES")
_ENDS_FROM = (
    "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET",
    "WINDOW", "QUALIFY", "SELECT",
)  # fmt: skip
_SET_OPERATORS = ("UNION", "EXCEPT", "MINUS", "INTERSECT")
_NO_ALIAS = (
    *_ENDS_FROM, *_SET_OPERATORS, "ALL", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "OUTER",
    "CROSS", "NATURAL", "SEMI", "ANTI", "LATERAL", "ON", "USING", "TABLESAMPLE", "FROM",
    "VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME", "FOR", "WITH", "WATERMARK",
    "PIVOT", "UNPIVOT",
)  # fmt: skip
_TIME_TRAVEL = ("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")
_ALIAS_UNLESS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("WITH", "TABLESAMPLE", "PIVOT"), ("(",)),
    "UNPIVOT": ("(", "INCLUDE", "EXCLUDE"),
    **dict.fromkeys(_TIME_TRAVEL, ("AS",)),
    "FOR": _TIME_TRAVEL,
    **dict.fromkeys(("ALL", "OUTER"), ()),
}
"""Words that are a table's alias behind its name, except where one of these stands behind them."""
_ROLES = {
    "FROM": "relation",
    "JOIN": "relation",
    "TABLE": "table",
    **dict.fromkeys(_ENDS_FROM, "ends"),
    **dict.fromkeys(_SET_OPERATORS, "set"),
    **dict.fromkeys(("ALL", "DISTINCT", "LATERAL"), "kept"),
}
_VARIABLE = "a table's name has a variable (${...}) in it"
_PLAIN = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_TOUCH = re.compile(r"[\w`]{2}")
"""Two characters that would make one token of a name without backquotes and what is beside it."""

_VERSION = re.compile(r" VERSION AS OF \d+\Z")
_WORDS = frozenset(
    """
    all and anti any as between both by case cast collate column constraint create cross cube
    current_catalog current_database current_date current_schema current_time current_timestamp
    current_user distinct div else end escape except exists explode extract false fetch filter for
    foreign from full group grouping having if ilike in inner intersect interval into is join
    lateral leading left like limit localtime localtimestamp minus natural not null nulls offset
    on only or order outer over overlaps partition percent pivot primary qualify recursive
    references regexp right rlike rollup select semi session_user set sets some sort table then to
    trailing trim true union unique unknown unpivot user using values when where window with
    within
    """.split()  # noqa: SIM905
)
"""Words that mean something else in some place of a query, as ``null`` does everywhere."""


@dataclass(frozen=True, slots=True)
class Read:
    """One mention of a table or a feed.

    Attributes:
        parts: The name's parts without backquotes.
        stream: Read as STREAM name: a feed.
        start: Offset of the mention in the query, of the word STREAM when it has one.
        end: Offset behind the mention.
        line: Line of the mention, counted from 1 at the query's start.
        alias_at: Where an alias would have to stand; None where the query gives
            one or, behind TABLE, none can stand.
        time_travel: The mention fixes a version or a time itself.
        table_at: Offset of the word TABLE, where ``TABLE name`` is a query; None elsewhere.
        argument: Whether it is an argument of a table function, ``f(TABLE name)``.
    """

    parts: tuple[str, ...]
    stream: bool
    start: int
    end: int
    line: int
    alias_at: int | None
    time_travel: bool
    table_at: int | None = None
    argument: bool = False

    @property
    def name(self) -> str:
        """The name as one writes it: backquotes only where they are needed."""
        return ".".join(quoted(part) for part in self.parts)


def quoted(name: str) -> str:
    """``name`` in backquotes unless it is a plain identifier."""
    return name if _PLAIN.match(name) else backquoted(name)


def quoted_column(name: str) -> str:
    """A column's name in an expression: in backquotes also where it is a word of SQL."""
    return backquoted(name) if name.lower() in _WORDS else quoted(name)


def string_literal(text: str) -> str:
    """``text`` as a string of Spark SQL on one line."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\r", "\\r").replace("\n", "\\n") + "'"


def backquoted(name: str) -> str:
    """``name`` always in backquotes: a column may be called ``current_date``."""
    return "`" + name.replace("`", "``") + "`"


def reads_of(query: str) -> tuple[Read, ...]:
    """Every mention of a table or feed in ``query``, in the order of the text.

    Raises:
        SqlTextError: A string, comment or parenthesis is not closed, parentheses are too deep, a
            table's name is computed or a text (``IDENTIFIER(...)``, ``${name}``,
            ``table_changes('name', 0)``), or the text is no query.
    """
    found = tokens(query)
    reads = _Walk(found).reads()
    check_query(found)
    return reads


def options_at(found: Sequence[Token], at: int) -> list[str]:
    """Names of the options of a table's read, ``WITH (startingVersion = 3)``, where they begin.

    Args:
        found: The query's tokens.
        at: Where WITH has to stand; there are none where it does not.
    """
    if len(found) < at + 2 or not (found[at].is_word("WITH") and found[at + 1].is_symbol("(")):
        return []
    names, begins = list[str](), True
    for token in found[at + 2 :]:
        if token.is_symbol(")"):
            break
        if begins:
            names.append(token.value if token.kind == "string" else token.name)
        begins = token.is_symbol(",")
    return names


def rewritten(query: str, replacements: Mapping[str, str]) -> str:
    """``query`` with other names in the place of some tables, all else verbatim.

    Args:
        replacements: New name (put in as it is) by the name that is read, as in
            :attr:`Read.name`. Letters' case does not matter except in paths. Where the query
            gives the table no alias, the old name becomes one, so that ``orders.id`` still means
            the same column; a mention with a version or time of its own gets none, and keeps
            that in place of the new name's. Behind TABLE neither an alias nor a version can
            stand: ``TABLE orders`` becomes ``SELECT * FROM new AS orders``, the same query.
            (``FROM new`` alone is one, too, but in ``SELECT 1, 2 UNION FROM new`` the word UNION
            is an alias.)
    """
    by_name = {name.lower(): new for name, new in replacements.items()}
    edits: list[tuple[int, int, str]] = []
    for read in reads_of(query):
        new = replacements.get(read.name)
        if new is None and "/" not in read.parts[-1]:
            new = by_name.get(read.name.lower())
        if new is None:
            continue
        if read.time_travel:
            new = _VERSION.sub("", new)
        name, last = _VERSION.sub("", new), read.parts[-1]
        named = name in (quoted(last), read.name)
        alias = backquoted(last) if last.upper() in _NO_ALIAS else quoted(last)
        if read.argument and name != new:
            edits.append((read.start, read.end, f"(SELECT * FROM {new})"))
        elif read.table_at is not None and not (named and name == new):
            query_of_it = f"SELECT * FROM {new}" + ("" if named else f" AS {alias}")
            edits.append((read.table_at, read.end, query_of_it))
        else:
            edits.append((read.start, read.end, new))
        if read.alias_at is not None and not read.time_travel and not named:
            edits.append((read.alias_at, read.alias_at, f" AS {alias}"))
    for start, end, new in reversed(edits):
        before = " " if _TOUCH.match(query[max(start - 1, 0) : start] + new[:1]) else ""
        after = " " if _TOUCH.match(new[-1:] + query[end : end + 1]) else ""
        query = f"{query[:start]}{before}{new}{after}{query[end:]}"
    return query


class _Walk:
    """A walk over one query's tokens; parentheses are matched beforehand."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.close = _matching(tokens)
        self.calls: set[int] = set()
        """Where the parentheses of table functions open."""
        self.found: list[Read] = []

    def reads(self) -> tuple[Read, ...]:
        self._query(0, len(self.tokens), frozenset())
        return tuple(sorted(self.found, key=lambda read: read.start))

    def _query(self, at: int, end: int, ctes: frozenset[str], *, relation: bool = False) -> None:
        """A region that is a query, or (``relation``) what stands in a FROM clause."""
        if self._word(at, end, "WITH"):
            at, ctes = self._with(at + 1, end, ctes)
        in_from, expected, fresh = relation, relation, not relation
        while at < end:
            if expected and not self._word(at, end, "LATERAL"):
                expected = False
                at = self._relation(at, end, ctes)
                continue
            role = self._role(at, end)
            if role == "(":
                self._parentheses(at, ctes)
                at = self.close[at]
            elif role == "relation" or (role == "table" and fresh):
                expected = in_from = True
            elif role == ",":
                expected = in_from
            elif role in {"ends", "set"}:
                in_from = False
            if role != "kept":
                fresh = role == "set"
            at += 1

    def _role(self, at: int, end: int) -> str:
        """What the token at ``at`` does to a walk outside parentheses.

        ``relation``: one follows; ``table``: one follows where a query can start; ``set``: a
        query follows; ``ends``: the FROM clause is over; ``kept``: nothing changes.
        """
        token = self.tokens[at]
        if token.kind == "symbol":
            return "ends" if token.text == "|>" else token.text
        role = _ROLES.get(token.text.upper(), "") if token.kind == "word" else ""
        if at and self.tokens[at - 1].text in {".", ":"}:
            return ""  # a column or a path in one, or a parameter, that is called like a keyword
        if token.is_word("FROM") and self._is_distinct_from(at):
            return ""
        if token.is_word("LATERAL") and self._word(at + 1, end, "VIEW"):
            return "ends"
        return "" if role and self._is_alias(at, end) else role

    def _is_alias(self, at: int, end: int) -> bool:
        """Whether a word of SQL is the name of a column or table here: ``i AS from``, ``t offset``.

        A clause's word has something behind it that no alias has.
        """
        named = at > 0 and self.tokens[at - 1].is_word("AS")
        if self._word(at, end, "FROM", "JOIN"):  # a column may be called as: SELECT as FROM t
            return self._ends_alias(at + 1, end) or self._word(at + 1, end, "FROM")
        if self._word(at, end, *_ENDS_FROM):
            return named or self._ends_alias(at + 1, end) or self._word(at + 1, end, "JOIN", "ON")
        return named

    def _ends_alias(self, at: int, end: int) -> bool:
        """Whether what is behind a word shows that it is a name, and begins no clause."""
        return at >= end or self.tokens[at].text in {",", ".", "|>"}

    def _with(self, at: int, end: int, ctes: frozenset[str]) -> tuple[int, frozenset[str]]:
        """The definitions behind WITH: each sees those before it, a recursive one itself."""
        recursive = self._word(at, end, "RECURSIVE")
        at += recursive
        while at < end:
            name = self.tokens[at].name.lower()
            at += 1
            if at < end and self._names_columns(at):
                at = self.close[at] + 1
            while at < end and not self.tokens[at].is_symbol("("):
                at += 1
            if at >= end:
                break
            self._query(at + 1, self.close[at], ctes | {name} if recursive else ctes)
            ctes |= {name}
            at = self.close[at] + 1
            if at >= end or not self.tokens[at].is_symbol(","):
                break
            at += 1
        return at, ctes

    def _names_columns(self, at: int) -> bool:
        """Whether names stand in the parenthesis at ``at``, as in ``x (i, j)``, not a query."""
        inside = self.tokens[at + 1 : self.close.get(at, at)]
        return bool(inside) and all(
            each.is_symbol(",") if number % 2 else each.is_name
            for number, each in enumerate(inside)
        )

    def _parentheses(self, at: int, ctes: frozenset[str]) -> None:
        """What stands in parentheses of an expression: a subquery, or more expressions."""
        inner, end = at + 1, self.close[at]
        if self._starts_query(inner, end):
            self._query(inner, end, ctes)
            return
        while inner < end:
            token = self.tokens[inner]
            if token.is_symbol("("):
                self._parentheses(inner, ctes)
                inner = self.close[inner]
            elif self.tokens[inner - 1].is_symbol(")") and (
                token.is_word(*_SET_OPERATORS) or token.is_symbol("|>")
            ):
                self._query(inner, end, ctes)
                return
            elif token.is_word("TABLE") and self._names_table_argument(inner, end):
                inner = self._relation(inner + 1, end, ctes)
                continue
            inner += 1

    def _names_table_argument(self, at: int, end: int) -> bool:
        """Whether TABLE here is an argument ``f(TABLE t)``, not a column called table."""
        before, behind = self.tokens[at - 1], at + 1
        return (
            (before.text in {"(", ",", ">"})
            and behind < end
            and (self.tokens[behind].is_name or self.tokens[behind].is_symbol("("))
        )

    def _relation(self, at: int, end: int, ctes: frozenset[str]) -> int:
        """One relation; returns the index behind what was consumed."""
        self._refuse_variable(at)
        token = self.tokens[at]
        if token.is_symbol("("):
            inner, close = at + 1, self.close[at]
            self._query(inner, close, ctes, relation=not self._starts_query(inner, close))
            return close + 1
        if token.is_word("VALUES"):
            return self._values(at + 1, end, ctes)
        if token.is_word("TABLE") and at + 1 < end and self.tokens[at + 1].is_symbol("("):
            return self._relation(at + 1, end, ctes)
        if token.is_word("STREAM") and at + 1 < end:
            behind = self.tokens[at + 1]
            self._refuse_variable(at + 1)
            if behind.is_symbol("("):
                self._refuse_variable(at + 2)
                self._name(at + 2, self.close[at + 1], ctes, stream_at=at)
                return self.close[at + 1] + 1
            if behind.is_name and not behind.is_word(*_NO_ALIAS, "AS"):
                return self._name(at + 1, end, ctes, stream_at=at)
        if token.is_name:
            return self._name(at, end, ctes)
        if token.kind == "string":
            raise SqlTextError(
                "a table's name is in quotes, as a text is; names have backquotes", token.line
            )
        return at + 1

    def _refuse_variable(self, at: int) -> None:
        """Raise at ``${name}``, which Spark replaces by a setting: any table may stand there."""
        if at < len(self.tokens) and self.tokens[at].is_symbol("$"):
            raise SqlTextError(_VARIABLE, self.tokens[at].line)

    def _values(self, at: int, end: int, ctes: frozenset[str]) -> int:
        """The rows of an inline table, whose commas separate no relations."""
        start = at
        while at < end and not self._ends_row(at, start):
            if self.tokens[at].is_symbol("("):
                self._parentheses(at, ctes)
                at = self.close[at]
            elif self.tokens[at].is_symbol(","):
                start = at + 1
            at += 1
        return at

    def _ends_row(self, at: int, start: int) -> bool:
        """Whether an inline table ends behind its row that begins at ``start``, by an alias say."""
        token, before = self.tokens[at], self.tokens[at - 1]
        if at == start:
            return False
        if token.is_symbol("|>") or token.is_word("AS", *_NO_ALIAS):
            return True
        if self.tokens[start].is_word("INTERVAL") and not before.is_name:
            return False  # 1 DAY
        return token.is_name and (before.kind != "symbol" or before.text in {")", "]"})

    def _name(self, at: int, end: int, ctes: frozenset[str], stream_at: int | None = None) -> int:
        table_at = self._table_before(at)
        argument = table_at is not None and self._is_argument(table_at)
        first = self.tokens[at if stream_at is None else stream_at]
        parts = [self.tokens[at].name]
        while at + 2 < end and self.tokens[at + 1].is_symbol(".") and self.tokens[at + 2].is_name:
            at += 2
            parts.append(self.tokens[at].name)
        last, at = self.tokens[at], at + 1
        dotted = at < end and self.tokens[at].is_symbol(".")
        if dotted or (at < end and self.tokens[at].start == last.end):
            self._refuse_variable(at + dotted)
        if any("${" in part for part in parts):
            raise SqlTextError(_VARIABLE, first.line)
        parenthesis = stream_at is None and at < end and self.tokens[at].is_symbol("(")
        if parenthesis:
            if last.is_word("IDENTIFIER"):
                raise SqlTextError("a table's name is computed by IDENTIFIER", last.line)
            refuse_table_in_text(parts, last.line)
            self.calls.add(at)
            return at  # a table function; its arguments are walked as any parentheses
        if stream_at is not None and self.tokens[stream_at + 1].is_symbol("("):
            at = self.close[stream_at + 1] + 1
            last, end = self.tokens[at - 1], len(self.tokens)
        if stream_at is None and len(parts) == 1 and parts[0].lower() in ctes:
            return at
        time_travel, alias_at = self._behind_name(at, end)
        self.found.append(
            Read(
                tuple(parts),
                stream_at is not None,
                first.start,
                last.end,
                first.line,
                alias_at if table_at is None else None,
                time_travel,
                None if table_at is None or argument else self.tokens[table_at].start,
                argument,
            )
        )
        return at

    def _behind_name(self, at: int, end: int) -> tuple[bool, int | None]:
        """Whether a version or time is fixed, and where an alias is missing (None: given)."""
        at += self._word(at, end, "FOR") and self._word(at + 1, end, *_TIME_TRAVEL)
        time_travel = self._word(at, end, *_TIME_TRAVEL) and self._word(at + 1, end, "AS")
        while self._word(at, end, "TABLESAMPLE", "REPEATABLE", "WITH"):
            if not (at + 1 < end and self.tokens[at + 1].is_symbol("(")):
                break
            at = self.close[at + 1] + 1
        if at < end:
            token = self.tokens[at]
            if token.is_word("AS") or (token.is_name and not token.is_word(*_NO_ALIAS)):
                return time_travel, None
            if token.is_word(*_ENDS_FROM) and self._is_alias(at, end):
                return time_travel, None
            opens = _ALIAS_UNLESS.get(token.text.upper())
            if opens is not None and not (
                at + 1 < end and self.tokens[at + 1].text.upper() in opens
            ):
                return time_travel, None
        return time_travel, self.tokens[at - 1].end

    def _starts_query(self, at: int, end: int) -> bool:
        """Whether a query starts here, not a column that happens to be called values."""
        if not self._word(at, end, *_QUERY_STARTS, "TABLE"):
            return False
        behind = self.tokens[at + 1] if at + 1 < end else None
        if self.tokens[at].is_word("TABLE"):
            return behind is not None and (behind.is_name or behind.is_symbol("("))
        return behind is None or not behind.is_symbol(".")

    def _table_before(self, at: int) -> int | None:
        """The word TABLE of ``TABLE name`` or ``TABLE (name)``, behind which stands no alias."""
        before = at - 1
        if before >= 1 and self.tokens[before].is_symbol("("):
            before -= 1
        return before if before >= 0 and self.tokens[before].is_word("TABLE") else None

    def _is_argument(self, at: int) -> bool:
        """Whether the word TABLE at ``at`` begins an argument of a table function."""
        before = at - 1
        return before >= 0 and (before in self.calls or self.tokens[before].text in {",", ">"})

    def _is_distinct_from(self, at: int) -> bool:
        words = [token.text.upper() for token in self.tokens[max(at - 2, 0) : at]]
        return words in (["IS", "DISTINCT"], ["NOT", "DISTINCT"])

    def _word(self, at: int, end: int, *words: str) -> bool:
        return at < end and self.tokens[at].is_word(*words)


_DEEPEST = 300
"""Parentheses within parentheses; each takes a call of :class:`_Walk`, and Python has 1,000."""


def _matching(tokens: list[Token]) -> dict[int, int]:
    """The index of the closing parenthesis by that of the opening one."""
    close: dict[int, int] = {}
    open_: list[int] = []
    for index, token in enumerate(tokens):
        if token.is_symbol("("):
            open_.append(index)
            if len(open_) > _DEEPEST:
                raise SqlTextError(f"parentheses are more than {_DEEPEST} deep", token.line)
        elif token.is_symbol(")"):
            if not open_:
                raise SqlTextError("a parenthesis is closed that was not opened", token.line)
            close[open_.pop()] = index
    if open_:
        raise SqlTextError("a parenthesis is not closed", tokens[open_[-1]].line)
    return close
