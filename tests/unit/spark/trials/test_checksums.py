"""Checksum files of a trial's tables: what they say is what the log comes to."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake
import pyarrow as pa

from freshline.delta.log import row_count, size_bytes, table_id
from freshline.spark.trials.checksums import write_checksum


def test_a_checksum_names_the_files_of_its_version_alone(tmp_path):
    path = str(tmp_path)
    deltalake.write_deltalake(path, pa.table({"n": [1, 2, 3]}))
    deltalake.write_deltalake(path, pa.table({"n": [4, 1]}), mode="append")
    deltalake.DeltaTable(path).delete("n = 1")
    deltalake.write_deltalake(path, pa.table({"n": [5]}), mode="append")
    for version, rows in enumerate([3, 5, 3, 4]):
        table = deltalake.DeltaTable(path, version=version)
        write_checksum(tmp_path, version)
        told = json.loads((tmp_path / "_delta_log" / f"{version:020}.crc").read_text())
        assert {file["path"] for file in told["allFiles"]} == {
            Path(file).name for file in table.file_uris()
        }
        assert told["numFiles"] == len(told["allFiles"])
        assert row_count(path, version) == rows
        assert table_id(path, version) == str(table.metadata().id)
        adds = pa.table(table.get_add_actions())
        assert size_bytes(path, version) == sum(adds["size_bytes"].to_pylist())


def test_a_checksum_of_another_writer_stays(tmp_path):
    deltalake.write_deltalake(str(tmp_path), pa.table({"n": [1]}))
    theirs = tmp_path / "_delta_log" / f"{0:020}.crc"
    theirs.write_text("{}")
    write_checksum(tmp_path, 0)
    assert theirs.read_text() == "{}"
