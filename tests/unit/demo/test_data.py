"""Feed files that begin with what a shop has already."""

from __future__ import annotations

import duckdb
import pytest

from demo import data
from demo.places import Places


@pytest.mark.slow
@pytest.mark.parametrize(("history", "first"), [(0.0, (0.04, 0.06)), (0.8, (0.78, 0.84))])
def test_the_first_file_holds_the_history_and_no_row_is_lost(tmp_path, history, first):
    places = Places(tmp_path)
    data.generate(places, 0.001)
    rows = data.cut(places, 20, history=history)
    for name in ("orders", "lineitem"):
        read = f"read_{'csv' if name == 'orders' else 'parquet'}('{places.staged / name}/*/*')"
        with duckdb.connect() as database:
            counted = database.execute(f"SELECT slice, count(*) FROM {read} GROUP BY 1")
            found = dict(counted.fetchall())
        assert sorted(found) == list(range(20))
        assert sum(found.values()) == rows[name]
        assert first[0] < found[0] / rows[name] < first[1]
