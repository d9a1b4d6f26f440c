"""The program ``freshline``: its commands, one file each in this folder.

Only the module of the command that was typed is imported: ``freshline status`` answers in a
fraction of a second because nothing that other commands need is loaded with it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import keyword
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from freshline.cli.errors import error_record, fault_in, reader_has_enough, reported, show
from freshline.cli.signals import STARTS_SPARK, ending
from freshline.core.errors import UserError
from freshline.render.output import print_json

COMMANDS = (
    "init", "import", "validate", "dry-run", "explain", "run", "ui", "ingest", "status", "refresh",
    "pause", "resume", "retry", "accept", "verify", "prioritise", "backfill", "wait", "story",
    "report", "drop", "simulate", "guarantees", "plan", "jars", "doctor",
)  # fmt: skip
"""In the order of the help; each is the function of that name in the module of that name.

Where the name is a word of Python's, both have an underscore behind it, and one for each hyphen.
"""


_OF_COMMANDS = ("--project", "--spec", "--json")


class _Program(TyperGroup):
    """With ``--json`` also a command or an option that there is not is an object."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before the command; see ``invoke``."""
        with _told(as_json="--json" in args):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and tell a wrong use of it; the caller shows that to people."""
        with _told(as_json="--json" in ctx.args):
            return super().invoke(ctx)


@contextlib.contextmanager
def _told(*, as_json: bool) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # of --help or --version, for which typer would end with 1
        raise typer.Exit(0 if reader_has_enough() else 1) from None
    except Exception as error:
        _name_the_option(error)
        # What is wrong with a command line has this; its class typer keeps to itself.
        message = getattr(error, "format_message", None)
        if as_json and message is not None:
            told = UserError("bad-usage", message(), next_step="See the command's --help.")
            with contextlib.suppress(OSError):  # the exit status says it, too
                print_json({"error": error_record(told)})
        raise


def _name_the_option(error: Any) -> None:
    """Where options stand, for an argument too many and for an option before its command.

    And what a priority is, for one that begins like an option.
    """
    command = getattr(getattr(error, "ctx", None), "command", None)
    options = {each.name for each in getattr(command, "params", ())}
    message, option = str(getattr(error, "message", "")), str(getattr(error, "option_name", ""))
    if isinstance(command, _Program) and option in _OF_COMMANDS:
        error.message = f"{message}; it stands behind the command, like in freshline status --json"
        error.possibilities = None
    if "given" in options and option[1:2].isdigit():
        from freshline.project.yaml.numbers import PRIORITY_RULE  # brings all of a project: 0.1 s

        error.message = f"{message}; {PRIORITY_RULE}"
        error.possibilities = None
    elif "given" in options and "unexpected extra argument" in message:
        error.message = f"{message}; it takes one table and one priority"
    elif "project" in options and "unexpected extra argument" in message:
        error.message = f"{message}; the project's folder is given with --project"


def main() -> None:
    """Run the command line; the console script's entry point."""
    _ready_streams()
    status = 0
    try:
        app_for(_completed() or sys.argv[1:])()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:  # noqa: BLE001 - of --version or --help, which are no commands
        status = show(fault_in(error), as_json=False)
    flushed = True
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            flushed = False
    # Where the log's disk is full, the interpreter would flush once more, and end with 120.
    if not flushed or "pyspark" in sys.modules:
        # Updates that outlived the grace, and threads of the gateway to the JVM, would keep
        # the process for as long as they like. The JVM ends when this process is gone.
        try:
            for number in ending():  # it is the end: a moment more, and nothing is left
                signal.signal(number, signal.SIG_IGN)
            if STARTS_SPARK in sys.modules:
                sys.modules[STARTS_SPARK].end_start()
        finally:
            os._exit(status)
    sys.exit(status)


def _ready_streams() -> None:
    """A closed stream is nowhere; a character that an encoding has not got is its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - to the end
            setattr(sys, name, nowhere)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The application, with the commands that ``arguments`` can be about."""
    typed = next((each for each in arguments if not each.startswith("-")), None)
    app = typer.Typer(
        name="freshline",
        cls=_Program,
        help="Keeps the tables of a warehouse fresh: the one that matters most first.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in (typed,) if typed in COMMANDS else COMMANDS:
        function = f"{name}_" if keyword.iskeyword(name) else name.replace("-", "_")
        module = importlib.import_module(f"freshline.cli.commands.{function}")
        app.command(name)(reported(getattr(module, function)))
    return app


def _completed() -> list[str]:
    """The words of the line that a shell wants completed, so far; none where it wants nothing.

    The shell calls the program without them, and has them in its variables: bash in COMP_WORDS,
    the others in typer's own.
    """
    if not any(name.endswith("_COMPLETE") for name in os.environ if "FRESHLINE" in name):
        return []
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return line.split()[1:]


def _version(wanted: bool) -> None:
    if wanted:
        from freshline import __version__

        print(f"freshline {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """What stands before the command."""
