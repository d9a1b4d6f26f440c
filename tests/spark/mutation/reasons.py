"""Why a fault that nothing finds does no harm, by its name."""

from __future__ import annotations

HARMLESS: dict[str, str] = {
    "a frame's missing end is its start": (
        "equivalent: a row's own time always counts, so the range reaches from the start to the row"
    ),
    "a ROWS frame is taken for a RANGE frame": (
        "equivalent: its bounds are row counts, which are never read as intervals; CURRENT ROW"
        " alone is the row itself"
    ),
    "a lag is taken for what its frame says": (
        "equivalent: Spark refuses a frame of times with lag, lead and ntile"
    ),
    "a second column of the order is not looked at": (
        "equivalent: Spark refuses intervals over two columns, and rows that are equal in both are"
        " equal in the first"
    ),
    "a part of the keys tells the groups": (
        "equivalent: a part of the keys selects more groups than were touched, which is as right"
    ),
    "a grid narrows a bound by a step too much": (
        "where clocks change only windows lie on a grid, and their start and end contradict each"
        " other then: the views are computed in full, and stay right"
    ),
    "all rows of a parent are new ones": (
        "open: wrong only where a new row is one to two hours after midnight and old ones in the"
        " first hour of the day before; a trial has no such rows"
    ),
    "a filter of groups by a subquery is a function of the group": (
        "equivalent: a subquery over a stream reads a second state, which is refused before; one"
        " over static tables gives every group the same"
    ),
    "a DOUBLE is a key": (
        "changes no row that a trial has: rows with keys of this type are found by a join, for"
        " which 0.0 and -0.0 are one"
    ),
    "COALESCE has the rows of its first key alone": (
        "equivalent: what one side of a FULL JOIN looks at the other looks at as well"
    ),
    "COALESCE is never NULL beside a missing side": (
        "equivalent: both sides are missing only beside rows that a third table keeps, and these"
        " look at rows of every key"
    ),
    "types of a view and its parents are not compared": (
        "equivalent: the first reading takes columns of one type alone, and after a change of"
        " columns a view is computed in full"
    ),
    "a minus before an interval is lost": (
        "equivalent: the parser keeps the sign in the number, or as an operator that is read before"
    ),
}
KINDS: dict[str, str] = {
    "gives up": "the views are computed in full, and stay right",
    "not reached": "open: no view of the list meets it",
    "not found": "open: confirmed and tried, and no version was wrong",
    "stale": "the text is another one by now",
}
"""What to say of the others, by what happened."""
