"""Targets in scenarios: how they are read, what is measured of them, and the sweep."""

from __future__ import annotations

import csv
import json

import pytest
from typer.testing import CliRunner

from freshline.cli.main import app_for
from freshline.core.errors import UserError
from freshline.core.objective.compliance import Compliance, beyond_s
from freshline.core.objective.targets import stated_lags
from freshline.sim.driver import play
from freshline.sim.scenario.file import read_scenario
from freshline.sim.theory.bounds import bounds_of
from freshline.sim.whatif.sweep import sweep_scenario

SCENARIO = """\
horizon: 100
policy: {name: edf, objective: cost}
tracks: 2
tables:
  - {name: a, period: 10, alpha: 2, target_lag: DOWNSTREAM}
  - {name: v, sources: [a], alpha: 1, target_lag: 40}
"""


def run(*arguments):
    texts = [str(argument) for argument in arguments]
    return CliRunner().invoke(app_for(texts), texts)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scenario.yml"
    path.write_text(SCENARIO)
    return path


def message(tmp_path, old, new):
    path = tmp_path / "bad.yml"
    path.write_text(SCENARIO.replace(old, new))
    with pytest.raises(UserError) as caught:
        read_scenario(path, shown_as="bad.yml")
    return caught.value.render()


def test_targets_and_objective_are_read(file):
    scenario = read_scenario(file)
    a, v = scenario.tables
    assert scenario.settings.objective == "cost"
    assert (a.target_lag_s, a.target_downstream) == (None, True)
    assert (v.target_lag_s, v.target_downstream) == (40.0, False)
    assert stated_lags(scenario.tables) == {"a": 40.0, "v": 40.0}


def test_wrong_targets_and_objectives_are_told_with_their_line(tmp_path):
    assert message(tmp_path, "target_lag: 40", "target_lag: soon") == (
        "[not-a-number] bad.yml:6: 'target_lag' of table 'v' is 'soon'; it is a number"
    )
    assert message(tmp_path, "target_lag: 40", "target_lag: 0") == (
        "[out-of-range] bad.yml:6: 'target_lag' of table 'v' is 0; it is > 0"
    )
    assert message(tmp_path, "objective: cost", "objective: speed") == (
        "[unknown-name] bad.yml:2: 'objective' of the policy is 'speed'; known are staleness, cost"
    )
    assert message(tmp_path, "name: edf", "name: aus").startswith(
        "[objective-of-aus] bad.yml:2: 'objective' of the policy is 'cost', but policy 'aus' says"
    )


def test_both_figures_are_printed(file):
    # a waits until lag 40 - 2*1 - 2 = 36 at the latest, v until 39; both load a file of 10 first.
    record = json.loads(run("simulate", file, "--json").stdout)
    assert record["executor_seconds"] == 9.0
    assert record["targets"] == {
        "a": {"target_lag": 40.0, "within": 1.0, "executor_seconds": 6.0},
        "v": {"target_lag": 40.0, "within": 1.0, "executor_seconds": 3.0},
    }
    lines = [" ".join(line.split()) for line in run("simulate", file).stdout.splitlines()]
    assert lines[0].endswith("freshness at the end share target within it executor")
    assert lines[1].endswith("40 s 100.0 % 6.000 s")
    assert "objective cost" in lines


def test_without_targets_nothing_is_measured(file):
    scenario = SCENARIO.replace(", target_lag: DOWNSTREAM", "").replace(", target_lag: 40", "")
    file.write_text(scenario.replace(", objective: cost", ""))
    assert "targets" not in json.loads(run("simulate", file, "--json").stdout)
    assert play(read_scenario(file)).kept is None


