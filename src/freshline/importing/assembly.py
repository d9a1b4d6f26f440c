"""Items of another tool put in order, named, and their queries joined to tables of a project.

What cannot be taken takes others with it only where it must: where something else goes on
filling its table, the queries that read it read that table by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from freshline.importing.described import Described
from freshline.importing.inlining import Source, View, inlined, without_end
from freshline.importing.items import FEED_NAME, Item, Outcome, Table
from freshline.project.graph import parents_first
from freshline.project.names import name_fault
from freshline.sql.text.reads import quoted, reads_of
from freshline.sql.text.tokens import SqlTextError

_UNFIT = re.compile(r"[^A-Za-z0-9_]+")
_UNREAD = (
    "a view is put into the queries of tables, and none that was taken reads it: make it a table"
)


@dataclass(frozen=True, slots=True)
class Assembly:
    """The tables of the new project, parents first, and a row for each item."""

    tables: tuple[Table, ...]
    outcomes: tuple[Outcome, ...]


def assemble(items: Sequence[Item], faults: Mapping[str, str]) -> Assembly:
    """The tables that can be made of the items.

    Args:
        faults: Why an item cannot be taken although nothing in it says so, by key.
    """
    return _Assembler(items, faults).assembled()


@dataclass(slots=True)
class _State:
    """How far an item has come.

    Attributes:
        sources: What its query reads, by the name as written, in lower case.
        parents: The items among them, by key.
        strangers: The names among them that no item has.
        refusal: Why it is not taken, or None.
        live: A table of the new project is behind it, so that it has news.
    """

    sources: dict[str, Source] = field(default_factory=dict)
    parents: dict[str, Item] = field(default_factory=dict)
    strangers: dict[str, None] = field(default_factory=dict)
    refusal: str | None = None
    live: bool = False


class _Assembler:
    def __init__(self, items: Sequence[Item], faults: Mapping[str, str]) -> None:
        self.items = {item.key: item for item in items}
        self.faults = faults
        self.by_relation: dict[str, list[Item]] = {}
        for item in items:
            if item.relation:
                self.by_relation.setdefault(_relation(item).lower(), []).append(item)
        self.names = _names(items)
        self.states = {item.key: self._read(item) for item in items}
        self.views: dict[str, View] = {}
        self.described = Described()
        self.undescribed: dict[str, str] = {}

    def assembled(self) -> Assembly:
        parents = {
            key: [*state.parents, *(need for need in self.items[key].needs if need in self.items)]
            for key, state in self.states.items()
        }
        order = parents_first(parents)
        for key in self.items.keys() - set(order):
            why = "it reads itself, directly or through others"
            if key not in _above([key], parents):
                why = "it reads a model that reads itself, directly or through others"
            self._refuse(self.items[key], why)
        tables = [table for key in order if (table := self._taken(self.items[key])) is not None]
        used = _above([table.item.key for table in tables], parents)
        for item in self.items.values():
            unread = item.role == "view" and item.key not in used
            if unread and self.states[item.key].refusal is None:
                self._refuse(item, _UNREAD)
        return Assembly(tuple(tables), tuple(self._outcome(item) for item in self.items.values()))

    def _read(self, item: Item) -> _State:
        state = _State(refusal=item.refusal or self.faults.get(item.key) or self._same_name(item))
        if item.query is None or item.role == "base" or state.refusal is not None:
            return state
        try:
            reads = reads_of(without_end(item.query))
        except SqlTextError as error:
            state.refusal = f"its SQL cannot be read: {error.what} (line {error.line})"
            return state
        except ValueError as error:
            state.refusal = f"its SQL is no query: {error}"
            return state
        for read in reads:
            if found := self.by_relation.get(read.name.lower()):
                parent = found[-1]
                state.parents[parent.key] = parent
                state.sources[read.name.lower()] = Source()
            elif len(read.parts) == 1:
                state.refusal = (
                    f"it reads {read.name} by a name of one part: which table that is depends on "
                    "the session"
                )
            else:
                state.strangers[read.name] = None
        return state

    def _same_name(self, item: Item) -> str | None:
        """Why it cannot be told from another item; names may differ by the case of letters."""
        for other in self.by_relation.get(_relation(item).lower(), ()):
            if other.key != item.key:
                return (
                    f"it has the name of {other.key}: Spark takes {_relation(item)} for one table"
                )
        return None

    def _refuse(self, item: Item, why: str) -> None:
        self.states[item.key].refusal = why

    def _taken(self, item: Item) -> Table | None:
        """The table that the item becomes, or None; its parents have been here before."""
        state = self.states[item.key]
        if state.refusal is None:
            state.refusal = self._hindrance(item)
        if state.refusal is not None or item.role == "outside":
            return None
        if item.role == "base":
            state.live = True
            name = self.names[item.key]
            feed = self.names[f"feed of {item.key}"]
            query = item.query or f"SELECT * FROM STREAM {FEED_NAME}"
            self.described.add_feed(feed, item)
            return self._table(item, name, feed, query.replace(FEED_NAME, quoted(feed)))
        for parent in state.parents.values():
            state.sources[_relation(parent).lower()] = self._source(parent)
        state.live = any(self.states[key].live for key in state.parents)
        if item.role == "view":
            self.views[item.key] = View(self.names[item.key], item.query or "", state.sources)
        if item.role != "table":
            return None
        if not state.live:
            state.refusal = "it reads no table of the new project, so nothing would ever update it"
            return None
        try:
            query = inlined(item.query or "", state.sources, self.views)
        except (SqlTextError, ValueError) as error:
            state.refusal, state.live = str(error), False
            return None
        return self._table(item, self.names[item.key], None, query)

    def _table(self, item: Item, name: str, feed: str | None, query: str) -> Table:
        columns, why = self.described.comments(name, query, item.columns)
        if why is not None:
            self.undescribed[item.key] = why
        return Table(item, name, feed, query, columns)

    def _source(self, parent: Item) -> Source:
        state = self.states[parent.key]
        if state.refusal is not None or parent.role == "outside":
            return Source()
        if parent.role == "view":
            return Source(view=parent.key)
        return Source(table=self.names[parent.key])

    def _hindrance(self, item: Item) -> str | None:
        """The first parent that is neither taken nor filled by something else."""
        for parent in self.states[item.key].parents.values():
            if self.states[parent.key].refusal is not None and not parent.stays:
                return f"it reads {parent.key}, which was not taken"
        for need in item.needs:
            if need in self.states and self.states[need].refusal is not None:
                return f"its SQL contains that of {need}, which was not taken"
        return None

    def _outcome(self, item: Item) -> Outcome:
        state = self.states[item.key]
        changed, left_out = list(item.changed), list(item.left_out)
        if item.key in self.undescribed:
            left_out.append(self.undescribed[item.key])
        if state.refusal is not None:
            stays = ["its table stays as it is"] if item.stays and item.relation else []
            return Outcome(item, False, "not taken", tuple(stays), (state.refusal, *left_out))
        changed += [
            f"reads {_relation(parent)} by its name, as a table that something else fills"
            for parent in state.parents.values()
            if self.states[parent.key].refusal is not None
        ]
        changed += [
            f"reads {name} by its name: the {item.kind} names a table that is not imported"
            for name in state.strangers
        ]
        name = self.names.get(item.key, "")
        became = {
            "base": f"streaming table `{name}` over feed `{self.names.get(f'feed of {item.key}')}`",
            "table": f"materialized view `{name}`",
            "view": "put into the queries that read it",
            "inlined": "put into the queries that read it",
            "outside": f"read by its name, `{_relation(item)}`",
        }[item.role]
        if item.role in {"base", "table"} and item.relation and name != item.relation[-1]:
            changed.append(f"renamed from {_relation(item)}")
        return Outcome(
            item, item.role in {"base", "table"}, became, tuple(changed), tuple(left_out)
        )


def _relation(item: Item) -> str:
    """Its name as a query has it, in the spelling of ``Read.name``."""
    return ".".join(quoted(part) for part in item.relation)


def _above(keys: Sequence[str], parents: Mapping[str, Sequence[str]]) -> set[str]:
    """What some items read, directly or through others."""
    found: set[str] = set()
    left = [name for key in keys for name in parents[key]]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += parents.get(name, ())
    return found


def _names(items: Sequence[Item]) -> dict[str, str]:
    """A name for each item that gets one, and for its feed; no two alike, without case.

    The last part of its old name; where two share that or it cannot be a name here, with the
    part in front of it, and then with a number.
    """
    named = [item for item in items if item.role in {"base", "table", "view"} and item.relation]
    last = [item.relation[-1].lower() for item in named]
    names: dict[str, str] = {}
    taken: set[str] = set()
    for item in named:
        alone = last.count(item.relation[-1].lower()) == 1
        wanted = item.relation[-1] if alone else "_".join(item.relation[-2:])
        names[item.key] = _free(wanted, taken)
    for item in named:
        if item.role == "base":
            names[f"feed of {item.key}"] = _free(f"{names[item.key]}_feed", taken)
    return names


def _free(wanted: str, taken: set[str]) -> str:
    base = _UNFIT.sub("_", wanted)
    if name_fault(base) is not None:
        base = f"t_{base}".removesuffix("__rejected")
    name, number = base, 2
    while name.lower() in taken:
        name, number = f"{base}_{number}", number + 1
    taken.add(name.lower())
    return name
