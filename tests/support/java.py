"""How the tests' Java starts: its options, and an archive of the classes that Spark needs.

``python -m tests.support.java`` (``make tools``) runs a small warehouse and has Java write down the
classes that it loaded. Every other JVM of the tests maps that file into its memory: to read and
check 20,000 classes takes a third of the processor seconds until the first commit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ARCHIVE = Path(__file__).parents[2] / ".cache" / "classes.jsa"

OPTIONS = (
    # Two JVMs share two cores: a collector of one thread and Java's quick compiler alone leave them
    # to the tests. Hundreds of queries are compiled in one session; where their code has no room,
    # all of it is interpreted from then on.
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=400m"
    # Spark's classes fill 200 MB at once: no collection of all at every step of the way there.
    # A query's plans die young: with room for them few are moved to where collecting is dear.
    " -XX:MetaspaceSize=256m -XX:NewSize=256m"
)

_MAPPED = f" -Xshare:auto -XX:SharedArchiveFile={ARCHIVE}"
# An archive of another Java, or of other jars, is not used; Java says so on the standard output.
_QUIET = " -Xlog:disable -Xlog:all=error:stderr"


def options() -> str:
    """What every JVM of the tests starts with; the archive too, where there is one."""
    return OPTIONS + (_MAPPED + _QUIET if ARCHIVE.exists() else "")


def write(archive: Path) -> None:
    """Run a new project until it is idle, and have its JVM archive what it loaded at its end.

    Raises:
        CalledProcessError: A command failed.
        OSError: Java wrote no archive.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        written = Path(folder, "classes.jsa")
        java = f"{OPTIONS} -XX:ArchiveClassesAtExit={written}{_QUIET}"
        environment = os.environ | {"SPARK_SUBMIT_OPTS": java, "PYSPARK_PYTHON": sys.executable}
        freshline = [sys.executable, "-m", "freshline"]
        for command, where in (
            ([*freshline, "init", "shop"], folder),
            ([sys.executable, "generate.py", "--files", "2", "--rows", "50", "--at-once"], "shop"),
            ([*freshline, "run", "--until-idle"], "shop"),
        ):
            # Its output ends when the JVM does, which writes the archive after the command's end.
            subprocess.run(
                command, cwd=Path(folder, where), env=environment, check=True, capture_output=True
            )
        written.replace(archive)


if __name__ == "__main__":
    write(ARCHIVE)
