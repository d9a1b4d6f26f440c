"""Random scenarios of updates, in numbers that floating point adds exactly.

Multiples of 1/8 make ties frequent, and every way of adding them up gives the same sum, so
that traces can be compared exactly.
"""

from __future__ import annotations

from hypothesis import strategies as st

from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.sim.scenario.model import FeedSpec, Scenario, Slowdown

POLICIES = ("fifo", "edf", "edf-p", "max-benefit", "lookahead", "myopic")
HORIZON_S = 96.0


def eighths(low, high):
    return st.integers(int(low * 8), int(high * 8)).map(lambda number: number / 8)


@st.composite
def feeds(draw, period_s):
    outages = []
    if draw(st.integers(0, 3)) == 0:
        starts = draw(st.lists(eighths(0, 60), min_size=1, max_size=3))
        outages = [(start, start + draw(eighths(0, 24))) for start in starts]
    arrivals = None
    if draw(st.integers(0, 3)) == 0:
        moments = sorted(draw(st.lists(eighths(0, HORIZON_S), max_size=12)))
        arrivals = tuple((at, max(0.0, at - draw(eighths(0, 6)))) for at in moments)
    return FeedSpec(draw(eighths(0, 12)), period_s, arrivals, tuple(outages))


@st.composite
def scenarios(draw, policies=POLICIES, *, derived=True, partitions=True):
    count = draw(st.integers(1, 6))
    tables: list[TableSpec] = []
    all_feeds = {}
    for number in range(count):
        sources: tuple[str, ...] = ()
        if derived and number and draw(st.integers(0, 2)) == 0:
            earlier = st.sampled_from([table.name for table in tables])
            sources = tuple(draw(st.lists(earlier, min_size=1, max_size=2, unique=True)))
        name = f"t{number}"
        period = float(draw(st.sampled_from([2, 3, 4, 6, 8, 12, 16])))
        feed = None if sources else draw(feeds(period))
        tables.append(
            TableSpec(
                name,
                sources,
                period_s=None if sources and draw(st.booleans()) else period,
                priority=draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 8.0])),
                alpha_s=draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0])),
                beta=draw(st.sampled_from([0.0, 0.125, 0.25, 0.5])),
                phase_s=feed.phase_s if feed is not None and feed.arrivals is None else None,
            )
        )
        if feed is not None:
            all_feeds[name] = feed
    # Listed in any order, so that sources also come after what is derived from them.
    tables = draw(st.permutations(tables))
    settings = PolicySettings(
        policy=draw(st.sampled_from(policies)),
        partition=draw(st.sampled_from(["none", "none", "edf-partitioned", "proportional"]))
        if partitions
        else "none",
        clustering=draw(st.sampled_from([0.25, 0.5, 1.0, 4.0])),
        allocation=draw(st.sampled_from(["basic", "all"])),
        aggressive=draw(st.booleans()),
        inherit=draw(st.sampled_from(["none", "sum", "max", "max-plus"])),
        inherit_factor=draw(st.sampled_from([0.5, 1.0, 2.0])),
        chop=draw(st.sampled_from([None, None, 1.0, 1.5, 3.0])),
    )
    slowdown = draw(
        st.sampled_from([None, None, Slowdown(3.0, 10.0, 5.0), Slowdown(2.0, 0.0, 8.0)])
    )
    return Scenario(
        draw(eighths(8, HORIZON_S)),
        draw(st.integers(0, 3)),
        draw(st.integers(1, 4)),
        settings,
        1.0,
        1.0,
        slowdown,
        tuple(tables),
        all_feeds,
    )
