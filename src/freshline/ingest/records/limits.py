"""What one request may bring."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may bring.

    Attributes:
        body_bytes: Before and after decompression.
        record_bytes: Of one record: its JSON text, or its values in Arrow.
        records: In one request.
    """

    body_bytes: int = 64_000_000
    record_bytes: int = 1_000_000
    records: int = 1_000_000
