"""Every command and option that README and docs show is one that the program has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.core
import typer.main

from freshline.cli.main import COMMANDS, app_for

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(freshline [^`]+)`")
TYPED = re.compile(r"^ *(?:\$ )?(?:[A-Z_]+=\S+ )*(freshline [a-z].*)$", re.MULTILINE)


def _shown(text):
    """What a page shows as typed: lines of blocks, and inline code."""
    for block in FENCED.findall(text):
        yield from TYPED.findall(block.replace("\\\n", " "))
    yield from INLINE.findall(FENCED.sub("", text).replace("\n", " "))


def _options():
    application = typer.main.get_command(app_for([]))
    assert isinstance(application, typer.core.TyperGroup)
    known = {}
    for name in COMMANDS:
        own = application.commands[name].params
        known[name] = {each for option in own for each in option.opts + option.secondary_opts}
        known[name] |= {"--help", "-h"}
    return known, {each for option in application.params for each in option.opts}


KNOWN, EVERYWHERE = _options()


def _wrong(text):
    """What is shown as typed and is no command, or has an option that it does not have."""
    wrong = []
    for line in _shown(text):
        words = re.split(r" *(?:[|;&#>]|2>) *", line)[0].split()
        named = next((word for word in words[1:] if not word.startswith("-")), None)
        if named is None or not re.fullmatch(r"[a-z]+(-[a-z]+)*", named):
            continue
        options = [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]
        if named not in KNOWN or set(options) - KNOWN[named] - EVERYWHERE:
            wrong.append(line)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_commands_and_options_that_there_are(page):
    assert _wrong(page.read_text(encoding="utf-8")) == []


def test_a_command_or_option_that_is_none_is_found():
    text = (
        "```\n$ freshline frob orders\n$ freshline run --until-done\n```\n`freshline status --jso`"
    )
    assert _wrong(text) == [
        "freshline frob orders", "freshline run --until-done", "freshline status --jso",
    ]  # fmt: skip


def test_options_are_found_where_they_are_shown():
    text = "```\n$ A=b freshline run --x\n```\nand `freshline status\n--json`, `freshline` alone"
    assert list(_shown(text)) == ["freshline run --x", "freshline status --json"]
