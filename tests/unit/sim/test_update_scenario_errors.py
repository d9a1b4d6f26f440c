"""What is wrong with a scenario is told with table, key and line; what is missing has defaults."""

from __future__ import annotations

import re

import pytest

from freshline.core.assembly import PolicySettings
from freshline.core.errors import UserError
from freshline.sim.driver import play
from freshline.sim.scenario.file import read_scenario

GOOD = """\
horizon: 100
policy: edf
tables:
  - name: a
    period: 10
  - name: b
    sources: [a]
"""


def read(tmp_path, text):
    path = tmp_path / "scenario.yml"
    path.write_text(text)
    return read_scenario(path, shown_as="scenario.yml")


def messages(tmp_path, text):
    with pytest.raises(UserError) as caught:
        read(tmp_path, text)
    return caught.value.render().splitlines()


def test_missing_keys_have_the_defaults_of_the_contract(tmp_path):
    scenario = read(tmp_path, GOOD)
    assert scenario.settings == PolicySettings(policy="edf")
    assert (scenario.seed, scenario.tracks, scenario.low, scenario.high) == (1, 1, 1.0, 1.0)
    assert scenario.slowdown is None
    base, derived = scenario.tables
    assert (base.priority, base.alpha_s, base.beta, base.phase_s) == (1.0, 0.0, 0.0, 10.0)
    assert derived.sources == ("a",)
    assert derived.period_s is None
    assert list(scenario.feeds) == ["a"]


def test_one_exponent_is_a_number_to_yaml_as_it_is_to_json(tmp_path):
    assert read(tmp_path, GOOD.replace("100", "1e6")).horizon_s == 1e6
    assert read(tmp_path, GOOD.replace("100", "1.5e3")).horizon_s == 1500.0


@pytest.mark.parametrize("tracks", ["100001", "1e300"])
def test_more_tracks_than_memory_holds_are_refused(tmp_path, tracks):
    (line,) = messages(tmp_path, GOOD + f"tracks: {tracks}\n")
    assert line.startswith("[out-of-range] scenario.yml:8: 'tracks' is 1")
    assert line.endswith("it is <= 100,000")


@pytest.mark.parametrize("key", ["horizon", "seed", "tracks"])
def test_a_number_that_no_float_holds_is_none(tmp_path, key):
    text = "seed: 1\ntracks: 1\n" + GOOD
    (line,) = messages(tmp_path, re.sub(rf"(?m)^{key}: ", f"{key}: 1{'0' * 400}", text))
    assert f"'{key}' is 1000" in line


def test_explicit_recovery_names_every_table_without_a_period(tmp_path):
    first, second = messages(
        tmp_path, GOOD.replace("policy: edf", "policy: {name: aus, recovery: explicit}")
    )
    assert first == (
        "[missing-recovery-period] scenario.yml:4: table 'a' has no 'recovery_period'; recovery "
        "'explicit' needs one for every table. Give it one, or use recovery 'average'."
    )
    assert "scenario.yml:6: table 'b'" in second


