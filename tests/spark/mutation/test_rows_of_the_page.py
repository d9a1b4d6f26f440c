"""The page is what is known of earlier runs: its rows are read again."""

from __future__ import annotations

from tests.spark.mutation import faults
from tests.spark.mutation.__main__ import PAGE
from tests.spark.mutation.applying import SOURCE
from tests.spark.mutation.mends import MENDS, SECOND_TOO
from tests.spark.mutation.page import Record, rows_of, written


def _record(name: str, by: str, query: str = "", told: str = "", file: str = "") -> Record:
    return {"name": name, "file": file, "commit": "c0ffee1", "by": by, "query": query, "told": told}


def test_rows_that_are_written_are_read_again():
    one, other = faults.ALL[:2]
    found = {
        record["name"]: record
        for record in (
            _record(one.name, "second reading", "SELECT a || '`' AS x FROM t", file=one.file),
            _record(other.name, "not reached", file=other.file),
            _record(MENDS[4].name, "not found", MENDS[4].query),
            _record(MENDS[6].name, "trial", MENDS[6].query, f"{SECOND_TOO}after step 1"),
        )
    }
    assert rows_of(written(found)) == found


def test_a_text_that_was_cut_off_is_cut_off_once():
    fault = faults.ALL[0]
    long = "SELECT " + " || ".join("abcdefg") * 9 + " FROM t"
    text = written({fault.name: _record(fault.name, "trial", long, file=fault.file)})
    assert written(rows_of(text)) == text


def test_the_page_is_what_its_rows_make():
    text = PAGE.read_text()
    assert written(rows_of(text)) == text


def test_every_fault_changes_a_text_that_is_there_once():
    """Else nobody judges it any more, and its row tells of a program that is gone."""
    counts = {
        each.name: (SOURCE / each.file).read_text("utf-8").count(each.old) for each in faults.ALL
    }
    assert [name for name, count in counts.items() if count != 1] == []
    assert len(counts) == len(faults.ALL)
