"""Results of a run over a warehouse's core: staleness, targets kept, executor seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from freshline.core.objective.compliance import Compliance
from freshline.core.scheduler import Scheduler
from freshline.core.staleness import staleness_of


@dataclass(frozen=True, slots=True)
class Figures:
    """One table's.

    Attributes:
        mean_s, max_s: Staleness while its data was known; None where it never was.
        integral_s2: Its integral.
        target_s: The lag asked for.
        within: Share of time within it; None without target or data.
        executor_s: Seconds of its updates.
        updates: How many ended.
    """

    mean_s: float | None
    max_s: float | None
    integral_s2: float
    target_s: float | None
    within: float | None
    executor_s: float
    updates: int


class Accounts:
    """Keeps the accounts of a core's tables.

    Args:
        core: Its tables; their freshness may be unknown at first.
        lags_s: The target of each table that has one.
    """

    def __init__(self, core: Scheduler, lags_s: Mapping[str, float]) -> None:
        self._core = core
        self._kept = {table.name: Compliance(lags_s.get(table.name)) for table in core.tables}
        self._unknown = list(core.tables)
        self.figures: dict[str, Figures] = {}

    def instant(self, now_s: float, finished: Iterable[tuple[str, float]]) -> None:
        """After the core handled an instant at which these updates ended, with their seconds."""
        for name, seconds in finished:
            self._kept[name].finished(now_s, seconds, self._core.table(name).freshness_s)
        if self._unknown:
            for table in self._unknown:
                if table.known:
                    self._kept[table.name].begin(now_s, table.freshness_s)
            self._unknown = [table for table in self._unknown if not table.known]

    def end(self, end_s: float, running: Mapping[str, float]) -> None:
        """The run ends; ``running`` are the starts of updates that go on."""
        for name, start_s in running.items():
            self._kept[name].executor_s += end_s - start_s
        for table in self._core.tables:
            kept = self._kept[table.name]
            measured = staleness_of(table, end_s)
            past_s = end_s - kept.begun_s
            known = measured is not None and past_s > 0.0
            self.figures[table.name] = Figures(
                mean_s=measured.integral_s2 / past_s if measured and known else None,
                max_s=measured.max_s if measured else None,
                integral_s2=measured.integral_s2 if measured else 0.0,
                target_s=kept.target_s,
                within=kept.share(end_s),
                executor_s=kept.executor_s,
                updates=kept.updates,
            )
