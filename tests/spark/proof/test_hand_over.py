"""A standby takes over from a leader that dies, by real Spark: no row lost or doubled, and soon.

Files arrive all the time. Five leaders end in five ways: their process alone is killed, Spark's as
well, in the middle of a commit, stopped until their lease has expired, and stopped within a commit.
On S3 the leader's host is lost with its disk, on which the log of pushed records is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from freshline.client import push
from freshline.core.lease import LAPSE_S
from freshline.delta.log import commits, last_commit
from freshline.delta.stores import delta_table, use
from freshline.project.load import load_project
from freshline.project.model import Project
from tests.spark.proof.equality import DUCKDB, Checker
from tests.spark.proof.shop import START, Shop, file_name
from tests.spark.proof.support import Child, eventually, run_here
from tests.support.s3_server import S3Server
from tests.support.s3_spark import PACKAGES, WITHOUT, s3_jars

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(1800)]

WAYS = {
    "killed": "",
    "killed with Spark": "",
    "killed in a commit": "base.before_commit:12",
    "stopped": "",
    "stopped in a commit": "fence.after_check:25=stop",
}
"""How a leader ends, and the failpoint that ends it."""
BEYOND_S = 60.0
"""What a take-over may take beside the lease, Spark's start and the first update itself; two
seconds on a quiet machine, as the test writes out."""
VIEWS = ("hourly", "daily", "spenders")


class Load:
    """Files that arrive all the time."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._produce)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join()

    def _produce(self) -> None:
        number = 0
        while not self._enough.wait(0.5):
            at = START + timedelta(minutes=number)
            self._shop.orders(file_name("orders", at, number, ".csv"), at, 20, 1)
            if number % 3 == 0:
                self._shop.visits(file_name("visits", at, number, ".parquet"), at, 10)
            number += 1


