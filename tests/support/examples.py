"""How many examples a law is tried with where one takes long: many in ``make laws`` alone."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(few: int, *, thorough: int = 0, **more: Any) -> settings:
    """Settings of a law.

    Args:
        few: Examples in ``make test``.
        thorough: Those of ``make laws``; twenty times as many unless given.
        more: As Hypothesis' own.
    """
    return settings(max_examples=(thorough or 20 * few) if THOROUGH else few, **more)
