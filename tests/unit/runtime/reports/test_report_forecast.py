"""What a stream should bring: the rest of an earlier window, at today's pace and with its lag."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.forecast import Forecast, forecast, typical_start_s
from freshline.runtime.reports.store import Arrival


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / "journal.db", create=True)
    yield made
    made.close()


def came(journal: Journal, *updates: tuple[float, float, int]) -> None:
    """Updates of orders: committed at, fresh to, rows."""
    for at_s, to_s, rows in updates:
        journal.write(
            "INSERT INTO updates (table_name, state, finish_s, to_s, rows)"
            " VALUES ('orders', 'done', ?, ?, ?)",
            (at_s, to_s, rows),
        )
    journal.flush()


def expected(journal: Journal, now_s: float, *, closed: bool = False) -> list[Arrival]:
    """Of the window (1000, 1100], by the one before it where there is one."""
    typical_s = typical_start_s(journal, ["orders"], 1000.0, 1100.0)
    found = forecast(journal, "orders", 1000.0, 1100.0, now_s, typical_s=typical_s, closed=closed)
    return list(found.arrivals)


BEFORE = [(905.0 + at, 900.0 + at, 10) for at in (20.0, 40.0, 60.0, 80.0, 100.0)]


def test_what_came_and_the_rest_of_the_window_before(journal: Journal) -> None:
    came(journal, *BEFORE, (1025.0, 1020.0, 10), (1045.0, 1040.0, 10))
    assert expected(journal, 1046.0) == [
        Arrival(1025.0, 10, 1020.0),
        Arrival(1045.0, 10, 1040.0),
        Arrival(1065.0, 10, 1060.0),
        Arrival(1085.0, 10, 1080.0),
        Arrival(1105.0, 10, 1100.0),  # committed behind the window's end, and still of it
    ]


def test_a_lag_moves_the_rest_and_takes_nothing_from_it(journal: Journal) -> None:
    came(journal, *BEFORE, (1065.0, 1020.0, 10))  # 45 s on its way, not 5
    assert expected(journal, 1070.0)[1:] == [
        Arrival(1040.0 + 45.0 + at, 10, 1040.0 + at) for at in (0.0, 20.0, 40.0, 60.0)
    ]


def test_fewer_rows_up_to_the_same_freshness_are_fewer_in_all(journal: Journal) -> None:
    came(journal, *BEFORE, (1065.0, 1060.0, 15))
    # 15 rows for 30, and a tenth of a window for each: 20 / 35 of the usual 20 rows are to come.
    assert expected(journal, 1066.0)[1:] == [Arrival(1085.0, 6, 1080.0), Arrival(1105.0, 5, 1100.0)]


def test_an_update_that_is_overdue_tells_a_lag_though_nothing_came(journal: Journal) -> None:
    came(journal, *BEFORE)
    first = expected(journal, 1075.0)[0]
    # It was due at 1025; 20 s more, an update's part of the window, tell nothing.
    assert first == Arrival(1075.0, 10, 1020.0)
    assert expected(journal, 1075.0)[-1] == Arrival(1105.0 + 30.0, 10, 1100.0)
    assert expected(journal, 1040.0)[-1] == Arrival(1105.0, 10, 1100.0)


def test_nothing_is_to_come_of_a_closed_or_complete_window(journal: Journal) -> None:
    came(journal, *BEFORE, (1025.0, 1020.0, 10))
    assert len(expected(journal, 1200.0, closed=True)) == 1
    came(journal, (1106.0, 1101.0, 7))
    assert len(expected(journal, 1107.0)) == 1


def test_without_an_earlier_window_the_rate_goes_on_in_steps_of_the_updates(
    journal: Journal,
) -> None:
    came(journal, (1022.0, 1020.0, 10), (1042.0, 1040.0, 10))
    assert expected(journal, 1043.0)[2:] == [
        Arrival(1062.0, 10, 1060.0), Arrival(1082.0, 10, 1080.0), Arrival(1102.0, 10, 1100.0),
    ]  # fmt: skip


def test_of_several_earlier_windows_the_one_in_the_middle_is_expected(journal: Journal) -> None:
    def window(back: int, rows: int, delay_s: float) -> tuple[float, float, int]:
        to_s = 1050.0 - 100.0 * back
        return to_s + delay_s, to_s, rows

    came(journal, window(1, 500, 1.0), window(2, 90, 1.0), window(3, 100, 1.0))
    assert typical_start_s(journal, ["orders"], 1000.0, 1100.0) == 700.0
    came(journal, window(4, 100, 400.0), window(5, 100, 2.0))  # as many, one of them very late
    assert typical_start_s(journal, ["orders"], 1000.0, 1100.0) == 500.0
    assert typical_start_s(journal, ["returns"], 1000.0, 1100.0) is None


def test_the_days_before_a_change_of_clocks_begin_at_their_own_midnight(journal: Journal) -> None:
    """On a day of 23 hours the day before has 24: what came at its noon is expected at noon."""
    hour_s, today_s = 3600.0, 1e6
    midnights = {
        today_s - 24 * hour_s * back: today_s - 24 * hour_s * (back + 1) for back in range(9)
    }
    came(journal, (today_s - 11.5 * hour_s, today_s - 12.0 * hour_s, 100))
    today = ["orders"], today_s, today_s + 23 * hour_s
    assert typical_start_s(journal, *today, midnights.__getitem__) == today_s - 24 * hour_s
    assert typical_start_s(journal, *today) == today_s - 23 * hour_s


def test_rows_up_to_a_freshness_within_an_update_are_its_share() -> None:
    found = Forecast(0.0, 100.0, (Arrival(41.0, 40, 40.0), Arrival(101.0, 60, 100.0)))
    assert [found.rows_upto(at_s) for at_s in (0.0, 10.0, 40.0, 70.0, 100.0, 200.0)] == [
        0.0, 10.0, 40.0, 70.0, 100.0, 100.0,
    ]  # fmt: skip
    assert found.lag_s(Arrival(75.0, 1, 70.0)) == 4.0
