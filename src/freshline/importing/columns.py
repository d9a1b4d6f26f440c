"""Which columns of a query others see or use, by its words: columns that no value of rows needs.

All of it is careful: where the words do not say it, a column is used.
"""

from __future__ import annotations

from collections.abc import Iterator

from freshline.sql.text.functions import CLOCK_WORDS
from freshline.sql.text.tokens import Token, closing

_SETS = ("UNION", "INTERSECT", "EXCEPT", "MINUS")
_ENDS = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "QUALIFY", *_SETS)
_BY_POSITION = ("NATURAL", "PIVOT", "UNPIVOT", "TABLE", "MATCH_RECOGNIZE")
_AFTER_TABLE = frozenset(
    """
    anti cross except full group having inner intersect join lateral left limit minus natural on
    order pivot qualify right semi tablesample union unpivot using where window
    """.split()  # noqa: SIM905
)

_BEFORE_GROUP = (
    "ALL", "AND", "AS", "BETWEEN", "BY", "CASE", "DISTINCT", "ELSE", "EXISTS", "FROM", "HAVING",
    "IN", "JOIN", "LIKE", "NOT", "ON", "OR", "OVER", "SELECT", "THEN", "USING", "VALUES", "WHEN",
    "WHERE",
)  # fmt: skip
"""Words behind which a parenthesis is no call."""

Item = tuple[list[Token], str | None]
"""A column in a list of a SELECT, without its name, and its name in lower case."""


def items(columns: list[Token]) -> list[list[Token]]:
    """What stands between the commas of a list."""
    found, depth = [list[Token]()], 0
    for token in columns:
        depth += token.is_symbol("(") - token.is_symbol(")")
        if token.is_symbol(",") and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return found


def named(item: list[Token]) -> Item:
    """A column of a list, and its name."""
    if len(item) < 2 or not item[-1].is_name:  # noqa: PLR2004 - a value and a name
        return item, None
    if item[-2].is_word("AS"):
        return item[:-2], item[-1].name.lower()
    if item[-2].is_symbol("."):
        return item, item[-1].name.lower()
    if item[-2].kind == "symbol" and item[-2].text not in {")", "]"}:
        return item, None
    return item[:-1], item[-1].name.lower()


def own_name(item: list[Token]) -> str | None:
    """The name that a column of a list has by its words, if any: that of ``t.x`` is x."""
    return item[-1].name.lower() if item and item[-1].is_name else None


def select_lists(found: list[Token]) -> Iterator[list[tuple[list[Token], Item]]]:
    """The columns of each SELECT whose rows are read as a table's: whole, and with their names.

    Behind UNION ALL a column has the name of that in its place in the first SELECT.
    """
    starts, rows, firsts = [-1], [True], list[list[str | None] | None]([None])
    for at, token in enumerate(found):
        ends = token.is_symbol(")") and len(starts) > 1
        if starts[-1] >= 0 and (ends or _ends_list(found, at)):
            yield from _listed(found, starts[-1], at, rows=rows[-1], firsts=firsts)
            starts[-1] = -1
        if ends:
            starts.pop()
            rows.pop()
            firsts.pop()
        elif token.is_symbol("("):
            starts.append(-1)
            rows.append(rows[-1] and _opens_rows(found, at))
            firsts.append(None)
        elif token.is_word("SELECT"):
            starts[-1] = at
    if starts[-1] >= 0:
        yield from _listed(found, starts[-1], len(found), rows=rows[-1], firsts=firsts)


def _listed(
    found: list[Token], start: int, end: int, *, rows: bool, firsts: list[list[str | None] | None]
) -> Iterator[list[tuple[list[Token], Item]]]:
    listed = [(item, named(item)) for item in items(found[start + 1 : end])]
    first = firsts[-1]
    if not (start and found[start - 1].is_word("ALL")) or first is None:
        firsts[-1] = [own_name(item) for item, _ in listed]
    elif len(first) == len(listed) and not any(
        item and item[-1].is_symbol("*") for item, _ in listed
    ):
        listed = [
            (item, (value, name)) for (item, (value, _)), name in zip(listed, first, strict=True)
        ]
    if rows:
        yield listed


