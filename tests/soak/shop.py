"""The soak's project: two feeds, three views of different strategies, and what they must hold."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import deltalake

PROJECT = """\
name: soak
storage: {storage}
libraries:
  - glob: {{include: tables/*.sql}}
spark: {{master: "local[2]", update_timeout: 5 minutes}}
scheduler: {{tracks: 2}}
maintenance: {{trials: false, retention: 1 hour}}
server: {{port: 0}}
feeds:
  orders_feed:
    kind: files
    path: feed/orders
    format: csv
    schema: "id BIGINT, usr BIGINT, amount BIGINT"
    period: 1 second
  users_feed:
    kind: files
    path: feed/users
    format: csv
    schema: "usr BIGINT, shop BIGINT"
    period: 5 seconds
"""
TABLES = """\
CREATE STREAMING TABLE orders AS SELECT id, usr, amount FROM STREAM orders_feed;
CREATE STREAMING TABLE users AS SELECT usr, shop FROM STREAM users_feed;
CREATE MATERIALIZED VIEW large AS SELECT id, amount FROM orders WHERE amount >= 50;
CREATE MATERIALIZED VIEW by_user AS
  SELECT usr, count(*) AS n, sum(amount) AS amount FROM orders GROUP BY usr;
CREATE MATERIALIZED VIEW by_shop AS
  SELECT u.shop, count(*) AS n, sum(o.amount) AS amount
  FROM orders o JOIN users u ON o.usr = u.usr GROUP BY u.shop;
"""
BASES, VIEWS = ("orders", "users"), ("large", "by_user", "by_shop")
_USERS = 40


class Place(Protocol):
    """A project in a folder, what comes into it, and what its tables must hold.

    Attributes:
        root, storage: Its folder, and where its tables are.
        files: How many were produced.
        views: Their names.
        some_rows: A condition that holds for some rows of each view.
    """

    root: Path
    storage: Path
    files: int
    views: tuple[str, ...]
    some_rows: str

    def produce(self, until: threading.Event, every_s: float) -> None:
        """Write files until told to stop."""

    def table(self, name: str) -> deltalake.DeltaTable:
        """A table as others see it."""

    def differences(self) -> list[str]:
        """What is wrong with each table."""


class Shop:
    """The project in a folder, its producer, and what was produced.

    Args:
        root: An empty folder.
        storage: Where its tables are.
        seed: Of what is produced.
    """

    def __init__(self, root: Path, storage: Path, seed: int) -> None:
        self.root = root
        self.storage = storage
        self._chance = random.Random(seed)
        self.orders: list[tuple[int, int, int]] = []
        self.users: list[tuple[int, int]] = []
        self.files = 0
        self.views: tuple[str, ...] = VIEWS
        self.some_rows = "amount > 200 OR amount % 7 = 0"
        (root / "tables").mkdir(parents=True)
        (root / "freshline.yml").write_text(PROJECT.format(storage=storage))
        (root / "tables" / "all.sql").write_text(TABLES)

    def produce(self, until: threading.Event, every_s: float) -> None:
        """Write files for both feeds until told to stop; late ones and older days among them."""
        while not until.wait(self._chance.expovariate(1.0 / every_s)):
            self.files += 1
            if self.files % 12 == 1 and len(self.users) < _USERS:
                rows = [(len(self.users) + n, self._chance.randrange(5)) for n in range(4)]
                self.users += rows
                self._write("users", f"u{self.files:06d}.csv", rows)
            else:
                orders = [
                    (1000 * self.files + n, self._chance.randrange(_USERS + 3),
                     self._chance.randrange(100))
                    for n in range(self._chance.randrange(1, 30))
                ]  # fmt: skip
                self.orders += orders
                day = max(0, self.files // 60 - self._chance.choice([0, 0, 0, 0, 1, 2]))
                self._write("orders", f"day={day:03d}/o{self.files:06d}.csv", orders)

    def _write(self, feed: str, name: str, rows: Sequence[tuple[int, ...]]) -> None:
        path = self.root / "feed" / feed / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.tmp")
        draft.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
        draft.rename(path)

    def table(self, name: str) -> deltalake.DeltaTable:
        """A table as others see it."""
        return deltalake.DeltaTable(str(self.storage / name))

    def differences(self) -> list[str]:
        """Every table that does not hold what it must, by brute force over what was produced."""
        users = dict(self.users)
        by_user: dict[int, list[int]] = defaultdict(list)
        by_shop: dict[int, list[int]] = defaultdict(list)
        for _, user, amount in self.orders:
            by_user[user].append(amount)
            if user in users:
                by_shop[users[user]].append(amount)
        wanted: dict[str, list[tuple[int, ...]]] = {
            "orders": list(self.orders),
            "users": list(self.users),
            "large": [(number, amount) for number, _, amount in self.orders if amount >= 50],
            "by_user": [(user, len(each), sum(each)) for user, each in by_user.items()],
            "by_shop": [(shop, len(each), sum(each)) for shop, each in by_shop.items()],
        }
        return [each for name in wanted for each in self._compared(name, wanted[name])]

    def _compared(self, name: str, wanted: list[tuple[int, ...]]) -> list[str]:
        rows = self.table(name).to_pyarrow_table()
        found = Counter(zip(*(column.to_pylist() for column in rows.columns), strict=True))
        more, less = found - Counter(wanted), Counter(wanted) - found
        if not (more or less):
            return []
        too_many = f"{more.total()} rows too many ({list(more)[:3]})"
        too_few = f"{less.total()} too few ({list(less)[:3]})"
        return [f"{name}: {too_many}, {too_few} of {len(wanted)}"]


def stamp() -> str:
    """Now, for the soak's log."""
    return datetime.fromtimestamp(time.time(), UTC).strftime("%H:%M:%S")


def say(text: str) -> None:
    """A line of the soak's log, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
