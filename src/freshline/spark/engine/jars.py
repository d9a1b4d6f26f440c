"""The jars that Spark needs beside its own: Delta's, Kafka's, and those of the user's packages.

Spark can resolve packages by itself, but it prints a hundred lines about it, does so at every
start, and puts older copies of its own libraries beside itself. So a process of its own resolves
them once, its output kept back unless it fails, and Spark is started with the names of the files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pyspark

from freshline.core.errors import Place, PlatformError, UserError
from freshline.project.model import Project
from freshline.spark.engine.submission import submitted, use_java

DELTA_PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
DELTA_JARS = tuple(
    f"io.delta_{name}-4.4.0.jar"
    for name in (
        "delta-spark_4.2_2.13",
        "delta-storage",
        "delta-kernel-api",
        "delta-kernel-defaults",
        "delta-kernel-unitycatalog",
    )
)
"""What Delta needs and Spark has not, as Ivy names the files."""
KAFKA_PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"

_RESOLVE = """
from pyspark import SparkContext
print("\\njars:" + (SparkContext.getSystemProperty("spark.jars") or ""))
"""
_KEPT = ("spark.jars.repositories", "spark.jars.excludes", "spark.jars.ivySettings")
_PASSED_ON = (*_KEPT, "spark.jars.ivy", "spark.driver.extraJavaOptions")
"""Settings that change what packages resolve to, and those that the resolver needs besides."""
_MOVING = re.compile(r"SNAPSHOT|latest|[+\[\](]")
"""In a version: what it names can be another file tomorrow."""
_GROUP = re.compile(r"\A[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)+_")
"""Ivy's files begin with it, Maven's do not."""
_UNRESOLVED = re.compile(r"(?:unresolved dependency|download failed): [^\],]+")
_LAST_LINES = 3


def named_jars(project: Project, chosen: Mapping[str, str]) -> dict[str, str]:
    """The settings that name the jars: files where all are known, or else packages to resolve.

    Args:
        chosen: The session's other settings.

    Raises:
        UserError: ``spark: {jars: DIR}`` names a directory that lacks some (``jars-missing``), or
            has one in several versions (``jars-doubled``).
    """
    wanted = packages(project.spark_packages, chosen, topics=has_topics(project))
    given = chosen.get("spark.jars", "")
    if project.spark_jars is not None:
        return {"spark.jars": joined(given, *_in_folder(Path(project.spark_jars), wanted))}
    known = [_known(part, chosen) for part in _parts(wanted)]
    if all(known):
        return {
            "spark.jars": joined(given, *(str(file) for files in known for file in files or ()))
        }
    return {"spark.jars.packages": joined(*wanted)}


def packages(named: Sequence[str], chosen: Mapping[str, str], *, topics: bool) -> tuple[str, ...]:
    """The Maven coordinates that are needed, Delta's first unless the user names it.

    Args:
        named: Coordinates that the user names, beside those among the settings.
        topics: Whether topics of Kafka are read.
    """
    wanted = [part for part in chosen.get("spark.jars.packages", "").split(",") if part]
    wanted += named
    given = joined(chosen.get("spark.jars", ""), *wanted)
    if topics and "spark-sql-kafka-0-10" not in given:
        wanted.append(KAFKA_PACKAGE)
    if not any(package.startswith("io.delta:") for package in wanted):
        wanted.insert(0, DELTA_PACKAGE)
    return tuple(wanted)


def resolved(
    chosen: Mapping[str, str], tell: Callable[[str], None] = lambda _: None
) -> dict[str, str]:
    """``chosen`` with files instead of packages; those that are missing are fetched.

    Raises:
        PlatformError: One cannot be fetched (``jars-unresolved``).
    """
    wanted = tuple(part for part in chosen.get("spark.jars.packages", "").split(",") if part)
    if not wanted:
        return dict(chosen)
    files = []
    for part in _parts(wanted):
        files += _known(part, chosen) or fetched(part, chosen, tell)
    others = {key: value for key, value in chosen.items() if key != "spark.jars.packages"}
    return others | {"spark.jars": joined(chosen.get("spark.jars", ""), *map(str, files))}


def has_topics(project: Project) -> bool:
    """Whether a feed of the project is a topic of Kafka."""
    return any(feed.kind == "kafka" for feed in project.feeds.values())


def copied(
    wanted: tuple[str, ...], chosen: Mapping[str, str], into: Path, tell: Callable[[str], None]
) -> list[str]:
    """Copy what the packages resolve to into a directory, under the names that Maven gives them.

    Of what it copies, other versions that are there are told: they may be somebody else's.

    Returns:
        The names of the files.

    Raises:
        PlatformError: There is no Java (``no-java``), a package cannot be fetched
            (``jars-unresolved``), or the directory cannot be written (``cannot-write``).
    """
    names = []
    for part in _parts(wanted):
        files = _known(part, chosen)
        if files is None:
            use_java()
            files = fetched(part, chosen, tell)
        try:
            into.mkdir(parents=True, exist_ok=True)
            for file in files:
                name = file.name.partition("_")[2]
                unfinished = into / f"{name}.part"
                shutil.copyfile(file, unfinished)
                unfinished.replace(into / name)
                names.append(name)
        except OSError as error:
            raise PlatformError(
                "cannot-write",
                f"cannot write {error.filename or into}: {error.strerror}",
                next_step="Check the disk and the permissions.",
            ) from error
    doubled = _doubled(file.name for file in into.glob("*.jar")).values()
    others = [name for each in doubled if set(names) & set(each) for name in each]
    if others := sorted(set(others) - set(names)):
        tell(
            f"{into} has other versions, too, and Spark would load both: remove {', '.join(others)}"
        )
    return names


def fetched(
    wanted: tuple[str, ...], chosen: Mapping[str, str], tell: Callable[[str], None]
) -> list[Path]:
    """The files that Spark resolves the packages to, without those that it has itself.

    Spark's own class is taken first where a jar beside it has the same one, so nothing changes.

    Raises:
        PlatformError: One cannot be fetched (``jars-unresolved``).
    """
    tell(f"fetching {', '.join(wanted)}: once, some minutes where the network is slow")
    settings = {
        "spark.master": "local[1]",
        "spark.jars.packages": ",".join(wanted),
        **{key: chosen[key] for key in _PASSED_ON if key in chosen},
    }
    if "spark.jars.ivySettings" not in chosen:
        # Java takes the home directory from the list of users, and not from HOME.
        settings["spark.jars.ivy"] = str(ivy_folder(chosen))
    with submitted(settings):
        done = subprocess.run(
            [sys.executable, "-c", _RESOLVE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    lines = done.stdout.splitlines()
    told = [line.removeprefix("jars:") for line in lines if line.startswith("jars:")]
    if done.returncode != 0 or not told:
        raise _unresolved(wanted, lines)
    own = _artifacts(Path(pyspark.__file__).parent / "jars")
    files = [Path(re.sub(r"^file:(?://)?", "", part)) for part in told[-1].split(",") if part]
    if wanted == (DELTA_PACKAGE,):
        return [file for file in files if file.name in DELTA_JARS]
    files = [file for file in files if _artifact(file.name.partition("_")[2]) not in own]
    _remember(wanted, chosen, files)
    return files


def ivy_folder(chosen: Mapping[str, str]) -> Path:
    """Where Spark keeps what it resolved."""
    given = chosen.get("spark.jars.ivy")
    return Path(given) if given else Path(os.path.expanduser("~")) / ".ivy2.5.2"  # noqa: PTH111 - HOME may be unset


def joined(*lists: str) -> str:
    """Comma-separated lists as one, without empty parts."""
    return ",".join(part for part in lists if part)


def _parts(wanted: tuple[str, ...]) -> list[tuple[str, ...]]:
    """What is resolved together: our own Delta by itself, so that its five files are enough."""
    others = tuple(package for package in wanted if package != DELTA_PACKAGE)
    delta = (DELTA_PACKAGE,) if DELTA_PACKAGE in wanted else ()
    return [part for part in (delta, others) if part]


def _known(wanted: tuple[str, ...], chosen: Mapping[str, str]) -> list[Path] | None:
    """The files that an earlier start resolved the packages to, if all are there still."""
    folder = ivy_folder(chosen)
    if wanted == (DELTA_PACKAGE,):
        files = [folder / "jars" / jar for jar in DELTA_JARS]
    else:
        try:
            noted = json.loads(_memory(wanted, chosen).read_text(encoding="utf-8"))
            files = [Path(file) for file in noted["files"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None
    return files if files and all(file.is_file() for file in files) else None


def _remember(wanted: tuple[str, ...], chosen: Mapping[str, str], files: list[Path]) -> None:
    if any(_MOVING.search(package.rpartition(":")[2]) for package in wanted):
        return
    note = _memory(wanted, chosen)
    text = json.dumps({"packages": wanted, "files": [str(file) for file in files]}, indent=1)
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        part = note.with_suffix(f".{os.getpid()}")
        part.write_text(text, encoding="utf-8")
        part.replace(note)
    except OSError:
        return  # the next start resolves them once more


def _memory(wanted: tuple[str, ...], chosen: Mapping[str, str]) -> Path:
    """Where it is noted what these packages resolved to, under these settings."""
    decided = {"packages": wanted, **{key: chosen.get(key) for key in _KEPT}}
    name = hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()[:16]
    return ivy_folder(chosen) / "freshline" / f"{name}.json"


def _in_folder(folder: Path, wanted: tuple[str, ...]) -> list[str]:
    """Every jar in the directory that the user names, which has to have all that is needed."""
    files = sorted(folder.glob("*.jar"))
    names = {file.name for file in files}
    missing = [package for package in wanted if not _names_of(package) & names]
    if DELTA_PACKAGE in wanted and DELTA_PACKAGE not in missing:
        plain = {name.partition("_")[2] for name in DELTA_JARS}
        missing += sorted(
            name for name in plain if name not in names and f"io.delta_{name}" not in names
        )
    if missing:
        raise UserError(
            "jars-missing",
            f"jars of spark is {folder}, which lacks {', '.join(missing)}",
            where=Place("freshline.yml"),
            rule="nothing is fetched where jars is set: the directory has every jar",
            next_step="Run `freshline jars --into DIR` on a machine with network, and copy DIR.",
        )
    doubled = _doubled(names)
    needed = {_without_scala(package.split(":")[1]) for package in wanted if ":" in package}
    needed |= {_artifact_and_version(name)[0] for name in DELTA_JARS}
    if needed & doubled.keys():
        # All are named, though those that nobody asked for may be two libraries of one name.
        found = "; ".join(", ".join(each) for each in doubled.values())
        raise UserError(
            "jars-doubled",
            f"jars of spark is {folder}, which has jars in several versions: {found}",
            where=Place("freshline.yml"),
            rule="Spark loads every jar there, and takes some classes from each",
            next_step="Remove those of other versions, or run `freshline jars --into DIR` with an"
            " empty DIR.",
        )
    return [str(file) for file in files]


def _names_of(package: str) -> set[str]:
    """What the file of a Maven coordinate is called: by Maven, and by Ivy."""
    group, artifact, version = [*package.split(":"), "", ""][:3]
    return {f"{artifact}-{version}.jar", f"{group}_{artifact}-{version}.jar"}


def _artifacts(folder: Path) -> set[str]:
    return {_artifact(file.name) for file in folder.glob("*.jar")}


def _artifact(file: str) -> str:
    """A jar's name without its version."""
    return re.split(r"-(?=\d)", file.removesuffix(".jar"), maxsplit=1)[0]


