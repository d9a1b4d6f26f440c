"""The SQL that lies in wait in DuckDB's words, and where the two engines do not mean the same."""

from __future__ import annotations

from freshline.sql.query.normal import normalise
from tests.spark.views.lie_in_wait import SOURCES, Trap

_EPOCH = "TIMESTAMPTZ '1970-01-01 00:00:00'"

_OWN_WORDS = {
    "booleans": "SELECT shop, bool_and(flag), bool_and(flag), bool_or(flag), count_if(flag),"
    " bit_xor(pieces) FROM sale GROUP BY shop",
    "value_of_the_newest": "SELECT shop, arg_max_null(pieces, id), arg_min_null(amount, id)"
    " FROM sale GROUP BY shop",
    "window_struct_as_a_key": "SELECT {'start': w, 'end': w + INTERVAL 1 HOUR}, count(*) FROM"
    ' (SELECT date_trunc(\'hour\', "at") AS w FROM sale WHERE "at" IS NOT NULL) GROUP BY w',
    "explode_of_nothing": "SELECT id, unnest(if(flag, [1, 2], [NULL])) FROM sale",
    "months": "SELECT CAST(date_trunc('month', \"at\") AS DATE), count(*) FROM sale GROUP BY 1",
    "windows_do_not_know_summer": 'SELECT time_bucket(INTERVAL 24 HOURS, "at",'
    f' {_EPOCH[:-1]}+00\'), count(*) FROM sale WHERE "at" IS NOT NULL GROUP BY 1',
    "buckets_of_two_hours": f'SELECT time_bucket(INTERVAL 2 HOURS, "at", {_EPOCH}), count(*)'
    " FROM sale GROUP BY 1",
    "columns_under_other_names": "SELECT date_trunc('hour', b), count(*) FROM part AS p"
    " (a, b, c, d, e) GROUP BY 1",
    "unit_that_is_none": "SELECT NULL, count(*) FROM sale HAVING count(*) > 0",
    "buckets_of_days": "SELECT date_trunc('day', \"at\"), count(*) FROM sale GROUP BY 1",
}
"""Where sqlglot finds none."""

_DISAGREE = {
    "struct_as_an_aggregate": "NULL in a struct is the least in Spark, the greatest in DuckDB",
}
"""Why Spark alone judges a view."""

_DISAGREE_IN_ZONES = {
    "band_of_24_hours_over_the_change": "24 hours are a day of the calendar to Spark alone",
    "hours_of_a_wall_clock": "the hour that comes twice is one to DuckDB's date_trunc",
    "rank_in_the_long_hour": "the hour that comes twice is one to DuckDB's date_trunc",
    "a_clock_without_a_zone": "Spark's date_trunc makes an instant of a wall clock",
    "a_wall_clock_made_an_instant": "of two instants Spark takes the first, DuckDB the second",
}
"""The same where clocks change."""


def in_duckdb(trap: Trap, zone: str) -> str | None:
    """The query for DuckDB in a session of that time zone; None: it would mean another thing."""
    if trap.name in _DISAGREE or (zone != "UTC" and trap.name in _DISAGREE_IN_ZONES):
        return None
    if trap.name in _OWN_WORDS:
        return _OWN_WORDS[trap.name]
    query = normalise(trap.query, SOURCES).sql(dialect="duckdb")
    # Of so few values Spark's estimate is the exact one.
    return query.replace("APPROX_QUANTILE(", "QUANTILE_DISC(")
