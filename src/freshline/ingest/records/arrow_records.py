"""Arrow IPC from strangers: read within bounds, cast without loss, checked record by record.

An IPC stream can claim far more than it holds. So what Arrow would expand by itself is looked at
before it is expanded: compressed buffers are refused (Content-Encoding does the same within
bounds), and dictionaries and views only as long as their values, written out, stay below the
limit of a body.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshline.ingest.records.arrow_types import arrow_type, comes_back
from freshline.ingest.records.limits import Limits
from freshline.ingest.refusals import Refusal, shown
from freshline.project.ddl import Column, Type
from freshline.project.names import nearest

_FAULTS = (pa.ArrowException, OSError, ValueError, TypeError, NotImplementedError)
_NANOS = 1000
"""In a microsecond."""

_FIRST_US = -62_135_596_800_000_000
_BEHIND_US = 253_402_300_800_000_000
"""The years 1 to 9999, which JSON can write and every reader can tell; Arrow has more."""
_DAY_US = 86_400_000_000

_FAMILIES: dict[str, tuple[str, ...]] = {
    "integer": ("int", "uint"),
    "real": ("halffloat", "float", "double", "int", "uint"),
    "decimal": ("decimal", "int", "uint"),
    "boolean": ("bool",),
    "string": ("string", "large_string", "string_view"),
    "binary": ("binary", "large_binary", "binary_view", "fixed_size_binary"),
    "date": ("date",),
    "timestamp": ("timestamp",),
    "timestamp_ntz": ("timestamp",),
}
"""Which Arrow types may become which column, by the start of their names."""


def arrow_batches(
    body: bytes, columns: tuple[Column, ...], schema: pa.Schema, limits: Limits
) -> Iterator[pa.RecordBatch]:
    """The stream's batches with the feed's columns and types.

    Columns are found by name; one that is missing is null.

    Raises:
        Refusal: It is no whole stream, has other columns, or a record does not fit.
    """
    _check_messages(body)
    try:
        reader = pa.ipc.open_stream(pa.BufferReader(body))
    except _FAULTS as error:
        raise Refusal("bad-arrow", "the body is no Arrow IPC stream") from error
    _check_columns(reader.schema, columns)
    start = 0
    while True:
        try:
            batch = reader.read_next_batch()
            batch.validate(full=True)
        except StopIteration:
            return
        except _FAULTS as error:
            raise Refusal("bad-arrow", "the Arrow IPC stream is damaged or cut off") from error
        if start + batch.num_rows > limits.records:
            raise Refusal("too-large", f"the request holds more than {limits.records:,} records")
        arrays = [_column(column, batch, start, limits) for column in columns]
        if batch.num_rows:
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        start += batch.num_rows


def _check_columns(found: pa.Schema, columns: tuple[Column, ...]) -> None:
    known = {column.name: column for column in columns}
    seen: set[str] = set()
    for field in found:
        if field.name not in known:
            close = nearest(field.name, known)
            meant = f" (did you mean {close}?)" if close else ""
            raise Refusal("bad-record", f"the unknown column {shown(field.name)}{meant}")
        if field.name in seen:
            raise Refusal("bad-record", f"there are two columns {shown(field.name)}")
        seen.add(field.name)
        type_ = known[field.name].type
        if not _becomes(field.type, type_):
            raise Refusal(
                "bad-record", f"column {field.name}: Arrow's {field.type} is no {type_.name}"
            )


def _becomes(found: pa.DataType, wanted: Type) -> bool:
    """Whether a cast of these types can be right at all; values are looked at later."""
    if pa.types.is_null(found):
        return True
    if pa.types.is_dictionary(found):
        value = found.value_type
        return (
            not pa.types.is_nested(value) and wanted.kind in _FAMILIES and _becomes(value, wanted)
        )
    if wanted.kind == "array":
        listed = pa.types.is_list(found) or pa.types.is_large_list(found)
        return listed and _plainly(found.value_type, wanted.element)
    if wanted.kind == "map":
        return (
            pa.types.is_map(found)
            and pa.types.is_string(found.key_type)
            and _plainly(found.item_type, wanted.element)
        )
    if wanted.kind == "struct":
        if not pa.types.is_struct(found):
            return False
        names = [found.field(i).name for i in range(found.num_fields)]
        fields = {field.name: field for field in wanted.fields}
        return names == [field.name for field in wanted.fields] and all(
            _plainly(found.field(i).type, fields[name].type) for i, name in enumerate(names)
        )
    if wanted.kind in ("timestamp", "timestamp_ntz") and pa.types.is_timestamp(found):
        return (found.tz is not None) == (wanted.kind == "timestamp")
    return str(found).startswith(_FAMILIES[wanted.kind])


def _plainly(found: pa.DataType, wanted: Type | None) -> bool:
    """Within other types nothing that has to be expanded is taken."""
    expands = (
        pa.types.is_null(found) or pa.types.is_dictionary(found) or str(found).endswith("_view")
    )
    return wanted is not None and not expands and _becomes(found, wanted)


def _column(column: Column, batch: pa.RecordBatch, start: int, limits: Limits) -> pa.Array:
    """One column of a batch, as the feed has it."""
    index = batch.schema.get_field_index(column.name)
    if index < 0:
        array = pa.nulls(batch.num_rows, arrow_type(column.type))
    else:
        array = batch.column(index)
        _check_sizes(array, start, limits)
        array = _cast(column, array, start)
    if not column.nullable and array.null_count:
        first = array.is_null().index(True).as_py()
        raise Refusal(
            "bad-record",
            f"column {column.name}: null where the schema says NOT NULL",
            start + first,
        )
    _check_inside(column, array, start)
    return array


def _check_sizes(array: pa.Array, start: int, limits: Limits) -> None:
    """No value is larger than a record may be, and all together no larger than a body."""
    values = array.dictionary if isinstance(array, pa.DictionaryArray) else array
    if not str(values.type).startswith((*_FAMILIES["string"], "binary", "large_binary")):
        return
    lengths = _lengths(values)
    if isinstance(array, pa.DictionaryArray):
        lengths = lengths.take(array.indices)
    most = pc.max(lengths).as_py() or 0
    if most > limits.record_bytes:
        first = pc.greater(lengths, limits.record_bytes).index(True).as_py()
        raise Refusal(
            "too-large", f"the record has more than {limits.record_bytes:,} bytes", start + first
        )
    if (pc.sum(lengths.cast(pa.int64())).as_py() or 0) > limits.body_bytes:
        raise Refusal(
            "too-large", f"the records have more than {limits.body_bytes:,} bytes, written out"
        )


def _lengths(values: pa.Array) -> pa.Array:
    """Bytes of each text or binary value."""
    if not str(values.type).endswith("_view"):
        return pc.binary_length(values)
    # A view's first four bytes are its length (Arrow columnar format, variable-size views).
    views = np.frombuffer(values.buffers()[1], np.int32)[::4]
    lengths = pa.array(views[values.offset : values.offset + len(values)])
    return pc.if_else(values.is_valid(), lengths, None)


def _cast(column: Column, array: pa.Array, start: int) -> pa.Array:
    """A cast that loses nothing, or the first record that it would lose something of.

    A timestamp's nanoseconds are the exception: they are cut off, as they are in JSON.
    """
    type_ = column.type
    wanted = arrow_type(type_)
    if array.type == wanted and not _has_times(type_):
        return array
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        nanos = array.cast(pa.int64())
        micros = pc.divide(nanos, _NANOS)  # towards zero, so before 1970 one too many
        is_later = pc.greater(pc.multiply(micros, _NANOS), nanos)
        return pc.subtract(micros, is_later.cast(pa.int64())).cast(wanted)
    if isinstance(array, pa.DictionaryArray):
        array = _decoded(array)
    if array.null_count == len(array):  # without values there is none to lose
        return pa.nulls(len(array), wanted)
    if type_.kind == "decimal" and pa.types.is_integer(array.type):
        array = array.cast(pa.decimal128(20, 0))  # Arrow wants room for any integer
    found = _exact(array, wanted)
    if found is not None:
        return found
    first = _first(array, lambda some: _exact(some, wanted) is None)
    try:
        value = shown(array[first].as_py())
    except (OverflowError, ValueError):  # Python has no time beyond the year 9999
        value = f"Arrow's {array.type} beyond year 9999 or before 1"
    raise Refusal("bad-record", f"column {column.name}: {value} is no {type_.name}", start + first)


def _decoded(array: pa.DictionaryArray) -> pa.Array:
    """Each record's value; of views Arrow cannot take some, so they become plain before."""
    values = array.dictionary
    if str(values.type).endswith("_view"):
        values = values.cast(pa.string() if values.type == pa.string_view() else pa.binary())
    return values.take(array.indices)


