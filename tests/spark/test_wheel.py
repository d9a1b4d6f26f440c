"""The wheel by itself: installed into an empty environment, a project made and run there.

Takes minutes, so it runs in the proof alone, or where FRESHLINE_WHEEL is set: to 1, or to the bin
folder of an environment into which a wheel was installed before.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from freshline.spark.engine.java import find_java
from tests.support.share import WHOLE

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not (WHOLE or "FRESHLINE_WHEEL" in os.environ),
        reason="FRESHLINE_WHEEL=1 installs the wheel into an empty environment: minutes",
    ),
]

ROOT = Path(__file__).parents[2]
PATIENCE_S = 1500.0


def done(*line: object, at: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A program in an environment of a new user: no Java, Spark or Python of ours is named."""
    ours = ("JAVA_HOME", "SPARK_LOCAL_IP", "PYSPARK_PYTHON", "PYTHONPATH", "SPARK_SUBMIT_OPTS")
    env = {key: value for key, value in os.environ.items() if key not in ours} | more
    return subprocess.run(
        [str(each) for each in line],
        cwd=at,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that has nothing but the wheel and what it asks for."""
    given = Path(os.environ.get("FRESHLINE_WHEEL", "1"))
    if given.is_dir():
        return given
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    venv.create(folder / "v", with_pip=True, symlinks=True)
    (wheel,) = folder.glob("freshline-*.whl")
    into = [folder / "v/bin/python", "-m", "pip", "install", "--quiet", wheel]
    subprocess.run([str(each) for each in into], check=True, capture_output=True, timeout=1500)
    return folder / "v" / "bin"


@pytest.fixture(scope="module")
def shop(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample project with some files."""
    folder = tmp_path_factory.mktemp("user")
    made = done(installed / "freshline", "init", "shop", at=folder)
    assert made.returncode == 0, made.stderr
    generate = ("generate.py", "--files", "3", "--at-once")
    fed = done(installed / "python", *generate, at=folder / "shop")
    assert fed.returncode == 0, fed.stderr
    return folder / "shop"


def test_the_sample_runs_and_no_resolver_is_heard(installed, shop, tmp_path):
    """The jars are fetched into a folder of this test's own, and none a second time."""
    assert find_java() is not None
    settings = shop / "freshline.yml"
    text = settings.read_text()
    more = (
        f"configuration: {{spark.jars.ivy: {tmp_path / 'ivy'}}}\nmaintenance: {{trials: false}}\n"
    )
    settings.write_text(f"{text}\n{more}")
    doctor = done(installed / "freshline", "doctor", "--json", at=shop)
    assert doctor.returncode == 0, doctor.stdout
    states = {each["name"]: each["state"] for each in json.loads(doctor.stdout)["checks"]}
    assert states["jars"] == "warning"
    ran = done(installed / "freshline", "run", "--until-idle", at=shop)
    assert ran.returncode == 0, ran.stderr
    assert "fetching io.delta:delta-spark" in ran.stderr
    assert not any(word in ran.stderr.lower() for word in ("ivy", "resolv", "confs:", "found io."))
    again = done(installed / "freshline", "doctor", "--json", at=shop)
    assert {each["state"] for each in json.loads(again.stdout)["checks"]} == {"ok"}

    # A machine without network: the jars are copied, and nothing is fetched.
    copied = done(installed / "freshline", "jars", "--into", "jars", at=shop)
    assert copied.returncode == 0, copied.stderr
    shutil.rmtree(tmp_path / "ivy")
    text = settings.read_text()
    settings.write_text(text.replace("spark: {master", "spark: {jars: jars, master"))
    generate = ("generate.py", "--files", "1", "--at-once")
    assert done(installed / "python", *generate, at=shop).returncode == 0
    verified = done(installed / "freshline", "verify", "orders", "--json", at=shop)
    assert verified.returncode == 0, verified.stderr
    assert json.loads(verified.stdout)["tables"]["orders"]["checked"] == [0]
    assert not (tmp_path / "ivy").exists()
