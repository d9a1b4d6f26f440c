"""A storage that swallows what it is asked is given up in time."""

from __future__ import annotations

import socket
import threading
import time

import deltalake
import pytest

from freshline.delta import stores
from freshline.delta.stores import LONGEST_S, arrow_store, storage_options, use


@pytest.fixture
def taken():
    """The requests that a store took and never answers."""
    connections = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take():
            while True:
                try:
                    connections.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=take, daemon=True).start()
        use({
            "spark.hadoop.fs.s3a.endpoint": f"http://127.0.0.1:{server.getsockname()[1]}",
            "spark.hadoop.fs.s3a.endpoint.region": "eu-west-1",
            "spark.hadoop.fs.s3a.access.key": "key",
            "spark.hadoop.fs.s3a.secret.key": "secret",
        })  # fmt: skip
        yield connections
        use({})
        server.shutdown(socket.SHUT_RDWR)
    for each in connections:
        each.close()


@pytest.mark.slow
def test_arrow_tries_as_often_as_is_counted(taken, monkeypatch):
    monkeypatch.setattr(stores, "_ANSWER_S", 1)
    system, base = arrow_store("s3a://lake/tables")
    began_s = time.monotonic()
    with pytest.raises(OSError, match="lake"):
        system.open_input_file(f"{base}/a")
    assert len(taken) == stores._ARROW_TRIES
    # With its pauses between tries, which are no longer where it waits 20 s for an answer.
    assert time.monotonic() - began_s < stores._ARROW_TRIES * (stores._CONNECT_S + 1)
    assert LONGEST_S >= stores._ARROW_TRIES * (stores._CONNECT_S + 20)


@pytest.mark.slow
def test_delta_begins_no_try_after_its_time(taken):
    shorter = {"timeout": "2s", "retry_timeout": "3s"}
    options = {**(storage_options("s3a://lake/tables") or {}), **shorter}
    began_s = time.monotonic()
    with pytest.raises((OSError, deltalake.exceptions.DeltaError)):
        deltalake.DeltaTable("s3://lake/tables", storage_options=options)
    assert time.monotonic() - began_s < 3 + 2 + 1
    assert LONGEST_S >= 30 + 20
