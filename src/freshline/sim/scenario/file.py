"""Reading a scenario from its file: every default, every error with table, key and line.

The format is in docs/reference/scenario-updates.md. All errors of a file are reported together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from freshline.core.assembly import PolicySettings, make_scheduler, partition_names
from freshline.core.aus.shares import RECOVERIES
from freshline.core.errors import UserError
from freshline.core.inheritance import RULES
from freshline.core.model import TableSpec
from freshline.core.objective.just_in_time import OBJECTIVES
from freshline.core.partitions.proportional import ALLOCATIONS
from freshline.core.registry import found_policies, policy_called, policy_names
from freshline.project.yaml.file import Path_, YamlFile
from freshline.project.yaml.numbers import MOST_PRIORITY
from freshline.sim.scenario.checks import Checks
from freshline.sim.scenario.graph import check_graph
from freshline.sim.scenario.model import FeedSpec, Scenario, Slowdown

_KEYS = (
    "horizon",
    "seed",
    "tracks",
    "policy",
    "execution",
    "slowdown",
    "tables",
    "comment",
)
_TABLE_KEYS = (
    "name",
    "period",
    "phase",
    "priority",
    "alpha",
    "beta",
    "sources",
    "arrivals",
    "outages",
    "jitter",
    "timestamp_jitter",
    "wcet",
    "recovery_period",
    "recovery_threshold",
    "target_lag",
)
_DOWNSTREAM = "DOWNSTREAM"
_MOST_TRACKS = 100_000
"""More than any machine has; each is an entry in memory."""


def read_scenario(path: Path, *, shown_as: str | None = None) -> Scenario:
    """The scenario in the file at ``path``.

    Raises:
        UserError: What is wrong with it, one error or several.
    """
    return scenario_in(YamlFile(path, shown_as=shown_as))


def scenario_in(file: YamlFile) -> Scenario:
    """The scenario that ``file`` holds.

    Raises:
        UserError: What is wrong with it, one error or several.
    """
    checks = Checks(file)
    root = checks.mapping((), file.data, _KEYS, "a scenario")
    if not root:
        checks.raise_errors()
    low, high = _execution(checks, root.get("execution"))
    horizon_s = math.nan
    if "horizon" in root:
        horizon_s = checks.number(("horizon",), root["horizon"], "'horizon'", above=0.0)
    else:
        checks.error((), "missing-key", "the scenario has no 'horizon'", next_step="Add one.")
    tables, feeds = _tables(checks, root.get("tables"))
    scenario = Scenario(
        horizon_s=horizon_s,
        seed=checks.whole(("seed",), root.get("seed", 1), "'seed'"),
        tracks=checks.whole(
            ("tracks",), root.get("tracks", 1), "'tracks'", at_least=1, at_most=_MOST_TRACKS
        ),
        settings=_policy(checks, root.get("policy")),
        low=low,
        high=high,
        slowdown=_slowdown(checks, root.get("slowdown")),
        tables=tuple(tables),
        feeds=feeds,
    )
    checks.raise_errors()
    _check_recovery(checks, scenario)
    checks.raise_errors()
    _check_partition(checks, scenario, ("tracks",) if "tracks" in root else ("policy",))
    checks.raise_errors()
    return scenario


def _check_recovery(checks: Checks, scenario: Scenario) -> None:
    """Whether every table has the recovery period that aus asks of it."""
    if scenario.settings.policy != "aus" or scenario.settings.recovery != "explicit":
        return
    for index, spec in enumerate(scenario.tables):
        if spec.recovery_period_s is None:
            checks.error(
                ("tables", index),
                "missing-recovery-period",
                f"table '{spec.name}' has no 'recovery_period'",
                rule="recovery 'explicit' needs one for every table",
                next_step="Give it one, or use recovery 'average'.",
            )


def _check_partition(checks: Checks, scenario: Scenario, blamed: Path_) -> None:
    """Whether the tracks suffice for the partition that the policy has or asks for."""
    policy = scenario.settings
    if policy.partition == "none" and found_policies()[policy.policy].own_partition is None:
        return
    try:
        make_scheduler(scenario.tables, tracks=scenario.tracks, settings=policy)
    except UserError as error:
        checks.error(blamed, error.code, error.what, rule=error.rule, next_step=error.next_step)


def _policy(checks: Checks, value: Any) -> PolicySettings:
    if value is None:
        return PolicySettings()
    if isinstance(value, str):
        name = policy_called(checks.choice(("policy",), value, "'policy'", policy_names()))
        return PolicySettings(policy=name)
    defaults = {
        "name" if item.name == "policy" else item.name: item.default
        for item in fields(PolicySettings)
        if item.name != "backfill_share"  # nobody asks for backfills in a scenario
    }
    assert MISSING not in defaults.values(), "every setting of a policy has a default"
    given = checks.mapping(("policy",), value, list(defaults), "'policy'")
    settings: dict[str, Any] = {**defaults, **given}

    def at(key: str) -> tuple[Path_, Any, str]:
        return ("policy", key), settings[key], f"'{key}' of the policy"

    chop = settings["chop"]
    made = PolicySettings(
        policy=policy_called(checks.choice(*at("name"), policy_names())),
        partition=checks.choice(*at("partition"), partition_names()),
        clustering=checks.number(*at("clustering"), above=0.0),
        allocation=checks.choice(*at("allocation"), ALLOCATIONS),
        aggressive=checks.flag(*at("aggressive")),
        inherit=checks.choice(*at("inherit"), RULES),
        inherit_factor=checks.number(*at("inherit_factor"), at_least=0.0),
        chop=None if chop is None else checks.number(*at("chop"), at_least=1.0),
        recovery=checks.choice(*at("recovery"), RECOVERIES),
        objective=checks.choice(*at("objective"), OBJECTIVES),
    )
    kind = found_policies().get(made.policy)
    if kind is not None and kind.own_partition is not None and made.partition != "none":
        checks.error(
            ("policy", "partition"),
            "two-partitions",
            f"'partition' of the policy is '{made.partition}', but policy '{made.policy}' divides "
            f"the tracks itself",
            next_step="Remove 'partition', or use another policy.",
        )
    if made.policy == "aus" and made.objective == "cost":
        checks.error(
            ("policy", "objective"),
            "objective-of-aus",
            "'objective' of the policy is 'cost', but policy 'aus' says itself when updates start",
            next_step="Use another policy, or the objective 'staleness'.",
        )
    return made


def _execution(checks: Checks, value: Any) -> tuple[float, float]:
    if value is None:
        return 1.0, 1.0
    given = checks.mapping(("execution",), value, ("low", "high"), "'execution'")
    low = checks.number(("execution", "low"), given.get("low", 1.0), "'low'", at_least=0.0)
    high = checks.number(("execution", "high"), given.get("high", 1.0), "'high'", at_least=0.0)
    if low > high:
        what = f"'low' of the execution is {low:g}, above its 'high', {high:g}"
        checks.error(("execution", "low"), "out-of-range", what)
    return low, high


def _slowdown(checks: Checks, value: Any) -> Slowdown | None:
    if value is None:
        return None
    known = ("factor", "normal", "slow")
    given = checks.mapping(("slowdown",), value, known, "'slowdown'")
    for key in known:
        if key not in given:
            checks.error(("slowdown",), "missing-key", f"'slowdown' has no '{key}'")
            return None
    numbers = [
        checks.number(("slowdown", key), given[key], f"'{key}' of the slowdown", at_least=0.0)
        for key in known
    ]
    factor, normal_s, slow_s = numbers
    if normal_s + slow_s == 0.0:
        what = "'normal' and 'slow' of the slowdown are both 0"
        checks.error(("slowdown",), "out-of-range", what, rule="together they are > 0")
    return Slowdown(factor, normal_s, slow_s)


def _tables(checks: Checks, value: Any) -> tuple[list[TableSpec], dict[str, FeedSpec]]:
    if not isinstance(value, list) or not value:
        checks.error(
            ("tables",),
            "no-tables",
            "'tables' has to be a list of at least one table",
            next_step="Add a table with a name and a period.",
        )
        return [], {}
    specs: list[TableSpec] = []
    feeds: dict[str, FeedSpec] = {}
    lines: dict[str, int] = {}
    for index, item in enumerate(value):
        path: Path_ = ("tables", index)
        if not isinstance(item, Mapping):
            checks.error(path, "not-a-mapping", f"table {index + 1} has to be keys with values")
            continue
        name = item.get("name")
        if not isinstance(name, str) or not name:
            what = (
                f"table {index + 1} has no 'name'"
                if name is None
                else (f"'name' of table {index + 1} is {name!r}")
            )
            checks.error((*path, "name"), "bad-name", what, rule="it is text")
            continue
        if name in lines:
            checks.error(
                (*path, "name"),
                "duplicate-table",
                f"'name': two tables are named '{name}'",
                rule=f"the first stands on line {checks.place(('tables', lines[name])).line}",
                next_step="Rename one of them.",
            )
            continue
        lines[name] = index
        spec, feed = _table(checks, path, name, item)
        specs.append(spec)
        if feed is not None:
            feeds[name] = feed
    check_graph(checks, specs, lines)
    return specs, feeds


def _table(
    checks: Checks, path: Path_, name: str, item: Mapping[str, Any]
) -> tuple[TableSpec, FeedSpec | None]:
    given = checks.mapping(path, item, _TABLE_KEYS, f"table '{name}'")

    def number(key: str, default: float | None, **limits: float) -> float | None:
        value = given.get(key)
        if value is None:
            if key in given and default is not None:
                checks.number((*path, key), value, f"'{key}' of table '{name}'")
            return default
        return checks.number((*path, key), value, f"'{key}' of table '{name}'", **limits)

    def sure(key: str, default: float, **limits: float) -> float:
        value = number(key, default, **limits)
        return default if value is None else value

    sources = _sources(checks, path, name, given.get("sources"))
    period_s = number("period", None, above=0.0)
    phase_s = number("phase", None, at_least=0.0)
    if not sources and period_s is None:
        checks.error(
            (*path, "period"),
            "missing-key",
            f"table '{name}' has no 'period'",
            rule="a base table needs one",
            next_step=f"Add 'period' to '{name}', or 'sources' if it is derived.",
        )
    phase_s = (period_s or 0.0) if phase_s is None else phase_s
    arrivals = _arrivals(checks, path, name, given.get("arrivals"))
    outages = _outages(checks, path, name, given.get("outages"))
    for key, values in (("arrivals", arrivals), ("outages", outages)):
        if sources and values:
            checks.error(
                (*path, key),
                "feed-of-derived",
                f"table '{name}' is derived and has '{key}'",
                rule="only a base table has a feed",
                next_step=f"Remove '{key}', or 'sources'.",
            )
    downstream = str(given.get("target_lag")).upper() == _DOWNSTREAM
    explicit = sources or arrivals is not None
    spec = TableSpec(
        name,
        sources,
        period_s=period_s,
        priority=sure("priority", 1.0, at_least=0.0, at_most=MOST_PRIORITY),
        alpha_s=sure("alpha", 0.0, at_least=0.0),
        beta=sure("beta", 0.0, at_least=0.0),
        wcet_s=number("wcet", None, at_least=0.0),
        recovery_period_s=number("recovery_period", None, above=0.0),
        recovery_threshold_s=number("recovery_threshold", None),
        phase_s=None if explicit else phase_s,
        jitter_s=sure("jitter", 0.0, at_least=0.0),
        timestamp_jitter_s=sure("timestamp_jitter", 0.0, at_least=0.0),
        health_phase_s=None if sources else phase_s,
        target_lag_s=None if downstream else number("target_lag", None, above=0.0),
        target_downstream=downstream,
    )
    if sources:
        return spec, None
    return spec, FeedSpec(phase_s, period_s or math.nan, arrivals, outages)


def _sources(checks: Checks, path: Path_, name: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(source, str) for source in value):
        what = f"'sources' of table '{name}' is {value!r}"
        checks.error((*path, "sources"), "bad-sources", what, rule="it is a list of tables' names")
        return ()
    return tuple(dict.fromkeys(value))


def _arrivals(
    checks: Checks, path: Path_, name: str, value: Any
) -> tuple[tuple[float, float], ...] | None:
    if value is None:
        return None
    of = f"'arrivals' of table '{name}'"
    pairs = checks.pairs((*path, "arrivals"), value, of, "[arrival, timestamp]")
    before_s = 0.0
    for index, (arrival_s, timestamp_s) in enumerate(pairs):
        at = (*path, "arrivals", index)
        shown = f"[{arrival_s:g}, {timestamp_s:g}]"
        if arrival_s < before_s:
            rule = f"arrivals ascend from 0, the one before is {before_s:g}"
            checks.error(at, "out-of-order", f"{of} has {shown} out of order", rule=rule)
        if timestamp_s > arrival_s:
            what = f"{of} has {shown}, a timestamp later than the arrival"
            checks.error(at, "late-timestamp", what)
        before_s = max(before_s, arrival_s)
    return tuple(pairs)


def _outages(checks: Checks, path: Path_, name: str, value: Any) -> tuple[tuple[float, float], ...]:
    if value is None:
        return ()
    of = f"'outages' of table '{name}'"
    pairs = checks.pairs((*path, "outages"), value, of, "[from, to]")
    for index, (from_s, to_s) in enumerate(pairs):
        if to_s < from_s:
            what = f"{of} has [{from_s:g}, {to_s:g}], which ends before it begins"
            checks.error((*path, "outages", index), "out-of-order", what)
    return tuple(pairs)
