"""Which Java Spark runs on: where it is looked for, and what to install if there is none.

Spark 4.2 needs version 17 or newer with the module jdk.incubator.vector, which cut-down runtimes
leave out. This file needs nothing but the standard library, so that ``scripts/find-java`` can run
it before freshline is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LEAST_VERSION = 17
MODULE = "jdk.incubator.vector"
RULE = f"it needs Java {LEAST_VERSION} or newer with the module {MODULE}"
NEXT_STEP = "Install openjdk-17-jre-headless, or set JAVA_HOME to such a Java."
INSTALLED = Path("/usr/lib/jvm")
"""Where Linux distributions install Java."""

_LINE = re.compile(r'^(JAVA_VERSION|MODULES)="([^"]*)"', re.MULTILINE)
_ANSWER_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime.

    Attributes:
        version: The feature release, such as 17; 8 for 1.8. None: it does not tell.
        has_module: It has the module that Spark needs.
    """

    home: Path
    version: int | None
    has_module: bool

    @property
    def fits(self) -> bool:
        """Whether Spark runs on it."""
        return self.version is not None and self.version >= LEAST_VERSION and self.has_module


def find_java(
    environment: Mapping[str, str] = os.environ, installed: Path = INSTALLED
) -> Java | None:
    """The Java to start Spark with, or None where none fits.

    JAVA_HOME is tried first, then ``java`` on the PATH, then the folder of installed ones from the
    oldest version up: 17 is the version that Spark is tested with most.
    """
    return next((java for java in candidates(environment, installed) if java.fits), None)


def candidates(
    environment: Mapping[str, str] = os.environ, installed: Path = INSTALLED
) -> Iterator[Java]:
    """Every Java that is looked at, in this order, whether it fits or not."""
    home = environment.get("JAVA_HOME")
    if home:
        yield from _java(Path(home))
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path is not None:
        yield from _java(Path(on_path).resolve().parent.parent)
    found = [java for file in sorted(installed.glob("*/release")) for java in _java(file.parent)]
    yield from sorted(found, key=lambda java: java.version or 0)


def _java(home: Path) -> Iterator[Java]:
    """The Java in ``home``, if it has one; its ``release`` file answers without starting it."""
    program = home / "bin" / "java"
    if not os.access(program, os.X_OK):
        return
    try:
        release = dict(_LINE.findall((home / "release").read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):
        release = {}
    if "JAVA_VERSION" in release and "MODULES" in release:
        modules = release["MODULES"].split()
        yield Java(home, _feature_release(release["JAVA_VERSION"]), MODULE in modules)
        return
    told = _output(program, "-XshowSettings:properties", "-version")
    version = re.search(r"java\.specification\.version = (\S+)", told)
    modules = re.findall(r"^([\w.]+)(?:@|$)", _output(program, "--list-modules"), re.MULTILINE)
    yield Java(home, _feature_release(version[1]) if version else None, MODULE in modules)


def _feature_release(version: str) -> int | None:
    """17 of 17.0.15, 8 of 1.8.0_402."""
    found = re.match(r"(?:1\.)?(\d+)", version)
    return int(found[1]) if found else None


def _output(program: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [str(program), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr


def _main() -> int:
    """Print the home of the Java that is found; for ``scripts/find-java``."""
    java = find_java(installed=Path(os.environ.get("JVM_DIR", INSTALLED)))
    if java is None:
        sys.stderr.write(f"freshline found no Java for Spark: {RULE}. {NEXT_STEP}\n")
        return 1
    sys.stdout.write(f"{java.home}\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
