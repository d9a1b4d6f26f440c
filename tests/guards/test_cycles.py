"""No file imports, by whatever detour, a file that imports it; annotations count as well."""

from __future__ import annotations

from collections.abc import Iterator

import grimp


def cycles(imports: dict[str, set[str]]) -> Iterator[set[str]]:
    """The groups of modules that import each other (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []

    def visit(module: str) -> Iterator[set[str]]:
        index[module] = low[module] = len(index)
        path.append(module)
        for imported in sorted(imports.get(module, ())):
            if imported not in index:
                yield from visit(imported)
                low[module] = min(low[module], low[imported])
            elif imported in path:
                low[module] = min(low[module], index[imported])
        if low[module] == index[module]:
            group = set(path[path.index(module) :])
            del path[path.index(module) :]
            if len(group) > 1:
                yield group

    for module in sorted(imports):
        if module not in index:
            yield from visit(module)


def test_no_files_import_each_other():
    graph = grimp.build_graph("freshline", exclude_type_checking_imports=False, cache_dir=None)
    imports = {
        module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules
    }
    assert list(cycles(imports)) == []


def test_the_search_finds_a_cycle():
    assert list(cycles({"a": {"b"}, "b": {"c", "d"}, "c": {"b"}, "d": set()})) == [{"b", "c"}]
