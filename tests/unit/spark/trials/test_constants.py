"""What a trial reads out of a query's text."""

from __future__ import annotations

from decimal import Decimal

from freshline.spark.trials.constants import constants_of

MINUTE_US, HOUR_US, DAY_US = 60_000_000, 3_600_000_000, 86_400_000_000


def test_numbers_texts_and_times_are_read_in_the_order_of_the_text():
    found = constants_of(
        "SELECT n FROM t WHERE n > 10.5 AND s = 'x' AND n <> 3L AND d < '2026-02-03' -- not 99\n"
        " AND s <> '7' AND k = 10.5"
    )
    assert found.numbers == (Decimal("10.5"), Decimal(3), Decimal(7))
    assert found.texts == ("x", "2026-02-03", "7")
    assert found.walls_us == (20_487 * DAY_US,)


def test_intervals_in_every_spelling_have_their_length_with_sums_and_differences():
    for text in (
        "a.ts > b.ts - INTERVAL 10 MINUTES AND a.ts <= b.ts + INTERVAL 1 HOUR",
        "a.ts > b.ts - interval '10' minute and a.ts <= b.ts + interval '1 hour'",
        "window(ts, '10 minutes', '1 hour')",
        "a.ts > b.ts - INTERVAL '1:00' HOUR TO MINUTE AND a.ts < b.ts - interval 10 minutes",
    ):
        spans = constants_of(f"SELECT * FROM a, b WHERE {text}").spans_us
        assert {10 * MINUTE_US, HOUR_US, HOUR_US + 10 * MINUTE_US, 50 * MINUTE_US} <= {*spans}


def test_units_that_times_are_truncated_to_count_as_lengths():
    assert constants_of("SELECT date_trunc('hour', ts) FROM t").spans_us[0] == HOUR_US
    assert constants_of("SELECT date_trunc('MONTH', ts) FROM t").spans_us[:3] == (
        28 * DAY_US,
        30 * DAY_US,
        31 * DAY_US,
    )


def test_days_added_to_a_date_count_as_lengths():
    assert 7 * DAY_US in constants_of("SELECT date_add(day, 7) FROM t").spans_us


def test_a_text_without_constants_has_none():
    assert constants_of("SELECT a FROM t") == constants_of("SELECT 'unclosed FROM t WHERE 3")


def test_names_behind_points_can_be_keys_of_maps():
    found = constants_of(
        "SELECT t.attrs.Color, m.`Shop Id` FROM t WHERE x > 1.5 AND m['Price'] > 2"
    )
    assert found.names == ("attrs", "Color", "color", "Shop Id", "shop id")
    assert found.texts == ("Price",)
