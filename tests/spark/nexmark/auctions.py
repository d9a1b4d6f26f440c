"""Nexmark's auction house: persons, auctions and bids that arrive, and its queries as views.

The queries are those that mean something over tables: not those that read the clock of the machine
(12) or write files (10). Where the benchmark leaves ties open, the smallest number decides.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

PERSON = {
    "id": "bigint", "name": "string", "city": "string", "state": "string", "at": "timestamp",
}  # fmt: skip
AUCTION = {
    "id": "bigint", "item": "string", "initial": "bigint", "reserve": "bigint", "at": "timestamp",
    "expires": "timestamp", "seller": "bigint", "category": "int",
}  # fmt: skip
BID = {
    "auction": "bigint", "bidder": "bigint", "price": "bigint", "channel": "string",
    "url": "string", "at": "timestamp",
}  # fmt: skip
STREAMS: Mapping[str, Mapping[str, str]] = {"person": PERSON, "auction": AUCTION, "bid": BID}
SIDE = {"key": "bigint", "value": "string"}
START = datetime(2025, 3, 29, 23, 50, tzinfo=UTC)

_SOLD = (
    "SELECT a.id, a.item, a.seller, a.category, a.expires, b.bidder, b.price, b.at FROM auction a "
    "JOIN bid b ON a.id = b.auction AND b.at BETWEEN a.at AND a.expires "
    "QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.at, b.bidder) = 1"
)


@dataclass(frozen=True)
class Nexmark:
    """A query: its number, what it asks, its text."""

    name: str
    asks: str
    sql: str


QUERIES = (
    Nexmark("q0", "all bids", "SELECT auction, bidder, price, at FROM bid"),
    Nexmark("q1", "prices in euros",
            "SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23,3)) AS price, at FROM bid"),
    Nexmark("q2", "bids of some auctions",
            "SELECT auction, price FROM bid WHERE auction % 7 = 0"),
    Nexmark("q3", "who sells in a category and some states",
            "SELECT p.name, p.city, p.state, a.id FROM auction AS a INNER JOIN person AS p ON "
            "a.seller = p.id WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca')"),
    Nexmark("q4", "average of winning prices by category",
            "SELECT category, avg(final) AS average FROM (SELECT max(b.price) AS final, a.category "
            "FROM auction a, bid b WHERE a.id = b.auction AND b.at BETWEEN a.at AND a.expires "
            "GROUP BY a.id, a.category) GROUP BY category"),
    Nexmark("q5", "auctions with most bids in sliding windows",
            "WITH counted AS (SELECT auction, count(*) AS num, w.start AS starts, w.end AS ends "
            "FROM (SELECT auction, window(at, '10 seconds', '2 seconds') AS w FROM bid) "
            "GROUP BY auction, w.start, w.end) SELECT c.auction, c.num, c.starts FROM counted c "
            "JOIN (SELECT max(num) AS most, starts FROM counted GROUP BY starts) m "
            "ON c.starts = m.starts AND c.num >= m.most"),
    Nexmark("q6", "average of a seller's last ten sales",
            f"SELECT seller, id, avg(price) OVER (PARTITION BY seller ORDER BY at, id ROWS BETWEEN "
            f"10 PRECEDING AND CURRENT ROW) AS average FROM ({_SOLD})"),
    Nexmark("q7", "the highest bid of every ten seconds",
            "SELECT b.auction, b.price, b.bidder, b.at, m.till FROM bid b JOIN (SELECT max(price) "
            "AS most, w.end AS till FROM (SELECT price, window(at, '10 seconds') AS w FROM bid) "
            "GROUP BY w.end) m ON b.price = m.most AND b.at >= m.till - INTERVAL 10 SECONDS AND "
            "b.at < m.till"),
    Nexmark("q8", "persons that sell within ten seconds",
            "SELECT p.id, p.name, p.starts FROM (SELECT id, name, window(at, '10 seconds').start "
            "AS starts FROM person GROUP BY id, name, window(at, '10 seconds')) p JOIN (SELECT "
            "seller, window(at, '10 seconds').start AS starts FROM auction GROUP BY seller, "
            "window(at, '10 seconds')) a ON p.id = a.seller AND p.starts = a.starts"),
    Nexmark("q9", "winning bids", _SOLD),
    Nexmark("q11", "bids of a person's sessions",
            "SELECT bidder, count(*) AS bids, session_window.start AS starts, session_window.end "
            "AS ends FROM bid GROUP BY bidder, session_window(at, '10 seconds')"),
    Nexmark("q13", "bids with a table beside them",
            "SELECT b.auction, b.bidder, b.price, b.at, s.value FROM bid b JOIN side s ON "
            "b.auction % 5 = s.key"),
    Nexmark("q14", "what is worked out of each bid",
            "SELECT auction, bidder, 0.908 * price AS price, CASE WHEN hour(at) BETWEEN 8 AND 18 "
            "THEN 'day' WHEN hour(at) <= 6 OR hour(at) >= 20 THEN 'night' ELSE 'other' END AS "
            "time, at, length(replace(url, 'c', 'cc')) - length(url) AS cs FROM bid "
            "WHERE 0.908 * price BETWEEN 90 AND 5000"),
    Nexmark("q15", "a day's bids and bidders by rank of price",
            "SELECT date_format(at, 'yyyy-MM-dd') AS day, count(*) AS bids, count(*) FILTER (WHERE "
            "price < 100) AS low, count(*) FILTER (WHERE price >= 100 AND price < 1000) AS middle, "
            "count(DISTINCT bidder) AS bidders, count(DISTINCT bidder) FILTER (WHERE price < 100) "
            "AS lows, count(DISTINCT auction) AS auctions FROM bid "
            "GROUP BY date_format(at, 'yyyy-MM-dd')"),
    Nexmark("q16", "the same of each channel",
            "SELECT channel, CAST(at AS DATE) AS day, max(date_format(at, 'HH:mm')) AS minute, "
            "count(*) AS bids, count(DISTINCT bidder) AS bidders, count(DISTINCT auction) FILTER "
            "(WHERE price >= 100) AS auctions FROM bid GROUP BY channel, CAST(at AS DATE)"),
    Nexmark("q17", "prices of an auction's day",
            "SELECT auction, to_date(at) AS day, count(*) AS bids, min(price) AS least, max(price) "
            "AS most, avg(price) AS average, sum(price) AS total FROM bid "
            "GROUP BY auction, to_date(at)"),
    Nexmark("q18", "a bidder's last bid in each auction",
            "SELECT auction, bidder, price, channel, at FROM (SELECT *, row_number() OVER "
            "(PARTITION BY bidder, auction ORDER BY at DESC, price DESC, channel, url) AS place "
            "FROM bid) WHERE place <= 1"),
    Nexmark("q19", "the ten highest bids of each auction",
            "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, "
            "at, bidder, channel, url) AS place FROM bid) WHERE place <= 10"),
    Nexmark("q20", "bids with their auctions",
            "SELECT b.auction, b.bidder, b.price, b.at, a.item, a.seller, a.expires FROM bid AS b "
            "INNER JOIN auction AS a ON b.auction = a.id WHERE a.category = 10"),
    Nexmark("q21", "channels by name or from the address",
            "SELECT auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' "
            "WHEN 'google' THEN '1' ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS "
            "channel_id FROM bid WHERE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) <> '' OR "
            "lower(channel) IN ('apple', 'google')"),
    Nexmark("q22", "parts of the address",
            "SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, "
            "split_part(url, '/', 5) AS dir2 FROM bid"),
)  # fmt: skip

_ARROW = {
    "bigint": pa.int64(), "int": pa.int32(), "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
}  # fmt: skip


def table(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as the columns that are declared."""
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in columns.items()])
    return pa.Table.from_pylist([dict(row) for row in rows], schema)


