"""The settings a session starts with: ours where they suit, the user's always."""

import json
import subprocess
from pathlib import Path

import pyspark
import pytest

from freshline.project.model import Project
from freshline.spark.engine import session
from freshline.spark.engine.java import find_java
from freshline.spark.engine.session import settings


def project(tmp_path: Path, configuration=(), *, master="local[2]", storage=None, packages=()):
    ivy = {"spark.jars.ivy": str(tmp_path / "ivy")}
    return Project(
        "p",
        tmp_path,
        storage or str(tmp_path / "w"),
        (),
        {},
        {**ivy, **dict(configuration)},
        master,
        packages,
    )


def test_small_machine_settings_are_for_a_local_master_and_local_storage(tmp_path):
    here = settings(project(tmp_path))
    assert here["spark.databricks.delta.snapshotPartitions"] == "1"
    assert here["spark.hadoop.fs.file.impl"] == "org.apache.hadoop.fs.RawLocalFileSystem"
    assert here["spark.sql.session.timeZone"] == "UTC"
    away = settings(project(tmp_path, master="spark://host:7077", storage="s3a://bucket/w"))
    assert "spark.sql.shuffle.partitions" not in away
    assert "spark.hadoop.fs.file.impl" not in away
    assert away["spark.scheduler.mode"] == "FAIR"


def test_the_users_settings_win(tmp_path):
    mine = {
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.driver.memory": "8g",
        "spark.ui.enabled": "true",
        "spark.master": "local[7]",
        "spark.sql.extensions": "my.Extension",
    }
    chosen = settings(project(tmp_path, mine.items()))
    assert {key: chosen[key] for key in mine} == {
        **mine,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,my.Extension",
    }


def collector(tmp_path: Path, configuration=(), **more) -> str:
    options = settings(project(tmp_path, configuration, **more))["spark.driver.extraJavaOptions"]
    return " ".join(option for option in options.split() if option.endswith("GC"))


def test_a_small_heap_of_a_local_master_is_not_collected_beside_the_updates(tmp_path, monkeypatch):
    for name in ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    assert collector(tmp_path) == "-XX:+UseParallelGC"
    assert collector(tmp_path, [("spark.driver.memory", "8g")]) == ""
    assert collector(tmp_path, master="spark://host:7077") == ""


def test_a_jvm_that_only_analyses_has_one_compiler_unless_somebody_chose(tmp_path, monkeypatch):
    for name in ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)

    def options(configuration=(), **more) -> list[str]:
        chosen = settings(project(tmp_path, configuration), **more)
        given = chosen["spark.driver.extraJavaOptions"].split()
        return [each for each in given if "Tier" in each or "CodeCache" in each]

    assert options() == []
    assert options(brief=True) == ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m"]
    mine = [("spark.driver.extraJavaOptions", "-XX:-TieredCompilation")]
    assert options(mine, brief=True) == ["-XX:-TieredCompilation"]
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=4")
    assert options(brief=True) == []


def test_a_jvm_that_ran_out_of_memory_ends_unless_somebody_chose_what_it_does(tmp_path):
    options = settings(project(tmp_path))["spark.driver.extraJavaOptions"].split()
    assert "-XX:+ExitOnOutOfMemoryError" in options
    mine = [("spark.driver.extraJavaOptions", "-XX:OnOutOfMemoryError=/my/script")]
    options = settings(project(tmp_path, mine))["spark.driver.extraJavaOptions"].split()
    assert "-XX:+ExitOnOutOfMemoryError" not in options


def test_nobody_ends_jobs_from_sparks_own_pages_unless_somebody_chose_that(tmp_path):
    pages = [("spark.ui.enabled", "true")]
    assert settings(project(tmp_path, pages))["spark.ui.killEnabled"] == "false"
    chosen = settings(project(tmp_path, [*pages, ("spark.ui.killEnabled", "true")]))
    assert chosen["spark.ui.killEnabled"] == "true"


def test_who_chose_a_collector_gets_no_second_one(tmp_path, monkeypatch):
    for name in ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    mine = [("spark.driver.extraJavaOptions", "-Xss4m -XX:+UseZGC")]
    assert collector(tmp_path, mine) == "-XX:+UseZGC"
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Xss4m -XX:+UseSerialGC")
    assert collector(tmp_path) == ""


def test_sparks_own_log_is_json_where_the_run_s_is(tmp_path):
    options = "spark.driver.extraJavaOptions"
    assert "-Dfreshline.log=json" in settings(project(tmp_path), json_log=True)[options]
    assert "-Dfreshline.log" not in settings(project(tmp_path))[options]
    mine = project(tmp_path, [(options, "-Dlog4j2.configurationFile=file:///mine.properties")])
    assert "-Dfreshline.log" not in settings(mine, json_log=True)[options]


LOGGED = """
import org.apache.logging.log4j.*;
public class Logged { public static void main(String[] given) {
  Logger some = LogManager.getLogger("org.apache.spark.Some");
  some.error("a \\"b\\"\\nnext", new RuntimeException("c"));
  some.warn("not told");
} }
"""


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_line_of_sparks_log_has_the_form_that_was_asked_for(tmp_path, form):
    """By Spark's own log4j, without Spark."""
    jars = Path(pyspark.__file__).parent / "jars"
    path = ":".join(str(each) for each in jars.glob("log4j-*.jar"))
    (tmp_path / "Logged.java").write_text(LOGGED)
    settings = f"-Dlog4j2.configurationFile={session._LOG_SETTINGS.as_uri()}"
    java = find_java()
    if java is None:
        pytest.skip("no Java")
    program = [str(java.home / "bin" / "java"), "-cp", path, f"-Dfreshline.log={form}", settings]
    done = subprocess.run(
        [*program, str(tmp_path / "Logged.java")], capture_output=True, text=True, check=True
    )
    if form == "json":
        (line,) = [json.loads(each) for each in done.stderr.splitlines()]
        assert (line["level"], line["event"]) == ("error", "spark")
        assert line["message"].startswith('Some: a "b"\nnext java.lang.RuntimeException: c')
        assert line["at"].endswith("Z")
    else:
        assert done.stderr.startswith("spark: ")
    assert "not told" not in done.stderr


def test_the_log_settings_that_spark_is_started_with_exist():
    assert session._LOG_SETTINGS.is_file()
