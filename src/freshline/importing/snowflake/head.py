"""What stands in front of a statement's query: clauses that sqlglot does not parse, and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from freshline.importing.snowflake.faults import UntranslatableError
from freshline.importing.snowflake.translation import SNOWFLAKE, spark_type

_IMMUTABLE = "IMMUTABLE WHERE fell away: every row is corrected when what it was made of changes"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a statement's list.

    Attributes:
        name: Of the column.
        type: Where the list gives one.
        comment: Its comment, or None.
        required: It is NOT NULL.
    """

    name: exp.Identifier
    type: exp.DataType | None
    comment: str | None
    required: bool


def without_clauses(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """A CREATE statement without the clauses that sqlglot does not know.

    Returns:
        The text; what is different without them; what was left out, with the reason.

    Raises:
        UntranslatableError: One of them changes which rows the table has.
    """
    tokens = SNOWFLAKE.tokenize(text)
    changed: list[str] = []
    left_out: list[str] = []
    cuts: list[tuple[int, int]] = []
    at = depth = 0
    while at < len(tokens):
        words = [each.text.upper() for each in tokens[at : at + 3]]
        size = 0
        if depth == 0 and words[:2] in (["IMMUTABLE", "WHERE"], ["FROZEN", "WHERE"]):
            size = _closed(tokens, at + 2) - at
            changed.append(_IMMUTABLE)
        elif depth == 0 and words[:2] == ["REQUIRE", "USER"]:
            size = 2
            left_out.append("REQUIRE USER: updates run as the user who runs freshline")
        elif depth == 0 and words[:2] == ["EXECUTE", "AS"]:
            size = 4 if words[2:] == ["USER"] else 3
            left_out.append("EXECUTE AS: updates run as the user who runs freshline")
        elif depth == 0 and words[0].split() == ["CLUSTER", "BY"] and words[1:2] == ["LINEAR"]:
            cuts.append((tokens[at + 1].start, tokens[at + 1].end + 1))
        elif depth == 0 and words[:2] == ["BACKFILL", "FROM"]:
            raise UntranslatableError("BACKFILL FROM gives it rows that its query does not make")
        elif depth == 0 and words[0] == "AS":
            break
        if size:
            cuts.append((tokens[at].start, tokens[min(at + size, len(tokens)) - 1].end + 1))
            at += size
            continue
        depth += (words[0] == "(") - (words[0] == ")")
        at += 1
    for start, end in reversed(cuts):
        text = f"{text[:start]} {text[end:]}"
    return text, tuple(changed), tuple(left_out)


def _closed(tokens: Sequence[Token], at: int) -> int:
    """The place behind the parenthesis that opens at ``at``."""
    depth = 0
    for index in range(at, len(tokens)):
        depth += (tokens[index].text == "(") - (tokens[index].text == ")")
        if depth == 0:
            return index + 1
    return len(tokens)


def listed_columns(made: exp.Expression) -> list[Column]:
    """The columns that a table or view lists in front of its query.

    Raises:
        UntranslatableError: The list holds policies or constraints.
    """
    found = []
    for each in made.expressions if isinstance(made, exp.Schema) else ():
        if isinstance(each, exp.Identifier):
            found.append(Column(each, None, None, required=False))
        elif isinstance(each, exp.ColumnDef) and isinstance(each.this, exp.Identifier):
            found.append(_column(each))
        else:
            text = each.sql(dialect="snowflake")
            raise UntranslatableError(f"its column list has {text}")
    return found


def _column(column: exp.ColumnDef) -> Column:
    comment, required = None, False
    for each in column.args.get("constraints") or ():
        kind = each.args.get("kind")
        if isinstance(kind, exp.CommentColumnConstraint):
            comment = kind.this.name
        elif isinstance(kind, exp.NotNullColumnConstraint) and not kind.args.get("allow_null"):
            required = True
        elif not isinstance(kind, exp.Tags):
            text = each.sql(dialect="snowflake")
            raise UntranslatableError(f"its column {column.name} has {text}")
    type_ = column.args.get("kind")
    return Column(
        column.this, type_ if isinstance(type_, exp.DataType) else None, comment, required
    )


def named(query: exp.Query, columns: Sequence[Column]) -> exp.Query:
    """The query with the names and types of a column list, which go by position.

    Raises:
        UntranslatableError: The list has another number of columns than the query, or a type that
            is not translated.
    """
    query = query.copy()
    selected = query.selects
    stars = any(each.is_star for each in selected)
    if not stars and len(selected) != len(columns):
        raise UntranslatableError(
            f"its column list has {len(columns)} names, and its query {len(selected)} columns"
        )
    if not stars:
        used = {each.name.upper() for each in query.find_all(exp.Column)}
        for at, (each, column) in enumerate(zip(selected, columns, strict=True)):
            if not isinstance(each, exp.Column | exp.Alias):
                # Its new name must not be what QUALIFY or ORDER BY mean by a column of that name.
                is_used = column.name.name.upper() in used
                name = exp.to_identifier(f"_listed_{at}") if is_used else column.name.copy()
                each.replace(exp.alias_(each.copy(), name))
    own = [each.alias_or_name.upper() for each in query.selects]
    listed = [each.name.name.upper() for each in columns if each.type is None]
    if not stars and own == listed:
        return query
    alias = exp.TableAlias(
        this=exp.to_identifier("listed"), columns=[each.name.copy() for each in columns]
    )
    return exp.select(*map(_selected, columns)).from_(exp.Subquery(this=query, alias=alias))


def _selected(column: Column) -> exp.Expression:
    read = exp.Column(this=column.name.copy())
    if column.type is None:
        return read
    if spark_type(column.type) is None:
        type_ = column.type.sql(dialect="snowflake")
        raise UntranslatableError(f"the type {type_} of {column.name.name} is not translated")
    return exp.Alias(this=exp.Cast(this=read, to=column.type.copy()), alias=column.name.copy())
