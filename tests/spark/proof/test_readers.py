"""Who reads a view while it is updated sees one of its versions, whole."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Self

import pytest
from deltalake import DeltaTable

from tests.spark.proof.equality import DUCKDB, Checker, counted
from tests.spark.proof.shop import START, Shop, file_name
from tests.spark.proof.support import run_here, running_here
from tests.support.share import WHOLE

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

UPDATES = 100 if WHOLE else 6
POLL_S = 0.02


class Reader:
    """Polls a table by delta-rs; keeps what each look saw."""

    def __init__(self, path: Path) -> None:
        self.looks: list[tuple[int, Counter]] = []
        self.failure: BaseException | None = None
        self._path = path
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="reader")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _poll(self) -> None:
        try:
            while not self._stopped.wait(POLL_S):
                table = DeltaTable(self._path)
                self.looks.append((table.version(), counted(table.to_pyarrow_table())))
        except BaseException as error:  # noqa: BLE001 - the test asserts that there is none
            self.failure = error


def add_orders(shop: Shop, number: int) -> None:
    at = START + timedelta(hours=number % 48)
    shop.orders(file_name("orders", at, number, ".csv"), at, 5)


def test_a_reader_never_sees_a_view_empty_or_partial(tmp_path, spark):
    shop = Shop(tmp_path, ("hourly",))
    checker = Checker(shop, spark)
    add_orders(shop, 0)
    run_here(shop, spark)
    with running_here(shop, spark) as seen, Reader(checker.storage / "hourly") as reader:
        number = 0
        while seen.done.count("hourly") < UPDATES:
            number += 1
            add_orders(shop, number)
            seen.wait_for("orders", seen.done.count("orders") + 1)
    assert reader.failure is None
    pins = {commit.version: commit.metadata["parents"] for commit in checker.commits("hourly")}
    assert len(pins) > UPDATES
    expected = {version: checker.expected("hourly", pins[version], DUCKDB) for version in pins}
    assert all(expected.values())
    for version, rows in reader.looks:
        assert rows == expected[version], f"a look at version {version}"
    versions = [version for version, _ in reader.looks]
    assert versions == sorted(versions)
    assert len(set(versions)) > UPDATES / 4
