"""Files that Spark's stream of a folder takes in its own way are refused or set aside."""

from __future__ import annotations

import pytest

from freshline.spark.analysis import analyse
from tests.spark.pipelines.test_pipeline import HEAD, rows
from tests.spark.proof.support import Loaded, run_here

pytestmark = pytest.mark.spark

PARTS = f"""{HEAD}
@dp.table
def parts():
    return spark.readStream.schema("id INT, day DATE").json("in")
"""


def test_a_file_in_a_folder_that_came_later_is_set_aside(pipeline, spark):
    """Its day would be NULL here, and the folder's under Spark."""
    streamed = pipeline(PARTS)
    streamed.come("a.json", {"id": 1, "day": "2026-03-01"})
    loaded = Loaded(streamed.root, streamed.project)
    inner = streamed.root / "in" / "day=2026-03-02"
    inner.mkdir()
    (inner / "1.json").write_text('{"id": 2}\n')
    seen = run_here(loaded, spark)
    assert rows(loaded.project, "parts") == [("1", "2026-03-01")]
    told = [each for each in [*seen.notices, *(why for _, why in seen.failed)] if "day=" in each]
    assert "it is in a folder within the feed's" in told[0]


def test_a_column_for_records_that_cannot_be_parsed_is_refused(pipeline):
    text = PARTS.replace("day DATE", "_corrupt_record STRING")
    (error,) = pipeline(text).errors
    assert error.render() == (
        "[bad-schema] t/a.py:4: the schema of feed parts_feed has the column _corrupt_record for"
        " records that cannot be parsed; records that do not fit the schema go, with their text, to"
        " the table TABLE__rejected, and no column of the feed is filled with them. Remove the"
        " column, and read the rejected table."
    )


def test_what_a_file_is_called_is_refused_as_a_limit_of_ours(pipeline):
    text = PARTS.replace('json("in")', 'json("in").select("id", "_metadata.file_name")')
    (error,) = pipeline(text).errors
    told = (
        "a feed's rows do not say here from which file they are: _metadata is a column of Spark's"
        " own readers of files. Leave the column out, or have the files' producer write it into"
        " the records."
    )
    assert error.render() == (
        "[no-file-metadata] t/a.py:6: the function of parts failed: it reads _metadata; " + told
    )


def test_a_base_tables_query_is_told_the_same_of_its_files(pipeline, shared):
    text = PARTS.replace("@dp.table", "@dp.temporary_view")
    sql = "CREATE STREAMING TABLE named AS\nSELECT id, _metadata.file_path AS p FROM STREAM parts;"
    project = pipeline(text, sql).project
    (error,) = analyse(project, shared).errors
    assert error.what == "the query of table named reads _metadata"
    assert (error.code, str(error.where)) == ("no-file-metadata", "t/b.sql:2")
