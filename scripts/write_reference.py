"""Write the pages of docs/reference that follow from the code, and the tables of ARCHITECTURE.md.

``make reference`` writes them; tests/guards/test_reference.py holds them against the code.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer.core
import typer.main

from freshline.cli.main import COMMANDS, app_for
from freshline.project.properties import KNOWN
from scripts.json_page import json_page
from scripts.metrics_page import metrics_page
from scripts.reasons_page import reasons_page
from scripts.reference_texts import KEYS, NOTE, SECTIONS, WITHOUT

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "freshline"
REFERENCE = ROOT / "docs" / "reference"
_FAMILIES = {
    "UserError": "yours to correct, exit 2",
    "PlatformError": "the platform's, exit 1",
    "InternalError": "freshline's own fault, exit 1",
}
_ROOMS_BEGIN = "<!-- rooms: written by `make reference` from the first lines of the docstrings -->"
_ROOMS_END = "<!-- end of rooms -->"


def pages() -> dict[Path, Callable[[], str]]:
    """What writes each page that follows from the code, by the page's path."""
    return {
        REFERENCE / "commands.md": _commands,
        REFERENCE / "errors.md": _errors,
        REFERENCE / "json.md": json_page,
        REFERENCE / "metrics.md": metrics_page,
        REFERENCE / "project-files.md": _project_files,
        REFERENCE / "reasons.md": reasons_page,
        ROOT / "docs" / "design" / "README.md": _design,
        ROOT / "ARCHITECTURE.md": _architecture,
    }


