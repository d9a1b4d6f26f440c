"""Starting Spark with settings that suit many small commits; the user's own settings win.

Why each default is there was measured (docs/design): on one machine most of a small update's
time goes into the number of Spark jobs that Delta's bookkeeping takes, not into the data.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pyspark import SparkContext
from pyspark.sql import SparkSession

from freshline.core.errors import PlatformError
from freshline.project.model import Project
from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.engine.hadoop import forget_sources
from freshline.spark.engine.jars import joined, named_jars, resolved
from freshline.spark.engine.scratch import scratch
from freshline.spark.engine.submission import start_jvm, use_java

_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
_SMALL = "1g"
_JAVA_OPTIONS = ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
"""Where Java and Spark's launcher find further options."""
_ONE_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""For a JVM that ends before Java's second compiler has earned back what it costs.

Without the second one Java has room for 48 MB of code, which Spark's fills, and then empties it
again and again.
"""

_ALWAYS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.scheduler.mode": "FAIR",
    # Rows written are counted from the files' statistics.
    "spark.databricks.delta.stats.collect": "true",
    # Spark's default, INT96, has no statistics within a file: to find an hour it reads all of it.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Parquet leaves out a group of rows whose dictionary lacks the value: -0.0 equals 0.0 in a
    # query, but not in a dictionary, so rows with the other zero would be missing.
    "spark.hadoop.parquet.filter.dictionary.enabled": "false",
    # Without it Spark moves a constant between 5 and 14 October 1582, days that the calendar of
    # Java's old classes has not, where it compares it with a file's statistics: rows are missing.
    "spark.sql.datetime.java8API.enabled": "true",
    # Spark puts the arguments of spark.sql(text, args) into the text while it parses it, and
    # Delta's parser drops them there. With this they go into the plan.
    "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
    # A VACUUM would otherwise make two commits that carry no metadata of ours.
    "spark.databricks.delta.vacuum.logging.enabled": "false",
    # What a slow child has read stays (retention.py), so it may be read, however old it is.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    "spark.ui.enabled": "false",
    # It asks nobody who they are, and Spark's default lets everybody end jobs.
    "spark.ui.killEnabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # PySpark would note for each column which line of Python made it, a dozen messages to the JVM
    # for every one. The lines are freshline's own, and no user reads them.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

_LOCAL_MASTER: Mapping[str, str] = {
    "spark.driver.memory": _SMALL,
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    # Delta computes a table's state for every commit; a partition is a task of that job.
    "spark.databricks.delta.snapshotPartitions": "1",
    # Updates that read more than small inputs raise it for themselves (sizing.py).
    "spark.sql.shuffle.partitions": "1",
    # Adaptive execution runs each stage as a job of its own.
    "spark.sql.adaptive.enabled": "false",
    # Compiling a query takes longer than running it over a small input: half of the
    # processor time of a small update. Larger ones are compiled (sizing.py).
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Listing a batch of files is quicker here than in a job.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    # VACUUM lists with that many tasks, however few files there are: 10,000 take a minute.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}

_UNSEEN: Mapping[str, str] = {
    # Of a thousand queries plans and metrics are kept for a UI that is not there.
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    # Each query's plan is written out for it, too; the default form takes three times as long.
    "spark.sql.ui.explainMode": "simple",
}

_LOCAL_STORAGE: Mapping[str, str] = {
    # Without Hadoop's native library the default one starts programs (chmod, readlink) for
    # every file; this one does not, and its checksum files are not written either.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # Delta writes its checksum files by it; the default one starts five programs for each.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


def is_local(location: str) -> bool:
    """Whether a path or URI is on this machine's own file system."""
    return urlsplit(location).scheme in ("", "file")


