"""Which columns of two sources are equal wherever rows of both meet in a query.

Of the rows of the one source only those matter then whose column has a value that the other
source's column has: a join with few changed rows needs few rows of a large table.
"""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from freshline.sql.query.normal import source_name
from freshline.sql.query.records import Equality
from freshline.sql.query.scopes import conjuncts, equal_columns, is_inner, items_of


def equalities(query: exp.Expr) -> tuple[Equality, ...]:
    """What a normalised query, or one made from it, says.

    A condition of WHERE or of an inner join drops each row whose column is NULL or has no equal,
    and drops it as well where an outer join had put NULLs in its place. So a source that is
    mentioned once can be given without such rows. One that is mentioned twice cannot: the
    other mention may have no such condition.
    """
    mentions = Counter(source_name(table) for table in query.find_all(exp.Table))
    found: dict[Equality, None] = {}
    for select in query.find_all(exp.Select):
        tables = {
            item.alias_or_name: source_name(item)
            for item in items_of(select)
            if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier)
        }
        conditions = conjuncts(select.args.get("where"))
        for join in select.args.get("joins") or []:
            conditions += conjuncts(join.args.get("on")) if is_inner(join) else []
        for pair in equal_columns(conditions):
            # Others are of an outer query or a table function, or fields within a column.
            if any(each.table not in tables or each.args.get("db") for each in pair):
                continue
            for column, other in (pair, pair[::-1]):
                one, two = tables[column.table], tables[other.table]
                if one != two and mentions[one] == 1:
                    found[Equality(one, column.name.lower(), two, other.name.lower())] = None
    return tuple(found)