def _commands() -> str:
    application = typer.main.get_command(app_for([]))
    assert isinstance(application, typer.core.TyperGroup)
    lines = ["# Commands", "", NOTE, "", "`freshline COMMAND --help` says the same.", ""]
    for name in COMMANDS:
        command = application.commands[name]
        lines += [f"## freshline {name}", "", _sentence(command.help or ""), ""]
        rows = [_parameter(each) for each in command.params if each.name != "help"]
        if rows:
            lines += ["| argument or option | meaning |", "|---|---|", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


def _parameter(parameter: Any) -> str:
    if isinstance(parameter, typer.core.TyperOption):
        shown = ", ".join(f"`{each}`" for each in parameter.opts + parameter.secondary_opts)
        if not parameter.is_flag and parameter.metavar:
            shown += f" {parameter.metavar}"
    else:
        shown = f"`{parameter.metavar or str(parameter.name).upper()}`"
    meaning = _cell(getattr(parameter, "help", None) or "")
    default = parameter.default
    if isinstance(default, str | int | float) and not isinstance(default, bool) and default != "":
        meaning = f"{meaning} Default: {default}."
    return f"| {shown} | {meaning} |"


def _errors() -> str:
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        module = str(path.relative_to(SOURCE))
        for family, code, what in _raised(ast.parse(path.read_text(encoding="utf-8"))):
            found.setdefault((code, family), []).append((what, module))
    lines = [
        "# Error codes",
        "",
        NOTE,
        "",
        "A code stays the same over versions; the sentence may change. `...` stands for names and",
        "values of the moment. Every message also says where the fault is, and what to do next.",
        "",
        "| code | whose fault | what is wrong | raised in |",
        "|---|---|---|---|",
    ]
    for (code, family), cases in sorted(found.items()):
        sentences = list(dict.fromkeys(what for what, _ in cases))
        modules = list(dict.fromkeys(f"`{module}`" for _, module in cases))
        told = "; ".join(sentences)
        lines.append(
            f'| <a id="{code}"></a>`{code}` | {_FAMILIES[family]} | {_cell(told)} |'
            f" {', '.join(modules)} |"
        )
    return "\n".join(lines) + "\n"


def _raised(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Family, code and sentence of every error that a module makes with a literal code."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else None
        name = node.func.id if isinstance(node.func, ast.Name) else name
        family = {"fault": "UserError"}.get(name or "", name or "")
        code = node.args[0]
        if (
            family in _FAMILIES
            and isinstance(code, ast.Constant)
            and isinstance(code.value, str)
            and re.fullmatch(r"[a-z]+(-[a-z]+)*", code.value)
            and len(node.args) > 1
        ):
            yield family, code.value, _text(node.args[1])


def _text(node: ast.expr) -> str:
    """A message's text, with ``...`` for what is put into it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(each.value) if isinstance(each, ast.Constant) else "..." for each in node.values
        )
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return "..."


def _project_files() -> str:
    lines = [
        "# freshline.yml and table properties",
        "",
        NOTE,
        "",
        "An unknown key or property is an error that names the known ones. Durations have units,",
        "like `90s` or `10 minutes`; sizes too, like `256MB`.",
        "",
    ]
    for section, keys in _allowed_keys():
        lines += [f"## {section}", "", "| key | meaning |", "|---|---|"]
        lines += [f"| `{key}` | {_cell(KEYS[section][key])} |" for key in keys]
        lines.append("")
    lines += [
        "## Properties of tables",
        "",
        "They are set in `TBLPROPERTIES` of a table's statement.",
        "",
        "| property | of | value | without it |",
        "|---|---|---|---|",
    ]
    for name, known in KNOWN.items():
        of = "base tables" if known.base_only else "views" if known.derived_only else "all tables"
        lines.append(f"| `{name}` | {of} | {_cell(known.rule)} | {WITHOUT[name]} |")
    return "\n".join(lines) + "\n"


def _allowed_keys() -> Iterator[tuple[str, list[str]]]:
    """Each section of freshline.yml with the keys that its reader allows.

    Raises:
        KeyError: A reader or a key is not described in reference_texts.py yet.
    """
    found: dict[str, list[str]] = {}
    for path in sorted((SOURCE / "project").rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            node.targets[0].id: node.value
            for node in module.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for function in ast.walk(module):
            if isinstance(function, ast.FunctionDef) and (keys := _keys_in(function, constants)):
                found[SECTIONS[path.stem, function.name]] = keys
    return ((section, found[section]) for section in KEYS)


def _keys_in(function: ast.FunctionDef, constants: dict[str, ast.expr]) -> list[str]:
    keys: list[str] = []
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "only"
        ):
            for each in node.args:
                named = each.value if isinstance(each, ast.Starred) else each
                if isinstance(named, ast.Name):
                    named = constants[named.id]
                keys += (
                    ast.literal_eval(named)
                    if isinstance(named, ast.Tuple)
                    else [ast.literal_eval(named)]
                )
    return list(dict.fromkeys(keys))


def _design() -> str:
    lines = [
        "# Design pages",
        "",
        NOTE,
        "",
        "One page for each choice that somebody could question: what was asked, what was decided,",
        "and what else was considered. Numbers stay; a page that is overtaken says by which.",
        "",
    ]
    for path in sorted((ROOT / "docs" / "design").glob("[0-9]*.md")):
        title = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        number, _, question = title.partition(". ")
        lines.append(f"- [{int(number):04d}]({path.name}) {question}")
    return "\n".join(lines) + "\n"


def _architecture() -> str:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    before, _, rest = page.partition(_ROOMS_BEGIN)
    _, _, after = rest.partition(_ROOMS_END)
    return before + _ROOMS_BEGIN + "\n\n" + _rooms() + "\n" + _ROOMS_END + after


def _rooms() -> str:
    """One table a room: its files in the order to read, and what each does."""
    lines: list[str] = []
    folders = [SOURCE, *(path.parent for path in sorted(SOURCE.rglob("__init__.py")))]
    for folder in dict.fromkeys(folders):
        files = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
        if not files:
            continue
        name = str(folder.relative_to(SOURCE.parent))
        lines += [f"### {name}", "", _first_line(folder / "__init__.py"), ""]
        lines += ["| file | what it does |", "|---|---|"]
        lines += [
            f"| [{path.name}]({path.relative_to(ROOT)}) | {_cell(_first_line(path))} |"
            for path in _in_reading_order(files)
        ]
        lines.append("")
    return "\n".join(lines)


def _in_reading_order(files: list[Path]) -> list[Path]:
    """Each file before those of its folder that it imports; by name where that leaves a choice."""
    by_module = {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts): path for path in files
    }
    imports = {
        module: {
            node.module
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module in by_module
        }
        for module, path in by_module.items()
    }
    left, ordered = dict(imports), []
    while left:
        wanted = {target for targets in left.values() for target in targets}
        entry = min((module for module in left if module not in wanted), default=min(left))
        ordered.append(by_module[entry])
        del left[entry]
    return ordered


def _first_line(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return re.sub(r"`+|:\w+:", "", " ".join(doc.split("\n\n")[0].split()))


def _sentence(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def main() -> int:
    """Write the pages that have changed."""
    for path, written in pages().items():
        text = written()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
