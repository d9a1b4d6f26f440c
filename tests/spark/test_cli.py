"""The program from outside: a sample project made, checked, run, asked, stopped."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

import deltalake
import pytest
from typer.testing import CliRunner

from freshline.cli.main import app_for
from freshline.project.load import load_project
from freshline.render.status import status_record
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.recorded_run import recorded_run
from freshline.runtime.status.status import read_status
from freshline.sim.whatif.history import history_of
from freshline.sim.whatif.recorded import conforming
from tests.spark.proof.support import lend
from tests.support.share import WHOLE

pytestmark = pytest.mark.spark

PROGRAM = [sys.executable, "-m", "freshline"]
PATIENCE_S = 540.0
"""A minute less than a test has, so that what it waited for is said."""


def freshline(project, *arguments):
    """One command to its end: exit status, standard output, standard error."""
    done = subprocess.run(
        [*PROGRAM, *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stdout, done.stderr


def freshline_here(project, *arguments):
    """The same in this process."""
    line = [*arguments, "--project", str(project)]
    done = CliRunner().invoke(app_for(line), line, catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def generate(project, *arguments):
    subprocess.run(
        [sys.executable, "generate.py", "--at-once", *arguments],
        cwd=project,
        check=True,
        capture_output=True,
    )


def fed(project):
    """Every record of every feed file."""
    for path in sorted((project / "feed" / "orders").glob("*.csv")):
        with path.open(newline="") as file:
            yield from csv.DictReader(file)


def rows(project, table):
    return deltalake.DeltaTable(project / "warehouse" / table).to_pyarrow_table().to_pylist()


def check_tables(project):
    """The sample's tables against its feed files, computed here."""
    records = list(fed(project))
    amount: dict[str, Decimal] = {}
    orders: Counter[tuple[str, str]] = Counter()
    for each in records:
        paid = int(each["quantity"]) * Decimal(each["price"])
        amount[each["product"]] = amount.get(each["product"], Decimal(0)) + paid
        orders[each["at"][:13], each["shop"]] += 1
    assert Counter(each["id"] for each in rows(project, "orders")) == Counter(
        int(each["id"]) for each in records
    )
    assert {each["product"]: each["amount"] for each in rows(project, "best_products")} == amount
    by_hour = {
        (f"{each['hour']:%Y-%m-%dT%H}", each["shop"]): each["orders"]
        for each in rows(project, "sales_by_hour")
    }
    assert by_hour == orders


def eventually(holds):
    end_s = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < end_s, "it did not come true"
        time.sleep(0.1)
    return found


