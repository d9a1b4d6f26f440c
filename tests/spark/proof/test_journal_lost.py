"""The journal is a cache: deleted or damaged between runs, the result is the same."""

from __future__ import annotations

import pytest

from freshline.runtime.journal.paths import journal_path
from tests.spark.proof.equality import Checker
from tests.spark.proof.shop import Shop, one_of_each
from tests.spark.proof.support import run_here
from tests.support.share import share

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

VIEWS = ("hourly", "daily")


def deleted(path, _):
    path.unlink()


def cut_short(path, _):
    path.write_bytes(path.read_bytes()[:5_000])


def overwritten(path, chance):
    path.write_bytes(chance.randbytes(20_000))


def broken_inside(path, chance):
    """The header is whole, so SQLite opens it."""
    content = path.read_bytes()
    path.write_bytes(content[:4096] + chance.randbytes(len(content) - 4096))


HARMS = (deleted, cut_short, overwritten, broken_inside)


@pytest.mark.parametrize("harm", share(HARMS, part=3))
def test_a_journal_lost_between_runs_changes_nothing(tmp_path, spark, harm):
    shop = Shop(tmp_path, VIEWS)
    one_of_each(shop, 0)
    run_here(shop, spark)
    path = journal_path(shop.project)
    harm(path, shop.chance)
    one_of_each(shop, 1)
    seen = run_here(shop, spark)
    assert sorted(seen.done) == ["daily", "hourly", "orders", "visits"]
    aside = [file for file in path.parent.iterdir() if ".damaged-" in file.name]
    assert len(aside) == (harm is not deleted)
    assert [str(aside[0]) in notice for notice in seen.notices] == [True] if aside else True
    Checker(shop, spark).check()
