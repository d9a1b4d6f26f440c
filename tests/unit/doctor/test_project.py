"""What `freshline doctor` says of a project: each fault with its next step, and the exit status."""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from freshline.cli.main import app_for
from freshline.core.errors import PlatformError
from freshline.doctor import project as checks
from freshline.doctor.project import findings
from freshline.ingest.state import write_state
from freshline.project.load import load_project
from freshline.runtime.journal.lock import WarehouseLock
from freshline.spark.engine.jars import DELTA_JARS, DELTA_PACKAGE
from freshline.ui.address import note_standby
from freshline.ui.serving import moves

YML = """\
name: shop
storage: {storage}
libraries: [{{glob: {{include: "*.sql"}}}}]
server: {{port: {port}}}
configuration: {{{configuration}}}
spark: {{{spark}}}
feeds: {{lines: {{kind: files, path: lines, format: csv, schema: "id INT"}}}}
"""


@pytest.fixture
def write(tmp_path: Path):
    """Writes a project; Delta's jars are there."""
    jars = tmp_path / "ivy" / "jars"
    jars.mkdir(parents=True)
    for jar in DELTA_JARS:
        (jars / jar).touch()

    def project(*, storage="warehouse", port=0, spark="", tables=1, **configuration: str) -> Path:
        ivy = {"spark.jars.ivy": str(tmp_path / "ivy")} | configuration
        settings = ", ".join(f'"{key}": "{value}"' for key, value in ivy.items())
        text = YML.format(storage=storage, port=port, configuration=settings, spark=spark)
        (tmp_path / "freshline.yml").write_text(text)
        (tmp_path / "t.sql").write_text(
            "".join(
                f"CREATE STREAMING TABLE t{at} AS SELECT * FROM STREAM lines;\n"
                for at in range(tables)
            )
        )
        return tmp_path

    return project


def found(folder: Path, check: str, *served_at: str | None) -> list[tuple[str, str, str]]:
    opened = load_project(folder, folder)
    return [
        (each.state, each.what, each.next_step)
        for each in findings(opened, *(served_at or (None,)), movable=moves(opened))
        if each.check == check
    ]


def doctor(folder: Path, *more: str) -> Result:
    line = ["doctor", "--project", str(folder), *more]
    return CliRunner().invoke(app_for(line), line, catch_exceptions=False)


def test_a_sound_project_is_healthy_and_nothing_is_left_in_its_storage(write):
    folder = write()
    (folder / "warehouse").mkdir()
    done = doctor(folder, "--json")
    told = json.loads(done.stdout)
    assert {each["name"]: each["state"] for each in told["checks"]} == dict.fromkeys(
        ("java", "spark", "delta", "clock", "jars", "storage", "disk", "memory", "port"), "ok"
    )
    assert (told["healthy"], done.exit_code) == (True, 0)
    assert list((folder / "warehouse").iterdir()) == []
    assert "WRONG" not in doctor(folder).stdout


def test_a_project_with_errors_ends_with_2_and_the_machine_is_told_all_the_same(write):
    folder = write()
    (folder / "t.sql").write_text("CREATE STREAMING TABLE t AS SELECT * FROM STREAM lin")
    done = doctor(folder, "--json")
    told = json.loads(done.stdout)
    assert [each["name"] for each in told["checks"]] == ["java", "spark", "delta", "clock"]
    assert [each["code"] for each in told["errors"]] == ["unknown-feed"]
    assert (told["healthy"], done.exit_code) == (False, 2)
    assert "[unknown-feed] t.sql:1" in done.stderr
    assert doctor(folder / "nowhere").exit_code == 2


def test_what_would_make_a_run_fail_ends_with_3_and_its_next_step(write):
    folder = write(storage="taken/warehouse")
    (folder / "taken").touch()
    done = doctor(folder)
    assert done.exit_code == 3
    assert f"WRONG    storage  {folder}/taken cannot be written by this user (id " in done.stdout
    assert (
        "\n                  Correct its owner or mode, or name another `storage`.\n" in done.stdout
    )