def _ends_list(found: list[Token], at: int) -> bool:
    before = found[at - 1]
    return (
        found[at].is_word(*_ENDS)
        and not before.is_word("AS")
        and not before.is_symbol(".")
        and not (found[at].is_word("EXCEPT") and before.is_symbol("*"))
    )


def _opens_rows(found: list[Token], at: int) -> bool:
    """Whether a parenthesis opens a query that is read as a table."""
    before = found[at - 1] if at else None
    behind = found[at + 1] if at + 1 < len(found) else None
    return (
        behind is not None
        and (behind.is_word("SELECT", "WITH", "FROM") or behind.is_symbol("("))
        and (before is None or before.is_symbol("(")
             or before.is_word("AS", "FROM", "JOIN", "ALL", *_SETS))
    )  # fmt: skip


def handed_on(found: list[Token], name: str) -> list[str] | None:
    """The names under which a query hands a column on; None: it is more than one of its columns."""
    left, names = [name], [name]
    while left:
        more = _handed(found, left.pop())
        if more is None:
            return None
        fresh = [each for each in more if each not in names]
        names += fresh
        left += fresh
    return names


def _handed(found: list[Token], name: str) -> list[str] | None:
    queries, lists, names = [True], [False], list[str]()
    for at, token in enumerate(found):
        if token.is_symbol("("):
            queries.append(queries[-1] and _opens_rows(found, at))
            lists.append(False)
        elif token.is_symbol(")") and len(queries) > 1:
            queries.pop()
            lists.pop()
        elif token.is_word("SELECT") or (at and _ends_list(found, at)):
            lists[-1] = token.is_word("SELECT")
        if not is_named(token, name):
            continue
        first = at
        while first > 1 and found[first - 1].is_symbol("."):
            first -= 2
        before = found[max(first - 1, 0)]
        if before.is_word("AS") or (first == at and _is_made(before)):
            continue  # it is made there
        starts = before.is_word("SELECT", "DISTINCT") or before.is_symbol(",")
        into = _handed_as(found, at) if queries[-1] and lists[-1] and starts else None
        if into is None:
            return None
        names.append(into)
    return names


def _handed_as(found: list[Token], at: int) -> str | None:
    """The name of a column of a list that is a name alone; None: there is more of it."""
    into, at = found[at].name.lower(), at + 1
    if at < len(found) and found[at].is_word("AS"):
        at += 1
    if at < len(found) and found[at].is_name and not found[at].is_word(*_ENDS):
        into, at = found[at].name.lower(), at + 1
    ends = at >= len(found) or found[at].is_word(*_ENDS) or found[at].text in {",", ")"}
    return into if ends else None


def _is_made(before: Token) -> bool:
    """Whether a name without AS is one behind it: a call, ``current_timestamp``, a CASE."""
    return before.text.lower() in {")", "end", *CLOCK_WORDS}


def _opens_call(found: list[Token], at: int) -> bool:
    """Whether the parenthesis at ``at`` is that of a call."""
    before = found[at - 1] if at else None
    return before is not None and before.is_name and not before.is_word(*_BEFORE_GROUP)


def is_named(token: Token, name: str) -> bool:
    """Whether a token is that name, in any case."""
    return token.is_name and token.name.lower() == name


def keeps_rows(found: list[Token]) -> bool:
    """Whether no value of a column that has no use by its name decides which rows there are."""
    if by_position(found) or _is_distinct(found):
        return False
    if _stars_in_unions(found) or _stars_in_calls(found):
        return False
    for at, token in enumerate(found):
        if token.is_word("LIMIT"):
            return False
        if token.is_word("BY") and found[at - 1].is_word("GROUP") and _by_number(found, at):
            return False
    return True


def _by_number(found: list[Token], at: int) -> bool:
    depth = 0
    for each in range(at + 1, len(found)):
        token = found[each]
        depth += token.is_symbol("(") - token.is_symbol(")")
        if depth < 0 or (depth == 0 and token.is_word("HAVING", "ORDER", *_SETS)):
            return False
        starts = found[each - 1].is_symbol(",") or each == at + 1
        if depth == 0 and starts and (token.is_word("ALL") or token.text.isdecimal()):
            return True
    return False


