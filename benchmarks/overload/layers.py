"""32 tables in three layers, more updates than two tracks can commit, and two feeds that fail.

The crowd's tables, two feeds more and what is derived from them. From half of the time on orders
and payments are silent for a sixth of it, and then all of it comes at once.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.common.projects import FeedSpec, TableSpec
from benchmarks.overload.crowd import BY_KEY, CROWD, JOINED, RANKED, SPREAD
from benchmarks.overload.workload import Arrivals, Workload, loading

_SILENT = (1 / 2, 2 / 3)
_FAILING = ("orders_feed", "payments_feed")
_ON_VIEWS = "SELECT a.key, a.total / b.total AS share FROM {} a JOIN {} b ON a.key = b.key"

LAYERS = Workload(
    (
        *(
            replace(each, silent=_SILENT) if each.feed.name in _FAILING else each
            for each in CROWD.arrivals
        ),
        Arrivals(FeedSpec("returns_feed", "csv", 2.0), 500),
        Arrivals(FeedSpec("sessions_feed", "json", 1.5), 300),
    ),
    (
        *(table for table in CROWD.tables if "STREAM " in table.query),
        TableSpec("returns", 2.0, loading("returns")),
        TableSpec("sessions", 1.0, loading("sessions")),
        *(table for table in CROWD.tables if "STREAM " not in table.query),
        TableSpec("returns_by_key", 3.0, BY_KEY.format("returns")),
        TableSpec("returns_of_orders", 6.0, JOINED.format("returns", "orders")),
        TableSpec("sessions_spread", 1.0, SPREAD.format("sessions")),
        TableSpec("sessions_ranked", 2.0, RANKED.format("sessions")),
        TableSpec("return_share", 8.0, _ON_VIEWS.format("returns_by_key", "orders_by_key")),
        TableSpec("paid_share", 5.0, _ON_VIEWS.format("payments_by_key", "orders_by_key")),
    ),
)

LAYERS_IN_FULL = replace(
    LAYERS,
    tables=tuple(
        table if "STREAM " in table.query else replace(table, properties={"refresh": "full"})
        for table in LAYERS.tables
    ),
)
"""The same with every view computed anew at each update, as the loop by hand does."""
