"""SQLite's log behind a damaged frame: made readable again, since SQLite gives up there.

Each frame's checksum continues the one before, so SQLite takes the first bad frame for the end
and drops every commit behind it without a word. Frames behind it that carry the log's salts were
written, though; with all checksums computed anew SQLite reads them, and the rows' own CRCs tell
which of them are whole. Done only when requests are known to be missing: on a sound log the
frames behind the end may be remains of a commit that was refused.

Source: the file format of SQLite's write-ahead log (sqlite.org/walformat.html).
"""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_LITTLE = 0x377F0682
_VERSION = 3007000
_PAGE_BYTES = 4096
_MASK = 0xFFFFFFFF


def mended(path: Path) -> bytes | None:
    """The log at ``path`` with every checksum right; None: it is sound, or holds nothing."""
    try:
        log = path.read_bytes()
    except FileNotFoundError:
        return None
    step = _FRAME.size + _PAGE_BYTES
    frames = (len(log) - _HEADER.size) // step
    if frames < 1:
        return None
    header = _HEADER.unpack_from(log)
    sound = header[0] == _LITTLE and header[6:] == _sum(log[:24], (0, 0))
    salts = header[4:6] if sound else _FRAME.unpack_from(log, _HEADER.size)[2:4]
    used = [
        at
        for at in range(frames)
        if _FRAME.unpack_from(log, _HEADER.size + at * step)[2:4] == salts
    ]
    if not used:
        return None
    head = struct.pack(">6I", _LITTLE, _VERSION, _PAGE_BYTES, header[3], *salts)
    checksum = _sum(head, (0, 0))
    made = bytearray(head + struct.pack(">2I", *checksum))
    changed = not sound
    for at in range(used[-1] + 1):
        offset = _HEADER.size + at * step
        page, size, *_, first, second = _FRAME.unpack_from(log, offset)
        body = log[offset + _FRAME.size : offset + step]
        checksum = _sum(body, _sum(log[offset : offset + 8], checksum))
        changed = changed or checksum != (first, second) or at not in used
        made += _FRAME.pack(page, size, *salts, *checksum) + body
    return bytes(made) if changed else None


def _sum(data: bytes, start: tuple[int, int]) -> tuple[int, int]:
    """SQLite's checksum, over pairs of little-endian words."""
    first, second = start
    words = struct.unpack(f"<{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & _MASK
        second = (second + words[at + 1] + first) & _MASK
    return first, second
