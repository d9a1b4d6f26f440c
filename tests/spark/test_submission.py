"""Settings reach Spark's process, nobody finds them among its arguments, and its end is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from freshline.spark.engine.submission import submitted

SECRET = "k3y=of: the#store! \\ä\U0001f511"
START = """
import json, os, sys, time
from pathlib import Path
from freshline.project import load_project
from freshline.spark.engine.process import SparkProcess
from freshline.spark.engine.session import start_session

def listening(url):
    # Addresses that a port of this machine listens at, as the kernel writes them.
    port = f":{int(url.rpartition(':')[2]):04X}"
    lines = [each.split() for kind in ("tcp", "tcp6") if Path("/proc/net", kind).exists()
             for each in Path("/proc/net", kind).read_text().splitlines()[1:]]
    return sorted({each[1].removesuffix(port) for each in lines
                   if each[3] == "0A" and each[1].endswith(port)})

session = start_session(load_project(Path(sys.argv[1]), Path(sys.argv[1])))
read = lambda pid: Path("/proc", pid, "cmdline").read_bytes().decode(errors="replace")
jvms = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
found = {
    "arguments": [read(pid) for pid in jvms],
    "secret": session.sparkContext.getConf().get("spark.hadoop.fs.s3a.secret.key"),
    "hadoop": session.sparkContext._jsc.hadoopConfiguration().get("fs.s3a.secret.key"),
    "zone": session.conf.get("spark.sql.session.timeZone"),
    "rows": session.range(3).count(),
    "ui": listening(session.sparkContext.uiWebUrl),
    "temporary": session.sparkContext.getConf().get("spark.local.dir"),
    "tmpdir": session._jvm.System.getProperty("java.io.tmpdir"),
    "left": os.environ.get("PYSPARK_SUBMIT_ARGS"),
}
process = SparkProcess(session)
assert process.ended() is None
try:
    session.sparkContext._gateway.new_array(session._jvm.long, 200_000_000)
except Exception:
    pass
for _ in range(3000):
    if process.ended():
        break
    time.sleep(0.1)
found["full"] = process.ended().render()
print(json.dumps(found))
"""
YML = """\
name: shop
storage: warehouse
libraries: [{glob: {include: "*.sql"}}]
spark: {master: "local[1]"}
configuration:
  spark.hadoop.fs.s3a.secret.key: ${env:KEY_OF_THE_STORE}
  spark.driver.memory: 700m
  spark.ui.enabled: "true"
  spark.sql.session.timeZone: Asia/Tokyo
feeds: {lines: {kind: files, path: lines, format: csv, schema: "id INT"}}
"""


def test_a_key_reaches_spark_and_is_not_among_the_arguments(tmp_path: Path) -> None:
    (tmp_path / "freshline.yml").write_text(YML)
    (tmp_path / "t.sql").write_text("CREATE STREAMING TABLE t AS SELECT * FROM STREAM lines")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    env = os.environ | {"KEY_OF_THE_STORE": SECRET, "TMPDIR": str(temporary)}
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS"):
        env.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", START, str(tmp_path)],
        env=env, capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    (arguments,) = found.pop("arguments")
    assert found.pop("full") == (
        "[spark-out-of-memory] Spark ran out of memory: its heap of 700m is full. Nothing"
        " committed is lost. Give it more with `configuration: {spark.driver.memory: ...}` and"
        " start `freshline run` again."
    )
    # The UI, which asks nobody who they are, is for this machine alone.
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
    assert found["ui"]
    assert set(found.pop("ui")) <= loopback
    # What Spark's process left is gone with ours, although it died of a full heap.
    (own,) = {found.pop("temporary"), found.pop("tmpdir")}
    assert Path(own).parent == temporary / f"freshline-{os.geteuid()}"
    assert not any(Path(own).parent.iterdir())
    assert found == {
        "secret": SECRET, "hadoop": SECRET, "zone": "Asia/Tokyo", "rows": 3, "left": None,
    }  # fmt: skip
    assert "-Xmx700m" in arguments
    assert "k3y" not in arguments
    assert "fs.s3a" not in arguments
    assert not list(temporary.glob("*.properties"))


def test_the_file_is_private_and_the_users_arguments_hold(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--name mine pyspark-shell")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = os.umask(0)
    try:
        with submitted({"spark.a b": SECRET, "spark.c": " x "}):
            (file,) = tmp_path.iterdir()
            assert os.environ["PYSPARK_SUBMIT_ARGS"] == (
                f"--load-spark-defaults --properties-file {file} --name mine pyspark-shell"
            )
            assert file.stat().st_mode & 0o777 == 0o600
            assert file.read_text().splitlines() == [
                (
                    "spark.a\\u0020b=k3y\\u003dof\\u003a\\u0020the\\u0023store\\u0021\\u0020\\u005c"
                    "\\u00e4\\ud83d\\udd11"
                ),
                "spark.c=\\u0020x\\u0020",
            ]
    finally:
        os.umask(before)
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--name mine pyspark-shell"
    assert not list(tmp_path.iterdir())
