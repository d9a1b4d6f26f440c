"""A row of the log is whole or refused, whichever of its columns has changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.ingest.log.rows import DamagedError, check, pack, row_crc32, unpack
from freshline.ingest.receipts import Batch

ROW = pack(Batch("clicks", 3, b"some records" * 20), "key", 1_000_000)
COLUMNS = (
    *(7, ROW.feed, 41, ROW.records, ROW.received_us, ROW.key),
    *(row_crc32(ROW, 7, 41), ROW.digest, ROW.body),
)


def test_a_whole_row_is_read_as_it_was_packed():
    row = check(COLUMNS)
    assert (row.id, row.feed, row.first, row.last) == (7, "clicks", 41, 43)
    assert unpack(row.body) == b"some records" * 20


@given(column=st.integers(0, len(COLUMNS) - 1), data=st.data())
def test_a_row_with_any_bit_changed_in_any_column_is_refused(column, data):
    value = COLUMNS[column]
    changed: object
    if isinstance(value, int):
        changed = value ^ 1 << data.draw(st.integers(0, 62))
    else:
        assert value is not None
        raw = bytearray(value.encode() if isinstance(value, str) else value)
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 6))
        changed = raw.decode(errors="replace") if isinstance(value, str) else bytes(raw)
    with pytest.raises(DamagedError):
        check((*COLUMNS[:column], changed, *COLUMNS[column + 1 :]))


@pytest.mark.parametrize("column", range(len(COLUMNS)))
@pytest.mark.parametrize("value", [None, "text", b"bytes", 1.5, -1])
def test_a_row_with_another_type_in_a_column_is_refused(column, value):
    with pytest.raises(DamagedError):
        check((*COLUMNS[:column], value, *COLUMNS[column + 1 :]))
