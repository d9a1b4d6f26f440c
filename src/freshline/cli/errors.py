"""How an error ends a command: the message, and the exit status by whose fault it is."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import select
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import typer

from freshline.core.errors import (
    FreshlineError,
    InternalError,
    PlatformError,
    UserError,
    UserErrors,
)
from freshline.render.output import json_text, print_json, shortened
from freshline.times import rfc3339

_LONGEST_NAME, _LONGEST_PATH = 255, 4095
_OWN_FOLDERS = ("_freshline", ".freshline")
_RED, _DIM, _PLAIN = "\x1b[31m", "\x1b[2m", "\x1b[0m"


def reported(command: Callable[..., Any]) -> Callable[..., None]:
    """The command with its errors told in the documented form.

    Standard error gets the message, as JSON with ``--log-format json``. With ``--json`` standard
    output gets one object with ``error``, and ``errors`` where there are several. A command that
    returns a number ends with it.
    """

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        told = {
            # Of a scenario's file that is wrong there is nothing on standard output.
            "as_json": bool(options.get("as_json")) and options.get("file") is None,
            "in_log": options.get("log_format") == "json",
        }
        try:
            status = command(*arguments, **options)
            sys.stdout.flush()  # here, where a reader that is gone is no surprise
        except FreshlineError as error:
            status = show(error, **told)
        except BrokenPipeError as error:
            status = 0 if reader_has_enough() else show(_internal(error), **told)
        except Exception as error:  # noqa: BLE001 - a fault of ours is told like any other
            status = show(fault_in(error), **told)
        if status:
            raise typer.Exit(int(status))

    return run


def show(error: FreshlineError, *, as_json: bool, in_log: bool = False) -> int:
    """Tell an error; its exit status.

    Args:
        as_json: Also as an object on standard output.
        in_log: Standard error is a log of JSON objects, one a line.
    """
    several = error.errors if isinstance(error, UserErrors) else [error]
    with contextlib.suppress(OSError):  # the exit status says it, too
        for each in several:
            line = _logged(each) if in_log else _coloured(each.render())
            print(line, file=sys.stderr, flush=True)
    if as_json:
        told: dict[str, Any] = {"error": error_record(several[0])}
        if len(several) > 1:
            told["errors"] = [error_record(each) for each in several]
        with contextlib.suppress(OSError):
            print_json(told)
    return error.exit_status


def fault_in(error: Exception) -> FreshlineError:
    """Whose fault an error is that nobody expected."""
    return _full_disk(error) or _long_path(error) or _internal(error)


def reader_has_enough() -> bool:
    """Whether standard output is a pipe that nobody (head, less) reads any more.

    What is left goes nowhere then: the interpreter would try to flush it when it ends.
    """
    asked = select.poll()
    try:
        asked.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):
        return False
    if not any(happened & select.POLLERR for _, happened in asked.poll(0)):
        return False
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    return True


def error_record(error: FreshlineError) -> dict[str, Any]:
    """An error as a JSON object, with the keys of ``validate --json``."""
    return {
        "code": error.code,
        "file": error.where.file if error.where else None,
        "line": error.where.line if error.where else None,
        "message": f"{error.what}; {error.rule}" if error.rule else error.what,
        "next": error.next_step,
    }


def _coloured(message: str) -> str:
    """The code in red, on a terminal that shows colours."""
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR") or not message.startswith("["):
        return message
    code, _, rest = message.partition("] ")
    return f"{_RED}{code}]{_PLAIN} {rest}"


def _logged(error: FreshlineError) -> str:
    """As :class:`freshline.render.json_lines.JsonObserver` writes what people should hear."""
    at = rfc3339(time.time())
    record = {"at": at, "level": "error", "event": "notice", "message": error.render()}
    return json_text(record, sys.stderr.encoding)


def _full_disk(error: Exception) -> PlatformError | None:
    """The platform's error behind output or a file that its disk does not take; else None."""
    if not isinstance(error, OSError) or error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    what = "a file" if error.filename is None else str(error.filename)
    return PlatformError(
        "disk-full",
        f"{what} cannot be written: {error.strerror}",
        rule="what the command prints, and what it keeps, needs room",
        next_step="Make room, also where standard output goes to, then try again.",
    )


def _long_path(error: Exception) -> UserError | None:
    """The user's error behind a path that no system takes; None for any other.

    Names below one of freshline's own folders are freshline's.
    """
    if not isinstance(error, OSError) or error.errno != errno.ENAMETOOLONG or not error.filename:
        return None
    path = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else str(error.filename)
    names = path.split("/")
    own = next((at for at, name in enumerate(names) if name in _OWN_FOLDERS), len(names))
    given = any(len(os.fsencode(name)) > _LONGEST_NAME for name in names[:own])
    if own < len(names) and not given and len(os.fsencode(path)) <= _LONGEST_PATH:
        return None
    return UserError(
        "long-path",
        f"the path {shortened(path, 80)} is too long",
        rule=f"a name has at most {_LONGEST_NAME} bytes, a path at most {_LONGEST_PATH:,}",
        next_step="Give a shorter one.",
    )


def _internal(error: Exception) -> InternalError:
    if os.environ.get("FRESHLINE_DEBUG"):
        traceback.print_exc()
        hint = "The traceback stands above."
    else:
        hint = "Set FRESHLINE_DEBUG=1 to see where; please report it with the journal."
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return InternalError("unexpected", f"freshline failed: {what}", next_step=hint)
