"""JSON to Arrow: exactly or not at all, whatever way a value is written."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.ingest.engine.landedfile import file_name
from freshline.ingest.records.arrow_types import arrow_schema
from freshline.ingest.records.limits import Limits
from freshline.ingest.records.records import ARROW, JSON, NDJSON, RecordChecker
from freshline.ingest.refusals import Refusal
from freshline.project.ddl import columns
from freshline.project.sections.ingest import LANDED_TIMESTAMP

LIMITS = Limits(10_000_000, 1_000_000, 100_000)


def stored(ddl: str, body: bytes, kind: str = NDJSON) -> list[dict]:
    checked = RecordChecker(columns(ddl), LIMITS).check(kind, body)
    table = pa.ipc.open_stream(checked.body).read_all()
    assert table.num_rows == checked.records
    assert table.schema == arrow_schema(columns(ddl))
    rows: list[dict] = table.to_pylist()
    return rows


def value(type_: str, text: str):
    """What a value written as ``text`` becomes."""
    return stored(f"x {type_}", f'{{"x": {text}}}'.encode())[0]["x"]


def refusal(ddl: str, body: bytes, kind: str = NDJSON):
    with pytest.raises(Refusal) as raised:
        stored(ddl, body, kind)
    return raised.value.status, raised.value.message, raised.value.record


UTC = dt.UTC
TAKEN = [
    ("TINYINT", "-128", -128),
    ("BIGINT", "9223372036854775807", 2**63 - 1),
    ("INT", "1.0", 1),
    ("INT", "12e2", 1200),
    ("BIGINT", "1.0e18", 10**18),
    ("BIGINT", "9007199254740993.0", 9007199254740993),
    ("ARRAY<BIGINT>", "[9.007199254740993e15]", [9007199254740993]),
    ("DOUBLE", "1", 1.0),
    ("DOUBLE", "9007199254740993", 9007199254740992.0),
    ("DOUBLE", '"-Infinity"', -math.inf),
    ("DOUBLE", "-Infinity", -math.inf),
    ("FLOAT", "Infinity", math.inf),
    ("STRUCT<a: DOUBLE, b: STRING>", '{"a": Infinity, "b": "NaN"}', {"a": math.inf, "b": "NaN"}),
    ("FLOAT", "0.1", 0.10000000149011612),
    ("DECIMAL(38,0)", "9" * 38, Decimal("9" * 38)),
    ("DECIMAL(38,37)", "1." + "9" * 37, Decimal("1." + "9" * 37)),
    ("DECIMAL(15,2)", '"-0012.5"', Decimal("-12.50")),
    ("DECIMAL(15,2)", "1.2300", Decimal("1.23")),
    ("DECIMAL(15,2)", "125e-2", Decimal("1.25")),
    ("DECIMAL(15,2)", "7", Decimal("7.00")),
    ("DECIMAL(5,2)", "0.1" + "0" * 40, Decimal("0.10")),
    ("DECIMAL(5,2)", "1e2", Decimal("100.00")),
    ("BOOLEAN", "true", True),
    ("STRING", '"\\u00e9\\ud83d\\ude00"', "\u00e9\U0001f600"),
    ("BINARY", '"aGk="', b"hi"),
    ("DATE", '"2024-02-29"', dt.date(2024, 2, 29)),
    ("TIMESTAMP", '"2026-01-31T12:00:00Z"', dt.datetime(2026, 1, 31, 12, tzinfo=UTC)),
    ("TIMESTAMP", '"2026-01-31 14:30:00+02:30"', dt.datetime(2026, 1, 31, 12, tzinfo=UTC)),
    (
        "TIMESTAMP",
        '"2026-01-31t12:00:00.1234569z"',
        dt.datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC),
    ),
    ("TIMESTAMP", '"2016-12-31T23:59:60Z"', dt.datetime(2017, 1, 1, tzinfo=UTC)),
    (
        "TIMESTAMP_NTZ",
        '"2026-01-31T12:00:00.5"',
        dt.datetime.fromisoformat("2026-01-31T12:00:00.5"),
    ),
    ("ARRAY<INT>", "[1, null, 2.0]", [1, None, 2]),
    ("MAP<STRING, DATE>", '{"a": "2024-02-29"}', [("a", dt.date(2024, 2, 29))]),
    ("STRUCT<a: INT, b: STRING>", '{"b": "x"}', {"a": None, "b": "x"}),
]


@pytest.mark.parametrize(("type_", "text", "expected"), TAKEN)
def test_a_value_that_fits_is_taken_exactly(type_, text, expected):
    found = value(type_, text)
    assert found == expected
    assert type(found) is type(expected)


REFUSED = [
    ("TINYINT", "128", "128 is outside the range of TINYINT"),
    ("BIGINT", "-9223372036854775809", "-9223372036854775809 is outside the range of BIGINT"),
    ("INT", "1.5", "1.5 is no INT"),
    ("INT", "true", "true is no INT"),
    ("INT", '"1"', "'1' is no INT"),
    ("BIGINT", "4503599627370497.3", "4503599627370497.3 is no BIGINT"),
    ("INT", "0.99999999999999999999", "0.99999999999999999999 is no INT"),
    ("BIGINT", "1e400", "1E+400 is no BIGINT"),
    ("BIGINT", "9223372036854775808.0", "9223372036854775808.0 is outside the range of BIGINT"),
    ("STRUCT<a: BIGINT>", '{"a": 1e-400}', ".a: 1E-400 is no BIGINT"),
    ("DOUBLE", "1e400", "inf is outside the range of DOUBLE"),
    ("DOUBLE", '"nan"', "'nan' is no DOUBLE"),
    ("FLOAT", "1e39", "1e+39 is outside the range of FLOAT"),
    ("DECIMAL(4,2)", "100", "100 is outside the range of DECIMAL(4,2)"),
    ("DECIMAL(4,2)", "1e999999", "1E+999999 is outside the range of DECIMAL(4,2)"),
    (
        "DECIMAL(4,2)",
        '"1.005"',
        "'1.005' has more than 2 digits behind the point of DECIMAL(4,2)",
    ),
    ("DECIMAL(4,2)", '"1,5"', "'1,5' is no DECIMAL(4,2)"),
    ("DECIMAL(4,2)", '"NaN"', "'NaN' is no DECIMAL(4,2)"),
    ("DECIMAL(4,2)", "NaN", "NaN is no DECIMAL(4,2)"),
    ("BIGINT", "-Infinity", "-Infinity is no BIGINT"),
    ("STRING", "NaN", "NaN is no STRING"),
    ("MAP<STRING, STRING>", '{"a": NaN}', ".'a': NaN is no STRING"),
    (
        "DECIMAL(18,2)",
        "1.2345678901234567e-25",
        "1.2345678901234567E-25 has more than 2 digits behind the point of DECIMAL(18,2)",
    ),
    (
        "DECIMAL(4,2)",
        "2.315130345696916839620059590e-43",
        "2.315130345696916839620059590E-43 has more than 2 digits behind the point of DECIMAL(4,2)",
    ),
    ("DECIMAL(4,2)", '" 1"', "' 1' is no DECIMAL(4,2)"),
    ("BOOLEAN", "1", "1 is no BOOLEAN"),
    ("BOOLEAN", '"true"', "'true' is no BOOLEAN"),
    ("STRING", "1", "1 is no STRING"),
    ("STRING", '{"a": 1}', "an object is no STRING"),
    ("STRING", '"\\ud800"', "half of a surrogate pair is no text"),
    ("BINARY", '"a"', "'a' is no base64"),
    ("DATE", '"2023-02-29"', "'2023-02-29' is no DATE like '2026-01-31'"),
    ("DATE", '"20230101"', "'20230101' is no DATE like '2026-01-31'"),
    ("DATE", '"0000-01-01"', "'0000-01-01' is no DATE like '2026-01-31'"),
    (
        "TIMESTAMP",
        '"2026-01-31T12:00:00"',
        "'2026-01-31T12:00:00' is no TIMESTAMP with its offset, like '2026-01-31T12:00:00Z'",
    ),
    (
        "TIMESTAMP",
        "1769860800",
        "1769860800 is no TIMESTAMP with its offset, like '2026-01-31T12:00:00Z'",
    ),
    ("TIMESTAMP", '"2026-02-30T12:00:00Z"', "'2026-02-30T12:00:00Z' is a time that does not exist"),
    (
        "TIMESTAMP",
        '"0001-01-01T00:00:00+01:00"',
        "'0001-01-01T00:00:00+01:00' is a time that does not exist",
    ),
    (
        "TIMESTAMP_NTZ",
        '"2026-01-31T12:00:00Z"',
        "'2026-01-31T12:00:00Z' is no TIMESTAMP_NTZ without an offset, like '2026-01-31T12:00:00'",
    ),
    ("ARRAY<INT>", "1", "1 is no ARRAY<INT>"),
    ("ARRAY<ARRAY<INT>>", '[[1], ["x"]]', "[1][0]: 'x' is no INT"),
    ("MAP<STRING, INT>", '{"k": "x"}', ".'k': 'x' is no INT"),
    ("STRUCT<a: STRUCT<b: INT>>", '{"a": {"b": "x"}}', ".a.b: 'x' is no INT"),
    ("STRUCT<a: INT>", '{"A": 1}', "the unknown field 'A'"),
    ("STRUCT<a: INT NOT NULL>", "{}", ".a: null where the schema says NOT NULL"),
    ("INT NOT NULL", "null", "null where the schema says NOT NULL"),
]


@pytest.mark.parametrize(("type_", "text", "reason"), REFUSED)
def test_a_value_that_does_not_fit_is_refused_with_the_reason(type_, text, reason):
    between = "" if reason.startswith((".", "[")) else ": "
    assert refusal(f"x {type_}", f'{{"x": {text}}}'.encode()) == (
        422,
        f"column x{between}{reason}",
        0,
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1]", "a list is no JSON object"),
        ("7", "7 is no JSON object"),
        ("null", "null is no JSON object"),
        ("{}{}", "its line is not one JSON object"),
        ('{"x": 1', "it is no JSON: Expecting ',' delimiter"),
        ('{"x": nan}', "it is no JSON: Expecting value"),
        ('{"y": 1}', "the unknown column 'y'"),
        ('{"X": 1}', "the unknown column 'X' (did you mean x?)"),
        ('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", "it is nested too deep"),
    ],
)
def test_a_line_that_is_no_record_is_refused_with_its_index(line, reason):
    assert refusal("x INT", f'{{"x": 1}}\n{{}}\n{line}'.encode()) == (422, reason, 2)


def test_a_mark_of_the_byte_order_at_the_beginning_is_passed_over():
    assert stored("x INT", b'\xef\xbb\xbf{"x": 1}') == [{"x": 1}]
    assert stored("x INT", b'\xef\xbb\xbf[{"x": 1}]', JSON) == [{"x": 1}]
    twice = b'\xef\xbb\xbf\xef\xbb\xbf{"x": 1}'
    assert refusal("x INT", twice) == (422, "it is no JSON: Expecting value", 0)


def test_an_exponent_beyond_all_measure_is_refused():
    body = b'{"x": 1e99999999999999999999}'
    assert refusal("x DECIMAL(4,2)", body) == (422, "a number's exponent is too large", 0)


@settings(max_examples=200)
@given(
    st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p))),
    st.from_regex(r"-?(0|[1-9][0-9]{0,70})(\.[0-9]{1,90})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)
def test_a_number_reaches_a_decimal_as_it_is_or_not_at_all(type_, text):
    try:
        found = value("DECIMAL({},{})".format(*type_), text)
    except Refusal:
        return
    assert found == Decimal(text)


TYPES = {
    "a TINYINT": st.integers(-128, 127),
    "b BIGINT": st.integers(-(2**63), 2**63 - 1),
    "c DOUBLE": st.floats(allow_nan=False),
    "d DECIMAL(20,6)": st.decimals(-(10**14) + 1, 10**14 - 1, places=6),
    "e BOOLEAN": st.booleans(),
    "f STRING": st.text(),
    "g BINARY": st.binary(max_size=20),
    "h DATE": st.dates(),
    "i TIMESTAMP": st.datetimes(timezones=st.just(dt.UTC)),
    "j TIMESTAMP_NTZ": st.datetimes(),
    "k ARRAY<BIGINT>": st.lists(st.none() | st.integers(-5, 5), max_size=3),
    "l STRUCT<x: STRING, y: ARRAY<DOUBLE>>": st.fixed_dictionaries(
        {"x": st.none() | st.text(), "y": st.none() | st.lists(st.floats(0, 1), max_size=2)}
    ),
}
RECORD = st.fixed_dictionaries(
    {ddl.split(" ")[0]: st.none() | values for ddl, values in TYPES.items()}
)


def written(each):
    """A value as JSON has it."""
    if isinstance(each, float):
        return each if math.isfinite(each) else ("Infinity" if each > 0 else "-Infinity")
    if isinstance(each, Decimal):
        return str(each)
    if isinstance(each, bytes):
        return base64.b64encode(each).decode()
    if isinstance(each, dt.date):
        return each.isoformat()
    if isinstance(each, list):
        return [written(inner) for inner in each]
    if isinstance(each, dict):
        return {name: written(inner) for name, inner in each.items()}
    return each


@settings(max_examples=100)
@given(st.lists(RECORD, min_size=1, max_size=5))
def test_every_value_comes_back_from_lines_array_and_arrow(records):
    ddl = ", ".join(TYPES)
    texts = [json.dumps(written(record)) for record in records]
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist(records, arrow_schema(columns(ddl)))
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    assert stored(ddl, "\n".join(texts).encode()) == records
    assert stored(ddl, f"[{','.join(texts)}]".encode(), JSON) == records
    assert stored(ddl, sink.getvalue().to_pybytes(), ARROW) == records


@settings(max_examples=50)
@given(st.data())
def test_many_times_are_read_as_each_of_them_alone(data):
    """Both ways of reading times agree, on what is right and on what is not."""
    type_ = data.draw(st.sampled_from(["DATE", "TIMESTAMP", "TIMESTAMP_NTZ"]))
    edges = ["0001-01-01", "0000-01-01", "2024-02-30", "2024-02-29T24:00:00Z", "x",
             "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59.9999999Z", "2016-12-31T23:59:60Z",
             "2024-02-29T12:00:00", "2024-02-29 12:00:00.5-23:59",
             "9999-12-31T23:59:59-05:00"]  # fmt: skip
    moments = st.datetimes(timezones=st.none() | st.just(dt.UTC)).map(dt.datetime.isoformat)
    texts = data.draw(st.lists(st.sampled_from(edges) | st.dates().map(str) | moments, max_size=4))
    good = {"DATE": "2024-02-29", "TIMESTAMP": "2024-02-29T12:00:00Z"}.get(
        type_, "2024-02-29T12:00:00"
    )

    def outcome(each):
        body = "\n".join(json.dumps({"x": text}) for text in each).encode()
        try:
            return [row["x"] for row in stored(f"x {type_}", body)]
        except Refusal as refused:
            return refused.record, refused.message

    many = [*texts, *[good] * 100]
    alone = [outcome([text]) for text in texts]
    wrong = [(index, each[1]) for index, each in enumerate(alone) if isinstance(each, tuple)]
    whole = [each[0] for each in alone] + outcome([good]) * 100
    assert outcome(many) == (wrong[0] if wrong else whole)


def test_the_end_of_time_west_of_greenwich_does_not_exist_among_many_either():
    lines = ['{"x": "2026-01-31T12:00:00Z"}'] * 100
    lines[70] = '{"x": "9999-12-31T23:59:59-05:00"}'
    reason = "column x: '9999-12-31T23:59:59-05:00' is a time that does not exist"
    assert refusal("x TIMESTAMP", "\n".join(lines).encode()) == (422, reason, 70)


@settings(max_examples=100)
@given(
    st.binary(max_size=300) | st.text(max_size=100).map(str.encode),
    st.sampled_from([NDJSON, JSON, ARROW]),
)
def test_no_bytes_bring_anything_but_a_refusal(body, kind):
    with pytest.raises(Refusal):
        stored("x INT NOT NULL", body, kind)


def ipc(table: pa.Table, **options) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, **options) as writer:
        writer.write_table(table)
    body: bytes = sink.getvalue().to_pybytes()
    return body


@settings(max_examples=200)
@given(st.data())
def test_a_damaged_arrow_stream_is_refused_or_read_but_never_crashes(data):
    table = pa.table({"x": pa.array([1, 2, 3], pa.int32()), "s": ["a", "bb", None]})
    body = bytearray(ipc(table))
    for at in data.draw(st.lists(st.integers(0, len(body) - 1), min_size=1, max_size=4)):
        body[at] = data.draw(st.integers(0, 255))
    try:
        rows = stored("x INT, s STRING", bytes(body), ARROW)
    except Refusal:
        return
    assert len(rows) >= 1


@pytest.mark.parametrize(
    ("array", "ddl", "expected"),
    [
        (pa.array([1, None], pa.uint8()), "BIGINT", [1, None]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), "STRING", ["a", "b", "a"]),
        (pa.array(["a", None], pa.string_view()), "STRING", ["a", None]),
        (pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 2], pa.int8()),
                                        pa.array(["a", "b" * 20, None], pa.string_view())),
         "STRING", ["b" * 20, None, "a", None]),
        (pa.DictionaryArray.from_arrays([1, 0], pa.array([b"a", b"b" * 20], pa.binary_view())),
         "BINARY", [b"b" * 20, b"a"]),
        (pa.array(["a"], pa.large_string()), "STRING", ["a"]),
        (pa.array([Decimal("1.50")]), "DECIMAL(10,1)", [Decimal("1.5")]),
        (pa.array([5], pa.int64()), "DECIMAL(10,1)", [Decimal("5.0")]),
        (pa.array([1999], pa.timestamp("ns")), "TIMESTAMP_NTZ",
         [dt.datetime.fromisoformat("1970-01-01T00:00:00.000001")]),
        (pa.array([-1, -1000, -1001, -(2**63)], pa.timestamp("ns")), "TIMESTAMP_NTZ",
         [dt.datetime.fromisoformat(f"1969-12-31T23:59:59.{micros}") for micros in
          ("999999", "999999", "999998")]
         + [dt.datetime.fromisoformat("1677-09-21T00:12:43.145224")]),
        (pa.array([math.inf, 1.5, None]), "FLOAT", [math.inf, 1.5, None]),
        (pa.array([None, [("a", 1.5)]], pa.map_(pa.string(), pa.float64())), "MAP<STRING, FLOAT>",
         [None, [("a", 1.5)]]),
        (pa.array([2], pa.timestamp("s", "Asia/Tokyo")), "TIMESTAMP",
         [dt.datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)]),
        (pa.array([-62_135_596_800_000_000, None, 253_402_300_799_999_999],
                  pa.timestamp("us", "UTC")), "TIMESTAMP",
         [dt.datetime.min.replace(tzinfo=UTC), None, dt.datetime.max.replace(tzinfo=UTC)]),
        (pa.nulls(2), "ARRAY<INT>", [None, None]),
        (pa.array([[1], None], pa.large_list(pa.int16())), "ARRAY<INT>", [[1], None]),
    ],
)  # fmt: skip
def test_arrow_of_a_kindred_type_is_cast(array, ddl, expected):
    rows = stored(f"x {ddl}", ipc(pa.table({"x": array})), ARROW)
    assert [row["x"] for row in rows] == expected


FAR = "column x: Arrow's timestamp"
WIDE = Decimal(15 * 10**23)
"""Times 10 to 18 it is, in the last 128 bits, a number that a DECIMAL(38,18) holds."""
WIDER = Decimal(2**238 + 10**18)
"""The same in the last 256 bits."""
DEEP_MAPS = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.map_(pa.string(), pa.int32())))]))
FAR_LIST = "column x: Arrow's list<item: timestamp[us]>"


@pytest.mark.parametrize(
    ("array", "ddl", "expected"),
    [
        (pa.array([1, 2**40], pa.int64()), "INT", (422, "column x: 1099511627776 is no INT", 1)),
        (pa.array([1.0, 1.5]), "INT", (422, "column x: Arrow's double is no INT", None)),
        (pa.array([Decimal("1.5"), Decimal("1.55")]), "DECIMAL(5,1)",
         (422, "column x: 1.55 is no DECIMAL(5,1)", 1)),
        (pa.array([Decimal(1), None, WIDE], pa.decimal128(38, 0)), "DECIMAL(38,18)",
         (422, f"column x: {WIDE} is no DECIMAL(38,18)", 2)),
        (pa.array([WIDER], pa.decimal256(76, 0)), "DECIMAL(38,18)",
         (422, f"column x: {str(WIDER)[:59]}\u2026 is no DECIMAL(38,18)", 0)),
        (pa.array([15 * 10**11]), "DECIMAL(38,30)",
         (422, "column x: 1500000000000 is no DECIMAL(38,30)", 0)),
        (pa.array([[Decimal(1)], [WIDE]], pa.list_(pa.decimal128(38, 0))), "ARRAY<DECIMAL(38,18)>",
         (422, "column x: a list is no ARRAY<DECIMAL(38,18)>", 1)),
        (pa.array([[("a", 1)], [("b", 1), ("a", 2), ("b", 3)]], pa.map_(pa.string(), pa.int32())),
         "MAP<STRING, INT>", (422, "column x: a key stands twice in a MAP", 1)),
        (pa.array([[{"m": None}], [{"m": [("a", [("b", 1), ("b", 1)])]}]], DEEP_MAPS),
         "ARRAY<STRUCT<m: MAP<STRING, MAP<STRING, INT>>>>",
         (422, "column x: a key stands twice in a MAP", 1)),
        (pa.array([1], pa.timestamp("us")), "TIMESTAMP",
         (422, "column x: Arrow's timestamp[us] is no TIMESTAMP", None)),
        (pa.array([1, None]), "BIGINT NOT NULL",
         (422, "column x: null where the schema says NOT NULL", 1)),
        (pa.array([{"a": 1}, {"a": None}]), "STRUCT<a: BIGINT NOT NULL>",
         (422, "column x.a: null where the schema says NOT NULL", 1)),
        (pa.array(["a"]), "INT", (422, "column x: Arrow's string is no INT", None)),
        (pa.array([1.0, 1e40]), "FLOAT", (422, "column x: 1e+40 is no FLOAT", 1)),
        (pa.array([[], [1.0, -1e40]]), "ARRAY<FLOAT>",
         (422, "column x: a list is no ARRAY<FLOAT>", 1)),
        (pa.array([{"a": 1.0}, {"a": 1e40}]), "STRUCT<a: FLOAT>",
         (422, "column x: an object is no STRUCT<a: FLOAT>", 1)),
        (pa.array([[("a", 1.0)], [("a", 1e40)]], pa.map_(pa.string(), pa.float64())),
         "MAP<STRING, FLOAT>", (422, "column x: a list is no MAP<STRING, FLOAT>", 1)),
        (pa.array([0, 2**62], pa.timestamp("s")), "TIMESTAMP_NTZ",
         (422, f"{FAR}[s] beyond year 9999 or before 1 is no TIMESTAMP_NTZ", 1)),
        (pa.array([0, 253_402_300_800], pa.timestamp("s")), "TIMESTAMP_NTZ",
         (422, f"{FAR}[s] beyond year 9999 or before 1 is no TIMESTAMP_NTZ", 1)),
        (pa.array([0, 253_402_300_800_000_000], pa.timestamp("us", "UTC")), "TIMESTAMP",
         (422, f"{FAR}[us, tz=UTC] beyond year 9999 or before 1 is no TIMESTAMP", 1)),
        (pa.array([-62_135_596_800_000_001], pa.timestamp("us", "UTC")), "TIMESTAMP",
         (422, f"{FAR}[us, tz=UTC] beyond year 9999 or before 1 is no TIMESTAMP", 0)),
        (pa.array([2_932_896, 2_932_897], pa.date32()), "DATE",
         (422, "column x: Arrow's date32[day] beyond year 9999 or before 1 is no DATE", 1)),
        (pa.array([[0], [253_402_300_800_000_000]], pa.list_(pa.timestamp("us"))),
         "ARRAY<TIMESTAMP_NTZ>",
         (422, f"{FAR_LIST} beyond year 9999 or before 1 is no ARRAY<TIMESTAMP_NTZ>", 1)),
    ],
)  # fmt: skip
def test_arrow_that_does_not_fit_is_refused(array, ddl, expected):
    assert refusal(f"x {ddl}", ipc(pa.table({"x": array})), ARROW) == expected


WITHOUT_VALUES = {
    "DECIMAL(5,2)": (pa.decimal128(38, 0), pa.decimal256(76, 0), pa.int64(), pa.uint8()),
    "BIGINT": (pa.int64(), pa.uint64()),
    "DOUBLE": (pa.float64(), pa.float16(), pa.int64()),
    "STRING": (pa.string(), pa.large_string(), pa.string_view()),
    "TIMESTAMP": (pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"), pa.timestamp("s", "UTC")),
    "TIMESTAMP_NTZ": (pa.timestamp("us"), pa.timestamp("ns")),
    "DATE": (pa.date32(), pa.date64()),
    "ARRAY<DECIMAL(5,2)>": (pa.list_(pa.decimal128(38, 0)), pa.large_list(pa.int64())),
    "STRUCT<a: DECIMAL(5,2)>": (pa.struct({"a": pa.decimal128(38, 0)}),
                                pa.struct({"a": pa.int64()})),
    "MAP<STRING, FLOAT>": (pa.map_(pa.string(), pa.float64()),),
    "BINARY": (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3)),
    "BOOLEAN": (pa.bool_(),),
}  # fmt: skip


@pytest.mark.parametrize("ddl", WITHOUT_VALUES)
def test_arrow_without_values_fits_its_column(ddl):
    """Of a column of nothing but None, pyarrow and pandas make one of the type null."""
    kinds = (pa.null(), *WITHOUT_VALUES[ddl])
    if not pa.types.is_nested(kinds[1]):
        kinds += tuple(pa.dictionary(pa.int8(), kind) for kind in kinds)
    for kind in kinds:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, pa.schema({"x": kind})) as writer:
            for count in (0, 2, 0):
                writer.write_batch(pa.record_batch({"x": pa.nulls(count, kind)}))
        body = sink.getvalue().to_pybytes()
        assert [row["x"] for row in stored(f"x {ddl}", body, ARROW)] == [None, None], kind
        told = (422, "column x: null where the schema says NOT NULL", 0)
        assert refusal(f"x {ddl} NOT NULL", body, ARROW) == told, kind
        empty = ipc(pa.table({"x": pa.nulls(0, kind)}))
        assert refusal(f"x {ddl}", empty, ARROW)[1] == "the request holds no record", kind


def test_maps_with_the_keys_of_others_are_taken():
    maps = pa.array([[("a", 1), ("b", 2)], None, [("b", 1), ("a", 1)], []],
                    pa.map_(pa.string(), pa.int32()))  # fmt: skip
    for array in (maps, maps.slice(1), maps.slice(0, 2), maps.slice(3)):
        rows = stored("x MAP<STRING, INT>", ipc(pa.table({"x": array})), ARROW)
        assert [row["x"] for row in rows] == array.to_pylist()
    lists = pa.array([[], None, [None], [[]], [[("a", 1)], [("a", 1)]]], pa.list_(maps.type))
    for array in (lists, lists.slice(0, 2), lists.slice(2)):
        rows = stored("x ARRAY<MAP<STRING, INT>>", ipc(pa.table({"x": array})), ARROW)
        assert [row["x"] for row in rows] == array.to_pylist()


def test_what_stands_behind_an_arrow_stream_is_refused():
    body = ipc(pa.table({"x": [1, 2]}))
    for more in (body, b"x"):
        told = (400, "something stands behind the Arrow IPC stream: send it alone", None)
        assert refusal("x BIGINT", body + more, ARROW) == told
    assert len(stored("x BIGINT", body + bytes(4), ARROW)) == 2
    assert len(stored("x BIGINT", body[:-8], ARROW)) == 2  # no mark of its end


def test_arrow_that_claims_to_be_more_than_it_is_is_refused_before_it_is_unfolded():
    compressed = ipc(pa.table({"x": ["a" * 1_000_000] * 100}).combine_chunks(),
                     options=pa.ipc.IpcWriteOptions(compression="zstd"))  # fmt: skip
    assert len(compressed) < 100_000
    status, message, _ = refusal("x STRING", compressed, ARROW)
    assert (status, "has compressed buffers" in message) == (415, True)
    indices = pa.array([0] * 90_000, pa.int8())
    repeated = pa.DictionaryArray.from_arrays(indices, pa.array(["a" * 1000]))
    told = (413, "the records have more than 10,000,000 bytes, written out", None)
    assert refusal("x STRING", ipc(pa.table({"x": repeated})), ARROW) == told


@pytest.mark.parametrize(
    ("ddl", "fault"),
    [
        ("x VARIANT", "x has the type VARIANT, which cannot be pushed"),
        ("x VARCHAR(10)", "x has the type VARCHAR, which cannot be pushed"),
        ("x MAP<INT, INT>", "the keys of x are no STRING, as JSON's are"),
        ("x DECIMAL(39,0)", "DECIMAL(39,0) of x does not exist: it has 1 to 38 digits"),
        ("x ARRAY<INT", "'>' is missing at the end"),
        ("x STRUCT<a: INT, A: INT>", "A is given twice"),
        ("x INT PRIMARY", "'PRIMARY' is not understood"),
        ("x " + "ARRAY<" * 40 + "INT" + ">" * 40, "x is nested more than 32 deep"),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be_pushed_is_refused(ddl, fault):
    with pytest.raises(ValueError, match=f"^{re.escape(fault)}$"):
        columns(ddl)


def test_a_schema_is_read_as_spark_reads_it():
    ddl = "`a b` INT NOT NULL COMMENT 'one, two', c: decimal, D DEC(5), e numeric(5, 2)"
    found = columns(ddl)
    assert [(column.name, column.type.name, column.nullable) for column in found] == [
        ("a b", "INT", False),
        ("c", "DECIMAL(10,0)", True),
        ("D", "DECIMAL(5,0)", True),
        ("e", "DECIMAL(5,2)", True),
    ]


def test_the_warehouse_reads_the_timestamp_that_landing_wrote():
    moment_us = 1_769_860_800_250_001
    assert LANDED_TIMESTAMP.timestamp_s(file_name("clicks", moment_us, 1, 500)) == pytest.approx(
        moment_us / 1e6, abs=1e-7
    )
