"""A row of the log: one request's records of one feed, and the checks that prove it whole.

SQLite notices neither a bit that flipped in a page nor, past the first bad frame, what its own
log lost. So every row carries a CRC over all of it, and
row numbers run without gaps.
"""

from __future__ import annotations

import hashlib
import struct
import threading
import zlib
from dataclasses import dataclass

import zstandard

from freshline.ingest.receipts import Batch

_LEVEL = 1
_NUMBERS = struct.Struct(">QQQQ")
_SIZE = struct.Struct(">I")
_HALF_BYTES = 8
_codecs = threading.local()


class DamagedError(Exception):
    """What was read is not what was written."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A batch ready for the log, before it has its place there.

    Attributes:
        feed: Its name.
        records: How many.
        key: The client's Idempotency-Key.
        received_us: Microseconds since the epoch.
        digest: Half of what was sent, half of the checked records: ``is_repeated``.
        body: A zstd frame with its own checksum.
        body_crc32: Of ``body``.
    """

    feed: str
    records: int
    key: str | None
    received_us: int
    digest: bytes
    body: bytes
    body_crc32: int


@dataclass(frozen=True, slots=True)
class Row:
    """What landing needs of a request in the log. ``id`` counts the requests of all feeds."""

    id: int
    feed: str
    first: int
    records: int
    received_us: int
    body: bytes

    @property
    def last(self) -> int:
        """Number of its last record."""
        return self.first + self.records - 1


def pack(batch: Batch, key: str | None, received_us: int) -> Packed:
    """Compress and digest a batch; both let other threads run."""
    codec: zstandard.ZstdCompressor | None = getattr(_codecs, "compressor", None)
    if codec is None:
        codec = _codecs.compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    frame = codec.compress(batch.body)
    digest = b""
    for content in (batch.body if batch.sent is None else batch.sent, batch.body):
        digest += hashlib.blake2b(content, digest_size=_HALF_BYTES).digest()
    return Packed(batch.feed, batch.records, key, received_us, digest, frame, zlib.crc32(frame))


def is_repeated(known: bytes, packed: Packed) -> bool:
    """Whether a request with a known key brings what it brought the first time.

    The same bytes do although the feed's schema has changed since, and the same records do
    although they are written otherwise.
    """
    return (
        known[:_HALF_BYTES] == packed.digest[:_HALF_BYTES]
        or known[_HALF_BYTES:] == packed.digest[_HALF_BYTES:]
    )


def unpack(body: bytes) -> bytes:
    """The Arrow IPC stream in a row's body.

    Raises:
        DamagedError: It is no whole zstd frame.
    """
    codec: zstandard.ZstdDecompressor | None = getattr(_codecs, "decompressor", None)
    if codec is None:
        codec = _codecs.decompressor = zstandard.ZstdDecompressor()
    try:
        return codec.decompress(body)
    except zstandard.ZstdError as error:
        raise DamagedError(f"its body cannot be decompressed: {error}") from error


def row_crc32(packed: Packed, row_id: int, first: int) -> int:
    """Over every column, the body first, so that its part can be had before the place is."""
    return _crc32(
        packed.body_crc32,
        (row_id, first, packed.records, packed.received_us),
        packed.feed,
        packed.key,
        packed.digest,
    )


def check(columns: tuple[object, ...]) -> Row:
    """The row of these columns, in the order of ``segment.COLUMNS``.

    Raises:
        DamagedError: A column has another type than was written, or the CRC differs.
    """
    row_id, feed, first, records, received_us, key, crc32, digest, body = columns
    numbers = (row_id, first, records, received_us)
    if not (
        all(isinstance(number, int) and number >= 0 for number in numbers)
        and isinstance(feed, str)
        and (key is None or isinstance(key, str))
        and isinstance(digest, bytes)
        and isinstance(body, bytes)
    ):
        raise DamagedError("a column has the wrong type")
    assert isinstance(row_id, int)
    assert isinstance(first, int)
    assert isinstance(records, int)
    assert isinstance(received_us, int)
    if _crc32(zlib.crc32(body), (row_id, first, records, received_us), feed, key, digest) != crc32:
        raise DamagedError("its checksum differs")
    return Row(row_id, feed, first, records, received_us, body)


def text_crc32(*parts: object) -> int:
    """Of a few values written in another table: ledger rows, keys, the witness."""
    return zlib.crc32(repr(parts).encode())


def _crc32(
    body: int, numbers: tuple[int, int, int, int], feed: str, key: str | None, digest: bytes
) -> int:
    name = feed.encode()
    head = _NUMBERS.pack(*numbers) + _SIZE.pack(len(name)) + name + digest
    return zlib.crc32(head + (b"\0" if key is None else b"\1" + key.encode()), body)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request in the backlog, without its body. ``size_bytes`` with what it takes besides."""

    id: int
    first: int
    last: int
    received_us: int
    size_bytes: int
