"""What a shell is told when TAB is pressed: commands, options and the project's tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shop import Shop

PROGRAM = "import sys; sys.argv = ['freshline']; from freshline.cli.main import main; main()"


def completed(line: str, directory: Path, shell: str = "bash") -> list[str]:
    """The answers for a line with the cursor at its end, as the shell's script asks for them."""
    words = len(line.split())
    asked = {
        "_FRESHLINE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(words if line.endswith(" ") else words - 1),
    }
    if shell != "bash":
        asked = {"_FRESHLINE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=directory,
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("freshline ver", ["verify"]),
        ("freshline story ", ["orders", "big", "small"]),
        ("freshline verify orders b", ["big"]),
        ("freshline pause s", ["small"]),
        ("freshline retry o", ["orders"]),
        ("freshline explain b", ["big"]),
        ("freshline run --full-refresh o", ["orders"]),
        ("freshline run --refresh big,s", ["big,small"]),
        ("freshline verify --ver", ["--versions"]),
    ],
)
def test_commands_options_and_tables(shop: Shop, line: str, answers: list[str]) -> None:
    assert completed(line, shop.root) == answers


def test_the_project_that_is_named_counts_and_none_is_no_error(
    shop: Shop, tmp_path_factory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert completed(f"freshline story --project {shop.root} b", elsewhere) == ["big"]
    assert completed("freshline story b", elsewhere) == []
    (shop.root / "freshline.yml").write_text("name: [")
    assert completed("freshline story b", shop.root) == []


def test_other_shells_are_answered_too(shop: Shop) -> None:
    assert '"big"' in " ".join(completed("freshline story bi", shop.root, "zsh"))
