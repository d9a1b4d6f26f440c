"""What `freshline doctor` says of Java, Spark and Delta."""

from __future__ import annotations

from freshline.doctor import machine
from freshline.doctor.finding import Finding
from freshline.spark.engine.java import MODULE, RULE
from tests.unit.spark.test_java import home

INSTALL = "Install openjdk-17-jre-headless, or set JAVA_HOME to such a Java."


def test_without_a_java_each_one_that_was_looked_at_is_told(tmp_path):
    old = home(tmp_path / "jvm" / "java-11", "11.0.1", MODULE)
    cut = home(tmp_path / "jvm" / "java-21", "21.0.1")
    assert machine.java({"PATH": "", "JAVA_HOME": str(cut)}, tmp_path / "jvm") == Finding(
        "java",
        "wrong",
        f"no Java for Spark was found ({cut} is Java 21 without that module, {old} is Java 11):"
        f" {RULE}",
        INSTALL,
    )
    assert machine.java({"PATH": ""}, tmp_path / "none").what == (
        f"no Java for Spark was found: {RULE}"
    )


def test_a_java_home_that_does_not_fit_is_a_warning(tmp_path):
    old = home(tmp_path / "old", "11.0.1", MODULE)
    fit = home(tmp_path / "jvm" / "java-17", "17.0.1", MODULE)
    assert machine.java({"PATH": "", "JAVA_HOME": str(old)}, tmp_path / "jvm") == Finding(
        "java",
        "warning",
        f"JAVA_HOME is {old}, which Spark cannot use ({RULE}); Java 17 in {fit} is taken",
        f"Set JAVA_HOME to {fit}, or remove it.",
    )
    mine = machine.java({"PATH": "", "JAVA_HOME": str(fit)}, tmp_path / "jvm")
    assert mine == Finding("java", "ok", f"Java 17 in {fit}")


def test_spark_is_the_one_that_is_installed_with_freshline(tmp_path):
    assert machine.spark({}) == Finding("spark", "ok", "Spark 4.2.0")
    assert machine.delta() == Finding("delta", "ok", "Delta 4.4.0")
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.2.0.jar").touch()
    assert machine.spark({"SPARK_HOME": str(tmp_path)}).state == "ok"


def test_another_spark_by_spark_home_is_wrong(tmp_path):
    remove = "Remove SPARK_HOME: pyspark brings its own Spark."
    assert machine.spark({"SPARK_HOME": str(tmp_path)}) == Finding(
        "spark", "wrong", f"SPARK_HOME is {tmp_path}, which has Spark not at all; pyspark is 4.2.0",
        remove,
    )  # fmt: skip
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.1.jar").touch()
    assert machine.spark({"SPARK_HOME": str(tmp_path)}).what == (
        f"SPARK_HOME is {tmp_path}, which has Spark 3.5.1; pyspark is 4.2.0"
    )


def test_other_versions_are_wrong(monkeypatch):
    monkeypatch.setattr(machine, "version", lambda _: "3.3.0")
    assert machine.spark({}) == Finding(
        "spark", "wrong", "pyspark 3.3.0, freshline was written for 4.2.0",
        "Run `pip install pyspark==4.2.0`.",
    )  # fmt: skip
    assert machine.delta().next_step == "Run `pip install delta-spark==4.4.0`."
