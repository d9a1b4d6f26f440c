"""`freshline simulate` of a queue scenario: arrivals and consumption on the product's own queues.

The scenario's tuples are units of ``freshline.queues``; what is printed is what it counted.
Source: Motwani and Thomas 2004; rules M10, M11.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from freshline.core.errors import UserError
from freshline.project.yaml.file import YamlFile
from freshline.queues.settings import RefusedSettingError
from freshline.queues.spilling import SpillingQueues
from freshline.sim.scenario.queue_scenario import QueueScenario, read_queue_scenario


def simulate_queues(document: YamlFile) -> dict[str, Any]:
    """Play a queue scenario and count what it cost.

    Returns:
        ``reads``, ``writes``, ``unit_cost``, ``extended_cost``, ``moved_out``, ``moved_in``
        (tuples), ``acyclic`` and ``peak_memory`` (tuples), in this order.

    Raises:
        UserError: The scenario is wrong; with the file and line of what is.
    """
    scenario = read_queue_scenario(document)
    try:
        queues = SpillingQueues(scenario.algorithm, scenario.settings)
    except RefusedSettingError as error:
        raise UserError(
            error.code,
            error.what,
            where=document.place((error.key,)),
            rule=error.rule,
            next_step=error.next_step,
        ) from error
    _Player(queues, scenario.settings.queues).play(scenario)
    counted = queues.statistics()
    accesses = counted.reads + counted.writes
    moved = counted.moved_in + counted.moved_out
    return {
        "reads": counted.reads,
        "writes": counted.writes,
        "unit_cost": accesses,
        "extended_cost": scenario.settings.c0 * accesses + scenario.settings.c1 * moved,
        "moved_out": counted.moved_out,
        "moved_in": counted.moved_in,
        "acyclic": counted.acyclic,
        "peak_memory": counted.peak_used,
    }


def render_queues(result: dict[str, Any]) -> str:
    """The result for a reader: a line a figure, in words."""
    acyclic = "yes" if result["acyclic"] else "no: tuples were written more than once"
    lines = (
        ("writes", f"{result['writes']:,} ({result['moved_out']:,} tuples)"),
        ("reads", f"{result['reads']:,} ({result['moved_in']:,} tuples)"),
        ("unit cost", f"{result['unit_cost']:,}"),
        ("extended cost", f"{result['extended_cost']:,}"),
        ("acyclic", acyclic),
        ("peak memory", f"{result['peak_memory']:,} tuples"),
    )
    return "\n".join(f"{name:<14} {value}" for name, value in lines)


class _Player:
    """Plays a scenario's ticks; ticks without arrivals many at once where nothing can happen."""

    def __init__(self, queues: SpillingQueues, number: int) -> None:
        self._queues = queues
        self._numbers = range(number)

    def play(self, scenario: QueueScenario) -> None:
        if scenario.consume is None:
            self._play_rounds(scenario.ticks)
        else:
            self._play_given(scenario.ticks, scenario.consume)
        if scenario.drain:
            self._serve_rounds(None)

    def _play_rounds(self, ticks: list[list[int]]) -> None:
        quiet_ticks = 0
        for tick in ticks:
            if any(tick):
                self._serve_rounds(quiet_ticks)
                quiet_ticks = 0
                self._enter(tick)
            quiet_ticks += 1  # the consumption of this tick, still to be played
        self._serve_rounds(quiet_ticks)

    def _play_given(self, ticks: list[list[int]], consume: list[int | None]) -> None:
        arrivals: Iterator[list[int]] = iter(ticks)
        for queue in consume:  # ticks beyond the arrivals only consume
            self._enter(next(arrivals, []))
            if queue is not None and self._queues.length(queue):
                self._serve(queue)

    def _enter(self, tick: list[int]) -> None:
        for queue, arrivals in enumerate(tick):
            if arrivals:
                self._queues.enter(queue, arrivals)

    def _serve(self, queue: int) -> None:
        self._queues.bring(queue)
        self._queues.consume(queue)

    def _serve_rounds(self, rounds: int | None) -> None:
        """One tuple from every nonempty queue, ``rounds`` times; None: until all are empty.

        While every queue's front is in memory a round moves nothing, so as many rounds as the
        shortest of these fronts allows are one step.
        """
        queues = self._queues
        while rounds is None or rounds > 0:
            serving = [queue for queue in self._numbers if queues.length(queue)]
            if not serving:
                return
            step = min(queues.ready(queue) for queue in serving)
            if step == 0:
                for queue in serving:
                    self._serve(queue)
                step = 1
            else:
                step = step if rounds is None else min(step, rounds)
                for queue in serving:
                    queues.consume(queue, step)
            if rounds is not None:
                rounds -= step
