"""The mends of fourteen classes of silently wrong views, each to be taken out again.

Foreign queries had found them (``tests/spark/views/foreign.py``). Taking a mend out is a change of
the source as it is now that brings the class back; the query is one that showed it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.spark.mutation.fault import Fault
from tests.spark.views.foreign import CLICKS, FOREIGN, ORDERS, TIERS, USERS

SECOND_TOO = "second reading too: "
"""What stands before a verdict where that reading differs as well."""

FOREIGN_SOURCES = (ORDERS, CLICKS, USERS, TIERS)
_FOREIGN = {trap.name.replace("_", " "): trap.query for trap in FOREIGN}


@dataclass(frozen=True)
class Mend:
    """One mend.

    Attributes:
        name: The class of faults that it ended.
        query: That the class made wrong.
        faults: What takes it out.
    """

    name: str
    query: str
    faults: tuple[Fault, ...]


def _mend(name: str, query: str, *edits: tuple[str, str, str]) -> Mend:
    return Mend(name, query, tuple(Fault(name, *edit) for edit in edits))


MENDS = (
    _mend(
        "a frame in lower case is read as FOLLOWING",
        _FOREIGN["frame in lower case"],
        (
            "sql/text/canonical.py",
            '("kind", "start", "start_side", "end", "end_side", "exclude")',
            '("kind", "start", "end", "exclude")',
        ),
    ),
    _mend(
        "groups compared with all groups by a subquery",
        _FOREIGN["more than the average"],
        ("sql/states/decompose.py", ".find_all(exp.Table)) == 1", ".find_all(exp.Table)) >= 1"),
    ),
    _mend(
        "USING behind a FULL JOIN is the first table's column",
        _FOREIGN["dimension using behind a full join"],
        (
            "sql/query/stars.py",
            'if side == "FULL":\n            both',
            "if side is None:\n            both",
        ),
    ),
    _mend(
        "a column joined by USING stays where it was in a star",
        _FOREIGN["star of a table joined by using"],
        (
            "sql/query/stars.py",
            "return _From([*keys, *rest], [*hidden",
            (
                "places = [column.name for column in [*left.shown, *right]]\n"
                "    return _From(sorted([*keys, *rest], key=lambda each: places.index(each.name)),"
                " [*hidden"
            ),
        ),
    ),
    _mend(
        "group keys beyond the years 1 to 9999 are cut off",
        "SELECT shipped, count(*) AS n, sum(amount) AS s FROM orders GROUP BY shipped",
        (
            "spark/views/timesets.py",
            "    days, rest_us = divmod(time_us, DAY_US)\n    if not _FIRST_US",
            (
                "    time_us = min(max(time_us, _FIRST_US), _LAST_US)\n"
                "    days, rest_us = divmod(time_us, DAY_US)\n    if not _FIRST_US"
            ),
        ),
    ),
    _mend(
        "the LIMIT of a query in parentheses is not seen",
        _FOREIGN["top three in parentheses"],
        ("sql/text/canonical.py", "return _modified_queries(tree)", "return tree"),
    ),
    _mend(
        "any() is not known as an aggregate",
        "SELECT any(amount > 3) AS a FROM orders",
        (
            "sql/text/canonical.py",
            "if isinstance(node, exp.Any):",
            "if isinstance(node, exp.Any) and node is tree:",
        ),
    ),
    _mend(
        "columns of a union's branch are matched by name",
        _FOREIGN["branch with a name twice"],
        ("sql/query/stars.py", "if name and name in names and not kept:", "if name is None:"),
    ),
    _mend(
        "an average of wide decimals is rounded twice",
        _FOREIGN["averages of wide decimals"],
        (
            "sql/states/aggregates.py",
            "return exact_quotient(whole, _not_zero(count), type_)",
            (
                "return exp.cast(exp.Div(this=whole, expression=_not_zero(count)), type_,"
                ' dialect="spark")'
            ),
        ),
    ),
    _mend(
        "HAVING without groups is taken for a filter of rows",
        _FOREIGN["having without groups below a sum"],
        (
            "sql/query/scopes.py",
            (
                'if select.args.get("group") or select.args.get("having"):\n'
                "        return True\n"
                "    return any(\n"
                "        not isinstance(_called_by(node), exp.Window)\n"
                "        for node in own_nodes(select, exp.AggFunc, exp.Anonymous)\n"
            ),
            (
                'if select.args.get("group"):\n'
                "        return True\n"
                "    return any(\n"
                "        not isinstance(_called_by(node), exp.Window)\n"
                "        for item in select.expressions\n"
                "        for node in item.find_all(exp.AggFunc, exp.Anonymous)\n"
            ),
        ),
    ),
    _mend(
        "rows are made distinct before an OFFSET",
        _FOREIGN["offset in an in"],
        (
            "sql/query/scopes.py",
            'return bool(query.args.get("limit") or query.args.get("offset"))',
            'return bool(query.args.get("limit"))',
        ),
    ),
    _mend(
        "a subquery in LATERAL VIEW is not looked at",
        _FOREIGN["query in a lateral view"],
        (
            "sql/query/normal.py",
            "if _is_table_function(node) and node.find(exp.Query):",
            "if _is_table_function(node) and node.find(exp.Pivot):",
        ),
        (
            "sql/appends.py",
            'if key in {"from_", "joins"}:',
            'if key in {"from_", "joins", "laterals"}:',
        ),
    ),
    _mend(
        "two times of one text are taken for one",
        _FOREIGN["two times of one text"],
        (
            "sql/text/canonical.py",
            "elif isinstance(node, exp.Add):\n",
            "elif isinstance(node, exp.Add) and node is tree:\n",
        ),
    ),
    _mend(
        "a set made a text shows an order that is nobody's",
        _FOREIGN["order of a set"],
        ("sql/query/nondeterministic.py", "return _unsorted_set(tree)", "return None"),
    ),
)
