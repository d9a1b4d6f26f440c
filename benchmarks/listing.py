"""What a look at a feed on an object store costs: requests, seconds, and their price in a month.

One S3 server, and feeds of more and more files: all in one place, and in a folder for each day.
The first look of a run lists everything; those after it are measured, in turns with Amazon's own
client that lists the same names and does nothing with them. Requests are counted in the server's
log. A request to a real store takes longer, and lists as many names.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from statistics import median

from benchmarks.common.report import Goal, Report, asked_quick
from freshline.core.errors import Place
from freshline.delta import stores
from freshline.project.model import Feed
from freshline.runtime.feeds.known import KnownNames
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from tests.support.s3_server import S3Server

_LOOKS = 9
_A_DAY = 100
"""Files in the folder of a day."""
_EVERY_S, _MONTH_S = 10.0, 30 * 86_400.0
_PRICE_USD = 5e-6
"""Of a LIST request, at the greatest store's list price."""


def _names(count: int, *, dated: bool) -> list[str]:
    if not dated:
        return [f"{n:08d}.csv" for n in range(count)]
    first = date(2025, 1, 1)
    return [f"day={first + timedelta(days=n // _A_DAY)}/{n:08d}.csv" for n in range(count)]


def _put(server: S3Server, prefix: str, names: list[str]) -> None:
    client = server.client()

    def put(name: str) -> None:
        client.put_object(Bucket=server.BUCKET, Key=f"{prefix}/{name}", Body=b"1")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, names))


@contextmanager
def _listing(server: S3Server, prefix: str, root: Path) -> Iterator[tuple[FeedListing, Journal]]:
    path = f"s3a://{server.BUCKET}/{prefix}"
    feed = Feed("f", "files", path, "csv", {}, None, None, None, Place("freshline.yml", 1))
    journal = Journal(root / "own" / "journal.db", create=True)
    listing = FeedListing(feed)
    listing.know(KnownNames(root / "own" / "journal.db", ["t"]))
    try:
        yield listing, journal
    finally:
        listing.close()
        journal.close()


def _by_client(server: S3Server, prefix: str) -> int:
    pages = server.client().get_paginator("list_objects_v2")
    found = pages.paginate(Bucket=server.BUCKET, Prefix=f"{prefix}/")
    return sum(len(page.get("Contents", ())) for page in found)


def _measured(
    server: S3Server, prefix: str, count: int, root: Path, *, dated: bool
) -> tuple[float, float, float]:
    """Requests and seconds of a look, and seconds of the client."""
    names = _names(count, dated=dated)
    _put(server, prefix, names)
    with _listing(server, prefix, root) as (listing, journal):

        def look() -> list[str]:
            look = listing.look()
            if look.problems:
                raise RuntimeError(f"the listing of {prefix} failed: {look.problems}")
            told = [file.name for file in look.files]
            Ledger(journal).files_loaded("t", told, 1)
            journal.flush()
            return told

        if len(look()) != count:
            raise RuntimeError(f"the first look at {prefix} did not find {count} files")
        look()
        ours_s, client_s, requests = [], [], 0
        for n in range(_LOOKS):
            new = names[-1].replace(".csv", f"-{n}.csv")
            _put(server, prefix, [new])
            before, began_s = server.listings(), time.perf_counter()
            if look() != [new]:
                raise RuntimeError(f"a look at {prefix} did not find the new file alone")
            ours_s.append(time.perf_counter() - began_s)
            requests += server.listings() - before
            began_s = time.perf_counter()
            _by_client(server, prefix)
            client_s.append(time.perf_counter() - began_s)
    return requests / _LOOKS, median(ours_s), median(client_s)


def measure(*, quick: bool) -> Report:
    """Feeds of more and more files, with and without folders."""
    counts = (500, 2_000) if quick else (1_000, 10_000)
    rows: list[Sequence[str]] = []
    found: dict[bool, list[tuple[float, float, float]]] = {True: [], False: []}
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        root = Path(folder)
        with S3Server(root / "requests") as server:
            stores.use(server.settings)
            for dated in (True, False):
                for count in counts:
                    name = f"{'dated' if dated else 'flat'}-{count}"
                    one = _measured(server, name, count, root / name, dated=dated)
                    found[dated].append(one)
                    requests, ours_s, client_s = one
                    usd = requests * _MONTH_S / _EVERY_S * _PRICE_USD
                    how = "a folder for each day" if dated else "one folder"
                    rows.append((how, f"{count:,}", f"{requests:.1f}", f"{ours_s * 1000:.0f}",
                                 f"{ours_s / client_s:.2f}", f"{usd:.2f}"))  # fmt: skip
            stores.use({})
    dated_requests = [each[0] for each in found[True]]
    return Report(
        "listing",
        "A look at a feed on an S3 server, when one file has come",
        ("files are in", "files", "requests", "ms", "to listing all", "USD a month"),
        rows,
        goals=[
            Goal(
                "requests with folders of days, most files to fewest",
                dated_requests[-1] / dated_requests[0],
                1.0,
            ),
            Goal(
                "a look at one folder to listing it by Amazon's client, most files",
                found[False][-1][1] / found[False][-1][2],
                1.5,
            ),
        ],
        notes=[
            f"Medians of {_LOOKS} looks at a server on this machine; {_A_DAY} files a day.",
            f"USD: a look every {_EVERY_S:.0f} s at 5 USD a million LIST requests.",
        ],
        quick=quick,
        data={"dated": found[True], "flat": found[False]},
    )


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
