"""Starting Spark's JVM with its settings in a private file instead of its arguments; its end.

Every user of a machine can read the arguments of every process, and PySpark passes settings on
as arguments; keys of object stores are settings.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from freshline.core.errors import PlatformError
from freshline.spark.answers import acknowledge_at_once
from freshline.spark.engine.java import NEXT_STEP, RULE, find_java
from freshline.spark.engine.scratch import remove_own

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_WITHOUT = "pyspark-shell"
_PRINTABLE = range(0x21, 0x7F)
_MARKS = frozenset("\\:=#!")
_STARTED_BY_PYSPARK = b"_PYSPARK_DRIVER_CONN_INFO_PATH="
_AT_ONCE_S = 2.0
_LOOK_S = 0.02
_given: Path | None = None
"""The settings that a JVM is being started with."""


def use_java() -> None:
    """Have this process's JVM started by a Java that Spark runs on.

    Raises:
        PlatformError: There is none (``no-java``).
    """
    java = find_java()
    if java is None:
        raise PlatformError(
            "no-java", "no Java for Spark was found", rule=RULE, next_step=NEXT_STEP
        )
    os.environ["JAVA_HOME"] = str(java.home)


def start_jvm(settings: Mapping[str, str]) -> None:
    """Start this process's JVM with ``settings``, unless it has one already.

    Raises:
        Exception: What PySpark raises where the JVM does not start.
        OSError: The file cannot be written.
    """
    with submitted(settings):
        # The one public call that starts the JVM without passing settings on.
        SparkContext.getSystemProperty("java.version")
    acknowledge_at_once(SparkContext._gateway)  # noqa: SLF001 - there is no session yet
    _outlive_signals()


def _outlive_signals() -> None:
    """Have the JVM ignore SIGHUP and SIGTERM, as PySpark has it ignore SIGINT.

    A terminal that is closed, ``timeout`` and service managers send them to both processes. This
    one then waits for the updates that run; the JVM ends when this one has.
    """
    java: Any = SparkContext._jvm  # noqa: SLF001 - there is no session yet
    with contextlib.suppress(Py4JError):  # -Xrs: the user's options say what signals do
        for name in ("HUP", "TERM"):
            ignored = java.sun.misc.SignalHandler.SIG_IGN
            java.sun.misc.Signal.handle(java.sun.misc.Signal(name), ignored)


def end_at_once() -> None:
    """End this program's Spark as a kill does, and remove its temporary files.

    Spark would end by itself, but only after it has written why its jobs cannot go on. The files
    of one that may still write some are left for the next start, which sees by their lock that
    nobody has them any more. The settings go in any case: no later start would remove them.
    """
    given = _given  # read once: the thread that starts Spark takes it away
    if given is not None:
        given.unlink(missing_ok=True)
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - as start_jvm
    if process is not None:
        process.kill()
        try:
            process.wait(_AT_ONCE_S)
        except subprocess.TimeoutExpired:
            return
    else:
        number = _starting()
        if number is None or not _ends(number):
            return
        # The thread that started it notices its end, and removes the files of the start.
        if SparkContext._lock.acquire(timeout=_AT_ONCE_S):  # noqa: SLF001 - as above
            SparkContext._lock.release()  # noqa: SLF001
    remove_own()


def end_start() -> None:
    """End a start of Spark that nobody waits for any more; the file of its settings goes, too."""
    if _given is not None:
        end_at_once()


def _starting() -> int | None:
    """The process that PySpark has started and not yet told of; None where none is found."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            # Behind the name, which may hold anything: the state, and who started it.
            parent = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
            if parent == os.getpid() and _STARTED_BY_PYSPARK in (folder / "environ").read_bytes():
                return int(folder.name)
    return None


def _ends(number: int) -> bool:
    """Kill a child of this process; whether it has ended then.

    It is left to PySpark to ask what it ended with, which else would wait for ever.
    """
    looked = os.WEXITED | os.WNOHANG | os.WNOWAIT
    end_s = time.monotonic() + _AT_ONCE_S
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)
    while time.monotonic() < end_s:
        try:
            if os.waitid(os.P_PID, number, looked) is not None:
                return True
        except ChildProcessError:  # PySpark has asked already
            return True
        time.sleep(_LOOK_S)
    return False


@contextmanager
def submitted(settings: Mapping[str, str]) -> Iterator[None]:
    """A JVM that is started meanwhile reads ``settings`` from a file that is gone afterwards.

    The user's own ``PYSPARK_SUBMIT_ARGS`` and spark-defaults.conf hold as before.
    """
    global _given  # noqa: PLW0603 - until the JVM has read it
    before = os.environ.get(_ARGUMENTS)
    handle, name = tempfile.mkstemp(prefix="freshline-", suffix=".properties")  # mode 0600
    _given = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.writelines(
                f"{_escaped(key)}={_escaped(value)}\n" for key, value in settings.items()
            )
        arguments = f"--load-spark-defaults --properties-file {shlex.quote(name)}"
        os.environ[_ARGUMENTS] = f"{arguments} {before or _WITHOUT}"
        yield
    finally:
        Path(name).unlink(missing_ok=True)
        _given = None
        if before is None:
            os.environ.pop(_ARGUMENTS, None)
        else:
            os.environ[_ARGUMENTS] = before


def _escaped(text: str) -> str:
    """A key or value as Java's Properties read it, whatever the encoding."""
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(
        chr(code) if code in _PRINTABLE and chr(code) not in _MARKS else f"\\u{code:04x}"
        for code in codes
    )
