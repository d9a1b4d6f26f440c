"""Scenarios of the adaptive scheduler as dictionaries with the contract's keys, played."""

from __future__ import annotations

from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.sim.driver import play
from freshline.sim.scenario.model import FeedSpec, Scenario
from freshline.sim.trace import Finished


def scenario_of(given):
    """A scenario with the contract's defaults; ``given`` is taken to be right."""
    specs, feeds = [], {}
    for table in given["tables"]:
        period = table.get("period")
        sources = tuple(table.get("sources", ()))
        arrivals = table.get("arrivals")
        phase = table.get("phase", period)
        specs.append(
            TableSpec(
                table["name"],
                sources,
                period_s=period,
                alpha_s=table.get("alpha", 0.0),
                beta=table.get("beta", 0.0),
                wcet_s=table.get("wcet"),
                recovery_period_s=table.get("recovery_period"),
                recovery_threshold_s=table.get("recovery_threshold"),
                phase_s=None if sources or arrivals else phase,
                jitter_s=table.get("jitter", 0.0),
                timestamp_jitter_s=table.get("timestamp_jitter", 0.0),
                health_phase_s=None if sources else phase,
            )
        )
        if not sources:
            pairs = None if arrivals is None else tuple((at, stamp) for at, stamp in arrivals)
            outages = tuple((start, end) for start, end in table.get("outages", ()))
            feeds[table["name"]] = FeedSpec(phase, period, pairs, outages)
    noise = given.get("execution", {"low": 1.0, "high": 1.0})
    return Scenario(
        horizon_s=given["horizon"],
        seed=given.get("seed", 1),
        tracks=given.get("tracks", 1),
        settings=PolicySettings(policy="aus", recovery=given.get("recovery", "average")),
        low=noise["low"],
        high=noise["high"],
        slowdown=None,
        tables=tuple(specs),
        feeds=feeds,
    )


def played(given):
    """(Played, trace) of a scenario."""
    trace: list[Finished] = []
    result = play(scenario_of(given), on_finished=trace.append)
    return result, trace


def lines(trace, table=None):
    """A trace without its tracks: table, release, start, finish, to, mode."""
    return [
        (line.table, line.release_s, line.start_s, line.finish_s, line.to_s, line.mode)
        for line in trace
        if table in (None, line.table)
    ]


def switches(result):
    """(time, table, to) of a run's changes of mode."""
    return [
        (switch["time"], switch["table"], switch["to"])
        for switch in result.findings["aus"]["switches"]
    ]
