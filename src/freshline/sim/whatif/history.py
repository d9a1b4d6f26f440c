"""What a recorded run did: its decisions, its staleness, and how long updates took.

The recorded instants go through a fresh core, which has to decide as the run did; so the
figures of the run are measured by the same code as those of a simulation. Every update that
ended gives a duration, from the instant of its start to that of its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from freshline.core.assembly import make_warehouse_scheduler
from freshline.core.chance import stream, uniform
from freshline.core.commands import StartUpdate
from freshline.core.cost import LearnedCost
from freshline.core.errors import UserError
from freshline.core.events import Event, UpdateFailed, UpdateFinished
from freshline.core.recorded import RecordedRun
from freshline.sim.accounts import Accounts

Form = tuple[str, float, float, bool, tuple[str, ...], tuple[float, float] | None, str]
"""Table, from, to, full, files, backfill, upkeep: updates of one form load the same data.

Of upkeep, which loads none: what it was to take, twice. It is the same work at other versions."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An update that ended.

    Attributes:
        command: As it was started.
        amount_s: Feed time loaded, late data included.
        start_s, finish_s: The instants.
        event: What the core was told of its end.
    """

    command: StartUpdate
    amount_s: float
    start_s: float
    finish_s: float
    event: UpdateFinished | UpdateFailed

    @property
    def seconds(self) -> float:
        """From its start to its end."""
        return self.finish_s - self.start_s


@dataclass(slots=True)
class History:
    """A run, told again.

    Attributes:
        run: What was recorded.
        ended: All updates that ended, in that order.
        accounts: What was measured of it.
        cut: Updates that still ran when it ended, each with the instant of its start.
    """

    run: RecordedRun
    ended: list[Ended]
    accounts: Accounts
    cut: list[tuple[StartUpdate, float]]


def history_of(run: RecordedRun, lags_s: Mapping[str, float]) -> History:
    """Tell ``run`` again to a fresh core.

    Args:
        run: What was recorded.
        lags_s: The targets by which it is measured.

    Raises:
        UserError: Nothing was updated in it, or the core decides otherwise today (another
            version of freshline made the run).
    """
    core = make_warehouse_scheduler(
        run.specs, tracks=run.tracks, settings=run.settings, start_s=run.start_s
    )
    accounts = Accounts(core, lags_s)
    running: dict[str, tuple[StartUpdate, float, float]] = {}
    ended: list[Ended] = []
    for instant in run.instants:
        finished: list[tuple[str, float]] = []
        for event in instant.events:
            if isinstance(event, UpdateFinished | UpdateFailed) and event.table in running:
                command, amount_s, start_s = running.pop(event.table)
                ended.append(Ended(command, amount_s, start_s, instant.now_s, event))
                finished.append((event.table, instant.now_s - start_s))
        if tuple(core.handle(instant.now_s, instant.events)) != instant.commands:
            raise UserError(
                "other-decisions",
                f"run {run.number} of the journal is not what this version of freshline would do",
                rule="a run is compared with what the same core does with the same events",
                next_step="Run the project for a while with this version, then compare.",
            )
        accounts.instant(instant.now_s, finished)
        for command in instant.commands:
            now = core.table(command.table).running
            assert now is not None, "it was started at this instant"
            running[command.table] = (command, now.amount_s, instant.now_s)
    if not any(isinstance(each.event, UpdateFinished) for each in ended):
        raise UserError(
            "nothing-updated",
            f"no update ended in run {run.number} of the journal",
            rule="what updates cost is taken from those of the run",
            next_step="Run the project until some of its tables were updated.",
        )
    accounts.end(run.end_s, {name: start_s for name, (_, _, start_s) in running.items()})
    cut = [(command, start_s) for command, _, start_s in running.values()]
    return History(run, ended, accounts, cut)


@dataclass(slots=True)
class Durations:
    """How long updates take: as recorded where the run made them, else as it would have.

    An update of a form that the run made (same table, same data) takes what it took; started at
    the same instant it ends at the same instant, to the last digit, and not at all where the run
    ended before it. Any other
    takes alpha + beta * amount, learned from all of the table's updates, times the ratio of
    actual to learned seconds of one of them, drawn by the update's number: every policy meets
    the same luck.

    Attributes:
        recorded, modelled: How many of either kind were asked for.
        unknown: Tables of which the run finished no update; theirs take the first guess.
    """

    history: History
    recorded: int = 0
    modelled: int = 0
    unknown: set[str] = field(default_factory=set)
    _by_form: dict[Form, Ended] = field(default_factory=dict)
    _by_start: dict[tuple[Form, float], Ended] = field(default_factory=dict)
    _cut: set[tuple[Form, float]] = field(default_factory=set)
    _costs: dict[str, LearnedCost] = field(default_factory=dict)
    _ratios: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        done = [each for each in self.history.ended if isinstance(each.event, UpdateFinished)]
        self._cut = {(_form(command), start_s) for command, start_s in self.history.cut}
        specs = {spec.name: spec for spec in self.history.run.specs}
        for each in done:
            command = each.command
            form = _form(command)
            self._by_form[form] = self._by_start[form, each.start_s] = each
            if command.upkeep:
                continue
            spec = specs[command.table]
            cost = self._costs.setdefault(command.table, LearnedCost(spec.alpha_s, spec.beta))
            cost.learn(each.amount_s, each.seconds)
        for each in done:
            if each.command.upkeep:
                continue
            expected_s = self._costs[each.command.table].expected_s(each.amount_s)
            ratio = each.seconds / expected_s if expected_s > 0.0 else 1.0
            self._ratios.setdefault(each.command.table, []).append(ratio)

    def end(self, command: StartUpdate, amount_s: float, start_s: float) -> tuple[float, float]:
        """When the update of ``command`` ends, and the seconds that the core hears it took.

        The latter leave out what the run's own loop added, where the run made the update.
        """
        form = _form(command)
        if (form, start_s) in self._cut:
            self.recorded += 1
            return inf, inf
        same = self._by_start.get((form, start_s))
        made = same or self._by_form.get(form)
        if made is None:
            seconds = self._modelled_s(command, amount_s)
            return start_s + seconds, seconds
        self.recorded += 1
        finish_s = start_s + made.seconds if same is None else same.finish_s
        told_s = made.event.seconds if isinstance(made.event, UpdateFinished) else None
        return finish_s, made.seconds if told_s is None else told_s

    def _modelled_s(self, command: StartUpdate, amount_s: float) -> float:
        self.modelled += 1
        if command.upkeep:
            return command.expected_s
        cost = self._costs.get(command.table)
        if cost is None:
            self.unknown.add(command.table)
            return command.expected_s
        ratios = self._ratios[command.table]
        luck = uniform(stream(self.history.run.number, "ratio", command.table), command.number)
        return cost.expected_s(amount_s) * ratios[int(luck * len(ratios))]


def _form(command: StartUpdate) -> Form:
    if command.upkeep:
        took_s = command.expected_s
        return command.table, took_s, took_s, False, (), None, command.upkeep
    return (
        command.table,
        command.from_s,
        command.to_s,
        command.full,
        command.files,
        command.backfill,
        command.upkeep,
    )


def external(run: RecordedRun) -> list[tuple[float, tuple[Event, ...]]]:
    """Each instant's events that are no ends of updates; instants without any as well."""
    return [
        (
            instant.now_s,
            tuple(
                event
                for event in instant.events
                if not isinstance(event, UpdateFinished | UpdateFailed)
            ),
        )
        for instant in run.instants
    ]
