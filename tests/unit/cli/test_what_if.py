"""``freshline simulate --from-run``: a real run of a project, beside what else could have been."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def ran(shop):
    for minute in (1, 2, 3):
        shop.file("orders", minute, [minute])
    shop.run_until_idle()
    shop.file("orders", 4, [4])
    shop.run_until_idle()
    return shop


def test_the_last_run_is_told_beside_what_was_asked_for(ran, answer):
    found = answer("simulate", "--from-run", "--policy", "fifo,edf", "--tracks", "1,2")
    assert found["run"] == 2
    assert [(each["policy"], each["tracks"]) for each in found["played"]] == [
        ("fifo", 1), ("fifo", 2), ("edf", 1), ("edf", 2),
    ]  # fmt: skip
    happened = found["happened"]
    assert (happened["policy"], happened["tracks"], happened["updates"]) == ("max-benefit", 2, 3)
    assert all(each["updates"] == 3 for each in found["played"])
    assert all(each["durations"] == {"recorded": 3, "modelled": 0} for each in found["played"])
    assert found["priorities"] == {"orders": 1.0, "big": 5.0, "small": 1.0}
    assert found["happened"]["tables"]["big"]["target_lag"] == 600.0


def test_another_run_and_other_priorities_can_be_asked_for(ran, answer, freshline):
    found = answer("simulate", "--from-run", "--run", "1", "--priority", "small=9")
    assert (found["run"], found["priorities"]["small"]) == (1, 9.0)
    assert found["happened"]["executor_seconds"] > 0.0
    for option, said in (
        ("small", "--priority is 'small'; it is TABLE=NUMBER; a priority is a number greater"),
        ("big=1e308", "--priority is 'big=1e308'; it is TABLE=NUMBER; a priority is a number"),
        ("tiny=3", "run 2 of the journal has no table 'tiny'; it has big, orders, small"),
        ("ordrs=4", "Did you mean orders?"),
    ):
        refused = freshline("simulate", "--from-run", "--priority", option)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert said in refused.stderr
    assert "no run 7" in freshline("simulate", "--from-run", "--run", "7").stderr
    for number in (2**63, -(2**70)):
        refused = freshline("simulate", "--from-run", "--run", str(number))
        assert (refused.exit_code, f"no run {number}" in refused.stderr) == (2, True)
        assert f"no run {number}" in freshline("ui", "--from-run", str(number)).stderr


@pytest.mark.parametrize("tracks", ["0", "1.5", "", "1001", "9" * 25, "9" * 5000, "0" * 5000 + "1"])
def test_tracks_are_as_many_as_a_project_can_have(ran, freshline, tracks):
    refused = freshline("simulate", "--from-run", "--tracks", tracks)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"[bad-option] --tracks has '{tracks[:60]}")
    assert "whole numbers from 1 to 1,000, separated by commas" in refused.stderr
    assert len(refused.stderr) < 300


def test_other_targets_can_be_asked_for(ran, answer, freshline):
    found = answer("simulate", "--from-run", "--target", "big=2 minutes", "--target", "small=1h")
    lags = {name: each["target_lag"] for name, each in found["happened"]["tables"].items()}
    assert (lags["big"], lags["small"]) == (120.0, 3600.0)
    swept = answer("simulate", "--from-run", "--sweep", "target", "--target", "big=2 minutes")
    assert (swept["cost"][0]["factor"], swept["cost"][0]["target_lag"]) == (0.25, 30.0)
    for option, said in (
        ("small", "--target is 'small': 'small' is no duration; it is TABLE=DURATION;"),
        ("=5s", "--target is '=5s'; it is TABLE=DURATION;"),
        ("tiny=5s", "run 2 of the journal has no table 'tiny'; it has big, orders, small"),
    ):
        refused = freshline("simulate", "--from-run", "--target", option)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert said in refused.stderr


def test_people_read_columns_side_by_side(ran, freshline):
    shown = freshline("simulate", "--from-run", "--policy", "edf", "--objective", "cost").stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[0].startswith("run 2, ")
    assert lines[0].endswith(
        "max-benefit on 2 tracks, objective staleness; each table: mean and largest staleness,"
        " share of time within its target"
    )
    assert lines[1] == "as it was edf, 2 tracks, cost"
    assert [line.split()[0] for line in lines[2:9]] == [
        "weighted", "within", "executor", "updates", "orders", "big", "small",
    ]  # fmt: skip


def test_the_curve_of_a_project_is_that_of_its_run(ran, freshline):
    done = freshline("simulate", "--from-run", "--sweep", "target", "--json")
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["targets"] == "stated"
    assert next(point["target_lag"] for point in record["cost"]) == 150.0


def test_the_curve_of_a_project_needs_no_run_but_what_was_learned(ran, freshline):
    done = freshline("simulate", "--sweep", "target", "--tracks", "1", "--json")
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["targets"] == "stated"
    assert len(record["cost"]) >= 3
    eager, lazy = record["staleness"], record["cost"][-1]
    assert lazy["executor_seconds"] < eager["executor_seconds"]
    assert lazy["mean_staleness"] > eager["mean_staleness"]
    refused = freshline("simulate", "--sweep", "target", "--priority", "tiny=3")
    assert refused.exit_code == 2
    assert "project shop has no table 'tiny'" in refused.stderr
    refused = freshline("simulate", "--sweep", "target", "--run", "1")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--run goes with it" in refused.stderr


@pytest.mark.parametrize(
    "option", [("--policy", "fifo,edf"), ("--tracks", "1,2"), ("--objective", "cost")]
)
def test_a_curve_is_of_one_policy_and_one_number_of_tracks(ran, freshline, option):
    for which in ((), ("--from-run",)):
        refused = freshline("simulate", *which, "--sweep", "target", *option)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr.startswith("[unknown-option] --sweep draws one curve")


def test_a_project_of_which_nothing_was_learned_has_no_curve(freshline):
    refused = freshline("simulate", "--sweep", "target")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("[not-measured] no update was measured yet of")


def test_before_the_first_run_there_is_nothing_to_play(freshline):
    refused = freshline("simulate", "--from-run")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("[unknown-run] the journal has no run")
    assert (
        "--policy has 'fastest'"
        in freshline("simulate", "--from-run", "--policy", "fastest").stderr
    )
