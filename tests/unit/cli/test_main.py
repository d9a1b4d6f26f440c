"""The program itself: what it loads, how it ends."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from freshline import __version__
from freshline.cli import main
from freshline.cli.errors import reported
from freshline.core.errors import Place, PlatformError, UserError, UserErrors


def run(*arguments, directory=None):
    """The installed program's own way in, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "freshline", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
    )


def ending(error, *, as_json=False):
    """How a command ends that raises ``error``."""
    app = typer.Typer()
    app.callback()(lambda: None)

    def broken(as_json: bool = False):
        raise error

    app.command("broken")(reported(broken))
    return CliRunner().invoke(app, ["broken", *(["--as-json"] if as_json else [])])


def test_every_command_of_the_contract_that_is_built_has_its_help():
    done = run("--help")
    assert done.returncode == 0
    for name in ("init", "validate", "run", "status", "refresh", "pause", "resume", "retry",
                 "prioritise", "story"):  # fmt: skip
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_takes_json_and_a_project(name):
    done = CliRunner().invoke(main.app_for([name]), [name, "--help"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert "--json" in done.stdout
    assert ("--project" in done.stdout) == (name != "import"), "import makes one, with --into"


def test_the_version_is_the_packages():
    assert run("--version").stdout == f"freshline {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [("fly",), ("status", "--fly"), ("pause",), ("story", "t", "--last", "0")]
)
def test_what_nobody_knows_is_the_users_error(arguments, tmp_path):
    done = run(*arguments, directory=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fly", "--json"), "No such command 'fly'"),
        (("status", "--json", "--fly"), "No such option: --fly"),
        (("pause", "--json"), "Missing argument"),
        (("run", "--log-format", "xml", "--json"), "'xml' is not one of"),
        (("run", "shop", "--json"), "(shop); the project's folder is given with --project"),
        (("--json", "status"), "--json; it stands behind the command"),
        (("--project", "shop", "status", "--json"), "--project; it stands behind the command"),
    ],
)
def test_with_json_a_wrong_use_is_an_object_on_standard_output_too(arguments, says, tmp_path):
    done = run(*arguments, directory=tmp_path)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["next"]) == ("bad-usage", "See the command's --help.")
    assert says in error["message"]
    assert "Usage: " in done.stderr


def test_outside_of_a_project_it_says_how_to_make_one(tmp_path):
    done = run("status", directory=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"[no-project] there is no freshline.yml in {tmp_path} or above it; a project is a"
        " directory with a freshline.yml or a spark-pipeline.yml. Go there, name it with --project"
        " DIR, or make one with freshline init NAME.\n"
    )


@pytest.mark.parametrize("command", [("status",), ("simulate",), ("import", "dbt")])
def test_a_path_that_no_system_takes_is_the_users_error(command, tmp_path):
    path = ("--project", "a" * 5000) if command == ("status",) else ("a" * 5000,)
    done = run(*command, *path, directory=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "File name too long" in done.stderr or done.stderr.startswith("[long-path] ")


def test_a_name_that_freshline_made_is_no_error_of_the_users():
    name = "a" * 300
    for path, status in (
        (f"/shop/warehouse/_freshline/{name}", 1),
        (f"/shop/.freshline/{name}".encode(), 1),
        (f"/shop/{name}", 2),
        (f"/shop/{name}/_freshline/journal.db", 2),
        ("/shop" * 1000 + f"/.freshline/{name}", 2),
    ):
        done = ending(OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path))
        code = "unexpected" if status == 1 else "long-path"
        assert (done.exit_code, done.stderr.split()[0]) == (status, f"[{code}]")


def test_a_disk_that_does_not_answer_is_no_error_of_the_users(tmp_path, monkeypatch):
    def is_file(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "is_file", is_file)
    for number, status, code in (
        (errno.EIO, 1, "project-unreadable"),
        (errno.EACCES, 2, "no-project"),
    ):
        done = CliRunner().invoke(main.app_for(["status"]), ["status", "--project", str(tmp_path)])
        assert (done.exit_code, done.stderr.split()[0]) == (status, f"[{code}]")
        assert str(tmp_path) in done.stderr
        assert f": {os.strerror(number)}" in done.stderr
        assert ("; a project's directory exists, may be read" in done.stderr) == (status == 2)


def test_a_working_directory_that_is_gone_is_the_users_error(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r});"
        " sys.argv = ['freshline', 'status']; from freshline.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("[no-project] no project can be looked for in the working")


