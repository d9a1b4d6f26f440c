"""Which json records of a topic have a number whose digits nobody can compute."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    DecimalType,
    DoubleType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from freshline.spark.feeds.exact import HugeNumbers

ID = StructField("id", StringType())
PRICE = StructField("p", DecimalType(9, 2))
FLAT = StructType([ID, PRICE])
NESTED = StructType(
    [ID, StructField("line", StructType([PRICE, StructField("a.b", StringType())]))]
)
LISTED = StructType([ID, StructField("prices", ArrayType(DecimalType(9, 2)))])
MAPPED = StructType([ID, StructField("prices", MapType(StringType(), DecimalType(9, 2)))])
DEEP = StructType([ID, StructField("prices", MapType(StringType(), ArrayType(DecimalType(9, 2))))])
DEEPER = StructType([ID, StructField("prices", ArrayType(DEEP["prices"].dataType))])
UMLAUT = StructType([ID, StructField("größe", DecimalType(9, 2))])
REAL = StructType([ID, StructField("n", DoubleType())])


def is_huge(schema: StructType, record: str) -> bool:
    huge = HugeNumbers.of(schema)
    return huge is not None and huge.are_in(record)


@pytest.mark.parametrize(
    ("schema", "record"),
    [
        (FLAT, '{"id": "a", "p": 1e500000000}'),
        (FLAT, '{"id": "a", "p":-1.5E+00012345}'),
        (FLAT, '{"p":"-1E-500000000"}'),
        (FLAT, '{"p" : " 1e5000 " , "id": "a"}'),
        (NESTED, '{"line": {"p": "1e5000"}}'),
        (LISTED, '{"prices": [1, 1e5000]}'),
        (LISTED, '{"prices": ["1", "1e5000"]}'),
        (MAPPED, '{"prices": {"a": "1e5000"}}'),
        (DEEP, '{"prices": {"a": ["1"], "b": [1, "1e5000"]}}'),
        (DEEP, '{"prices": {"a": ["1"], "b": null, "c": ["1e5000"], "d": [1]}}'),
        (DEEP, '{"prices": {"a": [1e5000]}}'),
        (DEEP, '{"prices": {"a": [1], "b": ["1e5000"'),
        (DEEPER, '{"prices": [{"a": [1], "b": []}, {"c": [[1], ["1e5000"]]}]}'),
        (DEEPER, '{"p": {"a": 1}, "prices": [{"a": ["1e5000"]}]}'),
        (FLAT, '{"id": "a [", "p": 1e5000'),  # cut off: the parser computes before it sees that
        (FLAT, '{"p": "1e5000"'),
        (LISTED, '{"prices": ["1e5000"'),
        (FLAT, """{'p': '1e5000'}"""),
        (FLAT, r'{"id": "\\", "p": 1e5000, "n": "\""}'),
        (UMLAUT, '{"größe": "1e5000"}'),
        (UMLAUT, r'{"gr\u00f6\u00dfe": "1e5000"}'),
    ],
)
def test_a_number_of_thousands_of_digits_is_found(schema, record):
    assert is_huge(schema, record)


@pytest.mark.parametrize("schema", [FLAT, NESTED, LISTED, MAPPED, DEEP, DEEPER])
@pytest.mark.parametrize(
    "record",
    [
        '{"id": "12e45678-3c1f-4e0a-9d2b-0a1b2c3d4e5f", "p": "1.00"}',
        '{"id": "sha256:12e45678901234567890abcdef", "p": 1.00}',
        '{"id": "a,12e4567 of them", "p": 1e999}',
        '{"id": "trace:1e12345x", "p": "1e30"}',
        '{"id": "a1b2c3d,12e45678,9f8e7d6", "p": "1.00"}',
        '{"id": "see [1e5000], please", "p": "1.00"}',
        r'{"id": "{\"n\":12e45678}", "p": "1.00"}',
        r'{"id": "\\", "o": ",1e5000,", "p": 1.00}',
        """{"id": "it's", "o": ":1e5000,", 'p': "1.00"}""",
        '{"id": "12e45678", "prices": null}',
        '{"prices": null, "id": "12e45678"}',
        '{"prices": [], "id": "12e45678"}',
        '{"prices": {"12e45678": null}, "ids": ["12e45678"]}',
        '{"prices": {"a": [1], "b": []}, "id": "12e45678"}',
        '{"prices": {"a": [1], "b": null}, "ids": ["1e99999"], "z": [[1]]}',
    ],
)
def test_texts_that_only_look_like_one_are_not(schema, record):
    assert not is_huge(schema, record)


def test_a_value_ends_also_where_fewer_lists_than_may_be_end_at_once():
    record = '{"prices": [{"a": [1], "b": null}, null], "ids": [["1e99999"]], "z": [[[1]]]}'
    assert not is_huge(DEEPER, record)


@pytest.mark.parametrize("schema", [FLAT, NESTED])
def test_ids_of_digits_with_an_e_are_texts(schema):
    assert not is_huge(schema, '{"id": "12e45678", "p": "1.00"}')
    assert not is_huge(REAL, '{"id": "a", "n": 1e500000000}')
