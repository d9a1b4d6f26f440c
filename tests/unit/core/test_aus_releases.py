"""Each reweighting rule (i)-(vii) in a trace of its own, and what overrides them.

Table a: updates of 2 s, p = 8, p^r = 4, threshold 3. Table b holds the track once, from 7 on.
The lines are (table, r, start, finish, to, mode).
"""

from __future__ import annotations

import pytest

from tests.support.aus_playing import lines, played, switches


def a(arrivals, **beside):
    table = {"name": "a", "alpha": 2.0, "period": 8.0, "arrivals": arrivals}
    return table | {"recovery_period": 4.0, "recovery_threshold": 3.0} | beside


def b(alpha):
    table = {"name": "b", "alpha": alpha, "period": 40.0, "arrivals": [[7.0, 7.0]]}
    return table | {"recovery_period": 40.0, "recovery_threshold": 99.0}


def explicit(*tables):
    return {"horizon": 40.0, "recovery": "explicit", "tables": list(tables)}


RULES = {
    "(i) nothing was ever released": (
        explicit(a([[9, 2], [9, 4], [9, 8]])),
        [
            ("a", 9, 9, 11, 2, "recovery"),
            ("a", 13, 13, 15, 4, "recovery"),
            ("a", 17, 17, 19, 8, "recovery"),
        ],
        [(9, "a", "recovery"), (21, "a", "normal")],
    ),
    "(ii) the last update ended and its deadline has passed": (
        explicit(a([[8, 1], [20, 3], [20, 5]])),
        [
            ("a", 8, 8, 10, 1, "normal"),
            ("a", 20, 20, 22, 3, "recovery"),
            ("a", 24, 24, 26, 5, "recovery"),
        ],
        [(20, "a", "recovery"), (28, "a", "normal")],
    ),
    "(ii) the last update is late and has not started: the next is released beside it (L6)": (
        explicit(a([[8, 1], [17, 3], [17, 5]]), b(11.0)),
        [
            ("a", 8, 18, 20, 1, "normal"),
            ("a", 17, 20, 22, 3, "recovery"),
            ("a", 21, 22, 24, 5, "recovery"),
        ],
        [(17, "a", "recovery"), (25, "a", "normal")],
    ),
    "(iii) the last update ended and its deadline is near": (
        explicit(a([[8, 1], [13, 3], [13, 5]])),
        [
            ("a", 8, 8, 10, 1, "normal"),
            ("a", 16, 16, 18, 3, "recovery"),
            ("a", 20, 20, 22, 5, "recovery"),
        ],
        [(13, "a", "recovery"), (24, "a", "normal")],
    ),
    "(iii) the last update has not started and its deadline is near": (
        explicit(a([[8, 1], [13, 3], [13, 5]]), b(7.0)),
        [
            ("a", 8, 14, 16, 1, "normal"),
            ("a", 16, 16, 18, 3, "recovery"),
            ("a", 20, 20, 22, 5, "recovery"),
        ],
        [(13, "a", "recovery"), (24, "a", "normal")],
    ),
    "(iii) at exactly p^r before the deadline": (
        explicit(a([[8, 1], [12, 3], [12, 5]]), b(7.0)),
        [
            ("a", 8, 14, 16, 1, "normal"),
            ("a", 16, 16, 18, 3, "recovery"),
            ("a", 20, 20, 22, 5, "recovery"),
        ],
        [(12, "a", "recovery"), (24, "a", "normal")],
    ),
    "(iv) the last update ended: the next comes p^r after the switch (L6)": (
        explicit(a([[8, 1], [11, 3], [11, 5]])),
        [
            ("a", 8, 8, 10, 1, "normal"),
            ("a", 15, 15, 17, 3, "recovery"),
            ("a", 19, 19, 21, 5, "recovery"),
        ],
        [(11, "a", "recovery"), (23, "a", "normal")],
    ),
    "(iv) the last update has not started: it is released again": (
        explicit(a([[8, 1], [11, 3], [11, 5]]), b(7.0)),
        [
            ("a", 11, 14, 16, 1, "recovery"),
            ("a", 15, 16, 18, 3, "recovery"),
            ("a", 19, 19, 21, 5, "recovery"),
        ],
        [(11, "a", "recovery"), (23, "a", "normal")],
    ),
    "(iv) an update that ends at t is not executing at t (L6)": (
        explicit(a([[8, 1], [10, 3], [10, 5]])),
        [
            ("a", 8, 8, 10, 1, "normal"),
            ("a", 14, 14, 16, 3, "recovery"),
            ("a", 18, 18, 20, 5, "recovery"),
        ],
        [(10, "a", "recovery"), (22, "a", "normal")],
    ),
    "(v) the running update is late": (
        explicit(a([[8, 1], [17.5, 3], [17.5, 5]]), b(9.5)),
        [
            ("a", 8, 16.5, 18.5, 1, "normal"),
            ("a", 17.5, 18.5, 20.5, 3, "recovery"),
            ("a", 21.5, 21.5, 23.5, 5, "recovery"),
        ],
        [(17.5, "a", "recovery"), (25.5, "a", "normal")],
    ),
    "(vi) the running update will be late": (
        explicit(a([[8, 1], [15.5, 3], [15.5, 5]]), b(8.0)),
        [
            ("a", 8, 15, 17, 1, "normal"),
            ("a", 16, 17, 19, 3, "recovery"),
            ("a", 20, 20, 22, 5, "recovery"),
        ],
        [(15.5, "a", "recovery"), (24, "a", "normal")],
    ),
    "(vii) the running update will be in time: 10 * 1/2 + 8 * 1/2 + 4 = 13": (
        explicit(a([[8, 1], [9, 3], [9, 5]])),
        [
            ("a", 8, 8, 10, 1, "normal"),
            ("a", 13, 13, 15, 3, "recovery"),
            ("a", 17, 17, 19, 5, "recovery"),
        ],
        [(9, "a", "recovery"), (21, "a", "normal")],
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule):
    scenario, expected, expected_switches = RULES[rule]
    result, trace = played(scenario)
    assert lines(trace, "a") == expected
    assert switches(result) == expected_switches


def test_an_update_that_ends_fresh_follows_rn_whatever_the_reweighting_said():
    # a waits for capacity until c returns at 22, while its last file is being loaded (20-23).
    # (vii) would release the next at 23/2 + 19/2 + 4 = 25, where the file of 25 waits; RN says:
    # normal again at max(f, d) = 27, and by (4) released then, because it is not fresh.
    behind = a([[9, 1], [19, 19], [25, 20]], alpha=3.0)
    result, trace = played(explicit(behind, a([[8, 1], [18, 5]], name="c")))
    assert lines(trace) == [
        ("c", 8, 8, 10, 1, "normal"),
        ("a", 9, 10, 13, 1, "normal"),
        ("c", 18, 18, 20, 5, "recovery"),
        ("a", 19, 20, 23, 19, "normal"),
        ("a", 27, 27, 30, 20, "normal"),
    ]
    assert switches(result) == [
        (18, "c", "recovery"),
        (22, "c", "normal"),
        (22, "a", "recovery"),
        (27, "a", "normal"),
    ]


def test_who_returned_at_an_instant_may_switch_again_at_the_next_but_not_at_that_one():
    # a is fresh at 19 and returns at 21, when files come that put it behind at once.
    arrivals = [[9, 2], [9, 4], [9, 8], [21, 14], [21, 15], [21.5, 16]]
    result, trace = played(explicit(a(arrivals)))
    assert switches(result)[:3] == [
        (9, "a", "recovery"),
        (21, "a", "normal"),
        (21.5, "a", "recovery"),
    ]
    # (vii): the update released at 21 runs until 23: 23/2 + 21/2 + 4 = 26.
    assert lines(trace)[3:5] == [("a", 21, 21, 23, 14, "normal"), ("a", 26, 26, 28, 15, "recovery")]


def test_equal_deadlines_start_in_table_order_although_their_sums_differ_in_the_last_digit():
    first = {"name": "first", "alpha": 0.1, "period": 0.6, "arrivals": [[0.3, 0.3]]}
    second = {"name": "second", "alpha": 0.1, "period": 0.8, "arrivals": [[0.1, 0.1]]}
    holder = {"name": "holder", "alpha": 0.5, "period": 0.55, "arrivals": [[0.05, 0.05]]}
    assert 0.3 + 0.6 != 0.1 + 0.8
    _, trace = played({"horizon": 2.0, "tables": [holder, first, second]})
    assert [line.table for line in trace] == ["holder", "first", "second"]
    _, trace = played({"horizon": 2.0, "tables": [holder, second, first]})
    assert [line.table for line in trace] == ["holder", "second", "first"]
