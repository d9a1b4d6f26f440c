"""The shell scripts of `make setup`, run against directories that look like Java or Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
VECTOR = "jdk.incubator.vector"
NO_JAVA = (
    "freshline found no Java for Spark: it needs Java 17 or newer with the module "
    "jdk.incubator.vector. Install openjdk-17-jre-headless, or set JAVA_HOME to such a Java.\n"
)


def run(script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPTS / script), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # it may be a link to the system's own: never write through it
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def java(home: Path, specification: str, *modules: str) -> Path:
    """A Java home whose `java` answers the two questions that are asked of it."""
    listed = "; ".join(f"echo {module}@{specification}" for module in ("java.base", *modules))
    program(
        home / "bin" / "java",
        f'case $1 in --list-modules) {listed};; *) echo "    java.specification.version = '
        f'{specification}" >&2;; esac',
    )
    (home / "release").write_text(f'JAVA_VERSION="{specification}.0.1"\n', encoding="utf-8")
    return home


@pytest.fixture
def bare_path(tmp_path):
    """A PATH with the system's tools and neither Java nor Python nor a package manager."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cat", "dirname", "grep", "id", "readlink", "sed", "sort"):
        found = next(d for d in ("/usr/bin", "/bin") if os.access(f"{d}/{name}", os.X_OK))
        (tools / name).symlink_to(f"{found}/{name}")
    return str(tools)


@pytest.fixture
def with_python(bare_path):
    """The same PATH with a Python that has nothing installed into it."""
    (Path(bare_path) / "python3").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    return bare_path


@pytest.fixture
def jvm(tmp_path):
    directory = tmp_path / "jvm"
    directory.mkdir()
    return directory


def test_java_home_comes_first(tmp_path, with_python, jvm):
    java(jvm / "java-17", "17", VECTOR)
    home = java(tmp_path / "mine", "21", VECTOR)
    found = run("find-java", PATH=with_python, JVM_DIR=str(jvm), JAVA_HOME=str(home))
    assert (found.stdout, found.stderr, found.returncode) == (f"{home}\n", "", 0)


def test_java_on_the_path_is_traced_to_its_home(tmp_path, with_python, jvm):
    home = java(tmp_path / "elsewhere", "17", VECTOR)
    (Path(with_python) / "java").symlink_to(home / "bin" / "java")
    found = run("find-java", PATH=with_python, JVM_DIR=str(jvm))
    assert (found.stdout, found.returncode) == (f"{home}\n", 0)


def test_the_oldest_java_that_fits_is_taken(tmp_path, with_python, jvm):
    java(jvm / "a-25", "25", VECTOR)
    java(jvm / "b-8", "1.8", VECTOR)
    java(jvm / "c-11", "11", VECTOR)
    java(jvm / "d-17-cut-down", "17")
    wanted = java(jvm / "e-21", "21", VECTOR)
    old = java(tmp_path / "old", "11", VECTOR)
    found = run("find-java", PATH=with_python, JVM_DIR=str(jvm), JAVA_HOME=str(old))
    assert (found.stdout, found.returncode) == (f"{wanted}\n", 0)


@pytest.mark.parametrize("arguments", [[], ["--install"]])
def test_without_java_one_sentence_says_what_to_install(with_python, jvm, arguments):
    java(jvm / "cut-down", "17")
    found = run("find-java", *arguments, PATH=with_python, JVM_DIR=str(jvm))
    assert (found.stdout, found.stderr, found.returncode) == ("", NO_JAVA, 1)


def test_java_is_installed_with_apt_where_that_needs_no_question(tmp_path, with_python, jvm):
    """17 is not to be had, as on Debian 13; 21 is, and then it is found."""
    ready = java(tmp_path / "ready", "21", VECTOR)
    log = tmp_path / "apt.log"
    program(Path(with_python) / "id", "echo 0")
    program(Path(with_python) / "env", 'shift; exec "$@"')
    (Path(with_python) / "mv").symlink_to("/bin/mv")
    program(
        Path(with_python) / "apt-get",
        f'echo "$@" >> {log}\n'
        f'case "$*" in *openjdk-17*) exit 100;; *openjdk-21*) mv {ready} {jvm}/;; esac',
    )
    found = run("find-java", "--install", PATH=with_python, JVM_DIR=str(jvm))
    assert (found.stdout, found.returncode) == (f"{jvm}/ready\n", 0), found.stderr
    assert log.read_text().splitlines() == [
        "-q update",
        "-q install -y --no-install-recommends openjdk-17-jre-headless",
        "-q install -y --no-install-recommends openjdk-21-jre-headless",
    ]


def test_python_of_the_users_choice_comes_first(tmp_path, bare_path):
    link = tmp_path / "python-of-mine"
    link.symlink_to(sys.executable)
    found = run("find-python", PATH=bare_path, PYTHON=str(link))
    assert (found.stdout, found.returncode) == (f"{link}\n", 0)


def test_a_python_that_is_too_old_or_broken_is_passed_over(bare_path):
    program(Path(bare_path) / "python3.11", "exit 127")  # a shim without its version
    program(Path(bare_path) / "python3", 'case "$2" in *version_info*) exit 1;; esac')
    found = run("find-python", PATH=bare_path)
    assert found.stdout == ""
    assert found.stderr == (
        "freshline needs Python 3.11 or newer: install it, "
        'or run "make setup PYTHON=/path/to/python".\n'
    )
    assert found.returncode == 1


def test_a_python_without_ensurepip_names_the_package_that_brings_it(bare_path):
    program(
        Path(bare_path) / "python3",
        'case "$2" in *ensurepip*) exit 1;; *print*) echo python3.12-venv;; esac',
    )
    found = run("find-python", PATH=bare_path)
    assert found.stderr == (
        "freshline needs a Python that can make virtual environments: "
        "install the package python3.12-venv.\n"
    )
    assert (found.stdout, found.returncode) == ("", 1)
