"""Which jars a session is started with, and that the resolver's chatter is kept back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from freshline.core.errors import PlatformError, UserError
from freshline.project.model import Project
from freshline.spark.engine.jars import (
    DELTA_JARS,
    DELTA_PACKAGE,
    KAFKA_PACKAGE,
    copied,
    packages,
    resolved,
)
from freshline.spark.engine.session import settings

PLAIN = [name.partition("_")[2] for name in DELTA_JARS]
"""As Maven names them."""


def project(tmp_path: Path, configuration=(), *, packages=(), folder=None) -> Project:
    ivy = {"spark.jars.ivy": str(tmp_path / "ivy"), **dict(configuration)}
    return Project(
        "p", tmp_path, str(tmp_path / "w"), (), {}, ivy,
        spark_packages=packages, spark_jars=None if folder is None else str(folder),
    )  # fmt: skip


def filled(folder: Path, *names: str) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return [str(folder / name) for name in names]


class Resolver:
    """Stands for the process that resolves: it puts files there and prints what Spark prints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.ivy: str | None = None
        self.names: dict[str, list[str]] = {}
        self.fails_with: str | None = None

    def __call__(self, arguments, **more):
        file = Path(os.environ["PYSPARK_SUBMIT_ARGS"].split("--properties-file ")[1].split()[0])
        text = file.read_text().replace("\\u003a", ":").replace("\\u003d", "=")
        given = dict(line.split("=", 1) for line in text.splitlines())
        asked, self.ivy = given["spark.jars.packages"], given.get("spark.jars.ivy")
        self.asked.append(asked)
        if self.fails_with is not None:
            return subprocess.CompletedProcess(arguments, 1, self.fails_with)
        told = ",".join(f"file://{path}" for path in filled(self.folder, *self.names[asked]))
        return subprocess.CompletedProcess(arguments, 0, f":: chatter ::\njars:{told}\n")


@pytest.fixture
def resolver(tmp_path, monkeypatch) -> Resolver:
    made = Resolver(tmp_path / "ivy" / "jars")
    made.names[DELTA_PACKAGE] = [*DELTA_JARS, "org.apache.hadoop_hadoop-client-api-3.4.2.jar"]
    made.names["org.x:y_2.13:1"] = [
        "org.x_y_2.13-1.jar",
        "com.fasterxml.jackson.core_jackson-core-2.13.5.jar",  # Spark has its own
    ]
    monkeypatch.setattr(subprocess, "run", made)
    return made


def test_deltas_jars_are_named_when_an_earlier_start_left_them(tmp_path):
    assert settings(project(tmp_path))["spark.jars.packages"] == DELTA_PACKAGE
    files = filled(tmp_path / "ivy" / "jars", *DELTA_JARS)
    chosen = settings(project(tmp_path, [("spark.jars", "/mine.jar")]))
    assert chosen["spark.jars"].split(",") == ["/mine.jar", *files]
    assert "spark.jars.packages" not in chosen
    with_package = settings(project(tmp_path, packages=("org.x:y:1",)))
    assert with_package["spark.jars.packages"] == f"{DELTA_PACKAGE},org.x:y:1"
    Path(files[0]).unlink()
    assert settings(project(tmp_path))["spark.jars.packages"] == DELTA_PACKAGE


def test_the_first_start_fetches_deltas_five_and_no_later_start_does(tmp_path, resolver):
    told: list[str] = []
    chosen = resolved(settings(project(tmp_path)), told.append)
    assert told == [f"fetching {DELTA_PACKAGE}: once, some minutes where the network is slow"]
    assert chosen["spark.jars"] == ",".join(str(resolver.folder / jar) for jar in DELTA_JARS)
    assert "spark.jars.packages" not in chosen
    assert resolved(settings(project(tmp_path)), told.append) == chosen
    assert resolver.asked == [DELTA_PACKAGE]


