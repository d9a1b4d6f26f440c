"""The lease's state machine, played by hand: each line is an answer and what it is followed by."""

from __future__ import annotations

from freshline.core.lease import (
    Ended,
    Found,
    Holder,
    Lease,
    Read,
    Record,
    Refused,
    StopAsked,
    Swap,
    Swapped,
    Unreachable,
    Wait,
    Woke,
)

ME = Holder("me", "here", 1, "m1")
OTHER = Holder("other", "there", 2, "m2")
THEIRS = Record(OTHER, 4, 100.0, 7)
TAKEN_OVER = Record(ME, 5, 0.0, fenced=False)


def taken(now_s: float = 0.0) -> Lease:
    """A lease that was taken from nobody at ``now_s``."""
    lease = Lease(ME, patient=True)
    assert lease.handle(now_s, Woke()) == Read()
    mine = Record(ME, 1, 50.0)
    assert lease.handle(now_s, Found(None, None, now_s=50.0)) == Swap(mine, None)
    assert lease.handle(now_s + 0.5, Swapped("a")) == Wait(now_s + 5.0)
    return lease


def test_a_lease_that_nobody_has_is_taken_at_once_and_renewed_each_five_seconds():
    lease = taken()
    assert (lease.held, lease.epoch, lease.lapsed, lease.valid_until_s) == (True, 1, False, 14.0)
    assert lease.handle(5.0, Woke()) == Swap(Record(ME, 1, 50.0, 1), "a")
    assert lease.handle(5.2, Swapped("b")) == Wait(10.0)
    assert lease.valid_until_s == 19.0


def test_a_lease_that_was_given_back_or_whose_holder_is_gone_is_taken_at_once():
    given_back = Record(OTHER, 4, 100.0, 7, released=True)
    for found in (
        Found(given_back, "x", now_s=9.0),
        Found(THEIRS, "x", dead=True, now_s=9.0),
    ):
        lease = Lease(ME, patient=False)
        assert lease.handle(0.0, found) == Swap(Record(ME, 5, 9.0), "x")
        lease.handle(0.1, Swapped("y"))
        assert (lease.held, lease.epoch, lease.lapsed) == (True, 5, False)


def test_where_the_record_was_deleted_the_epoch_goes_on_from_the_tables_commits():
    lease = Lease(ME, patient=False)
    assert lease.handle(0.0, Found(None, "broken", floor=41)) == Swap(Record(ME, 42, 0.0), "broken")


def test_a_standby_takes_over_fifteen_seconds_after_it_saw_the_last_renewal():
    lease = Lease(ME, patient=True)
    assert lease.handle(0.0, Found(THEIRS, "x")) == Wait(1.0)
    assert lease.handle(1.0, Woke()) == Read()
    assert lease.handle(3.0, Found(THEIRS, "y")) == Wait(4.0)  # renewed: counted from here
    assert lease.handle(17.5, Found(THEIRS, "y")) == Wait(18.0)
    assert lease.handle(18.0, Found(THEIRS, "y")) == Swap(TAKEN_OVER, "y")
    assert lease.handle(18.1, Swapped("z")) == Wait(23.0)
    assert (lease.held, lease.epoch, lease.lapsed) == (True, 5, True)


def test_a_start_that_is_no_standby_ends_when_the_lease_is_renewed_and_takes_it_when_not():
    lease = Lease(ME, patient=False)
    assert lease.handle(0.0, Found(THEIRS, "x")) == Wait(1.0)
    assert lease.handle(4.0, Found(THEIRS, "y")) == Ended("occupied", THEIRS)
    lease = Lease(ME, patient=False)
    lease.handle(0.0, Found(THEIRS, "x"))
    assert lease.handle(15.0, Found(THEIRS, "x")) == Swap(TAKEN_OVER, "x")


def test_of_two_standbys_one_gets_it_and_the_other_waits_again():
    lease = Lease(ME, patient=True)
    lease.handle(0.0, Found(THEIRS, "x"))
    assert lease.handle(15.0, Found(THEIRS, "x")) == Swap(TAKEN_OVER, "x")
    assert lease.handle(15.1, Refused()) == Read()
    third = Record(Holder("third", "h", 3), 5, 0.0)
    assert lease.handle(15.2, Found(third, "t")) == Wait(16.2)
    assert lease.handle(30.1, Found(third, "t")) == Wait(30.2)
    assert not lease.held