def test_time_beyond_a_target_is_counted_between_ends():
    assert beyond_s(10.0, 5.0, 12.0, 20.0) == 5.0
    assert beyond_s(10.0, 5.0, 17.0, 20.0) == 3.0
    assert beyond_s(10.0, 5.0, 12.0, 14.0) == 0.0
    kept = Compliance(5.0)
    assert kept.share(3.0) is None
    kept.begin(0.0, 0.0)
    kept.finished(8.0, 2.0, 6.0)  # beyond from 5 to 8
    kept.finished(10.0, 1.0, 10.0)  # 6 + 5 is not reached
    assert kept.share(20.0) == (20.0 - 3.0 - 5.0) / 20.0
    assert (kept.executor_s, kept.updates) == (3.0, 2)


def test_seconds_of_updates_that_run_at_the_horizon_count_up_to_it(file):
    file.write_text("horizon: 10.5\ntables:\n  - {name: t, period: 10, alpha: 3, target_lag: 20}\n")
    assert (play(read_scenario(file)).kept or {})["t"].executor_s == 0.5


def test_farther_targets_cost_less_and_are_staler(file):
    swept = sweep_scenario(read_scenario(file), (0.5, 1.0, 2.0))
    near, middle, far = swept.points
    assert [point.target_s for point in swept.points] == [20.0, 40.0, 80.0]
    assert swept.eager.executor_s >= near.executor_s > middle.executor_s > far.executor_s
    assert swept.eager.staleness_s <= near.staleness_s < middle.staleness_s < far.staleness_s
    assert (near.within, middle.within, far.within) == (1.0, 1.0, 1.0)
    assert not swept.invented


def test_targets_longer_than_a_quarter_of_the_horizon_are_left_out_but_for_three(file):
    assert [point.factor for point in sweep_scenario(read_scenario(file)).points] == [
        0.25, 0.25 * 2**0.5, 0.5,
    ]  # fmt: skip


def test_where_nobody_states_a_target_the_last_tables_get_one(file):
    scenario = SCENARIO.replace(", target_lag: DOWNSTREAM", "").replace(", target_lag: 40", "")
    file.write_text(scenario)
    swept = sweep_scenario(read_scenario(file), (1.0, 2.0))
    assert swept.invented
    assert [point.target_s for point in swept.points] == [40.0, 80.0]


def test_a_sweep_is_printed_written_and_drawn(file, tmp_path):
    table, picture = tmp_path / "out.csv", tmp_path / "out.png"
    done = run("simulate", file, "--sweep", "target", "--csv", table, "--plot", picture, "--json")
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["targets"] == "stated"
    with table.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["factor"] for row in rows[:2]] == ["", "0.25"]
    assert float(rows[1]["executor_seconds"]) == record["cost"][0]["executor_seconds"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    shown = run("simulate", file, "--sweep", "target").stdout.splitlines()
    assert " ".join(shown[0].split()).startswith("targets least target mean staleness")
    assert " ".join(shown[1].split()).startswith("as fresh as can be 40 s")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sweep", "tracks"], "--sweep is 'tracks'; the only known one is target"),
        (["--sweep", "target", "--bounds"], "these options do not go together"),
        (
            ["--csv", "x.csv"],
            "a scenario's file says its policy, tracks, objective, priorities, targets itself",
        ),
        (
            ["--policy", "edf"],
            "a scenario's file says its policy, tracks, objective, priorities, targets itself",
        ),
        (["--sweep", "target", "--policy", "edf"], "a scenario's file says its policy, tracks"),
        (["--from-run"], "these options do not go together"),
    ],
)
def test_options_that_do_not_go_together_are_refused(file, arguments, said):
    done = run("simulate", file, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert "there is nothing to play" in run("simulate").stderr


def test_theorems_about_eager_schedules_say_nothing_of_the_objective_cost(file):
    file.write_text(SCENARIO.replace("sources: [a]", "period: 10"))
    scenario = read_scenario(file)
    bound = bounds_of(scenario, play(scenario))["theorem_3_1"]
    assert (bound.limit, bound.why_not) == (None, "under the objective cost updates wait")
