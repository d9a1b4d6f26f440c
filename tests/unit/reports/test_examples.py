"""Every given example: numbers to 1e-6, batches of a plan by number and cost (C4)."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from freshline.project.yaml.file import YamlFile
from freshline.sim.reports import plan_file, simulate_reports

DATA = Path(__file__).parents[2] / "data"


def scenarios(folder: str) -> list[Path]:
    return sorted(p for p in (DATA / folder).glob("*.json") if "expected" not in p.name)


def expected(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(path.with_suffix(".expected.json").read_text())
    result.pop("note", None)
    return result


def approx(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: approx(item) for key, item in value.items()}
    return pytest.approx(value, abs=1e-6) if isinstance(value, float) else value


@pytest.mark.parametrize("path", scenarios("plan"), ids=lambda path: path.stem)
def test_the_plan_agrees_with_the_example(path: Path) -> None:
    result, wanted = plan_file(YamlFile(path)), expected(path)
    assert len(result.pop("batches", [])) == len(wanted.pop("batches", []))
    assert result == approx(wanted)


@pytest.mark.parametrize("path", scenarios("reports"), ids=lambda path: path.stem)
def test_the_run_agrees_with_the_example(path: Path) -> None:
    trace = io.StringIO()
    result, wanted = simulate_reports(YamlFile(path), trace), expected(path)
    assert result == approx(wanted)
    lines = [json.loads(line) for line in trace.getvalue().splitlines()]
    for name, report in result["reports"].items():
        batches = [line for line in lines if line["report"] == name]
        assert sum(1 for line in batches if line["tuples"]) == report["batches"]
        assert sum(line["end"] - line["start"] for line in batches) == approx(report["cost"])
        assert [line["final"] for line in batches].count(True) == (0 if report["removed"] else 1)


def run_thirteen(tmp_path: Path, **policy: Any) -> dict[str, Any]:
    data = json.loads((DATA / "reports" / "d15_thirteen_0.1D_100.json").read_text())
    data["policy"].update(policy)
    path = tmp_path / "thirteen.json"
    path.write_text(json.dumps(data))
    return simulate_reports(YamlFile(path))


def test_the_joint_plan_meets_every_deadline_of_the_thirteen_at_under_1_15(tmp_path: Path) -> None:
    result = run_thirteen(tmp_path, name="joint", max_batch_time=30.0)
    assert all(report["met"] for report in result["reports"].values())
    assert 1.117 <= result["normalised_cost"] <= 1.15  # from the bound upwards


def test_the_joint_plan_as_the_warehouse_runs_it_costs_the_same_and_is_done_earlier(
    tmp_path: Path,
) -> None:
    late = run_thirteen(tmp_path, name="joint", max_batch_time=30.0)
    eager = run_thirteen(tmp_path, name="joint", max_batch_time=30.0, eager=True)
    assert eager["cost"] == pytest.approx(late["cost"])
    earlier_s = [
        late["reports"][name]["finish"] - report["finish"]
        for name, report in eager["reports"].items()
    ]
    assert min(earlier_s) >= -1e-6
    assert max(earlier_s) > 0.0


def test_an_automatic_slack_factor_meets_every_deadline_for_less_than_a_factor_of_one(
    tmp_path: Path,
) -> None:
    result = run_thirteen(tmp_path, slack_factor="auto")
    assert all(report["met"] for report in result["reports"].values())
    assert result["normalised_cost"] < 1.6