def settings(project: Project, *, json_log: bool = False, brief: bool = False) -> dict[str, str]:
    """Every setting a session of ``project`` starts with, the user's over our defaults."""
    chosen = dict(_ALWAYS)
    configuration = project.configuration
    master = configuration.get("spark.master", project.spark_master)
    if master.startswith("local"):
        chosen |= _LOCAL_MASTER
    if is_local(project.storage):
        chosen |= _LOCAL_STORAGE
    if configuration.get("spark.ui.enabled", "false").lower() == "false":
        chosen |= _UNSEEN
    if project.catalog is not None and project.catalog.name == "spark_catalog":
        # Spark's default catalog lives in its process alone.
        chosen["spark.sql.catalogImplementation"] = "hive"
    chosen |= configuration
    chosen["spark.master"] = master
    jars = named_jars(project, chosen)
    chosen.pop("spark.jars.packages", None)
    chosen |= jars
    if configuration.get("spark.sql.extensions"):
        chosen["spark.sql.extensions"] = joined(
            _ALWAYS["spark.sql.extensions"], configuration["spark.sql.extensions"]
        )
    options = [configuration.get("spark.driver.extraJavaOptions", "")]
    if "OnOutOfMemoryError" not in options[0]:
        # A JVM lives on without the threads that ran out of memory, and hangs sooner or later.
        options.append("-XX:+ExitOnOutOfMemoryError")
    if "log4j" not in options[0]:
        options.append(f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}")
        if json_log:
            options.append("-Dfreshline.log=json")
    if brief and not re.search("Tiered|CodeCache", _given(options[0])):
        options.append(_ONE_COMPILER)
    if chosen.get("spark.driver.memory") == _SMALL and master.startswith("local"):
        options += _collector(options[0])
    chosen["spark.driver.extraJavaOptions"] = " ".join(options).strip()
    return chosen


def _collector(options: str) -> list[str]:
    """The garbage collector for a small heap, unless one is chosen already.

    Java's own default, G1, takes each of Parquet's buffers for a giant in a small heap, and then
    marks the heap beside the updates again and again: an eighth of the processor time of small
    updates (docs/benchmarks.md).
    Two collectors chosen at once keep Java from starting.
    """
    return [] if re.search(r"-XX:\+Use\w*GC\b", _given(options)) else ["-XX:+UseParallelGC"]


def _given(options: str) -> str:
    """All options that Java gets from the user; ``options``: those of the project."""
    return " ".join([options, *(os.environ.get(name, "") for name in _JAVA_OPTIONS)])


def _temporary(chosen: Mapping[str, str]) -> dict[str, str]:
    """Where Spark's process keeps its temporary files, unless somebody says where."""
    if "spark.local.dir" in chosen or os.environ.get("SPARK_LOCAL_DIRS"):
        return {}
    if not chosen["spark.master"].startswith("local"):
        return {}
    folder = scratch()
    if folder is None:
        return {}
    found = {"spark.local.dir": str(folder)}
    options = chosen.get("spark.driver.extraJavaOptions", "")
    if "java.io.tmpdir" not in options and re.fullmatch(r"[\w/.+-]+", str(folder)):
        given = f"{options} -Djava.io.tmpdir={folder}".strip()
        found["spark.driver.extraJavaOptions"] = given
    return found


def start_session(
    project: Project,
    *,
    app_name: str = "freshline",
    tell: Callable[[str], None] = lambda _: None,
    json_log: bool = False,
    brief: bool = False,
) -> SparkSession:
    """Start Spark for a project, or take the one that runs in this process.

    Args:
        tell: Told in a sentence what takes long: jars that have to be fetched first.
        json_log: Spark's own errors on standard error are JSON, one object a line.
        brief: It only analyses queries, and is stopped then.

    Raises:
        PlatformError: There is no Java for it (``no-java``), jars are missing
            (``jars-unresolved``), or it did not start (``spark-start``).
        UserError: The directory of ``spark: {jars: DIR}`` lacks some (``jars-missing``), or has one
            in several versions (``jars-doubled``).
    """
    use_java()
    # Spark's own default is the first python3 of the PATH, which may be another version.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = resolved(settings(project, json_log=json_log, brief=brief), tell)
    if SparkContext._gateway is None:  # noqa: SLF001 - as process.py
        chosen |= _temporary(chosen)
    builder = SparkSession.builder.appName(app_name)
    for name, value in chosen.items():
        builder = builder.config(name, value)
    if chosen["spark.master"].startswith("local"):
        # Its UI asks nobody who they are, and by default listens to the whole network.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # PySpark logs every refused query with its Java stack; freshline reports it in a sentence.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    logging.getLogger("DataFrameQueryContextLogger").disabled = True
    try:
        start_jvm(chosen)
        session = builder.getOrCreate()
        forget_sources(session)
        return session
    except (*SparkError, RuntimeError, OSError) as error:
        raise PlatformError(
            "spark-start",
            f"Spark did not start: {one_line(error)}",
            next_step="Look at what Java wrote above, and at `spark:` and `configuration:`;"
            " `freshline doctor` checks the machine.",
        ) from error
