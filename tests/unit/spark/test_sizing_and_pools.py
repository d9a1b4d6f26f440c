"""Tasks by the size of the input, and pools by the number of slots."""

import json
from pathlib import Path

from freshline.core.errors import Place
from freshline.executor.records import UnreadableFilesError
from freshline.spark.engine.sizing import BYTES_PER_TASK, ROW_BYTES, known_weight, tasks_for, weight
from freshline.spark.updates import Pools


def test_tasks_grow_with_bytes_and_files():
    assert [tasks_for(size) for size in (0, 1, BYTES_PER_TASK, BYTES_PER_TASK + 1)] == [1, 1, 1, 2]
    assert [tasks_for(0, files) for files in (1, 128, 129, 1000)] == [1, 1, 2, 8]
    assert tasks_for(10**18) == 1000


def test_many_rows_in_few_bytes_count_as_more():
    assert weight(6_000_000, 1_000_000) == 1_000_000 * ROW_BYTES
    assert weight(6_000_000, 10) == weight(6_000_000, None) == 6_000_000


def _checksum(table: Path, size_bytes: int, rows: list[int | None]) -> tuple[str, int]:
    files = [{"stats": "" if each is None else json.dumps({"numRecords": each})} for each in rows]
    log = table / "_delta_log"
    log.mkdir(parents=True)
    told = {"tableSizeBytes": size_bytes, "numFiles": len(rows), "allFiles": files}
    (log / f"{3:020d}.crc").write_text(json.dumps(told))
    return str(table), 3


def test_the_weight_of_tables_is_in_their_checksum_files(tmp_path: Path):
    small = _checksum(tmp_path / "small", 900, [2, 3])
    dense = _checksum(tmp_path / "dense", 900, [500, 500])
    silent = _checksum(tmp_path / "silent", 900, [500, None])
    assert known_weight([small, dense, silent]) == 900 + 1000 * ROW_BYTES + 900
    assert known_weight([small, (str(tmp_path / "none"), 3)]) is None


def test_updates_share_no_pool_as_long_as_there_is_one_for_each():
    pools = Pools()
    with pools.lease(2) as first, pools.lease(2) as second:
        assert {first, second} == {"freshline-0", "freshline-1"}
        with pools.lease(2) as third:
            assert third in (first, second)
    with pools.lease(2) as again:
        assert again == "freshline-0"


def test_executors_that_come_bring_pools_and_those_that_go_take_them_along():
    pools = Pools()
    with pools.lease(0) as first, pools.lease(3) as second, pools.lease(3) as third:
        assert (first, second, third) == ("freshline-0", "freshline-1", "freshline-2")
        with pools.lease(1) as fourth:
            assert fourth == "freshline-0"


def test_a_pool_is_given_back_when_an_update_fails():
    pools = Pools()
    try:
        with pools.lease(1):
            raise OSError
    except OSError:
        pass
    assert pools._running == [0]


def test_unreadable_files_are_named_with_reasons_the_first_three_in_words():
    files = [(f"{name}.csv", "it is gone") for name in "abcd"]
    error = UnreadableFilesError("orders", files, where=Place("freshline.yml", 4))
    assert str(error) == (
        "[unreadable-files] freshline.yml:4: 4 files for table orders cannot be read"
        " (a.csv: it is gone; b.csv: it is gone; c.csv: it is gone; and 1 more)."
        " Repair what is wrong, then run `freshline retry orders`."
    )
    assert error.files == tuple(files)
