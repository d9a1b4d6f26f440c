"""Spark's own process, which PySpark starts and never looks at again."""

from __future__ import annotations

import contextlib
import logging
import queue
import signal
import subprocess
import threading
import warnings

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.context import SQLContext

from freshline.core.errors import PlatformError
from freshline.spark.engine.errors import SparkError

_OUT_OF_MEMORY = 3
"""The exit status of a JVM with -XX:+ExitOnOutOfMemoryError."""

_WAIT_S = 10.0


def _is_not_py4js(record: logging.LogRecord) -> bool:
    """Leave out the stack that py4j logs for each call whose answer the dead process owes."""
    return record.msg != "Exception while sending command."


def is_stopped(session: SparkSession) -> bool:
    """Whether the session's Spark has stopped, or no longer answers."""
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())  # noqa: SLF001
    except (*SparkError, OSError, AttributeError):
        return True


class SparkProcess:
    """The JVM that a session talks to.

    Args:
        session: Its session, newly started.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        gateway = SparkContext._gateway  # noqa: SLF001 - this module's purpose
        found = getattr(gateway, "proc", None)
        self._process: subprocess.Popen[bytes] | None = found
        self._heap = str(session.conf.get("spark.driver.memory", "1g"))
        self._cancelled: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._waiting: set[str] = set()
        self._lock = threading.Lock()
        self._canceller: threading.Thread | None = None
        # Installed before anybody can end the process, since calls may be running then.
        logging.getLogger().addFilter(_is_not_py4js)

    def ended(self) -> PlatformError | None:
        """Why the process is gone; None while it is there, or where nobody can know."""
        status = None if self._process is None else self._process.poll()
        if status is None:
            return None
        if status == _OUT_OF_MEMORY:
            return PlatformError(
                "spark-out-of-memory",
                f"Spark ran out of memory: its heap of {self._heap} is full",
                next_step="Nothing committed is lost. Give it more with"
                " `configuration: {spark.driver.memory: ...}` and start `freshline run` again.",
            )
        how = f"exit status {status}"
        if status < 0:
            how = f"signal {-status}"
            with contextlib.suppress(ValueError):
                how = signal.Signals(-status).name
        hint = ", which the system sends when memory runs out" if status == -signal.SIGKILL else ""
        return PlatformError(
            "spark-gone",
            f"Spark's process ended ({how}{hint})",
            next_step="It is started again.",
        )

    def cancel(self, group: str) -> None:
        """End the jobs of a group, in a thread: Spark may not answer."""
        with self._lock:
            if group in self._waiting:
                return
            self._waiting.add(group)
            if self._canceller is None:
                self._canceller = threading.Thread(
                    target=self._cancel, name="spark-cancel", daemon=True
                )
                self._canceller.start()
        self._cancelled.put(group)

    def kill(self) -> None:
        """End the process at once, and have PySpark forget it, so that another can be started."""
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_WAIT_S)
        with warnings.catch_warnings(), contextlib.suppress(*SparkError, OSError, AttributeError):
            warnings.simplefilter("ignore")
            self._session.sparkContext.stop()
        with SparkContext._lock:  # noqa: SLF001 - as above
            SparkContext._active_spark_context = None  # noqa: SLF001
            SparkContext._gateway = None  # noqa: SLF001
            SparkContext._jvm = None  # noqa: SLF001
        SparkSession._instantiatedSession = None  # noqa: SLF001
        SparkSession._activeSession = None  # noqa: SLF001
        SQLContext._instantiatedContext = None  # noqa: SLF001

    def _cancel(self) -> None:
        while True:
            group = self._cancelled.get()
            with self._lock:
                self._waiting.discard(group)
            with contextlib.suppress(*SparkError, OSError, AttributeError):
                self._session.sparkContext.cancelJobGroup(group)
