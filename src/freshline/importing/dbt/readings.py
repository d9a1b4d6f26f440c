"""The kinds of all that a template reads, where the macros of its project are known."""

from __future__ import annotations

from collections.abc import Iterator

from freshline.importing.dbt.context import Kind, kind_of, kind_of_filter, word_of
from freshline.importing.dbt.jinja import Template
from freshline.importing.dbt.macros import Macros


def kinds_in(template: Template, macros: Macros) -> Iterator[tuple[Kind, str]]:
    """The kind and word of each name and filter that the template reads itself."""
    if template.fault is not None:
        yield Kind.UNREADABLE, template.fault
    for read in template.reads:
        name = read.path[0]
        if macros.is_package(name):
            called = read.path[1] if len(read.path) > 1 else None
            if called is None:
                yield Kind.COMPUTED, str(name)
            elif not macros.named(called):
                yield Kind.UNKNOWN, f"{name}.{called}"
            continue
        kind = kind_of(read)
        known = name in template.bound or (name is not None and macros.named(name))
        if kind is not Kind.UNKNOWN or not known:
            yield kind, word_of(read)
    for each in sorted(template.filters, key=str):
        yield kind_of_filter(each), str(each or "map")
    if None in template.dispatched:
        yield Kind.COMPUTED, "adapter.dispatch"
