"""Objects that refer to themselves are freed, and what lives long is not gone through each time."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from freshline.spark.updates import look_for_cycles


class Node:
    """Refers to itself, as py4j's objects do."""

    def __init__(self) -> None:
        self.itself = self


def garbage() -> weakref.ref[Node]:
    return weakref.ref(Node())


@pytest.fixture(autouse=True)
def by_hand() -> Iterator[None]:
    gc.disable()
    yield
    gc.unfreeze()
    gc.enable()


def test_what_lives_long_is_put_aside_and_garbage_freed_each_time():
    look_for_cycles(8)
    aside = gc.get_freeze_count()
    assert aside > 10_000  # the modules of this process
    assert len(gc.get_objects()) < aside / 10
    for number in (24, 40, 0):
        left = garbage()
        assert left() is not None
        look_for_cycles(number)
        assert left() is None
        assert gc.get_freeze_count() <= aside


def test_what_was_in_use_when_the_rest_was_put_aside_is_freed_the_next_time():
    running = Node()
    left = weakref.ref(running)
    look_for_cycles(256)
    del running
    look_for_cycles(264)
    assert left() is not None
    look_for_cycles(512)
    assert left() is None


def test_that_is_done_often_at_first_and_rarely_later():
    assert [number for number in range(8, 1600, 8) if is_put_aside(number)] == [
        8, 16, 32, 64, 128, 256, 512, 1024, 1536,
    ]  # fmt: skip


def is_put_aside(number: int) -> bool:
    """Whether an object that is in use is put aside after update ``number``."""
    used = Node()
    look_for_cycles(number)
    return not any(each is used for each in gc.get_objects())
