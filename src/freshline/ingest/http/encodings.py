"""Content-Encoding undone, never past a limit: a small body may claim to be a large one."""

from __future__ import annotations

import pyarrow as pa

from freshline.ingest.refusals import Refusal

CODINGS = ("gzip", "zstd")
_PIECE_BYTES = 1 << 16


def decoded(coding: str, body: bytes, most_bytes: int) -> bytes:
    """``body`` without its coding.

    Args:
        coding: Value of the Content-Encoding header, empty or ``identity`` without one.
        body: As it came.
        most_bytes: What it may come to.

    Raises:
        Refusal: An unknown coding (415), damaged or cut off (400), too large (413).
    """
    name = coding.strip().lower()
    if name in ("", "identity"):
        return body
    if name == "x-gzip":
        name = "gzip"  # RFC 9110, 8.4.1.3: the same
    if name not in CODINGS:
        raise Refusal(
            "unsupported-media-type",
            f"the content coding '{name}' is not one of {', '.join(CODINGS)}",
            headers={"Accept-Encoding": ", ".join(CODINGS)},
        )
    pieces: list[bytes] = []
    size_bytes = 0
    try:
        # Stops at what is read: 64 kB at a time, however much stands behind.
        with pa.CompressedInputStream(pa.BufferReader(body), name) as stream:
            while piece := stream.read(_PIECE_BYTES):
                size_bytes += len(piece)
                if size_bytes > most_bytes:
                    raise Refusal(
                        "too-large",
                        f"the body has more than {most_bytes:,} bytes once decompressed",
                    )
                pieces.append(piece)
    except (OSError, pa.ArrowException) as error:
        raise Refusal("bad-encoding", f"the body is no whole {name} stream") from error
    return b"".join(pieces)