def test_jars(write):
    folder = write()
    assert found(folder, "jars") == [("ok", "5 jars are there", "")]
    lacking = write(spark="jars: mine")
    state, what, step = found(lacking, "jars")[0]
    assert state == "wrong"
    assert what.startswith(f"jars of spark is {folder}/mine, which lacks {DELTA_PACKAGE}")
    assert step.startswith("Run `freshline jars --into DIR`")
    lost = write(**{"spark.jars": "/gone.jar"})
    assert found(lost, "jars") == [
        ("wrong", "spark.jars names /gone.jar, which is no file", "Correct it.")
    ]
    (folder / "ivy" / "jars" / DELTA_JARS[0]).unlink()
    state, what, _ = found(write(), "jars")[0]
    assert (state, what) == ("warning", f"not fetched yet: {DELTA_PACKAGE}")


@pytest.mark.parametrize(
    ("storage", "state", "what"),
    [
        ("s3://b/w", "wrong", "s3://b/w: Spark has no file system for s3"),
        ("s3a://b/w", "wrong", "s3a://b/w: no jar reads s3a"),
        ("abfss://c@a/w", "wrong", "abfss://c@a/w: no jar reads abfss"),
        ("hdfs://h/w", "ok", "hdfs://h/w: hdfs comes with Spark"),
        ("swift://h/w", "warning", "swift://h/w: nothing is known here of swift"),
    ],
)
def test_storage_by_uri(write, storage, state, what):
    ((is_state, is_what, step),) = found(write(storage=storage), "storage")
    assert (is_state, is_what, bool(step)) == (state, what, state != "ok")


def test_a_store_with_its_package_names_the_log_store(write):
    package = "packages: ['org.apache.hadoop:hadoop-aws:3.5.0']"
    ((state, what, _),) = found(write(storage="s3a://b/w", spark=package), "storage")
    assert state == "ok"
    assert what == (
        "s3a://b/w: Delta's log store for s3a keeps commits apart within one Spark driver;"
        " nothing but this warehouse may write its tables"
    )
    mine = {"spark.delta.logStore.s3a.impl": "my.Store"}
    ((state, what, _),) = found(write(storage="s3a://b/w", spark=package, **mine), "storage")
    assert (state, what) == ("ok", "s3a://b/w: my.Store")


def test_network_file_systems_are_a_warning(write, monkeypatch):
    monkeypatch.setattr(checks, "_file_system", lambda _: "nfs4")
    ((state, what, _),) = found(write(), "storage")
    assert state == "warning"
    assert "warehouse is on nfs4: " in what


def test_a_disk_that_is_nearly_full(write, monkeypatch):
    usage = checks.shutil.disk_usage("/")  # type: ignore[attr-defined]
    for free_bytes, state in ((10**11, "ok"), (10**9, "warning"), (10**8, "wrong")):
        monkeypatch.setattr(
            "shutil.disk_usage", lambda _, free=free_bytes: usage._replace(free=free)
        )
        assert {each[0] for each in found(write(), "disk")} == {state}


def test_a_commit_from_the_future(write):
    folder = write()
    log = folder / "warehouse" / "t0" / "_delta_log"
    log.mkdir(parents=True)
    commit = log / f"{0:020}.json"
    commit.touch()
    assert found(folder, "clock") == []
    os.utime(commit, (time.time() + 3600.5,) * 2)
    ((state, what, step),) = found(folder, "clock")
    assert (state, what) == ("wrong", "the newest commit of t0 is 3600 s in the future")
    assert step


@pytest.mark.parametrize(
    ("memory", "tables", "state"),
    [("1g", 514, "ok"), ("1g", 515, "warning"), ("1024m", 514, "ok"), ("1048576k", 514, "ok"),
     ("2g", 515, "ok"), ("1tb", 1, "wrong"), ("much", 1, "warning")],
)  # fmt: skip
def test_the_heap_against_the_tables_and_the_machine(write, memory, tables, state):
    ((is_state, what, step),) = found(
        write(tables=tables, **{"spark.driver.memory": memory}), "memory"
    )
    assert (is_state, bool(step)) == (state, state != "ok"), what


