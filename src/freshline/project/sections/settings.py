"""The sections of freshline.yml that are not about data: scheduler and spark."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from freshline.core.assembly import NO_PARTITION, SchedulerSettings, partition_names
from freshline.core.aus.shares import RECOVERIES
from freshline.core.inheritance import RULES
from freshline.core.objective.just_in_time import OBJECTIVES
from freshline.core.partitions.proportional import ALLOCATIONS
from freshline.core.registry import found_policies, policy_called, policy_names
from freshline.project.model import CatalogSettings, MaintenanceSettings
from freshline.project.yaml.section import Section

MOST_TRACKS = 1_000

_RECOVERIES = tuple(each for each in RECOVERIES if each != "explicit")
"""A project names no recovery periods, which a scenario can."""

_DEFAULT = SchedulerSettings()
_MAINTENANCE = MaintenanceSettings()
_PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_LEAST_RETENTION_S = 3600.0
"""Shorter, and files could be removed under a query that reads them."""


def read_scheduler(section: Section | None) -> SchedulerSettings:
    """``scheduler:``; the keys are those of a scenario's policy, and tracks."""
    if section is None:
        return _DEFAULT
    section.only(
        "tracks", "policy", "partition", "clustering", "allocation", "aggressive", "inherit",
        "inherit_factor", "chop", "recovery", "objective", "backfill_share",
    )  # fmt: skip
    read = SchedulerSettings(
        tracks=section.whole("tracks", _DEFAULT.tracks, least=1, most=MOST_TRACKS),
        policy=policy_called(section.choice("policy", policy_names(), _DEFAULT.policy)),
        partition=section.choice("partition", partition_names(), _DEFAULT.partition),
        clustering=section.number(
            "clustering",
            _DEFAULT.clustering,
            lambda clustering: clustering > 0,
            "it is a number greater than 0",
        ),
        allocation=section.choice("allocation", ALLOCATIONS, _DEFAULT.allocation),
        aggressive=section.flag("aggressive", default=_DEFAULT.aggressive),
        inherit=section.choice("inherit", RULES, _DEFAULT.inherit),
        inherit_factor=section.number(
            "inherit_factor",
            _DEFAULT.inherit_factor,
            lambda factor: factor >= 0,
            "it is a number of at least 0",
        ),
        chop=section.number("chop", None, lambda chop: chop >= 1, "it is a number of at least 1"),
        recovery=section.choice("recovery", _RECOVERIES, _DEFAULT.recovery),
        objective=section.choice("objective", OBJECTIVES, _DEFAULT.objective),
        backfill_share=section.number(
            "backfill_share",
            _DEFAULT.backfill_share,
            lambda share: 0 < share <= 1,
            "it is a number above 0 and at most 1",
        ),
    )
    if read.objective == "cost" and read.policy == "aus":
        section.fault(
            "objective-of-aus",
            "objective of scheduler is 'cost', but policy aus decides itself when updates start",
            key="objective",
            rule="it goes with every other policy",
            next_step="Use another policy, or the objective 'staleness'.",
        )
    kind = found_policies().get(read.policy)
    if kind is not None and kind.own_partition is not None and read.partition != NO_PARTITION:
        section.fault(
            "two-partitions",
            f"partition of scheduler is '{read.partition}', but policy {read.policy} divides the"
            " tracks itself",
            key="partition",
            rule="one of them divides the tracks",
            next_step="Remove the key, or use another policy.",
        )
    return read


def _kept_s(section: Section, key: str, why: str) -> float | None:
    """How long something is kept, an hour or longer; None where the section does not say."""
    kept_s = section.duration_s(key)
    if kept_s is not None and kept_s < _LEAST_RETENTION_S:
        section.fault(
            "bad-value",
            f"{key} of maintenance is '{section.data[key]}'",
            key=key,
            rule=f"it is at least 1 hour: {why}",
            next_step="Give a longer one.",
        )
    return kept_s


def read_maintenance(section: Section | None) -> MaintenanceSettings:
    """``maintenance:``; whether to compact, to remove old files, and what to keep."""
    if section is None:
        return _MAINTENANCE
    section.only("compact", "vacuum", "trials", "retention", "audit", "rejected")
    retention_s = _kept_s(section, "retention", "a query that runs must find the files it reads")
    rejected_s = _kept_s(section, "rejected", "somebody is to see the rows before they are removed")
    audit = _share(section, "audit", _MAINTENANCE.audit)
    return MaintenanceSettings(
        compact=section.flag("compact", default=_MAINTENANCE.compact),
        vacuum=section.flag("vacuum", default=_MAINTENANCE.vacuum),
        trials=section.flag("trials", default=_MAINTENANCE.trials),
        audit=audit,
        retention_s=_MAINTENANCE.retention_s if retention_s is None else retention_s,
        rejected_s=_MAINTENANCE.rejected_s if rejected_s is None else rejected_s,
    )


def _share(section: Section, key: str, default: float) -> float:
    """A percentage as a part of 1."""
    given = section.data.get(key)
    if given is None:
        return default
    found = _PERCENTAGE.fullmatch(str(given).strip())
    share = float(found[1]) / 100 if found else -1.0
    if given == 0 and not isinstance(given, bool):
        return 0.0
    if 0.0 <= share <= 1.0:
        return share
    section.fault(
        "bad-value",
        f"{key} of {section.what} is '{given}'",
        key=key,
        rule="it is a percentage from 0% to 100%, such as 1%",
        next_step="Correct it, or leave it out.",
    )
    return default


_MASTER = re.compile(r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?|local-cluster\[.*\]|yarn|\w+://.+")


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """``spark:`` of freshline.yml: see the fields of Project."""

    master: str = "local[*]"
    packages: tuple[str, ...] = ()
    jars: str | None = None
    update_timeout_s: float | None = None


def read_spark(section: Section | None, root: Path) -> SparkSettings:
    """``spark:``: the master, packages to add, where all jars are, how long updates may run."""
    default = SparkSettings()
    if section is None:
        return default
    section.only("master", "packages", "jars", "update_timeout")
    packages = section.data.get("packages") or []
    if not isinstance(packages, list) or not all(isinstance(each, str) for each in packages):
        section.fault(
            "bad-value",
            "packages of spark is no list of texts",
            key="packages",
            rule="it is a list of Maven coordinates, group:artifact:version",
            next_step="Correct the list.",
        )
        packages = []
    jars = section.text("jars")
    return SparkSettings(
        _master(section) or default.master,
        tuple(packages),
        None if jars is None else str(root / jars),
        section.duration_s("update_timeout"),
    )


def _master(section: Section) -> str | None:
    given = section.text("master")
    if given is not None and not _MASTER.fullmatch(given):
        section.fault(
            "bad-value",
            f"master of spark is '{given}'",
            key="master",
            rule="it is local, local[N], local[*], yarn, or an address such as spark://host:7077",
            next_step="Correct it, or leave it out for local[*].",
        )
        return None
    return given


def read_lineage(section: Section | None) -> str | None:
    """``lineage:``: the namespace of the jobs in OpenLineage events; None: no events."""
    if section is None:
        return None
    section.only("namespace")
    section.require("namespace")
    return section.text("namespace")


def read_catalog(section: Section | None) -> CatalogSettings | None:
    """``catalog:``: where tables are registered by name; None: nowhere."""
    if section is None:
        return None
    section.only("name", "database")
    section.require("database")
    return CatalogSettings(
        database=section.text("database") or "", name=section.text("name") or "spark_catalog"
    )
