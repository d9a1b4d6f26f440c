"""What ALTER SESSION says about the statements behind it."""

from __future__ import annotations

import pytest

from freshline.importing.snowflake.script import read_snowflake
from freshline.importing.writing import write
from freshline.project.load import load_project

DAYS = (
    "create dynamic table {} target_lag = '1 hour' warehouse = w as"
    " select date_trunc('day', ltz) d from t;\n"
)
ZONED = "create table t (ltz timestamp_ltz, n timestamp_ntz);\n"


def test_a_sessions_time_zone_is_the_projects(tmp_path):
    path, into = tmp_path / "one.sql", tmp_path / "new"
    tokyo = "ALTER SESSION SET TIMEZONE = 'Asia/Tokyo';\n"
    path.write_text(
        f"{tokyo}{ZONED}{DAYS.format('a')}{tokyo}{DAYS.format('b')}"
        f"alter session set timezone = 'UTC';\n{DAYS.format('c')}"
        f"alter session unset timezone;\n{DAYS.format('e')}{tokyo}{DAYS.format('f')}"
    )
    outcomes = write(read_snowflake(path), into).assembly.outcomes
    zone = load_project(into, into).configuration["spark.sql.session.timeZone"]
    assert zone == "Asia/Tokyo"
    reasons = {each.item.key: each.left_out[0] for each in outcomes if each.left_out}
    assert {key: reason[:35] for key, reason in reasons.items() if key in "abcef"} == {
        "a": "WAREHOUSE: updates run on the proje",
        "b": "WAREHOUSE: updates run on the proje",
        "c": "its session's time zone is UTC, tha",
        "e": "its session's time zone is not said",
        "f": "WAREHOUSE: updates run on the proje",
    }
    assert len(outcomes[0].changed) == 1


def test_without_a_time_zone_the_page_names_the_columns_that_depend_on_it(tmp_path):
    path = tmp_path / "one.sql"
    path.write_text(ZONED + DAYS.format("a"))
    outcomes = write(read_snowflake(path), tmp_path / "new").assembly.outcomes
    assert outcomes[0].changed[1].startswith("dates and hours of ltz (TIMESTAMP_LTZ) are those of")


TIMES = (
    "create table times (id number, s text, ntz timestamp_ntz, d date, tz timestamp_tz(9), ltz"
    " timestamp_ltz);\n"
)


@pytest.mark.parametrize(
    ("query", "is_told"),
    [
        # In Snowflake the text, the date and the time without a zone are of the session's zone.
        ("select 1 v from times where tz > '2024-05-31'", True),
        ("select 1 v from times where tz >= d", True),
        ("select 1 v from times where tz between ntz and '2024-06-30 12:00:00'", True),
        ("select coalesce(tz, ntz) as v from times", True),
        ("select tz as v from times union all select ntz from times", True),
        ("select 1 v from times where ltz = '2024-05-31'", True),
        ("select 1 v from times where tz > '2024-05-31 12:00:00 +02:00'", False),
        ("select 1 v from times where tz > ltz", False),
        ("select 1 v from times where ntz > '2024-05-31'", False),
        ("select ntz::date as v from times where ntz > d", False),
        ("select year(lag(d) over (order by id)) as v from times", False),
        ("select year(lead(d, 1) over (order by id)) as v from times", False),
        ("select year(coalesce(d, ntz)) as v from times", False),
        ("select year(case when id > 1 then ntz else d end) as v from times", False),
        ("select year(coalesce(d, ltz)) as v from times", True),
        # Of a table that the script does not declare: it may be a TIMESTAMP_LTZ.
        ("select made::date as v from raw.events", True),
        ("select year(made) as v from raw.events", True),
        ("select date_trunc('day', made) as v from raw.events", True),
        ("select 1 v from raw.events where made > '2024-05-31'", True),
        ("select 1 v from raw.events e join times on e.made = d", True),
        ("select 1 v from raw.events where made > '2024-05-31 12:00:00 +02:00'", False),
        ("select 1 v from raw.events e join times on e.id = times.id where e.k = '1234'", False),
        ("select max(made) as v, s || 'x' as w from raw.events group by 2", False),
    ],
)
def test_what_depends_on_a_time_zone_that_no_script_says_is_told(tmp_path, query, is_told):
    """Before, only the declared columns of type TIMESTAMP_LTZ were."""
    path = tmp_path / "one.sql"
    text = f"{TIMES}create dynamic table shop.x target_lag = '1 hour' warehouse = w as {query};\n"
    path.write_text(text)
    found = read_snowflake(path)
    assert [each.refusal for each in found.items if each.key == "shop.x"] == [None]
    told = [each for each in found.notes if each.startswith("Some tables are computed in Spark's")]
    assert [each.endswith("They are shop.x.") for each in told] == [True] * is_told
    path.write_text(f"alter session set timezone = 'Asia/Tokyo';\n{text}")
    assert read_snowflake(path).notes == ()


def test_a_column_list_that_makes_dates_depends_on_the_time_zone(tmp_path):
    path = tmp_path / "one.sql"
    made = " target_lag = '1 hour' warehouse = w as select made, made from raw.events;\n"
    path.write_text(
        f"create dynamic table x (d date, m timestamp_ntz){made}create dynamic table y (d, m){made}"
        "create view v (n) as select d from x where d > '2024-05-31';\n"
    )
    (note,) = read_snowflake(path).notes
    assert note.endswith("They are x.")


