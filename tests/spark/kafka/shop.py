"""A project over one topic, whose records count upwards: what is lost or doubled shows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deltalake
from pyspark.sql import SparkSession

from demo.broker import Broker
from demo.kafka_jars import source_jars
from freshline.delta.log import commits
from freshline.project.load import load_project
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.options import RunOptions
from freshline.runtime.status.status import WarehouseStatus, read_status
from freshline.runtime.warehouse import Warehouse
from tests.spark.proof.support import QUICK, Kept, Seen

BASE_S = 1_767_225_600.0
"""2026-01-01; record n is stamped n seconds later."""

SETTINGS = """\
name: topics
storage: warehouse
maintenance: {{trials: false}}
libraries: [{{glob: {{include: tables/*.sql}}}}]
spark: {{master: "local[2]"}}
configuration: {{spark.jars: "{jars}"}}
feeds:
  orders_feed:
    kind: kafka
    servers: "{servers}"
    topic: {topic}
    schema: "id BIGINT NOT NULL, name STRING"
    starting: {starting}
"""
ALL = "CREATE STREAMING TABLE orders AS SELECT id FROM STREAM orders_feed;\n"


@dataclass
class TopicShop:
    root: Path
    broker: Broker
    spark: SparkSession
    topic: str
    next_id: int = 0
    written: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.declare()

    def declare(self, starting: str = "earliest", sql: str = ALL, more: str = "") -> None:
        jars = ",".join(str(jar) for jar in source_jars())
        text = SETTINGS.format(
            jars=jars, servers=self.broker.servers, topic=self.topic, starting=starting
        )
        (self.root / "tables").mkdir(exist_ok=True)
        (self.root / "freshline.yml").write_text(text + more)
        (self.root / "tables" / "orders.sql").write_text(sql)

    @property
    def project(self) -> Project:
        return load_project(self.root)

    def send(self, count: int, partition: int = 0, **settings: str) -> None:
        """Write so many records, and wait until they are safe."""
        producer = self.broker.producer(**settings)
        if settings:
            producer.init_transactions()
            producer.begin_transaction()
        for _ in range(count):
            self.put(producer, json.dumps({"id": self.next_id}), partition)
            self.written.append(self.next_id)
            self.next_id += 1
        if settings:
            producer.commit_transaction()
        producer.flush()

    def put(self, producer: Any, value: str | None, partition: int = 0, key: str = "k") -> None:
        stamp_ms = int((BASE_S + self.next_id) * 1000)
        producer.produce(self.topic, value, key, partition=partition, timestamp=stamp_ms)

    def run(self, **options: Any) -> tuple[Seen, int]:
        """Run until idle; what was seen, and how many tables were left behind."""
        seen = Seen()
        chosen = RunOptions(until_idle=True, **options)

        def executor() -> Any:
            return Kept(self, self.spark)

        left = Warehouse(self.project, executor, seen, chosen, backoff=QUICK).run()
        return seen, left

    def load(self) -> Seen:
        """Run until idle; everything must have been brought up to date."""
        seen, left = self.run()
        assert left == 0, (seen.failed, seen.notices)
        return seen

    def lose_journal(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{journal_path(self.project)}{suffix}").unlink(missing_ok=True)

    def status(self) -> WarehouseStatus:
        return read_status(self.project, BASE_S + 1_000_000.0)

    def rows(self, table: str = "orders") -> list[dict[str, Any]]:
        path = self.project.table_path(table)
        return list(deltalake.DeltaTable(path).to_pyarrow_table().to_pylist())

    def ids(self) -> list[int]:
        return sorted(row["id"] for row in self.rows())

    def offsets(self) -> list[dict[str, list[int]]]:
        """What each commit says that it loaded, oldest first."""
        return [commit.metadata["offsets"] for commit in commits(self.project.table_path("orders"))]
