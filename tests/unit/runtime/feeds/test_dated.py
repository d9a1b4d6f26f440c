"""A look at an object store costs as much after a year as on the first day, and misses no file."""

from __future__ import annotations

import dataclasses
from datetime import date, timedelta

import pytest

from freshline.core.errors import Place
from freshline.delta import stores
from freshline.project.model import Feed
from freshline.runtime.feeds.dated import DatedFolders, are_dates
from freshline.runtime.feeds.known import KnownNames
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from tests.support.s3_server import S3Server


def days(count):
    return [str(date(2026, 1, 1) + timedelta(days=n)) for n in range(count)]


HOURS = [f"{hour:02d}" for hour in range(24)]
DATES = [
    ("", days(40)),
    ("shop/", [f"day={day}" for day in days(40)]),
    ("", ["2023", "2024", "2025", "2026"]),
    ("", [f"2026-01-05T{hour}" for hour in HOURS]),
    ("", [day.replace("-", "") for day in days(40)]),
    ("2026/01/05/", HOURS),
    ("shop/year=2026/month=01/", [f"day={hour}" for hour in HOURS]),
    ("2026-01-05/", [f"hour={hour}" for hour in HOURS]),
]
NO_DATES = [
    ("", []),
    ("", [*days(40), "old"]),
    ("", [f"customer={n:07d}" for n in range(40)]),
    ("", [f"shard={hour}" for hour in HOURS]),
    ("shop/", HOURS),
    ("", ["berlin", "hamburg", "köln", "rostock"]),
    ("", [*days(20), *(f"day={day}" for day in days(20))]),
]


@pytest.mark.parametrize(("prefix", "folders"), DATES)
def test_dates_are_told_by_their_names(prefix, folders):
    assert are_dates(prefix, folders)


@pytest.mark.parametrize(("prefix", "folders"), NO_DATES)
def test_other_names_and_numbers_are_no_dates(prefix, folders):
    assert not are_dates(prefix, folders)


def test_every_older_folder_has_its_turn():
    chooser, folders = DatedFolders(), days(30)
    assert chooser.chosen("", folders, (), everything=False) == folders  # none was there before
    seen = [chooser.chosen("", folders, (), everything=False) for _ in range(28)]
    assert {name for each in seen for name in each} == set(folders)
    assert all(len(each) == 3 for each in seen)
    assert all(set(folders[-2:]) <= set(each) for each in seen)
    asked = chooser.chosen("", folders, [f"{folders[3]}/a.csv"], everything=False)
    assert folders[3] in asked


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3") / "requests") as started:
        stores.use(started.settings)
        yield started
        stores.use({})


class Store:
    """A feed at the server, its listing, and a journal that knows what was told."""

    def __init__(self, server, name, tmp_path) -> None:
        self._client, self._name, self._bucket = server.client(), name, server.BUCKET
        path = f"s3a://{server.BUCKET}/{name}"
        feed = Feed("f", "files", path, "csv", {}, None, None, None, Place("p.yml", 1))
        self._journal = Journal(tmp_path / "own" / "journal.db", create=True)
        self.listing = FeedListing(feed)
        self.listing.know(KnownNames(tmp_path / "own" / "journal.db", ["t"]))

    def put(self, *names) -> None:
        for name in names:
            self._client.put_object(Bucket=self._bucket, Key=f"{self._name}/{name}", Body=b"1")

    def look(self) -> list[str]:
        look = self.listing.look()
        assert not look.problems
        names = [file.name for file in look.files]
        Ledger(self._journal).files_loaded("t", names, 1)
        self._journal.flush()
        return sorted(names)

    def close(self) -> None:
        self.listing.close()
        self._journal.close()


@pytest.fixture
def store(server, tmp_path, request):
    made = Store(server, request.node.name, tmp_path)
    yield made
    made.close()


@pytest.mark.slow
def test_what_a_look_costs_does_not_grow_with_the_days(server, store):
    names, costs = days(60), []
    for count in (10, 60):
        store.put(*(f"day={day}/a.csv" for day in names[:count]))
        store.look()
        store.look()
        before = server.listings()
        for n in range(3):
            store.put(f"day={names[count - 1]}/{count}-{n}.csv")
            assert store.look() == [f"day={names[count - 1]}/{count}-{n}.csv"]
        costs.append(server.listings() - before)
    assert costs[0] == costs[1] == 12  # the days, the newest two, an older one: three times


def test_each_file_is_told_once_where_years_months_and_days_are_folders(server, store):
    names = [f"2026/{month}/{day}/a.csv" for month in HOURS[1:6] for day in HOURS[1:7]]
    store.put(*names)
    assert store.look() == names
    store.look()
    late, new = "2026/02/03/late.csv", "2026/05/06/b.csv"
    store.put(late, new)
    before = server.listings()
    found = [store.look() for _ in range(14)]
    assert new in found[0]
    assert sorted(name for each in found for name in each) == [late, new]
    # The year, its months, three of them, three days of each.
    assert server.listings() - before == 14 * (1 + 1 + 3 + 9)


def test_a_file_that_vanished_is_told_when_it_is_there_again_also_on_an_older_day(store):
    names = [f"{day}/a.csv" for day in days(10)]
    store.put(*names)
    assert store.look() == names
    store.listing.forget(names[1])
    assert store.look() == [names[1]]
    assert store.look() == []


def test_folders_of_other_names_are_listed_in_one_request(server, store):
    names = [f"{town}/{n}.csv" for town in ("berlin", "hamburg", "bremen") for n in range(2)]
    store.put(*names)
    assert store.look() == sorted(names)
    before = server.listings()
    store.put("kiel/0.csv")
    assert store.look() == ["kiel/0.csv"]
    assert server.listings() - before == 1


def test_files_that_may_still_be_written_are_looked_at_each_time_also_on_older_days(store):
    feed = dataclasses.replace(store.listing.feed, settle_s=600.0)
    store.put(*(f"{day}/a.csv" for day in days(10)))
    listing = FeedListing(feed)
    assert [listing.look().moving for _ in range(3)] == [10, 10, 10]
    listing.close()