def test_statements_behind_a_parameter_that_changes_what_they_mean_are_refused(tmp_path):
    path = tmp_path / "one.sql"
    path.write_text(
        f"{ZONED}{DAYS.format('a')}alter session set query_tag = 'x';\n{DAYS.format('b')}"
        f"alter session set TIMESTAMP_TYPE_MAPPING = 'TIMESTAMP_LTZ';\n{DAYS.format('c')}"
    )
    reasons = {each.key: each.refusal for each in read_snowflake(path).items}
    assert reasons == {
        "t": None,
        "a": None,
        "b": None,
        "c": "ALTER SESSION SET TIMESTAMP_TYPE_MAPPING in front of it changes what it means",
    }


def test_a_parameter_that_decides_where_nulls_are_is_not_passed_over(tmp_path):
    path = tmp_path / "one.sql"
    path.write_text(
        f"{ZONED}alter session set default_null_ordering = 'FIRST';\n"
        "create dynamic table d target_lag = '1 hour' warehouse = w as"
        " select ltz from t qualify row_number() over (order by n) = 1;\n"
    )
    reasons = {each.key: each.refusal for each in read_snowflake(path).items}
    assert reasons["d"] == (
        "ALTER SESSION SET DEFAULT_NULL_ORDERING in front of it changes what it means"
    )


@pytest.mark.parametrize(
    ("query", "taken"),
    [
        ("select id, s || 'x' as w from times where id > 3", True),
        ("select year(d) as y, ntz from times where ntz > d", True),
        ("select id, made from raw.events", True),
        ("select ltz from times", False),
        ("select year(tz) as y from times", False),
        ("select cast(d as timestamp_ltz) as y from times", False),
        ("select year(made) as v from raw.events", False),
        ("select 1 v from raw.events where made > '2024-05-31'", False),
    ],
)
def test_what_stands_in_front_of_the_time_zone_is_taken_where_it_needs_none(tmp_path, query, taken):
    path = tmp_path / "one.sql"
    path.write_text(
        f"{TIMES}create view shop.x as {query};\n"
        "alter session set timezone = 'UTC';\ncreate view shop.y as select id from times;\n"
    )
    items = {each.key: each for each in read_snowflake(path).items}
    assert items["shop.y"].refusal is None
    refusal = items["shop.x"].refusal or ""
    assert refusal.startswith("its session's time zone is not said") != taken
    assert ("in front of the first ALTER SESSION" in str(items["shop.x"].changed)) == taken


@pytest.mark.parametrize("between", [" ", ", ", "\n  "])
@pytest.mark.parametrize("zone", ["timezone = 'Asia/Tokyo'", "weeks_ago = -1"])
def test_all_parameters_of_an_alter_session_are_read(tmp_path, zone, between):
    """Blanks, commas and new lines stand between them. Before, only commas were known."""
    path = tmp_path / "one.sql"
    path.write_text(
        f"alter session set {zone}{between}timestamp_type_mapping = 'TIMESTAMP_LTZ';\n"
        f"{ZONED}{DAYS.format('a')}"
    )
    found = read_snowflake(path)
    reasons = {each.key: each.refusal for each in found.items}
    told = "ALTER SESSION SET TIMESTAMP_TYPE_MAPPING in front of it changes what it means"
    assert reasons == {"t": told, "a": told}
    given = found.configuration.get("spark.sql.session.timeZone")
    assert given == ("Asia/Tokyo" if "Tokyo" in zone else None)


@pytest.mark.parametrize("zone", ["$tz", "&tz", "&{ tz }", "'&{tz}'", "'<% tz %>'"])
@pytest.mark.parametrize("first", ["", "alter session set timezone = 'UTC';\n"])
def test_a_time_zone_in_a_variable_takes_the_queries_below_with_it(tmp_path, first, zone):
    path = tmp_path / "one.sql"
    path.write_text(
        f"{first}{ZONED}alter session set timezone = {zone};\n{DAYS.format('a')}"
        f"alter session unset timezone;\n{first}{DAYS.format('b')}"
    )
    found = read_snowflake(path)
    assert {each.key: each.refusal for each in found.items} == {
        "t": None,
        "a": "the time zone that ALTER SESSION sets in front of it cannot be read: write its name"
        " there",
        "b": None,
    }
    assert found.configuration.get("spark.sql.session.timeZone") == ("UTC" if first else None)


def test_a_time_zone_that_is_set_later_is_not_that_of_queries_in_front(tmp_path):
    path = tmp_path / "one.sql"
    path.write_text(
        f"{ZONED}{DAYS.format('a')}alter session set timezone = 'Asia/Tokyo';\n{DAYS.format('b')}"
    )
    reasons = {each.key: each.refusal for each in read_snowflake(path).items}
    assert reasons == {
        "t": None,
        "a": "its session's time zone is not said, that of other statements Asia/Tokyo, and a"
        " project has one: import it from a script of its own, or put ALTER SESSION SET TIMEZONE"
        " in front of it if that is its zone, too",
        "b": None,
    }