def test_a_command_loads_no_other_command():
    probe = (
        "import sys; from freshline.cli.main import app_for; app_for(['status', '--json']);"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "freshline.cli.commands.status" in loaded
    assert not loaded & {
        "freshline.cli.commands.run",
        "freshline.cli.commands.validate",
        "freshline.sim.driver",
    }
    assert not loaded & {"rich.console", "sqlglot", "pyarrow", "deltalake", "pyspark"}


def test_a_users_error_exits_with_2_and_its_whole_message():
    error = UserError("code", "it is wrong", where=Place("a.sql", 3), rule="rule", next_step="Do.")
    done = ending(error)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "[code] a.sql:3: it is wrong; rule. Do.\n"


def test_a_platform_error_exits_with_1():
    done = ending(PlatformError("disk", "the disk is full"))
    assert (done.exit_code, done.stderr) == (1, "[disk] the disk is full\n")


def test_with_json_the_error_is_an_object_on_standard_output_too():
    error = UserError("code", "it is wrong", where=Place("a.sql", 3), rule="rule", next_step="Do.")
    done = ending(error, as_json=True)
    assert json.loads(done.stdout) == {
        "error": {
            "code": "code",
            "file": "a.sql",
            "line": 3,
            "message": "it is wrong; rule",
            "next": "Do.",
        }
    }
    assert done.stderr == "[code] a.sql:3: it is wrong; rule. Do.\n"


def test_several_errors_are_all_told():
    done = ending(UserErrors([UserError("a", "one"), UserError("b", "two")]), as_json=True)
    assert done.stderr == "[a] one\n[b] two\n"
    told = json.loads(done.stdout)
    assert told["error"]["code"] == "a"
    assert [each["code"] for each in told["errors"]] == ["a", "b"]


def test_a_reader_that_has_enough_is_no_error(tmp_path):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "freshline", "init", "shop"],
        cwd=tmp_path,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "shop" / "freshline.yml").exists()


@pytest.mark.parametrize("arguments", [("status",), ("status", "--json"), ("report", "list")])
def test_a_reader_of_tables_that_has_enough_is_no_error(shop, arguments):
    """The library that draws them would end the process with 1."""
    read, write = os.pipe()
    os.close(read)
    line = [sys.executable, "-m", "freshline", *arguments, "--project", str(shop.root)]
    done = subprocess.run(line, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("status", "--help")])
def test_a_reader_of_the_help_that_has_enough_is_no_error(arguments, unbuffered, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    read, write = os.pipe()
    os.close(read)
    line = [sys.executable, "-m", "freshline", *arguments]
    done = subprocess.run(line, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_fault_of_ours_is_one_line_and_a_traceback_only_on_request(monkeypatch):
    monkeypatch.delenv("FRESHLINE_DEBUG", raising=False)
    done = ending(KeyError("a\nb"))
    assert done.exit_code == 1
    assert done.stderr == (
        "[unexpected] freshline failed: KeyError: 'a\\nb'. Set FRESHLINE_DEBUG=1 to see where;"
        " please report it with the journal.\n"
    )
    monkeypatch.setenv("FRESHLINE_DEBUG", "1")
    done = ending(KeyError("a"))
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "[unexpected] freshline failed: KeyError: 'a'. The traceback stands above."
    )


def test_a_connection_that_breaks_is_not_taken_for_a_reader_that_has_enough():
    done = ending(BrokenPipeError("Broken pipe"))
    assert done.exit_code == 1
    assert done.stderr.startswith("[unexpected] freshline failed: BrokenPipeError")


@pytest.mark.parametrize("arguments", [("init", "shop"), ("init", "shop", "--json")])
def test_a_closed_standard_output_is_nowhere(tmp_path, arguments):
    line = [sys.executable, "-m", "freshline", *arguments]
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *line], capture_output=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_an_encoding_does_not_have_is_written_as_its_number(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    run("init", f"{tmp_path}/é表/shop")
    done = run("status", "--json", directory=tmp_path / "é表" / "shop")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert json.loads(done.stdout)["storage"] == f"{tmp_path}/é表/shop/warehouse"
    assert "\\u8868" in run("init", f"{tmp_path}/表/shop").stdout


@pytest.mark.parametrize(
    "arguments", [("status",), ("status", "--json"), ("status", "--check"), ("--help",)]
)
def test_a_full_disk_behind_standard_output_is_no_fault_of_ours(shop, arguments):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "freshline", *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=shop.root,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "[disk-full] a file cannot be written: No space left on device; what the command prints,"
        " and what it keeps, needs room. Make room, also where standard output goes to, then try"
        " again.\n"
    )