def children(pid):
    """Processes that ``pid`` started and that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "shop"
    status, out, err = freshline(folder.parent, "init", str(folder), "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["project"] == "shop"
    with (folder / "freshline.yml").open("a") as settings:
        settings.write("maintenance: {trials: false}\n")  # test_trials.py has them on
    generate(folder, "--files", "4", "--rows", "50")
    return folder


@pytest.fixture(scope="module")
def loaded(project):
    """The sample after one run until idle, and what that printed."""
    return project, freshline(project, "run", "--until-idle", "--json")


def test_a_run_until_idle_fills_every_table_and_prints_one_object(loaded):
    project, (status, out, err) = loaded
    assert status == 0, err
    summary = json.loads(out)
    assert (summary["failed"], summary["left_behind"]) == (0, [])
    assert {item["name"]: item["state"] for item in summary["tables"]} == {
        "orders": "fresh",
        "best_products": "fresh",
        "sales_by_minute": "fresh",
        "sales_by_hour": "fresh",
    }
    lines = [line for line in err.splitlines() if " rows in " in line]
    assert len(lines) == summary["updates"]
    check_tables(project)


def test_what_the_journal_knows_is_told_without_spark(loaded):
    project, _ = loaded
    status, out, _ = freshline_here(project, "status", "--json")
    found = json.loads(out)
    assert status == 0
    assert not found["run"]["running"]
    orders = found["tables"][0]
    assert (orders["name"], orders["updates"], orders["pending_files"]) == ("orders", 1, 0)
    assert orders["last_update"]["rows"] == 200
    status, out, _ = freshline_here(project, "story", "sales_by_hour", "--json")
    (update,) = json.loads(out)["updates"]
    assert (status, update["state"]) == (0, "done")
    assert update["parents"] == {"sales_by_minute": 0}
    status, out, _ = freshline_here(project, "validate", "--no-spark")
    assert status == 0
    assert "not measured" not in out


def test_a_running_warehouse_is_asked_and_stopped(loaded):
    project, _ = loaded
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
    with subprocess.Popen(
        [*PROGRAM, "run"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as run:
        signal.signal(signal.SIGHUP, before)
        try:
            eventually(lambda: run.poll() is not None or _is_ready(project))
            assert run.poll() is None
            assert _status(project)["run"]["pid"] == run.pid
            assert freshline(project, "run")[::2] == (2, _refusal(project, run.pid))
            assert freshline(project, "pause", "best_products")[1] == "best_products is paused\n"
            updates = _table(project, "sales_by_hour")["updates"]
            time.sleep(1.1)  # files are named by the second
            generate(project, "--files", "1", "--rows", "10")
            eventually(lambda: _table(project, "sales_by_hour")["updates"] > updates)
            paused = _table(project, "best_products")
            assert (paused["state"], paused["updates"]) == ("paused", 1)
            status, out, _ = freshline_here(project, "resume", "best_products")
            assert (status, out) == (0, "best_products is resumed\n")
            eventually(lambda: _table(project, "best_products")["updates"] == 2)
            status, out, _ = freshline_here(project, "refresh", "orders", "--full")
            assert (status, out) == (0, "orders is next, rebuilt in full\n")
            eventually(lambda: _table(project, "orders")["updates"] == 3)
            started = children(run.pid)
            assert started
            # To Spark's process, too, as `timeout` does, or a terminal that is closed.
            for pid in started:
                os.kill(pid, signal.SIGTERM)
            os.killpg(run.pid, signal.SIGHUP)
            _, err = run.communicate(timeout=PATIENCE_S)
        finally:
            if run.poll() is None:
                run.kill()
    assert run.returncode == 0, err
    assert err.splitlines()[-1].startswith("stopped after ")
    assert "failed after" not in err
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))
    assert not _status(project)["run"]["running"]


@pytest.mark.proof
def test_a_refresh_without_a_run_brings_a_table_up_to_date_in_this_process(loaded):
    project, _ = loaded
    time.sleep(1.1)  # files are named by the second
    generate(project, "--files", "1", "--rows", "10")
    status, out, err = freshline(project, "refresh", "best_products", "sales_by_hour", "--json")
    assert status == 0, err
    assert json.loads(out)["left_behind"] == []
    check_tables(project)


def test_verify_finds_a_row_that_others_added_and_repairs_it_and_what_is_made_of_it(
    loaded, request, monkeypatch
):
    """In a process of its own, which starts Spark, ends it and starts it again, by the proof."""
    project, _ = loaded
    if WHOLE:
        run = freshline
        _verify_all(project)
    else:
        run = freshline_here
        lend(request.getfixturevalue("spark"), monkeypatch)
    path = project / "warehouse" / "sales_by_minute"
    table = deltalake.DeltaTable(path)
    row = table.to_pyarrow_table().slice(0, 1)
    deltalake.write_deltalake(path, row, mode="append")
    status, out, err = run(project, "verify", "sales_by_minute", "--repair", "--json")
    assert status == 3, err
    told = json.loads(out)
    (wrong,) = told["tables"]["sales_by_minute"]["wrong"]
    assert (wrong["version"], wrong["missing"], wrong["extra"]) == (table.version() + 1, 0, 1)
    assert wrong["sample"]["extra"][0]["shop"] == row.to_pylist()[0]["shop"]
    assert told["repair"] == {"sales_by_minute": "rebuilt", "sales_by_hour": "rebuilt"}
    for name in ("sales_by_minute", "sales_by_hour"):
        log = deltalake.DeltaTable(project / "warehouse" / name).history()
        commits = [json.loads(entry["userMetadata"]) for entry in log[:1]]
        assert [(each["strategy"], each["reason"]) for each in commits] == [("full", "requested")]
    if not WHOLE:
        return
    status, out, err = freshline(
        project, "verify", "sales_by_minute", "sales_by_hour", "--versions", "all"
    )
    assert status == 0, err
    by_minute, others, by_hour = out.splitlines()
    assert by_minute.endswith(" right, 1 version not verified")
    assert others == (f"  version {wrong['version']} not verified: its commit is not freshline's")
    assert by_hour.endswith(" versions right")


def _verify_all(project):
    status, out, err = freshline(project, "verify", "--json")
    assert status == 0, err
    names = ["orders", "best_products", "sales_by_minute", "sales_by_hour"]
    tables = json.loads(out)["tables"]
    assert sorted(tables) == sorted(names)
    newest = {name: deltalake.DeltaTable(project / "warehouse" / name).version() for name in names}
    for name in names:
        assert tables[name] == {"checked": [newest[name]], "skipped": {}, "wrong": []}


def test_every_recorded_run_is_what_the_simulator_makes_of_its_events_and_durations(loaded):
    project, _ = loaded
    journal = Journal(journal_path(load_project(project, project)), create=False)
    try:
        numbers = [row["run"] for row in journal.rows(
            "SELECT DISTINCT run FROM updates WHERE state='done' ORDER BY run"
        )]  # fmt: skip
        histories = [history_of(recorded_run(journal, number), {}) for number in numbers]
    finally:
        journal.close()
    assert len(histories) >= 2
    assert [conforming(history) for history in histories] == [None] * len(histories)
    assert sum(len(history.ended) for history in histories) >= 2 * 4
    status, out, err = freshline_here(
        project,
        "simulate",
        "--from-run",
        "--run",
        str(numbers[0]),
        "--policy",
        "fifo,index",
        "--json",
    )
    assert status == 0, err
    assert [each["updates"] for each in json.loads(out)["played"]] == [4, 4]


@pytest.mark.proof
def test_validate_finds_nothing_wrong_with_the_sample(project):
    status, out, err = freshline(project, "validate", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["errors"] == []
    assert [table["name"] for table in found["tables"]] == [
        "orders",
        "best_products",
        "sales_by_minute",
        "sales_by_hour",
    ]


@pytest.mark.proof
def test_validate_has_spark_judge_every_query(project):
    bad = project / "tables" / "bad.sql"
    bad.write_text("CREATE MATERIALIZED VIEW bad\n  AS SELECT shopp FROM orders;\n")
    try:
        status, out, _ = freshline(project, "validate", "--json")
    finally:
        bad.unlink()
    assert status == 2
    (error,) = json.loads(out)["errors"]
    assert (error["code"], error["file"], error["line"]) == ("unknown-column", "tables/bad.sql", 2)
    assert error["next"].startswith("Did you mean shop, ")


def _status(project):
    """What the command prints; waiting would start a process ten times a second."""
    return status_record(read_status(load_project(project, project), time.time()))


def _is_ready(project):
    run = _status(project)["run"]
    return run["running"] and run["ready"]


def _table(project, name):
    return next(item for item in _status(project)["tables"] if item["name"] == name)


def _refusal(project, pid):
    lock = os.path.join(project, "warehouse", "_freshline", "lock")  # noqa: PTH118
    return (
        f"[already-running] process {pid} runs this warehouse already; one run per storage; it"
        f" holds {lock}. Stop it (kill {pid}), or use `freshline status`.\n"
    )
