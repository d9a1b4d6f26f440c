"""``freshline simulate`` and ``freshline plan`` as a person or a program sees them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from freshline.cli.commands.simulate import _written
from freshline.cli.main import app_for
from freshline.sim.plot import Drawing
from freshline.sim.trace import Finished, InOrder

DATA = Path(__file__).parents[2] / "data"


def run(*arguments):
    texts = [str(argument) for argument in arguments]
    return CliRunner().invoke(app_for(texts), texts)


@pytest.fixture
def ties(tmp_path):
    return Path(shutil.copy(DATA / "updates" / "01_ties_fifo.json", tmp_path / "ties.json"))


def test_json_and_trace_are_those_of_the_example(ties, tmp_path):
    trace = tmp_path / "out.jsonl"
    result = run("simulate", ties, "--json", "--trace", trace)
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    expected = json.loads((DATA / "updates" / "01_ties_fifo.expected.json").read_text())
    # The numbers are small multiples of 1/8: no rounding.
    assert printed == {**expected, "lower_bound": printed["lower_bound"]}
    assert trace.read_text() == (DATA / "updates" / "01_ties_fifo.trace.jsonl").read_text()


def test_a_person_reads_a_line_a_table_and_what_came_of_the_run(ties):
    result = run("simulate", ties, "--bounds")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[:5] == [
        "table priority mean staleness largest freshness at the end share",
        "c 1 5.600 s 10.000 s 32.000 23.5%",
        "a 1 5.600 s 10.000 s 32.000 23.5%",
        "d 1 7.200 s 12.000 s 32.000 30.3%",
        "b 1 5.400 s 10.000 s 36.000 22.7%",
    ]
    assert "relative lateness 1.0721" in lines
    assert "events 37 in 40 s" in lines
    assert "staleness >= LOW/2 952 >= 616" in lines
    assert "staleness <= penalty/2 862 <= 906" in lines
    printed = json.loads(run("simulate", ties, "--bounds", "--json").stdout)
    assert printed["bounds"]["low"] == {
        "measured": 952.0, "limit": 616.0, "holds": True, "why_not": None,
    }  # fmt: skip
    needed = -(-printed["bounds"]["utilisation"]["measured"] // 1)
    assert printed["tracks_needed"] == max(1, needed)


def test_a_wrong_scenario_is_told_on_standard_error_and_nothing_else_is_printed(ties):
    ties.write_text(ties.read_text().replace('"tracks": 2', '"tracks": 0'))
    result = run("simulate", ties, "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"[out-of-range] {ties}:4: 'tracks' is 0; it is >= 1\n"


def test_a_picture_is_drawn(ties, tmp_path):
    picture = tmp_path / "out.png"
    assert run("simulate", ties, "--plot", picture).exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    refused = run("simulate", ties, "--plot", tmp_path / "out.docx")
    assert refused.exit_code == 2
    assert "[unwritable-file]" in refused.stderr


def test_a_trace_on_a_full_disk_is_an_error_that_says_so(ties):
    refused = run("simulate", ties, "--json", "--trace", "/dev/full")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == (
        "[unwritable-file] cannot write the trace /dev/full: No space left on device. Give a path"
        " that can be written, on a disk with room.\n"
    )


def test_what_fails_beside_a_trace_is_not_laid_to_it(tmp_path):
    def failing(trace):
        trace.write("{}\n")
        raise OSError(5, "elsewhere")

    with pytest.raises(OSError, match="elsewhere"), _written(tmp_path / "out.jsonl") as trace:
        failing(trace)
    assert (tmp_path / "out.jsonl").read_text() == "{}\n"


def test_the_line_in_the_picture_is_the_saw_tooth():
    drawing = Drawing(8.0)
    drawing.add(Finished("t", 0, 4.0, 4.0, 5.0, 0.0, 4.0, None))
    assert drawing.line("t") == ([0.0, 5.0, 5.0, 8.0], [0.0, 5.0, 1.0, 4.0])
    assert drawing.line("other") == ([0.0, 8.0], [0.0, 8.0])
    assert list(drawing.bars()) == [(0, "t", 4.0, 1.0)]


def test_a_picture_keeps_no_more_of_a_long_run_than_it_has_columns():
    drawing = Drawing(1440.0)  # a second a column
    for number in range(20_000):
        finish_s = (number + 1) / 16.0
        table = "much" if number % 4 else "little"
        seconds = 0.0625 if table == "much" else 0.03125
        drawing.add(
            Finished(table, 0, 0.0, finish_s - seconds, finish_s, 0.0, finish_s - 0.5, None)
        )
    drawing.add(Finished("long", 0, 0.0, 1300.5, 1303.5, 0.0, 1300.0, None))
    times, values = drawing.line("much")
    assert len(times) <= 2 + 4 * 1251
    assert (times[0], times[-1]) == (0.0, 1440.0)
    assert min(values[2:-1]) == 0.5
    assert max(values[1:-1]) == 0.625  # two sixteenths apart where "little" came between
    bars = list(drawing.bars())
    assert len(bars) <= 1252
    assert {table for _, table, _, _ in bars} == {"much", "long"}
    assert sum(seconds for _, _, _, seconds in bars) == 5_000 * 0.03125 + 15_000 * 0.0625 + 3.0
    assert bars[-1] == (0, "long", 1300.5, 3.0)


def test_scenarios_of_queues_and_reports_are_played_as_such():
    scenario = next(p for p in sorted((DATA / "queues").iterdir()) if "expected" not in p.name)
    played = run("simulate", scenario, "--json")
    assert played.exit_code == 0
    assert "unit_cost" in json.loads(played.stdout)
    assert run("simulate", scenario, "--bounds").exit_code == 2
    planned = run("plan", DATA / "plan" / "p04_paper_case4.json", "--json")
    assert json.loads(planned.stdout)["feasible"] is True


def test_updates_of_one_instant_are_traced_by_track():
    seen: list[int] = []
    in_order = InOrder(lambda finished: seen.append(finished.track))
    for track, finish_s in ((1, 5.0), (2, 5.0), (0, 5.0), (1, 6.0)):
        in_order(Finished("t", track, 0.0, 5.0, finish_s, 0.0, 5.0, None))
    in_order.flush()
    assert seen == [0, 1, 2, 1]


def test_a_wrong_scenario_of_reports_leaves_the_trace_of_another(tmp_path):
    trace, wrong = tmp_path / "out.jsonl", tmp_path / "wrong.yml"
    trace.write_text("kept\n")
    wrong.write_text("reports: []\n")
    assert run("simulate", wrong, "--trace", trace).exit_code == 2
    assert trace.read_text() == "kept\n"


@pytest.mark.parametrize(
    ("command", "file"), [("simulate", "updates/01_ties_fifo"), ("plan", "plan/p01_paper_case1")]
)
def test_a_file_is_played_as_it_is_whatever_project_is_named(tmp_path, command, file):
    path = DATA / f"{file}.json"
    named = run(command, path, "--json", "--project", tmp_path)
    assert named.exit_code == 0
    assert named.stdout == run(command, path, "--json").stdout


@pytest.mark.parametrize("command", ["simulate", "guarantees"])
def test_brackets_in_names_are_shown_as_they_are(command, tmp_path):
    scenario = tmp_path / "brackets.yml"
    names = ["orders [old]", "[/b]"]
    tables = "".join(f"\n  - {{name: '{name}', period: 1, alpha: 0.1}}" for name in names)
    scenario.write_text(f"horizon: 10\ntables:{tables}\n")
    result = run(command, scenario)
    assert result.exit_code == 0
    assert all(name in result.stdout for name in names)
