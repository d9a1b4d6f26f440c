"""Checks of what a project needs: jars, storage, disks, the tables' clock, memory, the port."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from freshline.core.errors import UserError
from freshline.delta.log import local_log
from freshline.doctor.finding import Finding, gigabytes
from freshline.project.model import Project
from freshline.spark.engine.session import is_local, settings

_LITTLE_BYTES, _TOO_LITTLE_BYTES = 2_000_000_000, 200_000_000
"""Free space: under the first a warning; under the second not even a small update is safe."""
_SLOW_S, _AHEAD_S = 2.0, 60.0
"""How far the clocks of storage and machine may differ; how far ahead a commit may be."""
_SPARK_BYTES, _TABLE_BYTES = 100 * 2**20, 2**20
"""Heap that Spark itself keeps, and that each table keeps: twice what was measured with 300 tables
(docs/design/0115)."""
_SHARE = 0.6
"""Of the heap, for what tables keep; the rest is for updates that run."""
_BESIDE = 1.3
"""A JVM's memory against its heap: code, threads, buffers."""
_UNITS = {"": 2**20, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_NETWORKED = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p"})
_STORES = {
    "s3a": ("org.apache.hadoop:hadoop-aws", "hadoop-aws"),
    "gs": ("com.google.cloud.bigdataoss:gcs-connector", "gcs-connector"),
    "abfs": ("org.apache.hadoop:hadoop-azure", "hadoop-azure"),
    "abfss": ("org.apache.hadoop:hadoop-azure", "hadoop-azure"),
}
"""By the scheme of a URI: the package that reads it, and a part of its jar's name."""


def findings(
    project: Project, served_at: str | None, standby_at: str | None = None, *, movable: bool
) -> Iterator[Finding]:
    """Every check of the project.

    Args:
        project: What would run.
        served_at: Where a run of it answers now; None where none does.
        standby_at: Where a standby on this machine does, which gives the address to its run.
        movable: A run takes another port than its own where that is taken.
    """
    yield _jars(project)
    yield from _storage(project)
    yield from _disks(project)
    yield from _clock(project)
    yield _memory(project)
    yield _port(project, served_at, standby_at, movable=movable)


def _jars(project: Project) -> Finding:
    try:
        chosen = settings(project)
    except UserError as error:
        return Finding("jars", "wrong", error.what, error.next_step)
    missing = chosen.get("spark.jars.packages")
    if missing:
        return Finding(
            "jars",
            "warning",
            f"not fetched yet: {missing.replace(',', ', ')}",
            "The first start fetches them; without network set `spark: {jars: DIR}` to what"
            " `freshline jars --into DIR` copied elsewhere.",
        )
    lost = [
        path
        for path in chosen.get("spark.jars", "").split(",")
        if path and "://" not in path and not os.path.isfile(path.removeprefix("file:"))  # noqa: PTH113
    ]
    if lost:
        return Finding(
            "jars", "wrong", f"spark.jars names {', '.join(lost)}, which is no file", "Correct it."
        )
    return Finding("jars", "ok", f"{chosen['spark.jars'].count(',') + 1} jars are there")


def _storage(project: Project) -> Iterator[Finding]:
    if not is_local(project.storage):
        yield _store(project)
        return
    folder = _path(project.storage)
    existing = _existing(folder)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        yield Finding(
            "storage",
            "wrong",
            f"{existing} cannot be written by this user (id {os.geteuid()})",
            "Correct its owner or mode, or name another `storage`.",
        )
        return
    kind = _file_system(existing)
    if kind in _NETWORKED:
        yield Finding(
            "storage",
            "warning",
            f"{folder} is on {kind}: a file lock shows whether another machine runs this"
            " warehouse, and on network file systems locks work only if they are set up for it",
            "Use a local disk, or make sure that one machine alone runs it.",
        )
        return
    yield Finding("storage", "ok", f"{folder} can be written")


def _store(project: Project) -> Finding:
    """What can be known of an object store without asking it."""
    scheme = urlsplit(project.storage).scheme
    configuration = project.configuration
    if scheme in {"hdfs", "viewfs"}:
        return Finding("storage", "ok", f"{project.storage}: {scheme} comes with Spark")
    if scheme == "s3":
        return Finding(
            "storage",
            "wrong",
            f"{project.storage}: Spark has no file system for s3",
            "Write s3a:// instead.",
        )
    package, part = _STORES.get(scheme, ("", ""))
    if not package:
        return Finding(
            "storage",
            "warning",
            f"{project.storage}: nothing is known here of {scheme}",
            f"Add the package of its file system, and set `spark.hadoop.fs.{scheme}.impl`.",
        )
    given = [*project.spark_packages, configuration.get("spark.jars.packages", "")]
    try:
        given.append(settings(project).get("spark.jars", ""))
    except UserError:
        given.append("")
    if part not in ",".join(given):
        return Finding(
            "storage",
            "wrong",
            f"{project.storage}: no jar reads {scheme}",
            f"Add `{package}` of Spark's version of Hadoop to `spark: {{packages: [...]}}`.",
        )
    store = configuration.get(f"spark.delta.logStore.{scheme}.impl")
    if store is None and scheme == "s3a":
        return Finding(
            "storage",
            "ok",
            f"{project.storage}: Delta's log store for s3a keeps commits apart within one Spark"
            " driver; nothing but this warehouse may write its tables",
        )
    return Finding("storage", "ok", f"{project.storage}: {store or 'Delta finds its log store'}")


def _disks(project: Project) -> Iterator[Finding]:
    """Free space where tables, journal, pushed records and Spark's temporary files are."""
    places = {"the journal": project.own_folder, "Spark's local files": _local_files(project)}
    if is_local(project.storage):
        places["storage"] = _path(project.storage)
    if project.ingest is not None:
        places["pushed records"] = project.ingest.folder
    seen: dict[int, tuple[list[str], Path]] = {}
    for name, path in places.items():
        existing = _existing(path)
        names, _ = seen.setdefault(existing.stat().st_dev, ([], existing))
        names.append(name)
    for names, path in seen.values():
        free_bytes = shutil.disk_usage(path).free
        found = os.statvfs(path)
        what = f"{gigabytes(free_bytes)} free in {path}: {', '.join(names)}"
        if free_bytes < _LITTLE_BYTES:
            wrong = free_bytes < _TOO_LITTLE_BYTES
            yield Finding("disk", "wrong" if wrong else "warning", what, "Make room there.")
        elif found.f_files and not found.f_favail:
            yield Finding("disk", "wrong", f"{path} has no free inodes", "Remove small files.")
        else:
            yield Finding("disk", "ok", what)


def _clock(project: Project) -> Iterator[Finding]:
    """Whether the storage's clock is this machine's, and no commit is from the future."""
    if not is_local(project.storage):
        return
    folder = _existing(_path(project.storage))
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".freshline-doctor-") as probe:
            probe.write(b"clock")
            probe.flush()
            ahead_s = Path(probe.name).stat().st_mtime - time.time()
    except OSError:
        return  # the check of the storage says it
    if abs(ahead_s) > _SLOW_S:
        yield Finding(
            "clock",
            "wrong",
            f"the clock of {folder}, by which files get their times, is {abs(ahead_s):.0f} s"
            f" {'ahead of' if ahead_s > 0 else 'behind'} this machine's",
            "Synchronise both clocks.",
        )
    for table in (*project.tables, *project.reports):
        log = local_log(project.table_path(table.name))
        newest = 0.0 if log is None else _newest_s(log)
        if newest - time.time() > _AHEAD_S:
            yield Finding(
                "clock",
                "wrong",
                f"the newest commit of {table.name} is {newest - time.time():.0f} s in the future",
                "Set the clock right; if it is, the commit was made while it was not.",
            )