def _first(array: pa.Array, is_wrong: Callable[[pa.Array], bool]) -> int:
    """The first record that is wrong, where one of them is: log n looks instead of n."""
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        if is_wrong(array.slice(low, middle - low)):
            high = middle
        else:
            low = middle
    return low


def _exact(array: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    """A cast that loses nothing; None: it would."""
    try:
        found = array.cast(wanted)
    except _FAULTS:
        return None
    return None if _is_beyond(array, found) else found


def _is_beyond(array: pa.Array, found: pa.Array) -> bool:
    """Whether a cast made another number, which Arrow takes for no loss, or a time is too far.

    A real number becomes infinite, and a decimal loses what is beyond 128 bits. Too far is what
    JSON could not write.
    """
    if pa.types.is_date(found.type):
        return _is_beyond_years(found.cast(pa.int32()), _DAY_US)
    if pa.types.is_timestamp(found.type):
        return _is_beyond_years(found.cast(pa.int64()), 1)
    if pa.types.is_decimal(found.type):
        return not comes_back(found, array)
    if pa.types.is_floating(array.type):
        return bool(pc.sum(pc.is_inf(array)).as_py() != pc.sum(pc.is_inf(found)).as_py())
    if pa.types.is_struct(array.type):
        return any(map(_is_beyond, array.flatten(), found.flatten()))
    if pa.types.is_map(array.type):
        return _is_beyond(_items(array), _items(found))
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return _is_beyond(array.flatten(), found.flatten())
    return False


def _is_beyond_years(counted: pa.Array, unit_us: int) -> bool:
    ends = pc.min_max(counted)
    least, most = ends["min"].as_py(), ends["max"].as_py()
    return least is not None and (least * unit_us < _FIRST_US or most * unit_us >= _BEHIND_US)


def _has_times(type_: Type) -> bool:
    if type_.element is not None:
        return _has_times(type_.element)
    return type_.kind in ("date", "timestamp", "timestamp_ntz") or any(
        _has_times(field.type) for field in type_.fields
    )


def _items(maps: pa.MapArray) -> pa.Array:
    first, last = maps.offsets[0].as_py(), maps.offsets[-1].as_py()
    return maps.items.slice(first, last - first)


def _check_inside(column: Column, array: pa.Array, start: int) -> None:
    """Keys of maps, and NOT NULL fields of structs, wherever they are nested."""
    if _has_map(column.type) and _has_key_twice(array):
        raise Refusal(
            "bad-record",
            f"column {column.name}: a key stands twice in a MAP",
            start + _first(array, _has_key_twice),
        )
    if not _has_not_null(column.type):
        return
    for index, value in enumerate(array.to_pylist()):
        where = _null_inside(column.type, value)
        if where:
            raise Refusal(
                "bad-record",
                f"column {column.name}{where}: null where the schema says NOT NULL",
                start + index,
            )


def _has_map(type_: Type) -> bool:
    if type_.kind == "map" or (type_.element is not None and _has_map(type_.element)):
        return True
    return any(_has_map(field.type) for field in type_.fields)


def _has_key_twice(array: pa.Array) -> bool:
    """Whether a map has a key twice, at any depth: readers take the first, or the last of them."""
    if pa.types.is_struct(array.type):
        return any(map(_has_key_twice, array.flatten()))
    if pa.types.is_list(array.type):
        return _has_key_twice(array.flatten())
    if not pa.types.is_map(array.type):
        return False
    array = array.drop_null()
    if not len(array):
        return False
    offsets = array.offsets.to_numpy()
    keys = array.keys.slice(offsets[0], offsets[-1] - offsets[0]).dictionary_encode()
    maps = np.repeat(np.arange(len(array), dtype=np.int64), np.diff(offsets))
    pairs = maps * len(keys.dictionary) + keys.indices.to_numpy(zero_copy_only=False)
    return len(np.unique(pairs)) < len(pairs) or _has_key_twice(_items(array))


def _has_not_null(type_: Type) -> bool:
    if type_.element is not None and _has_not_null(type_.element):
        return True
    return any(not field.nullable or _has_not_null(field.type) for field in type_.fields)


def _null_inside(type_: Type, value: Any) -> str:
    """Where a NOT NULL field within ``value`` is null; empty if nowhere."""
    if value is None:
        return ""
    if type_.kind == "struct":
        for field in type_.fields:
            each = value[field.name]
            if each is None and not field.nullable:
                return f".{field.name}"
            if where := _null_inside(field.type, each):
                return f".{field.name}{where}"
    elif type_.element is not None:
        pairs = value if type_.kind == "map" else enumerate(value)
        for key, each in pairs:
            if where := _null_inside(type_.element, each):
                return f"[{key}]{where}"
    return ""


# ---- what the messages are, and which are compressed, read from their flatbuffers ----

_COMPRESSION = 3
"""Number of the field ``compression`` in the table RecordBatch of Arrow's Message.fbs."""


def _check_messages(body: bytes) -> None:
    """Refuse compressed buffers, whose claims of sizes Arrow trusts, and a second stream."""
    source = pa.BufferReader(body)
    try:
        for message in pa.ipc.MessageReader.open_stream(source):
            if message.type not in ("record batch", "dictionary"):
                continue
            data = message.metadata.to_pybytes()
            table = _target(data, _field(data, _target(data, 0), 2))
            if message.type == "dictionary":
                table = _target(data, _field(data, table, 1))
            if _field(data, table, _COMPRESSION):
                raise Refusal(
                    "unsupported-media-type",
                    "the Arrow IPC stream has compressed buffers: write it without compression"
                    " and compress the whole body, with Content-Encoding gzip or zstd",
                )
    except (*_FAULTS, struct.error, EOFError) as error:
        raise Refusal("bad-arrow", "the body is no whole Arrow IPC stream") from error
    if body[source.tell() :].strip(b"\0"):  # old writers end a stream with zeros
        raise Refusal("bad-arrow", "something stands behind the Arrow IPC stream: send it alone")


def _target(data: bytes, at: int) -> int:
    """Where the offset at ``at`` points to."""
    return at + int(struct.unpack_from("<I", data, at)[0])


def _field(data: bytes, table: int, number: int) -> int:
    """Where field ``number`` of a table is; 0 if it is not there."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    entry = 4 + 2 * number
    if entry >= size:
        return 0
    offset = struct.unpack_from("<H", data, vtable + entry)[0]
    return int(table + offset) if offset else 0
