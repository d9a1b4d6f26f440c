"""CPU time of a process, of a process group and of all others; Linux, from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds so far, of a process group and of the rest of the machine."""

    own_s: float
    others_s: float

    def __sub__(self, other: Self) -> Usage:
        return Usage(self.own_s - other.own_s, self.others_s - other.others_s)


def usage(group: int) -> Usage:
    """What the group's living processes and everybody else have used since they began."""
    own_s = sum(
        (int(fields[11]) + int(fields[12])) / _TICKS
        for fields in _processes()
        if int(fields[2]) == group
    )
    # user, nice, system, idle, iowait, irq, softirq; steal is not ours to count
    first = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    busy = sum(int(first[index]) for index in (0, 1, 2, 5, 6))
    return Usage(own_s, busy / _TICKS - own_s)


def process_s(process: int) -> float:
    """CPU seconds of one living process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _processes() -> list[list[str]]:
    """The fields of each process's stat behind its name, state first."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found.append(path.read_text().rsplit(")", 1)[1].split())
        except OSError:
            continue  # it has ended
    return found
