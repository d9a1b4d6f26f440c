"""Values of a topic as other programs write them: each is loaded as it is, or rejected."""

from __future__ import annotations

from decimal import Decimal

import deltalake
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(600)]

FEEDS = """\
  json_feed:
    {{kind: kafka, servers: "{servers}", topic: {topic}-json, schema: "id BIGINT, n TINYINT,
      p DECIMAL(9,2), at TIMESTAMP, note STRING, s STRUCT<a: INT NOT NULL>,
      m MAP<STRING, ARRAY<DECIMAL(9,2)>>"}}
  csv_feed:
    {{kind: kafka, servers: "{servers}", topic: {topic}-csv, format: csv, schema: "id BIGINT,
      p DECIMAL(9,2), note STRING"}}
"""
TABLES = """\
CREATE STREAMING TABLE of_json AS SELECT id, n, p, note FROM STREAM json_feed;
CREATE STREAMING TABLE of_csv AS SELECT * FROM STREAM csv_feed;
"""
JSON: list[tuple[str | bytes | None, tuple | str]] = [
    ('{"id": 0, "n": 5, "p": 12.5, "note": "a"}', (0, 5, Decimal("12.50"), "a")),
    ('\n{"id": 1}\n', (1, None, None, None)),
    ('{"id": 2, "note": "}x{"}', (2, None, None, "}x{")),
    ('{"id": 3, "note": "},{"}', (3, None, None, "},{")),
    ('{"id": 4, "note": [{"a": 1},{"a": 1.5}]}', (4, None, None, '[{"a":1},{"a":1.5}]')),
    ('{"id": 5, "p": 1.00000000000000000, "note": "[1]"}', (5, None, Decimal("1.00"), "[1]")),
    ('{"id": 21, "note": {"a": 12345678901234567890.1}}', "more digits than Spark keeps"),
    ('{"id": 5, "id": 6}', (6, None, None, None)),
    ('{"id": 7}{"id": 8}', "more than one JSON value"),
    ('{"id": 9}\n{"id": 10}', "more than one JSON value"),
    ('{"id": 11},{"id": 12}', "more than one JSON value"),
    ('{"id": 12},\n{"id": 13}\n', "more than one JSON value"),
    ('{"id": 13} and more', "more than one JSON value"),
    ('[{"id": 14}, {"id": 15}]', "no JSON object"),
    ('{"id": 16, "n": 200}', "column n: 200 is no TINYINT"),
    ('{"id": 17, "p": "12,50"}', 'column p: "12,50" is no DECIMAL(9,2): a comma'),
    ('{"id": 18, "at": 1767225600000}', "column at: 1767225600000 is no TIMESTAMP: a json number"),
    ('{"id": 22, "s": {}}', "column s.a is null where the schema says NOT NULL"),
    ('{"id": 23, "p": 1e500000000}', "a number of thousands of digits"),
    ('{"id": 24, "p": "-1E-500000000"}', "a number of thousands of digits"),
    ('{"id": 25, "p": 1e3}', (25, None, Decimal("1000.00"), None)),
    (
        '{"id": 26, "p": "1", "note": "a1,12e4567,9f"}',
        (26, None, Decimal(1), "a1,12e4567,9f"),
    ),
    (r'{"id": 27, "p": 1, "note": "{\"n\":12E456}"}', (27, None, Decimal(1), '{"n":12E456}')),
    (
        r'{"id": 28, "note": "{\"lat\":52.520008123456789012}"}',
        (28, None, None, '{"lat":52.520008123456789012}'),
    ),
    (r'{"id": 29, "n\u006fte": [12345678901234567890.1]}', "more digits than Spark keeps"),
    ('{"id": 30, "note": 1e400}', "more digits than Spark keeps"),
    ('{"id": 31, "note": -1e400}', "more digits than Spark keeps"),
    ('{"id": 32, "note": [1e-400]}', "more digits than Spark keeps"),
    ('{"id": 33, "note": [1e-3, 0.0, 10.0]}', (33, None, None, "[0.001,0.0,10.0]")),
    (
        '{"id": 34, "lat": 0.30000000000000004, "note": {"x": 0.0, "who": "M\\u00fcller"}}',
        (34, None, None, '{"x":0.0,"who":"Müller"}'),
    ),
    ('{"id": 35, "lat": 0.30000000000000004, "note": 0.00}', (35, None, None, "0.0")),
    (
        '{"id": 36, "note": {"x": 0.30000000000000004, "y": "a b"}}',
        (36, None, None, '{"x":0.30000000000000004,"y":"a b"}'),
    ),
    (
        r'{"id": 37, "o": "M\u00fc", "note": "{\"y\": 52.520006599999999, \"a\": \"\\n\u00fc\"}"}',
        (37, None, None, '{"y": 52.520006599999999, "a": "\\nü"}'),
    ),
    ('{"id": 38, "note": 0.12345678901234561234}', "more digits than Spark keeps"),
    (
        '{"id": 39, "note": "12345678901234567", "a": 1.2345678901234567}',
        (39, None, None, "12345678901234567"),
    ),
    (f'{{"id": 40, "note": 0.{"0" * 330}1}}', "more digits than Spark keeps"),
    (
        '{"id": 41, "m": {"a": [1], "b": null}, "note": ["1e99999"], "z": [[1]]}',
        (41, None, None, '["1e99999"]'),
    ),
    ('{"id": 42, "m": {"a": [1], "b": [2, "1e99999"]}}', "a number of thousands of digits"),
    (b'{"id": 19, "note": "caf\xe9"}', "no text in UTF-8"),
    (b'\x00\x00\x00\x00\x01{"id": 20}', "no JSON"),
    (None, "no value"),
    ("", "no value"),
]
CSV: list[tuple[str | bytes | None, tuple | str]] = [
    ("0,12.5,a", (0, Decimal("12.50"), "a")),
    ('1,,"a ""b"", c"\n', (1, None, 'a "b", c')),
    ('2,,"a\nb"', (2, None, "a\nb")),
    ('3,,5" pipe', (3, None, '5" pipe')),
    ("4,,x\r\n", (4, None, "x")),
    ("5,,a\n6,,b", "it has 2 records"),
    ("7,,a\r8,,b", "it has 2 records"),
    ("id,p,note\n9,,a", "it has 2 records"),
    ('10,,"a', "does not fit"),
    ('11,"12,50",a', "column p: '12,50' is no DECIMAL(9,2): a comma"),
    ("12,,a,b", "it has 4 values"),
    (b"13,,caf\xe9", "no text in UTF-8"),
    ('14,,"a\0b"', "it has quotes and a NUL"),
    ('15,"1\0002.5",a', "it has quotes and a NUL"),
    ("16,,a\0b", (16, None, "a\0b")),
    (None, "no value"),
]