def _newest_s(log: Path) -> float:
    """When the newest commit of a log was made; a run beside this one may clean it up."""
    found = 0.0
    for file in log.glob("*.json"):
        with contextlib.suppress(OSError):
            found = max(found, file.stat().st_mtime)
    return found


def _memory(project: Project) -> Finding:
    """Whether the heap is enough for the tables, and the machine for the heap."""
    heap_bytes = _heap_bytes(project)
    if heap_bytes is None:
        return Finding("memory", "warning", "spark.driver.memory is no size", "Write it like 2g.")
    small = small_heap(project)
    if small is not None:
        return small
    what = _heap_text(project, heap_bytes)
    machine_bytes = _machine_bytes()
    if heap_bytes * _BESIDE > machine_bytes:
        return Finding(
            "memory",
            "wrong",
            f"{what}, but this machine or container has {machine_bytes / 2**30:.3g} GB, and Java"
            " takes about a third more than its heap",
            "Lower `spark.driver.memory`, or raise the limit.",
        )
    return Finding("memory", "ok", what)


def small_heap(project: Project) -> Finding | None:
    """What to say of a heap that is too small for the project's tables; None of any other."""
    heap_bytes = _heap_bytes(project)
    needed_bytes = (_SPARK_BYTES + _table_count(project) * _TABLE_BYTES) / _SHARE
    if heap_bytes is None or needed_bytes <= heap_bytes:
        return None
    return Finding(
        "memory",
        "warning",
        f"{_heap_text(project, heap_bytes)}: Spark keeps about 100 MB and each table up to"
        " 1 MB, and updates need the rest",
        "Set `spark.driver.memory` in `configuration:` to"
        f" {math.ceil(needed_bytes / 2**30)}g or more.",
    )


