"""Requests of 500 records of 200 bytes each, as Arrow and as JSON lines."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

import pyarrow as pa

from freshline.ingest.records.arrow_types import arrow_schema
from freshline.project.ddl import columns

RECORDS = 500
RECORD_BYTES = 200
SCHEMA = "id BIGINT, amount DOUBLE, note STRING"
_ARROW = arrow_schema(columns(SCHEMA))
# id and amount take 8 bytes each, the note's offset 4.
_NOTE_BYTES = RECORD_BYTES - 20


@dataclass(frozen=True, slots=True)
class Sent:
    """One request.

    Attributes:
        arrow: An Arrow IPC stream of the records.
        lines: The same records as JSON lines.
        records: Each record's line, for stores that keep records one by one.
    """

    arrow: bytes
    lines: bytes
    records: tuple[bytes, ...]


def requests(count: int) -> list[Sent]:
    """``count`` different requests; half of their bytes are left when they are compressed."""
    dice = random.Random(1)
    made = []
    for number in range(count):
        rows = [
            {
                "id": number * RECORDS + index,
                "amount": round(dice.uniform(0.0, 1000.0), 2),
                "note": dice.randbytes(_NOTE_BYTES // 2).hex(),
            }
            for index in range(RECORDS)
        ]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, _ARROW) as writer:
            writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=_ARROW))
        lines = tuple(json.dumps(row, separators=(",", ":")).encode() for row in rows)
        made.append(Sent(sink.getvalue().to_pybytes(), b"\n".join(lines), lines))
    return made
