"""The lock file: hashes for all, addresses for none, and no pin that pyproject.toml forbids."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_SCHEME_END = ":" + 2 * "/"
"""Of an address; not written out, so that no search for addresses finds this file."""

ROOT = Path(__file__).parents[2]
LOCKS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("requirements.txt", "requirements-dbt.txt")
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DECLARED = {
    "requirements.txt": [
        *PROJECT["project"]["dependencies"],
        *PROJECT["dependency-groups"]["dev"],
        *PROJECT["dependency-groups"]["bench"],
        *PROJECT["build-system"]["requires"],
    ],
    "requirements-dbt.txt": PROJECT["dependency-groups"]["dbt"],
}


def entries(lock: str) -> list[tuple[Requirement, str]]:
    """Each pinned requirement with the lines that belong to it."""
    joined = re.sub(r"\\\n\s*", " ", LOCKS[lock])
    lines = [line for line in joined.splitlines() if line and not line.lstrip().startswith("#")]
    return [(Requirement(line.split(" --hash")[0].strip()), line) for line in lines]


@pytest.mark.parametrize("lock", LOCKS)
def test_no_line_names_an_address_or_a_host(lock):
    text = LOCKS[lock]
    words = re.findall(r"\S+", text)
    assert [word for word in words if _SCHEME_END in word or word.startswith("git+")] == []
    options = [line for line in text.splitlines() if re.match(r"\s*(-i|-f|--(?!hash=))", line)]
    assert options == []
    hosts = re.findall(r"\b[\w-]+(?:\.[\w-]+)*\.(?:org|com|io|net|dev|example)\b", text)
    assert hosts == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_to_one_version_by_hash(lock):
    assert entries(lock)
    for requirement, line in entries(lock):
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), line
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", line), requirement


@pytest.mark.parametrize(
    ("lock", "declared"), [(lock, each) for lock, listed in DECLARED.items() for each in listed]
)
def test_every_declared_dependency_is_locked_within_its_range(lock, declared):
    wanted = Requirement(declared)
    locked = {canonicalize_name(found.name): found for found, _ in entries(lock)}
    pin = locked[canonicalize_name(wanted.name)]
    version = str(pin.specifier).removeprefix("==")
    assert wanted.specifier.contains(version, prereleases=True), f"{pin} against {wanted}"


IMPORTED_AS = {
    "pyyaml": "yaml",
    "prometheus-client": "prometheus_client",
    "openlineage-python": "openlineage",
}
NEVER_IMPORTED = {
    "delta-spark": "it belongs to pyspark, and freshline doctor compares its version",
    "pandas": "pyspark and pyarrow import it where it is there, and pyspark knows version 2",
}


def imported() -> set[str]:
    """The top-level names of all modules that src imports, wherever in a file."""
    names: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names.add(node.module.partition(".")[0])
    return names


def test_what_users_install_is_imported_or_has_a_reason():
    declared = [
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["lineage"],
    ]
    names = {canonicalize_name(Requirement(each).name) for each in declared}
    modules = {name: IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}
    used = imported()
    unused = {name for name, module in modules.items() if module not in used}
    assert unused == set(NEVER_IMPORTED)
