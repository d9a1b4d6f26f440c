"""The sample project that ``freshline init`` writes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from freshline.cli.main import app_for
from freshline.project.load import load_project
from freshline.runtime.feeds.listing import FeedListing

FILES = [
    "README.md",
    "freshline.yml",
    "generate.py",
    "tables/orders.sql",
    "tables/products.sql",
    "tables/sales.sql",
]


def init(*arguments):
    line = ["init", *map(str, arguments)]
    return CliRunner().invoke(app_for(line), line, catch_exceptions=False)


def test_it_writes_a_project_that_loads_and_says_what_to_do_next(tmp_path):
    done = init(tmp_path / "shop")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        f"{tmp_path}/shop is a project with 6 files. Next:\n"
        f"  cd {tmp_path}/shop\n"
        "  python generate.py --files 20 --at-once\n"
        "  freshline run --until-idle\n"
        "  freshline status\n"
    )
    written = [
        str(path.relative_to(tmp_path / "shop")) for path in (tmp_path / "shop").rglob("*.*")
    ]
    assert sorted(written) == FILES
    project = load_project(tmp_path / "shop")
    assert (project.name, project.warnings) == ("shop", ())
    assert [(table.name, table.kind) for table in project.tables] == [
        ("orders", "base"),
        ("best_products", "derived"),
        ("sales_by_minute", "derived"),
        ("sales_by_hour", "derived"),
    ]


def test_as_json_it_lists_what_it_wrote(tmp_path):
    done = init(tmp_path / "shop", "--json")
    assert json.loads(done.stdout) == {
        "project": "shop",
        "directory": str(tmp_path / "shop"),
        "files": FILES,
    }


def test_a_directory_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    done = init(tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        f"[not-empty] {tmp_path} exists and is not an empty directory; a new project"
        " gets a directory of its own. Choose another name.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["2024", "007", "1e5", "no", "null", "2024-01-01", "a.b-c"])
def test_a_name_that_is_no_text_to_yaml_names_a_project(tmp_path, name):
    assert init(tmp_path / name).exit_code == 0
    assert load_project(tmp_path / name).name == name


def test_with_project_the_name_is_relative_to_that_directory(tmp_path):
    assert init("shop", "--project", tmp_path).exit_code == 0
    assert load_project(tmp_path / "shop").name == "shop"


def test_a_directory_with_a_space_is_quoted_in_what_to_do_next(tmp_path):
    assert f"  cd '{tmp_path}/my own/shop'\n" in init(tmp_path / "my own" / "shop").stdout


def test_a_name_that_no_file_system_holds_is_told(tmp_path):
    done = init(tmp_path / ("x" * 300))
    assert done.exit_code == 1
    assert "[cannot-write]" in done.stderr
    assert "File name too long" in done.stderr


@pytest.mark.parametrize("name", ["-x y", "a b", ".hidden", "été", "表"])
def test_a_name_that_names_no_project_is_refused(tmp_path, name):
    done = init("--", tmp_path / name) if name.startswith("-") else init(tmp_path / name)
    assert done.exit_code == 2
    assert done.stderr == (
        f"[bad-name] '{name}' cannot name a project; a project's name is letters from A to Z,"
        " digits, _, . and -. Choose another name.\n"
    )
    assert not (tmp_path / name).exists()


def test_its_generator_writes_complete_files_stamped_one_after_another(tmp_path):
    init(tmp_path / "shop")
    done = subprocess.run(
        [sys.executable, "generate.py", "--files", "3", "--at-once", "--rows", "4"],
        cwd=tmp_path / "shop",
        capture_output=True,
        text=True,
        check=True,
    )
    feed = load_project(tmp_path / "shop").feeds["orders_feed"]
    files = FeedListing(feed).new_files()
    assert done.stdout.split() == [f"{feed.path}/{file.name}" for file in files]
    first, second, third = (file.timestamp_s for file in files)
    assert (second - first, third - second) == (5.0, 5.0)
    lines = (tmp_path / "shop" / "feed" / "orders" / files[0].name).read_text().splitlines()
    assert lines[0] == "id,at,shop,product,quantity,price"
    assert len(lines) == 5
    assert not list((tmp_path / "shop").rglob("*.tmp"))


def test_its_generator_replaces_no_file(tmp_path):
    init(tmp_path / "shop")
    line = [sys.executable, "generate.py", "--files", "4", "--at-once", "--every", "0.1"]
    subprocess.run(line, cwd=tmp_path / "shop", capture_output=True, check=True)
    feed = load_project(tmp_path / "shop").feeds["orders_feed"]
    files = FeedListing(feed).new_files()
    assert len(files) == 4
    assert len({file.timestamp_s for file in files}) <= 2


def test_its_generator_replaces_no_file_of_another_one_that_runs_beside_it(tmp_path):
    init(tmp_path / "shop")
    spec = importlib.util.spec_from_file_location("generate", tmp_path / "shop" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    feed = tmp_path / "shop" / "feed" / "orders"
    feed.mkdir(parents=True, exist_ok=True)
    half = feed / "orders-20260101T000000.csv.tmp"
    half.write_text("half")  # of one that is at it, or was killed
    until = datetime(2026, 1, 1, tzinfo=UTC)
    with ThreadPoolExecutor(4) as several:
        written = list(several.map(lambda _: generate.write(until, 5.0, 3), range(100)))
    assert sorted(feed.iterdir()) == sorted([half, *written])
    assert len(set(written)) == 100
    assert {len(path.read_text().splitlines()) for path in written} == {4}
    assert half.read_text() == "half"
