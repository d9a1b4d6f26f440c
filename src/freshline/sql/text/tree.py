"""A query as sqlglot's syntax tree, where sqlglot can read it.

Only for looking at: the tree is never turned back into the SQL that runs, because sqlglot
changes some Spark functions in silence. Where it cannot read a query, Spark may still; the
answer is then None and each caller says what it does without a tree.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from freshline.sql.text.canonical import canonical
from freshline.sql.text.sqlglot_compat import legible
from freshline.sql.text.tokens import SqlTextError, tokens

_DIALECT = sqlglot.Dialect.get_or_raise("databricks")  # reads STREAM; spark's does not


def tree_of(query: str) -> exp.Query | None:
    """The syntax tree of ``query``, or None where sqlglot cannot read it.

    It misreads pipes: DISTINCT of ``|> SELECT DISTINCT`` is lost, and ``|> WHERE`` moves behind a
    later ``|> RIGHT JOIN``.
    """
    if any(token.text == "|>" for token in tokens(query)):
        return None
    try:
        tree = sqlglot.parse_one(legible(query), dialect=_DIALECT)
    except SqlTextError:
        raise
    except Exception:  # noqa: BLE001 - whatever stops sqlglot, Spark can still run it
        return None
    tree = canonical(tree)
    return tree if isinstance(tree, exp.Query) else None
