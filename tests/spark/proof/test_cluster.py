"""A standalone cluster: updates survive the deaths of workers and executors, and use all of it.

Executors are killed in the middle of an update of every table, with and without dynamic allocation.
To be sure that they are in the middle, they run in slow motion: stopped and continued in turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyspark
import pytest

from freshline.delta.log import commit_of, last_commit
from tests.spark.proof.equality import DUCKDB, Checker
from tests.spark.proof.shop import START, Shop, file_name, one_of_each
from tests.spark.proof.support import PATIENCE_S, Child, eventually, run_here

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
    """A master and two workers of one core each, as processes of this machine.

    Each worker and its executor have a processor of their own, as far as there are two.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port, self.web_port = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._processes = [
            self._start(
                "master", "master.Master", "--host", "127.0.0.1", "--port", str(self.port),
                "--webui-port", str(self.web_port),
            )
        ]  # fmt: skip
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

    def executors(self) -> list[int]:
        """The processes that compute, which are in their workers' groups."""
        groups = {process.pid for process in self._workers.values()}
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it ended while we looked
                computes = b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes()
                if computes and os.getpgid(int(entry.name)) in groups:
                    found.append(int(entry.name))
        return found

    def signal_executors(self, number: signal.Signals) -> None:
        for pid in self.executors():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _start(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        processor = str(len(self._workers) % (os.cpu_count() or 1))
        pinned = ["taskset", "-c", processor] if main.startswith("worker") else []
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [*pinned, str(program), f"org.apache.spark.deploy.{main}", *arguments],
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


def made_shop(
    root: Path, cluster: Cluster, views: Iterable[str], ui_port: int, **more: str
) -> Shop:
    """A shop that runs on the cluster, on two tracks; ``more`` are settings of Spark."""
    settings = {
        "spark.executor.memory": "600m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.python": sys.executable,
        "spark.ui.enabled": "true",
        "spark.ui.port": str(ui_port),
        "spark.ui.liveUpdate.period": "0",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        **more,
    }
    lines = "".join(f'  {name}: "{value}"\n' for name, value in settings.items())
    return Shop(
        root, views, master=cluster.master,
        settings=f"scheduler: {{tracks: 2}}\nconfiguration:\n{lines}",
    )  # fmt: skip


def test_an_update_is_named_in_the_ui_and_survives_the_death_of_its_worker(
    tmp_path, cluster, spark
):
    ui_port = free_port()
    shop = made_shop(tmp_path / "shop", cluster, ("hourly", "crossed"), ui_port)
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


# ---- executors ----

VIEWS = ("hourly", "met", "spenders", "regions")
STRATEGIES = {"append", "full", "bucket-recompute", "group-merge"}
"""Of the base tables and these views."""
ALLOCATED = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.dynamicAllocation.executorIdleTimeout": "5s",
    "spark.dynamicAllocation.shuffleTracking.timeout": "5s",
    "spark.dynamicAllocation.cachedExecutorIdleTimeout": "5s",
    "spark.executor.cores": "1",
}
_UPDATE = re.compile(r"update (\d+) of (\w+): (?:\d+ files|from its parents)")


class Ui:
    """What Spark's own web page says of the run's jobs and executors."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1/applications"

    def computing(self) -> dict[str, int]:
        """The tables that tasks are running for now, and the numbers of their updates."""
        found = {}
        for job in self._asked("jobs?status=running"):
            named = _UPDATE.fullmatch(job.get("description") or "")
            if named is not None and job["numActiveTasks"]:
                found[named[2]] = int(named[1])
        return found

    def pools(self) -> set[str]:
        """The pools whose tasks are running."""
        stages = self._asked("stages?status=active")
        return {each["schedulingPool"] for each in stages if each["numActiveTasks"]}

    def busy_executors(self) -> int:
        executors = self._asked("executors")
        return sum(each["id"] != "driver" and each["activeTasks"] > 0 for each in executors)

    def _asked(self, what: str) -> Any:
        for application in fetched(self._url) or []:
            return fetched(f"{self._url}/{application['id']}/{what}") or []
        return []


def is_built(shop: Shop) -> bool:
    return all(last_commit(shop.project.table_path(each.name)) for each in shop.project.tables)


def killed_in_the_middle(
    child: Child, cluster: Cluster, ui: Ui, wanted: set[str]
) -> dict[str, int]:
    """Kill all executors while one of the wanted tables is computed; whose updates those were."""
    end_s = time.monotonic() + PATIENCE_S
    while True:
        assert child.process.poll() is None, child.output()
        assert time.monotonic() < end_s, (wanted, child.output())
        cluster.signal_executors(signal.SIGSTOP)
        time.sleep(0.1)  # what a task has said before it was stopped is heard
        found = ui.computing()
        if wanted & found.keys():
            cluster.signal_executors(signal.SIGKILL)
            return found
        cluster.signal_executors(signal.SIGCONT)
        time.sleep(0.3)


@pytest.mark.parametrize("allocated", [False, True])
def test_executors_are_killed_in_the_middle_of_every_tables_update(
    tmp_path, cluster, spark, allocated
):
    ui_port = free_port()
    more = ALLOCATED if allocated else {}
    shop = made_shop(tmp_path / "shop", cluster, VIEWS, ui_port, **more)
    one_of_each(shop, 0)
    cluster.wait_for_workers()
    ui = Ui(ui_port)
    wanted = {table.name for table in shop.project.tables}
    killed: dict[str, int] = {}
    with Child(shop, "--grace", "10m") as child:
        eventually(lambda: child.process.poll() is not None or is_built(shop))
        assert child.process.poll() is None, child.output()
        hour = 1
        while left := wanted - killed.keys():
            one_of_each(shop, hour)
            hour += 1
            killed |= killed_in_the_middle(child, cluster, ui, left)
        # Two updates at once, each in a pool of its own, on both executors.
        hour = both_work(shop, cluster, ui, hour)
        if allocated:
            eventually(lambda: len(cluster.executors()) == 1)
            one_of_each(shop, hour)
        child.process.send_signal(signal.SIGTERM)
        assert child.wait() == 0, child.output()
    run_here(shop, spark)
    Checker(shop, spark).check(by=(DUCKDB,))
    made = {
        table: commit_of(shop.project.table_path(table), number) for table, number in killed.items()
    }
    strategies = {name: each and each.metadata["strategy"] for name, each in made.items()}
    sys.stderr.write(f"\nkilled in the middle of: {strategies}\n")
    assert set(strategies.values()) >= STRATEGIES


def both_work(shop: Shop, cluster: Cluster, ui: Ui, hour: int) -> int:
    """Two updates run at once, each in its pool, on both executors; the next hour of files."""
    eventually(lambda: len(cluster.executors()) > 0)
    end_s = time.monotonic() + PATIENCE_S
    while True:
        assert time.monotonic() < end_s
        cluster.signal_executors(signal.SIGSTOP)
        time.sleep(0.1)
        seen = ui.computing(), ui.pools(), ui.busy_executors()
        cluster.signal_executors(signal.SIGCONT)
        if len(seen[0]) == len(seen[1]) == seen[2] == 2:
            return hour
        if not seen[0]:
            one_of_each(shop, hour)
            hour += 1
        time.sleep(0.1)
