"""Which Java Spark is started with; tests/guards/test_scripts.py asks Java itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshline.core.errors import PlatformError
from freshline.spark.engine import submission
from freshline.spark.engine.java import MODULE, Java, candidates, find_java


def home(path: Path, version: str, *modules: str, program: bool = True) -> Path:
    """A Java home that can only be read: to start its program is an error."""
    (path / "bin").mkdir(parents=True)
    listed = " ".join(("java.base", *modules))
    (path / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{listed}"\n')
    if program:
        (path / "bin" / "java").write_text("#!/bin/sh\nexit 99\n")
        (path / "bin" / "java").chmod(0o755)
    return path


def test_a_release_file_tells_version_and_modules_without_starting_java(tmp_path):
    mine = home(tmp_path / "mine", "21.0.2", MODULE)
    assert find_java({"JAVA_HOME": str(mine), "PATH": ""}, tmp_path / "none") == Java(
        mine, 21, has_module=True
    )


@pytest.mark.parametrize(
    ("version", "modules", "fits"),
    [
        ("17.0.15", [MODULE], True),
        ("17", [MODULE], True),
        ("25-ea", [MODULE], True),
        ("17.0.15", [], False),
        ("16.0.2", [MODULE], False),
        ("1.8.0_402", [MODULE], False),
        ("", [MODULE], False),
    ],
)
def test_spark_needs_17_and_its_module(tmp_path, version, modules, fits):
    mine = home(tmp_path / "mine", version, *modules)
    assert [java.fits for java in candidates({"JAVA_HOME": str(mine)}, tmp_path / "no")][:1] == [
        fits
    ]


def test_a_home_without_a_program_is_passed_over(tmp_path):
    """A package that was removed leaves its release file behind."""
    home(tmp_path / "jvm" / "java-17", "17.0.1", MODULE, program=False)
    wanted = home(tmp_path / "jvm" / "java-21", "21.0.1", MODULE)
    found = find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": ""}, tmp_path / "jvm")
    assert found == Java(wanted, 21, has_module=True)


def test_without_java_spark_is_not_started_and_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(submission, "find_java", lambda: None)
    with pytest.raises(PlatformError) as caught:
        submission.use_java()
    assert caught.value.render() == (
        "[no-java] no Java for Spark was found; it needs Java 17 or newer with the module"
        " jdk.incubator.vector. Install openjdk-17-jre-headless, or set JAVA_HOME to such a Java."
    )


def test_none_fits(tmp_path):
    home(tmp_path / "jvm" / "java-11", "11.0.1", MODULE)
    assert find_java({"PATH": ""}, tmp_path / "jvm") is None
    assert find_java({"PATH": ""}, tmp_path / "missing") is None
