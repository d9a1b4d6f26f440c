"""A view whose parent is another table by now, where no checksum file tells one from another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from freshline.delta.log import last_commit
from freshline.executor.verified import RIGHT, SKIPPED
from freshline.spark.engine import jvm
from freshline.spark.verification.versions import Verifier
from tests.spark.conftest import Shop

pytestmark = pytest.mark.spark


@pytest.fixture(params=["in a store", "by another writer"])
def orders(shop: Shop, monkeypatch, request):
    """What adds a file to ``orders``, whose log is elsewhere or has no checksum files."""
    folder = shop.feed("f", "csv", "id BIGINT, k BIGINT")
    shop.table("orders", "SELECT id, k FROM STREAM f")
    shop.table("sums", "SELECT k, count(*) AS n FROM orders GROUP BY k", refresh="incremental")
    if request.param == "in a store":
        for module in ("delta.log", "delta.changelog", "spark.engine.pins"):
            monkeypatch.setattr(f"freshline.{module}.local_log", lambda _: None)
    else:
        # Marks of commits tell it where a log is on this machine; here identities are to.
        monkeypatch.setattr("freshline.delta.histories.commit_mark", lambda *_: None)

    def load(number: int, **more: object) -> None:
        (folder / f"{number}.csv").write_text(f"{number},{number}\n")
        shop.load("orders", f"{number}.csv", filled=number > 1, **more)
        for checksum in (Path(shop.path("orders")) / "_delta_log").glob("*.crc"):
            checksum.unlink()

    return load


def make_anew(shop: Shop, orders) -> None:
    """As who deletes a table does, and has its files loaded again."""
    shutil.rmtree(shop.path("orders"))
    jvm.named(shop.session, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    shop.restart()
    for number in (3, 4, 5):
        orders(number, full=number == 3)
    assert DeltaTable(shop.path("orders")).version() == 2


def test_it_is_computed_in_full(shop, orders):
    orders(1)
    orders(2)
    shop.derive("sums", orders=1)
    make_anew(shop, orders)
    result = shop.derive("sums", orders=2)
    assert (result.strategy, result.code) == ("full", "table-replaced")
    assert sorted(row["k"] for row in shop.rows("sums")) == [3, 4, 5]


def test_its_version_of_before_is_not_verified_over_it(shop, orders):
    orders(1)
    orders(2)
    shop.derive("sums", orders=1)
    verifier, sums = Verifier(shop.project), shop.project.table("sums")
    last = last_commit(shop.path("sums"))
    assert last is not None
    before = verifier.check(shop.session.newSession(), sums, last.version)
    assert before.outcome == RIGHT
    make_anew(shop, orders)
    after = verifier.check(shop.session.newSession(), sums, last.version)
    assert (after.outcome, after.reason) == (
        SKIPPED,
        "orders was dropped and created again since",
    )
