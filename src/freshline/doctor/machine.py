"""Checks of the machine: Java, Spark, Delta and the clock."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from freshline.doctor.finding import Finding
from freshline.spark.engine.jars import DELTA_PACKAGE, KAFKA_PACKAGE
from freshline.spark.engine.java import INSTALLED, NEXT_STEP, RULE, candidates, find_java

_ANSWER_WITHIN_S = 10.0


def java(environment: Mapping[str, str] = os.environ, installed: Path = INSTALLED) -> Finding:
    """Which Java Spark would be started with."""
    found = find_java(environment, installed)
    home = environment.get("JAVA_HOME")
    if found is None:
        tried = [
            f"{each.home} is Java {each.version or 'of an unknown version'}"
            + ("" if each.has_module else " without that module")
            for each in candidates(environment, installed)
        ]
        seen = f" ({', '.join(dict.fromkeys(tried))})" if tried else ""
        return Finding("java", "wrong", f"no Java for Spark was found{seen}: {RULE}", NEXT_STEP)
    told = f"Java {found.version} in {found.home}"
    if home and Path(home) != found.home:
        return Finding(
            "java",
            "warning",
            f"JAVA_HOME is {home}, which Spark cannot use ({RULE}); {told} is taken",
            f"Set JAVA_HOME to {found.home}, or remove it.",
        )
    return Finding("java", "ok", told)


def spark(environment: Mapping[str, str] = os.environ) -> Finding:
    """Whether the Spark that is installed is the one that freshline was written for."""
    wanted = KAFKA_PACKAGE.rpartition(":")[2]
    found = _version("pyspark")
    if found != wanted:
        return Finding(
            "spark",
            "wrong",
            f"pyspark {found or 'is missing'}, freshline was written for {wanted}",
            f"Run `pip install pyspark=={wanted}`.",
        )
    home = environment.get("SPARK_HOME")
    if home:
        core = next(Path(home).glob("jars/spark-core_*.jar"), None)
        other = re.search(r"-(\d[\w.]*)\.jar$", core.name) if core is not None else None
        if other is None or other[1] != wanted:
            return Finding(
                "spark",
                "wrong",
                f"SPARK_HOME is {home}, which has Spark {other[1] if other else 'not at all'};"
                f" pyspark is {wanted}",
                "Remove SPARK_HOME: pyspark brings its own Spark.",
            )
    return Finding("spark", "ok", f"Spark {found}")


def delta() -> Finding:
    """Whether Delta's Python package goes with its jar."""
    wanted = DELTA_PACKAGE.rpartition(":")[2]
    found = _version("delta-spark")
    if found == wanted:
        return Finding("delta", "ok", f"Delta {found}")
    return Finding(
        "delta",
        "wrong",
        f"delta-spark {found or 'is missing'}, freshline was written for {wanted}",
        f"Run `pip install delta-spark=={wanted}`.",
    )


def clock() -> Finding:
    """Whether the clock is set by the network, as far as systemd knows."""
    program = shutil.which("timedatectl")
    if program is not None:
        try:
            done = subprocess.run(
                [program, "show", "--property=NTPSynchronized", "--value"],
                capture_output=True,
                text=True,
                timeout=_ANSWER_WITHIN_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            done = None
        if done is not None and done.stdout.strip() == "no":
            return Finding(
                "clock",
                "warning",
                "the clock is not synchronised: staleness is measured by it",
                "Run `timedatectl set-ntp true`, or start chrony.",
            )
        if done is not None and done.stdout.strip() == "yes":
            return Finding("clock", "ok", "the clock is synchronised")
    return Finding("clock", "ok", "systemd does not say whether the clock is synchronised")


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
