"""Views that were made under other settings of Spark than those of the run that starts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from freshline.core.events import FileArrived, TableRestored
from freshline.runtime.requests.other_settings import with_rebuilt

FIRST = [TableRestored(name, 1.0, 0, 1) for name in ("orders", "sums", "means")]
MADE: dict[str, dict[str, Any]] = {"sums": {"settings": {}}, "means": {"settings": {}}}


class Told:
    """Keeps what people are told."""

    def __init__(self):
        self.notices: list[str] = []

    def notice(self, text: str, **_: object) -> None:
        self.notices.append(text)


def test_they_are_to_be_computed_in_full_and_people_are_told():
    told = Told()
    executor = SimpleNamespace(made_otherwise=lambda made: [name for name in made if name > "n"])
    events: list[Any] = [*FIRST, FileArrived("orders", 2.0)]
    found: list[Any] = [*with_rebuilt(events, MADE, executor, told)]
    assert [each.table for each in found if getattr(each, "stale", False)] == ["sums"]
    assert [each.table for each in found] == [each.table for each in events]
    assert told.notices == [
        "1 view is rebuilt, since settings of Spark that decide rows have changed: sums"
    ]


def test_an_executor_that_knows_of_no_settings_changes_nothing():
    told = Told()
    assert with_rebuilt(FIRST, MADE, object(), told) == FIRST
    assert told.notices == []
