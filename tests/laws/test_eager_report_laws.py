"""Laws of the eager joint plan: what starts early costs the same, ends earlier, and is in time.

Several reports over one window, on one track, planned with a margin of 1.25; batches take up to
a quarter longer than their models say.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.reports.costs import TOLERANCE_S, FinalCost, LinearCost
from freshline.reports.events import Command, Report, StartBatch
from freshline.reports.policies import ReportPolicy
from freshline.reports.scheduler import ReportScheduler
from freshline.reports.virtual_run import Outcome, ReportInput, VirtualRun

WINDOW_S = 60.0
MARGIN = 1.25
LLF = ReportPolicy("llf", max_batch_time_s=None)
LATE = ReportPolicy("joint", slack_factor=None, max_batch_time_s=None, margin=MARGIN)
EAGER = replace(LATE, eager=True)


@dataclass
class Dearer(VirtualRun):
    """Every batch of a report takes its model's seconds times the report's factor."""

    factors: dict[str, float] | None = None

    def _carry_out(self, now_s: float, commands: list[Command]) -> None:
        factors = self.factors or {}
        super()._carry_out(
            now_s,
            [
                replace(each, expected_s=each.expected_s * factors[each.name])
                if isinstance(each, StartBatch)
                else each
                for each in commands
            ],
        )


def reports(rng: random.Random, room: float, bursts: bool) -> list[Report]:
    """Deadlines behind the window, each ``room`` times its report's single batch apart."""
    due_s, made = WINDOW_S, []
    for number in range(rng.randint(1, 5)):
        tuples = rng.choice((10, 50, 100))
        cost = LinearCost(rng.uniform(0.5, 5.0) / tuples, rng.uniform(0.2, 1.5))
        final = FinalCost(rng.uniform(0.0, 0.1), rng.uniform(0.0, 0.5), of_one=True)
        due_s += room * (cost(tuples) + final(1))
        arrivals_s = [WINDOW_S * (at + 1) / tuples for at in range(tuples)]
        if bursts:
            arrivals_s = sorted(rng.choice((9.0, 31.0, 50.0, WINDOW_S)) for _ in arrivals_s)
        made.append(Report(f"r{number}", 0.0, WINDOW_S, due_s, tuple(arrivals_s), cost, final))
    rng.shuffle(made)
    return made


def played(
    policy: ReportPolicy, made: list[Report], factors: dict[str, float]
) -> tuple[dict[str, Outcome], VirtualRun]:
    inputs = [ReportInput(each, 0.0, None, each.predicted_s) for each in made]
    run = Dearer(ReportScheduler(policy), inputs, factors=factors)
    return run.run(), run


def missed(outcomes: dict[str, Outcome], made: list[Report]) -> set[str]:
    """The reports that are late."""
    finish_s = {name: outcome.finish_s for name, outcome in outcomes.items()}
    assert None not in finish_s.values()
    return {
        each.name for each in made if (finish_s[each.name] or 0.0) > each.deadline_s + TOLERANCE_S
    }


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    room=st.sampled_from((0.8, 1.1, 1.5, 3.0)),
    dearest=st.sampled_from((1.0, 1.1, MARGIN)),
    bursts=st.booleans(),
)
def test_nothing_is_missed_that_llf_meets_while_batches_keep_the_margin(
    seed: int, room: float, dearest: float, bursts: bool
) -> None:
    rng = random.Random(seed)
    made = reports(rng, room, bursts)
    factors = {each.name: rng.uniform(1.0, dearest) for each in made}
    eager, run = played(EAGER, made, factors)
    late, run_late = played(LATE, made, factors)
    assert [(each.report, each.tuples) for each in run.batches] == [
        (each.report, each.tuples) for each in run_late.batches
    ]
    for early, planned in zip(run.batches, run_late.batches, strict=True):
        assert early.start_s <= planned.start_s + TOLERANCE_S
    assert missed(eager, made) <= missed(late, made)
    by_llf, _ = played(LLF, made, factors)
    if not missed(by_llf, made):
        assert not missed(eager, made)


def test_the_early_start_keeps_deadlines_that_the_late_one_misses_on_a_slower_machine() -> None:
    """Half as dear again: beyond the margin only what was not waited for is left."""
    kept = 0
    for seed in range(30):
        rng = random.Random(seed)
        made = reports(rng, 3.0, bursts=False)
        factors = dict.fromkeys((each.name for each in made), 1.5)
        assert not missed(played(EAGER, made, factors)[0], made)
        kept += bool(missed(played(LATE, made, factors)[0], made))
    assert kept == 30
