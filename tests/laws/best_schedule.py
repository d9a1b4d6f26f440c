"""The least weighted staleness of a tiny scenario, by trying every schedule.

Updates load all that is pending. An update that starts between two events could as well start
at the earlier one, with the same data, and everything after it stay as it is: so only events
(arrivals, completions) are instants at which something starts. At each of them every set of
pending tables that fits the free tracks is tried, the empty one too: idling can pay.
"""

from __future__ import annotations

from itertools import chain, combinations

from freshline.sim.scenario.feeds import files


def best_schedule_s2(scenario, *, most_instants):  # noqa: C901 - one search, told in one place
    """Sum of p * integral of staleness of the best schedule; None if it is too long to search."""
    horizon_s = scenario.horizon_s
    specs = scenario.tables
    place = {spec.name: order for order, spec in enumerate(specs)}
    sources = [[place[name] for name in spec.sources] for spec in specs]
    arrivals = []
    for name, feed in scenario.feeds.items():
        for arrival_s, timestamp_s in files(feed):
            if arrival_s > horizon_s:
                break
            arrivals.append((arrival_s, place[name], timestamp_s))
    arrivals.sort()
    if len({arrival_s for arrival_s, _, _ in arrivals}) > most_instants:
        return None
    steps = 0

    def edge(order, fresh, landed):
        if sources[order]:
            return min(fresh[source] for source in sources[order])
        return landed[order]

    def least(after, fresh, landed, running):
        """Least cost still to come: every loaded second of data pays until the horizon."""
        nonlocal steps
        steps += 1
        if steps > 20_000:
            raise OverflowError
        times = [arrivals[after][0]] if after < len(arrivals) else []
        times += [finish_s for finish_s, _, _ in running]
        now_s = min(times, default=horizon_s + 1.0)
        if now_s > horizon_s:
            return 0.0
        gained = 0.0
        fresh, landed = list(fresh), list(landed)
        for finish_s, order, to_s in running:
            if finish_s == now_s:
                gained += specs[order].priority * (to_s - fresh[order]) * (horizon_s - now_s)
                fresh[order] = to_s
        still = tuple(item for item in running if item[0] != now_s)
        while after < len(arrivals) and arrivals[after][0] == now_s:
            _, order, timestamp_s = arrivals[after]
            landed[order] = max(landed[order], timestamp_s)
            after += 1
        busy = {order for _, order, _ in still}
        pending = [
            order
            for order in range(len(specs))
            if order not in busy and edge(order, fresh, landed) > fresh[order]
        ]
        most = min(len(pending), scenario.tracks - len(still)) if now_s < horizon_s else 0
        best = float("inf")
        for chosen in chain.from_iterable(combinations(pending, k) for k in range(most + 1)):
            started = []
            for order in chosen:
                to_s = edge(order, fresh, landed)
                spec = specs[order]
                seconds = spec.alpha_s + spec.beta * (to_s - fresh[order])
                started.append((now_s + seconds, order, to_s))
            ahead = least(after, tuple(fresh), tuple(landed), still + tuple(started))
            best = min(best, ahead)
        return best - gained

    zeros = (0.0,) * len(specs)
    try:
        saved = least(0, zeros, zeros, ())
    except OverflowError:
        return None
    return sum(spec.priority for spec in specs) * horizon_s**2 / 2.0 + saved
