"""How much of a long list is tried: a part in every run of the tests, all when asked for.

An update of a view takes a second or two, a death of a warehouse a third of a minute, and there
are hundreds. What analysis and Spark say of a view is checked for each of them every time.
``FRESHLINE_PROOF=all`` (``make proof``) tries all; ``FRESHLINE_PROOF=2/8`` the second of eight
pieces of each list. docs/testing.md lists what is left to the proof.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")
_NAMES = ("share", "WHOLE")
"""A file that imports one of them runs less in ``make test`` than in the proof."""

_ASKED = os.environ.get("FRESHLINE_PROOF", "")
WHOLE = _ASKED != ""
_PIECE, _PIECES = (int(each) for each in (_ASKED if "/" in _ASKED else "1/1").split("/"))


def share(items: Sequence[T], *, part: int, always: Iterable[T] = (), first: int = 0) -> list[T]:
    """All of ``items``, or one of ``part`` and those that are needed in any case; in their order.

    Args:
        items: No two of them alike.
        part: How many stand for one that is tried.
        always: Those that others depend on.
        first: Where to begin counting.
    """
    wanted = items[_PIECE - 1 :: _PIECES] if WHOLE else items[first::part]
    wanted = [*wanted, *always]
    return [item for item in items if item in wanted]


def is_run(item: pytest.Item, *, in_proof: bool) -> bool:
    """Whether a test is run: the proof runs what ``make test`` leaves out, and nothing else.

    That is what bears the mark ``proof``, and each file of which ``make test`` runs a sample.
    """
    is_long = item.get_closest_marker("proof") is not None
    names = vars(getattr(item, "module", None) or object)
    return (is_long or not names.keys().isdisjoint(_NAMES)) if in_proof else not is_long
