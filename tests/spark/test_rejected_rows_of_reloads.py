"""Rejected rows over a reload: whatever becomes of it, no row is lost or there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshline.executor.records import UnreadableFilesError
from tests.spark.conftest import Shop, growing

pytestmark = pytest.mark.spark

REJECTED = "freshline.spark.feeds.rejected.failpoint"


@pytest.fixture
def folder(shop: Shop) -> Path:
    """Of a feed whose first file has a row that does not fit; it and the next are loaded."""
    folder = shop.feed("f", "csv", "id BIGINT")
    shop.table("t", "SELECT id FROM STREAM f")
    (folder / "a.csv").write_text("1\nx\n")
    (folder / "b.csv").write_text("2\n")
    (folder / "c.csv").write_text("3\ny\n")
    shop.load("t", "a.csv")
    shop.load("t", "b.csv", filled=True)
    return folder


def rejected(shop: Shop) -> list[tuple[str, int]]:
    return sorted((row["file"], row["update"]) for row in shop.rows("t__rejected"))


def give_up_a_reload(shop: Shop, folder: Path) -> None:
    with growing(folder / "b.csv", "4\n"), pytest.raises(UnreadableFilesError):
        shop.load("t", "a.csv", "b.csv", full=True, filled=True)
    shop.numbers["t"] -= 1  # what failed has no number


def die_behind_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(name: str) -> None:
        if name == "base.before_replaced":
            raise OSError(5, "died")

    monkeypatch.setattr(REJECTED, die)


@pytest.mark.parametrize("process", ["the same", "another"])
def test_one_that_is_given_up_takes_none_away(shop, folder, process):
    give_up_a_reload(shop, folder)
    if process == "another":
        shop.restart()
    shop.load("t", "c.csv", filled=True)
    assert [row["id"] for row in shop.rows("t")] == [1, 2, 3]
    assert rejected(shop) == [("a.csv", 1), ("c.csv", 3)]


def test_one_that_is_tried_again_replaces_them(shop, folder):
    give_up_a_reload(shop, folder)
    result = shop.load("t", "a.csv", "b.csv", full=True, filled=True)
    assert result.rejected_rows == 1
    assert rejected(shop) == [("a.csv", 3)]


@pytest.mark.parametrize("then", ["a load", "a load without rejected rows", "a reload"])
def test_a_death_behind_its_commit_leaves_the_rest_to_the_next_update(
    shop, folder, monkeypatch, then
):
    with monkeypatch.context() as patched:
        die_behind_the_commit(patched)
        assert shop.load("t", "a.csv", "b.csv", full=True, filled=True).rows == 2
    assert rejected(shop) == [("a.csv", 1), ("a.csv", 3)]
    shop.restart()
    if then == "a reload":
        shop.load("t", "a.csv", "b.csv", "c.csv", full=True, filled=True)
        assert rejected(shop) == [("a.csv", 4), ("c.csv", 4)]
        return
    if then != "a load":
        (folder / "c.csv").write_text("3\n")
    shop.load("t", "c.csv", filled=True)
    assert rejected(shop) == [("a.csv", 3), *([("c.csv", 4)] if then == "a load" else [])]
    shop.load("t", "b.csv", filled=True)
    assert len(rejected(shop)) == (2 if then == "a load" else 1)
