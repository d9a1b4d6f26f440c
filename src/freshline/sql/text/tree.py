"""A query as sqlglot's syntax tree, where sqlglot can read it.

Only for looking at: the tree is never turned back into the SQL that runs, because sqlglot
changes some Spark functions in silence. Where it cannot read a query, Spark may still; the
answer is then None and each caller says what it does without a tree.
"""

from __future__ import annotations

from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from freshline.sql.text.canonical import canonical
from freshline.sql.text.sqlglot_compat import legible
from freshline.sql.text.tokens import tokens

_DIALECT = sqlglot.Dialect.get_or_raise("databricks")  # reads STREAM; spark's does not


def tree_of(query: str) -> exp.Query | None:
    """The syntax tree of ``query``, or None where sqlglot cannot read it.

    It does not know where what ``|> AS x`` names is read.
    """
    if any(one.text == "|>" and other.is_word("AS") for one, other in pairwise(tokens(query))):
        return None
    try:
        tree = sqlglot.parse_one(legible(query), dialect=_DIALECT)
    except (SqlglotError, RecursionError):
        return None
    tree = canonical(tree)
    return tree if isinstance(tree, exp.Query) else None
