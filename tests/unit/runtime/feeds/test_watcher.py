"""How often feeds are listed."""

from __future__ import annotations

import pytest

from freshline.core.errors import Place
from freshline.project.model import Feed
from freshline.runtime.feeds.watcher import local_interval_s


def _feed(path: str, period_s: float | None) -> Feed:
    return Feed(
        "orders", "files", path, "csv", options={}, schema="id INT", timestamp=None,
        period_s=period_s, place=Place("freshline.yml", 1),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("period_s", "took_s", "folders", "interval_s"),
    [
        (1.0, 0.0002, 1, 0.05),  # quick to list, and new files are expected each second
        (0.1, 0.0002, 1, 0.05),
        (60.0, 0.0002, 1, 3.0),
        (3600.0, 0.0002, 1, 10.0),
        (None, 0.0002, 1, 0.25),
        (1.0, 0.0002, 15, 0.15),  # fifteen such feeds take 0.02 of a processor
        (1.0, 0.0002, 300, 0.2),  # never rarer than a folder that takes long
        (1.0, 3.0, 1, 0.2),
        (60.0, 3.0, 1, 6.0),
    ],
)
def test_a_local_folder_that_is_cheap_to_list_is_listed_more_often(
    period_s: float | None, took_s: float, folders: int, interval_s: float
) -> None:
    assert local_interval_s(_feed("/feeds/orders", period_s), took_s, folders) == pytest.approx(
        interval_s
    )


def test_an_object_store_is_not_listed_more_often_for_being_quick() -> None:
    assert local_interval_s(_feed("s3://bucket/orders", 1.0), 0.0001, 1) == 2.0