def _stars_in_unions(found: list[Token]) -> bool:
    """Whether a SELECT of a UNION has a star, so that its columns have no places."""
    stars, unions = [False], [False]
    for at, token in enumerate(found):
        if token.is_symbol("("):
            stars.append(False)
            unions.append(False)
        elif token.is_symbol(")") and len(stars) > 1:
            stars.pop()
            unions.pop()
        elif token.is_word("UNION"):
            unions[-1] = True
        elif token.is_symbol("*") and at:
            before = found[at - 1]
            stars[-1] |= before.is_word("SELECT", "ALL") or before.text in {".", ","}
        if stars[-1] and unions[-1]:
            return True
    return False


def _stars_in_calls(found: list[Token]) -> bool:
    """Whether a value is made of all columns: ``hash(*)``, ``to_json(struct(t.*))``."""
    calls = [False]
    for at, token in enumerate(found):
        if token.is_symbol("("):
            calls.append(_opens_call(found, at) and not found[at - 1].is_word("COUNT"))
        elif token.is_symbol(")") and len(calls) > 1:
            calls.pop()
        elif token.is_symbol("*") and calls[-1] and found[at - 1].text in {"(", ",", "."}:
            return True
    return False


def _is_distinct(found: list[Token]) -> bool:
    """Whether equal rows become one somewhere."""
    for at, token in enumerate(found):
        before = found[at - 1] if at else None
        behind = found[at + 1] if at + 1 < len(found) else None
        if token.is_word("DISTINCT") and not (before is not None and before.is_symbol("(")):
            return True
        if token.is_word(*_SETS) and not (behind is not None and behind.is_word("ALL")):
            excepts = token.is_word("EXCEPT") and before is not None and before.is_symbol("*")
            if not excepts and not (before is not None and before.is_word("AS")):
                return True
    return False


def by_position(found: list[Token]) -> bool:
    """Whether columns may get their names or their use by their place."""
    for at, token in enumerate(found):
        if token.is_word(*_BY_POSITION) or token.is_symbol("|>"):
            return True
        if token.is_word("FROM", "JOIN", "WITH") and _has_list(found, at + 1):
            return True
        before = found[at - 1] if at else None
        begins = before is None or before.is_symbol("(") or before.is_word("ALL", *_SETS)
        if token.is_word("FROM") and begins:  # a query without SELECT
            return True
        # Behind AS or a comma: ``x AS (a, b)``, ``WITH y AS (..), z (a) AS (..)``
        if token.is_word("AS") and at > 1 and found[at - 1].is_symbol(")"):
            behind = found[at + 1 : at + 2]
            if behind and behind[0].is_symbol("("):
                return True
        if token.is_word("AS") and _opens_list(found, at + 2) and found[at + 1].is_name:
            return True
    return False


def _has_list(found: list[Token], at: int) -> bool:
    """Whether a table stands there with a list of names: ``a.b AS c (x, y)``."""
    if at >= len(found) or not found[at].is_name:
        return False
    _, behind = _table_at(found, at)
    return _opens_list(found, behind + _is_alias(found, behind))


def _table_at(found: list[Token], at: int) -> tuple[int, int]:
    """Of a table's name that begins there: its last part, and where its alias would stand."""
    while at + 2 < len(found) and found[at + 1].is_symbol("."):
        at += 2
    behind = at + 1
    return at, behind + (behind < len(found) and found[behind].is_word("AS"))


def _is_alias(found: list[Token], at: int) -> bool:
    return at < len(found) and found[at].is_name and not _goes_on(found[at])


def _opens_list(found: list[Token], at: int) -> bool:
    opened = at + 1 < len(found) and found[at].is_symbol("(")
    return opened and found[at + 1].is_name and not found[at + 1].is_word("SELECT", "WITH", "FROM")


def names_read(found: list[Token], table: str) -> set[str]:
    """The names that a query reads, but for those of the columns of other tables than one."""
    tables, names, own = _tables(found), set[str](), _with(found, table)
    for at, token in enumerate(found):
        before = found[at - 1] if at else None
        if not token.is_name or _gives_name(found, at):
            continue
        if before is not None and before.is_symbol(".") and at > 1:
            of = tables.get(found[at - 2].name.lower())
            if of is not None and of not in own:
                continue
        names.add(token.name.lower())
    return names


