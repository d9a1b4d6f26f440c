"""What a package loads when it is imported, seen from a fresh interpreter.

import-linter (``make check``) reads the import statements; these tests see what they bring
along: the pure packages stay within the standard library, and a command that needs no Spark
does not load it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "freshline"
PURE = ("core", "queues", "reports")
SPARK = {"pyspark", "delta", "py4j"}
# Each costs `freshline status` a large part of the second it has.
HEAVY = {"pandas", "pyarrow", "matplotlib", "scipy", "duckdb", "deltalake"}

# Prints what importing the modules named as arguments loads: freshline's own modules, and the
# top-level names of all that is neither freshline's nor the standard library's.
PROBE = """
import importlib, json, sys
sys.path.insert(0, sys.argv.pop(1))
before = set(sys.modules)
for name in sys.argv[1:]:
    importlib.import_module(name)
loaded = set(sys.modules) - before
own = {name for name in loaded if name.partition(".")[0] == "freshline"}
foreign = {name.partition(".")[0] for name in loaded - own} - sys.stdlib_module_names
print(json.dumps({"own": sorted(own), "foreign": sorted(foreign)}))
"""


def loaded_by(modules: list[str]) -> tuple[set[str], set[str]]:
    """Freshline's and foreign modules that a new interpreter loads when it imports these."""
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", PROBE, str(SOURCE.parent), *modules],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return set(report["own"]), set(report["foreign"])


def modules_of(package: str) -> list[str]:
    """Every module of a package by its file, whether or not another one imports it."""
    files = sorted((SOURCE / package).rglob("*.py"))
    dotted = (".".join(file.relative_to(SOURCE.parent).with_suffix("").parts) for file in files)
    return [name.removesuffix(".__init__") for name in dotted]


@pytest.mark.parametrize("package", PURE)
def test_a_pure_package_loads_the_standard_library_and_the_core_alone(package):
    modules = modules_of(package)
    own, foreign = loaded_by(modules)
    assert own >= set(modules)
    assert foreign == set()
    roots = {".".join(name.split(".")[:2]) for name in own}
    assert roots <= {"freshline", "freshline.core", f"freshline.{package}"}


@pytest.mark.parametrize("package", ["cli", "project", "sql", "sim", "ingest", "ui"])
def test_a_package_that_needs_no_spark_loads_none(package):
    modules = modules_of(package)
    if not modules:
        pytest.skip(f"there is no freshline.{package} yet")
    own, foreign = loaded_by(modules)
    assert own >= set(modules)
    assert foreign & SPARK == set()


def test_the_command_line_starts_without_what_only_some_commands_need():
    if not (SOURCE / "cli" / "main.py").exists():
        pytest.skip("there is no freshline.cli.main yet")
    _, foreign = loaded_by(["freshline.cli.main"])
    assert foreign & (SPARK | HEAVY) == set()


_STATUS = """
import sys
from freshline.cli.main import main
sys.argv[1:] = ["status"]
try:
    main()
finally:
    print("loaded", *sys.modules)
"""


def test_freshline_status_of_a_project_loads_nothing_heavy(tmp_path):
    def told(*arguments: str, directory: Path) -> str:
        return subprocess.run(
            [sys.executable, *arguments], cwd=directory, capture_output=True, text=True, check=True
        ).stdout

    told("-m", "freshline", "init", "shop", directory=tmp_path)
    shown = told("-c", _STATUS, directory=tmp_path / "shop")
    loaded = {name.partition(".")[0] for name in shown.partition("loaded ")[2].split()}
    assert {"freshline", "sqlite3"} <= loaded
    assert loaded & (SPARK | HEAVY) == set()


def test_the_probe_sees_what_an_import_brings_along():
    own, foreign = loaded_by(["freshline.project.yaml.file"])
    assert "freshline.core.errors" in own
    assert "yaml" in foreign
