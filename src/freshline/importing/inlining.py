"""Names of other tools' tables replaced in a query, and views put in front of it.

A view becomes an entry of the query's WITH, under a name that no word of any query involved
has: nothing in the query can capture it. A table of the new project is read by its own name,
except where the query has a WITH entry of that name (``orders AS (SELECT * FROM shop.orders)``
is the habit of dbt projects). Then an entry in front, where the other is not yet visible, reads
the table, and the query reads that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from freshline.sql.text.reads import quoted, reads_of, rewritten
from freshline.sql.text.tokens import Token, tokens


@dataclass(frozen=True, slots=True)
class Source:
    """What a name in a query stands for.

    Attributes:
        table: The name of a table of the new project, or None.
        view: The key of a view, or None. With neither the name stays as it is.
    """

    table: str | None = None
    view: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A view's query, and what the names in it stand for (by the name as it is read)."""

    name: str
    query: str
    sources: Mapping[str, Source]


@dataclass(slots=True)
class _Prefix:
    """The entries in front of a query, by name, in the order in which they were needed."""

    taken: set[str]
    entries: dict[str, str] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)

    def name(self, wanted: str) -> str:
        name, number = wanted, 2
        while name.lower() in self.taken:
            name, number = f"{wanted}_{number}", number + 1
        self.taken.add(name.lower())
        return name


def inlined(query: str, sources: Mapping[str, Source], views: Mapping[str, View]) -> str:
    """The query with the names of the new project, and the views that it reads in its WITH.

    Args:
        sources: What each table's name in the query stands for, in lower case.
        views: By key; none of them reads itself.

    Raises:
        ValueError: The outcome would read other tables than the query did.
    """
    query = without_end(query)
    prefix = _Prefix(_words(query, sources, views))
    body = _body(query, sources, views, prefix)
    whole = _with_entries(body, prefix.entries)
    _check(whole, query, sources, views)
    return whole


def without_end(query: str) -> str:
    """The query up to its last token: no semicolon, no comment that would swallow what follows.

    Raises:
        ValueError: It is empty, or several statements.
    """
    found = tokens(query)
    while found and found[-1].is_symbol(";"):
        found.pop()
    if not found:
        raise ValueError("it is empty")
    if any(token.is_symbol(";") for token in found):
        raise ValueError("it is several statements")
    return query[: found[-1].end].lstrip()


def queries(
    query: str, sources: Mapping[str, Source], views: Mapping[str, View]
) -> Iterator[tuple[str, Mapping[str, Source]]]:
    """The query and those of the views that it reads, directly or through others, each once.

    Each comes with what the names in it stand for.
    """
    seen: set[str] = set()
    left = [(query, sources)]
    while left:
        text, meant = left.pop()
        yield text, meant
        for read in reads_of(text):
            key = meant.get(read.name.lower(), Source()).view
            if key is not None and key not in seen:
                seen.add(key)
                left.append((views[key].query, views[key].sources))


def _words(query: str, sources: Mapping[str, Source], views: Mapping[str, View]) -> set[str]:
    words: set[str] = set()
    for text, meant in queries(query, sources, views):
        words |= {token.name.lower() for token in tokens(text) if token.is_name}
        words |= {source.table.lower() for source in meant.values() if source.table is not None}
    return words


def _body(
    query: str, sources: Mapping[str, Source], views: Mapping[str, View], prefix: _Prefix
) -> str:
    """The query with its names replaced; what they need goes to ``prefix``."""
    query = without_end(query)
    _check_columns(query, sources)
    entries = _entry_names(tokens(query))
    replaced: dict[str, str] = {}
    for read in reads_of(query):
        source = sources.get(read.name.lower(), Source())
        if source.view is not None:
            replaced[read.name] = quoted(_view(source.view, views, prefix))
        elif source.table is not None and source.table.lower() in entries:
            if source.table not in prefix.tables:
                name = prefix.name(f"{source.table}_table")
                prefix.tables[source.table] = name
                prefix.entries[name] = f"SELECT * FROM {quoted(source.table)}"
            replaced[read.name] = quoted(prefix.tables[source.table])
        elif source.table is not None:
            replaced[read.name] = quoted(source.table)
    return rewritten(query, replaced)


def _view(key: str, views: Mapping[str, View], prefix: _Prefix) -> str:
    if key not in prefix.views:
        view = views[key]
        body = _body(view.query, view.sources, views, prefix)  # what it reads stands before it
        prefix.views[key] = prefix.name(f"{view.name}_view")
        prefix.entries[prefix.views[key]] = body
    return prefix.views[key]


def _entry_names(found: list[Token]) -> set[str]:
    """Names that may be entries of a WITH anywhere in the query; some are not, which is harmless.

    An entry is ``name AS (`` or ``name (columns) AS (``.
    """
    names = set()
    for at, token in enumerate(found[:-1]):
        if not token.is_name:
            continue
        behind = found[at + 1]
        as_query = behind.is_word("AS") and at + 2 < len(found) and found[at + 2].is_symbol("(")
        if as_query or behind.is_symbol("("):
            names.add(token.name.lower())
    return names


def _with_entries(body: str, entries: Mapping[str, str]) -> str:
    if not entries:
        return body
    written = ",\n".join(f"{quoted(name)} AS (\n{query}\n)" for name, query in entries.items())
    found = tokens(body)
    if not found[0].is_word("WITH"):
        return f"WITH {written}\n{body}"
    at = found[1].end if found[1].is_word("RECURSIVE") else found[0].end
    return f"{body[:at]} {written},\n{body[at:].lstrip()}"


def _check(
    whole: str, query: str, sources: Mapping[str, Source], views: Mapping[str, View]
) -> None:
    """The tables read are those that were meant: no name was captured, none was lost."""
    wanted = {name.lower() for name in _leaves(query, sources, views)}
    read = {read.name.lower() for read in reads_of(whole)}
    if read != wanted:
        differ = Counter(wanted) - Counter(read) or Counter(read) - Counter(wanted)
        raise ValueError(
            f"with the names of the new project it would read other tables ({', '.join(differ)})"
        )


def _leaves(query: str, sources: Mapping[str, Source], views: Mapping[str, View]) -> Iterator[str]:
    """The tables that are read in the end, by their names in the new project."""
    for text, meant in queries(query, sources, views):
        for read in reads_of(text):
            source = meant.get(read.name.lower(), Source())
            if source.view is None:
                yield quoted(source.table) if source.table is not None else read.name


def _check_columns(query: str, sources: Mapping[str, Source]) -> None:
    """No column is named with its table's schema: the table has none in the new project."""
    found = tokens(query)
    reads = reads_of(query)
    starts = {read.start for read in reads}
    names = {
        tuple(part.lower() for part in read.parts)
        for read in reads
        if len(read.parts) > 1 and sources.get(read.name.lower(), Source()) != Source()
    }
    for at, token in enumerate(found):
        if token.start in starts or (at and found[at - 1].is_symbol(".")):
            continue
        for parts in names:
            named = found[at : at + 2 * len(parts)]
            dots = len(named) == 2 * len(parts) and all(t.is_symbol(".") for t in named[1::2])
            if dots and tuple(t.name.lower() for t in named[::2]) == parts:
                raise ValueError(
                    f"it names a column with schema and table ({'.'.join(parts)}): give the "
                    "table an alias"
                )