def _gives_name(found: list[Token], at: int) -> bool:
    """Whether a name is given there: ``x AS name``, ``f(x) name``, ``t.x name``."""
    before = found[at - 1] if at else None
    if before is None or before.is_word("AS") or before.is_symbol(")"):
        return before is not None
    return at > 1 and before.is_name and found[at - 2].is_symbol(".") and not _goes_on(found[at])


def _goes_on(token: Token) -> bool:
    return token.kind == "word" and token.text.lower() in _AFTER_TABLE


def _with(found: list[Token], table: str) -> set[str]:
    """The table, and the named queries of a text that may have its columns."""
    names = {table}
    parts = _parts(found)
    if parts is None or any(each.is_word("WITH") for _, body in parts for each in body):
        parts = [(each.name.lower(), found) for each in found if each.is_name]
    for name, body in parts:
        if name is not None and any(each.is_name and each.name.lower() in names for each in body):
            names.add(name)
    return names


def _tables(found: list[Token]) -> dict[str, str | None]:
    """The last names of tables by their aliases; None: the alias is of several."""
    tables = dict[str, str | None]()
    for at, token in enumerate(found):
        if not token.is_word("FROM", "JOIN") or at + 1 >= len(found) or not found[at + 1].is_name:
            continue
        last, behind = _table_at(found, at + 1)
        name = found[last].name.lower()
        alias = found[behind].name.lower() if _is_alias(found, behind) else name
        tables[alias] = name if tables.get(alias, name) == name else None
    return tables


def hands_all(found: list[Token], table: str) -> bool:
    """Whether a query may give all columns of a table without naming them, or compare their rows.

    ``WITH c AS (SELECT * FROM t) SELECT c.x FROM c`` gives one of them.
    """
    if not any(is_named(token, table) for token in found):
        return True  # a named query of dbt's, or a text: it is not known how
    parts = _parts(found)
    if parts is None or by_position(found) or parts[-1][1][0].is_word("FROM"):
        return True
    whole = {table}
    for name, body in parts:
        if not _takes_all(body, whole):
            continue
        if name is None or _is_distinct(body) or any(token.is_word("UNION") for token in body):
            return True
        whole.add(name)
    return False


def _parts(found: list[Token]) -> list[tuple[str | None, list[Token]]] | None:
    """The named queries of a WITH, and the query behind it; None: it has another form."""
    parts, at = list[tuple[str | None, list[Token]]](), 0
    while (found[at : at + 1] and found[at].is_word("WITH")) or (
        parts and found[at].is_symbol(",")
    ):
        at += 1 + found[at + 1].is_word("RECURSIVE")
        head = found[at : at + 3]
        if len(head) < 3 or not head[1].is_word("AS") or not head[2].is_symbol("("):  # noqa: PLR2004
            return None
        end = closing(found, at + 2)
        if end is None or end + 1 >= len(found):
            return None
        parts.append((head[0].name.lower(), found[at + 3 : end]))
        at = end + 1
    return [*parts, (None, found[at:])]


def _takes_all(body: list[Token], whole: set[str]) -> bool:
    """Whether a query asks for all columns of one of the tables."""
    read = {token.name.lower() for token in body if token.is_name} & whole
    tables = _tables(body)
    for at, token in enumerate(body):
        if not token.is_symbol("*") or not at:
            continue
        before = body[at - 1]
        if before.is_symbol("."):
            of = tables.get(body[at - 2].name.lower())
            if read if of is None else {of} & whole:
                return True
        elif before.is_word("SELECT", "DISTINCT", "ALL") or before.is_symbol(","):
            if read:
                return True
        elif before.is_symbol("(") and read and not (at > 1 and body[at - 2].is_word("COUNT")):
            return True
    return False


def texts_in_calls(found: list[Token]) -> Iterator[Token]:
    """The texts that a function may get: those within the parentheses of a call."""
    calls = [False]
    for at, token in enumerate(found):
        if token.is_symbol("("):
            calls.append(calls[-1] or _opens_call(found, at))
        elif token.is_symbol(")") and len(calls) > 1:
            calls.pop()
        elif token.kind == "string" and calls[-1]:
            yield token