def test_a_holder_that_others_took_over_from_has_lost_it_for_good():
    lease = taken()
    assert lease.handle(40.0, Woke()) == Swap(Record(ME, 1, 50.0, 1), "a")
    assert lease.handle(40.1, Refused()) == Read()
    theirs = Record(OTHER, 2, 60.0)
    assert lease.handle(40.2, Found(theirs, "b")) == Ended("lost", theirs)
    assert (lease.held, lease.valid_until_s) == (False, float("-inf"))


def test_a_holder_that_slept_and_that_nobody_took_over_from_goes_on_under_its_epoch():
    lease = taken()
    assert lease.valid_until_s == 14.0
    assert lease.handle(400.0, Woke()) == Swap(Record(ME, 1, 50.0, 1), "a")
    lease.handle(400.1, Swapped("b"))
    assert (lease.held, lease.epoch, lease.valid_until_s) == (True, 1, 414.0)


def test_a_renewal_whose_answer_never_came_counts_from_when_it_was_begun():
    lease = taken()
    renewed = Record(ME, 1, 50.0, 1)
    assert lease.handle(5.0, Woke()) == Swap(renewed, "a")
    assert lease.handle(9.0, Unreachable()) == Wait(10.0)
    assert lease.valid_until_s == 14.0
    assert lease.handle(10.0, Woke()) == Read()
    assert lease.handle(10.5, Found(renewed, "b")) == Wait(10.0)
    assert lease.valid_until_s == 19.0


def test_a_renewal_that_did_not_take_place_is_tried_again():
    lease = taken()
    lease.handle(5.0, Woke())
    lease.handle(9.0, Unreachable())
    assert lease.handle(10.0, Woke()) == Read()
    assert lease.handle(10.5, Found(Record(ME, 1, 50.0), "a")) == Swap(Record(ME, 1, 50.0, 1), "a")


def test_a_record_that_was_deleted_under_its_holder_is_written_again():
    lease = taken()
    lease.handle(5.0, Woke())
    assert lease.handle(5.1, Refused()) == Read()
    assert lease.handle(5.2, Found(None, None)) == Swap(Record(ME, 1, 50.0, 1), None)


def test_a_stop_gives_it_back():
    lease = taken()
    assert lease.handle(6.0, StopAsked()) == Swap(Record(ME, 1, 50.0, 0, released=True), "a")
    assert lease.handle(6.1, Swapped("b")) == Ended("stopped")
    for answer in (Refused(), Unreachable()):
        lease = taken()
        lease.handle(6.0, StopAsked())
        assert lease.handle(6.1, answer) == Ended("stopped")


def test_a_standby_that_is_stopped_writes_nothing():
    lease = Lease(ME, patient=True)
    lease.handle(0.0, Found(THEIRS, "x"))
    assert lease.handle(0.5, StopAsked()) == Ended("stopped")


def test_a_take_over_is_not_fenced_until_its_tables_are():
    for fences, answer in ((True, "renewed"), (False, "renewed"), (False, "stopped")):
        lease = Lease(ME, patient=True)
        lease.handle(0.0, Found(THEIRS, "x"))
        assert lease.handle(15.0, Found(THEIRS, "x")) == Swap(TAKEN_OVER, "x")
        lease.handle(15.1, Swapped("y"))
        if fences:
            lease.all_fenced()
        if answer == "renewed":
            assert lease.handle(20.0, Woke()) == Swap(Record(ME, 5, 0.0, 1, fenced=fences), "y")
        else:
            given_back = Record(ME, 5, 0.0, 0, released=True, fenced=False)
            assert lease.handle(20.0, StopAsked()) == Swap(given_back, "y")


def test_who_follows_one_that_did_not_fence_has_to_whatever_became_of_it():
    unfenced = Record(OTHER, 4, 100.0, 7, fenced=False)
    for found in (
        Found(Record(OTHER, 4, 100.0, 7, released=True, fenced=False), "x", now_s=9.0),
        Found(unfenced, "x", dead=True, now_s=9.0),
    ):
        lease = Lease(ME, patient=False)
        assert lease.handle(0.0, found) == Swap(Record(ME, 5, 9.0, fenced=False), "x")
        lease.handle(0.1, Swapped("y"))
        assert (lease.held, lease.epoch, lease.lapsed) == (True, 5, True)
