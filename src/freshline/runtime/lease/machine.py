"""Which processes this one can see, and whether one of them still runs."""

from __future__ import annotations

import uuid
from functools import cache
from pathlib import Path


@cache
def this_machine() -> str:
    """What tells the processes that this one can see from those of others.

    The kernel's boot and its table of processes: a container with its own is a machine of its own.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return uuid.uuid4().hex  # known to nobody, so nobody takes this process for gone


def has_ended(pid: int) -> bool:
    """Whether no process of that number runs; one that only waits to be reaped does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return text.rpartition(")")[2].split()[:1] in (["Z"], ["X"])
