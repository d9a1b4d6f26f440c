"""Seeds run one after the other, with what they went through; ``python -m`` runs as many as asked.

Each seed is a warehouse of many views. Results are added to a file, a line a seed, so that a search
that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from freshline.project.model import Project
from freshline.spark.engine.session import start_session
from tests.spark.generated.coverage import Coverage
from tests.spark.generated.limits import drawn, moved
from tests.spark.generated.project import generated
from tests.spark.generated.running import Failure, Outcome, Warehouse
from tests.spark.generated.shrinking import TRIES, shrunk_and_kept
from tests.spark.generated.tables import ZONE_STARTS
from tests.spark.views.proving import session_in
from tests.support import java

ROOT = Path(__file__).parents[3]
VIEWS = 30
"""Of a seed: what happens to their tables is shared by all."""

WATCHED = 4
"""Every fourth seed is watched for the lines that run: Python takes three times as long then."""

KEEP = ROOT / ".cache" / "generated"


def zone_of(seed: int) -> str:
    """UTC for every second seed, else one of those whose clocks change."""
    zones = list(ZONE_STARTS)
    return zones[0] if seed % 2 == 0 else zones[1 + seed // 2 % (len(zones) - 1)]


def run_seed(
    spark: SparkSession,
    work: Path,
    seed: int,
    *,
    views: int,
    keep: Path = KEEP,
    tries: int = TRIES,
    limits: bool = False,
) -> tuple[Outcome, list[Path]]:
    """Runs a seed's project; returns what it came to, and where its failures are kept.

    Args:
        spark: Any session of the JVM.
        work: A folder.
        seed: Of the project.
        views: How many.
        keep: Where failures go.
        tries: How often a failure is tried smaller.
        limits: Sizes that decide are at the seed's extremes (:mod:`.limits`).
    """
    zone = zone_of(seed)
    project = generated(seed, session_in(spark, zone), zone, views=views)
    folder = work / f"seed{seed}"
    folder.mkdir(parents=True)
    values, settings = drawn(seed) if limits else ({}, {})
    with moved(values) if limits else contextlib.nullcontext():
        outcome = Warehouse(spark, folder, project, settings).run()
        shutil.rmtree(folder)
        paths = [
            shrunk_and_kept(spark, work, keep, project, failure, tries)
            for failure in outcome.failures
        ]
    return outcome, paths


def seeds_of(text: str) -> range:
    """``3`` or ``0-99``."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def summary(outcomes: Iterable[dict[str, Any]]) -> str:
    """Counts over all seeds."""
    total: dict[str, Counter[str]] = {}
    views = failures = 0
    for each in outcomes:
        views += each["views"]
        failures += len(each["failures"])
        for name in ("strategies", "reasons", "both"):
            total.setdefault(name, Counter()).update(each[name])
    lines = [f"{views} views, {sum(total['strategies'].values())} updates, {failures} failures"]
    for name, counts in total.items():
        lines += [f"{name}:", *(f"  {count:6} {what}" for what, count in counts.most_common())]
    return "\n".join(lines)


def record(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON has it."""
    return {
        "failures": [asdict(failure) for failure in outcome.failures],
        "strategies": dict(outcome.strategies),
        "reasons": dict(outcome.reasons),
        "both": dict(outcome.both),
        "doubts": outcome.doubts,
    }


def commit() -> str:
    """Of the tree that is tried."""
    told = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, capture_output=True, check=True
    )
    return told.stdout.decode().strip()


def started(work: Path) -> SparkSession:
    """A Spark for thousands of queries over few rows."""
    project = Project("generated", work, str(work / "w"), (), {}, {
        "spark.sql.session.timeZone": "UTC", "spark.driver.memory": "3g",
        # Few plans outlive a collection that comes this seldom.
        "spark.driver.extraJavaOptions": f"{java.options()} -XX:NewSize=1g",
        # As in the tests' own session: Delta holds its checksum file against the log elsewhere.
        "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled": "false",
        # A machine that stood still for two minutes has lost no executor: it is this process.
        "spark.executor.heartbeatInterval": "1h", "spark.network.timeout": "10h",
    }, "local[1]")  # fmt: skip
    return start_session(project, app_name="generated views")


def is_alive(spark: SparkSession) -> bool:
    """Whether Spark answers; where it does not, every further seed would fail for nothing."""
    try:
        return spark.range(1).count() == 1
    except Exception:  # noqa: BLE001 - of a Spark that is gone, anything comes
        return False


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("0-9"))
    parser.add_argument("--views", type=int, default=VIEWS)
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--keep", type=Path, default=KEEP)
    parser.add_argument(
        "--limits", action="store_true", help="sizes that decide, and Spark's settings, at extremes"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="no seed begins later")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    log = arguments.keep / "results.jsonl"
    results = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    done = {each["seed"] for each in results}
    ends = time.monotonic() + 60 * arguments.minutes
    tree = commit()
    lines = arguments.keep / f"lines-{tree}.json"
    coverage = Coverage()
    if lines.exists():
        coverage.add(json.loads(lines.read_text()))
    work = Path(tempfile.mkdtemp(prefix="generated-"))
    spark = started(work)
    for seed in arguments.seeds:
        if seed in done or time.monotonic() > ends:
            continue
        began = time.monotonic()
        try:
            with coverage if seed % WATCHED == 0 else contextlib.nullcontext():
                outcome, paths = run_seed(
                    spark, work, seed,
                    views=arguments.views, keep=arguments.keep, tries=arguments.tries,
                    limits=arguments.limits,
                )  # fmt: skip
        except Exception as error:
            if not is_alive(spark):
                raise
            told = "".join(traceback.format_exception(error))
            told = f"{type(error).__name__}: {error}"[:2000] + "\n" + told[-2000:]
            outcome, paths = Outcome([Failure("crash", "", 0, "", told)]), []
        coverage.save(lines)
        found = {
            "seed": seed, "commit": tree, "views": arguments.views, "limits": arguments.limits,
            "seconds": round(time.monotonic() - began, 1), **record(outcome),
        }  # fmt: skip
        results.append(found)
        with log.open("a") as file:
            file.write(json.dumps(found) + "\n")
        kept = "".join(f"\n  {path}" for path in paths)
        crashed = ", crashed" if any(each.kind == "crash" for each in outcome.failures) else ""
        sys.stdout.write(
            f"seed {seed}: {found['seconds']} s, {len(paths)} failures{crashed}{kept}\n"
        )
        sys.stdout.flush()
    sys.stdout.write(summary(results) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
