"""Where the lease of a project's storage stands."""

from __future__ import annotations

from freshline.delta.log import local_log
from freshline.delta.stores import use
from freshline.project.model import Project
from freshline.runtime.lease.file_store import FileStore
from freshline.runtime.lease.log_store import LogStore
from freshline.runtime.lease.store import LeaseStore

_remembered: dict[tuple[str, tuple[tuple[str, str], ...]], LeaseStore] = {}


def store_of(project: Project) -> LeaseStore:
    """The store of a project's lease: STORAGE/_freshline/lease."""
    log = local_log(project.own_path)
    if log is not None:
        return FileStore(log.parent)
    use(project.configuration)
    return LogStore(project.own_path)


def readable_store_of(project: Project) -> LeaseStore:
    """The same to be read again and again: at a URI it remembers where it was."""
    key = (project.own_path, tuple(sorted(project.configuration.items())))
    if local_log(project.own_path) is not None:
        return store_of(project)
    if key not in _remembered:
        _remembered.clear()
        _remembered[key] = store_of(project)
    return _remembered[key]