def test_a_value_is_one_record_and_is_what_was_written(shop):
    producer = shop.broker.producer()
    for name, values in (("json", JSON), ("csv", CSV)):
        shop.broker.make_topic(f"{shop.topic}-{name}", 1)
        for value, _ in values:
            producer.produce(f"{shop.topic}-{name}", value, "k", partition=0)
    producer.flush()
    feeds = FEEDS.format(servers=shop.broker.servers, topic=shop.topic)
    shop.broker.make_topic(shop.topic, 1)
    shop.declare(sql=TABLES, more=feeds)
    shop.load()
    for name, values in (("json", JSON), ("csv", CSV)):
        rows = {row["id"]: tuple(row.values()) for row in shop.rows(f"of_{name}")}
        wanted = [told for _, told in values if isinstance(told, tuple)]
        assert rows == {row[0]: row for row in wanted}
        path = shop.project.table_path(f"of_{name}__rejected")
        rejected = deltalake.DeltaTable(path).to_pyarrow_table().to_pylist()
        reasons = {row["line"]: row["reason"] for row in rejected}
        told = {at: told for at, (_, told) in enumerate(values) if isinstance(told, str)}
        assert reasons.keys() == told.keys()
        wrong = {at: reasons[at] for at, why in told.items() if why not in reasons[at]}
        assert wrong == {}


def test_names_within_a_column_may_have_any_sign(shop):
    kind = "STRUCT<`user-agent`: STRING, `a b`: ARRAY<STRUCT<`@type`: INT>>, m: MAP<STRING, INT>>"
    feeds = (
        "  hits_feed:\n"
        f"    {{kind: kafka, servers: '{shop.broker.servers}', topic: {shop.topic},"
        f' schema: "id BIGINT, `http.request` {kind}"}}\n'
    )
    shop.broker.make_topic(shop.topic, 1)
    value = (
        '{"id": 1, "http.request": {"user-agent": "curl", "a b": [{"@type": 2}], "m": {"x-y": 3}}}'
    )
    producer = shop.broker.producer()
    producer.produce(shop.topic, value, "k", partition=0)
    producer.flush()
    columns = "id, r.`user-agent` AS agent, r.`a b`[0].`@type` AS kind, r.m['x-y'] AS n"
    query = f"SELECT {columns} FROM (SELECT id, `http.request` AS r FROM STREAM hits_feed)"
    shop.declare(sql=f"CREATE STREAMING TABLE hits AS {query};\n", more=feeds)
    shop.load()
    assert shop.rows("hits") == [{"id": 1, "agent": "curl", "kind": 2, "n": 3}]