def is_stopped(child: Child) -> bool:
    state = Path(f"/proc/{child.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "T"


def end(child: Child, way: str) -> None:
    """End a leader; those with a failpoint end by themselves."""
    if way == "killed":
        child.kill(group=False)
    elif way == "killed with Spark":
        child.kill(group=True)
    elif way == "killed in a commit":
        assert child.wait() == -signal.SIGKILL, child.output()
    elif way == "stopped":
        os.kill(child.process.pid, signal.SIGSTOP)
    else:
        eventually(lambda: child.process.poll() is not None or is_stopped(child))
        assert child.process.poll() is None, child.output()


def go_on(child: Child, way: str) -> None:
    """A leader that was stopped wakes up: it commits nothing and ends."""
    if way.startswith("stopped"):
        os.kill(child.process.pid, signal.SIGCONT)
        assert child.wait() == 1, child.output()
        assert "lease-lost" in child.output() or "lock-lost" in child.output()


def stands_by(child: Child, leader: Child) -> bool:
    """Whether a child waits for the lease, or has nobody to wait for."""
    assert child.process.poll() is None, child.output()
    return "standing by" in child.output() or leader.process.poll() is not None


def spark_of(child: Child) -> int:
    """Spark's process of a run."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended while we looked
            name, _, fields = stat.read_text().partition("(")[2].rpartition(")")
            if name == "java" and int(fields.split()[1]) == child.process.pid:
                return int(stat.parent.name)
    raise AssertionError(child.output())


def has_updated(project: Project, epoch: int) -> bool:
    """Whether the leader of an epoch has made an update: a fence is none."""
    newest = (last_commit(project.table_path(table.name)) for table in project.tables)
    return any(
        each.metadata["epoch"] == epoch and each.metadata.get("reason") != "fence"
        for each in newest
        if each is not None
    )


def seconds_in(child: Child, pattern: str) -> float:
    """What a line of a run's log says first."""
    found = re.search(pattern, child.output())
    assert found is not None, child.output()
    return float(found[1])


def spark_start_s(child: Child) -> float:
    return seconds_in(child, r"Spark ready after ([\d.]+) s")


def first_update_s(child: Child) -> float:
    """Of a JVM that has compiled nothing yet."""
    eventually(lambda: " rows in " in child.output())
    return seconds_in(child, r" rows in ([\d.]+) s")


def test_five_hand_overs_on_one_machine(tmp_path, spark):
    shop = Shop(tmp_path / "shop", VIEWS)
    took: list[str] = []
    beyond_s: list[float] = []
    with ExitStack() as children:
        ways = list(WAYS)
        failpoint = WAYS[ways[0]]
        leader = children.enter_context(Child(shop, "--standby", failpoint=failpoint, log="0.log"))
        with Load(shop):
            eventually(partial(has_updated, shop.project, 1))
            for number, way in enumerate(ways, start=1):
                failpoint = WAYS[ways[number]] if number < len(ways) else ""
                standby = children.enter_context(
                    Child(shop, "--standby", failpoint=failpoint, log=f"{number}.log")
                )
                eventually(partial(stands_by, standby, leader))
                end(leader, way)
                ended_s = time.monotonic()
                eventually(partial(has_updated, shop.project, number + 1))
                first_s = time.monotonic() - ended_s
                start_s, update_s = spark_start_s(standby), first_update_s(standby)
                took.append(
                    f"{way}: {first_s:.1f} s until the first update, of which Spark's start"
                    f" {start_s:.1f} s and the update {update_s:.1f} s"
                )
                beyond_s.append(first_s - start_s - update_s)
                go_on(leader, way)
                leader = standby
        leader.process.send_signal(signal.SIGTERM)
        assert leader.wait() == 0, leader.output()
    sys.stderr.write("\n" + "\n".join(took) + "\n")
    run_here(shop, spark)
    Checker(shop, spark).check(by=(DUCKDB,))
    for table in shop.project.tables:
        epochs = [each.metadata["epoch"] for each in commits(shop.project.table_path(table.name))]
        assert epochs == sorted(epochs)
    assert max(beyond_s) <= LAPSE_S + BEYOND_S, took


# ---- another host, on S3 ----


class Host:
    """A host's disk: the project, and the log of what was pushed to it."""

    def __init__(self, root: Path, server: S3Server) -> None:
        self.root = root
        configuration = "".join(
            f'  {name}: "{value}"\n' for name, value in (server.settings | WITHOUT).items()
        )
        (root / "tables").mkdir(parents=True)
        (root / "tables" / "clicks.sql").write_text(
            "CREATE STREAMING TABLE clicks AS SELECT id FROM STREAM pushed;\n"
            "CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n, sum(id) AS total"
            " FROM clicks;\n"
        )
        (root / "freshline.yml").write_text(
            "name: lake\nstorage: s3a://lake/shop\nmaintenance: {trials: false, audit: 0}\n"
            "libraries:\n  - glob: {include: tables/**/*.sql}\n"
            f"spark: {{master: 'local[2]', packages: {json.dumps(PACKAGES)}}}\n"
            f"configuration:\n{configuration}"
            "server: {port: 0}\ningest: {folder: ingest, land_after: 2 s}\n"
            "feeds:\n  pushed: {kind: push, schema: 'id BIGINT'}\n"
        )

    @property
    def project(self) -> Project:
        return load_project(self.root)

    def url(self, child: Child) -> str:
        """Where the run of this host takes pushes."""

        def said() -> str:
            assert child.process.poll() is None, child.output()
            state = self.root / "ingest" / "gateway.json"
            found = json.loads(state.read_text()) if state.exists() else {}
            return (
                str(found["url"]) if found.get("url") and found["pid"] == child.process.pid else ""
            )

        return eventually(said)

    def landed(self) -> int:
        """How many records this gateway has put into the storage; it says so once a second."""
        state = json.loads((self.root / "ingest" / "gateway.json").read_text())
        return int(state["feeds"]["pushed"]["landed_records"])


def ids(project: Project, table: str = "clicks") -> list[int]:
    try:
        rows = delta_table(project.table_path(table)).to_pyarrow_table()
    except Exception:  # noqa: BLE001 - not there yet
        return []
    return sorted(rows["id"].to_pylist())


def test_what_was_pushed_to_a_host_that_is_lost_with_its_disk_is_loaded_by_another(tmp_path):
    s3_jars()
    with S3Server() as server, ExitStack() as children:
        use(server.settings)
        first, second = Host(tmp_path / "first", server), Host(tmp_path / "second", server)
        leader = children.enter_context(Child(first, "--standby"))
        url = first.url(leader)
        push(url, "pushed", ({"id": number} for number in range(100)), key="a")
        eventually(lambda: ids(first.project) == list(range(100)))
        standby = children.enter_context(Child(second, "--standby"))
        eventually(lambda: "standing by" in standby.output())
        # Landed in the storage, but not loaded: the leader's Spark is stopped.
        os.kill(spark_of(leader), signal.SIGSTOP)
        push(url, "pushed", ({"id": number} for number in range(100, 200)), key="b")
        eventually(lambda: first.landed() == 200)
        assert ids(first.project) == list(range(100))
        leader.kill(group=True)
        lost_s = time.monotonic()
        shutil.rmtree(first.root)
        url = second.url(standby)
        push(url, "pushed", ({"id": number} for number in range(200, 300)), key="c")
        eventually(lambda: ids(second.project) == list(range(300)))
        sys.stderr.write(
            f"\nall of it after {time.monotonic() - lost_s:.1f} s,"
            f" of which Spark's start {spark_start_s(standby):.1f} s\n"
        )
        standby.process.send_signal(signal.SIGTERM)
        assert standby.wait() == 0, standby.output()
        # The host is back with an empty disk, and leads again.
        again = children.enter_context(Child(Host(first.root, server), "--standby"))
        url = first.url(again)
        push(url, "pushed", ({"id": number} for number in range(300, 310)))
        eventually(lambda: ids(second.project) == list(range(310)))
        use({})
