"""Writes files of made-up orders into feed/orders, as a till would: one every few seconds.

python generate.py                          a file every five seconds, until Ctrl-C
python generate.py --files 20 --at-once     twenty files stamped five seconds apart, now

Each file is written under a name ending in .tmp and then renamed: freshline reads it only
when it is complete.
"""

from __future__ import annotations

import argparse
import csv
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

FEED = Path(__file__).parent / "feed" / "orders"
SHOPS = ("Aachen", "Bergen", "Cork")
PRICES = {"anvil": 89.00, "bell": 12.50, "clock": 39.90, "drum": 149.00, "easel": 25.75}


def orders(until: datetime, seconds: float, rows: int) -> Iterator[list[object]]:
    """Made-up orders of the last ``seconds`` before ``until``."""
    moments = sorted(until - timedelta(seconds=random.uniform(0.0, seconds)) for _ in range(rows))
    for moment in moments:
        product, price = random.choice(list(PRICES.items()))
        number = random.getrandbits(62)
        at = f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
        yield [number, at, random.choice(SHOPS), product, random.randint(1, 5), f"{price:.2f}"]


def write(until: datetime, seconds: float, rows: int) -> Path:
    """One file with the orders up to ``until``."""
    FEED.mkdir(parents=True, exist_ok=True)
    path, unfinished = mine(f"orders-{until:%Y%m%dT%H%M%S}")
    with unfinished.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "at", "shop", "product", "quantity", "price"])
        writer.writerows(orders(until, seconds, rows))
    unfinished.rename(path)
    return path


def mine(stamp: str) -> tuple[Path, Path]:
    """A file that nobody has written, and its unfinished one, which nobody else writes now."""
    for number in count(1):
        path = FEED / (f"{stamp}.csv" if number == 1 else f"{stamp}-{number}.csv")
        unfinished = path.with_suffix(".csv.tmp")
        with suppress(FileExistsError):
            unfinished.touch(exist_ok=False)
            if not path.exists():  # freshline may have loaded it: it is never replaced
                return path, unfinished
            unfinished.unlink()
    raise AssertionError("numbers do not end")


def main() -> None:
    """Write files as the command line says."""
    parser = argparse.ArgumentParser(description="Write files of made-up orders.")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two files")
    parser.add_argument("--files", type=int, help="stop after so many")
    parser.add_argument("--rows", type=int, default=200, help="orders in each")
    parser.add_argument("--at-once", action="store_true", help="do not wait between them")
    chosen = parser.parse_args()
    if chosen.at_once and not chosen.files:
        parser.error("--at-once needs --files")
    step = timedelta(seconds=chosen.every)
    first = datetime.now(UTC)
    if chosen.at_once:
        first -= step * (chosen.files - 1)
    for number in range(chosen.files) if chosen.files else count():
        until = first + step * number
        if not chosen.at_once:
            time.sleep(max(0.0, (until - datetime.now(UTC)).total_seconds()))
        print(write(until, chosen.every, chosen.rows))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
