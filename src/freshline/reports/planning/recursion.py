"""The two recursions over batches that the exact plan is made of.

Both use that a batch's cost is affine on a few stretches of sizes: on one stretch the best
neighbour of every tuple is the least of a window that only moves on, which a monotone queue
answers in constant time. A layer thus takes time linear in the tuples, not quadratic.

Source: rule C4; the queue's dominance arguments are ours, in the comments.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from freshline.reports.costs import TOLERANCE_S, Piece


def earliest_first(arrivals_s: Sequence[float], pieces: Sequence[Piece]) -> list[float]:
    """With any number of batches: when the first ``j`` tuples can be done at the earliest.

    Args:
        arrivals_s: Arrival of tuple ``j`` at index ``j``; index 0 is not used.

    Returns:
        Seconds for every ``j`` from 0; minus infinity for no tuples.
    """
    done_s = [-math.inf] * len(arrivals_s)
    _advance(done_s, done_s, arrivals_s, pieces)
    return done_s


def earliest_next(
    before_s: Sequence[float], arrivals_s: Sequence[float], pieces: Sequence[Piece]
) -> list[float]:
    """One batch more: earliest ends of the first ``j`` tuples, from those with one batch less.

    "At most" so many batches: `before_s` holds minus infinity for no tuples, so that a plan may
    begin with any layer, and the times never fall as ``j`` grows.
    """
    done_s = [-math.inf] * len(arrivals_s)
    _advance(before_s, done_s, arrivals_s, pieces)
    return done_s


def _advance(
    before_s: Sequence[float],
    done_s: list[float],
    arrivals_s: Sequence[float],
    pieces: Sequence[Piece],
) -> None:
    """``done[j] = min over i < j of max(before[i], arrival[j]) + cost(j - i)``.

    Where ``before[i] <= arrival[j]`` the batch waits for its last tuple, and the largest such
    ``i`` is best (cost is nondecreasing); it only grows with ``j``. Later ``i`` start at once,
    and on one piece the least of ``before[i] - slope * i`` over a moving window is wanted.
    ``before_s`` may be ``done_s`` itself: entry ``j`` reads only smaller ones.
    """
    count = len(arrivals_s)
    windows: list[tuple[Piece, deque[tuple[float, int]]]] = [(piece, deque()) for piece in pieces]
    piece_of = _piece_of(pieces)
    waiting = 0
    for j in range(1, count):
        arrival_s = arrivals_s[j]
        while waiting + 1 < j and before_s[waiting + 1] <= arrival_s:
            waiting += 1
        piece = piece_of[j - waiting]
        best_s = arrival_s + piece.offset_s + piece.slope_s * (j - waiting)
        for piece, window in windows:
            entering = j - piece.from_tuples
            if entering <= 0:
                break  # the larger sizes do not fit either
            slope_s = piece.slope_s
            if entering > waiting:
                key = before_s[entering] - slope_s * entering
                # The newcomer leaves the window last: whoever is not better never wins again.
                while window and window[-1][0] >= key:
                    window.pop()
                window.append((key, entering))
            oldest = max(waiting + 1, j - piece.to_tuples)
            while window and window[0][1] < oldest:
                window.popleft()
            if window:
                at_s = window[0][0] + piece.offset_s + slope_s * j
                best_s = min(best_s, at_s)
        done_s[j] = best_s


def cheapest_any(arrivals_s: Sequence[float], pieces: Sequence[Piece], end_s: float) -> list[float]:
    """With any number of batches: the least cost of the tuples after ``j``; see `cheapest_next`."""
    suffix_s = [math.inf] * (len(arrivals_s) - 1) + [0.0]
    _retreat(range(len(arrivals_s)), suffix_s, suffix_s, arrivals_s, pieces, end_s)
    return suffix_s


def cheapest_free(tuples: int, pieces: Sequence[Piece]) -> list[float]:
    """The least cost of that many tuples which are all there, for every number from 0."""
    return cheapest_any([-math.inf] * (tuples + 1), pieces, math.inf)[::-1]


def cheapest_next(
    suffix_s: Sequence[float],
    arrivals_s: Sequence[float],
    pieces: Sequence[Piece],
    end_s: float,
    places: Sequence[int] | None = None,
) -> list[float]:
    """One batch more in front: the least cost of the tuples after ``j`` (C4, backwards).

    Batches pushed as late as they go stand back to back before ``end_s``, so a batch starts at
    ``end_s`` less the cost from it on: the latest start and the least cost are one goal.
    ``next[j] = min over j' > j of suffix[j'] + cost(j' - j)`` where that start is not before
    the arrival of tuple ``j'``.

    Args:
        places: Where batches may begin and end: increasing, from 0 to all tuples; None: anywhere.

    Returns:
        Seconds for every ``j``; infinity where no plan exists, or at no place.
    """
    result = [math.inf] * len(arrivals_s)
    at = range(len(arrivals_s)) if places is None else places
    _retreat(at, suffix_s, result, arrivals_s, pieces, end_s)
    return result


def _retreat(
    places: Sequence[int],
    suffix_s: Sequence[float],
    result: list[float],
    arrivals_s: Sequence[float],
    pieces: Sequence[Piece],
    end_s: float,
) -> None:
    """Fill ``result`` at all places but the last; it may be ``suffix_s`` itself."""
    limit_s = end_s + TOLERANCE_S
    infinity = math.inf
    last = len(places) - 1
    windows: list[tuple[Piece, deque[tuple[float, float, int]]]] = [
        (piece, deque()) for piece in pieces
    ]
    coming = [last] * len(windows)  # of each piece, the next place to enter its window
    for number in range(last - 1, -1, -1):
        j = places[number]
        best_s = infinity
        for which, (piece, window) in enumerate(windows):
            smallest = j + piece.from_tuples
            slope_s = piece.slope_s
            at = coming[which]
            while at > number and places[at] >= smallest:
                entering = places[at]
                at -= 1
                suffix = suffix_s[entering]
                if suffix < infinity:
                    key = suffix + slope_s * entering
                    # The newcomer has the earliest arrival and leaves last: it dominates all
                    # that cost as much, both in time and in the arrival their start must wait for.
                    while window and window[-1][0] >= key:
                        window.pop()
                    window.append((key, key + arrivals_s[entering], entering))
            coming[which] = at
            newest = j + piece.to_tuples
            base_s = slope_s * j - piece.offset_s
            bound_s = limit_s + base_s
            # Both bounds only tighten as j falls, so whoever fails one is gone for good.
            while window and (window[0][2] > newest or window[0][1] > bound_s):
                window.popleft()
            if window:
                cost_s = window[0][0] - base_s
                best_s = min(best_s, cost_s)
        result[j] = best_s


def cheapest_charged(
    suffix_s: Sequence[float],
    arrivals_s: Sequence[float],
    pieces: Sequence[Piece],
    end_s: float,
    charge_s: float,
) -> list[int]:
    """Sizes of the cheapest plan with ``charge_s`` a batch on top, which takes no time.

    A relaxation, so no plan is cheaper. Whether a batch starts too early is judged by
    ``suffix_s``, the least time that what follows can take, and with all charges as room: whoever
    is dominated by another's charged cost takes less time than that one by no more.

    Args:
        suffix_s: From `cheapest_any`.

    Returns:
        Sizes in the order of the window; they may not quite be in time, and where no plan is
        they do not reach the last tuple.
    """
    count = len(arrivals_s)
    limit_s = end_s + TOLERANCE_S + charge_s * count
    charged_s, ends = [math.inf] * (count - 1) + [0.0], list(range(count))
    windows: list[tuple[Piece, deque[tuple[float, float, int]]]] = [
        (piece, deque()) for piece in pieces
    ]
    for j in range(count - 2, -1, -1):
        best_s, best_end = math.inf, j
        for piece, window in windows:
            entering = j + piece.from_tuples
            if entering >= count:
                break
            slope_s = piece.slope_s
            if charged_s[entering] < math.inf:
                key = charged_s[entering] + slope_s * entering
                while window and window[-1][0] >= key:
                    window.pop()
                starts_s = suffix_s[entering] + slope_s * entering + arrivals_s[entering]
                window.append((key, starts_s, entering))
            newest = j + piece.to_tuples
            base_s = slope_s * j - piece.offset_s
            while window and (window[0][2] > newest or window[0][1] > limit_s + base_s):
                window.popleft()
            if window and window[0][0] - base_s < best_s:
                best_s, best_end = window[0][0] - base_s, window[0][2]
        charged_s[j], ends[j] = best_s + charge_s, best_end
    sizes, done = [], 0
    while ends[done] > done:
        sizes.append(ends[done] - done)
        done = ends[done]
    return sizes


def _piece_of(pieces: Sequence[Piece]) -> list[Piece]:
    """The piece of every size, at the size's index (index 0 repeats the first)."""
    result = [pieces[0]] if pieces else []
    for piece in pieces:
        result.extend([piece] * (piece.to_tuples - piece.from_tuples + 1))
    return result
