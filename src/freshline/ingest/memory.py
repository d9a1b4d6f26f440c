"""Memory that was needed for a moment is given back to the system at once.

A body of a megabyte is received, decoded, checked and forgotten, in several threads. glibc keeps
what was freed in one arena a thread, up to eight for each core, and Arrow's own allocator keeps
its pages for a while; both came to more than the gateway's limit (docs/design/0123).
"""

from __future__ import annotations

import ctypes
import os

import pyarrow as pa

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_SETTINGS = (
    (_ARENA_MAX, 2, "MALLOC_ARENA_MAX"),
    (_MMAP_THRESHOLD, 256 << 10, "MALLOC_MMAP_THRESHOLD_"),
    (_TRIM_THRESHOLD, 1 << 20, "MALLOC_TRIM_THRESHOLD_"),
)


def keep_little() -> None:
    """Set the allocators of this process so; what the user's environment says stays."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
    if mallopt is not None:
        for option, value, variable in _SETTINGS:
            if variable not in os.environ:
                mallopt(option, value)
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())
