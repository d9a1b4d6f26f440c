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

    ``items.order_id = orders.id`` in WHERE or in an inner join drops each row in which one of the
    columns is NULL or the other has another value, and so it drops a row in which an outer join
    has put NULLs. Items without an order in ``orders`` can be left out then, unless the query
    mentions them twice: the other mention may have no such condition.
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
            for column, other_column in (pair, pair[::-1]):
                source, other = tables[column.table], tables[other_column.table]
                names = column.name.lower(), other_column.name.lower()
                if source != other and mentions[source] == 1:
                    found[Equality(source, names[0], other, names[1])] = None
    return tuple(found)
