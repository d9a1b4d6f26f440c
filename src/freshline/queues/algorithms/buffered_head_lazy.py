"""As buffered-head, but a write takes everything outside the protected head.

Source: Motwani and Thomas 2004, section 4.1, footnote 4; rules M6, M11.
"""

from __future__ import annotations

from typing import ClassVar

from freshline.queues.algorithms.buffered_head import BufferedHead
from freshline.queues.memory import QueueMemory


class BufferedHeadLazy(BufferedHead):
    """BufferedHead with writes as large as they can be."""

    name: ClassVar[str] = "buffered-head-lazy"

    def _write_units(self, memory: QueueMemory) -> int:
        return memory.capacity


ALGORITHM = BufferedHeadLazy