def test_a_container_that_is_smaller_than_the_heap(write, tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(checks, "_LIMITS", (tmp_path / "none", limit))
    for text, state in (("max\n", "ok"), (f"{2**30}\n", "wrong"), (f"{2**31}\n", "ok")):
        limit.write_text(text)
        assert found(write(), "memory")[0][0] == state


def test_the_port(write):
    assert found(write(), "port") == [("ok", "any free port is taken", "")]
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        taken = write(port=port)
        assert found(taken, "port") == [
            (
                "wrong",
                f"127.0.0.1:{port} cannot be taken: Address already in use",
                "Stop what holds it, or name another port under `server:`.",
            )
        ]
        url = f"http://127.0.0.1:{port}"
        assert found(taken, "port", url) == [("ok", f"a run of this project answers at {url}", "")]
        note_standby(load_project(taken, taken), url)
        (told,) = [each for each in json.loads(doctor(taken, "--json").stdout)["checks"]
                   if each["name"] == "port"]  # fmt: skip
        what = f"a standby of this project answers at {url}"
        assert (told["state"], told["what"]) == ("ok", what)
    assert found(taken, "port") == [("ok", f"127.0.0.1:{port} is free", "")]


def test_a_port_that_clients_push_to_does_not_move_unless_the_gateway_has_it(write, monkeypatch):
    folder = write()
    pushed = 'feeds: {clicks: {kind: push, schema: "n BIGINT"}, lines'
    text = (folder / "freshline.yml").read_text().replace("server: {port: 0}\n", "")
    (folder / "freshline.yml").write_text(text.replace("feeds: {lines", pushed))
    (folder / "c.sql").write_text("CREATE STREAMING TABLE c AS SELECT n FROM STREAM clicks;")

    def taken(*_):
        raise OSError(errno.EADDRINUSE, "Address already in use")

    monkeypatch.setattr(socket.socket, "bind", taken)
    what = "127.0.0.1:8787 cannot be taken: Address already in use"
    step = "Stop what holds it, or name another port under `server:`."
    assert found(folder, "port") == [("wrong", what, step)]
    ingest = load_project(folder, folder).ingest
    assert ingest is not None
    with WarehouseLock(ingest.folder):
        assert found(folder, "port") == [("wrong", what, step)]  # a gateway without an address
        write_state(ingest.folder, {"url": "http://127.0.0.1:8787"})
        assert found(folder, "port") == [("ok", f"{what}; a run takes a free one instead", "")]


def denied(monkeypatch, folder: Path) -> None:
    """As where a user may not enter a folder: nobody keeps root out."""
    real, closed = os.stat, f"{folder}{os.sep}"

    def stat(path, *args, **more):
        if not isinstance(path, int) and os.fspath(path).startswith(closed):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return real(path, *args, **more)

    monkeypatch.setattr(os, "stat", stat)


def test_a_storage_in_a_folder_that_nobody_may_enter_is_said(write, tmp_path, monkeypatch):
    folder = write(storage=str(tmp_path / "closed" / "deep" / "warehouse"))
    (tmp_path / "closed" / "deep").mkdir(parents=True)
    opened = load_project(folder, folder)
    denied(monkeypatch, tmp_path / "closed")
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: "closed" not in str(path) and real(path, mode)
    )
    told = [each for each in findings(opened, None, movable=True) if each.check == "storage"]
    assert [each.state for each in told] == ["wrong"]
    assert told[0].what.startswith(f"{tmp_path / 'closed'} cannot be written by this user")


def test_a_lock_that_may_not_be_read_does_not_end_the_checks(write, monkeypatch):
    def closed(_):
        raise PlatformError("lock", "cannot see whether a warehouse runs")

    monkeypatch.setattr("freshline.cli.commands.doctor.served_at", closed)
    result = doctor(write())
    assert result.exit_code == 0
    assert "port" in result.stdout
