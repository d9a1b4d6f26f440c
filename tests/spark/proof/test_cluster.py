"""A standalone cluster: an update is named in Spark's UI, and survives a worker's death."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.spark.proof.equality import DUCKDB, Checker
from tests.spark.proof.shop import START, Shop, file_name
from tests.spark.proof.support import Child, eventually

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(1800)]

ROWS = 10_000
"""Of both base tables: their product keeps a core busy for seconds."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetched(url: str) -> Any:
    """The JSON at an address; None while nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)
    except (urllib.error.URLError, TimeoutError, ConnectionError, ValueError):
        return None


class Cluster:
    """A master and two workers of one core each, as processes of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port, self.web_port = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        self._processes = [
            self._start(
                "master", "master.Master", "--host", "127.0.0.1", "--port", str(self.port),
                "--webui-port", str(self.web_port),
            )
        ]  # fmt: skip
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        for number in (1, 2):
            web_port = free_port()
            self._workers[web_port] = self._start(
                f"worker{number}", "worker.Worker", "--host", "127.0.0.1", "--cores", "1",
                "--memory", "1g", "--work-dir", str(folder / f"work{number}"),
                "--webui-port", str(web_port), self.master,
            )  # fmt: skip
        self._processes += self._workers.values()

    def wait_for_workers(self) -> None:
        url = f"http://127.0.0.1:{self.web_port}/json/"
        eventually(lambda: (fetched(url) or {}).get("aliveworkers") == 2)

    def kill_worker(self, web_port: int) -> None:
        """SIGKILL to a worker and the executor that it started."""
        os.killpg(self._workers[web_port].pid, signal.SIGKILL)
        self._workers[web_port].wait()

    def stop(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _start(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [str(program), f"org.apache.spark.deploy.{main}", *arguments],
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )


@pytest.fixture
def cluster(tmp_path) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.stop()


def test_an_update_is_named_in_the_ui_and_survives_the_death_of_its_worker(
    tmp_path, cluster, spark
):
    ui_port = free_port()
    settings = {
        "spark.executor.memory": "600m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.python": sys.executable,
        "spark.ui.enabled": "true",
        "spark.ui.port": str(ui_port),
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    lines = "".join(f'  {name}: "{value}"\n' for name, value in settings.items())
    shop = Shop(
        tmp_path / "shop",
        ("hourly", "crossed"),
        master=cluster.master,
        settings=f"configuration:\n{lines}",
    )
    for number in range(4):
        at = START + timedelta(hours=number)
        shop.orders(file_name("orders", at, number, ".csv"), at, ROWS // 4, number)
        shop.visits(file_name("visits", at, number, ".parquet"), at, ROWS // 4)
    cluster.wait_for_workers()
    with Child(shop, "--until-idle") as child:
        cluster.kill_worker(eventually(lambda: busy_workers(child, ui_port))[0])
        assert child.wait() == 0, child.output()
    Checker(shop, spark).check(by=(DUCKDB,))


def busy_workers(child: Child, ui_port: int) -> list[int]:
    """Web ports of the workers that now compute the view ``crossed``, by Spark's own UI."""
    assert child.process.poll() is None, child.output()
    ui = f"http://127.0.0.1:{ui_port}/api/v1/applications"
    for application in fetched(ui) or []:
        url = f"{ui}/{application['id']}"
        jobs = fetched(f"{url}/jobs?status=running") or []
        if [job.get("description") for job in jobs] == ["update 1 of crossed: from its parents"]:
            return [
                int(executor["executorLogs"]["stdout"].split("/")[2].rsplit(":", 1)[1])
                for executor in fetched(f"{url}/executors") or []
                if executor["activeTasks"] and executor["id"] != "driver"
            ]
    return []
