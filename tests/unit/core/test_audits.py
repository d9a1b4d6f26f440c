"""Which view is audited next, and that audits keep to their share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from freshline.core.background.audits import Audits, Candidate

NEVER_S = float("-inf")


def candidate(table, *, order=0, from_changes=True, last_s=NEVER_S, expected_s=1.0):
    return Candidate(table, order, from_changes, last_s, expected_s)


def test_an_audit_starts_when_its_share_of_the_tracks_has_paid_for_it():
    audits = Audits(0.01, 2, 100.0)
    due = [candidate("v", expected_s=3.0)]
    assert audits.next(100.0, due) is None
    assert audits.next(249.9, due) is None
    assert audits.next(250.0, due) == due[0]
    audits.ended(5.0)  # two seconds of debt
    assert audits.next(499.9, due) is None
    assert audits.next(500.0, due) == due[0]


def test_made_from_changes_first_then_what_went_longest_without_then_by_order():
    audits = Audits(1.0, 1, 0.0)
    views = [
        candidate("in_full", from_changes=False),
        candidate("lately", order=1, last_s=90.0),
        candidate("second", order=3, last_s=10.0),
        candidate("first", order=2, last_s=10.0),
        candidate("never", order=4),
    ]
    chosen = []
    while views:
        found = audits.next(100.0, views)
        assert found is not None
        chosen.append(found.table)
        views.remove(found)
    assert chosen == ["never", "first", "second", "lately", "in_full"]


def test_no_cheaper_view_overtakes_the_one_whose_turn_it_is():
    audits = Audits(0.1, 1, 0.0)
    due = [candidate("dear", expected_s=10.0), candidate("cheap", order=1, expected_s=0.1)]
    assert audits.next(99.0, due) is None
    assert audits.next(100.0, due) == due[0]


def test_a_share_of_none_never_audits():
    assert Audits(0.0, 4, 0.0).next(1e9, [candidate("v", expected_s=1e-9)]) is None


@given(
    st.floats(0.001, 1.0),
    st.integers(1, 4),
    st.lists(st.tuples(st.floats(0.0, 50.0), st.floats(0.1, 20.0), st.floats(0.0, 1.0))),
)
def test_audits_take_at_most_their_share_of_the_time(share, tracks, steps):
    """Law: as long as none takes longer than expected."""
    audits, now_s, spent_s = Audits(share, tracks, 0.0), 0.0, 0.0
    for wait_s, expected_s, part in steps:
        now_s += wait_s
        if audits.next(now_s, [candidate("v", expected_s=expected_s)]) is not None:
            spent_s += expected_s * part
            audits.ended(expected_s * part)
        assert spent_s <= share * tracks * now_s * (1 + 1e-9) + 1e-9
