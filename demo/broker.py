"""A Kafka broker of one node, for the tests and the demo: started, asked, and gone again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from demo.kafka_jars import MISSING, broker_jars
from demo.places import DemoError

_START_S = 120.0
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/log
num.partitions=1
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
log.cleaner.backoff.ms=200
log.retention.ms=-1
log.initial.task.delay.ms=100
log.segment.delete.delay.ms=100
"""


class Broker:
    """A broker as a child process; ends with its ``with``.

    Args:
        folder: For its settings, log and data; made if it is not there.

    Attributes:
        servers: Where it listens, on the loopback alone.

    Raises:
        DemoError: Its jars are not there, or it does not start.
    """

    def __init__(self, folder: Path) -> None:
        if not broker_jars():
            raise DemoError(MISSING)
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._port, controller = _free_ports(2)
        self._settings = folder / "server.properties"
        self._settings.write_text(
            _PROPERTIES.format(port=self._port, controller=controller, folder=folder)
        )
        self.servers = f"127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None
        self._format()
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, on what its log holds, and wait until it answers."""
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java("kafka.Kafka"), str(self._settings)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )
        end_s = time.monotonic() + _START_S
        while True:
            if self._process.poll() is not None or time.monotonic() > end_s:
                text = (self._folder / "broker.log").read_text(errors="replace")[-2000:]
                raise DemoError(f"Kafka's broker did not start: {text}")
            try:
                with socket.create_connection(("127.0.0.1", self._port), timeout=1.0):
                    pass
                self.admin().list_topics(timeout=2.0)
            except Exception:  # noqa: BLE001 - librdkafka's own kinds, until it is up
                time.sleep(0.1)
            else:
                return

    def stop(self) -> None:
        """Kill it; what was acknowledged is in its log."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    # ---- as its users ----

    def admin(self) -> AdminClient:
        """A client that makes and changes topics."""
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def make_topic(self, name: str, partitions: int = 1, **settings: str) -> None:
        """Make a topic; settings with ``_`` for the dots."""
        config = {key.replace("_", "."): value for key, value in settings.items()}
        admin = self.admin()  # kept until it has answered
        admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result()

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and wait until it is gone."""
        admin = self.admin()
        admin.delete_topics([name])[name].result()
        while name in admin.list_topics(timeout=5.0).topics:
            time.sleep(0.05)

    def grow_topic(self, name: str, partitions: int) -> None:
        """Give a topic more partitions, and wait until they are there."""
        admin = self.admin()
        admin.create_partitions([NewPartitions(name, partitions)])[name].result()
        while len(admin.list_topics(name, timeout=5.0).topics[name].partitions) < partitions:
            time.sleep(0.05)

    def producer(self, **settings: str) -> Producer:
        """A client that writes; settings with ``_`` for the dots."""
        config = {key.replace("_", "."): value for key, value in settings.items()}
        given = {"bootstrap.servers": self.servers, "linger.ms": 5, "log_level": 0}
        return Producer(given | config)

    # ---- inside ----

    def _java(self, *arguments: str) -> list[str]:
        home = os.environ.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else shutil.which("java") or "java"
        path = os.pathsep.join(str(jar) for jar in broker_jars())
        # It lives for seconds to minutes: the quickest start counts, not the best code.
        quick = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        return [java, *quick, "-cp", path, *arguments]

    def _format(self) -> None:
        command = [*self._java("kafka.tools.StorageTool"), "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk"]
        done = subprocess.run(
            [*command, "-c", str(self._settings)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise DemoError(f"Kafka's storage could not be made: {done.stderr or done.stdout}")


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