def _heap_text(project: Project, heap_bytes: int) -> str:
    return f"a heap of {heap_bytes / 2**30:.3g} GB for {_table_count(project)} tables"


def _table_count(project: Project) -> int:
    return len(project.tables) + len(project.reports)


def _port(
    project: Project, served_at: str | None, standby_at: str | None, *, movable: bool
) -> Finding:
    server = project.server
    if served_at is not None:
        return Finding("port", "ok", f"a run of this project answers at {served_at}")
    if standby_at is not None:
        return Finding("port", "ok", f"a standby of this project answers at {standby_at}")
    if server.port == 0:
        return Finding("port", "ok", "any free port is taken")
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server.host, server.port))
        except OSError as error:
            taken = f"{server.host}:{server.port} cannot be taken: {error.strerror}"
            if not movable:
                step = "Stop what holds it, or name another port under `server:`."
                return Finding("port", "wrong", taken, step)
            return Finding("port", "ok", f"{taken}; a run takes a free one instead")
    return Finding("port", "ok", f"{server.host}:{server.port} is free")


def _heap_bytes(project: Project) -> int | None:
    try:
        text = settings(project).get("spark.driver.memory", "1g")
    except UserError:
        text = project.configuration.get("spark.driver.memory", "1g")
    found = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)b?\s*", text.lower())
    return int(found[1]) * _UNITS[found[2]] if found else None


def _machine_bytes() -> int:
    """Memory of the machine, or the limit of the container."""
    known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _LIMITS:
        try:
            known.append(int(file.read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue  # another version of cgroups, or "max"
    return min(known)


def _local_files(project: Project) -> Path:
    given = os.environ.get("SPARK_LOCAL_DIRS") or project.configuration.get("spark.local.dir")
    return Path(given.split(",")[0] if given else "/tmp")  # noqa: S108 - Spark's own default


def _path(storage: str) -> Path:
    return Path(urlsplit(storage).path if storage.startswith("file:") else storage)


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that this user sees."""
    # Not Path.exists(), which raises where a folder above may not be entered.
    return next((each for each in (path, *path.parents) if os.path.exists(each)), Path("/"))  # noqa: PTH110


def _file_system(path: Path) -> str | None:
    """The kind of file system that the path is on, by the longest mount point above it."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    real = path.resolve()
    kinds = {Path(point): kind for _, point, kind, *_ in map(str.split, lines)}
    return next((kinds[each] for each in (real, *real.parents) if each in kinds), None)
