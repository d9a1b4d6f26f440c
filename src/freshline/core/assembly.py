"""From settings to a scheduler: the one place where policy, partition and extent meet.

The simulator and the warehouse both build their scheduler here, so the same settings mean
the same decisions in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from freshline.core.errors import UserError
from freshline.core.extent import ALL_PENDING, Batch, Chop, Extent
from freshline.core.model import TableSpec
from freshline.core.objective.just_in_time import OBJECTIVES, JustInTime
from freshline.core.policy import Policy
from freshline.core.registry import (
    found_partitions,
    found_policies,
    make_partition,
    make_policy,
    policy_called,
    policy_names,
)
from freshline.core.scheduler import Scheduler

NO_PARTITION = "none"

MOST_FILES = 1000
"""Of one update in a warehouse: a directory with 10,000 old files is loaded in ten."""


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """How to choose, with the defaults of a scenario.

    Attributes:
        policy: The name of a policy of ``core/policies``.
        partition: none, or a partition of ``core/partitions``.
        clustering: k of the Proportional clustering (Golab et al. 3.2.3).
        allocation: basic or all (3.2.3).
        aggressive: Whether promotion ignores tables that wait for their home track (3.2.2).
        inherit: none, sum, max or max-plus (3.3).
        inherit_factor: K of max-plus.
        chop: At most this many periods in one update, >= 1 (3.4); None: all that is pending.
        recovery: How the adaptive scheduler lets a late table catch up (Leontyev et al.).
        objective: staleness: a table with news starts as soon as a track is free; cost: when it
            would otherwise miss its target (``just_in_time.py``).
        backfill_share: Part of the tracks' time that background work gets (``share.py``).
    """

    policy: str = "fifo"
    partition: str = NO_PARTITION
    clustering: float = 10.0
    allocation: str = "all"
    aggressive: bool = True
    inherit: str = "none"
    inherit_factor: float = 1.0
    chop: float | None = None
    recovery: str = "average"
    objective: str = "staleness"
    backfill_share: float = 0.1


@dataclass(frozen=True, slots=True)
class SchedulerSettings(PolicySettings):
    """How a warehouse chooses: ``scheduler:`` of freshline.yml, with the defaults of that section.

    Attributes:
        tracks: How many updates can run at once, >= 1.
    """

    tracks: int = 2
    policy: str = "max-benefit"
    inherit: str = "max"


def partition_names() -> list[str]:
    """What the key ``partition`` may say: none, or a partition that no policy brings along."""
    owned = {kind.own_partition for kind in found_policies().values()}
    return [NO_PARTITION, *(name for name in found_partitions() if name not in owned)]


def make_scheduler(
    specs: Sequence[TableSpec],
    *,
    tracks: int,
    settings: PolicySettings,
    seed: int = 1,
    guarded: bool = False,
    worst_factor: float = 1.0,
    start_s: float = 0.0,
    origin_s: float | None = 0.0,
    learns: bool = False,
    explains: bool = False,
    most_files: int | None = None,
) -> Scheduler:
    """A scheduler for ``specs`` under ``settings``.

    Args:
        specs: The tables; their order breaks ties.
        tracks: How many updates can run at once, >= 1.
        settings: Policy, partition, inheritance, chopping.
        seed: Of the policy's own chance.
        guarded: Whether policies that could starve a table (lookahead) are kept from it.
        worst_factor: How many times its mean an update takes at worst (aus, ``worst``).
        start_s, origin_s, learns, explains: As the scheduler's.
        most_files: One update loads at most so many files, where it is not chopped.

    Raises:
        UserError: An unknown policy or partition, a partition that does not go with the
            policy or does not fit the tracks, or a graph that is none.
    """
    policy = _policy(settings, seed=seed, guarded=guarded, worst_factor=worst_factor)
    if settings.objective != OBJECTIVES[0]:
        policy = _just_in_time(policy, settings.objective, worst_factor)
    name = policy.own_partition
    if policy.partitioned and settings.partition != NO_PARTITION:
        if name is not None:
            raise UserError(
                "two-partitions",
                f"policy '{policy.name}' divides the tracks itself and does not go with "
                f"partition '{settings.partition}'",
                next_step="Remove 'partition', or use another policy.",
            )
        name = settings.partition
        if name not in partition_names():
            raise UserError(
                "unknown-partition",
                f"there is no partition '{name}'",
                rule=f"known are {', '.join(partition_names())}",
            )
    return Scheduler(
        specs,
        tracks=tracks,
        policy=policy,
        placement=None if name is None else make_partition(name, _parameters(settings)),
        inherit_rule=settings.inherit,
        inherit_factor=settings.inherit_factor,
        extent=_extent(settings.chop, most_files),
        start_s=start_s,
        origin_s=origin_s,
        learns=learns,
        explains=explains,
        background_share=settings.backfill_share,
    )


def make_warehouse_scheduler(
    specs: Sequence[TableSpec], *, tracks: int, settings: PolicySettings, start_s: float
) -> Scheduler:
    """The core as a running warehouse has it: it learns costs and explains its choices.

    Args:
        specs: The tables; their order breaks ties.
        tracks: How many updates can run at once, >= 1.
        settings: Policy, partition, inheritance, chopping, objective.
        start_s: Seconds since the epoch at which its clock starts.

    Raises:
        UserError: As ``make_scheduler``.
    """
    return make_scheduler(
        specs,
        tracks=tracks,
        settings=settings,
        guarded=True,
        start_s=start_s,
        origin_s=None,
        learns=True,
        explains=True,
        most_files=MOST_FILES,
    )


def _extent(chop: float | None, most_files: int | None) -> Extent:
    if chop is not None:
        return Chop(chop)
    return ALL_PENDING if most_files is None else Batch(most_files)


def _policy(settings: PolicySettings, **beside: float) -> Policy:
    name = policy_called(settings.policy)
    if name not in found_policies():
        raise UserError(
            "unknown-policy",
            f"there is no policy '{settings.policy}'",
            rule=f"known are {', '.join(policy_names())}",
        )
    return make_policy(name, {**_parameters(settings), **beside})


def _just_in_time(policy: Policy, objective: str, worst_factor: float) -> Policy:
    if objective not in OBJECTIVES:
        raise UserError(
            "unknown-objective",
            f"there is no objective '{objective}'",
            rule=f"known are {', '.join(OBJECTIVES)}",
        )
    if policy.name == "aus":
        raise UserError(
            "objective-of-aus",
            "policy 'aus' does not go with the objective 'cost'",
            rule="it decides itself when updates are released, by their periods",
            next_step="Use another policy, or the objective 'staleness'.",
        )
    return JustInTime(policy, worst_factor=worst_factor)


def _parameters(settings: PolicySettings) -> dict[str, Any]:
    """Settings by name, as far as policies and partitions may have fields for them."""
    return {
        item.name: getattr(settings, item.name)
        for item in fields(PolicySettings)
        if item.name != "policy"
    }