def arrivals(step: int, seed: int, count: int) -> dict[str, pa.Table]:
    """What comes in one step: of fifty events one person, three auctions, the rest bids.

    Bids may come before their auction, auctions before their seller; some are late.
    """
    chance = random.Random(f"{seed} {step}")
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in STREAMS}
    for number in range(count):
        at = START + timedelta(seconds=step * 40 + chance.randrange(60))
        at -= timedelta(seconds=chance.choice((0, 0, 0, 0, 35, 3600)))
        at += chance.choice((0, 0, -1, 1)) * timedelta(microseconds=1)
        one = step * count + number
        kind = number % 10
        if kind == 0:
            rows["person"].append({
                "id": one // 10, "name": f"p{chance.randrange(9)}", "at": at,
                "city": chance.choice(("a", "b")), "state": chance.choice(("or", "id", "ca", "wa")),
            })  # fmt: skip
        elif kind in {1, 2}:
            rows["auction"].append({
                "id": one // 10 * 2 + kind, "item": f"i{one}", "initial": 1, "reserve": 50,
                "at": at, "expires": at + timedelta(seconds=chance.choice((10, 20, 60))),
                "seller": chance.randrange(one // 10 + 2), "category": chance.choice((10, 11, 12)),
            })  # fmt: skip
        else:
            channel = chance.choice(("apple", "Google", "x", "y"))
            more = chance.choice(("", f"&channel_id={chance.randrange(4)}"))
            rows["bid"].append({
                "auction": chance.randrange(one // 5 + 3),
                "bidder": chance.randrange(one // 10 + 3),
                "price": chance.choice((99, 100, 100, 101, 999, 1000, chance.randrange(1, 6000))),
                "channel": channel, "at": at,
                "url": f"scheme://host/{channel}/item/{one % 7}{more}",
            })  # fmt: skip
    return {name: table(columns, rows[name]) for name, columns in STREAMS.items()}
