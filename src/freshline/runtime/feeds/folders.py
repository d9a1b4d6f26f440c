"""What is remembered of a feed's folders between two listings.

A folder whose modification time stands still has no new names, so it is not listed again: a feed
with a folder for each day costs as much after a year as on the first day. What was loaded of a
folder at rest is not kept in memory either; the journal knows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_TICK_S = 3.0
"""File systems tell modification times to two seconds at worst. Only a folder that was listed so
long after its last change was seen has nothing that came in the same tick."""

_KEPT_S = 600.0
"""So long after its last change the names of a folder stay in memory."""

_CHECKED_EVERY_S = 60.0
"""One folder at rest is listed so often, for file systems that do not keep their times."""


@dataclass(slots=True)
class Folder:
    """One folder, by the name of a feed's files in it up to the last slash.

    Attributes:
        modified_ns: Its modification time when it was listed last; None: not listed yet.
        since_s: Since when it is known to have that time, by a clock that nobody sets.
        listed_s: When it was listed last.
        names: Files in it that are no news; None: the journal has to be asked.
        folders: Names of the folders in it.
        at_rest: Listing it again would find nothing while its time stays.
    """

    modified_ns: int | None = None
    since_s: float = 0.0
    listed_s: float = 0.0
    names: set[str] | None = None
    folders: list[str] = field(default_factory=list)
    at_rest: bool = False

    def is_to_be_listed(self, modified_ns: int, now_s: float) -> bool:
        """Whether there may be something new; notes the time of its last change."""
        if modified_ns != self.modified_ns:
            self.modified_ns, self.since_s, self.at_rest = modified_ns, now_s, False
        elif self.at_rest and now_s - self.since_s > _KEPT_S:
            self.names = None
        return not self.at_rest

    def was_listed(self, folders: list[str], now_s: float, *, quiet: bool) -> None:
        """It was listed, from ``now_s`` on; ``quiet``: nothing new was found, nothing failed."""
        self.folders, self.listed_s = folders, now_s
        self.at_rest = quiet and now_s - self.since_s >= _TICK_S


class Folders:
    """All folders of one feed.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self) -> None:
        self._known: dict[str, Folder] = {}
        self._checked_s = 0.0

    def __getitem__(self, prefix: str) -> Folder:
        """The folder of that prefix; a new one where there was none."""
        return self._known.setdefault(prefix, Folder())

    def __iter__(self) -> Iterator[Folder]:
        return iter(self._known.values())

    def of(self, name: str) -> Folder:
        """The folder of a file."""
        head, slash, _ = name.rpartition("/")
        return self[head + slash]

    def knows(self, name: str) -> bool:
        """Whether a file is known to be no news."""
        return name in (self.of(name).names or ())

    def tell(self, name: str) -> None:
        """A file is no news any more."""
        folder = self.of(name)
        if folder.names is None:
            folder.names = set()
        folder.names.add(name)

    def forget(self, name: str) -> None:
        """A file is news if it is there."""
        folder = self.of(name)
        folder.at_rest = False
        if folder.names is not None:
            folder.names.discard(name)

    def keep_only(self, prefixes: set[str]) -> None:
        """The others are gone."""
        for prefix in self._known.keys() - prefixes:
            del self._known[prefix]

    def check_one(self, now_s: float) -> None:
        """Once a minute: have the folder that was not listed for the longest time listed."""
        if now_s - self._checked_s < _CHECKED_EVERY_S:
            return
        self._checked_s = now_s
        resting = [each for each in self._known.values() if each.at_rest]
        if resting:
            min(resting, key=lambda each: each.listed_s).at_rest = False
