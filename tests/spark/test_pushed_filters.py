"""A law: what a condition selects does not depend on the statistics by which files are left out.

Of each value on an edge there is a file with nothing else in it, so that whoever compares the
constant with the file's statistics in another way than with the rows loses them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.share import share

pytestmark = pytest.mark.spark

_DAYS = ("0001-01-01", "1582-10-04", "1582-10-05", "1582-10-10", "1582-10-14", "1582-10-15")
_LATER = ("1893-04-01", "1969-12-31", "1970-01-01", "2024-02-29", "2026-03-29", "9999-12-31")
_CLOCKS = ("00:00:00", "02:30:00.000001", "23:59:59.999999")
_TEXTS = ("''", "' '", "'a'", "'A'", "repeat('x', 33)", "repeat(chr(1114111), 40)", "'\\\\u0000'")
VALUES = {
    "date": [f"DATE'{day}'" for day in _DAYS + _LATER],
    "timestamp": [
        f"TIMESTAMP_LTZ'{day} {clock}Z'" for day in _DAYS[1:] + _LATER[:-1] for clock in _CLOCKS
    ],
    "timestamp_ntz": [
        f"TIMESTAMP_NTZ'{day} {clock}'" for day in _DAYS + _LATER for clock in _CLOCKS[::2]
    ],
    "double": [f"DOUBLE('{each}')" for each in ("NaN", "-0.0", "0.0", "Infinity", "4.9E-324")],
    "float": [f"FLOAT('{each}')" for each in ("NaN", "-0.0", "0.0", "-Infinity", "1.4E-45")],
    "decimal(38,10)": [
        f"CAST('{each}' AS DECIMAL(38,10))" for each in ("0", "-0.0000000001", "1" * 28, "1.5")
    ],
    "bigint": ["-9223372036854775808L", "0L", "9223372036854775807L"],
    "smallint": ["-32768S", "0S", "32767S"],
    "boolean": ["true", "false"],
    "string": list(_TEXTS),
    "binary": ["X''", "X'00'", "X'7F'", "X'80'", "X'FF'"],
}
_OPERATORS = ("=", "<=", ">=", "<>")


@pytest.mark.parametrize("kind", share(list(VALUES), part=12))
@pytest.mark.parametrize("zone", share(["UTC", "Europe/Berlin"], part=2))
def test_a_condition_selects_what_it_says(
    kind: str, zone: str, spark: SparkSession, tmp_path: Path
):
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    path = str(tmp_path / "t")
    values = VALUES[kind]
    rows = ", ".join(f"({number}, {value})" for number, value in enumerate(values))
    frame = session.sql(f"SELECT id, CAST(v AS {kind}) AS v FROM VALUES {rows} AS t(id, v)")
    frame.repartitionByRange(len(values), "id").write.format("delta").save(path)
    session.read.format("delta").load(path).createOrReplaceTempView("t")
    missing = []
    for value in values:
        told = ", ".join(
            f"count_if(v {each} {value}), (SELECT count(*) FROM t WHERE v {each} {value})"
            for each in _OPERATORS
        )
        (found,) = session.sql(f"SELECT {told} FROM t").collect()
        missing += [
            (f"v {each} {value}", selected, wanted)
            for each, wanted, selected in zip(_OPERATORS, found[::2], found[1::2], strict=True)
            if selected != wanted
        ]
    assert missing == []