@pytest.mark.parametrize(
    ("replaced", "by", "message"),
    [
        (
            "horizon: 100",
            "horizon: 0",
            "[out-of-range] scenario.yml:1: 'horizon' is 0; it is > 0",
        ),
        (
            "horizon: 100",
            "horizon: 1.0e+308",
            "[out-of-range] scenario.yml:1: 'horizon' is 1e+308; no number is larger than 1e+15",
        ),
        (
            "horizon: 100",
            "tracks: 2",
            "[missing-key] scenario.yml:1: the scenario has no 'horizon'. Add one.",
        ),
        (
            "policy: edf",
            "tracks: 1.5",
            "[not-an-integer] scenario.yml:2: 'tracks' is 1.5; it is a whole number",
        ),
        (
            "    period: 10",
            "    period: 10\n    priority: 1e308",
            "[out-of-range] scenario.yml:6: 'priority' of table 'a' is 1e+308; it is <= 1e+12",
        ),
        (
            "policy: edf",
            "policy: {chop: 0.5}",
            "[out-of-range] scenario.yml:2: 'chop' of the policy is 0.5; it is >= 1",
        ),
        (
            "policy: edf",
            "policy: {name: group-and-run, partition: proportional}",
            (
                "[two-partitions] scenario.yml:2: 'partition' of the policy is 'proportional', but "
                "policy 'group-and-run' divides the tracks itself. Remove 'partition', or use "
                "another policy."
            ),
        ),
        (
            "period: 10",
            "phase: 10",
            (
                "[missing-key] scenario.yml:4: table 'a' has no 'period'; a base table needs one. "
                "Add 'period' to 'a', or 'sources' if it is derived."
            ),
        ),
        (
            "period: 10",
            "period: ten",
            "[not-a-number] scenario.yml:5: 'period' of table 'a' is 'ten'; it is a number",
        ),
        (
            "sources: [a]",
            "sources: [a, c]",
            (
                "[unknown-source] scenario.yml:7: 'sources' of table 'b' has 'c', which is not a "
                "table. Correct the name, or add the table."
            ),
        ),
        (
            "period: 10",
            "sources: [b]",
            (
                "[cycle] scenario.yml:5: 'sources' of table 'a' lead back to it: a -> b -> a. "
                "Remove one of these sources."
            ),
        ),
        (
            "name: b",
            "name: a",
            (
                "[duplicate-table] scenario.yml:6: 'name': two tables are named 'a'; the first "
                "stands on line 4. Rename one of them."
            ),
        ),
        (
            "sources: [a]",
            "sources: [a]\n    arrivals: [[1, 1]]",
            (
                "[feed-of-derived] scenario.yml:8: table 'b' is derived and has 'arrivals'; only a "
                "base table has a feed. Remove 'arrivals', or 'sources'."
            ),
        ),
        (
            "sources: [a]",
            "sources: [a]\n    outages: [[1, 2]]",
            (
                "[feed-of-derived] scenario.yml:8: table 'b' is derived and has 'outages'; only a "
                "base table has a feed. Remove 'outages', or 'sources'."
            ),
        ),
        (
            "period: 10",
            "period: 10\n    arrivals: [[5, 5], [4, 4]]",
            (
                "[out-of-order] scenario.yml:6: 'arrivals' of table 'a' has [4, 4] out of order; "
                "arrivals ascend from 0, the one before is 5"
            ),
        ),
        (
            "period: 10",
            "period: 10\n    arrivals: [[5, 6]]",
            (
                "[late-timestamp] scenario.yml:6: 'arrivals' of table 'a' has [5, 6], a timestamp "
                "later than the arrival"
            ),
        ),
        (
            "period: 10",
            "period: 10\n    outages: [[9, 3]]",
            (
                "[out-of-order] scenario.yml:6: 'outages' of table 'a' has [9, 3], which ends "
                "before it begins"
            ),
        ),
        (
            "policy: edf",
            "slowdown: {factor: 3, normal: 0, slow: 0}",
            (
                "[out-of-range] scenario.yml:2: 'normal' and 'slow' of the slowdown are both 0; "
                "together they are > 0"
            ),
        ),
        (
            "policy: edf",
            "execution: {low: 2, high: 1}",
            "[out-of-range] scenario.yml:2: 'low' of the execution is 2, above its 'high', 1",
        ),
    ],
)
def test_message(tmp_path, replaced, by, message):
    assert replaced in GOOD
    assert messages(tmp_path, GOOD.replace(replaced, by)) == [message]


def test_an_unknown_key_is_told_with_those_that_are_known(tmp_path):
    (message,) = messages(tmp_path, GOOD.replace("period: 10", "period: 10\n    perod: 3"))
    assert message.startswith(
        "[unknown-key] scenario.yml:6: table 'a' has no key 'perod'; known are name, period, "
    )


def test_all_errors_are_told_together_by_line(tmp_path):
    text = GOOD.replace("horizon: 100", "horizon: -1").replace("period: 10", "beta: -2")
    assert [message.split(":")[1] for message in messages(tmp_path, text)] == ["1", "4", "5"]


@pytest.mark.parametrize(
    ("policy", "needed"),
    [
        ("{name: edf, partition: edf-partitioned}", "edf-partitioned needs 2 tracks"),
        ("group-and-run", "group-and-run needs more tracks than it has groups"),
    ],
)
def test_too_few_tracks_for_a_partition_says_how_many(tmp_path, policy, needed):
    text = f"""\
horizon: 10
policy: {policy}
tables:
  - {{name: a, period: 4, alpha: 3}}
  - {{name: b, period: 40, alpha: 30}}
"""
    with pytest.raises(UserError, match=needed) as caught:
        play(read(tmp_path, text))
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(("tracks", "line"), [("", 2), ("tracks: 1\n", 7)])
def test_a_partition_that_needs_more_tracks_is_told_where_they_are_asked_for(
    tmp_path, tracks, line
):
    text = (
        "horizon: 100\npolicy: {name: edf, partition: edf-partitioned}\ntables:\n"
        "  - {name: a, period: 10, alpha: 9}\n  - {name: b, period: 10, alpha: 9}\nseed: 1\n"
    )
    (message,) = messages(tmp_path, text + tracks)
    assert message.startswith(f"[too-few-tracks] scenario.yml:{line}: edf-partitioned needs 2")
