"""What is wrong in a scenario is refused with its key and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshline.core.errors import UserError, UserErrors
from freshline.project.yaml.file import YamlFile
from freshline.sim.reports import plan_file, render_plan, render_simulation, simulate_reports

PLAN = """\
window: {start: 0, end: 10}
input: {rate: 1}
deadline: 12
cost: {kind: linear, per_tuple: 0.5, overhead: 0}
final: {per_batch: 0, overhead: 0}
solver: exact
objective: batches
"""

RUN = """\
policy: {name: llf, slack_factor: 0.5, max_batch_time: 30}
tracks: 1
reports:
  - name: sales
    window: {start: 0, end: 10}
    input: {rate: 1}
    deadline: 30
    cost: {kind: linear, per_tuple: 0.5, overhead: 1}
"""


def document(tmp_path: Path, text: str) -> YamlFile:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    return YamlFile(path, shown_as="scenario.yaml")


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("end: 10", "end: 0", 1, "'end' must be after 'start' (0), not 0"),
        ("window: {start: 0, end: 10}", "a: 1", 1, "the key 'a' is not known here"),
        ("rate: 1", "rate: -1", 2, "'rate' must be at least 0, not -1"),
        ("rate: 1", "rate: true", 2, "'rate' must be a number, not True"),
        ("rate: 1", "rate: .nan", 2, "'rate' must be a number, not nan"),
        ("rate: 1", "rate: 1e9", 2, "'rate' brings 10,000,000,000 tuples into the window"),
        ("rate: 1", "speed: 1", 2, "the key 'speed' is not known here"),
        ("{rate: 1}", "{}", 2, "the key 'rate' is missing in 'input'"),
        ("{rate: 1}", "{rate: 1, arrivals: [1]}", 2, "'arrivals' cannot be given together"),
        ("rate: 1", "arrivals: [1, 11]", 2, "'arrivals' holds 11, which is outside the window"),
        ("rate: 1", "arrivals: [0, 1]", 2, "'arrivals' holds 0, which is outside the window"),
        ("rate: 1", "arrivals: [2, 1]", 2, "'arrivals' must not decrease, but 1 follows 2"),
        ("rate: 1", "arrivals: [two]", 2, "'arrivals' must hold numbers, not 'two'"),
        ("deadline: 12", "deadline: 1e300", 3, "'deadline' must lie between -1e+12 and 1e+12"),
        ("deadline: 12", "deadline: soon", 3, "'deadline' must be a number, not 'soon'"),
        ("deadline: 12\n", "", 1, "the key 'deadline' is missing in 'the document'"),
        ("kind: linear", "kind: cubic", 4, "'kind' is not known: 'cubic'"),
        ("per_tuple: 0.5", "per_tuple: -0.5", 4, "'per_tuple' must be at least 0, not -0.5"),
        ("solver: exact", "solver: guess", 6, "'solver' is not known: 'guess'"),
        ("objective: batches", "objective: time", 7, "'objective' is not known: 'time'"),
    ],
)
def test_a_wrong_plan_file(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    with pytest.raises(UserError) as caught:
        plan_file(document(tmp_path, PLAN.replace(old, new)))
    assert str(caught.value.where) == f"scenario.yaml:{line}"
    assert caught.value.what.startswith(what)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    ("points", "what"),
    [
        ("[[0, 1]]", "must list at least two pairs"),
        ("[[0, 1], [0, 2]]", "must increase in tuples"),
        ("[[0, 2], [1, 1]]", "must not decrease in seconds"),
        ("[[0, -1], [1, 1]]", "must not be negative"),
        ("[[0, 1, 2], [1, 1]]", "must hold pairs"),
        ("[[0, 1], [1, 1.0e+300]]", "must be at most 1e.12, not as in .1, 1e.300"),
        ("[[0, 1], [1.0e-300, 2]]", "must increase in tuples"),
    ],
)
def test_a_wrong_piecewise_cost(tmp_path: Path, points: str, what: str) -> None:
    text = PLAN.replace("linear, per_tuple: 0.5, overhead: 0", f"piecewise, points: {points}")
    with pytest.raises(UserError, match=what) as caught:
        plan_file(document(tmp_path, text))
    assert str(caught.value.where) == "scenario.yaml:4"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("linear, per_tuple: 0.5, overhead: 0", "piecewise, points: [[0, 0], [1, 1]]", 4),
        ("rate: 1", "arrivals: [1, 2, 3]", 2),
    ],
)
def test_milp_refuses_what_its_constraints_cannot_say(
    tmp_path: Path, old: str, new: str, line: int
) -> None:
    text = PLAN.replace("exact", "milp").replace(old, new)
    with pytest.raises(UserError, match="milp") as caught:
        plan_file(document(tmp_path, text))
    assert str(caught.value.where) == f"scenario.yaml:{line}"


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("name: llf", "name: fifo", 1, "'name' is not known: 'fifo'"),
        ("slack_factor: 0.5", "slack_factor: -1", 1, "'slack_factor' must be at least 0"),
        ("slack_factor: 0.5", "slack_factor: some", 1, "'slack_factor' must be a number"),
        ("max_batch_time: 30", "max_batch_time: 0", 1, "'max_batch_time' must be more than 0"),
        ("max_batch_time: 30", "min_batch: 1", 1, "'min_batch' must be true or false, not 1"),
        ("max_batch_time: 30", "margin: 0", 1, "'margin' must be more than 0, not 0"),
        ("deadline: 30", f"deadline: 1{'0' * 400}", 7, "'deadline' must be a number"),
        ("tracks: 1", "tracks: 0", 2, "'tracks' must be a whole number of at least 1, not 0"),
        ("name: sales", "name: 7", 4, "'name' must be a name, not 7"),
        ("deadline: 30", "deadline: 30\n    submit: 5\n    remove: 4", 9, "'remove' must not be"),
        ("deadline: 30", "deadline: 30\n    groups: 1.5", 8, "'groups' must be a whole number"),
        ("deadline: 30", "deadline: 30\n    actual: 3", 8, "'actual' must be a list of times"),
        ("deadline: 30", "deadline: 30\n    weight: 3", 8, "the key 'weight' is not known here"),
    ],
)
def test_a_wrong_report_scenario(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    with pytest.raises(UserError) as caught:
        simulate_reports(document(tmp_path, RUN.replace(old, new)))
    assert caught.value.what.startswith(what)
    assert str(caught.value.where) == f"scenario.yaml:{line}"


def test_a_report_named_twice(tmp_path: Path) -> None:
    text = RUN + RUN[RUN.index("  - name") :]
    with pytest.raises(UserError, match=r"'name' is given twice: 'sales'") as caught:
        simulate_reports(document(tmp_path, text))
    assert str(caught.value.where) == "scenario.yaml:9"


def test_every_wrong_report_is_named_at_once(tmp_path: Path) -> None:
    text = (RUN + RUN[RUN.index("  - name") :].replace("sales", "stock")).replace("30\n", "x\n")
    with pytest.raises(UserErrors) as caught:
        simulate_reports(document(tmp_path, text))
    assert [str(error.where) for error in caught.value.errors] == [
        "scenario.yaml:7",
        "scenario.yaml:12",
    ]


def test_answers_for_people(tmp_path: Path) -> None:
    assert render_plan(plan_file(document(tmp_path, PLAN))) == (
        "batch    tuples         start           end\n"
        "    1         6         7.000        10.000\n"
        "    2         4        10.000        12.000\n"
        "cost 5.000 (final aggregation 0.000), slack -3.000\n"
    )
    assert render_plan(plan_file(document(tmp_path, PLAN.replace("12", "10")))) == (
        "infeasible: no plan meets the deadline\n"
        "earliest deadline  10.500\n"
        "slack              -5.000\n"
    )
    assert render_simulation(simulate_reports(document(tmp_path, RUN))) == (
        "report        finish      deadline  met  batches        cost\n"
        "sales         13.000        30.000  yes        4       9.000\n"
        "cost 9.000, normalised 1.500\n"
    )
