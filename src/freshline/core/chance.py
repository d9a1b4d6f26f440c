"""Chance as a function: the same seed and names give the same numbers, in any order.

The core may not roll dice of its own. What looks random here is a hash of its arguments, so
a replay meets the same numbers whatever happened in between, and two policies can meet the
same durations. The mixing steps are SplitMix64's (Steele, Lea and Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014): a counter times an odd constant, then a
64-bit finaliser.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
_UNIT = 2.0**-53
_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3


def mixed(value: int) -> int:
    """SplitMix64's finaliser: 64 bits in, 64 bits out, each depending on all."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def stream(seed: int, *names: str) -> int:
    """The start of a sequence of its own for ``seed`` and ``names``."""
    state = mixed((seed * _STEP + _STEP) & _MASK)
    for name in names:
        for byte in name.encode():
            state = ((state ^ byte) * _FNV_PRIME) & _MASK
        state = mixed(state ^ _FNV_OFFSET)
    return state


def uniform(start: int, number: int) -> float:
    """Element ``number`` of the sequence at ``start``: uniform in [0, 1), 53 bits."""
    value = (start + number * _STEP) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((value ^ (value >> 31)) >> 11) * _UNIT
