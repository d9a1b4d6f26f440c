"""Reading a queue scenario: every value checked, every fault with its file and line.

Keys that only some algorithms use (block, cost) are read for all of them, so that one scenario
can be played with each algorithm by changing one word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from freshline.core.errors import UserError, UserErrors
from freshline.project.yaml.file import Path_, YamlFile
from freshline.queues.algorithm import algorithm_names
from freshline.queues.settings import SpillSettings

_KEYS = (
    "memory",
    "queues",
    "algorithm",
    "cost",
    "block",
    "consume",
    "drain",
    "ticks",
    "note",
)

_UNBOUNDED = 1e300
"""A cost from here on is infinite, or overflows when it is multiplied."""
_MOST_TUPLES = 100_000_000
"""In all ticks: an algorithm that moves them one by one takes half an hour for these."""
_MOST_ERRORS = 20
"""A file of a million wrong ticks has been understood after these."""


@dataclass(frozen=True, slots=True)
class QueueScenario:
    """A scenario that is right in itself.

    Attributes:
        ticks: Tuples entering each queue, per tick.
        consume: The queue served in each tick, None for none, at least as long as ``ticks``;
            None instead of the list: one tuple from every queue that has one.
        drain: Whether all is consumed at the end.
    """

    algorithm: str
    settings: SpillSettings
    ticks: list[list[int]]
    consume: list[int | None] | None
    drain: bool


def read_queue_scenario(document: YamlFile) -> QueueScenario:
    """The scenario of a document.

    Raises:
        UserErrors: All that is wrong in it, in the order of the keys.
    """
    return _Reader(document).read()


class _Reader:
    def __init__(self, document: YamlFile) -> None:
        self._document = document
        self._errors: list[UserError] = []
        if not isinstance(document.data, dict):
            raise UserError(
                "bad-scenario",
                "a queue scenario is a mapping of keys",
                where=document.place(),
                rule=f"known keys: {', '.join(_KEYS)}",
                next_step="Begin with memory, algorithm and ticks.",
            )
        self._data: dict[Any, Any] = document.data

    def read(self) -> QueueScenario:
        for key in self._data:
            if key not in _KEYS:
                rule = f"known: {', '.join(_KEYS)}"
                self._wrong("unknown-key", f"a queue scenario has no key '{key}'", (key,), rule)
        memory = self._whole("memory", at_least=1)
        queues = self._whole("queues", at_least=1, default=1)
        algorithm = self._algorithm()
        c0, c1 = self._cost()
        block = None
        if self._data.get("block") is not None:
            block = self._whole("block", at_least=1)
        ticks = self._ticks(queues)
        consume = self._consume(queues, len(ticks))
        drain = self._data.get("drain", True)
        if not isinstance(drain, bool):
            self._wrong("bad-value", f"drain is {drain!r}", ("drain",), "it is true or false")
        if self._errors:
            raise UserErrors(self._errors)
        settings = SpillSettings(memory=memory, queues=queues, c0=c0, c1=c1, block=block)
        return QueueScenario(algorithm, settings, ticks, consume, drain)

    def _wrong(self, code: str, what: str, path: Path_, rule: str) -> None:
        if len(self._errors) == _MOST_ERRORS:
            return
        step = "Correct the scenario."
        where = self._document.place(path)
        self._errors.append(UserError(code, what, where=where, rule=rule, next_step=step))

    def _missing(self, key: str, rule: str) -> None:
        self._wrong("missing-key", f"the key '{key}' is missing", (), rule)

    def _whole(self, key: str, *, at_least: int, default: int | None = None) -> int:
        rule = f"{key} is a whole number of at least {at_least}"
        if key not in self._data and default is None:
            self._missing(key, rule)
            return at_least
        value: Any = self._data.get(key, default)
        if not _is_whole(value) or value < at_least:
            self._wrong("bad-value", f"{key} is {value!r}", (key,), rule)
            return at_least
        return int(value)

    def _algorithm(self) -> str:
        rule = f"known: {', '.join(algorithm_names())}"
        if "algorithm" not in self._data:
            self._missing("algorithm", rule)
            return ""
        name = self._data["algorithm"]
        if name not in algorithm_names():
            what = f"there is no queue algorithm {name!r}"
            self._wrong("unknown-queue-algorithm", what, ("algorithm",), rule)
        return str(name)

    def _cost(self) -> tuple[float, float]:
        """c0 and c1 as given: whole numbers stay whole, so that the cost printed is exact."""
        cost = self._data.get("cost")
        if cost is None:
            return 1, 0
        if not isinstance(cost, dict):
            self._wrong("bad-value", f"cost is {cost!r}", ("cost",), "it is {c0: ..., c1: ...}")
            return 1, 0
        for key in cost:
            if key not in ("c0", "c1"):
                self._wrong(
                    "unknown-key", f"cost has no key '{key}'", ("cost", key), "known: c0, c1"
                )
        values: list[float] = []
        for key, default in (("c0", 1), ("c1", 0)):
            value = cost.get(key, default)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value < _UNBOUNDED:
                rule = "it is a number of at least 0"
                self._wrong("bad-value", f"{key} is {value!r}", ("cost", key), rule)
                value = default
            values.append(value)
        return values[0], values[1]

    def _ticks(self, queues: int) -> list[list[int]]:
        rule = f"a tick is a list of {queues} whole numbers of at least 0, one a queue"
        if "ticks" not in self._data:
            self._missing("ticks", rule)
            return []
        ticks = self._data["ticks"]
        if not isinstance(ticks, list):
            self._wrong("bad-value", "ticks is no list", ("ticks",), rule)
            return []
        for number, tick in enumerate(ticks):
            right = isinstance(tick, list) and len(tick) == queues
            if not right or not all(type(units) is int and units >= 0 for units in tick):
                self._wrong("bad-value", f"tick {number} is {tick!r}", ("ticks", number), rule)
        if not self._errors and (tuples := sum(map(sum, ticks))) > _MOST_TUPLES:
            rule = f"at most {_MOST_TUPLES:,} are played; only their ratio to memory matters"
            self._wrong("out-of-range", f"{tuples:,} tuples enter in all ticks", ("ticks",), rule)
        return ticks

    def _consume(self, queues: int, ticks: int) -> list[int | None] | None:
        consume = self._data.get("consume", "round-robin")
        if consume == "round-robin":
            return None
        rule = f"it is round-robin, or a queue from 0 to {queues - 1} or null for every tick"
        if not isinstance(consume, list):
            self._wrong("bad-value", f"consume is {consume!r}", ("consume",), rule)
            return None
        if len(consume) < ticks:
            what = f"consume names {len(consume)} ticks of {ticks}"
            self._wrong("bad-value", what, ("consume",), rule)
        for number, queue in enumerate(consume):
            if queue is not None and not (_is_whole(queue) and 0 <= queue < queues):
                what = f"tick {number} consumes from {queue!r}"
                self._wrong("bad-value", what, ("consume", number), rule)
        return consume


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