def test_the_home_directory_is_that_of_the_environment(tmp_path, resolver, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    resolver.folder = tmp_path / "home" / ".ivy2.5.2" / "jars"
    chosen = {"spark.jars.packages": DELTA_PACKAGE}
    assert resolved(chosen) == resolved(chosen)
    assert (resolver.asked, resolver.ivy) == ([DELTA_PACKAGE], str(resolver.folder.parent))
    (resolver.folder / DELTA_JARS[0]).unlink()
    resolved(chosen | {"spark.jars.ivySettings": "mine.xml"})
    assert resolver.ivy is None  # that file says where


def test_packages_are_resolved_once_for_each_choice_of_repositories(tmp_path, resolver):
    mine = project(tmp_path, packages=("org.x:y_2.13:1",))
    first = resolved(settings(mine))
    assert first["spark.jars"].split(",")[5:] == [str(resolver.folder / "org.x_y_2.13-1.jar")]
    assert resolved(settings(mine)) == first
    elsewhere = project(
        tmp_path,
        [("spark.jars.repositories", "https://jars.example")],
        packages=("org.x:y_2.13:1",),
    )
    assert resolved(settings(elsewhere))["spark.jars"] == first["spark.jars"]
    (resolver.folder / "org.x_y_2.13-1.jar").unlink()
    resolved(settings(mine))
    assert resolver.asked == [DELTA_PACKAGE, *["org.x:y_2.13:1"] * 3]


@pytest.mark.parametrize("version", ["1-SNAPSHOT", "latest.release", "1.+", "[1,2"])
def test_a_version_that_can_be_another_file_tomorrow_is_resolved_each_time(
    tmp_path, resolver, version
):
    filled(resolver.folder, *DELTA_JARS)
    package = f"org.x:z:{version}".split(",")[0]
    resolver.names[package] = ["org.x_z-1.jar"]
    for _ in range(2):
        resolved(settings(project(tmp_path, packages=(package,))))
    assert resolver.asked == [package] * 2


def test_what_could_not_be_fetched_is_told_with_the_way_around_it(tmp_path, resolver):
    resolver.fails_with = (
        "chatter\n"
        "\t\t:: org.x#y;1: not found\n"
        "Exception: java.lang.RuntimeException: [unresolved dependency: org.x#y;1: not found]\n"
    )
    filled(resolver.folder, *DELTA_JARS)
    with pytest.raises(PlatformError) as caught:
        resolved(settings(project(tmp_path, packages=("org.x:y:1",))))
    assert caught.value.render() == (
        "[jars-unresolved] org.x:y:1 could not be fetched: unresolved dependency: org.x#y;1: not"
        " found; Spark needs these jars, and fetches them from a Maven repository once. Check the"
        " network, or `spark.jars.repositories` and `spark.jars.ivySettings` in `configuration:`."
        " For a machine without network run `freshline jars --into DIR` elsewhere, copy DIR, and"
        " set `spark: {jars: DIR}`."
    )
    assert not (tmp_path / "ivy" / "freshline").exists()


@pytest.mark.parametrize("names", [PLAIN, DELTA_JARS])
def test_a_directory_of_jars_needs_no_network(tmp_path, resolver, names):
    files = filled(tmp_path / "jars", *names, "other.jar")
    (tmp_path / "jars" / "README").touch()
    chosen = resolved(settings(project(tmp_path, folder=tmp_path / "jars")))
    assert set(chosen["spark.jars"].split(",")) == set(files)
    assert resolver.asked == []


def test_a_directory_that_lacks_a_jar_is_refused_with_its_name(tmp_path):
    filled(tmp_path / "jars", *PLAIN[:-1], "y-1.jar")
    mine = project(tmp_path, packages=("org.x:y:1", KAFKA_PACKAGE), folder=tmp_path / "jars")
    with pytest.raises(UserError) as caught:
        settings(mine)
    assert caught.value.render() == (
        f"[jars-missing] freshline.yml: jars of spark is {tmp_path / 'jars'}, which lacks"
        f" {KAFKA_PACKAGE}, {PLAIN[-1]}; nothing is fetched where jars is set: the directory has"
        " every jar. Run `freshline jars --into DIR` on a machine with network, and copy DIR."
    )


@pytest.mark.parametrize(
    ("older", "package"),
    [
        ("delta-spark_4.1_2.13-4.3.0.jar", ""),
        ("io.delta_delta-storage-4.3.0.jar", ""),
        ("y_2.12-1.jar", "org.x:y_2.13:1"),
        ("org.x_y_2.13-0.9-all.jar", "org.x:y_2.13:1"),
    ],
)
def test_a_directory_with_a_needed_jar_in_two_versions_is_refused(tmp_path, older, package):
    """Spark would take classes of both: nobody can say what runs."""
    named = (package,) if package else ()
    mine = project(tmp_path, packages=named, folder=tmp_path / "jars")
    (file,) = filled(tmp_path / "jars", *PLAIN, "y_2.13-1.jar", older)[-1:]
    with pytest.raises(UserError) as caught:
        settings(mine)
    assert caught.value.code == "jars-doubled"
    assert older in caught.value.what
    assert caught.value.what.count(".jar") == 2
    Path(file).unlink()
    assert len(settings(mine)["spark.jars"].split(",")) == len(PLAIN) + 1


def test_what_only_looks_like_two_versions_of_a_needed_jar_is_taken(tmp_path):
    names = [
        *PLAIN,
        *DELTA_JARS[:1],  # the same one, as Ivy names it
        "annotations-13.0.jar",  # of one group
        "annotations-2.29.1.jar",  # and of another one
        "netty-transport-4.1.118.Final-linux-x86_64.jar",
        "netty-transport-4.1.118.Final-osx-x86_64.jar",
        "delta-sharing-spark_4.2_2.13-1.3.jar",
    ]
    filled(tmp_path / "jars", *names)
    chosen = settings(project(tmp_path, folder=tmp_path / "jars"))
    assert len(chosen["spark.jars"].split(",")) == len(names)


def test_other_versions_of_what_is_copied_are_named_and_stay(tmp_path, resolver):
    told: list[str] = []
    older = filled(tmp_path / "out", "delta-spark_4.1_2.13-4.3.0.jar", "mine-1.jar")
    chosen = {"spark.jars.ivy": str(tmp_path / "ivy")}
    copied((DELTA_PACKAGE,), chosen, tmp_path / "out", told.append)
    assert told[-1] == (
        f"{tmp_path / 'out'} has other versions, too, and Spark would load both: remove"
        " delta-spark_4.1_2.13-4.3.0.jar"
    )
    assert all(Path(each).exists() for each in older)


def test_jars_are_copied_under_mavens_names_and_a_second_copy_replaces_them(tmp_path, resolver):
    wanted = packages(["org.x:y_2.13:1"], {}, topics=False)
    chosen = {"spark.jars.ivy": str(tmp_path / "ivy")}
    for _ in range(2):
        assert copied(wanted, chosen, tmp_path / "out", print) == [*PLAIN, "y_2.13-1.jar"]
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [
        *sorted(PLAIN), "y_2.13-1.jar",
    ]  # fmt: skip
    mine = project(tmp_path, packages=("org.x:y_2.13:1",), folder=tmp_path / "out")
    assert len(settings(mine)["spark.jars"].split(",")) == 6
    (tmp_path / "file").touch()
    with pytest.raises(PlatformError, match="cannot-write"):
        copied(wanted, chosen, tmp_path / "file", print)


def test_kafkas_package_and_a_delta_of_the_users_choice():
    delta = "io.delta:delta-spark_4.2_2.13:4.4.1"
    assert packages([], {}, topics=True) == (DELTA_PACKAGE, KAFKA_PACKAGE)
    assert packages([], {"spark.jars.packages": f"{delta},org.x:y:1"}, topics=False) == (
        delta,
        "org.x:y:1",
    )


def test_a_note_that_is_damaged_is_made_again(tmp_path, resolver):
    mine = project(tmp_path, packages=("org.x:y_2.13:1",))
    first = resolved(settings(mine))
    (note,) = (tmp_path / "ivy" / "freshline").iterdir()
    for text in ("", "[]", '{"files": []}', '{"files": 3}', json.dumps({"files": ["/gone.jar"]})):
        note.write_text(text)
        assert resolved(settings(mine)) == first
    assert resolver.asked == [DELTA_PACKAGE, *["org.x:y_2.13:1"] * 6]