def _doubled(files: Iterable[str]) -> dict[str, list[str]]:
    """Of names of jars, those of each artifact that is there in several versions."""
    found: dict[str, dict[str, list[str]]] = {}
    for file in sorted(files):
        artifact, version = _artifact_and_version(file)
        found.setdefault(artifact, {}).setdefault(version, []).append(file)
    return {
        artifact: [name for names in versions.values() for name in names]
        for artifact, versions in found.items()
        if len(versions) > 1
    }


def _artifact_and_version(file: str) -> tuple[str, str]:
    """What a jar holds, and in which version: that of Scala counts, a classifier does not."""
    plain = _GROUP.sub("", file.removesuffix(".jar"), count=1)
    named = re.fullmatch(r"(.+)-(\d.*)", plain)
    if named is None:
        return plain, ""
    artifact = _without_scala(named[1])
    return artifact, named[1].removeprefix(artifact) + named[2].partition("-")[0]


def _without_scala(artifact: str) -> str:
    return re.split(r"_(?=\d)", artifact, maxsplit=1)[0]


def _unresolved(wanted: tuple[str, ...], lines: list[str]) -> PlatformError:
    reasons = dict.fromkeys(found[0] for line in lines if (found := _UNRESOLVED.search(line)))
    told = [*reasons] or [line.strip() for line in lines if line.strip()][-_LAST_LINES:]
    return PlatformError(
        "jars-unresolved",
        f"{', '.join(wanted)} could not be fetched: {'; '.join(told[:_LAST_LINES])}",
        rule="Spark needs these jars, and fetches them from a Maven repository once",
        next_step="Check the network, or `spark.jars.repositories` and `spark.jars.ivySettings` in"
        " `configuration:`. For a machine without network run `freshline jars --into DIR`"
        " elsewhere, copy DIR, and set `spark: {jars: DIR}`.",
    )
